"""Steps 9a, 9b and 10: where it went wrong, and whether the task can be done. No score depends on it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pyrite.judges.client.base import Text
from pyrite.judges.universal import reading
from pyrite.judges.universal.asking import Asker
from pyrite.judges.universal.known import Known
from pyrite.judges.universal.records import Instance, Unusable
from pyrite.judges.universal.taxonomy import AMBIGUOUS, CODES, FAMILIES, INVALID, OF_WORK, blame, listed
from pyrite.judges.universal.words import Words
from pyrite.records import ViewAction

_STEPS = re.compile(r"\d{1,6}(?:-\d{1,6})?(?:,\d{1,6})*")
_FIELDS = ("what_happened", "agent_reasoning", "evidence", "impact")
_POINT = {"x", "y"}
ACTIONS: Mapping[str, set[str]] = {
    **dict.fromkeys(("click", "double_click", "right_click", "middle_click", "move"), _POINT),
    "drag": _POINT | {"to_x", "to_y"},
    "scroll": _POINT | {"dx", "dy"},
    "type": {"text"},
    "key": {"keys"},
    "wait": {"seconds"},
    "launch": {"app", "args"},
    "goto": {"url"},
    "answer": {"text"},
    "done": set(),
    "fail": set(),
}
"""The actions that there are, and their arguments. Of `raw` ones, of another harness, its importer knows."""


async def failures(known: Known, graded: Instance, outcome: bool | None) -> dict[str, Any]:
    """All points of failure and the first of them. Raises `StepFailed`."""
    words = known.words
    said = {True: "success", False: "failure", None: "not known"}[outcome]
    parts = [
        f"Kinds of failure:\n{listed(OF_WORK)}",
        words.task(),
        words.history(),
        words.answer(),
        known.graded(graded),
        known.screens(),
        f"Outcome: {said}.",
    ]
    steps = [action.step for action in words.evidence.actions]
    found = await known.asker.ask(
        "failures",
        [Text("\n\n".join(parts))],
        lambda body: read_failures(body, max(steps, default=0)),
        schema=_FAILURES,
    )
    return with_first(found, invalid_actions(words.evidence.actions))


def read_failures(body: Any, last: int) -> dict[str, Any]:
    """The points of failure of an answer. Raises `Unusable`."""
    answer = reading.an_object(body)
    points = []
    for item in reading.entries(answer, "failure_points"):
        code = reading.text(item, "error_code").strip()
        if code not in OF_WORK:
            raise Unusable(f"error_code is {code[:20]!r}, expected one of {', '.join(OF_WORK)}")
        steps = "".join(str(item.get("step_numbers", "")).split())
        if not _STEPS.fullmatch(steps):
            raise Unusable(f"step_numbers is {steps[:40]!r}, expected such as 5, 5-7 or 5,8")
        if not 1 <= first_step(steps) <= last:
            raise Unusable(f"step_numbers is {steps[:40]!r}, but the record has steps 1 to {last}")
        points.append(
            {
                "step_numbers": steps,
                "error_code": code,
                "error_category": FAMILIES[code[0]],
                "error_type": CODES[code][0],
                **{key: reading.text(item, key) for key in _FIELDS},
            }
        )
    has_failure = reading.flag(answer, "has_failure")
    if has_failure != bool(points):
        raise Unusable(f"has_failure is {str(has_failure).lower()}, with {len(points)} failure_points")
    return {"reasoning": reading.text(answer, "reasoning"), "failure_points": points}


def first_step(steps: str) -> int:
    """The smallest number: "5,3" is 3."""
    return min(int(number) for number in re.findall(r"\d+", steps))


def invalid_actions(actions: Sequence[ViewAction]) -> list[dict[str, Any]]:
    """6.1 and 6.2, found without a model: unknown arguments, unknown actions."""
    found = []
    for action in actions:
        extra = _unknown(action)
        if extra is None:
            continue
        raw = str(action.parameters.get("text") or "").split(maxsplit=1) if action.action == "raw" else []
        name = (raw or [action.action])[0][:60]
        code = "6.1" if extra else "6.2"
        what = f"{name} has no {', '.join(extra)[:120]}" if extra else f"there is no action {name!r}"
        found.append(
            {
                "step_numbers": str(action.step),
                "error_code": code,
                "error_category": FAMILIES["6"],
                "error_type": CODES[code][0],
                "what_happened": what,
                "agent_reasoning": "",
                "evidence": "the record of actions",
                "impact": "",
                "programmatic": True,
            }
        )
    return found


def _unknown(action: ViewAction) -> Sequence[str] | None:
    """Arguments that the action does not have; none where there is no such action; None where all is well."""
    if action.unknown is not None or action.action == "raw":
        return action.unknown
    known = ACTIONS.get(action.action)
    return () if known is None else sorted(set(action.parameters) - known) or None


def with_first(found: Mapping[str, Any], own: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The points of the model and those found in code, sorted; the first of them; who is to blame."""
    points = [dict(one) for one in found["failure_points"]]
    known = {(one["step_numbers"], one["error_code"]) for one in points}
    points += [dict(one) for one in own if (one["step_numbers"], one["error_code"]) not in known]
    points.sort(key=lambda one: first_step(one["step_numbers"]))
    for one in points:
        one["blame"] = blame(one["error_code"])
    first = points[0] if points else None
    summary = (
        "" if first is None else f"[{first['error_code']}] {first['error_type']}: {first['what_happened']}"
    )
    return {
        "reasoning": found["reasoning"],
        "has_failure": bool(points),
        "failure_points": points,
        "first_failure_step": None if first is None else first_step(first["step_numbers"]),
        "first_failure_summary": summary,
    }


async def task_with_record(asker: Asker, words: Words) -> dict[str, Any]:
    """Whether the task is sound, with the record of one agent that tried. Raises `StepFailed`."""
    parts = [_kinds(), words.task(), words.history(), words.answer()]
    return await asker.ask(
        "task_with_record", [Text("\n\n".join(parts))], read_task, schema=_TASK, small=True
    )


async def task_alone(asker: Asker, words: Words) -> dict[str, Any]:
    """Whether the task is sound, from its text; shared by all agents and runs. Raises `StepFailed`."""
    parts = [_kinds(), words.task()]
    return await asker.ask(
        "task_alone", [Text("\n\n".join(parts))], read_task, schema=_TASK, small=True, of_task=0
    )


def _kinds() -> str:
    return f"Families 7 and 8:\n{listed((*AMBIGUOUS, *INVALID))}"


def read_task(body: Any) -> dict[str, Any]:
    """The six fields of a check of the task. Raises `Unusable`."""
    answer = reading.an_object(body)
    found: dict[str, Any] = {
        "reasoning_is_ambiguous": reading.text(answer, "reasoning_is_ambiguous"),
        "is_ambiguous": reading.flag(answer, "is_ambiguous"),
        "ambiguity_codes": reading.texts(answer, "ambiguity_codes"),
        "reasoning_is_invalid": reading.text(answer, "reasoning_is_invalid"),
        "is_invalid": reading.flag(answer, "is_invalid"),
        "invalid_task_codes": reading.texts(answer, "invalid_task_codes"),
    }
    for key, known in (("ambiguity_codes", AMBIGUOUS), ("invalid_task_codes", INVALID)):
        wrong = [code for code in found[key] if code not in known]
        if wrong:
            raise Unusable(f"{key}: {wrong[0][:20]!r} is none of {', '.join(known)}")
    return found


_TASK: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reasoning_is_ambiguous": {"type": "string"},
        "is_ambiguous": {"type": "boolean"},
        "ambiguity_codes": {"type": "array", "items": {"type": "string", "enum": list(AMBIGUOUS)}},
        "reasoning_is_invalid": {"type": "string"},
        "is_invalid": {"type": "boolean"},
        "invalid_task_codes": {"type": "array", "items": {"type": "string", "enum": list(INVALID)}},
    },
    "additionalProperties": False,
}
_TASK["required"] = list(_TASK["properties"])
_FAILURES: dict[str, Any] = reading.shape(
    {
        "reasoning": {"type": "string"},
        "has_failure": {"type": "boolean"},
        "failure_points": {
            "type": "array",
            "items": reading.shape(
                {
                    "step_numbers": {"type": "string"},
                    "error_code": {"type": "string", "enum": list(OF_WORK)},
                    "error_category": {"type": "string"},
                    "error_type": {"type": "string"},
                    **{key: {"type": "string"} for key in _FIELDS},
                }
            ),
        },
    }
)
