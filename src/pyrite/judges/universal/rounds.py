"""Questions of one step about many screens: all at the same time, and again those whose answers fail.

They are repeated round by round, so that how often depends on the answers alone and on no clock: a run that
goes on asks what the first would have asked. There are bounds on what a model that never answers can cost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from typing import Any, TypeVar

from pyrite.judges.client.base import CallError
from pyrite.judges.universal.asking import Asker, Question
from pyrite.judges.universal.records import StepFailed

MOST_ALONE = 60
"""Single criteria of single screens that one trajectory is asked about, once each."""
T = TypeVar("T")


def most(questions: int, attempts: int) -> int:
    """The most calls of so many questions: each may be repeated, all together not more than this.

    >>> most(1, 5), most(47, 5), most(47, 1)
    (5, 99, 47)
    """
    return questions + min(questions * (attempts - 1), repeats(questions, attempts))


def repeats(questions: int, attempts: int) -> int:
    """How often questions of one step are repeated, all together."""
    return questions + attempts if attempts > 1 else 0


async def ask(asker: Asker, questions: Sequence[Question[T]]) -> list[T | StepFailed]:
    """The answer to each, or why there is none. Raises `CallError`, once the round has ended.

    Where not one of them has been answered, twice in a row and after as many calls as `attempts`, none is
    asked again: the model cannot do it.
    """
    found: dict[int, T | StepFailed] = {}
    failed: dict[int, StepFailed] = {}
    waiting, left = list(range(len(questions))), repeats(len(questions), asker.attempts)
    made, none = 0, True
    for attempt in range(1, asker.attempts + 1):
        asking = waiting if attempt == 1 else waiting[:left]
        left -= len(asking) if attempt > 1 else 0
        made += len(asking)
        before = [failed[i].why if i in failed else "" for i in asking]
        answers = await together(
            asker.attempt(questions[i], attempt, why) for i, why in zip(asking, before, strict=True)
        )
        for i, answer in zip(asking, answers, strict=True):
            if isinstance(answer, StepFailed) and answer.status is not None:
                failed[i] = answer
            else:
                found[i] = answer
        waiting = [i for i in asking if i not in found]
        none = not any(not isinstance(one, StepFailed) for one in found.values())
        if not waiting or (none and attempt > 1 and made >= asker.attempts):
            break
    why = (
        "not one screen was answered" if none else f"{repeats(len(questions), asker.attempts)} repeats in all"
    )
    return [found[i] if i in found else _given_up(failed[i], asker, why) for i in range(len(questions))]


def _given_up(one: StepFailed, asker: Asker, why: str) -> StepFailed:
    if one.attempts == asker.attempts:
        return one
    return StepFailed(one.step, f"{one.why}; not asked again: {why}", one.status, one.attempts)


async def once(asker: Asker, questions: Sequence[Question[T]]) -> list[T | StepFailed]:
    """Ask each once, all at the same time."""
    return await together(asker.attempt(one, 1, "") for one in questions)


async def together(work: Iterable[Awaitable[Any]]) -> list[Any]:
    """All results, a `StepFailed` as it is; other errors are raised once everything has ended.

    So what was asked at the same time as a call that failed is answered, kept, and not asked again.
    """
    done = await asyncio.gather(*work, return_exceptions=True)
    errors = [one for one in done if isinstance(one, BaseException) and not isinstance(one, StepFailed)]
    for kind in (asyncio.CancelledError, CallError, BaseException):
        for error in errors:
            if isinstance(error, kind):
                raise error
    return list(done)
