"""AndroidWorld: `is_successful(env) -> float` of a task. Needs no package."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pyrite.adapters.graded import UNIT, Graded, How, Scale, attempt, decide, ours


def graded(
    is_successful: Callable[[Any], object],
    env: Any,
    *,
    scale: Scale = UNIT,
    policy_causes: tuple[type[BaseException], ...] = (),
) -> Graded:
    """Ask a task once; never raises. AndroidWorld itself skips an episode whose task raises."""
    return decide(attempt(lambda: is_successful(env), policy_causes), scale)


class GradedTask:
    """A task whose `is_successful` never raises; all else is the task's own. `graded` has its last answer."""

    def __init__(self, task: Any, *, fill: float = math.nan, **options: Any) -> None:
        self._task = task
        self._fill = fill
        self._options = options
        self.graded: Graded | None = None

    def __getattr__(self, name: str) -> Any:
        if name == "_task":  # a copy that is not filled yet
            raise AttributeError(name)
        return getattr(self._task, name)

    def is_successful(self, env: Any) -> float:
        """The task's number, or `fill` where it is not known."""
        self.graded = graded(self._task.is_successful, env, **self._options)
        return self.graded.reward_or(self._fill)


def as_is_successful(
    check: Callable[[Any], object], keep: Callable[[Graded], object], *, fill: float = math.nan
) -> Callable[[Any], float]:
    """A check of ours as an `is_successful`; a float has no place for the outcome, so `keep` is given it."""

    def is_successful(env: Any) -> float:
        seen = attempt(lambda: check(env))
        found = ours(seen.value) if seen.how is How.ANSWERED else decide(seen)
        keep(found)
        return found.reward_or(fill)

    return is_successful
