"""The calls of a judge that asks a model several times about one package, and what they come to.

    talk = Dialogue(self.endpoint.model, self.calls.client(self.endpoint), package.evidence, run, params)
    points = await talk.ask("key-points", SYSTEM, (Text("…"),))
    looked = await together(talk.ask("image", SYSTEM, parts, position=n) for n, parts in …)
    return talk.reply(Verdict.SUCCESS, "…")

Every answer is in the cache under its request, so a judge that was stopped asks for the rest alone. The
answers stand in the raw file of the verdict by step and position.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pyrite.judges.base import Reply
from pyrite.judges.client.base import Answer, JudgeClient, Params, Part, Request, stopped
from pyrite.judges.interrupts import stopping
from pyrite.records import Evidence, Status, Verdict

T = TypeVar("T")
_TOKENS = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")


@dataclass
class Dialogue:
    """One judgement: asks, and remembers what was answered."""

    model: str
    client: JudgeClient
    evidence: Evidence
    run: int
    params: Params = field(default_factory=Params)
    said: dict[tuple[str, int], Answer] = field(default_factory=dict)
    """Step and position -> answer."""

    async def ask(
        self,
        step: str,
        system: str,
        parts: Sequence[Part],
        *,
        position: int = 0,
        params: Params | None = None,
        schema: dict[str, Any] | None = None,
    ) -> Answer:
        """One call; `CallError` where there is no answer, or ctrl-C came before it."""
        if stopping():
            raise stopped()
        request = Request(
            self.model,
            system,
            tuple(parts),
            schema=schema,
            params=params or self.params,
            run=self.run,
            condition=self.evidence.condition,
            step=step,
            position=position,
            package=self.evidence.package_id,
        )
        answer = await self.client.ask(request)
        self.said[step, position] = answer
        return answer

    def usage(self) -> dict[str, Any]:
        """All calls together; None where an answer does not tell."""
        answers = list(self.said.values())
        without = sorted({name for one in answers for name in one.without})
        return {
            **{name: total([getattr(one.usage, name) for one in answers]) for name in _TOKENS},
            "calls": len(answers),
            "requests": total([one.requests for one in answers]),
            "cost_usd": total([one.cost for one in answers]),
            "cached": sum(one.cached for one in answers),
            **({"without": without} if without else {}),
        }

    def reply(
        self,
        verdict: Verdict | None,
        reason: str = "",
        *,
        score: float | None = None,
        confidence: float | None = None,
        status: Status = "ok",
        prompt_sha256: str | None = None,
        read: Any = None,
    ) -> Reply:
        """The reply, with usage and transcript; `read` is what the judge made of the answers."""
        model = next((one.model for one in reversed(list(self.said.values())) if one.model), self.model)
        return Reply(
            verdict,
            reason,
            score,
            confidence,
            status,
            self.usage(),
            {"calls": self.transcript(), "read": read},
            model,
            prompt_sha256,
        )

    def transcript(self) -> list[dict[str, Any]]:
        """Every answer as it came, in the order of steps and positions."""
        left_out = {"seconds", "requests", "cached", "logprobs"}
        return [
            {"step": step, "position": position, "answer": answer.model_dump(mode="json", exclude=left_out)}
            for (step, position), answer in sorted(self.said.items())
        ]


async def together(calls: Iterable[Awaitable[T]]) -> list[T]:
    """All results in order; where one raises, that is raised once the others have ended and are kept."""
    done = await asyncio.gather(*calls, return_exceptions=True)
    for one in done:
        if isinstance(one, BaseException):
            raise one
    return [one for one in done if not isinstance(one, BaseException)]


def total(values: Sequence[float | None]) -> float | None:
    """The sum; None where there is nothing, or where one of them is not known.

    >>> total([1, 2]), total([1, None]), total([])
    (3, None, None)
    """
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None
