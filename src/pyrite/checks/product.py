"""Checks of one's own product: a function that is believed only while hand-made states prove it.

    @check(gold=right_invoice, bad={"other_amount": other_amount, "none": no_invoice})
    def invoice_is_right(invoice: dict | None) -> bool:
        return invoice is not None and invoice["amount"] == 450

    invoice_is_right(fetched)            # Result: passed True, False, or None with a cause

The first argument is what is checked. Before an answer is given, the golds (twice, made anew) and the bad
states are put in its place; a check that answers otherwise than known says INDETERMINATE, with the causes
that a task's verifier has. In pytest, `require(result)` or a decorated `test_` function.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Generic, Literal, ParamSpec

from pyrite.checks.asking import Failed, Indeterminate, ask, finish
from pyrite.checks.health import Health, Maker, Makers, known_states, replay, settles
from pyrite.checks.verdict import Result

P = ParamSpec("P")

Often = Literal["each", "once"]

listeners: list[Callable[[Result], None]] = []
"""The last is told of every required result that passes: how the pytest plug-in learns of them."""


def require(result: Result) -> Result:
    """The result where it passes; raises `Failed` (an AssertionError) or `Indeterminate` otherwise."""
    __tracebackhide__ = True
    if not isinstance(result, Result):
        raise TypeError(f"require({result!r:.60}); expected the Result of a check")
    if result.passed is None:
        raise Indeterminate(result)
    if not result.passed:
        raise Failed(result)
    for listener in listeners[-1:]:
        listener(result)
    return result


class _Known(Generic[P]):
    """A function with its known states."""

    def __init__(
        self,
        function: Callable[P, object],
        gold: Makers,
        bad: Makers | None,
        initial: Maker | None,
        often: Often,
        transport: Sequence[type[Exception]],
    ) -> None:
        wrapper: Any = self
        functools.update_wrapper(wrapper, function)
        self._function = function
        self._signature = inspect.signature(function)
        self._states = known_states(gold, bad, initial, _further(function, self._signature))
        if often not in ("each", "once"):
            raise ValueError(f"replay is {often!r}; expected 'each' or 'once'")
        self._often = often
        self._transport = tuple(transport)
        self.health: Health | None = None
        """What the last replay found; None before the first."""

    async def _ask(self, arguments: inspect.BoundArguments) -> Result:
        health = self.health
        if health is None or self._often == "each" or not settles(health):
            health = await self._replay(arguments)
        return await self._believe(health, arguments)

    async def _believe(self, health: Health, arguments: inspect.BoundArguments) -> Result:
        if health.cause is not None:
            said = {"why": health.why, "replay": health.brief()}
            return Result(None, (), said, health.cause)
        call = functools.partial(self._function, *arguments.args, **arguments.kwargs)
        result = (await ask(call, self._transport)).result
        return result._replace(diagnostics={**result.diagnostics, "replay": health.brief()})

    async def _replay(self, arguments: inspect.BoundArguments) -> Health:
        further = dict(list(arguments.arguments.items())[1:])

        def call(state: Any) -> object:
            return self._function(state, *arguments.args[1:], **arguments.kwargs)

        self.health = await replay(call, self._states, further, self._transport)
        return self.health

    def _bind(self, *args: Any, **kwargs: Any) -> inspect.BoundArguments:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound

    def _bind_further(self, further: Mapping[str, Any]) -> inspect.BoundArguments:
        subject = next(iter(self._signature.parameters))
        return self._bind(**{subject: None, **further})


class Check(_Known[P]):
    """A check that is called as the function is, and answers with a `Result`."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Result:
        """Replay the known states, then ask; never raises for what the check does."""
        __tracebackhide__ = True
        result = self.ask(*args, **kwargs)
        if _is_running_test(getattr(self, "__name__", "")):
            # pytest calls it as a test and its plug-in is not loaded: a fail must not look like a pass.
            return require(result)
        return result

    def refuse_async_states(self) -> None:
        """Raise TypeError where a state is made asynchronously."""
        for state in self._states:
            make = inspect.unwrap(state.make)
            if inspect.iscoroutinefunction(make) or inspect.isasyncgenfunction(make):
                raise TypeError(f"state {state.name!r} is made asynchronously; use check_async")

    def ask(self, *args: P.args, **kwargs: P.kwargs) -> Result:
        """The same as a call."""
        return finish(self._ask(self._bind(*args, **kwargs)))

    def replay(self, **further: Any) -> Health:
        """Replay the known states alone; `further` are the check's arguments after the first, by name."""
        return finish(self._replay(self._bind_further(further)))

    @contextmanager
    def replayed(self, **further: Any) -> Iterator[Callable[[Any], Result]]:
        """Replay once, then ask about many: `with invoice_is_right.replayed() as ask: ask(one); ask(two)`."""
        health = self.replay(**further)
        subject = next(iter(self._signature.parameters))

        def ask_one(state: Any) -> Result:
            return finish(self._believe(health, self._bind(**{subject: state, **further})))

        yield ask_one


class AsyncCheck(_Known[P]):
    """A check whose function is asynchronous; its states may be too."""

    async def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Result:
        """Replay the known states, then ask; never raises for what the check does."""
        return await self._ask(self._bind(*args, **kwargs))

    async def replay(self, **further: Any) -> Health:
        """Replay the known states alone; `further` are the check's arguments after the first, by name."""
        return await self._replay(self._bind_further(further))

    @asynccontextmanager
    async def replayed(self, **further: Any) -> AsyncIterator[Callable[[Any], Awaitable[Result]]]:
        """Replay once, then ask about many."""
        health = await self.replay(**further)
        subject = next(iter(self._signature.parameters))

        async def ask_one(state: Any) -> Result:
            return await self._believe(health, self._bind(**{subject: state, **further}))

        yield ask_one


def check(
    *,
    gold: Makers,
    bad: Makers | None = None,
    initial: Maker | None = None,
    replay: Often = "each",
    transport: Sequence[type[Exception]] = (),
) -> Callable[[Callable[P, object]], Check[P]]:
    """Make a check of a function that returns True, False or a `Result`, or asserts and returns True.

    - `gold`: makes a right state, which must pass; several in a mapping or sequence. `bad`: likewise, must
      fail. `initial`: makes the state before the agent came, which must fail. At least one must fail.
    - A maker returns the state, or yields it and cleans up. It may take the check's further arguments by
      their names (a connection, a fixture).
    - `replay`: before "each" answer, or "once" in this process, until it was decided.
    - `transport`: exceptions that say nothing about the agent, besides those that `trouble` knows.

    Raises ValueError or TypeError for states that make no sense.
    """

    def decorate(function: Callable[P, object]) -> Check[P]:
        if inspect.iscoroutinefunction(function):
            raise TypeError(f"{function.__name__} is asynchronous; use check_async")
        made = Check(function, gold, bad, initial, replay, transport)
        made.refuse_async_states()
        return made

    return decorate


def check_async(
    *,
    gold: Makers,
    bad: Makers | None = None,
    initial: Maker | None = None,
    replay: Often = "each",
    transport: Sequence[type[Exception]] = (),
) -> Callable[[Callable[P, Coroutine[Any, Any, object]]], AsyncCheck[P]]:
    """`check` for an asynchronous function."""

    def decorate(function: Callable[P, Coroutine[Any, Any, object]]) -> AsyncCheck[P]:
        return AsyncCheck(function, gold, bad, initial, replay, transport)

    return decorate


def _further(function: Callable[..., object], signature: inspect.Signature) -> list[str]:
    """Names of the arguments after the first, which is what is checked."""
    parameters = list(signature.parameters.values())
    name = getattr(function, "__name__", "the check")
    taken = [p for p in parameters if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY)]
    if taken:
        raise TypeError(f"{name} takes {taken[0]}; expected arguments with names")
    if not parameters or parameters[0].kind is parameters[0].KEYWORD_ONLY:
        raise TypeError(f"{name} has no first argument; expected what is to be checked")
    if parameters[0].name in ("self", "cls"):
        raise TypeError(f"{name} is a method; expected a function")
    return [parameter.name for parameter in parameters[1:]]


def _is_running_test(name: str) -> bool:
    """Whether pytest is at the test of this name in this very moment."""
    running = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    return name.startswith("test") and re.search(rf"::{re.escape(name)}(\[|$)", running) is not None
