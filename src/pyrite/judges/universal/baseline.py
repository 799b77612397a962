"""Step 0c: what the agent's actions and words alone would earn."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Any

from pyrite.judges.client.base import Text
from pyrite.judges.universal import reading
from pyrite.judges.universal.asking import Asker
from pyrite.judges.universal.records import Baseline, Rubric, Unusable
from pyrite.judges.universal.words import Words

MOST_NAME = 200
"""Characters of a name that are held against what is repeated of it."""
SAME = 0.7
"""Similarity from which on the name of a criterion counts as repeated."""


async def grade(asker: Asker, words: Words, rubric: Rubric) -> list[Baseline]:
    """One grade a criterion. Raises `StepFailed`."""
    return await asker.ask(
        "actions_only",
        parts(words, rubric),
        lambda body: read(body, rubric),
        schema=schema(rubric),
        small=True,
    )


def parts(words: Words, rubric: Rubric) -> list[Text]:
    """What the step shows."""
    shown = [
        words.task(),
        words.history(),
        words.answer(),
        words.criteria(rubric.criteria),
    ]
    return [Text("\n\n".join(shown))]


def read(body: Any, rubric: Rubric) -> list[Baseline]:
    """The grades of an answer, each within its criterion's points. Raises `Unusable`."""
    found = []
    items = reading.by_criterion(body, range(len(rubric.criteria)), "items")
    for index, (item, one) in enumerate(zip(items, rubric.criteria, strict=True)):
        named = reading.text(item, "criterion")
        known = SequenceMatcher(None, named.lower()[:MOST_NAME], one.name.lower()[:MOST_NAME], autojunk=False)
        if known.ratio() < SAME:
            raise Unusable(f"items[{index}] is {named[:60]!r}, expected {one.name[:60]!r}")
        met = item.get("is_condition_met")
        if one.condition is not None and met is not None and not isinstance(met, bool):
            raise Unusable(f"is_condition_met of criterion {index} is no true or false")
        found.append(
            Baseline(
                reading.number(item, "earned_points", 0, one.max_points),
                reading.text(item, "justification"),
                met if one.condition is not None else None,
            )
        )
    return found


def schema(rubric: Rubric) -> dict[str, Any]:
    items = {}
    for index, one in enumerate(rubric.criteria):
        fields: dict[str, Any] = {
            "criterion": {"type": "string", "enum": [one.name]},
            "justification": {"type": "string"},
            "earned_points": {"type": "number", "minimum": 0, "maximum": one.max_points},
        }
        if one.condition is not None:
            fields["is_condition_met"] = {"type": "boolean"}
        items[index] = reading.shape(fields)
    return reading.keyed(items)
