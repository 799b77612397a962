"""The pull of the claim: the same episodes without the agent's words, with them, and with the opposite.

For each judge, with and without its line of warning, with and without thoughts: what the words move on
failed and on passed episodes, by what they say; what moves where nothing is said (placebo) and between runs
of one condition (noise); and whether the words inform the judge (d') or make it lenient (criterion).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pyrite.measure.blocks import Settings, compact, counted, figure
from pyrite.measure.claim_effect import contrast_block, noise_block
from pyrite.measure.reasons import words
from pyrite.measure.table import FAIL, MISSING, PARSE_ERROR, PASS, SUCCESS, UNCERTAIN, Flags, Table
from pyrite.measure.vote import votes_of
from pyrite.metrics.blind import blind
from pyrite.metrics.claims import signal
from pyrite.metrics.clusters import rate as clustered_rate
from pyrite.metrics.compare import holm
from pyrite.metrics.means import clustered_mean

ASSERTS, HEDGED, ADMITS, SILENT = "asserts", "hedged", "admits", "silent"
KINDS = (ASSERTS, HEDGED, ADMITS)
"""What a final message says of success: it is there, neither, it is not; `silent` is no message at all."""
Values = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Arm:
    """One judge in the three conditions that differ in the agent's words alone."""

    judge: str
    of: str
    """The judge that was asked for: with and without its warning line it is one."""
    warning: bool | None
    """Whether its prompt says that the agent's words are a claim; None where that cannot be taken out."""
    thoughts: bool
    base: str
    claim: str
    swap: str

    @property
    def contrasts(self) -> dict[str, tuple[str, str]]:
        """Name -> (condition, less this condition)."""
        return {
            "claim": (self.claim, self.base),
            "swap": (self.swap, self.base),
            "claim-swap": (self.claim, self.swap),
        }


def claim_experiment(
    table: Table, kinds: Sequence[str | None], arms: Sequence[Arm], settings: Settings
) -> dict[str, Any]:
    """A block a stratum, in it one an arm and what the factors do. `kinds`: of each episode's message.

    Strata are never pooled. A figure that cannot be had is None with a reason.
    """
    strata = table.episodes.stratum
    assert strata is not None
    found = {}
    for code, name in enumerate(strata.names):
        rows: Flags = strata.codes == code
        found[name] = _stratum(table, rows, _by_kind(kinds), arms, settings)
    return {"strata": found}


def _by_kind(kinds: Sequence[str | None]) -> dict[str, Flags]:
    said = np.array([kind or "" for kind in kinds])
    return {kind: said == kind for kind in (*KINDS, SILENT)}


def _stratum(
    table: Table, rows: Flags, kinds: Mapping[str, Flags], arms: Sequence[Arm], settings: Settings
) -> dict[str, Any]:
    truth = table.episodes.truth
    found = [_arm(table, rows, kinds, arm, settings) for arm in arms]
    _adjust(found)
    return {
        "episodes": int(rows.sum()),
        "failed": int((rows & (truth == FAIL)).sum()),
        "passed": int((rows & (truth == PASS)).sum()),
        "messages": {kind: int((rows & chosen).sum()) for kind, chosen in kinds.items()},
        "arms": found,
        "factors": _factors(table, rows, kinds, arms, settings),
    }


def _adjust(arms: Sequence[dict[str, Any]]) -> None:
    """Holm over the one family that is declared: of each arm, what a claim of success adds to the FPR.

    The rest (opposite, other messages, TPR, placebo, noise) is exploratory; its p-values stand alone.
    """
    headline = [arm["contrasts"]["claim"]["by_kind"][ASSERTS]["fpr"] for arm in arms]
    for cell, p in zip(headline, holm([cell["p_signflip"] for cell in headline]), strict=True):
        cell["p_holm"] = p


def _arm(
    table: Table, rows: Flags, kinds: Mapping[str, Flags], arm: Arm, settings: Settings
) -> dict[str, Any]:
    failed = rows & (table.episodes.truth == FAIL)
    turned = rows & ~kinds[SILENT] & ~kinds[HEDGED]  # what says nothing of success has no opposite
    conditions = {
        condition: _rates(
            table, rows, turned if condition == arm.swap else rows, arm.judge, condition, settings
        )
        for condition in (arm.base, arm.claim, arm.swap)
    }
    _tell_apart(list(conditions.values()), settings.level)
    return {
        **asdict(arm),
        "contrasts": {
            name: _contrast(table, rows, kinds, arm, pair, settings) for name, pair in arm.contrasts.items()
        },
        "placebo": _moved(
            table, failed & kinds[SILENT], arm, (arm.claim, arm.base), "no_silent_failures", settings
        ),
        "noise": noise_block(table, failed & kinds[ASSERTS], arm.judge, arm.base, settings),
        "conditions": conditions,
    }


def _tell_apart(conditions: Sequence[dict[str, Any]], level: float) -> None:
    """Whether the judge is shown to tell passed from failed in each condition: one family, after Holm."""
    for cell, p in zip(conditions, holm([cell["p_blind"] for cell in conditions]), strict=True):
        cell["p_blind_holm"] = p
        ahead = cell.pop("ahead")
        cell["tells_apart"] = None if p is None else ahead and p <= 1 - level


def _contrast(
    table: Table,
    rows: Flags,
    kinds: Mapping[str, Flags],
    arm: Arm,
    pair: tuple[str, str],
    settings: Settings,
) -> dict[str, Any]:
    """The effect on failed and passed episodes, by kind of message; and the shift of d' and criterion."""
    truth = table.episodes.truth
    spoke = rows & ~kinds[SILENT]
    found: dict[str, Any] = {"condition": pair[0], "minus": pair[1], "by_kind": {}}
    for kind in KINDS:
        chosen = rows & kinds[kind]
        turns = kind != HEDGED or arm.swap not in pair
        found["by_kind"][kind] = {
            rate: _moved(table, chosen & (truth == code), arm, pair, empty, settings, opposite=turns)
            for rate, code, empty in (("fpr", FAIL, "no_such_failures"), ("tpr", PASS, "no_such_passes"))
        }
    shown, hidden = (votes_of(table, arm.judge, name).verdict for name in pair)
    known = spoke & ((truth == FAIL) | (truth == PASS))
    both = known & (shown != MISSING) & (hidden != MISSING)
    moved = signal(
        (shown == SUCCESS)[both],
        (truth == PASS)[both],
        compact(table.episodes.cluster, both),
        minus=(hidden == SUCCESS)[both],
        level=settings.level,
        resamples=settings.resamples,
        seed=settings.seed,
    )
    shift = {"d_prime": figure(moved.d_prime), "criterion": figure(moved.criterion)}
    for cell in shift.values():
        asked = known & ~kinds[HEDGED] if arm.swap in pair else known
        cell["reason"] = _why(cell["reason"], known & (truth == PASS), known & (truth == FAIL), asked, both)
    return {**found, **shift}


def _why(reason: str | None, passed: Flags, failed: Flags, asked: Flags, there: Flags) -> str | None:
    """A reason for want of passed or failed episodes: they may be there, and their verdicts not."""
    wanted = {"no_positives": passed, "no_negatives": failed}.get(reason or "")
    return reason if wanted is None else _nobody(wanted, wanted & asked, wanted & there, str(reason))


def _nobody(wanted: Flags, asked: Flags, there: Flags, empty: str) -> str:
    """Why there are none: no such episode (`empty`), no opposite of what they say, or no verdict on them."""
    if there.any() or not wanted.any():
        return empty
    return "no_verdicts" if asked.any() else "no_opposite"


def _moved(
    table: Table,
    rows: Flags,
    arm: Arm,
    pair: tuple[str, str],
    empty: str,
    settings: Settings,
    *,
    opposite: bool = True,
) -> dict[str, Any]:
    """Acceptance in one condition minus the other, of these episodes; without `opposite` nobody is asked."""
    shown, hidden = (votes_of(table, arm.judge, name).verdict for name in pair)
    decided = rows & (shown != MISSING) & (hidden != MISSING)
    estimand = f"acceptance in {pair[0]} minus {pair[1]}"
    asked = rows if opposite else np.zeros_like(rows)
    empty = _nobody(rows, asked, decided, empty)
    return {
        **contrast_block(
            table.episodes, decided, shown == SUCCESS, hidden == SUCCESS, estimand, empty, settings
        ),
        "missing": int((asked & ~decided).sum()),
    }


def _rates(
    table: Table, rows: Flags, asked: Flags, judge: str, condition: str, settings: Settings
) -> dict[str, Any]:
    """Acceptance of failed and passed episodes, d', criterion and the test of a blind judge in one condition.

    `asked`: the episodes that a verdict is wanted of; what the others lack is not missing.
    """
    episodes = table.episodes
    said = votes_of(table, judge, condition).verdict
    scored = rows & episodes.scored
    there = scored & (said != MISSING)
    passed = episodes.truth == PASS
    accepted = said == SUCCESS

    def share(chosen: Flags, name: str, empty: str) -> dict[str, Any]:
        found = chosen & there
        codes = compact(episodes.cluster, found)
        total = np.bincount(codes).astype(np.float64)
        hits = np.bincount(codes[accepted[found]], minlength=len(total)).astype(np.float64)
        reason = _nobody(chosen, chosen & asked, found, empty)
        return figure(clustered_rate(hits, total, estimand=name, empty=reason, level=settings.level))

    columns = accepted[there], passed[there], compact(episodes.cluster, there)
    looked = blind(*columns, seed=settings.seed)
    found = signal(
        *columns,
        p=None if looked is None else looked.p,
        level=settings.level,
        resamples=settings.resamples,
        seed=settings.seed,
    )
    d_prime, criterion = figure(found.d_prime), figure(found.criterion)
    for cell in (d_prime, criterion):
        cell["reason"] = _why(cell["reason"], scored & passed, scored & ~passed, asked, there)
    return {
        "fpr": share(scored & ~passed, "FPR", "no_negatives"),
        "tpr": share(scored & passed, "TPR", "no_positives"),
        "d_prime": d_prime,
        "criterion": criterion,
        "p_blind": None if looked is None else looked.p,
        "p_blind_method": None if looked is None else looked.method,
        "ahead": looked is not None and looked.ahead,
        "uncertain": int((there & (said == UNCERTAIN)).sum()),
        "parse_error": int((there & (said == PARSE_ERROR)).sum()),
        "missing": int((asked & episodes.scored & ~there).sum()),
        "without_opposite": int((rows & ~asked & episodes.scored & ~there).sum()),
    }


def _factors(
    table: Table, rows: Flags, kinds: Mapping[str, Flags], arms: Sequence[Arm], settings: Settings
) -> list[dict[str, Any]]:
    """What the warning line takes off the effect of a claim on the FPR, and what thoughts add to FPR, TPR."""
    found = []
    truth = table.episodes.truth
    asserted = rows & kinds[ASSERTS] & (truth == FAIL)
    failed, passed = rows & (truth == FAIL), rows & (truth == PASS)
    for arm in arms:
        for other in arms:
            if arm.of != other.of:
                continue
            if arm.thoughts == other.thoughts and arm.warning and other.warning is False:
                found.append(
                    {
                        "factor": "warning",
                        "judge": arm.of,
                        "thoughts": arm.thoughts,
                        **_interaction(table, asserted, arm, other, settings),
                    }
                )
            if arm.judge == other.judge and arm.thoughts and not other.thoughts:
                for rate, chosen, empty in (("fpr", failed, "no_negatives"), ("tpr", passed, "no_positives")):
                    moved = _moved(table, chosen, arm, (arm.base, other.base), empty, settings)
                    said = {"factor": "thoughts", "judge": arm.judge, "warning": arm.warning, "rate": rate}
                    found.append({**said, **moved})
    return found


def _interaction(table: Table, rows: Flags, arm: Arm, other: Arm, settings: Settings) -> dict[str, Any]:
    """The effect of the claim with the line minus that without it, paired by episode."""
    chosen = rows.copy()
    values: Values = np.zeros(len(rows))
    for one, sign in ((arm, 1.0), (other, -1.0)):
        shown, hidden = (votes_of(table, one.judge, name).verdict for name in (one.claim, one.base))
        chosen &= (shown != MISSING) & (hidden != MISSING)
        values += sign * ((shown == SUCCESS).astype(np.float64) - (hidden == SUCCESS))
    found = clustered_mean(
        values[chosen],
        compact(table.episodes.cluster, chosen),
        estimand="effect of the claim on the FPR, with the warning line minus without",
        empty=_nobody(rows, rows, chosen, "no_such_failures"),
        bounds=(-2, 2),
        level=settings.level,
    )
    return {**figure(found), "missing": int((rows & ~chosen).sum())}


def notes(result: Mapping[str, Any]) -> list[str]:
    """What a reader must know before reading a figure."""
    told = []
    for name, block in result["strata"].items():
        if name != "natural" and block["failed"]:
            told.append(f"{name}: these episodes are not of an agent under test")
        for arm in block["arms"]:
            apart = [cell["tells_apart"] for cell in arm["conditions"].values()]
            if not block["failed"] and not block["passed"]:
                continue
            if all(one is None for one in apart):
                cells = [cell["d_prime"]["reason"] or "no_exchange" for cell in arm["conditions"].values()]
                why = ", ".join(dict.fromkeys(map(words, cells)))
                told.append(
                    f"{name}: whether {arm['judge']} tells passed from failed or is at chance level "
                    f"cannot be seen: {why}"
                )
            elif not any(apart):
                told.append(
                    f"{name}: {arm['judge']} is not shown to tell passed from failed in any condition: "
                    "chance level, so what moves it says little"
                )
            bare_of = sorted({words(reason) for reason in _without_interval(arm)})
            if bare_of:
                told.append(f"{name}: {arm['judge']}: figures without an interval: {', '.join(bare_of)}")
            gone = sum(cell["missing"] for cell in arm["conditions"].values())
            bare = sum(cell["without_opposite"] for cell in arm["conditions"].values())
            if bare:
                what = f"{counted(bare, 'episode')} left out with the opposite: the message claims nothing"
                told.append(f"{name}: {what} that can be turned round")
            if gone:
                told.append(f"{name}: {arm['judge']}: {counted(gone, 'verdict')} missing, and left out")
            unread: Counter[str] = Counter()
            for cell in arm["conditions"].values():
                unread.update(uncertain=cell["uncertain"], unreadable=cell["parse_error"])
            said = " and ".join(f"{n:,} {kind}" for kind, n in unread.items() if n)
            if said:
                told.append(f"{name}: {arm['judge']}: {said} of its answers, counted as not accepted")
    return list(dict.fromkeys(told))


def _without_interval(found: Any) -> Iterator[str]:
    """Why figures that are there have no interval."""
    if isinstance(found, dict):
        bare = "low" in found and found["low"] is None
        if bare and found.get("value") is not None and found.get("reason"):
            yield found["reason"]
        for inner in found.values():
            yield from _without_interval(inner)
