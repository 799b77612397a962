"""Step 8: whether the user got what they wanted; the rubric is advice."""

from __future__ import annotations

from typing import Any

from pyrite.judges.client.base import Text
from pyrite.judges.universal import reading
from pyrite.judges.universal.known import Known
from pyrite.judges.universal.records import Instance, Vote
from pyrite.judges.universal.scoring import two_passes


async def decide(known: Known, graded: Instance, instance: int) -> Vote:
    """One vote. Raises `StepFailed`."""
    words = known.words
    parts = [
        words.task(),
        words.history(),
        words.answer(),
        known.graded(graded),
        suspicions(known, graded),
        known.screens(),
    ]
    return await known.asker.ask(
        "outcome",
        [Text("\n\n".join(filter(None, parts)))],
        read,
        schema=_SCHEMA,
        about=f"vote {instance + 1}" if instance else "",
        instance=instance,
    )


def suspicions(known: Known, graded: Instance) -> str:
    """Which claims the screens took points from, in a line; "" where there are none."""
    if graded.grades is None:
        return ""
    found = two_passes(known.rubric, known.baseline, graded.grades, known.met, known.seen)
    less = [str(one["criterion"]) for one in found if one["difference"] < 0]
    return f"The screens took points from what was claimed, in criteria {', '.join(less)}." if less else ""


def read(body: Any) -> Vote:
    answer = reading.an_object(body)
    return Vote(
        reading.text(answer, "primary_intent"),
        reading.text(answer, "reasoning"),
        reading.flag(answer, "output_success"),
    )


_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "primary_intent": {"type": "string"},
        "reasoning": {"type": "string"},
        "output_success": {"type": "boolean"},
    },
    "required": ["primary_intent", "reasoning", "output_success"],
    "additionalProperties": False,
}
