"""Every fault of an endpoint, one call each: what comes of it, how many requests, in what time."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from tests.judges.client.fault_server import CONTENT, GOOD, FaultServer

from pyrite.judges.client.base import Answer, CallError, Params, Request, Text
from pyrite.judges.client.budget import Budget
from pyrite.judges.client.endpoint import OpenAICompatible
from pyrite.judges.client.http import Transport
from pyrite.judges.client.limits import Limits

KEY = "sk-a-secret-of-this-test"
QUICK = Limits(attempt_s=15.0, call_s=60.0, retries=2, backoff_s=0.02)
HASTY = Limits(attempt_s=0.7, call_s=60.0, retries=2, backoff_s=0.02)
"""For what never comes: on a busy machine, what does come may take its time."""


def asked(server: FaultServer, fault: str, limits: Limits = QUICK, **params: Any) -> Answer | CallError:
    """The answer to a request that names a fault, or the error; connections are closed after it."""

    async def one() -> Answer | CallError:
        client = OpenAICompatible(Transport(server.url, limits, KEY), Budget())
        try:
            return await client.ask(
                Request("stub", "You judge.", (Text(f"fault:{fault} "),), params=Params(**params))
            )
        except CallError as exc:
            return exc
        finally:
            await client.aclose()

    return asyncio.run(one())


@pytest.mark.parametrize("fault", CONTENT)
def test_what_a_model_says_is_an_answer_and_never_asked_again(endpoint: FaultServer, fault: str) -> None:
    answer = asked(endpoint, fault)
    assert isinstance(answer, Answer)
    assert endpoint.count[fault] == answer.requests == 1
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.model) == (900, 20, "stub-1")


def test_the_parts_of_an_answer_that_tell_what_went_wrong(endpoint: FaultServer) -> None:
    found = {fault: asked(endpoint, fault) for fault in CONTENT}
    read = {name: answer for name, answer in found.items() if isinstance(answer, Answer)}
    assert {name for name, answer in read.items() if answer.text is None} == {"null", "refusal", "tool-call"}
    assert read["truncated"].finish == "length"
    assert read["tool-call"].finish == "tool_calls"
    assert read["refusal"].refusal == "I cannot help with that."
    assert read["filtered"].refusal == ""
    assert {name for name, answer in read.items() if answer.defect} == {"invalid-utf8"}
    assert read["empty"].text == ""


@pytest.mark.parametrize(
    ("fault", "kind", "requests"),
    [
        ("429-long", "rate_limited", 1),
        ("429-quota", "rate_limited", 1),
        ("500", "server", 3),
        ("503-html", "server", 3),
        ("401", "auth", 1),
        ("400", "rejected", 1),
        ("cut", "connection", 3),
        ("closed", "connection", 3),
        ("hang", "timeout", 3),
        ("trickle", "timeout", 3),
        ("huge", "too_large", 1),
        ("endless", "too_large", 1),
        ("redirect", "redirect", 1),
        ("redirect-here", "redirect", 1),
        ("html", "protocol", 3),
        ("no-choices", "protocol", 3),
        ("error-in-200", "server", 3),
        ("deep", "protocol", 3),
    ],
)
def test_what_is_not_the_model_s_doing_is_an_error_after_so_many_requests(
    endpoint: FaultServer, fault: str, kind: str, requests: int
) -> None:
    started = time.monotonic()
    error = asked(endpoint, fault, HASTY if kind == "timeout" else QUICK)
    assert isinstance(error, CallError), error
    assert (error.kind, error.requests, endpoint.count[fault]) == (kind, requests, requests)
    assert time.monotonic() - started < 12
    assert KEY not in f"{error}{error!r}"
    assert error.where == endpoint.url


@pytest.mark.parametrize("fault", ["500-once", "cut-once", "429-seconds", "429-date"])
def test_what_passes_is_asked_again_once(endpoint: FaultServer, fault: str) -> None:
    started = time.monotonic()
    answer = asked(endpoint, fault)
    assert isinstance(answer, Answer), answer
    assert (answer.text, answer.requests, endpoint.count[fault]) == (GOOD, 2, 2)
    if fault == "429-seconds":
        assert 1.0 <= endpoint.asked[1].at - endpoint.asked[0].at < 4.0
    if fault == "429-date":
        assert 0.9 <= endpoint.asked[1].at - endpoint.asked[0].at < 6.0
    assert time.monotonic() - started < 12


def test_a_call_ends_in_time_whatever_it_has_left_to_try(endpoint: FaultServer) -> None:
    started = time.monotonic()
    error = asked(endpoint, "hang", Limits(attempt_s=0.4, call_s=0.6, retries=9, backoff_s=0.01))
    assert isinstance(error, CallError)
    assert (error.kind, error.requests) == ("timeout", 2)
    assert time.monotonic() - started < 5


def test_a_filter_in_front_of_the_model_is_a_refusal(endpoint: FaultServer) -> None:
    answer = asked(endpoint, "azure")
    assert isinstance(answer, Answer)
    assert (answer.text, answer.finish, endpoint.count["azure"]) == (None, "content_filter", 1)


def test_a_key_that_an_endpoint_repeats_is_not_in_the_answer(endpoint: FaultServer) -> None:
    answer = asked(endpoint, "echo")
    assert isinstance(answer, Answer)
    assert answer.text == "your key is Bearer [key]"
    assert f"Bearer {KEY}" in endpoint.asked[0].head


def test_no_piece_of_a_key_is_in_what_is_said_of_a_redirect(endpoint: FaultServer) -> None:
    """A key with a slash in it is cut in two where a host ends."""
    transport = Transport(endpoint.url, QUICK, "sk-slashed/0123456789")

    async def ask() -> None:
        with pytest.raises(CallError, match=r"308: redirected to http://\[key\]; not followed"):
            await transport.post("/chat/completions", b'"fault:redirect-key "')
        await transport.aclose()

    asyncio.run(ask())


def test_nobody_there_is_a_connection_error() -> None:
    with FaultServer() as server:
        url = server.url
    closed = FaultServer()
    closed.url = url
    error = asked(closed, "none")
    assert isinstance(error, CallError)
    assert (error.kind, error.requests) == ("connection", 3)
    closed._loop.close()
