"""A judge of several calls that was stopped half-way: what was answered is not asked for again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.judges.baselines.server import NAMES, Scripted
from tests.judges.packages import package, typed

from pyrite.judges.base import Package, Reply
from pyrite.judges.client.base import CallError
from pyrite.judges.client.calls import Calls, Options
from pyrite.judges.client.limits import Limits
from pyrite.judges.interrupts import Interrupts
from pyrite.judges.labels import make


def judged(label: str, shown: Package, server: Scripted) -> Reply:
    calls = Calls(Options("model-x", server.url))

    async def once() -> Reply:
        try:
            return await make(label, calls=calls).judge.judge(shown, 1)
        finally:
            await calls.aclose()

    return asyncio.run(once())


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize(
    ("label", "broken", "before"),
    [("webjudge", "webjudge-verdict-om2w", 5), ("aer-c", "aer-c", 1), ("webvoyager", "webvoyager", 0)],
)
def test_only_the_rest_is_asked_for(tmp_path: Path, label: str, broken: str, before: int) -> None:
    """The screens of steps 0 and 3 are alike, and each has its own answer."""
    condition = "E2+claim" if label != "webjudge" else "E3-full"
    actions = tuple(typed(step, step) for step in (1, 2, 3))
    shown = package(tmp_path, screens=3, condition=condition, actions=actions, final_message="done")
    evidence = shown.evidence
    again = evidence.model_copy(update={"images": (*evidence.images, evidence.images[0])})
    shown = Package(again, shown.locate)
    server = Scripted()
    with server:
        server.broken = broken
        with pytest.raises(CallError):
            judged(label, shown, server)
        assert len(server.sent) == before + 1
        server.sent.clear()
        server.broken = ""
        reply = judged(label, shown, server)
        assert [NAMES[one["messages"][0]["content"]] for one in server.sent] == [broken]
        assert (reply.verdict, reply.usage["calls"], reply.usage["cached"]) == ("success", before + 1, before)
        server.sent.clear()
        assert judged(label, shown, server).verdict == "success"
        assert server.sent == []


class Interrupting(Scripted):
    """Ctrl-C comes while the first screen is being answered."""

    interrupts: Interrupts | None = None

    async def _answer(self, head: str, body: bytes) -> AsyncIterator[bytes]:
        if self.interrupts is not None and "image" in NAMES[json.loads(body)["messages"][0]["content"]]:
            self.interrupts.seen = True
        await asyncio.sleep(0.05)
        async for piece in super()._answer(head, body):
            yield piece


@pytest.mark.usefixtures("own_cache")
def test_after_ctrl_c_nothing_more_is_sent_and_what_is_in_flight_is_kept(tmp_path: Path) -> None:
    """Two calls at a time: the five screens that wait for their turn, and the verdict, are not asked for."""
    actions = tuple(typed(step, step) for step in range(1, 7))
    shown = package(tmp_path, screens=7, condition="E3-full", actions=actions)
    server = Interrupting()
    with server:
        calls = Calls(Options("model-x", server.url, limits=Limits(in_flight=2)))

        async def stopped_half_way() -> None:
            try:
                with Interrupts() as server.interrupts:
                    await make("webjudge", calls=calls).judge.judge(shown, 1)
            finally:
                await calls.aclose()

        with pytest.raises(CallError) as caught:
            asyncio.run(stopped_half_way())
        assert caught.value.kind == "stopped"
        assert 2 <= len(server.sent) <= 3
        server.interrupts = None
        assert judged("webjudge", shown, server).verdict == "success"
        assert len(server.sent) == 9, "key points, seven screens and a verdict: each was asked for once"
