"""Any Python function `package -> score` as a judge: `pyrite judge BENCH --judge mymodule:reward`.

    def reward(package):                 # or async def; its one required parameter is called package
        return model.score(package.evidence.instruction, package.image(-1))

    reward.conditions = ("E1-final",)    # optional: without it all conditions

It returns a number (a raw score), a `Reply`, or one of the words success, failure, uncertain; None where it
has no opinion, which leaves the episode without a verdict. A plain function runs in a thread, one call at a
time.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from pyrite.errors import UsageError
from pyrite.judges.base import Package, Reply, Unavailable
from pyrite.judges.wire import VERDICTS, Conditions, unreadable

PARAMETER = "package"


def is_reward(found: Any) -> bool:
    """Whether this is a function of a package, and no factory of judges."""
    if not inspect.isroutine(found):
        return False
    try:
        first = next(iter(inspect.signature(found).parameters.values()), None)
    except (TypeError, ValueError):
        return False
    return first is not None and first.name == PARAMETER and first.default is first.empty


class FunctionJudge:
    """A function as a judge; options of the label are its other parameters, as text."""

    deterministic = True

    def __init__(self, function: Callable[..., Any], name: str, options: dict[str, str]) -> None:
        self.name = name
        self._function, self._given = function, options
        if missing := _without_required(function, options):
            raise UsageError(
                f"judge {name!r}: the option {missing[0]} is missing", expected=f"{name}@{missing[0]}=…"
            )
        declared = getattr(function, "conditions", ())
        names = [declared] if isinstance(declared, str) else declared
        if not isinstance(names, Sequence) or not all(isinstance(one, str) for one in names):
            raise UsageError(f"{name}: conditions is {declared!r}", expected="names of conditions")
        self._conditions = Conditions("/".join(names))
        self._turn: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None

    def supports(self, condition: str) -> bool:
        return condition in self._conditions

    def config(self) -> dict[str, Any]:
        return {
            "function": self.name,
            "source_sha256": _source_sha256(self._function),
            "conditions": list(self._conditions.names),
        }

    async def judge(self, package: Package, run: int) -> Reply:
        if inspect.iscoroutinefunction(self._function):
            with _here():
                return reply(await self._function(package, **self._given))
        async with self._lock():
            return reply(await asyncio.to_thread(self._call, package))

    def _call(self, package: Package) -> Any:
        with redirect_stdout(sys.stderr), _here():
            return self._function(package, **self._given)

    def _lock(self) -> asyncio.Lock:
        loop = asyncio.get_running_loop()
        if self._turn is None or self._turn[0] is not loop:
            self._turn = (loop, asyncio.Lock())
        return self._turn[1]


@contextmanager
def _here() -> Iterator[None]:
    """The working directory is after it what it was before: paths of the bench may hang on it."""
    before = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield
    finally:
        os.fchdir(before)
        os.close(before)


def _without_required(function: Callable[..., Any], options: dict[str, str]) -> list[str]:
    """Parameters that have no default and that no option gives."""
    found = list(inspect.signature(function).parameters.values())[1:]
    named = [one for one in found if one.kind in {one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY}]
    return [one.name for one in named if one.default is one.empty and one.name not in options]


def reply(found: Any) -> Reply:
    """What a function returned, as a reply; nothing is converted that is no number or word.

    >>> reply(0.25).score, reply("success").verdict.value, reply("yes").status
    (0.25, 'success', 'off_schema')
    """
    if isinstance(found, Reply):
        return found
    if found is None:
        raise Unavailable("the function returned None: no verdict")
    if isinstance(found, str):
        if found in VERDICTS:
            return Reply(VERDICTS[found])
        return unreadable("off_schema", f"it returned {found[:60]!r}, expected one of {', '.join(VERDICTS)}")
    number = _number(found)
    if number is None or not math.isfinite(number):
        return unreadable("off_schema", f"it returned {str(found)[:60]!r}, expected a finite number")
    return Reply(None, score=number)


def _number(found: Any) -> float | None:
    """A float of a number, of an array or tensor with one element too; True is no number."""
    if hasattr(found, "item") and callable(found.item):
        try:
            found = found.item()
        except (ValueError, RuntimeError, TypeError):
            return None
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    try:
        return float(found)
    except OverflowError:
        return None


def _source_sha256(function: Callable[..., Any]) -> str | None:
    """Digest of the file that the function stands in: another file is another judge."""
    try:
        source = inspect.getsourcefile(inspect.unwrap(function))
        return hashlib.sha256(Path(source).read_bytes()).hexdigest() if source else None
    except (TypeError, OSError):
        return None
