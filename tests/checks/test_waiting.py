"""Waiting: not yet, never and nobody knows are three things."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.checks import Canary, Result, TryLater, eventually, eventually_async
from pyrite.records import BLAME


@dataclass
class World:
    """A clock that only sleeping moves, and a replica that shows each write `lag` seconds later, in order."""

    lag: float = 2.0
    time: float = 1000.0
    slept: list[float] = field(default_factory=list)
    writes: list[tuple[float, str, object]] = field(default_factory=list)
    calls: list[float] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.slept.append(seconds)
        self.time += seconds

    def write(self, key: str, value: object = "right") -> None:
        self.writes.append((self.time, key, value))

    def read(self, key: str) -> object:
        self.calls.append(self.time)
        shown = {k: value for at, k, value in self.writes if at + self.lag <= self.time}
        return shown.get(key)

    def has(self, key: str) -> bool:
        return self.read(key) == "right"

    def canary(self, **changed: Any) -> Canary:
        parts: dict[str, Any] = {"write": self.write, "seen": self.has, "remove": self.removed.append}
        return Canary(**{**parts, **changed})


def waited(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = result.diagnostics["waited"]
    return found


def test_it_waits_for_what_is_on_its_way() -> None:
    world = World()
    world.write("a")
    world.time += 0.2
    result = eventually(lambda: world.has("a"), 10, 0.5, canary=world.canary(), clock=world)
    assert result.passed is True
    assert waited(result)["seconds"] == 2.0
    assert waited(result)["last_answer"] == "pass"
    assert len(world.removed) == 1


def test_what_is_there_costs_one_probe_and_no_canary() -> None:
    world = World(lag=0)
    world.write("a")
    result = eventually(lambda: world.has("a"), 10, canary=world.canary(), clock=world)
    assert (result.passed, len(world.writes), world.removed, world.slept) == (True, 1, [], [])
    assert waited(result)["canary"] == "not written"


def test_what_never_comes_is_a_fail_once_the_canary_is_there() -> None:
    world = World()
    result = eventually(lambda: world.has("a"), 10, 0.5, canary=world.canary(), clock=world)
    assert result.passed is False
    assert "the canary is there and this is not" in result.diagnostics["why"]
    assert waited(result)["canary_lag_s"] == 2.0
    assert waited(result)["seconds"] == 2.0
    assert world.removed == [world.writes[0][1]]


def test_what_is_there_and_wrong_is_a_fail_with_its_own_words() -> None:
    world = World()
    world.write("a", "wrong")

    def probe() -> Result:
        value = world.read("a")
        return Result(value == "right", () if value == "right" else ("F-PARTIAL",), {"found": value})

    result = eventually(probe, 10, 0.5, canary=world.canary(), clock=world)
    assert (result.passed, result.category) == (False, ("F-PARTIAL",))
    assert result.diagnostics["found"] == "wrong"


@pytest.mark.parametrize("deadline", [0.0, 1.0])
def test_a_canary_that_is_not_there_either_says_nothing_about_the_agent(deadline: float) -> None:
    world = World(lag=5)
    world.write("a")
    world.time += 0.2
    result = eventually(lambda: world.has("a"), deadline, 0.25, canary=world.canary(), clock=world)
    assert (result.passed, result.cause) == (None, "state_missing")
    assert waited(result)["last_answer"] == "fail: it returned False"


@pytest.mark.parametrize(
    ("late", "passed", "cause"), [("indeterminate", None, "verifier_says_unknown"), ("fail", False, None)]
)
def test_without_a_canary_only_a_promise_makes_it_a_fail(late: Any, passed: bool | None, cause: str) -> None:
    world = World()
    result = eventually(lambda: False, 3, 1, late=late, clock=world)
    assert (result.passed, result.cause) == (passed, cause)
    assert waited(result)["probes"] == 4
    assert world.time == 1003


def test_a_promise_is_broken_only_by_an_answer_at_the_deadline() -> None:
    world = World()

    def probe() -> bool:
        if world.time >= 1002:
            raise ConnectionResetError("gone")
        return False

    result = eventually(probe, 3, 1, late="fail", clock=world)
    assert (result.passed, result.cause) == (None, "environment_lost")
    assert waited(result)["last_answer"] == "fail: it returned False"
    assert waited(result)["troubles"] == {"unreachable": 2}


def test_a_canary_that_appears_between_two_looks_is_no_proof() -> None:
    """The agent's thing is read after the canary was seen, so one that arrived with it is found."""
    for step in range(1, 40):
        world = World(lag=1.0)

        def seen(key: str, world: World = world) -> bool:
            world.time += 0.5
            return world.has(key)

        def probe(world: World = world) -> bool:
            return world.has("a")

        world.write("a")
        world.time += 0.01
        result = eventually(probe, 10, step / 20, canary=world.canary(seen=seen), clock=world)
        assert result.passed is True


def test_absence_passes_only_once_the_canary_is_there() -> None:
    def no_second(world: World) -> Callable[[], bool]:
        return lambda: not world.has("second")

    early, settled = World(), World()
    early.write("second")
    settled.write("second")
    assert eventually(no_second(early), 10, 0.5, canary=early.canary(), clock=early).passed is True
    result = eventually(
        no_second(settled), 10, 0.5, canary=settled.canary(), after_canary=True, clock=settled
    )
    assert result.passed is False
    clean = World()
    result = eventually(no_second(clean), 10, 0.5, canary=clean.canary(), after_canary=True, clock=clean)
    assert (result.passed, waited(result)["seconds"]) == (True, 2.0)
    late = World(lag=20)
    result = eventually(no_second(late), 10, 0.5, canary=late.canary(), after_canary=True, clock=late)
    assert (result.passed, result.cause) == (None, "state_missing")


def test_grace_is_for_stores_that_keep_no_order() -> None:
    world = World(lag=1)
    world.writes.append((1002.0, "a", "right"))  # shown at 1003, the canary at 1001
    assert eventually(lambda: world.has("a"), 10, 0.5, canary=world.canary(), clock=world).passed is False
    world = World(lag=1)
    world.writes.append((1002.0, "a", "right"))
    result = eventually(lambda: world.has("a"), 10, 0.5, canary=world.canary(), grace=3, clock=world)
    assert result.passed is True
    world = World(lag=1)
    result = eventually(lambda: world.has("a"), 10, 0.5, canary=world.canary(), grace=3, clock=world)
    assert (result.passed, world.time) == (False, 1004.0)
    world = World(lag=1)
    result = eventually(lambda: world.has("a"), 3, 0.5, canary=world.canary(), grace=3, clock=world)
    assert (result.passed, result.cause) == (None, "state_missing")


def test_retry_after_is_kept_to_the_letter() -> None:
    world = World(lag=0)

    def probe() -> bool:
        world.calls.append(world.time)
        if len(world.calls) == 1:
            raise TryLater("HTTP 429", 4.0, "rate_limited")
        return True

    result = eventually(probe, 10, 0.5, canary=world.canary(), clock=world)
    assert result.passed is True
    assert world.calls == [1000.0, 1004.0]
    assert world.writes == []
    assert waited(result)["troubles"] == {"rate_limited": 1}


def test_retry_after_the_deadline_ends_it_at_once() -> None:
    world = World()

    def probe() -> bool:
        raise TryLater("HTTP 429, Retry-After 30 s", 30.0, "rate_limited")

    result = eventually(probe, 10, 0.5, canary=world.canary(), clock=world)
    assert (result.passed, result.cause, world.time) == (None, "environment_lost", 1000.0)
    assert "stay away for 30 s, 10 s before the deadline" in result.diagnostics["why"]
    assert world.writes == []


def test_a_limited_canary_is_left_and_said_so() -> None:
    world = World()

    def seen(key: str) -> bool:
        raise TryLater("HTTP 429", 60.0, "rate_limited")

    result = eventually(lambda: False, 10, 0.5, canary=world.canary(seen=seen), clock=world)
    assert (result.passed, result.cause) == (None, "environment_lost")
    assert world.removed == []
    assert "asks to stay away" in waited(result)["canary_left"]


def test_trouble_backs_off_and_a_plain_no_does_not() -> None:
    world = World()

    def probe() -> bool:
        if len(world.slept) < 3:
            raise ConnectionRefusedError
        return False

    eventually(probe, 17, 1, clock=world)
    assert world.slept == [2, 4, 8, 1, 1, 1]
    quiet = World()
    eventually(lambda: False, 5, 1, clock=quiet)
    assert quiet.slept == [1] * 5
    down = World()

    def refuse() -> bool:
        raise ConnectionRefusedError

    eventually(refuse, 100_000, 1, clock=down)
    assert max(down.slept) == 32


def test_a_writer_that_is_limited_for_a_while_is_tried_again() -> None:
    world = World()
    tried = []

    def write(key: str) -> None:
        tried.append(key)
        if len(tried) < 3:
            raise TryLater("HTTP 503")
        world.write(key)

    result = eventually(lambda: world.has("a"), 20, 0.5, canary=world.canary(write=write), clock=world)
    assert result.passed is False
    assert len(set(tried)) == 1
    never = World()

    def refused(key: str) -> None:
        raise ConnectionRefusedError("no")

    result = eventually(lambda: never.has("a"), 5, 0.5, canary=never.canary(write=refused), clock=never)
    assert (result.passed, result.cause) == (None, "environment_lost")
    assert "could not be written" in result.diagnostics["why"]
    assert len(never.removed) == 1


def test_one_canary_for_two_waits_has_two_keys() -> None:
    world = World()
    canary = world.canary(remove=None)
    for _ in range(2):
        world.write("a")
        assert eventually(lambda: world.has("b"), 10, 0.5, canary=canary, clock=world).passed is False
    assert len({key for _, key, _ in world.writes if key.startswith("pyrite-canary-")}) == 2


@pytest.mark.parametrize(("status", "passed"), [("server_error", False), ("unreachable", None)])
def test_a_service_that_breaks_on_the_agents_thing_alone(status: Any, passed: bool | None) -> None:
    world = World()

    def probe() -> bool:
        raise TryLater("HTTP 500", None, status)

    result = eventually(probe, 10, 0.5, canary=world.canary(), clock=world)
    assert result.passed is passed
    broken = World()

    def seen(key: str) -> bool:
        if broken.time > 1008:
            raise TryLater("HTTP 500", None, status)
        return broken.has(key)

    result = eventually(probe, 10, 0.5, canary=broken.canary(seen=seen), clock=broken)
    assert (result.passed, result.cause) == (None, "environment_lost")


def test_mistakes_of_the_check_end_it_at_once() -> None:
    world = World()

    def wrong() -> bool:
        raise KeyError("amount")

    nothing: Callable[[], object] = lambda: None  # noqa: E731
    gold_failed = Result(None, (), {"why": "its gold fails"}, "gold_failed")
    for probe, cause in ((wrong, "verifier_error"), (nothing, "verifier_output_invalid")):
        result = eventually(probe, 10, 0.5, canary=world.canary(), clock=world)
        assert (result.passed, result.cause, world.time) == (None, cause, 1000.0)
    result = eventually(lambda: gold_failed, 10, 0.5, clock=world)
    assert (result.cause, world.time) == ("gold_failed", 1000.0)
    result = eventually(lambda: False, 10, 0.5, canary=world.canary(seen=lambda key: wrong()), clock=world)
    assert result.cause == "verifier_error"
    assert "reading the canary: KeyError" in result.diagnostics["why"]
    result = eventually(lambda: False, 10, 0.5, canary=world.canary(write=lambda key: wrong()), clock=world)
    assert "writing the canary: KeyError" in result.diagnostics["why"]


def test_a_canary_that_cannot_be_removed_changes_no_answer() -> None:
    world = World()

    def remove(key: str) -> None:
        raise PermissionError("no")

    result = eventually(lambda: world.has("a"), 10, 0.5, canary=world.canary(remove=remove), clock=world)
    assert result.passed is False
    assert "could not be removed: PermissionError" in waited(result)["canary_left"]


def test_an_assertion_that_does_not_hold_is_a_no() -> None:
    world = World()

    def probe() -> bool:
        assert world.time > 1002, "too early"
        return True

    assert eventually(probe, 10, 1, clock=world).passed is True


def test_an_interrupt_removes_the_canary_and_goes_on_up() -> None:
    world = World()

    def sleep(seconds: float) -> None:
        raise KeyboardInterrupt

    world.sleep = sleep  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        eventually(lambda: False, 10, 1, canary=world.canary(), clock=world)
    assert len(world.removed) == 1


@given(
    lag=st.floats(0, 20),
    since=st.floats(0, 5),
    deadline=st.floats(0, 15),
    interval=st.floats(0.05, 3),
    written=st.booleans(),
    troubles=st.lists(st.sampled_from(["ok", "reset", "limited", "after"]), max_size=40),
)
def test_never_fail_for_what_was_written_and_never_pass_for_what_was_not(
    lag: float, since: float, deadline: float, interval: float, written: bool, troubles: list[str]
) -> None:
    world = World(lag=lag)
    if written:
        world.write("a")
    world.time += since
    coming = list(troubles)
    forbidden, early = [0.0], list[float]()

    def fragile(key: str) -> bool:
        early.extend([world.time] if world.time < forbidden[0] else [])
        trouble = coming.pop(0) if coming else "ok"
        if trouble == "reset":
            raise ConnectionResetError
        if trouble == "limited":
            raise TryLater("429", None, "rate_limited")
        if trouble == "after":
            forbidden[0] = world.time + 1.5
            raise TryLater("429", 1.5, "rate_limited")
        return world.has(key)

    canary = world.canary(seen=fragile)
    result = eventually(lambda: fragile("a"), deadline, interval, canary=canary, clock=world)
    assert early == [], "it was told to stay away"
    assert result.passed in ((True, None) if written else (False, None))
    assert result.cause is None or result.cause in BLAME
    assert world.time - 1000 - since <= deadline + 1e-6
    if not troubles and deadline > lag + 2 * interval:
        assert result.passed is written


@pytest.mark.parametrize(
    "wrong",
    [
        {"deadline": -1.0},
        {"deadline": float("nan")},
        {"deadline": float("inf")},
        {"interval": 0.0},
        {"interval": float("nan")},
        {"grace": 1.0},
        {"after_canary": True},
        {"late": "never"},
        {"late": "fail", "canary": Canary(lambda key: None, lambda key: True)},
    ],
)
def test_settings_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"deadline|interval|grace|late"):
        eventually(lambda: True, **{"deadline": 1.0, **wrong})


def test_asynchronous() -> None:
    world = World(lag=0.05)
    world.now = time.monotonic  # type: ignore[method-assign]

    async def probe() -> bool:
        world.time = time.monotonic()
        await asyncio.sleep(0)
        return world.has("a")

    async def write(key: str) -> None:
        world.time = time.monotonic()
        world.write(key)

    async def seen(key: str) -> bool:
        world.time = time.monotonic()
        return world.has(key)

    async def hangs() -> bool:
        await asyncio.sleep(60)
        return True

    async def all_three() -> tuple[Result, Result, Result]:
        canary = Canary(write, seen)
        missing = await eventually_async(probe, 20, 0.01, canary=canary)
        plain = await eventually_async(lambda: True, 5)
        stuck = await eventually_async(hangs, 0.05, 0.02, attempt=0.02)
        return missing, plain, stuck

    missing, plain, stuck = asyncio.run(all_three())
    assert (missing.passed, plain.passed, stuck.passed) == (False, True, None)
    assert stuck.cause == "environment_lost"
    with pytest.raises(TypeError, match="eventually_async"):
        eventually(probe, 1)
    with pytest.raises(ValueError, match="attempt"):
        asyncio.run(eventually_async(probe, 1, attempt=0))
