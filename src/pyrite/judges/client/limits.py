"""How fast and how long an endpoint may be asked: rates, pauses, times, repeats, sizes."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass

from pyrite.judges.client.base import AGAIN, Kind
from pyrite.judges.interrupts import stopping

_MAX_BACKOFF_S = 30.0
_LOOK_S = 0.25
"""How often who waits for a turn looks whether it is shorter now."""


@dataclass(frozen=True)
class Limits:
    """Bounds on the calls to one endpoint; None is no limit."""

    in_flight: int = 8
    """Requests at once."""
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    """Estimated before a call, put right by what the endpoint counted."""
    connect_s: float = 15.0
    attempt_s: float = 120.0
    """One request, from its first byte to the last of the response."""
    call_s: float = 600.0
    """One call, waits and repeats included."""
    retries: int = 4
    """Requests after the first one, whatever went wrong."""
    backoff_s: float = 0.5
    """Doubled with each repeat, up to 30 s."""
    longest_wait_s: float = 120.0
    """A longer Retry-After ends the call at once."""
    max_answer_bytes: int = 4 << 20
    give_up_after: int = 20
    """Calls that failed one after the other, none between them answered: the endpoint is not asked again.

    At least twice those in flight: they fail together.
    """

    @property
    def most_failed(self) -> int:
        """Failures in a row after which an endpoint is taken for gone."""
        return max(self.give_up_after, 2 * self.in_flight)

    def pause(self, kind: Kind, requests: int, asked_s: float | None) -> float | None:
        """Seconds until the next request after so many; None where there is to be none.

        `asked_s` is what Retry-After says. The rest is spread at random, so that calls do not come back
        all at once.
        """
        if kind not in AGAIN or requests > self.retries:
            return None
        backoff = min(_MAX_BACKOFF_S, self.backoff_s * 2.0 ** (requests - 1))
        if asked_s is None:
            return backoff * random.uniform(0.5, 1.0)  # noqa: S311
        if asked_s > self.longest_wait_s:
            return None
        return asked_s + random.uniform(0.0, min(backoff, 0.25))  # noqa: S311


class Rate:
    """So many units a minute, one second's worth of them at once; debts are paid by waiting."""

    def __init__(self, per_minute: float | None) -> None:
        self._each = 60.0 / per_minute if per_minute else 0.0
        self._free = 0.0

    def take(self, units: float, now: float) -> float:
        """Seconds to wait before these units may be used."""
        at = max(self._free, now - 1.0)
        self._free = at + units * self._each
        return max(0.0, at - now)

    def left(self, now: float) -> float:
        """Seconds until units may be used without a wait."""
        return max(0.0, self._free - now)

    def correct(self, units: float) -> None:
        """Units that were used beyond those taken; fewer is negative."""
        self._free += units * self._each


class Pace:
    """When the next request may go: both rates, and the pause that an endpoint asked for."""

    def __init__(self, limits: Limits) -> None:
        self._requests = Rate(limits.requests_per_minute)
        self._tokens = Rate(limits.tokens_per_minute)
        self._resume = 0.0
        self._line: list[object] = []

    async def turn(self, tokens: float) -> None:
        """Wait until a request of about so many tokens may be sent: one after the other.

        Nothing is taken before it may be used: what an answer did not use of its estimate shortens the
        waits of all that stand in line, and who gives up takes nothing. After ctrl-C nobody waits.
        """
        self._line.append(mine := object())
        try:
            while not stopping():
                now = time.monotonic()
                wait = max(self._resume - now, self._requests.left(now), self._tokens.left(now))
                if wait <= 0 and self._line[0] is mine:
                    self._requests.take(1, now)
                    self._tokens.take(tokens, now)
                    return
                await asyncio.sleep(min(max(wait, _LOOK_S / 25), _LOOK_S))
        finally:
            self._line.remove(mine)

    def hold(self, seconds: float) -> None:
        """Send nothing for so long: the endpoint said so to one call, and means all of them."""
        self._resume = max(self._resume, time.monotonic() + seconds)

    def correct(self, tokens: float) -> None:
        self._tokens.correct(tokens)
