"""The table itself: whatever a foreign verifier gives, nothing unknown becomes a number."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.adapters.graded import CAUSES, UNIT, Graded, How, Scale, Seen, attempt, decide, number_of, ours
from pyrite.checks.verdict import Result
from pyrite.errors import UsageError
from pyrite.records import BLAME, Outcome
from pyrite.truth.verifier_output import Answer

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(ANYTHING, st.sampled_from(How))
def test_a_reward_is_there_exactly_when_it_is_known(value: object, how: How) -> None:
    graded = decide(Seen(how, value))
    assert graded.mask is (graded.reward is None)
    assert (graded.cause is None) is not graded.mask
    assert graded.cause is None or graded.cause in BLAME
    json.dumps(graded.as_info(), allow_nan=False).encode()


@given(st.floats(0, 1))
def test_a_number_stays_what_it_is(value: float) -> None:
    graded = decide(Seen(How.ANSWERED, value))
    assert graded.reward == value
    assert (graded.outcome is Outcome.PASS) is (value >= 1 - 1e-9)


@pytest.mark.parametrize(
    "value",
    [
        1.0,
        1,
        True,
        np.float32(1),
        np.float64(1),
        np.int8(1),
        np.bool_(True),
        np.array(1.0),
        Fraction(1),
        sum([0.1] * 10),
    ],
)
def test_what_is_a_whole_number_is_a_pass(value: object) -> None:
    assert decide(Seen(How.ANSWERED, value)).outcome is Outcome.PASS


@pytest.mark.parametrize(
    "value",
    [
        "1.0",
        b"1",
        [1.0],
        np.array([1.0]),
        {"reward": 1},
        math.inf,
        -math.inf,
        1.5,
        -0.1,
        1 + 2j,
        Decimal(1),
        10**400,
    ],
)
def test_what_is_no_number_of_the_scale_is_no_answer(value: object) -> None:
    graded = decide(Seen(How.ANSWERED, value))
    assert (graded.cause, graded.reward) == ("verifier_output_invalid", None)
    assert graded.why


class Hostile:
    """A foreign object that does not want to be looked at."""

    shape = ()

    def item(self) -> Any:
        raise RuntimeError("no")

    def __str__(self) -> str:
        raise RuntimeError("no")


def test_a_foreign_object_may_do_anything() -> None:
    assert number_of(Hostile()) is None
    graded = decide(Seen(How.ANSWERED, Hostile()))
    assert (graded.cause, graded.raw) == ("verifier_output_invalid", "a Hostile")


@pytest.mark.parametrize(
    ("exc", "how"),
    [
        (ValueError("x"), How.RAISED),
        (SystemExit(2), How.RAISED),
        (MemoryError(), How.RAISED),
        (TimeoutError(), How.TIMED_OUT),
        (type("TimeoutError", (Exception,), {})(), How.TIMED_OUT),
        (ConnectionResetError(), How.LOST),
        (type("TargetClosedError", (Exception,), {})(), How.LOST),
        (FileNotFoundError("a"), How.STATE_MISSING),
    ],
)
def test_exceptions_are_told_apart_by_class(exc: BaseException, how: How) -> None:
    def raises() -> object:
        raise exc

    assert attempt(raises).how is how
    assert attempt(raises, (type(exc),)).how is How.OF_THE_POLICY


def test_ctrl_c_goes_through() -> None:
    def interrupted() -> object:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attempt(interrupted)


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (Result(True), ("pass", None, 1.0)),
        (Result(False), ("fail", None, 0.0)),
        (Result(None, cause="state_unreadable"), ("indeterminate", "state_unreadable", None)),
        (Result(None, cause="the moon"), ("indeterminate", "verifier_says_unknown", None)),
        (Answer(Outcome.PASS), ("pass", None, 1.0)),
        (Answer(Outcome.FAIL), ("fail", None, 0.0)),
        (
            Answer(Outcome.INDETERMINATE, cause="verifier_timeout"),
            ("indeterminate", "verifier_timeout", None),
        ),
        (True, ("pass", None, 1.0)),
        (False, ("fail", None, 0.0)),
        (None, ("indeterminate", "verifier_says_unknown", None)),
        (0.4, ("fail", None, 0.4)),
    ],
)
def test_what_a_check_of_ours_said(said: object, wanted: tuple[str, str | None, float | None]) -> None:
    graded = ours(said)
    assert (graded.outcome.value, graded.cause, graded.reward) == wanted


def test_every_way_to_end_without_an_answer_has_a_cause_with_a_blame() -> None:
    assert set(CAUSES) == set(How) - {How.ANSWERED, How.OF_THE_POLICY}
    assert set(CAUSES.values()) <= set(BLAME)


@pytest.mark.parametrize(("passes", "low", "high"), [(0.0, 0.0, 1.0), (2.0, 0.0, 1.0), (math.nan, 0.0, 1.0)])
def test_a_scale_on_which_nothing_passes_or_nothing_fails_is_refused(
    passes: float, low: float, high: float
) -> None:
    with pytest.raises(UsageError):
        Scale(passes, low, high)


def test_filling_takes_a_word_of_the_caller() -> None:
    graded = Graded(Outcome.INDETERMINATE, "verifier_error")
    assert graded.reward_or(-7.0) == -7.0
    assert math.isnan(graded.reward_or(math.nan))
    assert decide(Seen(How.ANSWERED, 0.4), UNIT).reward_or(-7.0) == 0.4
