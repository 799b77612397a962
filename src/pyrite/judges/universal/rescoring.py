"""Step 6: every criterion graded with the screens, and the rules on blame held up in code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyrite.judges.client.base import Text
from pyrite.judges.universal import reading
from pyrite.judges.universal.known import Known
from pyrite.judges.universal.records import Grade, Rubric, Seen, Unusable
from pyrite.judges.universal.words import END_DECIDES


async def grade(known: Known, instance: int) -> tuple[Grade, ...]:
    """The grades of one instance. Raises `StepFailed`."""
    words, rubric = known.words, known.rubric
    asked = words.end_decides("Of each criterion's points")
    parts = [words.task(), words.history(), words.answer(), known.graded(), known.screens(), asked]
    unseen = words.open_end is not None
    found = await known.asker.ask(
        "rescoring",
        [Text("\n\n".join(filter(None, parts)))],
        lambda body: read(body, rubric, unseen=unseen),
        schema=_schema(rubric, unseen=unseen),
        about=f"vote {instance + 1}" if instance else "",
        instance=instance,
    )
    return just(found, rubric, known.seen)


def read(body: Any, rubric: Rubric, *, unseen: bool = False) -> list[Grade]:
    """One grade a criterion, in order; `unseen`: each says whether the end decides. Raises `Unusable`."""
    n = len(rubric.criteria)
    items = reading.by_criterion(body, range(n), "items")
    return [
        Grade(
            reading.number(item, "post_image_earned_points", 0, one.max_points),
            reading.text(item, "post_image_justification"),
            reading.text(item, "applicable_evidence"),
            **_loss(item.get("loss"), n),
            open=unseen and reading.flag(item, END_DECIDES),
        )
        for item, one in zip(items, rubric.criteria, strict=True)
    ]


def _loss(found: Any, n: int) -> dict[str, Any]:
    """Why points are missing; a model that does not say leaves them as they are."""
    if found is None:
        return {}
    body = reading.an_object(found, "loss")
    kind, upstream = body.get("kind"), body.get("upstream")
    if kind not in ("none", "agent", "outside"):
        raise Unusable(f"loss: kind is {str(kind)[:40]}, expected none, agent or outside")
    if upstream is not None and (
        isinstance(upstream, bool) or not isinstance(upstream, int) or not 0 <= upstream < n
    ):
        raise Unusable(f"loss: upstream is {str(upstream)[:40]}, expected a criterion's number or null")
    return {
        "loss": kind,
        "upstream": upstream,
        "prevented": reading.flag(body, "prevented"),
        "reported": reading.flag(body, "reported"),
    }


def just(grades: Sequence[Grade], rubric: Rubric, seen: Sequence[Sequence[Seen]]) -> tuple[Grade, ...]:
    """The grades with the rules on blame: what a rule changes, it says.

    - What stood in the way outside of the agent's power, shown by a screen and reported, costs nothing,
      here and in the criteria that depend on it.
    - An error that has cost points upstream, after which the work was done all the same, costs nothing twice.
    """
    return tuple(_just(i, one, grades, rubric, seen) for i, one in enumerate(grades))


def _just(
    index: int, one: Grade, grades: Sequence[Grade], rubric: Rubric, seen: Sequence[Sequence[Seen]]
) -> Grade:
    most = rubric.criteria[index].max_points
    upstream = one.upstream if one.upstream != index else None
    places = [index] if upstream is None else [index, upstream]
    if one.loss == "outside":
        screens = sorted({note.screen for place in places for note in seen[place] if note.blocked})
        if not screens:
            return replace(one, adjusted="unseen: no screen shows what is said to have stood in the way")
        if not one.reported:
            return replace(one, adjusted="unreported: the agent did not tell what stood in its way")
        if one.points < most:
            shown = ", ".join(str(screen + 1) for screen in screens)
            why = f"blocked: from outside (screen {shown}) and reported; {one.points:g} before"
            return replace(one, points=most, adjusted=why)
    if one.loss == "agent" and upstream is not None and not one.prevented and one.points < most:
        first = grades[upstream]
        if first.points < rubric.criteria[upstream].max_points and first.loss != "outside":
            why = f"once: criterion {upstream} has cost points for it already; {one.points:g} before"
            return replace(one, points=most, adjusted=why)
    return one


def _schema(rubric: Rubric, *, unseen: bool) -> dict[str, Any]:
    numbers = list(range(len(rubric.criteria)))
    loss = {
        "kind": {"type": "string", "enum": ["none", "agent", "outside"]},
        "upstream": {"anyOf": [{"type": "integer", "enum": numbers}, {"type": "null"}]},
        "prevented": {"type": "boolean"},
        "reported": {"type": "boolean"},
    }
    items = {}
    for index, one in enumerate(rubric.criteria):
        points = {"type": "number", "minimum": 0, "maximum": one.max_points}
        fields: dict[str, Any] = {
            "applicable_evidence": {"type": "string"},
            "post_image_justification": {"type": "string"},
            "post_image_earned_points": points,
            "loss": reading.shape(loss),
        }
        if unseen:
            fields[END_DECIDES] = {"type": "boolean"}
        items[index] = reading.shape(fields)
    return reading.keyed(items)
