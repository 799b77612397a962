"""Look until a thing is there: in a replica that lags, behind a rate limit, in a store that settles.

    result = eventually(probe, deadline=10, interval=0.2, canary=Canary(write, seen))

PASS as soon as the probe says so. "No" is not yet FAIL: the agent's work may be on its way. A *canary*, a
hand-made right thing that is written after the agent's and read by the same path, tells the two apart:
it is there and the agent's is not, FAIL; it is not there by the deadline, INDETERMINATE. What keeps
anyone from answering (a lost connection, 429, 503) is never a FAIL.
"""

from __future__ import annotations

import inspect
import math
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pyrite.checks.asking import VERIFIER_CAUSES, Asked, ask, finish, settled, why
from pyrite.checks.trouble import Trouble, describe
from pyrite.checks.verdict import Result

Probe = Callable[[], object]
"""Returns True, False or a `Result` (or an awaitable of one), or raises."""

_BACKOFF = 2.0
_MOST_BACKOFFS = 5
"""Where backing off ends: at 32 times the interval."""


class Clock(Protocol):
    """What tells time and lets it pass; tests hand in one of their own."""

    def now(self) -> float:
        """Seconds that never go back."""
        ...

    def sleep(self, seconds: float) -> Awaitable[None] | None:
        """Return that much later."""
        ...


class Monotonic:
    """The machine's monotonic clock."""

    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class AsyncMonotonic(Monotonic):
    """The same, for a running event loop."""

    async def sleep(self, seconds: float) -> None:  # type: ignore[override]
        import asyncio

        await asyncio.sleep(seconds)


def _new_key() -> str:
    return f"pyrite-canary-{secrets.token_hex(8)}"


@dataclass(frozen=True)
class Canary:
    """A right thing of our own, written beside the agent's once that is done.

    `write(key)` must be harmless when repeated: it is tried again where the first answer was lost.
    `seen(key)` reads it by the path and with the check that the agent's thing is read with.
    """

    write: Callable[[str], object]
    seen: Callable[[str], object]
    remove: Callable[[str], object] | None = None
    """Called at the end, in every case, if a write was tried and the service does not ask to stay away."""
    new_key: Callable[[], str] = _new_key
    """Makes another key for every wait, so that an old canary is not taken for the new one."""


@dataclass(frozen=True)
class _Settings:
    probe: Probe
    deadline: float
    interval: float
    canary: Canary | None
    late: Literal["indeterminate", "fail"]
    after_canary: bool
    grace: float
    transport: Sequence[type[Exception]]
    clock: Clock
    attempt: float | None = None


def eventually(
    probe: Probe,
    deadline: float,
    interval: float = 0.2,
    *,
    canary: Canary | None = None,
    late: Literal["indeterminate", "fail"] = "indeterminate",
    after_canary: bool = False,
    grace: float = 0.0,
    transport: Sequence[type[Exception]] = (),
    clock: Clock | None = None,
) -> Result:
    """Probe every `interval` seconds until PASS, FAIL, or `deadline` seconds from now.

    - `canary`: see `Canary`. Without one, "no" until the deadline is INDETERMINATE, or FAIL with
      `late="fail"`: then the deadline is what the product promises.
    - `after_canary`: PASS too waits for the canary; for probes that look for what must *not* be there.
    - `grace`: seconds that the agent's thing may come later than the canary: for stores that keep no order.
    - `transport`: further exceptions that say nothing about the agent.

    The last probe begins at the deadline or later. It is not cut short: give your client a timeout.
    Retry-After is kept; where it ends after the deadline, the answer is INDETERMINATE at once.
    Diagnostics: `why`, those of the last answer, and `waited` with what was seen on the way.
    Raises ValueError or TypeError for settings that make no sense, never for what the probe does.
    """
    if inspect.iscoroutinefunction(probe):
        raise TypeError("the probe is asynchronous; use eventually_async")
    settings = _Settings(
        probe, deadline, interval, canary, late, after_canary, grace, transport, clock or Monotonic()
    )
    _refuse_nonsense(settings)
    return finish(_Wait(settings).run())


async def eventually_async(
    probe: Probe,
    deadline: float,
    interval: float = 0.2,
    *,
    canary: Canary | None = None,
    late: Literal["indeterminate", "fail"] = "indeterminate",
    after_canary: bool = False,
    grace: float = 0.0,
    transport: Sequence[type[Exception]] = (),
    clock: Clock | None = None,
    attempt: float | None = None,
) -> Result:
    """`eventually` in an event loop; probe and canary may be asynchronous.

    `attempt` bounds each asynchronous call, in seconds; one that takes longer is trouble, not a FAIL.
    """
    settings = _Settings(
        probe, deadline, interval, canary, late, after_canary, grace, transport,
        clock or AsyncMonotonic(), attempt,
    )  # fmt: skip
    _refuse_nonsense(settings)
    return await _Wait(settings).run()


def _refuse_nonsense(given: _Settings) -> None:
    for name, value, least in (("deadline", given.deadline, 0.0), ("grace", given.grace, 0.0)):
        if not (math.isfinite(value) and value >= least):
            raise ValueError(f"{name} is {value!r}; expected seconds, 0 or more")
    for name, seconds in (("interval", given.interval), ("attempt", given.attempt)):
        if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
            raise ValueError(f"{name} is {seconds!r}; expected seconds, more than 0")
    if given.late not in ("indeterminate", "fail"):
        raise ValueError(f"late is {given.late!r}; expected 'indeterminate' or 'fail'")
    if given.canary is None and (given.after_canary or given.grace):
        raise ValueError("after_canary and grace need a canary")
    if given.canary is not None and given.late == "fail":
        raise ValueError("late='fail' is for checks without a canary: the canary tells late from never")


class _Wait:
    """One wait: what was seen so far, and what follows from it."""

    def __init__(self, settings: _Settings) -> None:
        self.given = settings
        self.start = settings.clock.now()
        self.end = self.start + settings.deadline
        self.probes = 0
        self.troubles: Counter[str] = Counter()
        self.in_a_row = 0
        """Rounds of trouble since the last round without."""
        self.not_before = self.start
        self.last = Asked(Result(None, (), {}, "verifier_says_unknown"))
        self.answered: Result | None = None
        """The last pass or fail of the probe, whatever came later."""
        self.key = "" if settings.canary is None else settings.canary.new_key()
        self.canary_tried = False
        self.written_at: float | None = None
        self.seen_at: float | None = None
        self.canary_said = ""
        self.canary_trouble: Trouble | None = None
        self.errors_since_seen = 0
        self.other_since_seen = 0

    async def run(self) -> Result:
        try:
            result = await self._until_decided()
        finally:
            left = await self._remove()
        waited = self._waited()
        if left:
            waited["canary_left"] = left
        return result._replace(diagnostics={**result.diagnostics, "waited": waited})

    async def _until_decided(self) -> Result:
        while True:
            began = self.given.clock.now()
            before = sum(self.troubles.values())
            decided = await self._round(began)
            if decided is not None:
                return decided
            if began >= self.end:
                return await self._at_the_end()
            self.in_a_row = self.in_a_row + 1 if sum(self.troubles.values()) > before else 0
            now = self.given.clock.now()
            if self.not_before > max(self.end, now):
                return self._kept_away(self.not_before - now, self.end - now)
            pause = self.given.interval * _BACKOFF ** min(self.in_a_row, _MOST_BACKOFFS)
            due = max(self.not_before, min(now + pause, self.end))
            await settled(self.given.clock.sleep(max(0.0, due - now)))

    async def _round(self, began: float) -> Result | None:
        """Look at the canary, then at the agent's thing: only in this order does "no" mean never."""
        given = self.given
        broken = await self._look() if self.written_at is not None and self.seen_at is None else None
        if broken is not None:
            return broken
        if self.not_before > given.clock.now():
            return None
        looked_at = given.clock.now()
        self.last = await self._ask(given.probe)
        self.probes += 1
        result = self.last.result
        if result.cause in VERIFIER_CAUSES:
            return result
        if self.last.trouble is None and result.passed is not None:
            self.answered = result
        waited_out = self.seen_at is not None and looked_at - self.seen_at >= given.grace
        if result.passed and (waited_out or not given.after_canary):
            return result
        if self.seen_at is not None:
            server_error = self.last.trouble is not None and self.last.trouble.kind == "server_error"
            self.errors_since_seen += server_error
            self.other_since_seen += not server_error
            if result.passed is False and waited_out:
                return self._never(result)
        if self.written_at is None and given.canary is not None and began < self.end:
            return await self._write(given.canary)
        return None

    async def _ask(self, call: Callable[[], object]) -> Asked:
        """One call, and what keeps it from being answered noted down."""
        asked = await ask(lambda: self._bounded(call()), self.given.transport)
        if asked.trouble is not None:
            self.troubles[asked.trouble.kind] += 1
            if asked.trouble.after_s is not None:
                self.not_before = max(self.not_before, self.given.clock.now() + asked.trouble.after_s)
        return asked

    def _bounded(self, value: object) -> object:
        if self.given.attempt is None or not inspect.isawaitable(value):
            return value
        import asyncio

        return asyncio.wait_for(value, self.given.attempt)

    async def _write(self, canary: Canary) -> Result | None:
        if self.not_before > self.given.clock.now():
            return None
        self.canary_tried = True

        async def write() -> bool:
            await settled(canary.write(self.key))
            return True

        asked = await self._ask(write)
        self.canary_trouble = asked.trouble
        if asked.result.passed:
            self.written_at = self.given.clock.now()
            return None
        if asked.trouble is None and asked.result.passed is None:
            return _of_canary(asked.result, "writing")
        self.canary_said = why(asked.result)
        return None

    async def _look(self) -> Result | None:
        canary = self.given.canary
        if canary is None:
            return None
        asked = await self._ask(lambda: canary.seen(self.key))
        self.canary_trouble = asked.trouble
        if asked.result.passed:
            self.seen_at = self.given.clock.now()
            return None
        self.canary_said = why(asked.result)
        return _of_canary(asked.result, "reading") if asked.result.cause in VERIFIER_CAUSES else None

    def _never(self, result: Result) -> Result:
        text = f"the canary is there and this is not: {why(result)}"
        return result._replace(diagnostics={**result.diagnostics, "why": text})

    async def _at_the_end(self) -> Result:
        """What follows from a last round that began at the deadline or later."""
        result, trouble = self.last
        if trouble is not None:
            return await self._control() or _unknown("environment_lost", f"no answer: {trouble.why}", result)
        if result.passed is None:
            return result
        if self.given.canary is None:
            said = f"not seen within {self.given.deadline:g} s: {why(result)}"
            if self.given.late == "fail":
                return result._replace(diagnostics={**result.diagnostics, "why": said})
            said += "; without a canary, late cannot be told from never"
            return _unknown("verifier_says_unknown", said, result)
        if self.seen_at is not None:
            return _unknown("state_missing", "the canary was seen too late to wait out the grace", result)
        if self.canary_trouble is not None:
            doing = "written" if self.written_at is None else "read"
            said = f"the canary could not be {doing}: {self.canary_trouble.why}"
            return _unknown("environment_lost", said, result)
        if self.written_at is None:
            said = self.canary_said or "there was no time to write the canary"
            return _unknown("state_missing", said, result)
        said = f"the canary was not seen within {self.given.deadline:g} s either: {self.canary_said}"
        return _unknown("state_missing", said, result)

    async def _control(self) -> Result | None:
        """FAIL where the service breaks on the agent's thing alone and still shows the canary."""
        canary, trouble = self.given.canary, self.last.trouble
        if canary is None or trouble is None or self.seen_at is None:
            return None
        if self.other_since_seen or self.errors_since_seen < 2 or self.not_before > self.given.clock.now():
            return None
        again = await self._ask(lambda: canary.seen(self.key))
        if not again.result.passed:
            return None
        text = (
            f"the service shows the canary and breaks on this, {self.errors_since_seen} times: {trouble.why}"
        )
        return Result(False, (), {"why": text})

    def _kept_away(self, asked_s: float, left_s: float) -> Result:
        trouble = self.last.trouble or self.canary_trouble
        said = trouble.why if trouble is not None else "the service asks to stay away"
        text = f"told to stay away for {asked_s:.0f} s, {max(0.0, left_s):.0f} s before the deadline: {said}"
        return _unknown("environment_lost", text, self.last.result)

    async def _remove(self) -> str | None:
        canary = self.given.canary
        if canary is None or canary.remove is None or not self.canary_tried:
            return None
        if self.not_before > self.given.clock.now():
            return f"{self.key} was not removed: the service asks to stay away"
        try:
            await settled(self._bounded(canary.remove(self.key)))
        except Exception as exc:
            return f"{self.key} could not be removed: {describe(exc)}"
        return None

    def _waited(self) -> dict[str, Any]:
        waited: dict[str, Any] = {
            "seconds": round(self.given.clock.now() - self.start, 3),
            "deadline": self.given.deadline,
            "probes": self.probes,
            "troubles": dict(self.troubles),
            "last_answer": None,
            "last_trouble": None if self.last.trouble is None else self.last.trouble.why,
        }
        if self.answered is not None:
            passed = "pass" if self.answered.passed else "fail"
            waited["last_answer"] = passed if self.answered.passed else f"{passed}: {why(self.answered)}"
        if self.given.canary is not None:
            known = self.written_at is not None and self.seen_at is not None
            lag = round((self.seen_at or 0.0) - (self.written_at or 0.0), 3) if known else None
            state = "not written" if self.written_at is None else "not seen" if not known else "seen"
            waited |= {"canary": state, "canary_lag_s": lag}
        return waited


def _unknown(cause: str, text: str, last: Result) -> Result:
    return Result(None, (), {**last.diagnostics, "why": text}, cause)


def _of_canary(result: Result, doing: str) -> Result:
    text = f"{doing} the canary: {why(result)}"
    return Result(None, (), {**result.diagnostics, "why": text}, result.cause or "verifier_error")
