"""What judges outside of this process are sent, and how their answers are read."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judges.packages import package, typed

from pyrite.errors import UsageError
from pyrite.judges.wire import MAX_ANSWER, Conditions, document, read
from pyrite.records import Verdict

GOOD = [
    (b'{"score": 0.25}', None, 0.25),
    (b'{"score": -1234.5, "verdict": null}', None, -1234.5),
    (b'  {"score": 7}\n', None, 7.0),
    (b'{"verdict": "success", "confidence": 1, "reason": "saved"}', Verdict.SUCCESS, None),
    (b'{"verdict": "uncertain", "score": 1e-9, "more": [1]}', Verdict.UNCERTAIN, 1e-9),
]
BAD = [
    (b"", "malformed"),
    (b"  \n", "malformed"),
    (b"null", "malformed"),
    (b"0.7", "malformed"),
    (b"success", "malformed"),
    (b"[0.7]", "malformed"),
    (b'{"score": 1} {"score": 0}', "malformed"),
    (b'{"score": 0.', "malformed"),
    (b'```json\n{"score": 1}\n```', "malformed"),
    (b'{"score": 1, "reason": "\xff"}', "malformed"),
    (b"[" * 100_000, "malformed"),
    (b'{"score": ' + b"9" * 5000 + b"}", "malformed"),
    (b'{"score": 1' + b" " * MAX_ANSWER + b"}", "malformed"),
    (b"{}", "off_schema"),
    (b'{"score": null, "verdict": null}', "off_schema"),
    (b'{"score": "0.7"}', "off_schema"),
    (b'{"score": true}', "off_schema"),
    (b'{"score": NaN}', "off_schema"),
    (b'{"score": Infinity}', "off_schema"),
    (b'{"score": 1e999}', "off_schema"),
    (b'{"score": [1]}', "off_schema"),
    (b'{"score": ' + b"9" * 400 + b"}", "off_schema"),
    (b'{"score": 1, "score": 0}', "off_schema"),
    (b'{"verdict": "Success"}', "off_schema"),
    (b'{"verdict": "erfolg"}', "off_schema"),
    (b'{"verdict": "parse_error"}', "off_schema"),
    (b'{"verdict": true}', "off_schema"),
    (b'{"score": 1, "confidence": 1.5}', "off_schema"),
    (b'{"score": 1, "confidence": "high"}', "off_schema"),
    (b'{"score": 1, "reason": {"a": 1}}', "off_schema"),
]


@pytest.mark.parametrize(("data", "verdict", "score"), GOOD)
def test_a_score_and_a_verdict_are_kept_as_they_are(
    data: bytes, verdict: Verdict | None, score: float | None
) -> None:
    reply = read(data).reply
    assert (reply.status, reply.verdict, reply.score) == ("ok", verdict, score)


@pytest.mark.parametrize(("data", "status"), BAD, ids=[str(bad[0][:30]) for bad in BAD])
def test_what_cannot_be_read_is_classified_and_has_neither_score_nor_verdict(
    data: bytes, status: str
) -> None:
    reply = read(data).reply
    assert reply.status == status
    assert reply.verdict == Verdict.PARSE_ERROR
    assert reply.score is None
    assert reply.confidence is None
    assert reply.reason


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "score", "verdict", "confidence", "reason", "x"]), inner)
    ),
    max_leaves=6,
)


@given(st.binary(max_size=200) | _JSON.map(lambda value: json.dumps(value).encode()))
def test_whatever_it_is_it_is_read_or_classified(data: bytes) -> None:
    reply = read(data).reply
    assert (reply.status == "ok") == (reply.verdict != Verdict.PARSE_ERROR)
    assert all(value is None or math.isfinite(value) for value in (reply.score, reply.confidence))
    if reply.status == "ok":
        assert reply.score is not None or reply.verdict is not None
    reply.reason.encode()


def test_a_frame_that_is_shown_again_has_no_bytes_of_its_own(tmp_path: Path) -> None:
    seen = package(tmp_path, screens=3, same_as=(None, None, 0), actions=(typed(),), condition="E3-full")
    asked: list[str] = []

    def picture(digest: str) -> dict[str, str]:
        asked.append(digest)
        return {"base64": "x"}

    told: dict[str, Any] = document(seen, 2, picture)
    assert asked == list(seen.evidence.images[:2])
    assert [one.get("same_as") for one in told["images"]] == [None, None, 0]
    assert told["id"] == "p_0001.2"
    assert told["actions"][0]["image"] == 0
    json.dumps(told, allow_nan=False)


def test_conditions_are_named_or_all() -> None:
    assert "E2-last4" in Conditions("last4/final")
    assert "E2+claim" not in Conditions("last4/final")
    with pytest.raises(UsageError, match="E9"):
        Conditions("E1-final/E9")
