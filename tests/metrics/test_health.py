"""Errors of the truth and fixed mixes of failures, against printed values."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.metrics import health
from pyrite.metrics.health import matched_sample, observed_fpr, standardised, undetected_error
from pyrite.records import Estimate


def test_examples() -> None:
    assert doctest.testmod(health).failed == 0


@pytest.mark.parametrize(
    ("success", "rejects", "fpr", "printed"),
    [(0.5, 0.05, 0.10, 0.138), (0.5, 0.02, 0.10, 0.116), (0.8, 0.05, 0.10, 0.233), (0.8, 0.05, 0.05, 0.192)],
)
def test_a_verifier_that_rejects_good_states(
    success: float, rejects: float, fpr: float, printed: float
) -> None:
    found = observed_fpr(fpr, 0.9, success, rejects=rejects)
    assert found is not None
    assert round(found, 3) == printed


def test_simulated_noise_is_the_formula() -> None:
    generator = np.random.default_rng(2)
    n = 400_000
    truth = generator.random(n) < 0.6
    said = np.where(truth, generator.random(n) >= 0.05, generator.random(n) < 0.03)
    accepted = generator.random(n) < np.where(truth, 0.85, 0.08)
    found = observed_fpr(0.08, 0.85, 0.6, rejects=0.05, accepts=0.03)
    assert found == pytest.approx(float(accepted[~said].mean()), abs=0.003)


def test_nothing_rejected_is_null() -> None:
    assert observed_fpr(0.1, 0.9, 1.0, rejects=0.0) is None


@pytest.mark.parametrize(
    ("states", "printed"), [(10, 0.259), (30, 0.095), (59, 0.0495), (100, 0.0295), (299, 0.01)]
)
def test_states_without_an_error_bound_its_rate(states: int, printed: float) -> None:
    found = undetected_error(states)
    assert found == pytest.approx(printed, abs=5e-4 if states < 50 else 5e-5)
    assert undetected_error(0) is None


def test_a_fixed_mix_of_easy_and_hard() -> None:
    easy, hard = Estimate(value=2 / 60, n=60), Estimate(value=16 / 40, n=40)
    assert (2 + 16) / 100 == 0.18
    found = standardised([easy, hard], [0.5, 0.5])
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert round(found.value, 4) == 0.2167
    assert found.low < found.value < found.high
    assert standardised([easy, hard], [0, 3]).value == pytest.approx(0.4)
    assert standardised([easy, hard], [5, 5]) == found


def test_a_category_that_was_not_seen_has_no_place_in_a_mix() -> None:
    none = Estimate(value=None, n=0, reason="no_such_failures")
    assert standardised([Estimate(value=0.1, n=10), none], [1, 1]).reason == "no_such_failures"
    assert standardised([Estimate(value=0.1, n=10), none], [1, 0]).value == pytest.approx(0.1)


@pytest.mark.parametrize("weights", [[1.0], [0.0, 0.0], [-1.0, 2.0], [float("nan"), 1.0]])
def test_weights_that_are_none(weights: list[float]) -> None:
    rates = [Estimate(value=0.1, n=10), Estimate(value=0.2, n=10)]
    with pytest.raises(ValueError, match="weight"):
        standardised(rates, weights)


def test_no_event_is_not_certainty() -> None:
    found = standardised([Estimate(value=0.0, n=12)], [1])
    assert found.low == 0.0
    assert found.high is not None
    assert found.high > 0.15


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.data())
def test_a_matched_sample(codes: list[int], data: st.DataObject) -> None:
    rows = list(range(len(codes)))
    wanted = data.draw(st.lists(st.sampled_from(rows), unique=True))
    candidates = [row for row in rows if row not in wanted]
    strata = np.array(codes, dtype=np.float64)
    found = matched_sample(wanted, strata, candidates, seed=3)
    assert len(found) == len(set(found)) == min(len(wanted), len(candidates))
    assert set(found) <= set(candidates)
    for code in set(codes):
        need = sum(1 for row in wanted if codes[row] == code)
        have = sum(1 for row in candidates if codes[row] == code)
        assert sum(1 for row in found if codes[row] == code) >= min(need, have)
    assert found == matched_sample(list(reversed(wanted)), strata, candidates[::-1], seed=3)
