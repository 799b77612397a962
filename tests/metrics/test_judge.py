"""All figures of a judge: the worked example, identities, zero denominators, tasks and families."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pyrite.metrics.judge import bootstrap_rates, cells, judge_figures, share
from pyrite.records import Estimate

Flags = NDArray[np.bool_]


def worked_example() -> tuple[Flags, Flags]:
    """100 episodes: TP 18, FN 2, FP 12, TN 68."""
    passed = np.array([True] * 20 + [False] * 80)
    accepted = np.array([True] * 18 + [False] * 2 + [True] * 12 + [False] * 68)
    return passed, accepted


def test_point_figures_of_the_worked_example() -> None:
    passed, accepted = worked_example()
    found = judge_figures(passed, accepted, np.arange(100) % 25)
    values = {name: found[name].value for name in ("fpr", "fdr", "tpr", "precision", "inflation")}
    assert values == pytest.approx({"fpr": 0.15, "fdr": 0.4, "tpr": 0.9, "precision": 0.6, "inflation": 0.1})
    iid = {name: found[name].iid for name in found}
    assert iid["fpr"][:2] == pytest.approx((0.0879, 0.2441), abs=5e-5)  # type: ignore[index]
    assert iid["fdr"][:2] == pytest.approx((0.2459, 0.5768), abs=5e-5)  # type: ignore[index]
    assert iid["tpr"][:2] == pytest.approx((0.6990, 0.9721), abs=5e-5)  # type: ignore[index]
    assert cells(passed, accepted, np.zeros(100, dtype=int)).totals() == (18, 12, 2, 68)


@pytest.mark.parametrize(
    ("passed", "accepted", "reasons"),
    [
        ([True, True], [True, False], {"fpr": "no_negatives", "kappa": "no_negatives"}),
        ([False, False], [True, False], {"tpr": "no_positives", "kappa": "no_positives"}),
        ([True, False], [False, False], {"fdr": "nothing_accepted", "precision": "nothing_accepted"}),
        ([], [], {"fpr": "no_negatives", "inflation": "no_episodes", "kappa": "no_episodes"}),
    ],
)
def test_zero_denominators_are_none_with_the_reason(
    passed: list[bool], accepted: list[bool], reasons: dict[str, str]
) -> None:
    found = judge_figures(
        np.array(passed, dtype=bool), np.array(accepted, dtype=bool), np.arange(len(passed)), resamples=50
    )
    for name, reason in reasons.items():
        assert (found[name].value, found[name].low, found[name].reason) == (None, None, reason)


def test_a_zero_count_over_something_is_a_zero() -> None:
    found = judge_figures(np.array([True, False]), np.array([False, False]), np.array([0, 1]))
    assert (found["fpr"].value, found["tpr"].value) == (0, 0)


def test_the_family_leads_where_its_interval_is_wider() -> None:
    # 12 families of 5 tasks of 2; judged by family: all accepted or none
    family = np.repeat(np.arange(12), 10)
    task = np.repeat(np.arange(60), 2)
    accepted = family % 2 == 0
    found = judge_figures(np.zeros(120, dtype=bool), accepted, task, family)["fpr"]
    assert found.method is not None
    assert found.method.startswith("Wilson, clustered by family")
    assert found.by_task is not None
    assert found.by_family is None
    assert found.high is not None
    assert found.low is not None
    assert found.high - found.low > found.by_task.high - found.by_task.low
    assert found.clusters == 12


def test_the_task_leads_where_its_interval_is_wider_and_the_other_stands_beside() -> None:
    # tasks are all or nothing, families alike: every one has half of its tasks accepted
    family = np.repeat(np.arange(12), 40)
    task = np.repeat(np.arange(120), 4)
    accepted = task % 2 == 0
    found = judge_figures(np.zeros(480, dtype=bool), accepted, task, family)["fpr"]
    assert found.method is not None
    assert "by task" in found.method
    assert found.by_family is not None


def test_one_family_says_so() -> None:
    passed, accepted = worked_example()
    found = judge_figures(passed, accepted, np.arange(100) % 25, np.zeros(100, dtype=int))["fpr"]
    assert found.method is not None
    assert found.method.endswith("(one family)")
    assert found.by_family is None


def test_share_of_nothing() -> None:
    found = share(
        np.zeros(0, dtype=bool),
        np.zeros(0, dtype=int),
        np.zeros(0, dtype=int),
        estimand="x",
        empty="no_such_failures",
    )
    assert (found.value, found.reason) == (None, "no_such_failures")


episodes = st.lists(
    st.tuples(st.booleans(), st.booleans(), st.integers(0, 7), st.integers(0, 3)), min_size=1, max_size=60
)


@given(episodes, st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_properties(rows: list[tuple[bool, bool, int, int]], seed: int) -> None:
    passed, accepted, task, family = (np.array(column) for column in zip(*rows, strict=True))
    found = judge_figures(passed, accepted, task, family, resamples=100)
    order = np.random.default_rng(seed).permutation(len(rows))
    again = judge_figures(passed[order], accepted[order], task[order], family[order], resamples=100)
    for name, one in found.items():
        _is_sound(name, one)
        assert again[name].value == one.value
        assert again[name].reason == one.reason
        assert again[name].low == (None if one.low is None else pytest.approx(one.low, abs=1e-9))
    tp, fp, fn, tn = cells(passed, accepted, task).totals()
    assert tp + fp + fn + tn == len(rows)
    fpr, tpr, inflation = (found[name].value for name in ("fpr", "tpr", "inflation"))
    if fpr is not None and tpr is not None:
        base = (tp + fn) / len(rows)
        assert inflation == pytest.approx((1 - base) * fpr - base * (1 - tpr), abs=1e-12)
    if found["fdr"].value is not None:
        assert found["precision"].value == pytest.approx(1 - found["fdr"].value)


def _is_sound(name: str, found: Estimate) -> None:
    numbers = [x for x in (found.value, found.low, found.high, found.n_eff) if x is not None]
    assert all(math.isfinite(x) for x in numbers)
    assert (found.value is None or found.low is None) == (found.reason is not None)
    if found.value is not None and found.low is not None and found.high is not None:
        floor = -1 if name in {"kappa", "inflation"} else 0
        assert floor <= found.low <= found.value <= found.high <= 1
        assert found.method


def test_the_bootstrap_stands_beside_and_is_none_where_it_says_nothing() -> None:
    task = np.repeat(np.arange(30), 4)
    passed = np.tile([True, False, False, False], 30)
    accepted = np.tile([True, True, False, False], 30)
    found = bootstrap_rates(passed, accepted, task, resamples=200)
    assert found == {"fpr": None, "tpr": None, "fdr": None}, "all tasks are alike: no width"
    accepted[:20] = False
    found = bootstrap_rates(passed, accepted, task, resamples=200)
    assert found["fpr"] is not None
    assert 0 < found["fpr"].low < accepted[~passed].mean() < found["fpr"].high < 1 / 3 + 1e-9
    rare = np.zeros(120, dtype=bool)
    rare[0] = True
    assert bootstrap_rates(passed, rare, task, resamples=200)["fdr"] is None
    assert bootstrap_rates(passed, accepted, np.zeros(120, dtype=int))["fpr"] is None
    assert bootstrap_rates(passed[:0], accepted[:0], task[:0])["fpr"] is None
