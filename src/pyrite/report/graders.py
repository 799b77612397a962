"""What the page shows of the graders: a mark an attempted episode, why some have no outcome, what to mend."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from pyrite.report.svg import Value, element, figure

MOST_MARKS = 480
"""Marks of one waffle; above, a mark stands for several episodes."""
MOST_LISTED = 100
_ROWS = 12
_STEP = 13
_KINDS = ("pass", "fail", "indeterminate")


@dataclass(frozen=True)
class Waffle:
    """One stratum as marks, column by column: passed, failed, without an outcome."""

    image: Markup
    each: int
    """Episodes that a mark stands for."""


def waffle(truth: Mapping[str, Any], *, title: str) -> Waffle:
    """A mark for each attempted episode of a stratum, or for several where there are many."""
    counts = [int(truth[kind]) for kind in _KINDS]
    each = max(1, math.ceil(sum(counts) / MOST_MARKS))
    marks = _shared(counts, each)
    total = sum(marks)
    rows = max(1, min(_ROWS, math.ceil(math.sqrt(total / 3))))
    columns = max(1, math.ceil(total / rows))
    parts: list[Markup] = []
    start = 0
    for kind, n in zip(_KINDS, marks, strict=True):
        places = [divmod(place, rows) for place in range(start, start + n)]
        path = "".join(_mark(kind, 7 + _STEP * column, 7 + _STEP * row) for column, row in places)
        if path:
            parts.append(element("path", {"class": kind, "d": path}))
        start += n
    width, height = columns * _STEP + 1, rows * _STEP + 1
    said: dict[str, Value] = {"class": "waffle", "role": "img", "viewBox": f"0 0 {width} {height}"}
    image = element("svg", {**said, "width": width, "height": height}, element("title", {}, title), *parts)
    return Waffle(image, each)


def _shared(counts: Sequence[int], each: int) -> list[int]:
    """Marks of each kind: the largest remainders get the odd ones, and nothing that is there gets none.

    >>> _shared([134, 217, 17], 1), _shared([5000, 3, 0], 100)
    ([134, 217, 17], [50, 1, 0])
    """
    marks = [n // each for n in counts]
    odd = math.ceil(sum(counts) / each) - sum(marks)
    by_rest = sorted(range(len(counts)), key=lambda i: -(counts[i] % each))
    for i in by_rest[:odd]:
        marks[i] += counts[i] % each > 0
    return [max(mark, 1) if n else 0 for mark, n in zip(marks, counts, strict=True)]


def _mark(kind: str, x: int, y: int) -> str:
    if kind == "pass":
        return f"M{x - 4},{y}a4,4 0 1 0 8,0a4,4 0 1 0 -8,0"
    if kind == "fail":
        return f"M{x - 4},{y - 4}h8v8h-8z"
    return f"M{x},{y - 5}l5,5l-5,5l-5,-5z"


def bar(n: int, most: int, *, title: str) -> Markup:
    """How many episodes a cause has taken, hatched, as a share of the most frequent one."""
    share = f"{100 * n / most:.2f}%" if most else "0%"
    return figure("cause", title, element("rect", {"width": share, "height": "100%"}))


def faults(grader: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The open faults of tasks, in the order in which they were found."""
    return [bug for bug in grader["suite_bugs"] if bug["mended"] is None]


def observed(bug: Mapping[str, Any]) -> tuple[str, str]:
    """(glyph, words) of what a replay saw."""
    if not bug["state"]:
        return "indeterminate", "no states to ask about"
    what = "untouched state" if bug["kind"] == "initial" else f"{bug['kind']} state {bug['state']}"
    for outcome, word in (("pass", "passes"), ("fail", "fails")):
        if str(bug["observed"]).startswith(outcome):
            return outcome, f"{what} {word}"
    several = bug["observed"] == "several answers"
    return "indeterminate", f"{what}: {'several answers' if several else 'no answer'}"
