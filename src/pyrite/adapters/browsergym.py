"""BrowserGym: `validate(page, chat_messages) -> (reward, done, message, info)`.

`graded_validate` and `graded_task` wrap somebody's; `as_validate` gives a check of ours that form. The
outcome is in `info["pyrite"]` and means: what the episode would come to if it ended here. BrowserGym's
own `info` holds it under `task_info`. Needs no package.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pyrite.adapters.graded import UNIT, Graded, How, Scale, Seen, attempt, decide, of_exception, ours

Answer = tuple[float, bool, str, dict[str, Any]]
Validate = Callable[..., Answer]
Task = TypeVar("Task")
KEY = "pyrite"


def graded_validate(
    validate: Callable[..., Any],
    *,
    scale: Scale = UNIT,
    policy_causes: tuple[type[BaseException], ...] = (),
    fill: float = math.nan,
) -> Validate:
    """Wrap a foreign validate: it never raises, and says in `info` what its reward is worth.

    `policy_causes`: exceptions that an agent can bring about; they are a fail. `fill`: what stands in the
    place of a reward that is not known. A reward below `scale.passes` is a fail and stays what it is. An
    episode goes on where one call could not tell.
    """

    def wrapped(*args: Any, **kwargs: Any) -> Answer:
        seen = attempt(lambda: validate(*args, **kwargs), policy_causes)
        if seen.how is not How.ANSWERED:
            return _answer(decide(seen, scale), False, "", {}, fill)
        try:
            answer: Any = seen.value
            reward, over, message, info = answer
            done = bool(over)
        except Exception as exc:  # a foreign object may do anything
            why = f"expected (reward, done, message, info): {of_exception(exc).why}"
            return _answer(decide(Seen(How.UNREADABLE, seen.value, why)), False, "", {}, fill)
        given = dict(info) if isinstance(info, Mapping) else {}
        text = message if isinstance(message, str) else ""
        return _answer(decide(Seen(How.ANSWERED, reward), scale), done, text, given, fill)

    return wrapped


def graded_task(task: type[Task], **options: Any) -> type[Task]:
    """A subclass of a BrowserGym task whose validate is graded; options as `graded_validate` has them.

    Give it to `register_task` or `BrowserEnv(task_entrypoint=...)` in the task's place.
    """

    def validate(self: Any, page: Any, chat_messages: Any) -> Answer:
        return graded_validate(super(graded, self).validate, **options)(page, chat_messages)

    graded: type[Task] = type(task.__name__, (task,), {"validate": validate, "__module__": task.__module__})
    return graded


def as_validate(
    check: Callable[[Any, Any], object],
    *,
    done: Callable[[Any, Any], bool] | None = None,
    fill: float = math.nan,
) -> Validate:
    """A check of ours as a validate: `check(page, chat_messages)` gives whatever `graded.ours` reads.

    `done(page, chat_messages)` says when the episode is over; without it, when the check passes.
    """

    def validate(page: Any, chat_messages: Any) -> Answer:
        seen = attempt(lambda: check(page, chat_messages))
        graded = ours(seen.value) if seen.how is How.ANSWERED else decide(seen)
        over = graded.outcome.value == "pass" if done is None else done(page, chat_messages)
        return _answer(graded, over, "", {}, fill)

    return validate


def _answer(graded: Graded, done: bool, message: str, info: dict[str, Any], fill: float) -> Answer:
    return graded.reward_or(fill), done, message, {**info, KEY: graded.as_info()}
