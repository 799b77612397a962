"""Requests as bytes and answers out of them, hostile ones too."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judges.client.fault_server import GOOD, FaultServer, completion

from pyrite.judges.client import completions
from pyrite.judges.client.base import Answer, CallError, Image, Params, Request, Text
from pyrite.judges.client.endpoint import OpenAICompatible
from pyrite.judges.client.http import Transport, retry_after
from pyrite.judges.client.limits import Limits

PNG = b"\x89PNG\r\n\x1a\nrest"
SCHEMA = {"type": "object", "properties": {"verdict": {"type": "string"}}}
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


def request(*parts: Text | Image, **more: Any) -> Request:
    return Request("m", "You judge.", parts or (Text("done?"),), **more)


@given(st.text(), st.text(), st.lists(st.text(), max_size=3))
def test_a_body_is_the_json_of_its_request_whatever_the_text(
    system: str, first: str, texts: list[str]
) -> None:
    image = Image("0" * 64, "image/png", lambda: PNG)
    asked = Request("m", system, (Text(first), image, *map(Text, texts)))
    body = json.loads(completions.body(asked))
    said = body["messages"][-1]["content"]
    plain = [text.encode("utf-8", "replace").decode() for text in (first, *texts)]
    assert [part["text"] for part in said if part["type"] == "text"] == plain
    assert said[1]["image_url"]["url"].startswith("data:image/png;base64,iVBORw0KGgpy")
    assert len(body["messages"]) == (2 if system else 1)


def test_an_image_is_read_and_encoded_once_however_often_it_is_sent() -> None:
    read: list[bytes] = []

    def load() -> bytes:
        read.append(PNG)
        return PNG

    image = Image("0" * 64, "image/png", load)
    bodies = {completions.body(request(Text("a"), image, image, run=run)) for run in (1, 2, 3)}
    assert (len(read), len(bodies)) == (1, 1)


def test_what_is_not_asked_for_is_not_in_the_body() -> None:
    body = json.loads(completions.body(request(params=Params(temperature=None, max_tokens=None))))
    assert body.keys() == {"model", "stream", "messages"}
    assert body["messages"][1]["content"] == "done?", "a plain string where there is no image"
    full = request(schema=SCHEMA, params=Params(seed=3, top_logprobs=5, extra=(("reasoning_effort", "low"),)))
    body = json.loads(completions.body(full))
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA
    assert (body["seed"], body["logprobs"], body["top_logprobs"]) == (3, True, 5)
    assert (body["temperature"], body["max_tokens"], body["reasoning_effort"]) == (0.0, 1024, "low")


def test_the_key_of_a_request_tells_everything_that_can_change_its_answer() -> None:
    image = Image("0" * 64, "image/png", lambda: PNG)
    base = Request("m", "s", (Text("t"), image))
    others = [
        Request("n", "s", (Text("t"), image)),
        Request("m", "r", (Text("t"), image)),
        Request("m", "s", (Text("u"), image)),
        Request("m", "s", (image, Text("t"))),
        Request("m", "s", (Text("t"), Image("1" * 64, "image/png", lambda: PNG))),
        Request("m", "s", (Text("t"), image), schema=SCHEMA),
        Request("m", "s", (Text("t"), image), params=Params(seed=1)),
        Request("m", "s", (Text("t"), image), run=2),
    ]
    assert len({one.key for one in (base, *others)}) == 9
    assert base.key == Request("m", "s", (Text("t"), Image("0" * 64, "image/png", bytes))).key


@given(anything)
def test_any_json_is_an_answer_or_an_error_of_ours(document: Any) -> None:
    data = json.dumps(document).encode()
    with pytest.raises(CallError):
        completions.answer(data)


@given(anything, anything, anything, anything)
def test_any_content_usage_and_logprobs_make_an_answer_that_can_be_written(
    content: Any, usage: Any, logprobs: Any, finish: Any
) -> None:
    choice = {
        "message": {"content": content, "refusal": usage},
        "finish_reason": finish,
        "logprobs": logprobs,
    }
    data = json.dumps({"choices": [choice], "usage": usage, "model": content}).encode()
    found = completions.answer(data)
    assert Answer.model_validate_json(found.model_dump_json()) == found


@given(st.binary(max_size=200))
def test_any_bytes_are_no_answer_and_no_crash(data: bytes) -> None:
    with pytest.raises(CallError):
        completions.answer(data)


def test_half_a_surrogate_pair_is_a_defect_and_can_be_written() -> None:
    found = completions.answer(completion("x\ud83d"))
    assert (found.text, found.defect) == ("x?", "half of a surrogate pair")
    assert found.model_dump_json()


def test_log_probabilities_with_their_alternatives() -> None:
    top = [{"token": "success", "logprob": -0.1}, {"token": "failure", "logprob": -2.4}]
    content = [{"token": "success", "logprob": -0.1, "top_logprobs": top}]
    choice = {"message": {"content": GOOD}, "logprobs": {"content": content}}
    found = completions.answer(json.dumps({"choices": [choice]}).encode())
    assert found.logprobs is not None
    assert [one.logprob for one in found.logprobs[0].top] == [-0.1, -2.4]
    content[0]["top_logprobs"] = [{"token": "x", "logprob": float("-inf")}]
    found = completions.answer(json.dumps({"choices": [choice]}).encode())
    assert found.logprobs is not None
    assert found.logprobs[0].top[0].logprob == -9999.0
    content[0]["logprob"] = float("nan")
    assert completions.answer(json.dumps({"choices": [choice]}).encode()).logprobs is None


def test_counts_that_are_none_are_unknown_and_not_zero() -> None:
    for usage in (None, {}, {"prompt_tokens": -1, "completion_tokens": "20"}, {"prompt_tokens": True}):
        found = completions.answer(
            json.dumps({"choices": [{"message": {"content": "x"}}], "usage": usage}).encode()
        )
        assert (found.usage.input_tokens, found.usage.output_tokens, found.cost) == (None, None, None)
    details = {"prompt_tokens_details": {"cached_tokens": 64}, "cost": 0.002, "prompt_tokens": 100}
    found = completions.answer(
        json.dumps({"choices": [{"message": {"content": "x"}}], "usage": details}).encode()
    )
    assert (found.usage.cached_tokens, found.usage.input_tokens, found.cost) == (64, 100, 0.002)


@pytest.mark.parametrize(
    ("refused", "left_out"),
    [
        ("response_format of type json_schema is not supported by this model", "schema"),
        ("Unsupported value: 'temperature' does not support 0 with this model.", "temperature"),
        ("logprobs are not supported with this model", "logprobs"),
        ("unknown field: seed", "seed"),
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "max_tokens"),
    ],
)
def test_what_an_endpoint_does_not_take_is_left_out_from_then_on_and_said(
    refused: str, left_out: str
) -> None:
    with FaultServer(refuses=(left_out, refused)) as server:

        async def twice() -> list[Answer]:
            client = OpenAICompatible(Transport(server.url, Limits(retries=0)))
            asked = request(schema=SCHEMA, params=Params(seed=1, top_logprobs=3))
            try:
                return [await client.ask(asked), await client.ask(asked)]
            finally:
                await client.aclose()

        first, second = asyncio.run(twice())
    assert (first.requests, second.requests) == (2, 1)
    assert first.without == second.without == (left_out,)
    assert first.as_usage()["without"] == [left_out]
    sent = json.loads(server.asked[-1].body)
    name = {"schema": "response_format"}.get(left_out, left_out)
    assert name not in sent
    if left_out == "max_tokens":
        assert sent["max_completion_tokens"] == 1024


def test_a_context_that_is_too_long_is_no_parameter_that_can_be_left_out() -> None:
    body = (
        b'{"error": {"message": "maximum context length is 4096 tokens, max_tokens is 1024 and temperature"}}'
    )
    error = CallError("rejected", "400", status=400, body=body)
    assert completions.refused_parameter(error, (), request()) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "2"}, 2.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "Retry-After": "9"}, 1.5),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:03 GMT", "Date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 3.0),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "1e9"}, None),
        ({"Retry-After": ""}, None),
        ({}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


@given(st.text(max_size=40))
def test_any_retry_after_is_seconds_or_nothing(text: str) -> None:
    found = retry_after({"Retry-After": text})
    assert found is None or found >= 0


def test_the_shape_of_an_image_that_is_sent_is_that_of_its_file(tmp_path: Path) -> None:
    """Others send JPEG that is labelled PNG."""
    from tests.judges.packages import package

    shown = package(tmp_path, screens=2)
    body = json.loads(completions.body(request(*shown.pictures)))
    for part in body["messages"][1]["content"]:
        assert part["image_url"]["url"].startswith("data:image/png;base64,iVBORw0KGgo")


def test_the_name_that_an_endpoint_states_is_bounded_and_printable() -> None:
    def named(model: Any) -> str | None:
        body = {"choices": [{"message": {"content": "a"}}], "model": model}
        return completions.answer(json.dumps(body).encode()).model

    assert named("other\n\x1b[31m") == "other [31m"
    assert named("x" * 3_000_000) == "x" * 200
    assert (named("\n"), named(7), named("m/x-1:b")) == (None, None, "m/x-1:b")


def test_several_answers_that_differ_are_a_defect_and_a_mark_before_the_json_is_none() -> None:
    def choice(text: str) -> dict[str, Any]:
        return {"message": {"content": text}, "finish_reason": "stop"}

    same = json.dumps({"choices": [choice("a"), choice("a")]}).encode()
    other = json.dumps({"choices": [choice("a"), choice("b")]}).encode()
    assert completions.answer(b"\xef\xbb\xbf" + same).defect is None
    assert completions.answer(other).defect
    parts = [{"type": "output_text", "text": "a"}]
    listed = json.dumps({"choices": [{"message": {"content": parts}}]}).encode()
    assert completions.answer(listed).text == "a"
