"""FPR by failure category: what was expected of it beside what was measured, of the leading stratum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyrite.report import numbers
from pyrite.report.plots import Axis, axis_for
from pyrite.report.sections import CATEGORIES, TARGET, Condition, Row, Stratum, above_target

MOST = 3
"""Judges that are drawn, in the order of the tables above; of the others there are counts."""
CONSTANT = ("accept-all", "reject-all")
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
        """Whether its FPR is clearly above the target."""
        return above_target(self.figure)

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
    axis: Axis

    def holds(self, judge: str, condition: str) -> bool:
        """Whether a judge is drawn, and so needs no counts of its own."""
        return any((one.judge, one.condition) == (judge, condition) for one in self.judges)


def kinds(result: Mapping[str, Any], stratum: Stratum) -> Kinds | None:
    """The first judges of the leading stratum, shortcuts aside; None elsewhere, and without categories."""
    health = result.get("health")
    if health is None or stratum.name != result["lead"]:
        return None
    shown = []
    for condition in stratum.conditions:
        blocks = health["judges"].get(condition.name, {})
        for row in condition.rows:
            block = blocks.get(row.name)
            if not row.shortcut and block and block["by_category"] and block["by_category"]["categories"]:
                shown.append(_judged(row.name, condition.name, block))
    if not shown:
        return None
    axis = axis_for((kind.figure for one in shown[:MOST] for kind in one.kinds), target=TARGET)
    return Kinds(tuple(shown[:MOST]), axis)


def counted(stratum: Stratum, drawn: Kinds | None) -> list[tuple[Condition, list[Row]]]:
    """(condition, rows) of the judges that are not drawn, in the order of the other tables.

    Without the shortcuts that accept everything or nothing: of each category all or none.
    """
    found = []
    for condition in stratum.conditions:
        rows = [
            row
            for row in condition.rows
            if row.name.split("@")[0] not in CONSTANT
            and (drawn is None or not drawn.holds(row.name, condition.name))
        ]
        if rows:
            found.append((condition, rows))
    return found


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
