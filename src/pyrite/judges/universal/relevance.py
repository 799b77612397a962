"""Steps 2 and 3: how much each screen can tell about each criterion, and which screens are looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyrite.judges.client.base import Part, Text
from pyrite.judges.showing import block
from pyrite.judges.universal import reading
from pyrite.judges.universal.asking import Question
from pyrite.judges.universal.frames import Frame, Shots
from pyrite.judges.universal.options import Pruning, Settings
from pyrite.judges.universal.records import Rubric, Unusable
from pyrite.judges.universal.words import Words

HIGH, LOW, GAP = 6, 5, 2
PAPER_HIGH = 7
Matrix = Mapping[int, Sequence[int]]
"""Number of a screen -> a score from 0 to 10 for each criterion; a screen that is not there is not known."""


def question(
    words: Words,
    rubric: Rubric,
    frame: Frame,
    shots: Shots,
    text: str | None,
    settings: Settings,
) -> Question[list[int]]:
    """About the scores of one screen; `text` stands in for its pixels."""
    n = len(rubric.criteria)
    head = f"{words.task()}\n\n{words.criteria(rubric.criteria, points=False)}"
    return Question(
        "relevance",
        lambda: [Text(head), *screen(words, frame, shots, text, settings.relevance_side)],
        lambda body: read(body, n),
        schema=_schema(n),
        about=f"screen {frame.number + 1:04d}",
        small=settings.small_relevance,
    )


def screen(
    words: Words, frame: Frame, shots: Shots, text: str | None, side: int = 0, also: Sequence[int] = ()
) -> list[Part]:
    """A screen with its heading, or what was read off it; `also`: other numbers that it has."""
    more = "".join(f", and screen {number + 1}" for number in also)
    heading = f"Screen {frame.number + 1}{more} of {words.shown}:"
    if text is None:
        return [Text(heading), shots.part(frame, side)]
    said = text[:20_000] or "(no text was found on it)"
    return [Text(f"{heading}\n{block('text read off the screen', said, words.sign)}")]


def read(body: Any, length: int) -> list[int]:
    """A whole number from 0 to 10 for every criterion. Raises `Unusable`."""
    found = []
    scores = reading.an_object(body)
    for index in range(length):
        value = scores.get(f"criterion_{index}", scores.get(str(index)))
        if isinstance(value, str) and value.strip().isdigit():
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 10:
            raise Unusable(f"criterion_{index} is {str(value)[:40]}, expected a whole number from 0 to 10")
        found.append(value)
    return found


def _schema(length: int) -> dict[str, Any]:
    score = {"type": "integer", "minimum": 0, "maximum": 10}
    return reading.keyed(dict.fromkeys(range(length), score))


def grouped(matrix: Matrix, criteria: int, k: int) -> list[list[int]]:
    """The k most relevant screens of each criterion, best first; ties go to the later screen.

    >>> grouped({0: [0], 1: [9], 2: [9]}, 1, 2)
    [[2, 1]]
    """
    return [
        sorted(matrix, key=lambda number: (matrix[number][index], number), reverse=True)[:k]
        for index in range(criteria)
    ]


def pruned(matrix: Matrix, groups: Sequence[Sequence[int]], rule: Pruning) -> list[list[int]]:
    """The groups without what is beside the point; never empty where the group was not.

    released: with a screen of at least 6, those below 5 that are more than 2 below the weakest of at
    least 6 go. paper: with a screen above 7, earlier ones below 5 go.
    """
    return [
        _released(matrix, index, group) if rule == "released" else _paper(matrix, index, group)
        for index, group in enumerate(groups)
    ]


def _released(matrix: Matrix, index: int, group: Sequence[int]) -> list[int]:
    high = [matrix[number][index] for number in group if matrix[number][index] >= HIGH]
    if not high:
        return list(group)
    floor = min(high) - GAP
    return [number for number in group if not (matrix[number][index] < LOW and matrix[number][index] < floor)]


def _paper(matrix: Matrix, index: int, group: Sequence[int]) -> list[int]:
    high = [number for number in group if matrix[number][index] > PAPER_HIGH]
    if not high:
        return list(group)
    last = max(high)
    return [number for number in group if not (number < last and matrix[number][index] < LOW)]
