"""Judges that ask several times about one package: keys, sums, transcript, and what a dry run says."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Episodes
from tests.judges.packages import package

from pyrite.evidence.conditions import parse_list
from pyrite.evidence.leaks import Secrets
from pyrite.evidence.packing import pack
from pyrite.judges import runner
from pyrite.judges.base import Package, Reply
from pyrite.judges.client.base import Answer, Request, Text, Usage
from pyrite.judges.client.calls import Calls, Options
from pyrite.judges.dialogue import Dialogue
from pyrite.judges.labels import Labelled
from pyrite.records import Evidence, Verdict


class Told:
    """Answers with its own count; what it says of tokens is given."""

    def __init__(self, *tokens: int | None) -> None:
        self.tokens = list(tokens)
        self.sent: list[Request] = []

    async def ask(self, request: Request) -> Answer:
        self.sent.append(request)
        n = len(self.sent)
        usage = Usage(input_tokens=self.tokens[n - 1], output_tokens=1)
        return Answer(text=f"answer {n}", model="m-x", usage=usage, cost=0.5)

    async def aclose(self) -> None: ...


def asked(folder: Path, *tokens: int | None) -> tuple[Told, Reply]:
    client = Told(*tokens)
    talk = Dialogue("m", client, package(folder).evidence, 1)

    async def both() -> None:
        await talk.ask("b", "system", (Text("one"),))
        await talk.ask("a", "system", (Text("two"),), position=1)
        await talk.ask("a", "system", (Text("two"),), position=0)

    asyncio.run(both())
    return client, talk.reply(Verdict.SUCCESS, "so")


def test_usage_is_summed_and_the_transcript_is_in_order(tmp_path: Path) -> None:
    _, reply = asked(tmp_path, 10, 20, 30)
    assert reply.usage["input_tokens"] == 60
    assert (reply.usage["calls"], reply.usage["requests"], reply.usage["cost_usd"]) == (3, 3, 1.5)
    assert reply.model == "m-x"
    places = [(one["step"], one["position"], one["answer"]["text"]) for one in reply.raw["calls"]]
    assert places == [("a", 0, "answer 3"), ("a", 1, "answer 2"), ("b", 0, "answer 1")]


def test_what_an_endpoint_did_not_count_is_not_counted_as_nothing(tmp_path: Path) -> None:
    _, reply = asked(tmp_path, 10, None, 30)
    assert reply.usage["input_tokens"] is None
    assert reply.usage["output_tokens"] == 3


def test_two_calls_that_are_alike_have_a_key_each_and_single_calls_keep_theirs(tmp_path: Path) -> None:
    client, _ = asked(tmp_path, 1, 1, 1)
    assert len({request.key for request in client.sent}) == 3
    alone = Request("m", "s", (Text("t"),))
    assert alone.key == Request("m", "s", (Text("t"),), package="p_1").key
    assert alone.key != Request("m", "s", (Text("t"),), step="x").key


class Several:
    """A judge of a call for each image and one more."""

    name = "several"
    deterministic = False

    def supports(self, condition: str) -> bool:
        return True

    def config(self) -> dict[str, Any]:
        return {}

    def calls_for(self, evidence: Evidence) -> tuple[int, int]:
        return 1, 1 + len(evidence.images)

    async def judge(self, package: Package, run: int) -> Reply:
        raise AssertionError("a dry run asks nobody")


@pytest.mark.parametrize(("runs", "expected"), [(1, (1, 4)), (2, (2, 8))])
def test_a_dry_run_says_fewest_and_most(
    episodes: Episodes, instructions: Any, runs: int, expected: tuple[int, int]
) -> None:
    episodes.add("ep_1", [{"action": "click", "x": 1, "y": 1}, {"action": "done"}])
    packed = pack(episodes.bench, parse_list("E3-full"), instructions, lambda meta: Secrets())
    calls = Calls(Options(model="m", base_url="http://127.0.0.1:9/v1"))
    labelled = Labelled("several", Several(), {}, "c", calls=calls)
    found = runner.dry(episodes.bench, [labelled], packed.entries, ["E3-full"], runs=runs, price=True)
    cost = found.asked[0].cost
    assert cost is not None
    assert (cost.fewest, cost.calls) == expected
