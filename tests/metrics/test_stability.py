"""Self-consistency against printed values and statsmodels."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import aggregate_raters
from statsmodels.stats.inter_rater import fleiss_kappa as oracle

from pyrite.metrics.stability import any_run, self_consistency

S, F, U = 1, 0, 2
WORKED = np.array([[S, S, S], [S, S, U], [S, F, U], [F, F, F], [U, U, S]])


def test_the_worked_example_raw_and_mapped() -> None:
    raw = self_consistency(WORKED, np.arange(5))
    assert raw.all_agree.value == pytest.approx(0.40)
    assert raw.pairwise.value == pytest.approx(0.5333, abs=5e-5)
    assert raw.fleiss == pytest.approx(0.2708, abs=5e-5)
    mapped = self_consistency(np.where(WORKED == U, F, WORKED), np.arange(5))
    assert mapped.pairwise.value == pytest.approx(0.60)
    assert mapped.fleiss == pytest.approx(0.1964, abs=5e-5)
    assert raw.pairwise.low is not None


def test_one_run_is_none_and_not_one() -> None:
    found = self_consistency(np.array([[S], [F]]), np.arange(2))
    assert (found.all_agree.value, found.pairwise.value, found.fleiss) == (None, None, None)
    assert {found.all_agree.reason, found.pairwise.reason, found.fleiss_reason} == {"one_run"}
    rate = any_run(np.array([[True], [False]]), np.ones((2, 1), dtype=bool), np.arange(2))
    assert (rate.value, rate.reason) == (None, "one_run")


def test_one_category_has_no_kappa() -> None:
    found = self_consistency(np.full((6, 3), F), np.arange(6))
    assert (found.all_agree.value, found.pairwise.value) == (1, 1)
    assert (found.fleiss, found.fleiss_reason) == (None, "one_category")


def test_missing_runs() -> None:
    votes = np.array([[S, S, -1], [S, -1, -1], [F, F, F], [-1, -1, -1], [S, F, -1]])
    found = self_consistency(votes, np.arange(5))
    assert (found.episodes, found.complete) == (3, 1)  # one run of three is not a strict majority
    assert found.pairwise.value == pytest.approx((1 + 1 + 0) / 3)
    assert (found.all_agree.n, found.all_agree.value) == (1, 1)
    nothing = self_consistency(np.full((3, 3), -1), np.arange(3))
    assert (nothing.pairwise.value, nothing.pairwise.reason) == (None, "no_repeated_runs")


def test_any_run_leaves_out_what_a_missing_run_could_change() -> None:
    accepted = np.array([[True, False, False], [False] * 3, [False] * 3, [True, False, False]])
    present = np.array([[True] * 3, [True] * 3, [True, True, False], [True, True, False]])
    found = any_run(accepted, present, np.arange(4))
    assert (found.value, found.n) == (0.5, 2)
    assert any_run(accepted[:0], present[:0], np.arange(0)).reason == "no_negatives"
    assert any_run(accepted[2:], present[2:], np.arange(2)).reason == "no_complete_runs"


votes = st.integers(2, 5).flatmap(
    lambda runs: st.lists(st.lists(st.integers(0, 3), min_size=runs, max_size=runs), min_size=2, max_size=25)
)


@given(votes, st.integers(0, 99))
@settings(deadline=None, max_examples=80)
def test_agrees_with_statsmodels(rows: list[list[int]], seed: int) -> None:
    said = np.array(rows)
    found = self_consistency(said, np.arange(len(rows)) // 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = oracle(aggregate_raters(said)[0])
    assert found.fleiss == (None if np.isnan(expected) else pytest.approx(expected))
    assert found.pairwise.value is not None
    assert found.all_agree.value is not None
    assert found.all_agree.value <= found.pairwise.value + 1e-12 <= 1 + 2e-12
    mixed = np.random.default_rng(seed).permuted(said, axis=1)  # the order of runs says nothing
    assert self_consistency(mixed, np.arange(len(rows)) // 2) == found
