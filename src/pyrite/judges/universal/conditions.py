"""Step 4.5: which conditional criteria apply."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from pyrite.judges.client.base import Text
from pyrite.judges.universal import reading
from pyrite.judges.universal.asking import Asker
from pyrite.judges.universal.records import Baseline, Conditions, Rubric, Seen, Unusable
from pyrite.judges.universal.words import Words, words_of


async def decide(
    asker: Asker,
    words: Words,
    rubric: Rubric,
    baseline: Sequence[Baseline],
    seen: Sequence[Sequence[Seen]],
    incomplete: Collection[int],
) -> Conditions:
    """Asked about where two or more criteria have conditions; one alone is read off the screens' notes.

    `incomplete`: criteria of which a screen's notes are missing. Raises `StepFailed`.
    """
    chosen = rubric.conditional
    met: list[bool | None] = [one.condition is None for one in rubric.criteria]
    for index in chosen:
        met[index] = None
    if len(chosen) >= 2:
        only = [seen[i] if i in chosen else () for i in range(len(seen))]
        shown = [words.criteria(rubric.criteria, chosen, points=False), words.seen(rubric.criteria, only)]
        found = await asker.ask(
            "conditions",
            [Text("\n\n".join([words.task(), *shown]))],
            lambda body: read(body, rubric),
            schema=_schema(rubric),
        )
        for index, (holds, _) in found.items():
            met[index] = holds
        return Conditions(met, {index: why for index, (_, why) in found.items()})
    for index in chosen:
        met[index] = _alone(seen[index], baseline[index].met, index in incomplete)
    return Conditions(met)


def _alone(notes: Sequence[Seen], before: bool | None, incomplete: bool) -> bool | None:
    """Whether any screen shows that it holds; without a word of any screen, what the actions say."""
    flags = [one.condition for one in notes if one.condition is not None]
    if any(flags):
        return True
    if incomplete:
        return None
    return False if flags else before


def read(body: Any, rubric: Rubric) -> dict[int, tuple[bool, str]]:
    """Criterion -> whether it applies, and why. Raises `Unusable`."""
    chosen = rubric.conditional
    items = reading.by_criterion(body, chosen, "disambiguation")
    found = {}
    for index, item in zip(chosen, items, strict=True):
        condition = reading.text(item, "condition")
        if words_of(condition) != words_of(rubric.criteria[index].condition or ""):
            raise Unusable(f"the condition of criterion {index} is not repeated word for word")
        found[index] = (reading.flag(item, "is_condition_met"), reading.text(item, "reasoning"))
    return found


def _schema(rubric: Rubric) -> dict[str, Any]:
    return reading.keyed(
        {
            index: reading.shape(
                {
                    "condition": {"type": "string", "enum": [rubric.criteria[index].condition]},
                    "reasoning": {"type": "string"},
                    "is_condition_met": {"type": "boolean"},
                }
            )
            for index in rubric.conditional
        }
    )
