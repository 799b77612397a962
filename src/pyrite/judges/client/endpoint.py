"""The backends of `JudgeClient`: any OpenAI-compatible endpoint here, others by `inspected`."""

from __future__ import annotations

import time

from pyrite.judges.client import completions
from pyrite.judges.client.base import Answer, CallError, Request
from pyrite.judges.client.budget import Budget
from pyrite.judges.client.http import Transport

PATH = "/chat/completions"


class OpenAICompatible:
    """OpenAI, vLLM, SGLang, Ollama, llama.cpp, OpenRouter and whatever else takes chat completions.

    What an endpoint says that it does not support (a schema, log-probabilities, a temperature) is left
    out from then on, and each answer says what was.
    """

    def __init__(self, transport: Transport, budget: Budget | None = None) -> None:
        self._transport = transport
        self._budget = budget or Budget()
        self._without: dict[str, tuple[str, ...]] = {}
        """Model -> parameters that it was found to refuse."""

    async def ask(self, request: Request) -> Answer:
        started = time.monotonic()
        tokens = completions.estimate(request)
        async with self._budget.reserve(*tokens):
            try:
                found = await self._ask(request, sum(tokens), started)
            except CallError as exc:
                self._budget.spent.failed += 1
                self._budget.spent.requests += exc.requests
                raise
            return self._budget.settle(found, *tokens)

    async def aclose(self) -> None:
        await self._transport.aclose()

    async def _ask(self, request: Request, tokens: int, started: float) -> Answer:
        requests = 0
        while True:
            without = self._without.get(request.model, ())
            try:
                response = await self._transport.post(
                    PATH, completions.body(request, without), tokens=tokens, check=completions.check
                )
            except CallError as exc:
                exc.requests = requests = requests + exc.requests
                refused = completions.refused_parameter(exc, without, request)
                if refused is not None:
                    known = self._without.get(request.model, ())
                    self._without[request.model] = tuple(dict.fromkeys((*known, refused)))
                    continue
                if (filtered := completions.filtered(exc)) is not None:
                    return filtered
                raise
            found = completions.answer(
                response.body,
                requests=requests + response.requests,
                seconds=round(time.monotonic() - started, 4),
                without=without,
            )
            used = found.usage
            if used.input_tokens is not None and used.output_tokens is not None:
                self._transport.correct(used.input_tokens + used.output_tokens - tokens)
            return found
