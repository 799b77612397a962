"""FPR by failure category: what was expected of it beside what was measured, of the leading stratum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyrite.measure.finding import FIRST_CONDITION, is_shortcut, subject
from pyrite.report import numbers
from pyrite.report.plots import Axis, axis_for
from pyrite.report.sections import CATEGORIES, TARGET

MOST = 3
"""Judges that are drawn, the subject of the finding first; all are in report.json."""
EXPECTED = {"hard": "more often", "easy": "less often"}


@dataclass(frozen=True)
class Kind:
    """One category of failures of one judge."""

    code: str
    words: str
    expected: str
    accepted: int
    n: int
    figure: Mapping[str, Any]
    """The FPR; a null with its reason where there are too few."""
    measured: Mapping[str, Any]

    @property
    def look(self) -> bool:
        """Even the lower bound is above the target."""
        low = self.figure["low"]
        return low is not None and low > TARGET

    @property
    def difference(self) -> str:
        """The difference with its interval; empty where there is none."""
        found = self.measured["difference"]
        if found is None:
            return ""
        ends = numbers.points_interval(found["low"], found["high"])
        return f"{numbers.points(found['value'])} {ends}".rstrip()


@dataclass(frozen=True)
class Judged:
    """One judge in one condition."""

    judge: str
    condition: str
    kinds: tuple[Kind, ...]
    standardised: Mapping[str, Any] | None


@dataclass(frozen=True)
class Kinds:
    """The judges that are shown, on one axis."""

    judges: tuple[Judged, ...]
    left_out: int
    axis: Axis


def kinds(result: Mapping[str, Any]) -> Kinds | None:
    """Judges of the leading stratum, shortcuts aside; None where no failure has a category."""
    health = result.get("health")
    if health is None:
        return None
    first = subject(result)
    found = [
        _judged(judge, condition, block)
        for condition, judges in health["judges"].items()
        for judge, block in judges.items()
        if not is_shortcut(judge) and block["by_category"] and block["by_category"]["categories"]
    ]
    if not found:
        return None
    found.sort(
        key=lambda one: (
            (one.condition, one.judge) != first,
            one.condition != FIRST_CONDITION,
            one.condition,
            one.judge,
        )
    )
    shown = tuple(found[:MOST])
    axis = axis_for((kind.figure for one in shown for kind in one.kinds), target=TARGET)
    return Kinds(shown, len(found) - len(shown), axis)


def _judged(judge: str, condition: str, block: Mapping[str, Any]) -> Judged:
    order = list(CATEGORIES)
    categories = block["by_category"]["categories"]
    listed = sorted(categories, key=lambda code: (order.index(code) if code in order else len(order), code))
    return Judged(
        judge, condition, tuple(_kind(code, categories[code]) for code in listed), block["standardised"]
    )


def _kind(code: str, one: Mapping[str, Any]) -> Kind:
    few: dict[str, Any] = {"value": None, "low": None, "high": None, "n": one["n"], "reason": one["reason"]}
    return Kind(
        code=code,
        words=CATEGORIES.get(code, "a code that is not known"),
        expected=EXPECTED.get(one["expected"] or "", "nothing"),
        accepted=one["accepted"],
        n=one["n"],
        figure=one["fpr"] or few,
        measured=one["measured"],
    )
