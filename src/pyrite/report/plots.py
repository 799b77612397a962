"""The small graphics of the report: one row of a plot each, so that its number stands beside it.

Positions are shares of an axis that ends at `limit`; the row's height is the table row's. Beyond the
axis there is an arrow, never a broken axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from markupsafe import Markup

from pyrite.report.numbers import few, percent
from pyrite.report.svg import across, element, figure

Mark = Literal["judge", "shortcut"]

_ARROW = "M-14,0 H0 M-5,-4 L0,0 L-5,4"
_LIMITS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
_LABEL_FITS = 0.2
"""The share of a bar from which on its label is written inside."""


@dataclass(frozen=True)
class Axis:
    """An axis of rates from 0 to `limit`, with a target rate or none."""

    limit: float
    target: float | None = None

    @property
    def ticks(self) -> list[float]:
        step = 0.05 if self.limit <= 0.2 else 0.1 if self.limit <= 0.5 else 0.2
        return [step * i for i in range(round(self.limit / step) + 1)]

    def at(self, rate: float) -> str:
        """Where a rate lies, at most the end of the axis."""
        return across(min(rate, self.limit) / self.limit)


def axis_for(estimates: Iterable[Mapping[str, Any]], *, target: float | None = None) -> Axis:
    """The shortest axis that holds every interval; what is 100 % from end to end does not stretch it."""
    ends = [
        float(found["high"] if found["high"] is not None else found["value"])
        for found in estimates
        if found["value"] is not None and found["value"] < 1 and not few(found["n"])
    ]
    longest = max([*ends, target or 0.0, _LIMITS[0]])
    return Axis(next(limit for limit in _LIMITS if limit >= longest - 1e-9), target)


def grid(axis: Axis) -> Markup:
    """The light vertical lines of one row, the pale zone left of the target, the dashed target."""
    parts = []
    if axis.target is not None:
        parts.append(element("rect", {"class": "zone", "width": axis.at(axis.target), "height": "100%"}))
    parts += [_vertical("grid", axis.at(tick)) for tick in axis.ticks]
    if axis.target is not None:
        parts.append(_vertical("target", axis.at(axis.target)))
    return Markup("").join(parts)


def grid_row(axis: Axis) -> Markup:
    """A row of a plot that holds nothing but its grid."""
    return element("svg", {"class": "plot", "aria-hidden": "true"}, grid(axis))


def axis_row(axis: Axis) -> Markup:
    """The tick labels below a plot, the last one with its unit; the target has a label of its own."""
    last = len(axis.ticks) - 1
    parts = [
        element(
            "text",
            {"class": "tick between" if i and (last - i) % 2 else "tick", "x": axis.at(tick), "y": 14},
            percent(tick).replace(".0", "") if i == last else f"{100 * tick:.0f}",
        )
        for i, tick in enumerate(axis.ticks)
        if axis.target is None or abs(tick - axis.target) > 1e-9
    ]
    if axis.target is not None:
        label = f"target {percent(axis.target).replace('.0', '')}"
        parts.append(
            element(
                "line",
                {
                    "class": "target",
                    "x1": axis.at(axis.target),
                    "x2": axis.at(axis.target),
                    "y1": 0,
                    "y2": 18,
                },
            )
        )
        parts.append(element("text", {"class": "tick named", "x": axis.at(axis.target), "y": 29}, label))
    return element("svg", {"class": "plot", "aria-hidden": "true"}, *parts)


def forest_row(
    found: Mapping[str, Any], axis: Axis, *, mark: Mark, hollow: bool, look: bool, title: str
) -> Markup:
    """A rate with its interval: a disc for a judge, a square for a shortcut; hollow where not natural."""
    css = f"plot {mark}{' hollow' if hollow else ''}{' look' if look else ''}"
    parts = [grid(axis)]
    value, low, high = found["value"], found["low"], found["high"]
    if value is not None and few(found["n"]) and value <= axis.limit:
        parts.append(_at(axis.at(value), element("path", {"class": "few", "d": "M0,-5 V5"})))
    elif value is not None:
        if low is not None and low <= axis.limit and not few(found["n"]):
            parts.append(_horizontal("range", axis.at(low), axis.at(high)))
        if value > axis.limit + 1e-9 or (high is not None and high > axis.limit + 1e-9):
            parts.append(_at(axis.at(axis.limit), element("path", {"class": "beyond", "d": _ARROW})))
        if value <= axis.limit + 1e-9:
            parts.append(_mark(mark, axis.at(value)))
    return figure(css, title, *parts)


def outcome_bar(passed: int, failed: int, indeterminate: int, *, title: str) -> Markup:
    """Pass, fail and hatched indeterminate as shares of the attempted; a wide part carries its label."""
    attempted = passed + failed + indeterminate
    if not attempted:
        return figure("bar", title, element("rect", {"class": "empty", "width": "100%", "height": "100%"}))
    parts, left = [], 0.0
    for css, word, number in (
        ("pass", "pass", passed),
        ("fail", "fail", failed),
        ("hatched", "indeterminate", indeterminate),
    ):
        share = number / attempted
        if number:
            box: dict[str, str | float | int] = {"x": across(left), "width": across(share), "height": "100%"}
            parts.append(element("rect", {"class": css, **box}))
            if css == "fail" and left:
                parts.append(
                    element("rect", {"class": "edge", "x": across(left), "width": 2, "height": "100%"})
                )
        if share >= _LABEL_FITS * (1.6 if css == "hatched" else 1):
            parts.append(_bar_label(css, f"{word} {number:,}", left))
        left += share
    return figure("bar", title, *parts)


def unlabelled(passed: int, failed: int, indeterminate: int) -> list[str]:
    """The counts that have no room in the bar, to be written below it."""
    attempted = passed + failed + indeterminate
    shares = (("pass", passed, 1.0), ("fail", failed, 1.0), ("indeterminate", indeterminate, 1.6))
    return [
        f"{word} {number:,}"
        for word, number, wide in shares
        if not attempted or number / attempted < _LABEL_FITS * wide
    ]


def rate_row(truth: Mapping[str, Any], axis: Axis, *, title: str) -> Markup:
    """The success rate with its interval over a hatched band from bound to bound."""
    parts = [grid(axis), _horizontal("base", "0%", "100%")]
    if truth["bounds"] is not None:
        low, high = truth["bounds"]
        if high > low:
            width = across((min(high, axis.limit) - low) / axis.limit)
            parts.append(
                element(
                    "rect",
                    {
                        "class": "hatched",
                        "x": axis.at(low),
                        "width": width,
                        "y": "50%",
                        "height": 8,
                        "transform": "translate(0,-4)",
                    },
                )
            )
    if truth["rate"] is not None and not few(truth["scored"]):
        if truth["low"] is not None:
            parts.append(_horizontal("range", axis.at(truth["low"]), axis.at(truth["high"])))
        parts.append(_mark("judge", axis.at(truth["rate"])))
    return figure("plot judge", title, *parts)


def _mark(mark: Mark, x: str) -> Markup:
    if mark == "judge":
        return element("circle", {"class": "mark", "cx": x, "cy": "50%", "r": 4})
    return _at(x, element("rect", {"class": "mark", "x": -3.5, "y": -3.5, "width": 7, "height": 7}))


def _at(x: str, child: Markup) -> Markup:
    """A shape drawn around 0, 0, moved to a place that is given in per cent."""
    return element("svg", {"x": x, "y": "50%", "overflow": "visible"}, child)


def _vertical(css: str, x: str) -> Markup:
    return element("line", {"class": css, "x1": x, "x2": x, "y1": 0, "y2": "100%"})


def _horizontal(css: str, start: str, end: str) -> Markup:
    return element("line", {"class": css, "x1": start, "x2": end, "y1": "50%", "y2": "50%"})


def _bar_label(css: str, label: str, left: float) -> Markup:
    text = element("text", {"class": f"on-{css}", "x": 8, "y": 0, "dy": "0.35em"}, label)
    if css == "hatched":
        width = 7 * len(label) + 8
        text = element("rect", {"class": "label", "x": 4, "y": -9, "width": width, "height": 18}) + text
    return _at(across(left), text)
