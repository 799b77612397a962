"""What the ten lines of a gate are made of: parts with an answer, a reason and bounds, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyrite.measure.blocks import compact, family_codes
from pyrite.measure.table import PARSE_ERROR, SUCCESS, UNCERTAIN, Codes8, Episodes, Factor, Flags, Table
from pyrite.metrics.gate import Answer, Bound, all_of, at_least, at_most, bound
from pyrite.metrics.intervals import upper_bound
from pyrite.store.config import Gate

TITLES = {
    1: "False accepts",
    2: "False positives in the training set",
    3: "Successes it recognises",
    4: "Claim effect",
    5: "Stability",
    6: "No leaky corner",
    7: "Threshold chosen elsewhere",
    8: "Health of the truth",
    9: "No leak in the evidence",
    10: "Provenance",
}
"""The lines, in the order in which they are read."""

Part = dict[str, Any]


@dataclass(frozen=True)
class Subject:
    """One judge in one condition, and the episodes that a gate speaks of."""

    judge: str
    condition: str
    verdict: Codes8
    natural: Flags
    """Episodes of an agent under test (of a table all), less those that chose a threshold."""
    table: Table
    limits: Gate
    hard: Flags | None = None
    """Failures that look like successes; None where no category is known."""
    hard_elsewhere: tuple[str, Flags] | None = None
    """The same in another stratum, where the natural one has none."""
    agents: Factor | None = None
    cells: dict[str, Flags] = field(default_factory=dict)
    """Name -> episodes of each failure category or group."""
    cut: float | None = None
    """The certified threshold of a judge that gives scores only."""

    @property
    def episodes(self) -> Episodes:
        return self.table.episodes

    @property
    def confidence(self) -> float:
        """Of each bound: the looks share the error."""
        return 1 - (1 - self.limits.confidence) / self.limits.looks

    @property
    def accepted(self) -> Flags:
        flags: Flags = self.verdict == SUCCESS
        return flags

    @property
    def decided(self) -> Flags:
        """Natural episodes in this judge's matrix."""
        flags: Flags = self.natural & self.episodes.scored & (self.verdict >= 0)
        return flags

    @property
    def unusable(self) -> Flags:
        flags: Flags = (self.verdict == UNCERTAIN) | (self.verdict == PARSE_ERROR)
        return flags

    def bound(self, rows: Flags, values: Any, empty: str, *, confidence: float | None = None) -> Bound:
        """One-sided bounds of the mean of `values` over the chosen episodes, clustered."""
        return bound(
            values[rows],
            compact(self.episodes.cluster, rows),
            family_codes(self.episodes, rows),
            confidence=confidence or self.confidence,
            empty=empty,
        )


def line(number: int, parts: list[Part]) -> dict[str, Any]:
    """A line of the gate: it passes where all of its parts do; the first of the worst parts says why."""
    answer = all_of(Answer(one["answer"]) for one in parts)
    reason = next(one["reason"] for one in parts if one["answer"] == answer)
    return {"line": number, "title": TITLES[number], "answer": answer.value, "reason": reason, "parts": parts}


def fact(name: str, answer: Answer, reason: str, **more: Any) -> Part:
    """A part that is no rate."""
    return {"name": name, "answer": answer.value, "reason": reason, **more}


def unknown(name: str, reason: str, **more: Any) -> Part:
    """A part that cannot be told: INSUFFICIENT."""
    return fact(name, Answer.INSUFFICIENT, reason, **more)


def upper(name: str, found: Bound, limit: float, **more: Any) -> Part:
    """A rate that must not be above the limit."""
    return _rate(name, found, limit, at_most(found, limit), "at most", **more)


def lower(name: str, found: Bound, limit: float, **more: Any) -> Part:
    """A rate that must not be below the limit."""
    return _rate(name, found, limit, at_least(found, limit), "at least", **more)


def figures(found: Bound, limit: float, sense: str) -> Part:
    """The numbers of a bound as they stand in a certificate."""
    return {
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "limit": limit,
        "sense": sense,
        "n": found.n,
        "events": found.events,
        "clusters": found.clusters,
        "size": found.size,
        "method": found.method,
    }


def _rate(name: str, found: Bound, limit: float, answer: Answer, sense: str, **more: Any) -> Part:
    within, beyond = ("upper", "lower") if sense == "at most" else ("lower", "upper")
    if found.value is None or found.low is None:
        reason = found.reason or "unknown"
    elif answer is Answer.PASS:
        reason = f"the {within} bound is within the limit"
    elif answer is Answer.FAIL:
        reason = f"even the {beyond} bound is beyond the limit"
    else:
        reason = _undecided(found, limit, sense)
    return fact(name, answer, reason, **figures(found, limit, sense), **more)


def _undecided(found: Bound, limit: float, sense: str) -> str:
    """Why bounds decide nothing, and whether such a size could have shown it at all."""
    best = None if found.size is None else upper_bound(0, found.size)
    spare = limit if sense == "at most" else 1 - limit
    if best is not None and best > spare:
        return "too few episodes: not even a perfect record of this size would pass"
    return "the limit lies between the bounds"


def some(rows: Flags) -> bool:
    """Whether any episode is chosen."""
    return bool(np.any(rows))
