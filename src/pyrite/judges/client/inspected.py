"""The `inspect` backend: inspect_ai's providers behind `JudgeClient` (extra `inspect`).

`--model inspect:anthropic/…`, `inspect:google/…`, `inspect:bedrock/…` and all others that inspect_ai
knows. Its own defaults are never left to stand: repeats are capped, times are bounded, its cache
(pickles) is off.
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from typing import TYPE_CHECKING, Any

from pyrite.judges.client import completions
from pyrite.judges.client.base import (
    Alternative,
    Answer,
    CallError,
    Kind,
    Request,
    Text,
    Token,
    Usage,
    stopped,
)
from pyrite.judges.client.budget import Budget
from pyrite.judges.client.http import kind_of, retry_after
from pyrite.judges.client.limits import Limits, Pace
from pyrite.judges.client.secrets import redact
from pyrite.judges.interrupts import pause, stopping

if TYPE_CHECKING:
    from inspect_ai.model import GenerateConfig, Model, ModelOutput

FINISH = {"max_tokens": "length", "model_length": "length", "unknown": None}
"""inspect_ai's stop reasons, as the rest of pyrite knows them; the others are the same."""
_OWN_REPEATS = ("openai", "openai-api", "anthropic", "openrouter", "together", "vllm", "sglang", "ollama")
"""Providers whose SDK repeats by itself unless told not to: repeats would be multiplied."""
_CUT_CHARS = 300
_MARKUP = re.compile(r"\[/?(?:bold|blue|red|italic)\]")
"""Of the terminal, in what inspect_ai says."""


class Inspected:
    """One model of inspect_ai. Redirects and the size of what is read are its SDK's affair."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        key: str | None = None,
        limits: Limits | None = None,
        budget: Budget | None = None,
    ) -> None:
        self._name = model
        self._base_url = base_url
        self._key = key
        self._limits = limits or Limits()
        self._budget = budget or Budget()
        self._model: Model | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pace = Pace(self._limits)

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
            used = found.usage
            if used.input_tokens is not None and used.output_tokens is not None:
                self._pace.correct(used.input_tokens + used.output_tokens - sum(tokens))
            found = found.model_copy(update={"seconds": round(time.monotonic() - started, 4)})
            return self._budget.settle(found, *tokens)

    async def _ask(self, request: Request, tokens: int, started: float) -> Answer:
        """The repeats are ours: inspect_ai and the SDK below it are both told to make none."""
        limits, requests = self._limits, 0
        try:
            model = self._here()  # importing takes seconds: they are not the endpoint's
        except Exception as exc:
            raise self._error(exc, 0) from None
        while True:
            await self._pace.turn(tokens)
            requests += 1
            try:
                async with asyncio.timeout(limits.attempt_s):
                    output = await self._generate(model, request)
                found = answer(output, limits.max_answer_bytes)
                return found.model_copy(update={"requests": requests})
            except Exception as exc:  # any provider's SDK may raise anything
                error, asked = self._error(exc, requests), _retry_after(exc)
            wait = limits.pause(error.kind, requests, asked)
            if wait is None or time.monotonic() - started + wait >= limits.call_s:
                raise error
            if error.kind == "rate_limited":
                self._pace.hold(wait)
            await pause(wait)
            if stopping():
                raise stopped(requests)

    async def aclose(self) -> None:
        model, self._model = self._model, None
        if model is not None and self._loop is asyncio.get_running_loop():
            await model.api.aclose()

    async def _generate(self, model: Model, request: Request) -> ModelOutput:
        from inspect_ai.model import (
            ChatMessage,
            ChatMessageSystem,
            ChatMessageUser,
            ContentImage,
            ContentText,
        )

        content: list[Any] = [
            ContentText(text=part.text)
            if isinstance(part, Text)
            else ContentImage(image=f"data:{part.media_type};base64,{part.base64.decode()}")
            for part in request.parts
        ]
        messages: list[ChatMessage] = [ChatMessageUser(content=content)]
        if request.system:
            messages.insert(0, ChatMessageSystem(content=request.system))
        return await model.generate(messages, config=self._config(request), cache=False)

    def _here(self) -> Model:
        """The model, made in this event loop: its connections belong to it."""
        from inspect_ai.model import get_model

        loop = asyncio.get_running_loop()
        if self._model is None or self._loop is not loop:
            provider = self._name.partition("/")[0]
            more: dict[str, Any] = {"max_retries": 0} if provider in _OWN_REPEATS else {}
            self._model = get_model(
                self._name, base_url=self._base_url, api_key=self._key, memoize=False, **more
            )
            self._loop = loop
        return self._model

    def _config(self, request: Request) -> GenerateConfig:
        from inspect_ai.model import GenerateConfig, ResponseSchema
        from inspect_ai.util import JSONSchema

        params, limits = request.params, self._limits
        schema = None
        if request.schema is not None:
            form = JSONSchema.model_validate(request.schema)
            schema = ResponseSchema(name="answer", json_schema=form, strict=True)
        return GenerateConfig(
            max_retries=0,
            timeout=math.ceil(limits.attempt_s) + 1,
            max_connections=limits.in_flight,
            adaptive_connections=False,
            temperature=params.temperature,
            max_tokens=params.max_tokens,
            seed=params.seed,
            logprobs=True if params.top_logprobs else None,
            top_logprobs=params.top_logprobs or None,
            response_schema=schema,
            extra_body=dict(params.extra) or None,
        )

    def _error(self, exc: Exception, requests: int) -> CallError:
        """What a provider raised, as one of our kinds; its text is cut and without the key."""
        if isinstance(exc, CallError):
            exc.requests = requests
            return exc
        if isinstance(exc, ModuleNotFoundError) and exc.name == "inspect_ai":
            what = "inspect_ai is not installed"
            return CallError("rejected", what, where=self._name, next="pip install 'pyrite[inspect]'")
        cause = _cause(exc)
        text = f"{type(cause).__name__}: {cause}"
        if isinstance(cause, TimeoutError):
            text = f"no answer within {self._limits.attempt_s:g} s"
        text = redact(text, [self._key])
        text = " ".join(_MARKUP.sub("", text).split())[:_CUT_CHARS]
        status = _status(cause)
        kind = _kind(cause, status) if requests else "rejected"
        return CallError(kind, text, where=self._name, status=status, requests=requests)


def _cause(exc: BaseException) -> BaseException:
    """What was raised first, out of the wrapping of repeats."""
    attempt = getattr(exc, "last_attempt", None)  # tenacity's
    inner = attempt.exception() if attempt is not None else None
    return inner if inner is not None else exc


def _status(cause: BaseException) -> int | None:
    status = getattr(cause, "status_code", None)
    return status if isinstance(status, int) else None


def _retry_after(exc: BaseException) -> float | None:
    headers = getattr(getattr(_cause(exc), "response", None), "headers", None)
    return retry_after(headers) if headers is not None else None


def _kind(cause: BaseException, status: int | None) -> Kind:
    name = type(cause).__name__
    if "Timeout" in name:
        return "timeout"
    if isinstance(cause, ValueError):  # not JSON, not UTF-8, not of the form that the SDK expects
        return "protocol"
    if status is not None and status >= 400:
        return kind_of(status)
    return "connection" if "Connect" in name or isinstance(cause, OSError) else "rejected"


def answer(output: ModelOutput, max_bytes: int) -> Answer:
    """An answer of inspect_ai as one of ours. Raises `CallError` where it holds none."""
    if not output.choices:
        if output.error:
            return Answer(text=None, finish="content_filter", refusal=output.error)
        raise CallError("protocol", "no choice in the output of inspect_ai")
    choice = output.choices[0]
    stop = str(choice.stop_reason)
    text: str | None = choice.message.text
    if stop == "model_length" and output.usage is None:  # the endpoint's complaint, put as an answer
        raise CallError("rejected", (text or "")[:_CUT_CHARS])
    if text is not None and len(text) > max_bytes:
        raise CallError("too_large", f"an answer of {len(text)} characters")
    finish = FINISH.get(stop, stop)
    refusal = (output.error or "") if finish == "content_filter" else None
    said = choice.message.content
    if not isinstance(said, str) and any(getattr(part, "refusal", None) for part in said):
        text, refusal = None, text
    if not text and choice.message.tool_calls:
        text = None
    tokens = choice.logprobs.content if choice.logprobs is not None else None
    return Answer(
        text=text,
        finish=finish,
        refusal=refusal,
        model=completions.stated_model(output.model),
        usage=_usage(output),
        logprobs=None if tokens is None else tuple(map(_token, tokens)),
        cost=output.usage.total_cost if output.usage is not None else None,
    )


def _usage(output: ModelOutput) -> Usage:
    used = output.usage
    if used is None:
        return Usage()
    cached = used.input_tokens_cache_read
    return Usage(
        input_tokens=used.input_tokens + (cached or 0) + (used.input_tokens_cache_write or 0),
        output_tokens=used.output_tokens,
        cached_tokens=cached,
        reasoning_tokens=used.reasoning_tokens,
    )


def _token(one: Any) -> Token:
    top = tuple(
        Alternative(token=other.token, logprob=max(completions.FLOOR, other.logprob))
        for other in one.top_logprobs or ()
    )
    return Token(token=one.token, logprob=max(completions.FLOOR, one.logprob), top=top)
