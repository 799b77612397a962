"""A judge of several calls that was stopped half-way: what was answered is not asked for again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.judges.baselines.server import NAMES, Scripted
from tests.judges.packages import package, typed

from pyrite.judges.base import Package, Reply
from pyrite.judges.client.base import CallError
from pyrite.judges.client.calls import Calls, Options
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
