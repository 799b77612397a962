"""One-sided bounds and the three answers of a gate, against printed values and properties."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from pyrite.metrics import gate
from pyrite.metrics.gate import (
    Answer,
    Bound,
    all_of,
    at_least,
    at_most,
    bound,
    clustered_bound,
    mean_bound,
    within,
)
from pyrite.metrics.intervals import lower_bound, upper_bound

SIZES = st.lists(st.integers(1, 6), min_size=2, max_size=60)


def test_examples() -> None:
    assert doctest.testmod(gate).failed == 0


def independent(k: int, n: int) -> Bound:
    return Bound(k / n, lower_bound(k / n, n), upper_bound(k / n, n), n)


@pytest.mark.parametrize(
    ("k", "n", "answer", "end", "printed"),
    [
        (0, 60, Answer.PASS, "high", 0.0487),
        (1, 60, Answer.INSUFFICIENT, "high", 0.0766),
        (3, 60, Answer.INSUFFICIENT, None, None),
        (2, 150, Answer.PASS, "high", 0.0414),
        (8, 60, Answer.FAIL, "low", 0.0681),
    ],
)
def test_the_answers_at_a_limit_of_5_percent(
    k: int, n: int, answer: Answer, end: str | None, printed: float | None
) -> None:
    found = independent(k, n)
    assert at_most(found, 0.05) is answer
    if end is not None:
        assert round(getattr(found, end), 4) == printed


@pytest.mark.parametrize(
    ("k", "n", "printed"),
    [
        (0, 59, 0.04951),
        (0, 58, 0.05034),
        (1, 93, 0.04999),
        (1, 92, 0.05053),
        (2, 124, 0.04990),
        (12, 80, 0.23168),
    ],
)
def test_one_sided_upper_bounds(k: int, n: int, printed: float) -> None:
    assert round(upper_bound(k / n, n), 5) == printed
    assert upper_bound(k / n, n) == pytest.approx(beta.ppf(0.95, k + 1, n - k))


@pytest.mark.parametrize(("events", "printed"), [(4, 0.0579), (5, 0.0579)])
def test_one_more_task_with_a_false_positive_does_not_tighten_the_bound(events: int, printed: float) -> None:
    f = np.zeros(80)
    f[:events] = 1
    found = clustered_bound(f, np.full(80, 4.0), empty="no_negatives")
    assert found.high is not None
    assert round(found.high, 4) == printed


def test_without_the_floor_the_fifth_would_have() -> None:
    f = np.zeros(80)
    f[:5] = 1
    found = clustered_bound(f, np.full(80, 4.0), empty="no_negatives")
    assert found.size is not None
    assert found.value is not None
    assert round(upper_bound(found.value, found.size), 4) == 0.0328


@pytest.mark.parametrize(
    ("totals", "events"),
    [([1, 1, 1, 1, 2, 2, 2, 5, 1], 7), ([1] * 20 + [100], 20), ([5] * 4 + [1] * 9, 12)],
)
def test_where_the_effective_size_jumps_the_bound_does_not_fall(totals: list[int], events: int) -> None:
    n = np.array(totals, dtype=np.float64)
    f = np.zeros(len(n))
    bounds = []
    for place in range(events + 1):
        bounds.append(clustered_bound(f, n, empty="x").high)
        f[place] = 1
    bounds.append(clustered_bound(f, n, empty="x").high)
    assert None not in bounds
    assert bounds == sorted(bounds, key=lambda bound: bound or 0.0)


@given(SIZES, st.integers(0, 59), st.data())
def test_an_episode_that_turns_false_positive_never_lowers_the_bound(
    sizes: list[int], events: int, data: st.DataObject
) -> None:
    n = np.array(sizes, dtype=np.float64)
    order = data.draw(st.permutations(range(len(sizes))))
    events = min(events, len(sizes) - 1)
    f = np.zeros(len(sizes))
    f[order[:events]] = 1
    before = clustered_bound(f, n, empty="x").high
    f[order[events]] = 1
    after = clustered_bound(f, n, empty="x").high
    assert before is not None
    assert after is not None
    assert after >= before - 1e-12


@given(SIZES, st.data())
def test_bounds_hold_the_value_and_mirror(sizes: list[int], data: st.DataObject) -> None:
    n = np.array(sizes, dtype=np.float64)
    f = np.array([data.draw(st.integers(0, size)) for size in sizes], dtype=np.float64)
    found, mirrored = clustered_bound(f, n, empty="x"), clustered_bound(n - f, n, empty="x")
    assert found.low is not None
    assert found.high is not None
    assert found.value is not None
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert mirrored.high == pytest.approx(1 - found.low, abs=1e-9)
    assert mirrored.low == pytest.approx(1 - found.high, abs=1e-9)


def test_nothing_and_one_task_have_no_bound() -> None:
    none = bound(np.zeros(0, dtype=np.bool_), np.zeros(0, dtype=np.int32), empty="no_negatives")
    assert (none.value, none.high, none.reason) == (None, None, "no_negatives")
    alone = bound(np.zeros(9, dtype=np.bool_), np.zeros(9, dtype=np.int32), empty="no_negatives")
    assert (alone.value, alone.high, alone.reason) == (0.0, None, "single_cluster")
    assert at_most(none, 0.05) is at_most(alone, 0.05) is Answer.INSUFFICIENT
    assert at_least(none, 0.05) is Answer.INSUFFICIENT


def test_families_that_share_a_fault_widen_the_bounds() -> None:
    task = np.arange(60, dtype=np.int32)
    family = (task // 10).astype(np.int32)
    accepted = family == 0
    by_task, by_both = bound(accepted, task, empty="x"), bound(accepted, task, family, empty="x")
    assert by_both.high is not None
    assert by_task.high is not None
    assert by_both.high > by_task.high
    assert bound(accepted, task, np.zeros(60, dtype=np.int32), empty="x") == by_task


def test_a_pass_needs_every_line_and_at_least_one() -> None:
    assert all_of([Answer.PASS] * 10) is Answer.PASS
    assert all_of([Answer.PASS] * 9 + [Answer.INSUFFICIENT]) is Answer.INSUFFICIENT
    assert all_of([Answer.PASS, Answer.INSUFFICIENT, Answer.FAIL]) is Answer.FAIL
    assert all_of([]) is Answer.INSUFFICIENT


@pytest.mark.parametrize(("limit", "n"), [(0.05, 59), (0.10, 29), (0.02, 149), (0.01, 299)])
def test_how_many_without_an_event_are_needed(limit: float, n: int) -> None:
    assert gate.needed(limit) == n
    assert upper_bound(0, n) <= limit < upper_bound(0, n - 1)


def test_no_limit_is_no_number() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        gate.needed(0.0)


def test_the_mean_of_one_value_a_task() -> None:
    few = mean_bound(np.array([1.0, *[0.0] * 19]), empty="x")
    assert few.high == pytest.approx(upper_bound(1 / 20, 20))
    many = mean_bound(np.array([1.0, 0.0] * 20), empty="x")
    assert many.high == pytest.approx(0.5 + 1.684875 * np.sqrt(10 / 39 / 40), abs=1e-4)
    assert mean_bound(np.zeros(0), empty="nothing_accepted").reason == "nothing_accepted"
    assert mean_bound(np.zeros(1), empty="x").reason == "single_cluster"


@given(
    st.lists(st.integers(1, 5), min_size=2, max_size=20),
    st.integers(0, 1000),
    st.sampled_from([0.02, 0.05, 0.2, 0.5]),
)
def test_many_sets_at_once_are_judged_as_one_by_one(totals: list[int], seed: int, limit: float) -> None:
    n = np.array(totals, dtype=np.float64)
    generator = np.random.default_rng(seed)
    sets = generator.binomial(n.astype(np.int64), generator.random((6, 1)) ** 3, size=(6, len(n)))
    events = sets.astype(np.float64)
    together = within(events, n, limit)
    for one, kept in zip(events, together, strict=True):
        high = clustered_bound(one, n, empty="none").high
        assert high is not None
        if abs(high - limit) > 1e-9:
            assert bool(kept) == (high <= limit)
