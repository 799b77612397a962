"""Step 4: what each selected screen shows about the criteria it was selected for, all at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyrite.judges.client.base import Text
from pyrite.judges.universal import reading, rounds
from pyrite.judges.universal.asking import Asker, Question
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


@dataclass(frozen=True)
class Looking:
    """What all questions about screens have in common."""

    words: Words
    rubric: Rubric
    shots: Shots
    settings: Settings

    def question(self, frame: Frame, criteria: Sequence[int], text: str | None) -> Question[list[Seen]]:
        """About what a screen shows of criteria; `text` stands in for its pixels."""
        words, rubric = self.words, self.rubric
        head = f"{words.task()}\n\n{words.answer()}"
        if self.settings.near >= len(words.evidence.actions):
            head += f"\n\n{words.history()}"
        else:
            head += f"\n\n{words.near(frame.after, self.settings.near)}"
        about = ",".join(str(one) for one in criteria)
        return Question(
            "evidence",
            lambda: [
                Text(head),
                *screen(words, frame, self.shots, text),
                Text(words.criteria(rubric.criteria, criteria, points=False)),
            ],
            lambda body: read(body, rubric, criteria, frame.number),
            _schema(rubric, criteria),
            about=f"screen {frame.number + 1:04d} criteria {about}",
        )


Asked = tuple[Frame, Sequence[int], str | None]
"""A screen, the criteria that it was selected for, and the text that stands in for its pixels."""


async def look(asker: Asker, looking: Looking, asked: Sequence[Asked]) -> list[dict[int, Seen | StepFailed]]:
    """For each screen: criterion -> what it shows about it, or why that is not known.

    Screens whose answers for all criteria at once cannot be used are asked about one criterion at a time,
    once each and so many of them: first one of each screen, and the others if any of those was answered.
    """
    answers = await rounds.ask(asker, [looking.question(*one) for one in asked])
    found: list[dict[int, Seen | StepFailed]] = []
    owed: list[tuple[int, int]] = []
    for place, ((_, criteria, _), answer) in enumerate(zip(asked, answers, strict=True)):
        if isinstance(answer, StepFailed):
            found.append(dict.fromkeys(criteria, answer))
            if len(criteria) > 1 and answer.status is not None:
                owed += [(place, one) for one in criteria]
        else:
            found.append(dict(zip(criteria, answer, strict=True)))
    owed = owed[: rounds.MOST_ALONE]
    first = [one for i, one in enumerate(owed) if i == 0 or owed[i - 1][0] != one[0]]
    for wave in (first, [one for one in owed if one not in first]):
        alone = [looking.question(asked[place][0], [one], asked[place][2]) for place, one in wave]
        told = await rounds.once(asker, alone)
        for (place, one), said in zip(wave, told, strict=True):
            found[place][one] = said if isinstance(said, StepFailed) else said[0]
        if not any(isinstance(said, list) for said in told):
            break
    return found


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
