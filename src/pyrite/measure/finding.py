"""The one sentence that a reader could quote: who, rate, interval, of what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyrite.measure.reasons import words

SHORTCUTS = ("accept-all", "reject-all", "claim", "steps")
"""Baselines that do not look at the screen; they are in every table and never the finding."""
FIRST_CONDITION = "E1-final"
_NOT_NATURAL = {
    "weakened": "These episodes are of an agent with something taken away, not of the agent under test",
    "perturbed": "These episodes are perturbed, not of an agent under test",
    "scripted": "These episodes are scripted, not of an agent under test",
}

KINDS = {
    "F-ABORT": "the agent gave up",
    "F-CLAIM": "nothing was done and success asserted",
    "F-UNCOMMITTED": "the screen shows the work, and it was never saved",
    "F-WRONGTARGET": "saved, but in another place than asked",
    "F-PARTIAL": "part of it, or the wrong type or form",
    "F-SIDEEFFECT": "right, with damage elsewhere",
    "F-WRONGAPP": "done in another document or application",
}
"""What happened in a failure of each category, as a clause."""


def is_shortcut(label: str) -> bool:
    """Whether a judge's label is of a baseline that does not look, with or without options."""
    return label.split("@")[0] in SHORTCUTS


def subject(result: Mapping[str, Any]) -> tuple[str, str] | None:
    """(condition, judge) of a bench's finding: the highest FPR of the leading stratum, shortcuts aside.

    Of E1-final where a judge has a rate there, else of the first condition by name; None where no
    judge has one.
    """
    if result["lead"] is None:
        return None
    conditions = result["strata"][result["lead"]]["conditions"]
    for condition in sorted(conditions, key=lambda name: (name != FIRST_CONDITION, name)):
        judges = conditions[condition]["judges"].items()
        worst = _worst((name, block) for name, block in judges if not is_shortcut(name))
        if worst is not None:
            return condition, worst[0]
    return None


def finding(result: Mapping[str, Any]) -> str:
    """What a result says, in one or two sentences, of the judge with the highest FPR.

    Of a bench: in the leading stratum, in E1-final where judged; a shortcut is never the subject.
    Where another stratum than natural leads, the first sentence says so.
    """
    if "strata" not in result:
        worst = _worst((name, block) for name, block in result["judges"].items())
        if worst is None:
            return _truth_only(result["truth"], "the episodes") if not result["judges"] else _nothing(result)
        return _sentence(*worst, "")
    lead = result["lead"]
    if lead is None:
        return "No stratum has a failed episode with a determinate outcome, so no false-positive rate exists."
    start = f"{_NOT_NATURAL[lead]}: " if lead in _NOT_NATURAL else ""
    stratum = result["strata"][lead]
    chosen = subject(result)
    if chosen is None:
        said = _truth_only(stratum["truth"], f"the {lead} episodes")
        return f"{start}{said[0].lower()}{said[1:]}" if start else said
    condition, name = chosen
    block = stratum["conditions"][condition]["judges"][name]
    return start + _sentence(name, block, f" ({condition}, {lead})")


def _worst(judges: Iterator[tuple[str, Mapping[str, Any]]]) -> tuple[str, Mapping[str, Any]] | None:
    rated = [(name, block) for name, block in judges if block["fpr"]["value"] is not None]
    return max(rated, key=lambda pair: pair[1]["fpr"]["value"], default=None)


def _sentence(name: str, block: Mapping[str, Any], scope: str) -> str:
    fpr, counts = block["fpr"], block["counts"]
    failed = counts["fp"] + counts["tn"]
    said = f"{name} accepts {_rate(fpr)} of failed episodes, {counts['fp']} of {failed}{scope}."
    said += _mostly(block)
    if block["fdr"]["value"] is not None and counts["tp"] + counts["fn"]:
        accepted = counts["tp"] + counts["fp"]
        said += f" Of what it accepts, {_rate(block['fdr'])} has failed, {counts['fp']} of {accepted}."
    return said


def _mostly(block: Mapping[str, Any]) -> str:
    """What kind of failure most of the false accepts are, where categories are known."""
    accepted = {code: seen["accepted"] for code, seen in block.get("by_category", {}).items()}
    code = max(accepted, key=lambda name: accepted[name], default=None)
    if code is None or not accepted[code] or code not in KINDS:
        return ""
    return f" {accepted[code]} of the {block['counts']['fp']} are {code}: {KINDS[code]}."


def _truth_only(truth: Mapping[str, Any], of: str) -> str:
    if truth["rate"] is None:
        return f"No outcome of {of} is determinate, so no success rate exists."
    shown = _rate({**truth, "value": truth["rate"]})
    return f"No judge was asked; {shown} of {of} passed, {truth['pass']} of {truth['scored']}."


def _nothing(result: Mapping[str, Any]) -> str:
    reasons = sorted({words(block["fpr"]["reason"]) for block in result["judges"].values()})
    return f"No judge has a false-positive rate here: {', '.join(reasons)}."


def _rate(found: Mapping[str, Any]) -> str:
    shown = f"{100 * found['value']:.1f} %"
    if found["low"] is None:
        return f"{shown} (no interval: {words(found.get('reason'))})"
    return f"{shown} [{100 * found['low']:.1f}, {100 * found['high']:.1f}]"
