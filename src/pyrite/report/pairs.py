"""The section of judge pairs: a matrix a condition, and which judges are fooled by the same episodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from pyrite.measure.finding import FIRST_CONDITION, is_shortcut
from pyrite.measure.reasons import words
from pyrite.report import numbers
from pyrite.report.svg import across, element, figure

MAX_JUDGES = 6
"""Judges of a matrix; of more, those with the highest FPR are shown and all are in report.json."""
MAX_SETS = 12
SQUARE = 26
"""Side in pixels of the largest square of a confusion."""
ANSWERS = ("accepts", "rejects", "uncertain", "parse_error", "missing")
_LIMITS = (0.05, 0.1, 0.2, 0.4, 0.6, 1.0)


@dataclass(frozen=True)
class Apart:
    """A pair as it stands in its row: row minus column."""

    row: str
    column: str
    pair: Mapping[str, Any]
    value: float | None
    low: float | None
    high: float | None
    row_only: int
    column_only: int

    @property
    def few(self) -> bool:
        return numbers.few(self.pair["n"])

    @property
    def differs(self) -> bool:
        return bool(self.pair["differs"])

    @property
    def word(self) -> str:
        """differs, not shown to differ, or why nothing could be tested."""
        if self.pair["differs"] is None:
            return numbers.null(self.pair["reason"])
        return "differs" if self.differs else "not shown to differ"

    @property
    def p(self) -> str:
        shown = numbers.p_value(self.pair["p_holm"])
        return f"p < {shown[1:]}" if shown.startswith("<") else f"p = {shown}"

    @property
    def detectable(self) -> str:
        found = self.pair["detectable_difference"]
        reason = words(self.pair["reason"]) if self.pair["reason"] else "unknown"
        return f"detectable {numbers.distance(found)}" if found is not None else f"detectable null: {reason}"


@dataclass(frozen=True)
class Matrix:
    """The judges of one condition, the highest FPR first, and every pair of them."""

    condition: str
    judges: tuple[str, ...]
    left_out: int
    rates: Mapping[str, Mapping[str, Any]]
    """Judge -> its FPR figure."""
    apart: Mapping[tuple[str, str], Apart]
    limit: float
    """Half the length of the axis of differences."""
    most: int
    """The largest count of episodes that only one of two judges accepts."""
    family: Mapping[str, Any]
    confusion: Mapping[str, Mapping[str, Mapping[str, int]]]
    """Judge -> truth -> answer -> episodes."""

    def cell(self, row: str, column: str) -> Apart:
        return self.apart[row, column]


def matrices(pairs: Mapping[str, Any], result: Mapping[str, Any]) -> list[Matrix]:
    """A matrix of FPR differences for each condition of a `compare_bench` result, E1-final first."""
    cells = result["strata"][pairs["stratum"]]["conditions"]
    families = [family for family in pairs["families"] if family["metric"] == "fpr"]
    found = []
    for family in sorted(families, key=lambda one: (one["condition"] != FIRST_CONDITION, one["condition"])):
        condition = family["condition"]
        there = [p for p in pairs["pairs"] if (p["metric"], p["condition"]) == ("fpr", condition)]
        rates = {name: block["fpr"] for name, block in cells[condition]["judges"].items()}
        found.append(_matrix(condition, there, rates, family, pairs["confusion"][condition]))
    return found


def shortcut(name: str) -> bool:
    """Whether a judge does not look at the screen."""
    return is_shortcut(name)


def spread(cell: Apart, limit: float) -> Markup:
    """The difference with its interval on an axis from -limit to +limit, 0 in the middle."""
    parts = [
        element("line", {"class": "base", "x1": "0%", "x2": "100%", "y1": "50%", "y2": "50%"}),
        element("line", {"class": "zero", "x1": "50%", "x2": "50%", "y1": "2", "y2": "14"}),
    ]
    if cell.low is not None and cell.high is not None:
        ends = {"x1": _at(cell.low, limit), "x2": _at(cell.high, limit)}
        parts.append(element("line", {"class": "range", **ends, "y1": "50%", "y2": "50%"}))
    if cell.value is not None:
        parts.append(
            element("circle", {"class": "mark", "cx": _at(cell.value, limit), "cy": "50%", "r": 3.5})
        )
    css = "spread differs" if cell.differs else "spread"
    shown = numbers.points(cell.value)
    return figure(css, f"{cell.row} minus {cell.column}: {shown}, {cell.word}", *parts)


def disagreement(cell: Apart, most: int) -> Markup:
    """Two bars from the middle: episodes that only the row's judge accepts, and only the column's."""
    half = 0.5 / max(1, most)
    left, right = half * cell.row_only, half * cell.column_only
    parts = [
        _bar("row", across(0.5 - left), left),
        _bar("column", "50%", right),
        element("line", {"class": "zero", "x1": "50%", "x2": "50%", "y1": 0, "y2": 16}),
    ]
    said = f"only {cell.row} accepts {cell.row_only:,}, only {cell.column} {cell.column_only:,}"
    return figure("disagreement", said, *parts)


def amount(kind: str, answer: str, n: int, most: int) -> Markup:
    """A square whose area is a number of episodes; a false accept is filled dark, indeterminate hatched."""
    side = SQUARE * (n / max(1, most)) ** 0.5
    css = "false" if (kind, answer) == ("fail", "accepts") else kind
    box: dict[str, str | float | int] = {"class": css, "width": side, "height": side}
    at = (SQUARE - side) / 2
    square = element("rect", {**box, "x": at, "y": at})
    return figure("amount", f"{kind}, {answer.replace('_', ' ')}: {n:,}", square)


def largest(matrix: Matrix) -> int:
    """The largest number of any confusion of the condition: one scale for all of them."""
    return max(n for judge in matrix.confusion.values() for row in judge.values() for n in row.values())


def together(matrix: Matrix) -> list[tuple[int, frozenset[str]]]:
    """(episodes, the judges that accept them) of the failed episodes that any judge accepts, most first."""
    sets = [
        (one["n"], frozenset(one["judges"])) for one in matrix.family["together"]["sets"] if one["judges"]
    ]
    return sets[:MAX_SETS]


def fooled_by_none(matrix: Matrix) -> int:
    """Failed episodes that every judge decided and none accepts."""
    return sum(one["n"] for one in matrix.family["together"]["sets"] if not one["judges"])


def lost(matrix: Matrix) -> list[Mapping[str, Any]]:
    """The pairs for which episodes were left out, not decided by both."""
    return [cell.pair for cell in matrix.apart.values() if cell.pair["lost"] and cell.pair["a"] == cell.row]


def _matrix(
    condition: str,
    there: list[Mapping[str, Any]],
    rates: Mapping[str, Mapping[str, Any]],
    family: Mapping[str, Any],
    confusion: Mapping[str, Mapping[str, Mapping[str, int]]],
) -> Matrix:
    names = sorted({name for pair in there for name in (pair["a"], pair["b"])})
    names.sort(key=lambda name: (rates[name]["value"] is None, -(rates[name]["value"] or 0.0)))
    judges = tuple(names[:MAX_JUDGES])
    apart = {}
    for pair in there:
        if pair["a"] in judges and pair["b"] in judges:
            apart[pair["a"], pair["b"]] = _seen(pair, turned=False)
            apart[pair["b"], pair["a"]] = _seen(pair, turned=True)
    ends = [
        abs(end) for cell in apart.values() for end in (cell.low, cell.high, cell.value) if end is not None
    ]
    return Matrix(
        condition=condition,
        judges=judges,
        left_out=len(names) - len(judges),
        rates=rates,
        apart=apart,
        limit=next(limit for limit in _LIMITS if limit >= max([*map(abs, ends), _LIMITS[0]]) - 1e-9),
        most=max((cell.row_only for cell in apart.values()), default=0),
        family=family,
        confusion=confusion,
    )


def _seen(pair: Mapping[str, Any], *, turned: bool) -> Apart:
    found = pair["difference"]
    value, low, high = found["value"], found["low"], found["high"]
    if not turned:
        return Apart(pair["a"], pair["b"], pair, value, low, high, pair["a_only"], pair["b_only"])
    value, low, high = (None if end is None else -end for end in (value, high, low))
    return Apart(pair["b"], pair["a"], pair, value, low, high, pair["b_only"], pair["a_only"])


def _bar(css: str, x: str, width: float) -> Markup:
    return element("rect", {"class": css, "x": x, "width": across(width), "y": 2, "height": 12})


def _at(value: float, limit: float) -> str:
    return across(0.5 + max(-1.0, min(1.0, value / limit)) / 2)
