"""Inflation: Newcombe's method 10 on its printed values, and the clustered interval."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.metrics.intervals import t_quantile
from pyrite.metrics.paired import inflation, newcombe_10


def test_newcombe_10_has_its_printed_values() -> None:
    assert newcombe_10(18, 12, 2, 68)[:2] == pytest.approx((0.0263, 0.1749), abs=5e-5)
    # eight tasks: only A 10, only B 2, both 2, neither 16
    assert newcombe_10(2, 10, 2, 16)[:2] == pytest.approx((0.0420, 0.4608), abs=5e-5)


def test_newcombe_10_where_a_margin_is_zero() -> None:
    low, high, _ = newcombe_10(10, 0, 0, 0)
    assert low <= 0 <= high
    assert low > -1
    assert newcombe_10(0, 10, 0, 0)[:2] == pytest.approx((newcombe_10(0, 10, 0, 0).low, 1.0))


def test_inflation_of_the_worked_example() -> None:
    # 25 tasks of four episodes, one table over all of them
    tp, fp, fn, tn = (np.zeros(25) for _ in range(4))
    tp[:18], fp[:12], fn[:2] = 1, 1, 1
    tn += 4 - tp - fp - fn
    found = inflation(tp, fp, fn, tn)
    assert found.value == pytest.approx(0.10)
    assert found.iid is not None
    assert found.iid[:2] == pytest.approx((0.0263, 0.1749), abs=5e-5)


def test_clustered_interval_is_the_cluster_variance_with_t() -> None:
    fp = np.array([4, 0, 3, 0, 0, 1, 0, 2], dtype=float)
    fn = np.array([0, 1, 0, 0, 0, 0, 0, 1], dtype=float)
    n = np.array([4, 4, 4, 3, 4, 2, 4, 5], dtype=float)
    found = inflation(np.zeros(8), fp, fn, n - fp - fn)
    # D_k = 4 -1 3 0 0 1 0 1: five tasks differ, so no fallback; the t interval of the eight-task pair
    assert found.value == pytest.approx(8 / 30)
    d = fp - fn
    se = np.sqrt(8 / 7 * np.square(d - n * 8 / 30).sum()) / 30
    assert se == pytest.approx(0.15880, abs=5e-6)
    half = t_quantile(7) * se
    assert (found.low, found.high) == pytest.approx((8 / 30 - half, 8 / 30 + half))
    assert (found.low, found.high) == pytest.approx((-0.1088, 0.6422), abs=5e-5)


def test_a_perfect_judge_has_no_zero_width_interval() -> None:
    found = inflation(np.full(12, 1.0), np.zeros(12), np.zeros(12), np.full(12, 3.0))
    assert found.value == 0
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0 < found.high
    assert found.method is not None
    assert "few-event" in found.method


def test_tasks_alike_do_not_make_it_surer_than_independent_episodes() -> None:
    # every task has one false accept in three: no variance between tasks is left
    found = inflation(np.zeros(6), np.ones(6), np.zeros(6), np.array([2, 1, 2, 2, 2, 2], dtype=float))
    assert found.low is not None
    assert found.high is not None
    assert found.iid is not None
    assert found.high - found.low >= 0.9 * (found.iid.high - found.iid.low)


def test_nothing_and_one_task() -> None:
    zero, one = np.zeros(2), np.array([0.0, 1.0])
    assert inflation(zero, zero, zero, zero).reason == "no_episodes"
    alone = inflation(one, one, zero, zero)
    assert (alone.value, alone.low, alone.reason) == (0.5, None, "single_cluster")
    assert alone.iid is not None


cells = st.lists(st.tuples(*[st.integers(0, 4)] * 4), min_size=2, max_size=25)


@given(cells)
def test_swapping_judge_and_truth_negates_it(rows: list[tuple[int, int, int, int]]) -> None:
    tp, fp, fn, tn = np.array(rows, dtype=float).T
    found, swapped = inflation(tp, fp, fn, tn), inflation(tp, fn, fp, tn)
    if found.value is None:
        assert swapped.value is None
        return
    assert swapped.value == -found.value
    if found.low is None or found.high is None:
        assert (swapped.low, found.reason) == (None, "single_cluster")
        return
    assert (swapped.low, swapped.high) == pytest.approx((-found.high, -found.low), abs=1e-9)
    assert -1 <= found.low <= found.value <= found.high <= 1
    assert found.low < found.high
