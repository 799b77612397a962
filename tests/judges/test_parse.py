"""A model's answer becomes a verdict with a status, whatever it holds; what cannot be read is no failure."""

from __future__ import annotations

import doctest
import json
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pyrite.judges import parse as module
from pyrite.judges.parse import MAX_TEXT, Format, Parsed, parse
from pyrite.judges.spoken import WORDS
from pyrite.records import Verdict

SCORE = Format(score_keys=("score",), score_range=(0, 10))


def test_the_examples_run() -> None:
    assert doctest.testmod(module).failed == 0


def said(text: str | None, **more: Any) -> tuple[str | None, str]:
    parsed = parse(text, **more)
    return parsed.verdict, parsed.status


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ('{"verdict": "success"}', "success"),
        ('{"Verdict": " Failure. "}', "failure"),
        ('{"success": false}', "failure"),
        ('{"verdict": "uncertain", "reason": "dark"}', "uncertain"),
        ('```json\n{"verdict": "failure"}\n```', "failure"),
        ('Here it is:\n```\n{\n "verdict": "failure"\n}\n```\nHope it helps.', "failure"),
        ('The cell holds {4500}. So {"verdict": "success"}.', "success"),
        ('An odd { here.\n```json\n{"verdict": "success"}\n```', "success"),
        ('[{"verdict": "success"}]', "success"),
        ('<think>{"verdict": "success"}</think>{"verdict": "failure"}', "failure"),
        ('so it is done.</think>\n{"verdict": "failure"}', "failure"),
        ('{"reason": "the agent said {\\"verdict\\": \\"success\\"}", "verdict": "failure"}', "failure"),
        ('{"reason": "line\nVerdict: success", "verdict": "failure"}', "failure"),
        ("success", "success"),
        ("**Failure.**", "failure"),
        ("It was saved.\n\n**Verdict:** success", "success"),
        ("## Final verdict: failure", "failure"),
        ("Status: success", "success"),
        ("Status: all is saved\nVerdict: failure", "failure"),
        ("```\nVerdict: uncertain\n```", "uncertain"),
        ("I'm sorry to say so.\nVerdict: failure", "failure"),
    ],
)
def test_verdicts(text: str, verdict: str) -> None:
    assert said(text) == (verdict, "ok")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (None, "malformed"),
        ("  \n", "malformed"),
        ("The agent did well, I think it is a success overall.", "malformed"),
        ("{'verdict': 'success'}", "malformed"),
        ('{"verdict": "success",}', "malformed"),
        ('{"verdict": "success" | "failure"}', "malformed"),
        ("x" * (MAX_TEXT + 1), "malformed"),
        ('<think>{"verdict": "success"}</think>', "malformed"),
        ('<think>{"verdict": "success"}', "truncated"),
        ('{"verdict": "succ', "truncated"),
        ('```json\n{"verdict": "success", "reason": "it', "truncated"),
        ('{"criteria": {"verdict": "success"}, "verdict": "fail', "truncated"),
        ('{"reason": "\nVerdict: success\n', "truncated"),
        ('{"verdict": "success"}\n{"verdict": "fail', "truncated"),
        ('{"verdict": "partially"}', "off_schema"),
        ('{"verdict": null}', "off_schema"),
        ('{"verdict": 1}', "off_schema"),
        ('{"verdict": ["success"]}', "off_schema"),
        ('{"verdict": "success", "verdict": "failure"}', "off_schema"),
        ('{"verdict": "success", "success": false}', "off_schema"),
        ('{"verdict": "success"} {"verdict": "failure"}', "malformed"),
        ('{"verdict": "success"} and again {"verdict": "SUCCESS"}', "malformed"),
        ('[{"verdict": "success"}, {"verdict": "success"}]', "malformed"),
        ('{"reason": "fine"}', "off_schema"),
        ('{"answer": {"verdict": "success"}}', "off_schema"),
        ("Verdict: success or failure", "off_schema"),
        ("Verdict: success\nVerdict: failure", "malformed"),
        ("Verdict: not success", "off_schema"),
        ('{"name": "click", "arguments": {"x": 3}}', "malformed"),
        ("<tool_call>click(3, 4)</tool_call>", "malformed"),
        ("I cannot evaluate this.", "refused"),
        ("I'm sorry, but I can’t help with that.", "refused"),
        ("I am not able to reliably judge screenshots.", "refused"),
    ],
)
def test_answers_that_are_none(text: str | None, status: str) -> None:
    assert said(text) == ("parse_error", status)
    assert parse(text).reason


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"finish": "length"}, "truncated"),
        ({"finish": "MAX_TOKENS"}, "truncated"),
        ({"finish": "content_filter"}, "refused"),
        ({"finish": "tool_calls"}, "malformed"),
        ({"tool_calls": True}, "malformed"),
        ({"defect": "it is not UTF-8 from byte 7 on"}, "malformed"),
        ({"refusal": ""}, "refused"),
        ({"refusal": "I will not.", "finish": "length"}, "refused"),
    ],
)
def test_how_the_model_stopped_comes_first(more: dict[str, Any], status: str) -> None:
    assert said('{"verdict": "success"}', **more) == ("parse_error", status)
    assert said('{"verdict": "success"}', finish="stop") == ("success", "ok")


@pytest.mark.parametrize(
    ("text", "score", "status"),
    [
        ('{"score": 7}', 7.0, "ok"),
        ('{"score": "7.5", "verdict": "success"}', 7.5, "ok"),
        ("Score: 0", 0.0, "ok"),
        ('{"score": 11}', None, "off_schema"),
        ('{"score": NaN}', None, "off_schema"),
        ('{"score": 1e999}', None, "off_schema"),
        ('{"score": true}', None, "off_schema"),
        ('{"score": "seven"}', None, "off_schema"),
        ('{"score": "7/10"}', None, "off_schema"),
        ('{"score": null}', None, "off_schema"),
        ('{"verdict": "success"}', None, "off_schema"),
        ("Verdict: success", None, "off_schema"),
        ("Score: 7\nScore: 8", None, "off_schema"),
        ("seven", None, "malformed"),
    ],
)
def test_scores(text: str, score: float | None, status: str) -> None:
    parsed = parse(text, form=SCORE)
    assert (parsed.score, parsed.status) == (score, status)
    assert parsed.verdict == (
        "success" if "success" in text and status == "ok" else None if status == "ok" else "parse_error"
    )


@pytest.mark.parametrize(
    ("given", "confidence"),
    [("0.5", 0.5), ("1", 1.0), ("1.5", None), ("true", None), ('"high"', None), ("NaN", None)],
)
def test_a_confidence_is_a_number_or_nothing(given: str, confidence: float | None) -> None:
    parsed = parse(f'{{"verdict": "success", "confidence": {given}, "reason": "saved"}}')
    assert (parsed.verdict, parsed.confidence, parsed.reason) == ("success", confidence, "saved")


def test_a_reply_takes_everything_over() -> None:
    reply = parse('{"verdict": "failure", "reason": "r"}').reply(usage={"tokens": 3}, raw="raw/x.json")
    assert (reply.verdict, reply.status, reply.reason) == (Verdict.FAILURE, "ok", "r")
    assert (reply.usage, reply.raw, reply.score) == ({"tokens": 3}, "raw/x.json", None)


STRICT = Format(keys=("verdict",), strict=True)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ('{"reason": "saved", "verdict": "failure", "confidence": 0.25}', "ok"),
        ('{"verdict": "failure"}', "ok"),
        ('{"reason": "saved", "verdict": true, "confidence": 0.9}', "off_schema"),
        ('{"reason": "saved", "verdict": 1, "confidence": 0.9}', "off_schema"),
        ('{"reason": "saved", "verdict": "success", "confidence": "0.9"}', "off_schema"),
        ('{"reason": "saved", "verdict": "success", "confidence": NaN}', "off_schema"),
        ('{"reason": "saved", "verdict": "success", "confidence": Infinity}', "off_schema"),
        ('{"reason": "saved", "verdict": "success", "confidence": 90}', "off_schema"),
        ('{"reason": "saved", "verdict": "success", "confidence": null}', "off_schema"),
        ('{"reason": ["saved"], "verdict": "success", "confidence": 0.9}', "off_schema"),
        ('{"reason": "guardado", "verdict": "éxito", "confidence": 0.9}', "off_schema"),
        ('{"razón": "guardado", "veredicto": "éxito", "confianza": 0.9}', "off_schema"),
        ('{"理由": "已保存", "判断": "成功"}', "off_schema"),
        ('{"success": true}', "off_schema"),
        ("任务已完成,结果是成功。", "malformed"),
    ],
)
def test_a_strict_form_takes_each_type_as_it_was_asked_for(text: str, status: str) -> None:
    parsed = parse(text, form=STRICT)
    assert parsed.status == status
    assert (parsed.verdict == "parse_error") == (status != "ok")


@pytest.mark.parametrize(("text", "status"), [('{"score": "7"}', "off_schema"), ("Score: 7", "ok")])
def test_a_strict_score_in_an_object_is_a_number(text: str, status: str) -> None:
    assert parse(text, form=Format(score_keys=("score",), score_range=(0, 10), strict=True)).status == status


PIECES = st.sampled_from(
    [
        *('{"verdict": ', '"success"', '"failure"', "}", "{", '"', "\\", "```json\n", "\n```\n", "<think>"),
        *(
            "</think>",
            "Verdict: success",
            "\nStatus: failure\n",
            "I cannot evaluate",
            "null",
            "NaN",
            "[",
            "]",
        ),
        *(",", "\ud800", "\0"),
    ]
)
ANSWERS = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=10).map("".join))


@given(ANSWERS, st.sampled_from([None, SCORE, STRICT]))
@example('{"a":' * 5000, None)
@example("9" * 5000, SCORE)
@example('{"score": ' + "9" * 5000 + "}", SCORE)
def test_any_text_has_an_answer(text: str, form: Format | None) -> None:
    parsed = parse(text, form=form)
    assert (parsed.status == "ok") == (parsed.verdict != "parse_error")
    if form is not SCORE:
        assert (parsed.verdict is None, parsed.score) == (False, None)
    if parsed.status != "ok":
        assert parsed.reason
        assert (parsed.score, parsed.confidence) == (None, None)
    json.dumps(parsed.reason, ensure_ascii=False).encode()


PLAIN = st.lists(
    st.sampled_from([*'\n,;.!?()[]"\\\0', " a ", " the ", " cell ", " is ", " D14 ", "\n\n", " as it is "]),
    max_size=20,
).map("".join)
"""Prose that says nothing: neither a quotation nor a condition, nor another verdict."""


@given(st.sampled_from(sorted(WORDS)), PLAIN, PLAIN, st.text(max_size=20), st.booleans())
def test_an_object_is_found_in_any_prose(
    word: str, before: str, after: str, reason: str, fence: bool
) -> None:
    body = json.dumps({"reason": reason, "verdict": word})
    text = f"{before}\n```json\n{body}\n```\n{after}" if fence else f"{before}{body}\n{after}"
    assert said(text) == (WORDS[word], "ok")


@given(st.text(max_size=20), st.sampled_from(sorted(WORDS)), st.data())
def test_no_part_of_an_answer_is_an_answer(reason: str, word: str, data: st.DataObject) -> None:
    whole = json.dumps(
        {"reason": reason, "criteria": [{"verdict": word}], "verdict": word}, ensure_ascii=False
    )
    part = whole[: data.draw(st.integers(1, len(whole) - 1))]
    assert said(part) == ("parse_error", "truncated")


@pytest.mark.parametrize(
    "piece",
    [
        "{",
        "}",
        '{"',
        '{"a":',
        "{}",
        '"',
        "\\",
        "```\n",
        "Verdict: x\n",
        "verdict",
        "i can not ",
        "<think>",
        "i ",
    ],
)
def test_hostile_answers_cost_little(piece: str) -> None:
    started = time.process_time()
    found: Parsed = parse(piece * (MAX_TEXT // len(piece)))
    assert found.verdict == "parse_error"
    assert time.process_time() - started < 3


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(["success", "failure", "uncertain"]), st.floats(0, 1), st.text(max_size=40))
def test_whatever_keeps_to_the_schema_is_read_as_it_is(word: str, confidence: float, reason: str) -> None:
    body = {"reason": reason, "verdict": word, "confidence": confidence}
    parsed = parse(json.dumps(body), form=STRICT)
    assert (parsed.verdict, parsed.status, parsed.confidence) == (word, "ok", confidence)
    assert parsed.reason == reason.encode("utf-8", "replace").decode()


@given(JSON_VALUES)
@example("sucess")
@example("SUCCESS, I think")
def test_a_verdict_of_any_other_value_is_off_schema(value: Any) -> None:
    known = (
        isinstance(value, str) and " ".join(value.strip(" \t\r\n*_`\"'.!#>“”").casefold().split()) in WORDS
    )
    parsed = parse(json.dumps({"reason": "r", "verdict": value, "confidence": 1}), form=STRICT)
    assert (parsed.status == "ok") is known


@given(JSON_VALUES)
def test_a_confidence_of_any_other_value_is_off_schema(value: Any) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    parsed = parse(json.dumps({"reason": "r", "verdict": "failure", "confidence": value}), form=STRICT)
    assert (parsed.status == "ok") is (number and 0 <= value <= 1)


@pytest.mark.parametrize(
    ("text", "verdict", "status"),
    [
        ('Thoughts: it looks right.\nStatus: "unsuccessful"', "failure", "ok"),
        ("**Status**: success", "success", "ok"),
        ("Status: failure - the agent had no success", "parse_error", "off_schema"),
        ("<reasoning>fine</reasoning>", "parse_error", "malformed"),
        ("<success>Successful</success>", "parse_error", "malformed"),
    ],
)
def test_answers_that_other_judges_turn_into_a_number(text: str, verdict: str, status: str) -> None:
    """A word "success" anywhere behind the label, or a missing tag, is read as 1 or 0 by published judges."""
    assert said(text) == (verdict, status)
