"""Replay hand-made states against a check: is it to be believed, here and now?

The rules and names are those of a task's verifier (`truth.replay`): a gold must pass, twice, made anew;
the untouched state and every bad one must fail.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from pyrite.checks.asking import VERIFIER_CAUSES, Asked, ask, settled, why
from pyrite.checks.trouble import describe, explain
from pyrite.checks.verdict import Result

Kind = Literal["gold", "initial", "bad"]
Maker = Callable[..., Any]
"""Makes a state: returns it, or yields it once and cleans up afterwards."""

Makers = Maker | Mapping[str, Maker] | Sequence[Maker]


class Known(NamedTuple):
    """A state whose answer is known."""

    name: str
    kind: Kind
    make: Maker
    asks_for: tuple[str, ...]
    """Names of the check's further arguments that the maker takes."""


@dataclass(frozen=True)
class StateAnswer:
    """What a check said of one known state; two answers for a gold."""

    name: str
    kind: Kind
    answers: tuple[Result, ...]

    @property
    def outcomes(self) -> tuple[str, ...]:
        return tuple(outcome(answer) for answer in self.answers)


@dataclass(frozen=True)
class Health:
    """What a replay found; `cause` is None where the check may be believed."""

    cause: str | None
    why: str
    """The cause in words; empty without one."""
    states: tuple[StateAnswer, ...] = ()

    @property
    def believed(self) -> bool:
        return self.cause is None

    def brief(self) -> dict[str, Any]:
        """`replay` in the diagnostics of an answer: believed or not, and the outcomes of each state."""
        states = {state.name: list(state.outcomes) for state in self.states}
        return {"believed": self.believed, "states": states}


def outcome(result: Result) -> str:
    """pass, fail or indeterminate."""
    return "indeterminate" if result.passed is None else "pass" if result.passed else "fail"


def known_states(
    gold: Makers, bad: Makers | None, initial: Maker | None, further: Sequence[str]
) -> tuple[Known, ...]:
    """The states of a check, each under its own name; ValueError or TypeError where they make no sense."""
    found = [*_named("gold", gold), *_named("bad", bad)]
    if initial is not None:
        found.insert(0, ("initial", "initial", initial))
    kinds = {kind for _, kind, _ in found}
    if "gold" not in kinds:
        raise ValueError("no gold: nothing would show that the check accepts what is right")
    if not kinds & {"bad", "initial"}:
        raise ValueError("neither bad nor initial: nothing would show that the check refuses anything")
    names = [name for name, _, _ in found]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two states are called {name!r}; expected a name for each")
    return tuple(Known(name, kind, make, _asks_for(name, make, further)) for name, kind, make in found)


def _named(kind: Kind, makers: Makers | None) -> list[tuple[str, Kind, Maker]]:
    if makers is None:
        return []
    if isinstance(makers, Mapping):
        return [(str(name), kind, make) for name, make in makers.items()]
    if isinstance(makers, Sequence):
        return [(_name(make, f"{kind} {n}"), kind, make) for n, make in enumerate(makers, start=1)]
    return [(kind if kind == "gold" else _name(makers, kind), kind, makers)]


def _name(make: Maker, otherwise: str) -> str:
    name = getattr(make, "__name__", otherwise)
    return otherwise if name == "<lambda>" else str(name)


def _asks_for(name: str, make: Maker, further: Sequence[str]) -> tuple[str, ...]:
    if not callable(make):
        raise TypeError(f"state {name!r} is {make!r:.60}; expected a callable that makes it")
    wanted = []
    for parameter in inspect.signature(make).parameters.values():
        if parameter.name in further and parameter.kind is not parameter.POSITIONAL_ONLY:
            wanted.append(parameter.name)
        elif parameter.default is parameter.empty and parameter.kind in (
            parameter.POSITIONAL_ONLY,
            parameter.POSITIONAL_OR_KEYWORD,
            parameter.KEYWORD_ONLY,
        ):
            there = ", ".join(further) or "none"
            raise TypeError(
                f"state {name!r} asks for {parameter.name!r}; the check's further arguments: {there}"
            )
    return tuple(wanted)


async def replay(
    call: Callable[[Any], object],
    states: Sequence[Known],
    further: Mapping[str, Any],
    also: Sequence[type[Exception]],
) -> Health:
    """Make every state and ask about it; `call` asks the check about one."""
    answers = []
    for state in states:
        times = 2 if state.kind == "gold" else 1
        asked = [(await _ask_about(call, state, further, also)).result for _ in range(times)]
        answers.append(StateAnswer(state.name, state.kind, tuple(asked)))
    cause, text = _judge(answers)
    return Health(cause, text, tuple(answers))


async def _ask_about(
    call: Callable[[Any], object],
    state: Known,
    further: Mapping[str, Any],
    also: Sequence[type[Exception]],
) -> Asked:
    arguments = {name: further[name] for name in state.asks_for}
    asked: Asked | None = None
    try:
        async with AsyncExitStack() as stack:
            made = await _make(state.make, arguments, stack)
            asked = await ask(lambda: call(made), also)
    except (Exception, SystemExit) as exc:
        doing = "making it" if asked is None else "cleaning it up"
        trouble = explain(exc, also) if isinstance(exc, Exception) else None
        cause = "verifier_error" if trouble is None else "environment_lost"
        return Asked(Result(None, (), {"why": f"{doing}: {describe(exc)}"}, cause))
    return asked


async def _make(make: Maker, arguments: Mapping[str, Any], stack: AsyncExitStack) -> Any:
    """The state; what its maker does after yielding it is left to the stack."""
    made = make(**arguments)
    if inspect.isgenerator(made):
        return stack.enter_context(_once(made))
    if inspect.isasyncgen(made):
        return await stack.enter_async_context(_once_async(made))
    # A state may be a context manager itself (a connection): only one made from a generator is entered.
    if inspect.isgeneratorfunction(inspect.unwrap(make)) and isinstance(made, AbstractContextManager):
        return stack.enter_context(made)
    if inspect.isasyncgenfunction(inspect.unwrap(make)) and isinstance(made, AbstractAsyncContextManager):
        return await stack.enter_async_context(made)
    return await settled(made)


@contextmanager
def _once(states: Iterator[Any]) -> Iterator[Any]:
    try:
        state = next(states)
    except StopIteration:
        raise ValueError("it yielded no state") from None
    yield state
    if next(states, states) is not states:
        raise ValueError("it yielded a second state")


@asynccontextmanager
async def _once_async(states: AsyncIterator[Any]) -> AsyncIterator[Any]:
    try:
        state = await anext(states)
    except StopAsyncIteration:
        raise ValueError("it yielded no state") from None
    yield state
    if await anext(states, states) is not states:
        raise ValueError("it yielded a second state")


def _judge(states: Sequence[StateAnswer]) -> tuple[str | None, str]:
    """Why the check is not to be believed: golds first, then the untouched state, then bad ones."""
    golds = [state for state in states if state.kind == "gold"]
    for state in golds:
        lost = [answer for answer in state.answers if answer.passed is None]
        if lost:
            return lost[0].cause, f"gold state {state.name}: {why(lost[0])}"
        if len({(answer.passed, frozenset(answer.category)) for answer in state.answers}) > 1:
            said = ", then ".join(state.outcomes)
            return "gold_unstable", f"gold state {state.name}, made twice: {said}"
    for state in golds:
        if state.answers[0].passed is not True:
            return "gold_failed", f"gold state {state.name}: fail: {why(state.answers[0])}"
    for state in sorted(states, key=lambda state: state.kind != "initial"):
        answer = state.answers[0]
        if state.kind == "gold" or answer.passed is False:
            continue
        if answer.passed is None:
            return answer.cause, f"{state.kind} state {state.name}: {why(answer)}"
        cause = "task_invalid" if state.kind == "initial" else "bad_state_accepted"
        return cause, f"{state.kind} state {state.name}: pass"
    return None, ""


def settles(health: Health) -> bool:
    """Whether another replay would say the same: believed, or the check's own fault."""
    return health.cause is None or health.cause in VERIFIER_CAUSES
