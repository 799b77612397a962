"""Corrected success rates against printed values, ppi-python and a delta-method oracle; refusals."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrite.metrics.correction import Corrected, Proportion, ppi_mean, rogan_gladen

TRUTH = np.repeat([1.0, 1, 0, 0], [18, 2, 12, 68])
JUDGED = np.repeat([1.0, 0, 1, 0], [18, 2, 12, 68])
ONLY = np.repeat([1.0, 0], [300, 600])


def ends(found: Corrected) -> tuple[float, float]:
    assert found.estimate.low is not None
    assert found.estimate.high is not None
    return found.estimate.low, found.estimate.high


def test_the_worked_example() -> None:
    found = rogan_gladen(Proportion(200 / 400, 400), Proportion(36 / 40, 40), Proportion(34 / 40, 40))
    assert found.estimate.value == pytest.approx(0.4667, abs=5e-5)
    assert ends(found) == pytest.approx((0.3362, 0.5879), abs=5e-5)
    assert found.youden == pytest.approx(0.75)
    # the delta method, which is not used, gives .3492 to .5842
    theta, j = 7 / 15, 0.75
    se = math.sqrt(0.25 / 400 + (1 - theta) ** 2 * 0.85 * 0.15 / 40 + theta**2 * 0.9 * 0.1 / 40) / j
    assert (theta - 1.959964 * se, theta + 1.959964 * se) == pytest.approx((0.3492, 0.5842), abs=5e-5)


def test_few_judged_episodes_widen_the_interval() -> None:
    found = rogan_gladen(Proportion(0.5, 20), Proportion(36 / 40, 40), Proportion(34 / 40, 40))
    assert ends(found) == pytest.approx((0.162, 0.762), abs=5e-4)


def test_the_other_worked_example() -> None:
    # TPR 18/20 and TNR 68/80 as scored; 300 of 900 others are accepted
    found = rogan_gladen(Proportion(300 / 900, 900), Proportion(0.9, 20), Proportion(0.85, 80))
    assert found.estimate.value == pytest.approx(0.2444, abs=5e-5)
    assert ends(found) == pytest.approx((0.1423, 0.3573), abs=5e-5)


def test_a_rate_below_the_false_positives_is_clipped_and_said() -> None:
    found = rogan_gladen(Proportion(0.10, 200), Proportion(0.9, 40), Proportion(0.85, 40))
    assert found.estimate.value == 0
    assert any("below what false positives alone would give" in text for text in found.warnings)
    above = rogan_gladen(Proportion(0.99, 200), Proportion(0.9, 40), Proportion(0.85, 40))
    assert above.estimate.value == 1
    assert any("clipped to 1" in text for text in above.warnings)


def test_a_weak_judge_is_warned_of_and_a_useless_one_refused() -> None:
    weak = rogan_gladen(Proportion(0.5, 200), Proportion(0.6, 40), Proportion(0.6, 40))
    assert any("0.20" in text for text in weak.warnings)
    for tpr, tnr in ((0.5, 0.5), (0.2, 0.3), (1.0, 0.0)):
        useless = rogan_gladen(Proportion(0.5, 200), Proportion(tpr, 40), Proportion(tnr, 40))
        assert (useless.estimate.value, useless.estimate.reason) == (None, "judge_no_better_than_chance")


def test_what_is_missing_is_named() -> None:
    half = Proportion(0.5, 40)
    assert rogan_gladen(half, None, half).estimate.reason == "no_positives"
    assert rogan_gladen(half, half, None).estimate.reason == "no_negatives"
    assert rogan_gladen(Proportion(0.0, 0), half, half).estimate.reason == "no_unscored_episodes"
    assert ppi_mean(TRUTH, JUDGED, np.zeros(0)).estimate.reason == "no_unscored_episodes"
    assert ppi_mean(TRUTH[:1], JUDGED[:1], ONLY).estimate.reason == "too_few_scored_episodes"


@pytest.mark.parametrize(
    ("weight", "value", "low", "high"),
    [(0.0, 0.200, 0.1216, 0.2784), (1.0, 0.2333, 0.1562, 0.3104), (None, 0.2163, 0.1547, 0.2779)],
)
def test_prediction_powered(weight: float | None, value: float, low: float, high: float) -> None:
    found = ppi_mean(TRUTH, JUDGED, ONLY, weight=weight)
    assert found.estimate.value == pytest.approx(value, abs=5e-5)
    assert ends(found) == pytest.approx((low, high), abs=5e-5)
    if weight is None:
        assert found.weight == pytest.approx(0.488, abs=5e-4)


def test_ppi_python_agrees() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

    rng = np.random.default_rng(1)
    for n, others in ((50, 400), (100, 900), (200, 100)):
        y = (rng.random(n) < 0.3).astype(float)
        f = np.where(rng.random(n) < 0.85, y, 1 - y)
        u = (rng.random(others) < 0.4).astype(float)
        for weight in (0.0, 1.0, None):
            found = ppi_mean(y, f, u, weight=weight)
            given_ = None if weight is None else weight
            assert found.estimate.value == pytest.approx(
                ppi_mean_pointestimate(y, f, u, lam=given_)[0], abs=1e-9
            )
            low, high = ppi_mean_ci(y, f, u, alpha=0.05, lam=given_)
            assert ends(found) == pytest.approx((low[0], high[0]), abs=1e-9)


def test_a_judge_that_always_says_the_same_falls_back_on_the_true_outcomes() -> None:
    found = ppi_mean(TRUTH, np.ones(100), np.ones(500))
    assert found.weight == 0
    assert found.estimate.value == pytest.approx(0.2)


def test_a_perfect_judge() -> None:
    found = ppi_mean(TRUTH, TRUTH, ONLY, weight=1.0)
    assert found.estimate.value == pytest.approx(ONLY.mean())
    exact = rogan_gladen(Proportion(1 / 3, 900), Proportion(1.0, 20), Proportion(1.0, 80))
    assert exact.estimate.value == pytest.approx(1 / 3)
    constant = ppi_mean(np.ones(5), np.ones(5), np.ones(5))
    assert (constant.estimate.value, constant.estimate.reason) == (1, "no_variation")


def test_alike_episodes_of_a_task_widen_the_interval() -> None:
    rng = np.random.default_rng(2)
    y = np.repeat((rng.random(30) < 0.4).astype(float), 10)
    f = np.where(np.repeat(rng.random(30) < 0.85, 10), y, 1 - y)
    u = np.repeat((rng.random(40) < 0.5).astype(float), 10)
    found = ppi_mean(y, f, u, cluster=np.repeat(np.arange(30), 10), cluster_only=np.repeat(np.arange(40), 10))
    assert found.estimate.iid is not None
    low, high = ends(found)
    assert high - low > 2 * (found.estimate.iid.high - found.estimate.iid.low)
    assert found.estimate.clusters == 40
    alone = ppi_mean(y, f, u, cluster=np.zeros(300, dtype=int), cluster_only=np.zeros(400, dtype=int))
    assert (alone.estimate.low, alone.estimate.reason) == (None, "single_cluster")


shares = st.floats(0, 1)
sizes = st.integers(1, 2000)


@given(shares, sizes, shares, sizes, shares, sizes)
@settings(deadline=None, max_examples=200)
def test_rogan_gladen_is_sound(p: float, n: int, tpr: float, m1: int, tnr: float, m0: int) -> None:
    found = rogan_gladen(Proportion(p, n), Proportion(tpr, m1), Proportion(tnr, m0)).estimate
    if tpr + tnr - 1 <= 0:
        assert (found.value, found.reason) == (None, "judge_no_better_than_chance")
    if found.value is not None:
        assert 0 <= found.value <= 1
    if found.low is not None and found.high is not None and found.value is not None:
        assert 0 <= found.low <= found.value <= found.high <= 1
    assert (found.low is None) == (found.reason is not None)


binary = st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 5)), min_size=2, max_size=40)


@given(binary, st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=1, max_size=40))
@settings(deadline=None, max_examples=100)
def test_ppi_is_sound(rows: list[tuple[bool, bool, int]], only: list[tuple[bool, int]]) -> None:
    y, f, task = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    u, other = (np.array(column, dtype=float) for column in zip(*only, strict=True))
    codes = {"cluster": task.astype(int), "cluster_only": other.astype(int)}
    assert ppi_mean(y, f, u, weight=0.0, **codes).estimate.value == pytest.approx(y.mean())  # type: ignore[arg-type]
    found = ppi_mean(y, f, u, **codes)  # type: ignore[arg-type]
    assert found.weight is not None
    assert 0 <= found.weight <= 1
    assert found.estimate.value is not None
    assert 0 <= found.estimate.value <= 1
    assert (found.estimate.low is None) == (found.estimate.reason is not None)
