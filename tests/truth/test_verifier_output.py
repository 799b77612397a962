"""What a verifier may print, and what breaks the contract."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.records import BLAME, Outcome
from pyrite.truth.verifier_output import MAX_DIAGNOSTICS, OUTPUT_LIMIT, Answer, bounded, read


@dataclass(frozen=True)
class Ended:
    stdout: bytes
    stderr: bytes = b""
    returncode: int | None = 0
    timed_out: bool = False
    truncated: bool = False


def say(text: str | bytes, **rest: Any) -> Answer:
    return read(Ended(text.encode() if isinstance(text, str) else text, **rest))


def test_pass_fail_and_candidates() -> None:
    assert say('{"pass": true, "category": null, "diagnostics": {"found": 1}}') == Answer(
        Outcome.PASS, (), {"found": 1}
    )
    assert say('{"pass": false, "category": "F-CLAIM"}').candidates == ("F-CLAIM",)
    assert say('{"pass": false, "category": ["F-CLAIM", "F-ABORT", "F-CLAIM"]}').candidates == (
        "F-CLAIM",
        "F-ABORT",
    )
    assert say('{"pass": false}').candidates == ()


def test_a_code_that_is_not_known_is_kept_as_candidate() -> None:
    answer = say('{"pass": false, "category": "F-UNCOMMITTED_OR_WRONGTARGET"}')
    assert answer.outcome is Outcome.FAIL
    assert answer.candidates == ("F-UNCOMMITTED_OR_WRONGTARGET",)


@pytest.mark.parametrize(
    "around",
    [
        "reading\n{}\ndone",
        "\n\n{}",
        "{}\n",
        "{}\r\n",
        '[1, 2]\n{}\n"text"\n12',
        '{{"level": "info"}}\n{}',
        "  {}  ",
    ],
)
def test_other_lines_are_a_log(around: str) -> None:
    answer = say(around.format('{"pass": true}'))
    assert (answer.outcome, answer.cause) == (Outcome.PASS, None)


def test_the_log_keeps_the_other_lines_and_stderr() -> None:
    assert say('reading\n{"pass": true}\nbye', stderr=b"warned").log == "reading\nbye\nwarned"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "pass",
        "true",
        "[]",
        '[{"pass": true}]',
        "{}",
        '{"passed": true}',
        '{"pass": true',
        '{"pass": true}{"pass": true}',
        '{"pass": true}\n{"pass": true}',
        '{"pass": true}\n{"pass": false}',
        '{"pass": 1}',
        '{"pass": 0}',
        '{"pass": 1.0}',
        '{"pass": "true"}',
        '{"pass": []}',
        '{"pass": NaN}',
        '{"pass": true, "score": NaN}',
        '{"pass": true, "diagnostics": {"x": [Infinity]}}',
        '{"pass": true, "diagnostics": {"x": -Infinity}}',
        '{"pass": true, "diagnostics": {"x": 1e999}}',
        '{"pass": true, "pass": false}',
        '{"pass": false, "category": 3}',
        '{"pass": false, "category": {"code": "F-CLAIM"}}',
        '{"pass": false, "category": ["F-CLAIM", null]}',
        '{\n  "pass": true\n}',
    ],
)
def test_invalid_output(text: str) -> None:
    answer = say(text)
    assert (answer.outcome, answer.cause) == (Outcome.INDETERMINATE, "verifier_output_invalid")
    assert answer.problem


def test_bytes_that_are_not_text_are_invalid() -> None:
    assert say(b'{"pass": true, "x": "\xff"}').cause == "verifier_output_invalid"
    assert say(b'\xff\xfe\n{"pass": true}').outcome is Outcome.PASS


def test_deep_nesting_is_no_answer() -> None:
    assert (
        say('{"pass": true, "x": ' + "[" * 100_000 + "]" * 100_000 + "}").cause == "verifier_output_invalid"
    )


def test_exit_timeout_and_too_much_output_win_over_an_answer() -> None:
    good = '{"pass": true}'
    assert say(good, returncode=1).cause == "verifier_error"
    assert say(good, returncode=137).problem == "it exited with 137 (signal 9)"
    assert say(good, returncode=None).cause == "verifier_error"
    assert say(good, returncode=None, timed_out=True).cause == "verifier_timeout"
    assert say(good, truncated=True).cause == "verifier_output_invalid"
    assert say(good + "\n" + "x" * OUTPUT_LIMIT).cause == "verifier_output_invalid"
    assert say("x" * (OUTPUT_LIMIT - 100) + "\n" + good).outcome is Outcome.PASS


def test_null_is_unknown_or_the_named_cause() -> None:
    assert say('{"pass": null}').cause == "verifier_says_unknown"
    assert say('{"pass": null, "cause": "state_unreadable"}').cause == "state_unreadable"
    odd = say('{"pass": null, "cause": "the moon"}')
    assert (odd.cause, odd.diagnostics["cause"]) == ("verifier_says_unknown", "the moon")
    assert say('{"pass": null, "cause": ["gold_failed"]}').cause == "verifier_says_unknown"


def test_diagnostics_are_bounded_and_can_be_written() -> None:
    body = {"pass": False, "diagnostics": {"found": "x" * 100_000, "rows": list(range(5000)), "n": 10**30}}
    kept = say(json.dumps(body)).diagnostics
    assert len(kept["found"]) == 1000
    assert len(kept["rows"]) == 100
    wide = {"pass": False, "diagnostics": {str(n): ["y" * 900] * 90 for n in range(11)}}
    assert len(json.dumps(say(json.dumps(wide)).diagnostics)) < MAX_DIAGNOSTICS
    json.dumps(say('{"pass": false, "diagnostics": {"\\ud800": "\\udfff"}}').diagnostics).encode()
    assert say('{"pass": false, "diagnostics": "text"}').diagnostics == {"value": "text"}


def _finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(_finite(v) for v in value.values())
    return all(_finite(v) for v in value) if isinstance(value, list) else True


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.binary(max_size=300), st.binary(max_size=50), st.sampled_from([0, 1, 137, None]))
def test_any_bytes_give_an_answer(stdout: bytes, stderr: bytes, code: int | None) -> None:
    answer = read(Ended(stdout, stderr, code))
    assert (answer.cause is None) == (answer.outcome is not Outcome.INDETERMINATE)
    assert answer.cause is None or answer.cause in BLAME


@given(passed=json_values, category=json_values, diagnostics=json_values, cause=json_values)
def test_any_object_gives_an_answer_that_can_be_written(
    passed: Any, category: Any, diagnostics: Any, cause: Any
) -> None:
    body = {"pass": passed, "category": category, "diagnostics": diagnostics, "cause": cause}
    answer = say(json.dumps(body).encode("utf-8"))
    json.dumps(answer.diagnostics, allow_nan=False, ensure_ascii=False).encode()
    sound = passed is None or isinstance(passed, bool)
    if not sound or not _finite(body):
        assert answer.cause == "verifier_output_invalid"
    elif answer.outcome is not Outcome.INDETERMINATE:
        assert (answer.outcome is Outcome.PASS) == passed


@given(st.lists(st.text(st.characters(exclude_characters="\n{", exclude_categories=["Cs"])), max_size=5))
def test_lines_without_an_object_never_change_the_answer(lines: list[str]) -> None:
    text = "\n".join([*lines, '{"pass": false, "category": "F-CLAIM"}', *lines])
    assert say(text).said == (Outcome.FAIL, frozenset({"F-CLAIM"}), None)


@given(json_values)
def test_bounded_is_idempotent_where_nothing_is_odd(value: Any) -> None:
    once = bounded({"v": value} if _finite(value) else {})
    assert bounded(once) == once
