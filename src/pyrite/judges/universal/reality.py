"""Step 5: what each criterion comes to in the world that the screens show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyrite.judges.client.base import Text
from pyrite.judges.universal import reading
from pyrite.judges.universal.asking import Asker
from pyrite.judges.universal.records import Rubric, Seen
from pyrite.judges.universal.words import Words


async def check(asker: Asker, words: Words, rubric: Rubric, seen: Sequence[Sequence[Seen]]) -> list[str]:
    """A note for each criterion. Raises `StepFailed`."""
    parts = [words.task(), words.criteria(rubric.criteria), words.seen(rubric.criteria, seen)]
    n = len(rubric.criteria)
    return await asker.ask(
        "reality",
        [Text("\n\n".join(parts))],
        lambda body: read(body, n),
        schema=_schema(n),
    )


def read(body: Any, length: int) -> list[str]:
    items = reading.by_criterion(body, range(length), "reality_checks")
    return [reading.text(item, "reality_notes") for item in items]


def _schema(length: int) -> dict[str, Any]:
    return reading.keyed(dict.fromkeys(range(length), reading.shape({"reality_notes": {"type": "string"}})))
