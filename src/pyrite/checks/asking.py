"""Call a check or a probe and make of whatever it does one of three answers.

The parts that wait are written once, as coroutines; `finish` runs one that never has to wait.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pyrite.checks.trouble import Absent, Trouble, describe, explain
from pyrite.checks.verdict import Result, render

T = TypeVar("T")

VERIFIER_CAUSES = frozenset(
    {
        "gold_failed",
        "bad_state_accepted",
        "gold_unstable",
        "verifier_error",
        "verifier_output_invalid",
        "task_invalid",
    }
)
"""What is wrong with the check itself: asking again does not help."""


LONGEST = 1000
"""Characters of a line for people."""


class Failed(AssertionError):
    """A check says FAIL."""

    def __init__(self, result: Result) -> None:
        super().__init__(one_line(f"FAIL: {why(result)}"))
        self.result = result


class Indeterminate(Exception):
    """A check cannot tell: neither a pass nor a fail."""

    def __init__(self, result: Result) -> None:
        super().__init__(one_line(f"INDETERMINATE ({result.cause}): {why(result)}"))
        self.result = result


class Asked(NamedTuple):
    """One answer, and the trouble that stood in its way where it is none."""

    result: Result
    trouble: Trouble | None = None


def why(result: Result) -> str:
    """What a result says of itself, in words."""
    said = result.diagnostics.get("why")
    if said is not None:
        return str(said)
    rest = {name: value for name, value in result.diagnostics.items() if name not in {"replay", "waited"}}
    words = ", ".join(f"{name}={value!r:.200}" for name, value in rest.items())
    return words or ", ".join(result.category) or "no reason given"


def one_line(text: str) -> str:
    """Text of whatever origin, bounded, without what a terminal or an XML file takes for more than text."""
    shown = " ".join(text[: 2 * LONGEST].split())[:LONGEST]
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in shown)
    return shown.encode("utf-8", "replace").decode()


async def ask(call: Callable[[], object], also: Sequence[type[Exception]] = ()) -> Asked:
    """The answer of one call: True, False, a `Result`, an assertion that does not hold, or no answer.

    Transport errors (and those that `also` names) are INDETERMINATE with cause environment_lost; any
    other exception is one of the check's own: verifier_error.
    """
    try:
        said = await settled(call())
    except Indeterminate as exc:
        return Asked(exc.result)
    except Failed as exc:
        return Asked(exc.result)
    except AssertionError as exc:
        return Asked(Result(False, (), {"why": str(exc)[:1000] or "an assertion does not hold"}))
    except (Exception, SystemExit) as exc:
        return _raised(exc, also)
    return Asked(_checked(said))


def _raised(exc: Exception | SystemExit, also: Sequence[type[Exception]]) -> Asked:
    found = explain(exc, also) if isinstance(exc, Exception) else None
    if isinstance(found, Absent):
        return Asked(Result(False, (), {"why": f"not there: {found.why}"}))
    if found is not None:
        return Asked(Result(None, (), {"why": found.why}, "environment_lost"), found)
    return Asked(Result(None, (), {"why": f"{describe(exc)} ({_place(exc)})"}, "verifier_error"))


def _place(exc: BaseException) -> str:
    """File and line that raised it."""
    step = exc.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return "no line" if step is None else f"{Path(step.tb_frame.f_code.co_filename).name}:{step.tb_lineno}"


def _checked(said: object) -> Result:
    if isinstance(said, bool):
        return Result(said, (), {} if said else {"why": "it returned False"})
    if not isinstance(said, Result):
        problem = f"it returned {said!r:.100}; expected True, False or a Result"
        return Result(None, (), {"why": problem}, "verifier_output_invalid")
    try:
        render(said)
    except (ValueError, TypeError, RecursionError, AttributeError) as exc:
        return Result(None, (), {"why": f"its result is none: {describe(exc)}"}, "verifier_output_invalid")
    passed: object = said.passed
    if passed is not None and not isinstance(passed, bool):
        problem = f"passed is {passed!r:.60}; expected True, False or None"
        return Result(None, (), {"why": problem}, "verifier_output_invalid")
    return said


async def settled(value: Awaitable[T] | T) -> T:
    """The value, awaited where it must be."""
    return await value if inspect.isawaitable(value) else value


def finish(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that waits for nothing, without an event loop.

    Raises `TypeError` where it does wait: something asynchronous was handed to what is not.
    """
    try:
        work.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    work.close()
    raise TypeError("this waits for something asynchronous; use check_async and eventually_async")
