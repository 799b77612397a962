"""True beside judged success of each agent, a slope an agent: what a judge does to the ranking.

A label keeps its place beside its point as long as labels do not run into each other; then they are
pushed apart, in the order of the points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from pyrite.measure.finding import FIRST_CONDITION, is_shortcut, subject
from pyrite.report.svg import element, figure
from pyrite.report.text import cut

MOST = 6
"""Judges that are drawn; all of them are in report.json."""
MOST_GROUPS = 8
WIDTH, HEIGHT = 340, 190
LEFT, RIGHT = 190, 262
_TOP, _BOTTOM, _GAP = 24, 176, 14


@dataclass(frozen=True)
class Chart:
    """One judge: its inflation, and a drawing, or the reason why there is none."""

    judge: str
    condition: str
    block: Mapping[str, Any]
    drawing: Markup | None
    reason: str | None
    left_out: int
    """Agents that are not drawn."""


def charts(result: Mapping[str, Any]) -> list[Chart]:
    """The judges of the leading stratum in the condition of the finding, shortcuts aside."""
    if result["lead"] is None:
        return []
    conditions = result["strata"][result["lead"]]["conditions"]
    chosen = subject(result)
    names = sorted(conditions, key=lambda name: (name != FIRST_CONDITION, name))
    condition = chosen[0] if chosen else next(iter(names), None)
    if condition is None:
        return []
    judges = [(name, one) for name, one in conditions[condition]["judges"].items() if not is_shortcut(name)]
    return [_chart(name, condition, one) for name, one in judges]


def drawn(found: Sequence[Chart]) -> list[Chart]:
    """The charts that have a drawing, at most six."""
    return [one for one in found if one.drawing is not None][:MOST]


def _chart(judge: str, condition: str, block: Mapping[str, Any]) -> Chart:
    ranks = block["ranks"]
    if ranks is None or ranks["reason"]:
        why = "no agent is named" if ranks is None else ranks["reason"]
        return Chart(judge, condition, block, None, why, 0)
    ranked = {name: one for name, one in ranks["groups"].items() if one["true_rank"] is not None}
    shown = dict(sorted(ranked.items(), key=lambda item: (item[1]["true_rank"], item[0]))[:MOST_GROUPS])
    drawing = slope(shown, ranks["rank_changes"], title=f"{judge}: true and judged success by agent")
    return Chart(judge, condition, block, drawing, None, len(ranks["groups"]) - len(shown))


def slope(groups: Mapping[str, Mapping[str, Any]], changed: Sequence[str], *, title: str) -> Markup:
    """Two vertical axes, truth and judge, and a line a group; a changed rank is heavier and labelled."""
    rates = {side: [one[side]["value"] for one in groups.values()] for side in ("true", "judged")}
    most = max([*rates["true"], *rates["judged"], 0.01])

    def height(rate: float) -> float:
        return float(_BOTTOM - (_BOTTOM - _TOP) * rate / most)

    places = {side: apart([height(rate) for rate in found]) for side, found in rates.items()}
    parts = [
        element("text", {"class": "end", "x": x, "y": 10}, word)
        for x, word in ((LEFT, "truth"), (RIGHT, "judge"))
    ]
    parts += [
        element("line", {"class": "axis", "x1": x, "x2": x, "y1": _TOP - 8, "y2": _BOTTOM})
        for x in (LEFT, RIGHT)
    ]
    named = short(list(groups))
    for at, (name, one) in enumerate(groups.items()):
        ends = height(one["true"]["value"]), height(one["judged"]["value"])
        inside = [
            element("line", {"x1": LEFT, "y1": ends[0], "x2": RIGHT, "y2": ends[1]}),
            *(
                element("circle", {"cx": x, "cy": y, "r": 3})
                for x, y in zip((LEFT, RIGHT), ends, strict=True)
            ),
            _label("left", LEFT - 8, places["true"][at], f"{named[at]} {_rate(one['true']['value'])}"),
            _label("right", RIGHT + 8, places["judged"][at], _judged(name in changed, one)),
        ]
        parts.append(element("g", {"class": "moved" if name in changed else "kept"}, *inside))
    return figure("slope", title, *parts)


def apart(heights: Sequence[float]) -> list[float]:
    """Places of labels at least a line apart, as near to the heights as their order allows.

    >>> apart([100.0, 100.0, 30.0])
    [107.0, 93.0, 30.0]
    """
    order = sorted(range(len(heights)), key=lambda i: (heights[i], -i))
    blocks: list[tuple[float, list[int]]] = []
    for i in order:
        blocks.append((heights[i], [i]))
        while len(blocks) > 1 and _first(blocks[-1]) - _last(blocks[-2]) < _GAP:
            (upper, above), (lower, below) = blocks[-2:]
            members = above + below
            blocks[-2:] = [((upper * len(above) + lower * len(below)) / len(members), members)]
    found = [0.0] * len(heights)
    for block in blocks:
        for place, i in enumerate(block[1]):
            found[i] = _first(block) + place * _GAP
    return found


def short(names: Sequence[str]) -> list[str]:
    """Names that have room beside the axis, without what all of them begin with.

    >>> short(["GenericAgent-gpt-4o", "GenericAgent-claude"]), short(["a", "ab"])
    (['gpt-4o', 'claude'], ['a', 'ab'])
    """
    first, last = (min(names), max(names)) if len(names) > 1 else ("", "")
    same = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    start = max(first[:same].rfind(mark) for mark in "-_/ ") + 1
    return [name if len(name := full[start:]) <= 22 else f"{name[:21]}…" for full in names]


def _judged(moved: bool, one: Mapping[str, Any]) -> str:
    rate = _rate(one["judged"]["value"])
    if not moved:
        return rate
    return f"{rate} rank {one['true_rank']:g} → {one['judged_rank']:g}"


def _rate(value: float) -> str:
    return f"{100 * value:.1f}"


def _label(css: str, x: float, y: float, text: str) -> Markup:
    return element("text", {"class": css, "x": x, "y": y, "dy": "0.35em"}, cut(text, 60))


def _first(block: tuple[float, list[int]]) -> float:
    return block[0] - _GAP * (len(block[1]) - 1) / 2


def _last(block: tuple[float, list[int]]) -> float:
    return block[0] + _GAP * (len(block[1]) - 1) / 2
