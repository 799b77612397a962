"""The inspect_ai backend against the same faults: the same answers, and repeats that are not multiplied."""

from __future__ import annotations

import asyncio
import time
from importlib.util import find_spec

import pytest
from tests.judges.client.fault_server import GOOD, FaultServer

from pyrite.judges.client.base import Answer, CallError, Image, Params, Request, Text
from pyrite.judges.client.budget import Budget
from pyrite.judges.client.inspected import Inspected
from pyrite.judges.client.limits import Limits

pytestmark = [
    pytest.mark.skipif(find_spec("inspect_ai") is None, reason="pip install 'pyrite[inspect]'"),
    pytest.mark.filterwarnings("default"),  # what inspect_ai and its providers warn of is theirs
]
KEY = "sk-a-secret-of-this-test"
QUICK = Limits(attempt_s=20.0, call_s=90.0, retries=2, backoff_s=0.02)
HASTY = Limits(attempt_s=1.0, call_s=90.0, retries=2, backoff_s=0.02)
"""For what never comes: on a busy machine, what does come may take its time."""
SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": ["success", "failure"]}},
    "required": ["verdict"],
    "additionalProperties": False,
}


def asked(server: FaultServer, fault: str) -> Answer | CallError:
    async def one() -> Answer | CallError:
        limits = HASTY if fault == "hang" else QUICK
        client = Inspected("openai-api/stub/m", base_url=server.url, key=KEY, limits=limits, budget=Budget())
        parts = (Text(f"fault:{fault} "), Image("0" * 64, "image/png", lambda: b"\x89PNG"))
        params = Params(top_logprobs=3, seed=1)
        try:
            return await client.ask(Request("m", "You judge.", parts, schema=SCHEMA, params=params))
        except CallError as exc:
            return exc
        finally:
            await client.aclose()

    return asyncio.run(one())


def test_what_a_model_says_is_an_answer_whatever_it_is(endpoint: FaultServer) -> None:
    found = {name: asked(endpoint, name) for name in ("none", "prose", "refusal", "tool-call", "truncated")}
    answers = {name: answer for name, answer in found.items() if isinstance(answer, Answer)}
    assert answers.keys() == found.keys()
    assert all(answer.requests == endpoint.count[name] == 1 for name, answer in answers.items())
    assert answers["none"].text == GOOD
    assert (answers["none"].usage.input_tokens, answers["none"].usage.output_tokens) == (900, 20)
    assert answers["truncated"].finish == "length"
    assert (answers["refusal"].text, answers["refusal"].refusal) == (None, "I cannot help with that.")
    assert answers["tool-call"].text is None
    body = endpoint.asked[0].body
    for sent in (b'"json_schema"', b"data:image/png;base64,iVBO", b'"top_logprobs":3', b'"seed":1'):
        assert sent in body


@pytest.mark.parametrize(
    ("fault", "kind", "requests"),
    [
        ("500", "server", 3),
        ("401", "auth", 1),
        ("400", "rejected", 1),
        ("429-long", "rate_limited", 1),
        ("hang", "timeout", 3),
        ("cut", "connection", 3),
        ("huge", "too_large", 1),
        ("html", "protocol", 3),
    ],
)
def test_repeats_are_ours_alone_and_errors_are_of_the_same_kinds(
    endpoint: FaultServer, fault: str, kind: str, requests: int
) -> None:
    started = time.monotonic()
    error = asked(endpoint, fault)
    assert isinstance(error, CallError), error
    assert (error.kind, error.requests, endpoint.count[fault]) == (kind, requests, requests)
    assert KEY not in f"{error}{error!r}"
    assert time.monotonic() - started < 30


@pytest.mark.parametrize("fault", ["500-once", "cut-once", "429-seconds"])
def test_what_passes_is_asked_again_once(endpoint: FaultServer, fault: str) -> None:
    answer = asked(endpoint, fault)
    assert isinstance(answer, Answer), answer
    assert (answer.text, answer.requests, endpoint.count[fault]) == (GOOD, 2, 2)
    if fault == "429-seconds":
        assert endpoint.asked[1].at - endpoint.asked[0].at >= 1.0
