"""An action drawn on the screen that it was taken from, as SVG in pixels of that screen.

What has a place gets a mark there and a label beside it; what has none (text, keys) gets its label in
a band below the screen, so that nothing of the screen is hidden.
"""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from pyrite.records import ActionLine
from pyrite.report.numbers import MINUS
from pyrite.report.svg import Value, element
from pyrite.report.text import cut, plain

POINTED = ("click", "double_click", "right_click", "middle_click", "move", "drag", "scroll")
LABEL_CHARACTERS = 44
SHOWN_WIDTH = 680
"""CSS pixels that the screen takes on the page: what marks and labels are sized for."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Overlay:
    """The marks of one action on a screen, and how high the band below is."""

    marks: Markup
    band: float
    outside: bool
    """The action pointed outside the screen; its mark stands at the edge."""


def in_words(action: ActionLine, limit: int = LABEL_CHARACTERS) -> str:
    """What an action was given, in a few words; empty where it takes nothing.

    >>> in_words(ActionLine(step=1, action="scroll", x=5, y=6, dy=3))
    '5, 6 · 3 down'
    """
    parts = []
    if action.x is not None and action.y is not None:
        parts.append(f"{_number(action.x)}, {_number(action.y)}")
    if action.to_x is not None and action.to_y is not None:
        parts[-1:] = [f"{''.join(parts[-1:])} → {_number(action.to_x)}, {_number(action.to_y)}"]
    for value, positive, negative in ((action.dx, "right", "left"), (action.dy, "down", "up")):
        if value:
            parts.append(f"{_number(abs(value))} {positive if value > 0 else negative}")
    if action.text is not None:
        parts.append(f"“{cut(action.text, limit)}”")
    if action.keys is not None:
        parts.append(cut(action.keys, limit))
    if action.seconds is not None:
        parts.append(f"{_number(action.seconds)} s")
    if action.app is not None:
        parts.append(cut(" ".join([action.app, *(action.args or ())][:20]), limit))
    if action.url is not None:
        parts.append(cut(action.url, limit))
    raw = (action.model_extra or {}).get("raw")
    if raw is not None:
        parts.append(cut(raw if isinstance(raw, str) else repr(raw), limit))
    return " · ".join(parts)


def overlay(action: ActionLine, width: int, height: int) -> Overlay:
    """The marks of an action on a screen of this size."""
    unit = width / SHOWN_WIDTH
    text = cut(f"{action.step} {action.action} {in_words(action)}".rstrip(), LABEL_CHARACTERS + 24)
    at = _point(action.x, action.y)
    if at is None or action.action not in POINTED:
        return Overlay(_label(text, (0.0, height + 6 * unit), unit), 30 * unit, False)
    start = _clamped(at, width, height)
    end = _point(action.to_x, action.to_y)
    points = [start]
    marks = []
    if action.action == "drag" and end is not None:
        points.append(_clamped(end, width, height))
        marks.append(_arrow(start, points[-1], unit))
    elif action.action == "scroll":
        marks.append(_arrow(start, _scrolled(start, action, unit), unit))
    marks += [_circle(point, unit) for point in points]
    marks.append(_label(text, _beside(points[-1], text, unit, width, height), unit))
    given = [at, *([end] if len(points) == 2 and end is not None else [])]
    return Overlay(Markup("").join(marks), 0.0, points != given)


def _number(value: float) -> str:
    """A coordinate as people write it."""
    text = f"{value:.0f}" if abs(value) < 1e6 and value == round(value) else f"{value:.6g}"
    return text.replace("-", MINUS, 1)


def _point(x: float | None, y: float | None) -> Point | None:
    return None if x is None or y is None else (x, y)


def _clamped(point: Point, width: int, height: int) -> Point:
    return min(max(point[0], 0.0), float(width)), min(max(point[1], 0.0), float(height))


def _scrolled(start: Point, action: ActionLine, unit: float) -> Point:
    """Where the arrow of a scroll ends: its direction, not its length."""
    dx, dy = action.dx or 0.0, action.dy or 0.0
    if abs(dx) > abs(dy):
        return start[0] + (34 if dx > 0 else -34) * unit, start[1]
    return start[0], start[1] + (34 if dy > 0 else -34) * unit


def _circle(at: Point, unit: float) -> Markup:
    ring: dict[str, Value] = {"cx": at[0], "cy": at[1], "r": 13 * unit}
    return Markup("").join(
        (
            element("circle", {**ring, "class": "halo", "stroke-width": 5 * unit}),
            element("circle", {**ring, "class": "ring", "stroke-width": 2 * unit}),
            element("circle", {**ring, "r": 2.2 * unit, "class": "dot"}),
        )
    )


def _arrow(start: Point, end: Point, unit: float) -> Markup:
    line: dict[str, Value] = {"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1]}
    length = max(1e-6, ((end[0] - start[0]) ** 2 + (end[1] - start[1]) ** 2) ** 0.5)
    along = ((end[0] - start[0]) / length, (end[1] - start[1]) / length)
    back = (end[0] - 11 * unit * along[0], end[1] - 11 * unit * along[1])
    side = (-along[1] * 5 * unit, along[0] * 5 * unit)
    corners = (end, (back[0] + side[0], back[1] + side[1]), (back[0] - side[0], back[1] - side[1]))
    head = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    return Markup("").join(
        (
            element("line", {**line, "class": "halo", "stroke-width": 6 * unit}),
            element("line", {**line, "class": "ring", "stroke-width": 2 * unit}),
            element("polygon", {"points": head, "class": "dot"}),
        )
    )


def _width(text: str, unit: float) -> float:
    """About what a label takes, with its margins."""
    return (7.0 * len(plain(text)) + 16) * unit


def _beside(at: Point, text: str, unit: float, width: int, height: int) -> Point:
    """The corner of a label beside a mark: right of it where there is room, inside the screen."""
    wide, high = _width(text, unit), 22 * unit
    left = at[0] + 20 * unit
    if left + wide > width:
        left = at[0] - 20 * unit - wide
    if left < 0:
        left = min(max(0.0, at[0] - wide / 2), max(0.0, width - wide))
        top = at[1] + 22 * unit if at[1] + 44 * unit < height else at[1] - 44 * unit
        return left, max(0.0, top)
    return left, min(max(0.0, at[1] - high / 2), max(0.0, height - high))


def _label(text: str, corner: Point, unit: float) -> Markup:
    box: dict[str, Value] = {"x": corner[0], "y": corner[1], "width": _width(text, unit), "height": 22 * unit}
    style: dict[str, Value] = {"rx": 3 * unit, "stroke-width": 1.5 * unit, "class": "tag"}
    words: dict[str, Value] = {"x": corner[0] + 8 * unit, "y": corner[1] + 15 * unit}
    inside: dict[str, Value] = {"font-size": 12 * unit, "textLength": _width(text, unit) - 16 * unit}
    return element("rect", {**box, **style}) + element(
        "text", {**words, **inside, "lengthAdjust": "spacingAndGlyphs", "class": "said"}, text
    )
