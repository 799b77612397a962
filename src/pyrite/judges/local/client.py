"""The judge client of a GGUF file: its server is started with the first call, and stopped with the last.

    local = LocalModel.find("model.gguf", mmproj="mmproj.gguf", sha256="b179c952…")
    client = LocalClient(local, Limits(), budget)      # starts nothing yet

One answer at a time, whatever the limits say. A server that died is started again, a few times; one that
cannot be started at all is not tried again.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyrite.errors import InputError, RunError, UsageError
from pyrite.judges.client.base import Answer, CallError, Request
from pyrite.judges.client.budget import Budget
from pyrite.judges.client.endpoint import OpenAICompatible
from pyrite.judges.client.http import Transport
from pyrite.judges.client.limits import Limits
from pyrite.judges.local import smoke
from pyrite.judges.local.gguf import Gguf, read
from pyrite.judges.local.server import NEXT, Served, engine_version, identity, serve

STARTS = 4
"""How often a server is started in one command."""
ATTEMPT_S = 600.0
"""Seconds that one answer may take at least: to be slow is no fault of a machine without a GPU."""
PROJECTOR = "clip"
"""The architecture of files that give a language model eyes."""


@dataclass(frozen=True)
class LocalModel:
    """The files of a model, checked; `mmproj` gives it eyes."""

    model: Gguf
    mmproj: Gguf | None = None

    @classmethod
    def find(cls, gguf: str, *, mmproj: str | None = None, sha256: str | None = None) -> LocalModel:
        """The model of a path, or of the word `smoke`. Raises `UsageError` for what is none."""
        if gguf == smoke.NAME and not Path(gguf).exists():
            model = smoke.smoke_model(sha256)
        else:
            model = read(Path(gguf), sha256=sha256)
        if model.architecture == PROJECTOR:
            raise InputError("this is an mmproj file", where=gguf, expected="a language model")
        eyes = None if mmproj is None else read(Path(mmproj))
        if eyes is not None and eyes.architecture != PROJECTOR:
            raise InputError(
                f"its architecture is {eyes.architecture}",
                where=str(mmproj),
                expected=f"an mmproj file: its architecture is {PROJECTOR}",
            )
        if engine_version() is None:
            raise UsageError("xllamacpp is not installed: a GGUF file cannot be served", next=NEXT)
        return cls(model, eyes)

    @property
    def name(self) -> str:
        """The model's name in labels and verdicts."""
        return self.model.name

    @property
    def scope(self) -> str:
        """What stands for it in the cache of answers."""
        return "gguf:" + ":".join(one.sha256 for one in (self.model, self.mmproj) if one is not None)

    def __str__(self) -> str:
        """Which model it is, for a person."""
        facts = [f"{self.model.title}, licence {self.model.licence}, sha256 {self.model.sha256}"]
        if self.mmproj is not None:
            facts.append(f"mmproj sha256 {self.mmproj.sha256}")
        if self.model.smoke:
            facts.append("a chance-level smoke model: its verdicts say nothing")
        return "; ".join(facts)

    def as_json(self) -> dict[str, Any]:
        """For a judge's settings: everything that can change its answers."""
        return identity(self.model, self.mmproj)


class LocalClient:
    """Asks a model that is served by this command."""

    def __init__(self, local: LocalModel, limits: Limits, budget: Budget) -> None:
        self._local = local
        attempt_s = max(limits.attempt_s, ATTEMPT_S)
        self._limits = replace(
            limits, in_flight=1, attempt_s=attempt_s, call_s=2 * attempt_s * (limits.in_flight + 1)
        )
        self._budget = budget
        self._stack = ExitStack()
        self._served: Served | None = None
        self._client: OpenAICompatible | None = None
        self._transport: Transport | None = None
        self._starts = 0
        self._broken: RunError | None = None
        self._turn: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None

    async def ask(self, request: Request) -> Answer:
        """Start the server where there is none, and ask it. Raises `CallError`."""
        async with self._lock():
            if self._served is None or not self._served.alive:
                await self._start()
            client = self._client
        assert client is not None
        return await client.ask(request)

    async def aclose(self) -> None:
        """Stop the server; the next call would start it again."""
        if self._transport is not None:
            await self._transport.aclose()
        self._client = self._transport = self._served = None
        self._starts = 0
        await asyncio.to_thread(self._stack.close)

    async def _start(self) -> None:
        if self._broken is None and self._starts >= STARTS:
            self._broken = RunError(f"the server of the model ended {STARTS} times")
        if self._broken is not None:
            raise _unreachable(self._broken)
        self._starts += 1
        if self._transport is not None:
            await self._transport.aclose()
        try:
            self._served = await asyncio.to_thread(self._serve)
        except RunError as exc:
            self._broken = exc
            raise _unreachable(exc) from None
        self._transport = Transport(self._served.base_url, self._limits, self._served.api_key)
        self._client = OpenAICompatible(self._transport, self._budget)

    def _serve(self) -> Served:
        self._stack.close()
        return self._stack.enter_context(serve(self._local.model, self._local.mmproj))

    def _lock(self) -> asyncio.Lock:
        loop = asyncio.get_running_loop()
        if self._turn is None or self._turn[0] is not loop:
            self._turn = (loop, asyncio.Lock())
        return self._turn[1]


def _unreachable(exc: RunError) -> CallError:
    return CallError("connection", exc.what, where=exc.where, expected=exc.expected, next=exc.next)
