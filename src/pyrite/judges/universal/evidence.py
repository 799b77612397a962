"""Step 4: what each selected screen shows about the criteria it was selected for, all at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
MOST_PAIRS = 16
"""Notes that one call asks for where a picture stands at several places: more would not fit an answer."""
FIRST = 3
"""Single notes that are tried before it is said that the model cannot note any; not all of one criterion."""
Pair = tuple[int, int]
"""Number of a screen, number of a criterion."""


def wanted(groups: Sequence[Sequence[int]]) -> dict[int, list[int]]:
    """Screen -> its criteria; screens in the order in which the groups name them."""
    found: dict[int, list[int]] = {}
    for index, group in enumerate(groups):
        for number in group:
            found.setdefault(number, []).append(index)
    return found


@dataclass(frozen=True)
class Place:
    """A screen, and the criteria that it was selected for."""

    frame: Frame
    criteria: tuple[int, ...]


def together(asked: Mapping[int, Sequence[int]], frames: Sequence[Frame]) -> list[list[Place]]:
    """What is asked in one call: a screen, with the places where the same pixels stand again.

    A picture is sent once, but noted at each of its places, held against what was done by then. A call
    has at most `MOST_PAIRS` notes, or one place.
    """
    found: list[list[Place]] = []
    last: dict[int, int] = {}
    for number in sorted(asked, key=lambda one: (frames[one].first, one)):
        place = Place(frames[number], tuple(sorted(set(asked[number]))))
        call = last.get(frames[number].first)
        pairs = 0 if call is None else sum(len(one.criteria) for one in found[call])
        if call is None or pairs + len(place.criteria) > MOST_PAIRS:
            last[frames[number].first] = len(found)
            found.append([place])
        else:
            found[call].append(place)
    return found


@dataclass(frozen=True)
class Looking:
    """What all questions about screens have in common."""

    words: Words
    rubric: Rubric
    shots: Shots
    settings: Settings

    def question(self, places: Sequence[Place], text: str | None) -> Question[list[Seen]]:
        """About what a picture shows of the criteria of its places; `text` stands in for its pixels."""
        words, rubric, near = self.words, self.rubric, self.settings.near
        head = [words.task(), words.answer()]
        if 2 * near >= len(words.evidence.actions):
            head.append(words.history())
        else:
            several = len(places) > 1
            head += [words.near(one.frame.after, near, _name(one) * several) for one in places]
        criteria = sorted({one for place in places for one in place.criteria})
        tail = words.criteria(rubric.criteria, criteria, points=False)
        if len(places) > 1:
            tail += f"\n\n{_several(places)}"
        first, also = places[0].frame, [one.frame.number for one in places[1:]]
        numbers = ",".join(f"{one.frame.number + 1:04d}" for one in places)
        about = ",".join(str(one) for one in criteria)
        return Question(
            "evidence",
            lambda: [
                Text("\n\n".join(head)),
                *screen(words, first, self.shots, text, also=also),
                Text(tail),
            ],
            lambda body: _read(body, rubric, places),
            _schema_of(rubric, places),
            about=f"screen {numbers} criteria {about}",
        )


Asked = tuple[Sequence[Place], str | None]
"""The places of a picture, and the text that stands in for its pixels."""


async def look(asker: Asker, looking: Looking, asked: Sequence[Asked]) -> dict[Pair, Seen | StepFailed]:
    """(number of the screen, criterion) -> what it shows about it there, or why that is not known.

    Pictures whose answers for all criteria at once cannot be used are asked about one note at a time, once
    each and so many of them: first some, and the others if any of those was answered, or any picture.
    """
    answers = await rounds.ask(asker, [looking.question(*one) for one in asked])
    found: dict[Pair, Seen | StepFailed] = {}
    owed: list[tuple[int, Place]] = []
    for number, ((places, _), answer) in enumerate(zip(asked, answers, strict=True)):
        each = [Place(place.frame, (one,)) for place in places for one in place.criteria]
        if isinstance(answer, StepFailed):
            found |= {_pair(one): answer for one in each}
            if len(each) > 1 and answer.status is not None:
                owed += [(number, one) for one in each]
        else:
            found |= {_pair(one): seen for one, seen in zip(each, answer, strict=True)}
    owed = owed[: rounds.MOST_ALONE]
    some = any(not isinstance(one, StepFailed) for one in answers)
    first = _tried(owed)
    for wave in (first, [one for one in owed if one not in first]):
        told = await rounds.once(asker, [looking.question([place], asked[i][1]) for i, place in wave])
        for (_, place), said in zip(wave, told, strict=True):
            found[_pair(place)] = said if isinstance(said, StepFailed) else said[0]
        if not some and all(isinstance(said, StepFailed) for said in told):
            break
    return found


def _tried(owed: Sequence[tuple[int, Place]]) -> list[tuple[int, Place]]:
    """The notes asked first: one of each picture, in turn, at least `FIRST`, and not all of one criterion.

    What a model can note must not hang on which criterion it cannot.
    """
    by_picture: dict[int, list[tuple[int, Place]]] = {}
    for one in owed:
        by_picture.setdefault(one[0], []).append(one)
    found = [notes[i % len(notes)] for i, notes in enumerate(by_picture.values())]
    known = {place.criteria for _, place in found}
    left = sorted((one for one in owed if one not in found), key=lambda one: one[1].criteria in known)
    if len(known) == 1 and left and left[0][1].criteria not in known:
        found.append(left.pop(0))
    return [*found, *left[: max(FIRST - len(found), 0)]]


def _pair(place: Place) -> Pair:
    return place.frame.number, place.criteria[0]


def _name(place: Place) -> str:
    return f"screen {place.frame.number + 1}"


def _several(places: Sequence[Place]) -> str:
    """What to do with one picture that stands at several places of the record."""
    lines = ["The same picture stands at several places of the record:"]
    for one in places:
        after = "at the start" if one.frame.after is None else f"after step {one.frame.after}"
        lines.append(f"- {_name(one)}, {after}: criteria {', '.join(map(str, one.criteria))}")
    form = ", ".join(f'"screen_{one.frame.number + 1}": {{"criterion_…": …}}' for one in places)
    lines.append(
        "Hold it, at each place, against what the agent had done by then. The entries of a place stand under "
        f"its screen: {{{form}}}"
    )
    return "\n".join(lines)


def _read(body: Any, rubric: Rubric, places: Sequence[Place]) -> list[Seen]:
    """The notes of all places, in order. Raises `Unusable`."""
    if len(places) == 1:
        return read(body, rubric, places[0].criteria, places[0].frame.number)
    whole, found = reading.an_object(body), []
    for one in places:
        key = f"screen_{one.frame.number + 1}"
        if key not in whole:
            raise Unusable(f"{key} is missing")
        found += read(whole[key], rubric, one.criteria, one.frame.number)
    return found


def _schema_of(rubric: Rubric, places: Sequence[Place]) -> dict[str, Any]:
    if len(places) == 1:
        return _schema(rubric, places[0].criteria)
    named = {f"screen_{one.frame.number + 1}": _schema(rubric, one.criteria) for one in places}
    return reading.shape(named)


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
    asked: Mapping[int, Sequence[int]], found: Mapping[Pair, Seen | StepFailed], criteria: int
) -> list[list[Seen]]:
    """By criterion, in the order of selection."""
    by_criterion: list[list[Seen]] = [[] for _ in range(criteria)]
    for number, wanted_here in asked.items():
        for index in wanted_here:
            if isinstance(one := found[number, index], Seen):
                by_criterion[index].append(one)
    return by_criterion
