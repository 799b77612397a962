"""Clustered rates: the eight-task fixture, the few-event fallback, and what must not change them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pyrite.metrics.clusters import cluster_size, rate
from pyrite.metrics.intervals import clopper_pearson, t_quantile, wilson
from pyrite.records import Estimate

N = np.array([4, 4, 4, 3, 4, 2, 4, 5], dtype=float)
ONLY_A = np.array([4, 0, 3, 0, 0, 1, 0, 2], dtype=float)
ONLY_B = np.array([0, 1, 0, 0, 0, 0, 0, 1], dtype=float)
BOTH = np.array([0, 0, 1, 0, 1, 0, 0, 0], dtype=float)
A, B = ONLY_A + BOTH, ONLY_B + BOTH


def fpr(events: NDArray[np.float64], totals: NDArray[np.float64]) -> Estimate:
    return rate(events, totals, estimand="FPR", empty="no_negatives")


def test_a_generous_judge_on_eight_tasks() -> None:
    size = cluster_size(A, N)
    assert size.rate == pytest.approx(0.4)
    assert size.standard_error == pytest.approx(0.15319, abs=5e-6)
    assert pytest.approx(0.08944, abs=5e-6) == (0.4 * 0.6 / 30) ** 0.5
    assert size.n / size.n_eff == pytest.approx(2.9333, abs=5e-5)
    assert size.n_eff == pytest.approx(10.227, abs=5e-4)
    assert size.size == pytest.approx(7.651, abs=5e-4)
    assert size.rule == "df-adjusted"
    found = fpr(A, N)
    assert (found.low, found.high) == pytest.approx((0.1482, 0.7186), abs=5e-5)
    assert found.iid is not None
    assert found.iid[:2] == pytest.approx((0.2459, 0.5768), abs=5e-5)
    assert wilson(0.4, size.n_eff) == pytest.approx((0.1699, 0.6847), abs=5e-5)
    assert clopper_pearson(0.4, size.size) == pytest.approx((0.0936, 0.7814), abs=5e-5)
    assert (found.n, found.clusters) == (30, 8)


def test_a_strict_judge_falls_back() -> None:
    size = cluster_size(B, N)
    assert size.rate == pytest.approx(4 / 30)
    assert size.rule == "few-event size"
    assert size.n_eff == 30
    assert size.size == pytest.approx(7.627, abs=5e-4)
    unclipped = size.rate * (1 - size.rate) / size.standard_error**2
    assert unclipped == pytest.approx(58.168, abs=5e-4)
    found = fpr(B, N)
    assert (found.low, found.high) == pytest.approx((0.0242, 0.4881), abs=5e-5)
    without = 30 * (t_quantile(29) / t_quantile(7)) ** 2
    assert wilson(size.rate, without) == pytest.approx((0.0464, 0.3275), abs=5e-5)


def test_nothing_accepted_is_no_narrow_interval() -> None:
    found = fpr(np.zeros(8), N)
    assert found.value == 0
    assert found.n_eff == pytest.approx(7.627, abs=5e-4)
    assert (found.low, found.high) == pytest.approx((0, 0.335), abs=5e-4)
    assert found.iid is not None
    assert found.iid.high == pytest.approx(0.1135, abs=5e-5)


@pytest.mark.parametrize(("hits", "upper"), [(0, 0.0876), (1, 0.0987), (4, 0.1288), (5, 0.0724)])
def test_upper_end_of_forty_tasks_of_four(hits: int, upper: float) -> None:
    events = np.zeros(40)
    events[:hits] = 1
    assert fpr(events, np.full(40, 4.0)).high == pytest.approx(upper, abs=5e-5)


def test_one_event_without_the_fallback_would_be_narrower_than_none() -> None:
    events = np.zeros(40)
    events[0] = 1
    size = cluster_size(events, np.full(40, 4.0))
    assert size.rule == "few-event size"
    adjusted = size.n_eff * (t_quantile(159) / t_quantile(39)) ** 2
    assert wilson(1 / 160, adjusted).high == pytest.approx(0.0358, abs=5e-5)


def test_one_cluster_has_a_rate_and_no_clustered_interval() -> None:
    found = fpr(np.array([0.0, 3.0]), np.array([0.0, 10.0]))
    assert found.value == pytest.approx(0.3)
    assert (found.low, found.high, found.n_eff, found.reason) == (None, None, None, "single_cluster")
    assert found.clusters == 1
    assert found.iid is not None
    assert found.iid[:2] == pytest.approx(wilson(0.3, 10))
    with pytest.raises(ValueError, match="at least two clusters"):
        cluster_size(np.array([3.0]), np.array([10.0]))


@pytest.mark.parametrize("totals", [np.zeros(3), np.zeros(0)])
def test_nothing_to_count_is_none_with_the_reason(totals: NDArray[np.float64]) -> None:
    found = fpr(totals, totals)
    assert (found.value, found.low, found.reason, found.n, found.iid) == (None, None, "no_negatives", 0, None)


def test_one_episode_a_task_is_nearly_independent() -> None:
    events = np.array([1.0] * 12 + [0.0] * 68)
    size = cluster_size(events, np.ones(80))
    assert size.n_eff == pytest.approx(79)
    assert size.size == size.n_eff
    assert cluster_size(np.zeros(80), np.ones(80)).n_eff == 80


def test_all_clusters_at_one_rate() -> None:
    size = cluster_size(np.full(6, 2.0), np.full(6, 4.0))
    assert (size.standard_error, size.n_eff) == (0, 24)


def test_every_task_twice_shrinks_the_standard_error_as_it_must() -> None:
    twice = cluster_size(np.tile(A, 2), np.tile(N, 2)).standard_error
    assert twice == pytest.approx(0.10465, abs=5e-6)
    assert cluster_size(A, N).standard_error / twice == pytest.approx(1.4639, abs=5e-5)


tables = st.lists(
    st.integers(0, 8).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=1, max_size=30
)


@given(tables, st.integers(0, 2**32 - 1))
def test_properties_of_a_rate(table: list[tuple[int, int]], seed: int) -> None:
    events, totals = (np.array(column, dtype=float) for column in zip(*table, strict=True))
    found = fpr(events, totals)
    if totals.sum() == 0:
        assert (found.value, found.reason) == (None, "no_negatives")
        return
    value = float(events.sum() / totals.sum())
    assert found.value == value
    order = np.random.default_rng(seed).permutation(len(events))
    shuffled = fpr(events[order], totals[order])
    assert (shuffled.value, shuffled.n, shuffled.clusters) == (found.value, found.n, found.clusters)
    if (totals > 0).sum() < 2:
        assert (found.low, found.reason) == (None, "single_cluster")
        return
    assert found.low is not None
    assert found.high is not None
    assert shuffled.low == pytest.approx(found.low, abs=1e-12)
    assert 0 <= found.low <= value <= found.high <= 1
    assert found.low < found.high
    size = cluster_size(events, totals)
    twice = cluster_size(2 * events, 2 * totals)
    assert twice.rate == pytest.approx(size.rate)
    assert twice.standard_error == pytest.approx(size.standard_error, abs=1e-12)
    assert all(not (isinstance(x, float) and math.isnan(x)) for x in found.model_dump().values())
    assert found.n_eff is not None
    assert 0 < found.n_eff <= found.n
