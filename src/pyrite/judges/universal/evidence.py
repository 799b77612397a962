"""Step 4: what each selected screen shows about the criteria it was selected for, all at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyrite.judges.client.base import Text
from pyrite.judges.universal import reading
from pyrite.judges.universal.asking import Asker
from pyrite.judges.universal.frames import Frame, Shots
from pyrite.judges.universal.options import Settings
from pyrite.judges.universal.records import Rubric, Seen, StepFailed, Unusable
from pyrite.judges.universal.relevance import screen
from pyrite.judges.universal.words import Words

_LISTS = ("analyses", "analysis", "criteria", "results", "evidence", "items")
"""What models call the list."""


def wanted(groups: Sequence[Sequence[int]]) -> dict[int, list[int]]:
    """Screen -> its criteria; screens in the order in which the groups name them."""
    found: dict[int, list[int]] = {}
    for index, group in enumerate(groups):
        for number in group:
            found.setdefault(number, []).append(index)
    return found


def together(asked: Mapping[int, Sequence[int]], frames: Sequence[Frame]) -> dict[int, list[int]]:
    """The same with screens of the same pixels put together, under the number of the first of them."""
    found: dict[int, set[int]] = {}
    for number, criteria in asked.items():
        found.setdefault(frames[number].first, set()).update(criteria)
    return {number: sorted(criteria) for number, criteria in found.items()}


async def look(
    asker: Asker,
    words: Words,
    rubric: Rubric,
    frame: Frame,
    criteria: Sequence[int],
    shots: Shots,
    text: str | None,
    settings: Settings,
) -> dict[int, Seen | StepFailed]:
    """Criterion -> what the screen shows about it, or why that is not known.

    A screen whose answer for all criteria at once cannot be used is asked about one at a time.
    """
    try:
        found = await _ask(asker, words, rubric, frame, criteria, shots, text, settings)
    except StepFailed as exc:
        if len(criteria) == 1:
            return {criteria[0]: exc}
        alone = [_alone(asker, words, rubric, frame, one, shots, text, settings) for one in criteria]
        return dict(zip(criteria, await asyncio.gather(*alone), strict=True))
    return dict(zip(criteria, found, strict=True))


async def _alone(
    asker: Asker,
    words: Words,
    rubric: Rubric,
    frame: Frame,
    criterion: int,
    shots: Shots,
    text: str | None,
    settings: Settings,
) -> Seen | StepFailed:
    try:
        return (await _ask(asker, words, rubric, frame, [criterion], shots, text, settings))[0]
    except StepFailed as exc:
        return exc


async def _ask(
    asker: Asker,
    words: Words,
    rubric: Rubric,
    frame: Frame,
    criteria: Sequence[int],
    shots: Shots,
    text: str | None,
    settings: Settings,
) -> list[Seen]:
    head = f"{words.task()}\n\n{words.answer()}"
    if settings.near >= len(words.evidence.actions):
        head += f"\n\n{words.history()}"
    else:
        head += f"\n\n{words.near(frame.after, settings.near)}"
    about = ",".join(str(one) for one in criteria)
    return await asker.ask(
        "evidence",
        [
            Text(head),
            *screen(words, frame, shots, text),
            Text(words.criteria(rubric.criteria, criteria, points=False)),
        ],
        lambda body: read(body, rubric, criteria, frame.number),
        schema=_schema(rubric, criteria),
        about=f"screen {frame.number + 1:04d} criteria {about}",
    )


def read(body: Any, rubric: Rubric, criteria: Sequence[int], number: int) -> list[Seen]:
    """An entry for each criterion, in order; some other forms of the list are taken too. `Unusable`."""
    items = _items(body, criteria)
    if len(items) != len(criteria):
        raise Unusable(f"analyses has {len(items)} entries, expected {len(criteria)}")
    reading.in_order(items, criteria, "analyses")
    found = []
    for index, item in zip(criteria, items, strict=True):
        condition = None
        if rubric.criteria[index].condition is not None:
            condition = reading.flag(item, "condition_verification")
        found.append(
            Seen(
                number,
                reading.text(item, "screenshot_evidence"),
                reading.text(item, "criterion_analysis"),
                reading.text(item, "discrepancies"),
                reading.flag(item, "environment_issues_confirmed"),
                condition,
            )
        )
    return found


def _items(body: Any, criteria: Sequence[int]) -> list[dict[str, Any]]:
    if isinstance(body, dict):
        for key in _LISTS:
            if isinstance(body.get(key), list):
                body = body[key]
                break
    if isinstance(body, list):
        return [reading.an_object(one, f"analyses[{i}]") for i, one in enumerate(body)]
    whole = reading.an_object(body)
    if "screenshot_evidence" in whole and len(criteria) == 1:
        return [whole]
    by_name = [whole.get(f"criterion_{one}", whole.get(str(one))) for one in criteria]
    return [reading.an_object(one, "an entry of analyses") for one in by_name]


def _schema(rubric: Rubric, criteria: Sequence[int]) -> dict[str, Any]:
    items = {}
    for index in criteria:
        fields: dict[str, Any] = {
            "screenshot_evidence": {"type": "string"},
            "criterion_analysis": {"type": "string"},
            "discrepancies": {"type": "string"},
            "environment_issues_confirmed": {"type": "boolean"},
        }
        if rubric.criteria[index].condition is not None:
            fields["condition_verification"] = {"type": "boolean"}
        items[index] = reading.shape(fields)
    return reading.keyed(items)


def spread(
    asked: Mapping[int, Sequence[int]],
    frames: Sequence[Frame],
    found: Mapping[int, Mapping[int, Seen | StepFailed]],
    criteria: int,
) -> list[list[Seen]]:
    """By criterion, in the order of selection; a screen that is shown again has what the first has."""
    by_criterion: list[list[Seen]] = [[] for _ in range(criteria)]
    for number, wanted_here in asked.items():
        for index in wanted_here:
            one = found[frames[number].first][index]
            if isinstance(one, Seen):
                by_criterion[index].append(replace(one, screen=number))
    return by_criterion
