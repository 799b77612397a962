"""What a model is asked and what it answers: the shapes that judges, clients and the cache share.

A client hands back what the model said, unjudged: text, finish reason, usage, log-probabilities. A
malformed answer is an `Answer`; only what is not the model's doing is a `CallError`.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol

from pyrite.errors import RunError
from pyrite.records import Record

Kind = Literal[
    "timeout",
    "rate_limited",
    "auth",
    "server",
    "connection",
    "redirect",
    "too_large",
    "rejected",
    "protocol",
    "budget",
    "stopped",
]
"""Why there is no answer.

`rejected`: a 4xx of the endpoint; `protocol`: 200, but no chat completion; `stopped`: ctrl-C came first.
"""

AGAIN: frozenset[Kind] = frozenset({"timeout", "rate_limited", "server", "connection", "protocol"})
"""What may be different the next time."""


class CallError(RunError):
    """No answer could be obtained; never the model's doing, so never a verdict and never cached."""

    code = "judge_unavailable"

    def __init__(
        self,
        kind: Kind,
        what: str,
        *,
        where: str = "",
        expected: str = "",
        next: str = "",
        status: int | None = None,
        requests: int = 0,
        body: bytes = b"",
    ) -> None:
        super().__init__(what, where=where, expected=expected, next=next)
        self.kind: Kind = kind
        self.status = status
        """HTTP status of the last response, if there was one."""
        self.requests = requests
        """Requests that were sent for this call."""
        self.body = body
        """What the endpoint said, for who can make something of it; never printed."""


def stopped(requests: int = 0) -> CallError:
    """The error of a call that ctrl-C came before; the same command goes on with it."""
    return CallError("stopped", "not sent: stopped by ctrl-C", requests=requests)


@dataclass(frozen=True)
class Text:
    """A piece of text of the user's turn."""

    text: str


@dataclass(frozen=True)
class Image:
    """A picture of the user's turn: named by its pixels, read and encoded once however often it is sent."""

    digest: str
    """sha256 of the decoded pixels."""
    media_type: str
    load: Callable[[], bytes] = field(compare=False, repr=False)
    """Gives the bytes of the file; called at most once."""

    @cached_property
    def base64(self) -> bytes:
        """The file in base64: needs no escaping in JSON."""
        return base64.b64encode(self.load())


Part = Text | Image


@dataclass(frozen=True)
class Params:
    """Sampling parameters; None is left out of the request, so the endpoint's default holds."""

    temperature: float | None = 0.0
    max_tokens: int | None = 1024
    seed: int | None = None
    top_logprobs: int = 0
    """How many alternatives a token to ask for; 0 asks for no log-probabilities."""
    extra: tuple[tuple[str, Any], ...] = ()
    """Further top-level keys of the request, such as reasoning_effort; values are JSON."""

    def as_json(self) -> dict[str, Any]:
        """For a judge's config and the cache key: everything that can change an answer."""
        return {
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "seed": self.seed,
            "top_logprobs": self.top_logprobs,
            **dict(self.extra),
        }


@dataclass(frozen=True)
class Request:
    """One call: a system text, the parts of one user turn, and how to sample."""

    model: str
    system: str
    parts: tuple[Part, ...]
    schema: dict[str, Any] | None = None
    """JSON schema that the answer is constrained to, where the endpoint offers that."""
    params: Params = field(default_factory=Params)
    run: int = 1
    """Which repeat this is: part of the key, so repeats are separate calls."""
    condition: str = ""
    """Part of the key too: where the agent said nothing, conditions with and without its words show the
    same, and what differs between the answers is the noise that effects are held against."""
    step: str = ""
    """Which call of a judge that makes several this is, such as "key-points"; "" for the only one."""
    position: int = 0
    """Which one of the calls of a step, counted from 0: of two that are alike, each has its answer."""
    package: str = field(default="", compare=False)
    """The package that it is about, for who answers out of a recording; no part of the key."""

    @cached_property
    def key(self) -> str:
        """sha256 over model, parameters, schema, texts, pixels, run and step: the name in the cache."""
        named = [
            ["text", part.text] if isinstance(part, Text) else ["image", part.digest] for part in self.parts
        ]
        whole = {
            "model": self.model,
            "params": self.params.as_json(),
            "schema": self.schema,
            "system": self.system,
            "parts": named,
            "run": self.run,
            "condition": self.condition,
            **({"step": self.step, "position": self.position} if self.step else {}),
        }
        text = json.dumps(whole, sort_keys=True, ensure_ascii=True, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()


class Usage(Record):
    """Tokens as the endpoint counted them; None where it did not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    """Part of the input that the endpoint had in its own cache."""
    reasoning_tokens: int | None = None
    """Part of the output that is not shown."""

    @property
    def total(self) -> int | None:
        """In and out; None where either is not known."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens


class Alternative(Record):
    """One token that could have stood at a place, with its log-probability."""

    token: str
    logprob: float


class Token(Record):
    """One token of the answer, with the most likely ones at its place (itself among them, if listed)."""

    token: str
    logprob: float
    top: tuple[Alternative, ...] = ()


class Answer(Record):
    """What came back of one call, as it came."""

    text: str | None
    """None where the content was null or not text: a refusal, or a tool call."""
    finish: str | None = None
    """stop, length, content_filter, tool_calls or whatever the endpoint says; None where it says nothing."""
    refusal: str | None = None
    """What stood in the refusal field; "" where only the finish reason tells of one."""
    defect: str | None = None
    """What is wrong with the answer's bytes (invalid UTF-8): then the text is not to be trusted."""
    model: str | None = None
    """The model as the endpoint names it."""
    usage: Usage = Usage()
    logprobs: tuple[Token, ...] | None = None
    requests: int | None = 1
    """Requests that this call took, repeats included; 0 from the cache, None where nobody counted."""
    seconds: float = 0.0
    cost: float | None = None
    """US dollars by the price given or by the endpoint's own word; None where neither is known."""
    without: tuple[str, ...] = ()
    """Parameters that were left out because the endpoint refuses them: schema, temperature, seed, …"""
    cached: bool = False

    def as_usage(self) -> dict[str, Any]:
        """What a verdict line says of its cost; what is unknown is null."""
        return {
            **self.usage.model_dump(),
            "requests": self.requests,
            "cost_usd": self.cost,
            "cached": self.cached,
            **({"without": list(self.without)} if self.without else {}),
        }


class JudgeClient(Protocol):
    """One endpoint. `ask` raises `CallError` where there is no answer, and nothing else."""

    async def ask(self, request: Request) -> Answer: ...

    async def aclose(self) -> None: ...
