"""Lines 8 to 10 of the gate: what must be known of truth, evidence and provenance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyrite.measure.gate_lines import Part, Subject, fact, line, some, unknown, upper
from pyrite.measure.table import FAIL, INDETERMINATE, MISSING, PASS, Codes8
from pyrite.metrics.gate import Answer

ELSEWHERE = "a column from elsewhere does not tell"


@dataclass(frozen=True)
class Health:
    """What a bench tells of its truth."""

    replayed: int
    """Scored episodes whose task's known states were replayed right before."""
    scored: int
    faults: dict[str, int] = field(default_factory=dict)
    """Cause -> episodes whose verifier or task failed its own known states."""
    read: frozenset[str] = frozenset()
    """Episodes of which a person gave an outcome."""


@dataclass(frozen=True)
class Written:
    """What the verdict lines of one judge in one condition say of themselves."""

    lines: int
    models: tuple[str, ...]
    configs: tuple[str, ...]
    prompts: tuple[str, ...]
    first_called: str | None
    last_called: str | None
    without: dict[str, int]
    """Field -> lines that leave it out."""


@dataclass(frozen=True)
class Scan:
    """A search of the packed evidence for what no judge may know."""

    packages: int
    leaks: int
    broken: int = 0
    """Packages that cannot be read, or are not the ones that the index names."""


def truth_health(subject: Subject, health: Health | None, *, tells_indeterminate: bool) -> dict[str, Any]:
    """Line 8: verifiers pass their known states, few outcomes are open, false positives were read."""
    parts = [_replay(health), _open(subject, tells_indeterminate), _read_by_people(subject, health)]
    return line(8, parts)


def evidence(scan: Scan | None, unequal: int | None) -> dict[str, Any]:
    """Line 9: no package tells the truth, and all judges saw the same bytes."""
    if scan is None:
        parts = [unknown("leak scan", "not scanned: no packed evidence here")]
    elif scan.leaks or scan.broken:
        what = f"{scan.leaks} leaks, {scan.broken} packages that are not as packed"
        parts = [fact("leak scan", Answer.FAIL, what, packages=scan.packages)]
    else:
        parts = [fact("leak scan", Answer.PASS, "nothing found", packages=scan.packages)]
    if unequal is None:
        parts.append(unknown("same evidence for all judges", "verdicts do not name their evidence"))
    elif unequal:
        reason = "verdicts on other evidence than what is packed or than other judges saw"
        parts.append(fact("same evidence for all judges", Answer.FAIL, reason, verdicts=unequal))
    else:
        parts.append(fact("same evidence for all judges", Answer.PASS, "the digests agree"))
    return line(9, parts)


def provenance(written: Written | None, *, seeded: bool, members: bool = True) -> dict[str, Any]:
    """Line 10: who was asked, when, with which settings, on which truth.

    `members`: whether those of an ensemble are on record; without, nobody can tell that it follows from them.
    """
    if written is None:
        reason = f"{ELSEWHERE} model, date, prompt or settings"
        return line(10, [unknown("who was asked, and when", reason)])
    lacking = [name for name, n in written.without.items() if n]
    if len(written.models) > 1:
        reason = f"answers of {len(written.models)} models under one label"
        asked = fact("who was asked, and when", Answer.FAIL, reason, models=list(written.models))
    elif len(written.prompts) > 1:
        reason = f"answers to {len(written.prompts)} prompts under one label"
        asked = fact("who was asked, and when", Answer.FAIL, reason)
    elif lacking:
        reason = f"verdict lines without {', '.join(lacking)}"
        asked = unknown("who was asked, and when", reason, without=written.without)
    else:
        asked = fact("who was asked, and when", Answer.PASS, "every verdict names its settings and its time")
    asked |= {
        "models": list(written.models),
        "configs": list(written.configs),
        "prompts": list(written.prompts),
        "first_called": written.first_called,
        "last_called": written.last_called,
    }
    seed = (
        fact("seed", Answer.PASS, "recorded")
        if seeded
        else unknown("seed", "no seed is recorded in lock.json")
    )
    if not members:
        reason = "not on record in their order: whether they still say so cannot be checked"
        return line(10, [asked, seed, unknown("members of the ensemble", reason)])
    return line(10, [asked, seed])


def _replay(health: Health | None) -> Part:
    name = "replay of known states"
    if health is None:
        return unknown(name, f"{ELSEWHERE} whether its verifiers accept good and reject bad states")
    if health.faults:
        n = sum(health.faults.values())
        reason = f"{n} episodes of tasks that fail their own known states, or whose verifier broke"
        return fact(name, Answer.FAIL, reason, faults=health.faults)
    if health.replayed < health.scored:
        reason = f"{health.scored - health.replayed} of {health.scored} outcomes without a replay"
        return unknown(name, reason)
    return fact(name, Answer.PASS, "good states pass and bad ones fail, for every scored episode")


def _open(subject: Subject, tells: bool) -> Part:
    name = "indeterminate outcomes"
    if not tells:
        return unknown(name, "the source has pass or fail only", value=None)
    truth = subject.episodes.truth
    undecided = (truth == INDETERMINATE) | (truth == MISSING)
    found = subject.bound(subject.natural, undecided, "no_episodes")
    return upper(name, found, subject.limits.indeterminate)


def _read_by_people(subject: Subject, health: Health | None) -> Part:
    name = "false positives read by a person"
    rows = subject.decided & subject.accepted & (subject.episodes.truth == FAIL)
    n = int(rows.sum())
    if health is None:
        return unknown(name, f"{ELSEWHERE} which false positives a person has read", false_positives=n)
    if not some(subject.decided & (subject.episodes.truth == FAIL)):
        return unknown(name, "no_negatives", false_positives=0)
    ids = [subject.episodes.ids[row] for row in np.flatnonzero(rows)]
    done = sum(1 for one in ids if one in health.read)
    if done < n:
        return unknown(name, f"{done} of {n} are read: pyrite label EPISODE", false_positives=n, read=done)
    reason = "all of them" if n else "there is none"
    return fact(name, Answer.PASS, reason, false_positives=n, read=done)


def tells_indeterminate(truth: Codes8) -> bool:
    """Whether a truth column from elsewhere knows anything but pass and fail."""
    return bool(((truth != PASS) & (truth != FAIL)).any())
