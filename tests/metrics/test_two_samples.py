"""Paired rates and a rate that has moved: against the closed forms, scipy and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.metrics.paired import newcombe_10
from pyrite.metrics.two_samples import paired_rates, rate_change

RATES = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=30)


def test_the_mean_over_tasks_with_students_t() -> None:
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(7)
    first, second = rng.random(12), rng.random(12)
    found = paired_rates(first, second, estimand="x")
    low, high = stats.t.interval(0.95, 11, loc=np.mean(second - first), scale=stats.sem(second - first))
    assert found.value == pytest.approx(np.mean(second - first))
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.method == "variance between tasks, t"


def test_few_tasks_that_differ_fall_back_on_newcombe() -> None:
    first, second = np.array([0, 0, 0, 1, 1.0]), np.array([1, 1, 0, 1, 1.0])
    found = paired_rates(first, second, estimand="x")
    assert (found.low, found.high) == pytest.approx(newcombe_10(2, 2, 0, 1)[:2])
    alike = paired_rates(np.zeros(9), np.full(9, 1.0), estimand="x")
    assert alike.value == 1
    assert alike.low is not None
    assert alike.low < 0.8


def test_families_are_the_unit_where_they_are_given() -> None:
    first, second = np.zeros(12), np.array([0, 1.0] * 6)
    own = paired_rates(first, second, estimand="x")
    kin = paired_rates(first, second, np.arange(12) // 6, estimand="x", unit="family")
    assert kin.clusters == 2
    assert own.value == kin.value
    assert kin.high - kin.low > own.high - own.low  # type: ignore[operator]


def test_nothing_and_one_task_are_no_interval() -> None:
    none = paired_rates(np.zeros(0), np.zeros(0), estimand="x")
    assert (none.value, none.reason) == (None, "no_common_task")
    one = paired_rates(np.zeros(1), np.ones(1), estimand="x")
    assert (one.value, one.low, one.reason) == (1.0, None, "single_cluster")


@given(RATES)
def test_swapping_the_sides_negates(pairs: list[tuple[float, float]]) -> None:
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    there, back = paired_rates(first, second, estimand="x"), paired_rates(second, first, estimand="x")
    assert there.value == pytest.approx(-back.value, abs=1e-9)  # type: ignore[operator]
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low), abs=1e-9)  # type: ignore[operator]
    assert -1 <= there.low <= there.value <= there.high <= 1  # type: ignore[operator]


COUNTS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5), st.integers(0, 5)), max_size=20
)


@given(COUNTS)
def test_a_change_is_inside_its_interval_and_negates(rows: list[tuple[int, int, int, int]]) -> None:
    cells = np.array(rows, dtype=np.float64).reshape(-1, 4)
    before, after = (cells[:, 0], cells[:, 0] + cells[:, 1]), (cells[:, 2], cells[:, 2] + cells[:, 3])
    found, back = rate_change(before, after, estimand="x"), rate_change(after, before, estimand="x")
    if found.value is None:
        assert not (before[1].sum() and after[1].sum())
        return
    assert back.value == pytest.approx(-found.value)
    if found.low is None or found.high is None:
        assert found.reason == "single_cluster"
        return
    assert -1 <= found.low <= found.value <= found.high <= 1
    assert (back.low, back.high) == pytest.approx((-found.high, -found.low), abs=1e-9)


def test_a_change_of_independent_episodes_is_the_textbook_interval() -> None:
    """One episode a task, no task in both: the pooled-free normal variance, with t on K - 1."""
    stats = pytest.importorskip("scipy.stats")
    hits, have = np.zeros(400), np.zeros(400)
    had = np.zeros(400)
    had[:200], have[200:] = 1, 1
    before = np.zeros(400)
    before[:20], hits[200:260] = 1, 1
    found = rate_change((before, had), (hits, have), estimand="x")
    error = np.sqrt(400 / 399 * (0.1 * 0.9 / 200 + 0.3 * 0.7 / 200))
    half = stats.t.ppf(0.975, 399) * error
    assert found.value == pytest.approx(0.2)
    assert (found.low, found.high) == pytest.approx((0.2 - half, 0.2 + half))


def test_shared_tasks_make_a_change_sharper() -> None:
    rng = np.random.default_rng(3)
    hard = rng.random(60) < 0.4
    five = np.full(60, 5.0)
    before, after = np.where(hard, 4.0, 0.0), np.where(hard, 5.0, 0.0)
    together = rate_change((before, five), (after, five), estimand="x")
    none = np.zeros(60)
    alone = [
        (np.append(before, none), np.append(five, none)),
        (np.append(none, after), np.append(none, five)),
    ]
    apart = rate_change(*alone, estimand="x")
    assert together.value == pytest.approx(apart.value)
    assert together.high - together.low < 0.6 * (apart.high - apart.low)  # type: ignore[operator]


def test_coverage_of_a_change(record_property: pytest.FixtureRequest) -> None:
    """Rates of 6 % and 10 %, 40 tasks of 8 episodes that share their luck: near 95 % of intervals hold."""
    rng = np.random.default_rng(11)
    hits = 0
    for _ in range(600):
        tasks = rng.beta(2, 20, size=40)
        before = rng.binomial(8, np.clip(tasks * 0.66, 0, 1)).astype(float)
        after = rng.binomial(8, np.clip(tasks * 1.1, 0, 1)).astype(float)
        eight = np.full(40, 8.0)
        found = rate_change((before, eight), (after, eight), estimand="x")
        hits += found.low <= (1.1 - 0.66) * 2 / 22 <= found.high  # type: ignore[operator]
    assert 0.92 <= hits / 600 <= 0.99
    record_property("figure", f"change of the indeterminate share: intervals hold in {hits} of 600 draws")  # type: ignore[operator]
