"""Ranks of agents by truth and by judge."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import kendalltau, rankdata

from pyrite.metrics import rank
from pyrite.metrics.rank import kendall_tau_b, ranking, ranks

VALUES = hnp.arrays(np.float64, st.integers(2, 12), elements=st.integers(0, 5).map(lambda k: k / 5))


def test_examples() -> None:
    assert doctest.testmod(rank).failed == 0


@given(VALUES)
def test_ranks_are_those_of_scipy(values: np.ndarray) -> None:
    assert ranks(values).tolist() == rankdata(-values).tolist()


@given(VALUES, st.data())
def test_tau_b_is_that_of_scipy(x: np.ndarray, data: st.DataObject) -> None:
    y = np.array([data.draw(st.integers(0, 4)) / 4 for _ in x])
    found = kendall_tau_b(x, y)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert found is None
    else:
        assert found == pytest.approx(float(kendalltau(x, y).statistic))


def crossed(true: list[int], judged: list[int], tasks: int) -> tuple[np.ndarray, ...]:
    """Agents on the same tasks; agent g passes its first true[g], is accepted on its first judged[g]."""
    group = np.repeat(np.arange(len(true)), tasks)
    cluster = np.tile(np.arange(tasks), len(true))
    return cluster < np.repeat(true, tasks), cluster < np.repeat(judged, tasks), cluster, group


def test_a_swap_is_seen() -> None:
    found = ranking(*crossed([30, 20, 10], [18, 22, 4], 40), resamples=500)
    assert found.true_rank.tolist() == [1, 2, 3]
    assert found.judged_rank.tolist() == [2, 1, 3]
    assert [one.same_order for one in found.pairs] == [False, True, True]
    assert found.concordance.value == pytest.approx(2 / 3)
    assert found.tau_b == pytest.approx(1 / 3)
    assert found.pairs[0].probability is not None
    assert found.pairs[0].probability < 0.1
    assert found.pairs[1].probability == 1.0


def test_a_perfect_judge_keeps_every_order() -> None:
    passed, _, cluster, group = crossed([30, 20, 10], [0, 0, 0], 40)
    found = ranking(passed, passed, cluster, group, resamples=300)
    assert found.concordance.value == found.tau_b == 1.0
    assert found.concordance.low is not None
    assert all(one.probability is not None and one.probability > 0.99 for one in found.pairs)


def test_level_agents_are_a_tie_and_not_an_agreement() -> None:
    found = ranking(*crossed([10, 10], [5, 8], 40), resamples=200)
    assert found.pairs[0].same_order is None
    assert found.concordance.value == 0.5
    assert found.true_rank.tolist() == [1.5, 1.5]
    assert found.tau_b is None


def test_the_order_of_rows_and_the_names_of_tasks_change_nothing() -> None:
    passed, accepted, cluster, group = crossed([30, 20, 10], [18, 22, 4], 40)
    shuffled = np.random.default_rng(1).permutation(len(passed))
    renamed = (39 - cluster)[shuffled]
    first = ranking(passed, accepted, cluster, group, resamples=300)
    second = ranking(passed[shuffled], accepted[shuffled], renamed, group[shuffled], resamples=300)
    assert first.pairs == second.pairs
    assert first.concordance == second.concordance


def test_one_agent_one_task_and_nothing() -> None:
    one = ranking(*crossed([3], [4], 10))
    assert (one.concordance.value, one.concordance.reason, one.tau_b) == (None, "one_group", None)
    alone = ranking(*crossed([1, 0], [1, 1], 1))
    assert alone.concordance.reason == "single_cluster"
    assert alone.pairs[0].probability is None
    empty = np.zeros(0, dtype=np.int64)
    assert ranking(empty == 1, empty == 1, empty, empty).concordance.reason == "one_group"


def test_agents_on_few_tasks_get_no_interval_from_resamples_without_them() -> None:
    passed, accepted, cluster, group = crossed([30, 20], [18, 22], 40)
    kept = (group == 0) | (cluster == 3)
    found = ranking(passed[kept], accepted[kept], cluster[kept], group[kept], resamples=300)
    assert found.concordance.reason == "unstable_resamples"
    assert found.concordance.low is None
