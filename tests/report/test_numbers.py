"""Number formats, to the character."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.report import numbers

ESTIMATE = {"value": 0.09248, "low": 0.0724, "high": 0.1183, "reason": None}


def test_a_rate_has_one_decimal_a_narrow_space_and_its_interval() -> None:
    assert numbers.rate(ESTIMATE) == "9.2\u202f% [7.2, 11.8]"


def test_a_true_zero_is_written_out_and_a_missing_value_is_null_with_its_reason() -> None:
    assert numbers.rate({"value": 0.0, "low": 0.0, "high": 0.016}) == "0.0\u202f% [0.0, 1.6]"
    assert numbers.rate({"value": None, "reason": "nothing_accepted"}) == "null: nothing accepted"
    assert numbers.rate({"value": None}) == "null"
    assert numbers.percent(None, reason="some_new_code") == "null: some new code"


def test_a_rate_without_an_interval_shows_no_brackets() -> None:
    assert (
        numbers.rate({"value": 0.5, "low": None, "high": None, "reason": "single_cluster"}) == "50.0\u202f%"
    )


def test_differences_are_signed_with_a_true_minus() -> None:
    assert numbers.points(-0.0091) == "\u22120.9\u202fpp"
    assert numbers.points(0.0) == "0.0\u202fpp"
    assert numbers.points_interval(-0.038, 0.02) == "[\u22123.8, +2.0]"
    assert numbers.points(None, reason="no_episodes") == "null: no episodes"


def test_kappa_has_three_decimals() -> None:
    assert numbers.coefficient(0.62649) == "0.626"
    assert numbers.coefficient(-0.0001) == "0.000"
    assert numbers.coefficient_interval(-0.05, 0.5) == "[\u22120.050, 0.500]"
    assert numbers.coefficient(None, reason="no_positives") == "null: none passed"


def test_counts() -> None:
    assert numbers.ratio(75, 811) == "75 / 811"
    assert numbers.count(1, "task") == "1 task"
    assert numbers.count(1106, "episode") == "1,106 episodes"


@pytest.mark.parametrize(("n", "few"), [(0, False), (1, True), (9, True), (10, False)])
def test_under_ten_there_is_no_rate(n: int, few: bool) -> None:
    assert numbers.few(n) is few


@given(st.floats(-1, 1))
def test_no_sign_without_a_digit(value: float) -> None:
    text = numbers.signed(value)
    assert "-" not in text
    assert (text[0] in "+\u2212") == (float(text.strip("+\u2212")) != 0)


def test_examples() -> None:
    assert doctest.testmod(numbers).failed == 0


REFUSED = {
    "threshold": None,
    "target": 0.05,
    "delta": 0.05,
    "sampling": "one_per_task",
    "n": 58.7,
    "needed": 59,
}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            {"reason": "too_few_negatives: 58 of at least 59", "sampling": "max_per_task", "n": 1},
            "1 task with failures in the half that chooses, at least 59 needed: about 118 such tasks in all",
        ),
        (
            {"reason": "too_few_negatives: 58 of at least 59", "sampling": "effective_size"},
            "failed episodes of effective size 58 in the half that chooses, at least 59 needed: "
            "an effective size of about 118 in all",
        ),
        (
            {"reason": "no_negatives", "n": 0, "needed": 1200},
            "0 tasks with failures in the half that chooses, at least 1,200 needed: "
            "about 2,400 such tasks in all",
        ),
        (
            {"reason": "no_candidate_passes", "target": 0.001, "delta": 0.05 / 3},
            "no threshold keeps FPR at most 0.1\u202f% at 98.33\u202f% confidence",
        ),
        (
            {"reason": "no_candidate_passes", "delta": None},
            "no threshold keeps FPR at most 5\u202f% on average",
        ),
        ({"reason": "single_cluster"}, "all failed episodes in the half that chooses are of one task"),
        (
            {"reason": "unreadable_scores"},
            "almost no score of a failed episode in the half that chooses can be read",
        ),
        ({"reason": "a_new_code"}, "a new code"),
        ({"reason": None, "threshold": 0.5}, ""),
    ],
)
def test_a_refused_threshold_says_what_was_counted_and_how_many_are_needed(
    more: dict[str, object], said: str
) -> None:
    assert numbers.refusal({**REFUSED, **more}) == said


@given(st.floats(1e-9, 0.999))
def test_no_confidence_is_said_to_be_more_than_was_asked_for(delta: float) -> None:
    said = float(numbers.confidence(delta).split("\u202f")[0])
    assert said < 100
    assert said <= 100 * (1 - delta) + 1e-7
