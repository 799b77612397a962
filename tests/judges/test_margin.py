"""The margin in log-probabilities: read where the verdict begins, and null where it cannot be known."""

from __future__ import annotations

import doctest
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.judges import margin as module
from pyrite.judges.client.base import Alternative, Token
from pyrite.judges.margin import deciding, margin


def test_the_examples_run() -> None:
    assert doctest.testmod(module).failed == 0


def tokens(*pieces: str, at: int, **top: float) -> list[Token]:
    """Tokens of an answer; the one at `at` has these alternatives (_ stands for a quote)."""
    alternatives = tuple(Alternative(token=text.replace("_", '"'), logprob=p) for text, p in top.items())
    return [
        Token(token=piece, logprob=-0.1, top=alternatives if number == at else ())
        for number, piece in enumerate(pieces)
    ]


def test_it_is_the_difference_at_the_verdict() -> None:
    found = tokens('{"reason": "ok", "verdict": "', "success", '"}', at=1, success=-0.1, failure=-2.6)
    assert margin(found) == pytest.approx(2.5)


def test_pieces_of_a_word_and_tokens_with_a_quote_count_for_it() -> None:
    pieces = ('{"verdict":', ' "', "fail", "ure", '"}')
    assert margin(tokens(*pieces, at=2, fail=-0.2, success=-1.7)) == pytest.approx(-1.5 - 0.1)
    quoted = [
        Token(token='{"verdict":', logprob=0),
        Token(
            token=' "success',
            logprob=-0.5,
            top=(Alternative(token=' "success', logprob=-0.5), Alternative(token=' "failure', logprob=-1.0)),
        ),
        Token(token='"}', logprob=0),
    ]
    assert margin(quoted) == pytest.approx(0.5)


def test_several_tokens_of_one_word_add_up() -> None:
    found = tokens('{"verdict": "', "success", '"}', at=1, success=-1.0, succ=-1.0, failure=-1.0)
    one = 2 * math.exp(-1.0)
    both = math.exp(-0.1) + math.exp(-1.0)  # the token itself is listed with its own probability
    assert margin(found) == pytest.approx(math.log(both) + 1.0)
    assert both > one


@pytest.mark.parametrize(
    "found",
    [
        None,
        [],
        tokens("success", at=0, success=-0.1, failure=-1.0),
        tokens('{"verdict": "', "success", '"}', at=1, success=-0.1, uncertain=-1.0),
        tokens('{"verdict": "', "success", '"}', at=1),
        tokens('{"verdict": "success"} {"verdict": "', "failure", '"}', at=1, success=-0.1, failure=-1.0),
        tokens('{"verdict": "', "maybe", '"}', at=1, success=-0.1, failure=-1.0),
    ],
)
def test_where_it_cannot_be_known_it_is_null(found: list[Token] | None) -> None:
    assert margin(found) is None


def test_a_verdict_quoted_in_the_reason_does_not_count() -> None:
    said = '{"reason": "it says \\"verdict\\": \\"success\\"", "verdict": "'
    place = deciding(tokens(said, "failure", '"}', at=1))
    assert place is not None
    assert place[0].token == "failure"


@given(st.text(max_size=30), st.floats(-20, 0), st.floats(-20, 0), st.data())
def test_the_same_wherever_tokens_are_cut_before_the_verdict(
    reason: str, success: float, failure: float, data: st.DataObject
) -> None:
    import json

    before = f'{{"reason": {json.dumps(reason)}, "verdict": "'
    cut = data.draw(st.integers(0, len(before)))
    top = (Alternative(token="success", logprob=success), Alternative(token="failure", logprob=failure))
    found = [
        *(Token(token=piece, logprob=0) for piece in (before[:cut], before[cut:]) if piece),
        Token(token="success", logprob=success, top=top),
        Token(token='"}', logprob=0),
    ]
    assert margin(found) == pytest.approx(success - failure)


def test_tokens_of_another_text_than_the_verdict_have_no_margin() -> None:
    top = (Alternative(token="success", logprob=-0.5), Alternative(token="failure", logprob=-1.5))
    tokens = [
        Token(token='{"verdict": "', logprob=0.0),
        Token(token="success", logprob=-0.5, top=top),
    ]
    assert margin(tokens, "success") == margin(tokens) == 1.0
    assert margin(tokens, "failure") is None
