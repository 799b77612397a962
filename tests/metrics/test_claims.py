"""The claim effect: printed values, leniency against discrimination, the noise floor."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrite.metrics.claims import contrast, discrimination, signal


def moved(flip_in: int, flip_out: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    shown, hidden = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    shown[:flip_in], hidden[flip_in : flip_in + flip_out] = True, True
    return shown, hidden


def test_the_worked_example() -> None:
    shown, hidden = moved(14, 4, 80)
    found = contrast(shown, hidden, np.arange(80), estimand="claim effect", empty="no_negatives")
    assert found.difference.value == pytest.approx(0.125)
    assert (found.flip_in, found.flip_out) == (14, 4)
    assert found.p_mcnemar == pytest.approx(0.0309, abs=5e-5)
    assert found.p_signflip == pytest.approx(found.p_mcnemar)  # one episode a task


def test_tasks_that_move_together_are_one_observation() -> None:
    shown, hidden = moved(14, 4, 80)
    found = contrast(shown, hidden, np.arange(80) // 7, estimand="claim effect", empty="no_negatives")
    assert found.p_signflip is not None
    assert found.p_signflip > 0.2
    assert found.p_mcnemar == pytest.approx(0.0309, abs=5e-5)


@pytest.mark.parametrize(
    ("cells", "d_prime", "criterion", "corrected"),
    [
        ((18, 2, 12, 68), 2.318, -0.123, False),
        ((19, 1, 22, 58), 2.243, -0.524, False),
        ((20, 0, 0, 80), 4.483, 0.261, True),
    ],
)
def test_discrimination_and_leniency(
    cells: tuple[int, int, int, int], d_prime: float, criterion: float, corrected: bool
) -> None:
    found = discrimination(*cells)
    assert found.d_prime == pytest.approx(d_prime, abs=5e-4)
    assert found.criterion == pytest.approx(criterion, abs=5e-4)
    assert found.corrected is corrected


def test_nothing_to_compare() -> None:
    none = np.zeros(0, dtype=bool)
    found = contrast(none, none, np.zeros(0, dtype=int), estimand="x", empty="no_negatives")
    assert (found.difference.value, found.difference.reason, found.p_signflip) == (None, "no_negatives", None)
    assert discrimination(0, 0, 3, 4).reason == "no_positives"
    assert discrimination(3, 4, 0, 0).reason == "no_negatives"


def test_no_flip_is_a_zero_with_an_interval() -> None:
    shown = np.arange(60) % 3 == 0
    found = contrast(shown, shown, np.arange(60) // 2, estimand="x", empty="no_negatives")
    assert (found.difference.value, found.p_signflip) == (0, 1)
    assert found.difference.low is not None
    assert found.difference.high is not None
    assert found.difference.low < 0 < found.difference.high


pairs = st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 8)), min_size=1, max_size=50)


@given(pairs)
@settings(deadline=None, max_examples=60)
def test_swapping_the_conditions_negates(rows: list[tuple[bool, bool, int]]) -> None:
    shown, hidden, task = (np.array(column) for column in zip(*rows, strict=True))
    one = contrast(shown, hidden, task, estimand="x", empty="no_negatives")
    two = contrast(hidden, shown, task, estimand="x", empty="no_negatives")
    assert one.difference.value == pytest.approx(-(two.difference.value or 0))
    assert (one.p_signflip, one.p_mcnemar) == (two.p_signflip, two.p_mcnemar)
    assert (one.flip_in, one.flip_out) == (two.flip_out, two.flip_in)
    if one.difference.low is not None:
        assert one.difference.high is not None
        if one.p_signflip is not None and one.p_signflip > 0.05:
            assert one.difference.low <= 0 <= one.difference.high
        assert two.difference.high == pytest.approx(-one.difference.low)
    twice = [np.repeat(column, 2) for column in (shown, hidden, task)]
    again = contrast(*twice, estimand="x", empty="no_negatives")
    assert again.difference.value == pytest.approx(one.difference.value)
    assert again.p_signflip == pytest.approx(one.p_signflip)


@given(*[st.integers(0, 20)] * 4)
@settings(deadline=None, max_examples=60)
def test_discrimination_is_sound(tp: int, fn: int, fp: int, tn: int) -> None:
    found = discrimination(tp, fn, fp, tn)
    if tp + fn and fp + tn:
        assert found.d_prime is not None
        assert np.isfinite(found.d_prime)
        turned = discrimination(tn, fp, fn, tp)  # passed and failed change roles
        assert turned.d_prime == pytest.approx(found.d_prime)
        assert turned.criterion == pytest.approx(-(found.criterion or 0))
    else:
        assert found.d_prime is None
        assert found.reason


# --- d' and criterion with intervals ---------------------------------------------------------------

FLAGS = st.lists(
    st.tuples(st.booleans(), st.booleans(), st.booleans(), st.integers(0, 5)), min_size=1, max_size=40
)


def columns(rows: list[tuple[bool, bool, bool, int]]) -> tuple[np.ndarray, ...]:
    accepted, other, passed, cluster = map(np.array, zip(*rows, strict=True))
    return accepted, other, passed, cluster


@settings(max_examples=60, deadline=None)
@given(FLAGS)
def test_signal_is_discrimination_and_minus_turns_the_sign(rows: list[tuple[bool, bool, bool, int]]) -> None:
    accepted, other, passed, cluster = columns(rows)
    found = signal(accepted, passed, cluster, resamples=20)
    cells = [int((a & b).sum()) for a in (passed, ~passed) for b in (accepted, ~accepted)]
    known = discrimination(*cells)
    for one, value in ((found.d_prime, known.d_prime), (found.criterion, known.criterion)):
        assert one.value == (None if value is None else pytest.approx(value))
        assert (one.reason is None) == (one.low is not None)
    ahead = signal(accepted, passed, cluster, minus=other, resamples=20)
    behind = signal(other, passed, cluster, minus=accepted, resamples=20)
    if ahead.d_prime.value is not None:
        assert behind.d_prime.value is not None
        assert ahead.d_prime.value == pytest.approx(-behind.d_prime.value)
        assert signal(accepted, passed, cluster, minus=accepted, resamples=20).criterion.value == 0


def test_signal_without_passes_failures_or_tasks() -> None:
    yes, three = np.array([True, True, False]), np.arange(3)
    assert signal(yes, np.ones(3, dtype=bool), three).d_prime.reason == "no_negatives"
    assert signal(yes, np.zeros(3, dtype=bool), three).d_prime.reason == "no_positives"
    assert (
        signal(np.zeros(0, dtype=bool), np.zeros(0, dtype=bool), np.zeros(0, dtype=int)).d_prime.value is None
    )
    one = signal(yes, np.array([True, False, False]), np.zeros(3, dtype=int)).d_prime
    assert (one.low, one.reason) == (None, "single_cluster")


def test_the_interval_of_a_shift_holds_what_it_promises() -> None:
    """Two conditions that differ in leniency alone: 95 % intervals of the d' shift hold 0 (160 draws)."""
    generator, held, draws = np.random.default_rng(5), 0, 160
    for _ in range(draws):
        passed, cluster = np.arange(240) % 2 == 0, np.arange(240) // 6
        strength = (
            generator.normal(size=240) + np.where(passed, 1.5, 0.0) + generator.normal(size=40)[cluster] / 3
        )
        found = signal(strength > 0.5, passed, cluster, minus=strength > 0.9, resamples=300)
        assert found.d_prime.low is not None
        assert found.d_prime.high is not None
        held += found.d_prime.low <= 0 <= found.d_prime.high
        assert found.criterion.high is not None
        assert found.criterion.high < 0
    assert held >= 0.89 * draws
