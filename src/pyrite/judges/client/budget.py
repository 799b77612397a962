"""What calls cost, and where to stop: tokens and dollars, counted and reserved before each call."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

from pyrite.errors import UsageError
from pyrite.judges.client.base import Answer, CallError, Usage


@dataclass(frozen=True)
class Price:
    """US dollars a million tokens, in and out."""

    input: float
    output: float

    @classmethod
    def parse(cls, text: str) -> Price:
        """`IN/OUT`, or one number for both.

        >>> Price.parse("1.10/4.40")
        Price(input=1.1, output=4.4)
        """
        found = re.fullmatch(r"(\d+(?:\.\d+)?)(?:/(\d+(?:\.\d+)?))?", text.strip())
        if found is None:
            raise UsageError(
                f"price {text!r}", expected="US dollars a million tokens, in and out, such as 1.10/4.40"
            )
        return cls(float(found[1]), float(found[2] or found[1]))

    def of(self, usage: Usage) -> float | None:
        """Dollars; None where a count is not known."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        return self.dollars(usage.input_tokens, usage.output_tokens)

    def dollars(self, input_tokens: float, output_tokens: float) -> float:
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


@dataclass(frozen=True)
class Cap:
    """The most that may be spent by one command."""

    amount: float
    unit: Literal["dollars", "tokens"] = "dollars"

    @classmethod
    def parse(cls, text: str) -> Cap:
        """`2.50` is dollars, `200000 tokens` (or `200000t`) is tokens.

        >>> Cap.parse("2.50"), Cap.parse("200000t")
        (Cap(amount=2.5, unit='dollars'), Cap(amount=200000.0, unit='tokens'))
        """
        found = re.fullmatch(r"\$?(\d+(?:\.\d+)?)\s*(t|tokens?|usd|dollars?)?", text.strip(), re.IGNORECASE)
        if found is None:
            raise UsageError(
                f"budget {text!r}", expected="US dollars such as 2.50, or tokens such as 200000t"
            )
        return cls(float(found[1]), "tokens" if (found[2] or "").lower().startswith("t") else "dollars")

    def __str__(self) -> str:
        return f"${self.amount:g}" if self.unit == "dollars" else f"{self.amount:.0f} tokens"


@dataclass
class Spent:
    """What the calls of a command came to."""

    calls: int = 0
    """Calls that were answered by the endpoint."""
    cached: int = 0
    failed: int = 0
    requests: int = 0
    """Those that were counted: inspect_ai does not say how many it sends."""
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0.0
    without_usage: int = 0
    """Answers whose tokens the endpoint did not count: not in the sums."""
    without_cost: int = 0
    """Answers whose cost is not known: not in the sum."""
    over_budget: float | None = None
    """By how much the budget was overrun, in its unit; None where there is none, or it was kept."""
    budget: str | None = None

    def add(self, answer: Answer) -> None:
        self.calls += 1
        self.requests += answer.requests or 0
        usage = answer.usage
        self.input_tokens += usage.input_tokens or 0
        self.output_tokens += usage.output_tokens or 0
        self.without_usage += usage.input_tokens is None or usage.output_tokens is None
        self.dollars += answer.cost or 0.0
        self.without_cost += answer.cost is None


@dataclass
class Budget:
    """Lets a call go only if what is spent, what is in flight and its own estimate fit under the cap.

    Nobody knows what a call takes before it is answered: those that are in flight when answers become dearer
    may overrun the cap, and `spent.over_budget` says by how much. A call may take what the dearest one took,
    and its own estimate times the most that an answer took of its estimate. Under a cap the first call goes
    alone, and so do those after an answer that raised this ratio more than twofold; each answer that did not
    lets one more go beside the others.
    """

    cap: Cap | None = None
    price: Price | None = None
    spent: Spent = field(default_factory=Spent)
    _reserved: float = 0.0
    _flying: int = 0
    _blind: bool = False
    _trusted: int = 0
    """Answers since the last one that took far more than was to be expected."""
    _ratio: float = 0.0
    """The most that an answer took of what was estimated for it."""
    _dearest: float = 0.0
    """What the dearest answer took, in the unit of the cap."""
    _waiting: list[asyncio.Future[None]] = field(default_factory=list)

    @asynccontextmanager
    async def reserve(self, input_tokens: int, output_tokens: int) -> AsyncIterator[None]:
        """Hold what a call may cost while it is in flight. Raises `CallError` where it does not fit."""
        while not self._fits(amount := self._amount(input_tokens, output_tokens)) or self._alone:
            if not self._flying:
                self._refuse(amount)
            self._waiting.append(waiter := asyncio.get_running_loop().create_future())
            await waiter
        self._reserved += amount
        self._flying += 1
        try:
            yield
        finally:
            self._reserved = self._reserved - amount if self._flying > 1 else 0.0
            self._flying -= 1
            waiting, self._waiting = self._waiting, []
            for waiter in waiting:
                if not waiter.done():
                    waiter.set_result(None)

    def settle(self, answer: Answer, input_tokens: int = 0, output_tokens: int = 0) -> Answer:
        """Count an answer; its cost by the price given, where the endpoint says none. Tokens: as reserved."""
        if answer.cost is None and self.price is not None:
            answer = answer.model_copy(update={"cost": self.price.of(answer.usage)})
        self.spent.add(answer)
        if self.cap is not None:
            self.spent.budget, over = str(self.cap), self._used - self.cap.amount
            self.spent.over_budget = over if over > 0 else None
        took = answer.cost if self._in_dollars else answer.usage.total
        self._blind = self._blind or (self.cap is not None and took is None)
        if took is not None:
            self._learn(took, input_tokens, output_tokens)
        return answer

    def _learn(self, took: float, input_tokens: int, output_tokens: int) -> None:
        guess = self._estimate(input_tokens, output_tokens)
        before, now = (self._ratio, took / guess) if guess > 0 else (self._dearest, took)
        self._trusted = 0 if now > 2 * before else self._trusted + 1
        self._dearest = max(self._dearest, took)
        if guess > 0:
            self._ratio = max(self._ratio, now)

    @property
    def _alone(self) -> bool:
        """Whether a call has to wait because others, still in flight, are to show what a call takes."""
        return self.cap is not None and self._flying > self._trusted

    def _amount(self, input_tokens: int, output_tokens: int) -> float:
        guessed = self.price is not None or not self._in_dollars
        factor = max(1.0, self._ratio) if guessed else self._ratio
        return max(self._dearest, factor * self._estimate(input_tokens, output_tokens))

    def _estimate(self, input_tokens: int, output_tokens: int) -> float:
        """In the unit of the cap; in tokens where dollars have no price, for the ratio is dollars a token."""
        if self._in_dollars and self.price is not None:
            return self.price.dollars(input_tokens, output_tokens)
        return float(input_tokens + output_tokens)

    @property
    def _in_dollars(self) -> bool:
        return self.cap is None or self.cap.unit == "dollars"

    @property
    def _used(self) -> float:
        spent = self.spent
        return spent.dollars if self._in_dollars else float(spent.input_tokens + spent.output_tokens)

    def _fits(self, amount: float) -> bool:
        if self.cap is None:
            return True
        used = self._used + self._reserved
        return not self._blind and used < self.cap.amount and used + amount <= self.cap.amount

    def _refuse(self, amount: float) -> None:
        if self._blind:
            what = "the budget cannot be kept: the endpoint does not say what an answer cost"
            fix = (
                "--price IN/OUT, in US dollars a million tokens"
                if self._in_dollars
                else "a budget in dollars"
            )
            raise CallError("budget", what, expected=fix)
        unit = f"${self._used:.4f}" if self._in_dollars else f"{self._used:.0f} tokens"
        next_one = f"${amount:.4f}" if self._in_dollars else f"{amount:.0f} tokens"
        raise CallError(
            "budget",
            f"the budget of {self.cap} is used up",
            expected=f"a call that may take {next_one} at most, when {unit} are spent",
            next="the same command with a larger --budget goes on",
        )
