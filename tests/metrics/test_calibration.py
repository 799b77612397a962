"""Calibration against printed values and scikit-learn; exact bins; refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from pyrite.metrics.calibration import Bins, calibration, probability_of_success, reliability

P = np.array([0.95, 0.95, 0.90, 0.85, 0.80, 0.60, 0.55, 0.30, 0.20, 0.05])
Y = np.array([1, 0, 1, 0, 1, 1, 0, 0, 0, 0], dtype=bool)
ALONE = np.arange(10)


def test_the_worked_example() -> None:
    found = calibration(P, Y, ALONE)
    assert found.brier.value == pytest.approx(0.22725)
    assert found.climatology == pytest.approx(0.24)
    assert found.skill == pytest.approx(0.0531, abs=5e-5)
    assert (found.n, found.excluded, found.reason) == (10, 0, None)
    assert found.brier.low is not None


@pytest.mark.parametrize(("bins", "ece"), [("width-left", 0.295), ("width-right", 0.255), ("mass", 0.335)])
def test_ece_depends_on_the_edges(bins: Bins, ece: float) -> None:
    found = calibration(P, Y, ALONE, bins=bins, count=5)
    assert found.ece == pytest.approx(ece)
    assert sum(one.n for one in found.bins) == 10
    assert found.binning


def test_a_running_sum_of_edges_would_give_another_ece() -> None:
    codes = np.searchsorted(np.linspace(0, 1, 6)[1:-1], P, side="right")
    assert codes[5] == 2  # .60 falls below 0.6000000000000001
    wrong = sum((codes == c).mean() * abs(P[codes == c].mean() - Y[codes == c].mean()) for c in set(codes))
    assert wrong == pytest.approx(0.215)
    fifth = [one for one in calibration(P, Y, ALONE, bins="width-left", count=5).bins if one.low == 0.6]
    assert [one.n for one in fifth] == [1]


def test_scikit_learn_agrees_on_right_closed_bins() -> None:
    shares, means = calibration_curve(Y, P, n_bins=5)
    table, _ = reliability(P, Y, ALONE, bins="width-right", count=5)
    assert [one.passed.value for one in table] == pytest.approx(list(shares))
    assert [one.mean for one in table] == pytest.approx(list(means))


def test_few_distinct_values_are_their_own_bins() -> None:
    p = np.array([0.9] * 40 + [0.95] * 50 + [0.1] * 10)
    y = np.arange(100) % 2 == 0
    found = calibration(p, y, np.arange(100))
    assert [(one.low, one.high, one.n) for one in found.bins] == [
        (0.1, 0.1, 10),
        (0.9, 0.9, 40),
        (0.95, 0.95, 50),
    ]
    assert found.binning == "3 distinct values"
    assert all(one.passed.iid is not None for one in found.bins)


def test_equal_values_are_never_in_two_bins() -> None:
    p = np.concatenate([np.full(55, 0.9), np.linspace(0, 0.8, 45)])
    found = calibration(p, np.arange(100) % 3 == 0, np.arange(100))
    assert [one.n for one in found.bins if one.high == 0.9] == [60]  # the 55, and 5 that fill the tenth


def test_confidence_in_the_verdict_is_turned_into_a_probability_of_success() -> None:
    said = probability_of_success(
        np.array([0.8, 0.8, 0.8]), np.array([True, False, False]), np.array([False, False, True])
    )
    assert said[:2] == pytest.approx([0.8, 0.2])
    assert np.isnan(said[2])


def test_what_has_no_probability_is_left_out_and_counted() -> None:
    p = P.copy()
    p[[1, 4]] = np.nan
    found = calibration(p, Y, ALONE)
    assert (found.n, found.excluded) == (8, 2)
    assert found.brier.value == pytest.approx(brier_score_loss(Y[~np.isnan(p)], p[~np.isnan(p)]))


def test_overconfidence_on_failures() -> None:
    found = calibration(P, Y, ALONE)
    assert found.sure_of_failures.value == pytest.approx(P[~Y].mean())
    assert found.very_sure_of_failures.value == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("p", "reason"),
    [([0.5, 1.2], "not_probabilities"), ([np.nan, np.nan], "no_probabilities"), ([], "no_probabilities")],
)
def test_no_probabilities_no_calibration(p: list[float], reason: str) -> None:
    found = calibration(np.array(p), np.zeros(len(p), dtype=bool), np.arange(len(p)))
    assert (found.reason, found.brier.value, found.brier.reason) == (reason, None, reason)
    assert (found.ece, found.skill, found.climatology, found.bins) == (None, None, None, ())
    assert found.sure_of_failures.value is None


def test_one_outcome_has_no_skill() -> None:
    found = calibration(P, np.zeros(10, dtype=bool), ALONE)
    assert (found.climatology, found.skill) == (0, None)
    none_failed = calibration(P, np.ones(10, dtype=bool), ALONE)
    assert (none_failed.sure_of_failures.value, none_failed.sure_of_failures.reason) == (None, "no_negatives")


scored = st.lists(st.tuples(st.integers(0, 100), st.booleans(), st.integers(0, 6)), min_size=1, max_size=60)


@given(scored, st.sampled_from(["unique", "mass", "width-left", "width-right"]), st.integers(0, 999))
@settings(deadline=None, max_examples=80)
def test_properties(rows: list[tuple[int, bool, int]], bins: Bins, seed: int) -> None:
    k, y, task = (np.array(column) for column in zip(*rows, strict=True))
    p = k / 100
    found = calibration(p, y, task, bins=bins, count=10)
    assert sum(one.n for one in found.bins) == len(rows)
    assert found.ece is not None
    assert 0 <= found.ece <= 1
    assert found.brier.value == pytest.approx(float(np.mean((p - y) ** 2)))
    order = np.random.default_rng(seed).permutation(len(rows))
    again = calibration(p[order], y[order], task[order], bins=bins, count=10)
    assert again.ece == pytest.approx(found.ece)
    assert [one.n for one in again.bins] == [one.n for one in found.bins]
    if bins == "width-left":  # hundredths against tenths, in whole numbers
        assert len({one.n for one in found.bins}) <= 10
        expected = np.unique(np.minimum(k // 10, 9), return_counts=True)[1]
        assert [one.n for one in found.bins] == expected.tolist()
