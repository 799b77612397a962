"""Step 8: whether the user got what they wanted; the rubric is advice."""

from __future__ import annotations

from typing import Any

from pyrite.judges.client.base import Text
from pyrite.judges.universal import reading
from pyrite.judges.universal.known import Known
from pyrite.judges.universal.records import Instance, Vote
from pyrite.judges.universal.scoring import two_passes
from pyrite.judges.universal.words import END_DECIDES


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
        words.end_decides("Of the outcome"),
    ]
    unseen = words.open_end is not None
    return await known.asker.ask(
        "outcome",
        [Text("\n\n".join(filter(None, parts)))],
        lambda body: read(body, unseen=unseen),
        schema=_schema(unseen=unseen),
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


def read(body: Any, *, unseen: bool = False) -> Vote:
    answer = reading.an_object(body)
    return Vote(
        reading.text(answer, "primary_intent"),
        reading.text(answer, "reasoning"),
        reading.flag(answer, "output_success"),
        unseen and reading.flag(answer, END_DECIDES),
    )


def _schema(*, unseen: bool) -> dict[str, Any]:
    fields = {
        "primary_intent": {"type": "string"},
        "reasoning": {"type": "string"},
        "output_success": {"type": "boolean"},
    }
    return reading.shape({**fields, END_DECIDES: {"type": "boolean"}} if unseen else fields)
