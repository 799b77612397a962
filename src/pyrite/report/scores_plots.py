"""ROC, DET and reliability as drawings of a fixed size: 320 x 300, labels beside the curves.

A DET plot has normal deviates on both axes, where normal scores give straight lines. What lies at 0 or
100 % has no place on it and is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from markupsafe import Markup

from pyrite.report.numbers import few, limit
from pyrite.report.sections import above_target
from pyrite.report.slopes import apart
from pyrite.report.svg import element, figure
from pyrite.report.text import cut

MOST_CURVES = 4
"""Curves in one plot; one style of line each."""
LEFT, RIGHT, TOP, BOTTOM = 34.0, 310.0, 26.0, 266.0
_SPLIT = 196.0
"""Below it a reliability diagram shows how many episodes are in each bin."""
_DEVIATES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99)
_QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
_NAME = 26
_CERTIFIED = "certified, other tasks"
_LETTER, _LINE, _LINES, _WIDE = 6.2, 11.0, 4, 320.0
"""Width of a letter and height of a line, lines that a count may stand higher, width of a drawing."""
_NAMED = 200.0
"""Near here the curves of a DET plot have their names, to the upper right of a falling line."""
Rates = Mapping[str, Any]


@dataclass(frozen=True)
class Curve:
    """One score: (FPR, share of missed successes) from strict to lenient."""

    name: str
    points: tuple[tuple[float, float], ...]
    certified: tuple[Rates, Rates] | None = None
    """FPR and TPR at its certified threshold, on tasks that did not choose it."""


def roc(curves: Sequence[Curve], target: float, *, title: str) -> Markup:
    """True against false positives; the target dashed, a diamond where a threshold is certified."""
    parts = _frame("true-positive rate, %", "false-positive rate, %")
    parts.append(_zone(_x(target)))
    parts += [_grid(_x(tick), _y(tick), _whole(tick)) for tick in _QUARTERS]
    parts += _target(_x(target), f"target FPR {_short(target)}")
    parts.append(element("line", {"class": "chance", "x1": LEFT, "y1": BOTTOM, "x2": RIGHT, "y2": TOP}))
    parts += [_path(at, [(_x(f), _y(1 - m)) for f, m in one.points]) for at, one in enumerate(curves)]
    crosses = [_cross(*one.certified, target) for one in curves if one.certified is not None]
    parts += [*crosses, *_key(curves, certified=bool(crosses))]
    return figure("curve", title, *parts)


def det(curves: Sequence[Curve], target: float, *, title: str) -> Markup | None:
    """Misses against false accepts on normal deviates; None where no curve has two points to draw."""
    inside = [
        [
            (f, m)
            for f, m in one.points
            if _DEVIATES[0] <= f <= _DEVIATES[-1] and _DEVIATES[0] <= m <= _DEVIATES[-1]
        ]
        for one in curves
    ]
    every = [point for points in inside for point in points]
    if not any(len(points) > 1 for points in inside):
        return None
    across = _Deviates([f for f, _ in every] + [target], LEFT, RIGHT)
    up = _Deviates([m for _, m in every], BOTTOM, TOP)
    parts = _frame("missed successes, %", "false-positive rate, % (normal scale)")
    parts.append(_zone(across.at(target)))
    parts += [_vertical(across.at(tick), _short(tick, unit=False)) for tick in across.ticks]
    parts += [_horizontal(up.at(tick), _short(tick, unit=False)) for tick in up.ticks]
    parts += _target(across.at(target), f"target {_short(target)}")
    named: list[tuple[float, float, int]] = []
    for at, (one, points) in enumerate(zip(curves, inside, strict=True)):
        places = [(across.at(f), up.at(m)) for f, m in points]
        if len(places) > 1:
            parts.append(_path(at, places))
            above = [place for place in places if place[1] < BOTTOM - 50] or places
            named.append((*min(above, key=lambda place: abs(place[0] - _NAMED)), at))
        if one.certified is not None:
            parts += _dot(one.certified, target, across, up)
    heights = apart([y - 6 for _, y, _ in named])
    parts += [
        element("text", {"class": f"name start c{at}", "x": x + 8, "y": y}, cut(curves[at].name, _NAME))
        for (x, _, at), y in zip(named, heights, strict=True)
    ]
    return figure("curve", title, *parts)


def reliability(bins: Sequence[Mapping[str, Any]], *, title: str) -> Markup:
    """Stated probability against how many really passed, and below it how many episodes are in each bin.

    A bin whose interval lies below the diagonal is overconfident: a triangle instead of a disc. One of
    fewer than 10 episodes has a bar and no mark. A count that would run into another text is left out.
    """
    parts = _frame("really succeeded, %", "stated probability of success, %")

    def y(rate: float) -> float:
        return _SPLIT - (_SPLIT - TOP) * rate

    for tick in _QUARTERS:
        parts.append(_grid(_x(tick), y(tick), _whole(tick)))
    parts.append(element("line", {"class": "chance", "x1": LEFT, "y1": _SPLIT, "x2": RIGHT, "y2": TOP}))
    most = max((one["n"] for one in bins), default=1)
    bars = [(_x(one["mean"]), BOTTOM - (BOTTOM - _SPLIT - 42) * one["n"] / most, one) for one in bins]
    sure = False
    for x, top, one in bars:
        box: dict[str, str | float | int] = {"x": x - 4, "y": top, "width": 8, "height": BOTTOM - top}
        parts.append(element("rect", {"class": "n", **box}))
        found = one["passed"]
        if found["value"] is None or few(found["n"]):
            continue
        over = found["high"] is not None and found["high"] < one["mean"]
        sure = sure or over
        inside = [_triangle(x, y(found["value"])) if over else _disc(x, y(found["value"]))]
        if found["low"] is not None:
            ends: dict[str, str | float | int] = {"y1": y(found["low"]), "y2": y(found["high"])}
            inside.insert(0, element("line", {"x1": x, "x2": x, **ends}))
        parts.append(element("g", {"class": "bin over" if over else "bin"}, *inside))
    parts.append(element("text", {"class": "unit", "x": LEFT - 26, "y": _SPLIT + 22}, "n"))
    parts += [element("text", {"class": "count", "x": x, "y": at}, word) for x, at, word in _counts(bars)]
    if sure:
        parts.append(element("g", {"class": "bin over"}, _triangle(RIGHT - 94, TOP - 18)))
        parts.append(element("text", {"class": "over", "x": RIGHT, "y": TOP - 14}, "overconfident"))
    return figure("curve", title, *parts)


def _counts(bars: Sequence[tuple[float, float, Mapping[str, Any]]]) -> Iterator[tuple[float, float, str]]:
    """(middle, foot, count) of bars (middle, top, bin): above the bar, or up to three lines higher.

    The fullest bins choose first; one that finds no place between the others has no count.
    """
    taken: list[tuple[float, float, float]] = []
    for middle, top, one in sorted(bars, key=lambda bar: (-bar[2]["n"], bar[0])):
        word = f"{one['n']:,}"
        half = _LETTER * len(word) / 2
        x = min(max(middle, LEFT - 14 + half), _WIDE - half)
        for y in (top - 4 - _LINE * line for line in range(_LINES)):
            free = all(abs(x - x2) >= half + half2 + 2 or abs(y - y2) >= _LINE for x2, y2, half2 in taken)
            if free and y - _LINE >= _SPLIT + 4:
                taken.append((x, y, half))
                yield x, y, word
                break


class _Deviates:
    """An axis of normal deviates that holds the rates, from tick to tick."""

    def __init__(self, rates: Iterable[float], start: float, end: float) -> None:
        found = [rate for rate in rates if _DEVIATES[0] <= rate <= _DEVIATES[-1]]
        low = max((tick for tick in _DEVIATES if tick <= min(found)), default=_DEVIATES[0])
        high = min((tick for tick in _DEVIATES if tick >= max(found)), default=_DEVIATES[-1])
        if low == high:
            at = _DEVIATES.index(low)
            low, high = _DEVIATES[max(0, at - 1)], _DEVIATES[min(len(_DEVIATES) - 1, at + 1)]
        self.ticks = [tick for tick in _DEVIATES if low <= tick <= high]
        self._low, self._high = _deviate(low), _deviate(high)
        self._start, self._end = start, end

    def at(self, rate: float) -> float:
        """Where a rate lies, at most at an end of the axis."""
        share = (_deviate(rate) - self._low) / (self._high - self._low)
        return self._start + (self._end - self._start) * min(1.0, max(0.0, share))

    def holds(self, rate: float) -> bool:
        return self.ticks[0] <= rate <= self.ticks[-1]


def _deviate(rate: float) -> float:
    return NormalDist().inv_cdf(min(max(rate, 1e-6), 1 - 1e-6))


def _frame(up: str, across: str) -> list[Markup]:
    return [
        element("text", {"class": "unit", "x": LEFT - 28, "y": TOP - 14}, up),
        element("text", {"class": "unit middle", "x": (LEFT + RIGHT) / 2, "y": BOTTOM + 32}, across),
    ]


def _zone(x: float) -> Markup:
    """The pale zone left of the target."""
    return element("rect", {"class": "zone", "x": LEFT, "y": TOP, "width": x - LEFT, "height": BOTTOM - TOP})


def _target(x: float, label: str) -> list[Markup]:
    """The dashed target over the grid, and its label at the foot, inside the frame."""
    fits = x + 5 + _LETTER * len(label) <= RIGHT
    css, at = ("target-name", x + 5) if fits else ("target-name end", x - 5)
    return [
        element("line", {"class": "target", "x1": x, "x2": x, "y1": TOP, "y2": BOTTOM}),
        element("text", {"class": css, "x": at, "y": BOTTOM - 7}, label),
    ]


def _grid(x: float, y: float, word: str) -> Markup:
    return Markup("").join((_vertical(x, word), _horizontal(y, word)))


def _vertical(x: float, word: str) -> Markup:
    line = element("line", {"class": "grid", "x1": x, "x2": x, "y1": TOP, "y2": BOTTOM})
    return line + element("text", {"class": "tick", "x": x, "y": BOTTOM + 15}, word)


def _horizontal(y: float, word: str) -> Markup:
    line = element("line", {"class": "grid", "x1": LEFT, "x2": RIGHT, "y1": y, "y2": y})
    return line + element("text", {"class": "tick side", "x": LEFT - 6, "y": y, "dy": "0.35em"}, word)


def _path(at: int, places: Sequence[tuple[float, float]]) -> Markup:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return element("polyline", {"class": f"line c{at}", "points": points})


def _cross(fpr: Rates, tpr: Rates, target: float) -> Markup:
    """The certified threshold on other tasks, with both intervals."""
    x, y = _x(fpr["value"]), _y(tpr["value"])
    inside = []
    if fpr["low"] is not None:
        inside.append(element("line", {"x1": _x(fpr["low"]), "x2": _x(fpr["high"]), "y1": y, "y2": y}))
    if tpr["low"] is not None:
        inside.append(element("line", {"x1": x, "x2": x, "y1": _y(tpr["low"]), "y2": _y(tpr["high"])}))
    return element("g", {"class": _certified(fpr, target)}, *inside, _diamond(x, y))


def _dot(certified: tuple[Rates, Rates], target: float, across: _Deviates, up: _Deviates) -> list[Markup]:
    """The certified threshold where both of its rates are on the axes."""
    fpr, missed = certified[0]["value"], 1 - certified[1]["value"]
    if not (across.holds(fpr) and up.holds(missed)):
        return []
    dot = _diamond(across.at(fpr), up.at(missed))
    return [element("g", {"class": _certified(certified[0], target)}, dot)]


def _certified(fpr: Rates, target: float) -> str:
    return "certified look" if above_target(fpr, target) else "certified"


def _diamond(x: float, y: float) -> Markup:
    return element("path", {"d": f"M{x:.2f},{y - 5.5:.2f} l5.5,5.5 l-5.5,5.5 l-5.5,-5.5 Z"})


def _triangle(x: float, y: float) -> Markup:
    return element("path", {"d": f"M{x - 5:.2f},{y - 3.4:.2f} h10 l-5,8.4 Z"})


def _disc(x: float, y: float) -> Markup:
    return element("circle", {"cx": x, "cy": y, "r": 3.2})


def _key(curves: Sequence[Curve], *, certified: bool) -> list[Markup]:
    """Names beside a piece of their line, in the corner below the diagonal that curves leave free."""
    names = [*(cut(one.name, _NAME) for one in curves), *([_CERTIFIED] if certified else [])]
    first = BOTTOM - 24 - 18 * len(names)
    parts = []
    for at, name in enumerate(names):
        y, x = first + 18 * at, RIGHT - 178
        css = f"name c{at}" if at < len(curves) else "name"
        if at < len(curves):
            parts.append(_path(at, [(x, y), (x + 22, y)]))
        else:
            parts.append(element("g", {"class": "certified"}, _diamond(x + 11, y)))
        parts.append(element("text", {"class": f"{css} start", "x": x + 30, "y": y, "dy": "0.35em"}, name))
    return parts


def _x(rate: float) -> float:
    return LEFT + (RIGHT - LEFT) * rate


def _y(rate: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * rate


def _whole(rate: float) -> str:
    return f"{100 * rate:.0f}"


def _short(rate: float, *, unit: bool = True) -> str:
    """A rate without a decimal that says nothing.

    >>> _short(0.05, unit=False), _short(0.005, unit=False)
    ('5', '0.5')
    """
    return limit(rate) if unit else f"{100 * rate:g}"
