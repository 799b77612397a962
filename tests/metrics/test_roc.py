"""AUC and DET points against scikit-learn, DeLong by hand and simulated truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import det_curve, roc_auc_score

from pyrite.metrics.roc import auc, det_points

P = np.array([0.95, 0.95, 0.90, 0.85, 0.80, 0.60, 0.55, 0.30, 0.20, 0.05])
Y = np.array([1, 0, 1, 0, 1, 1, 0, 0, 0, 0], dtype=bool)


def test_the_worked_example() -> None:
    found = auc(P, Y, np.arange(10))
    assert found.value == pytest.approx(0.7708, abs=5e-5)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.7708 < found.high < 1


def test_delong_by_hand() -> None:
    found = auc(P, Y, np.arange(10))
    high, low = P[Y], P[~Y]
    psi = (high[:, None] > low).astype(float) + 0.5 * (high[:, None] == low)
    variance = psi.mean(axis=1).var(ddof=1) / len(high) + psi.mean(axis=0).var(ddof=1) / len(low)
    value = psi.mean()
    half = 1.959964 * np.sqrt(variance) / (value * (1 - value))
    centre = np.log(value / (1 - value))
    expected = 1 / (1 + np.exp(-np.array([centre - half, centre + half])))
    assert found.iid is not None
    assert found.iid[:2] == pytest.approx(tuple(expected), abs=1e-6)


def test_obuchowski_by_hand() -> None:
    task = np.array([0, 1, 1, 0, 2, 3, 2, 3, 4, 4])
    high, low = np.flatnonzero(Y), np.flatnonzero(~Y)
    psi = (P[high][:, None] > P[low]).astype(float) + 0.5 * (P[high][:, None] == P[low])
    theta, m, n = psi.mean(), len(high), len(low)
    up = [sum(psi[i].mean() - theta for i in range(m) if task[high[i]] == k) for k in range(5)]
    down = [sum(psi[:, j].mean() - theta for j in range(n) if task[low[j]] == k) for k in range(5)]
    tens, ones = len(set(task[high])), len(set(task[low]))
    s10 = tens / ((tens - 1) * m) * sum(x * x for x in up)
    s01 = ones / ((ones - 1) * n) * sum(x * x for x in down)
    s11 = 5 / 4 * sum(x * y for x, y in zip(up, down, strict=True))
    variance = s10 / m + s01 / n + 2 * s11 / (m * n)
    from scipy.stats import t

    half = t.ppf(0.975, min(tens, ones) - 1) * np.sqrt(variance) / (theta * (1 - theta))
    centre = np.log(theta / (1 - theta))
    found = auc(P, Y, task)
    assert found.low == pytest.approx(1 / (1 + np.exp(half - centre)), abs=1e-9)
    assert found.high == pytest.approx(1 / (1 + np.exp(-half - centre)), abs=1e-9)


@pytest.mark.parametrize(
    ("passed", "reason"), [([True, True], "no_negatives"), ([False], "no_positives"), ([], "no_episodes")]
)
def test_one_sided_truth_has_none(passed: list[bool], reason: str) -> None:
    found = auc(np.ones(len(passed)), np.array(passed, dtype=bool), np.arange(len(passed)))
    assert (found.value, found.low, found.reason) == (None, None, reason)
    assert det_points(np.ones(len(passed)), np.array(passed, dtype=bool)) == []


def test_perfect_separation_has_no_interval_of_no_width() -> None:
    found = auc(np.array([1.0, 2, 3, 4]), np.array([False, False, True, True]), np.arange(4))
    assert (found.value, found.low, found.reason, found.iid) == (1, None, "no_variation", None)
    single = auc(P, Y, np.zeros(10, dtype=int))
    assert (single.low, single.reason) == (None, "single_cluster")
    assert single.iid is not None


def test_alike_episodes_widen_the_interval() -> None:
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(40), 6)
    passed = np.repeat(rng.random(40) < 0.5, 6)
    scores = np.repeat(rng.normal(size=40), 6) + passed
    found = auc(scores, passed, task)
    assert found.low is not None
    assert found.high is not None
    assert found.iid is not None
    assert found.high - found.low > 1.8 * (found.iid.high - found.iid.low)


def test_points_are_the_det_curve() -> None:
    points = det_points(P, Y)
    assert (points[0].threshold, points[0].fpr, points[0].fnr) == (None, 0, 1)
    assert (points[-1].fpr, points[-1].fnr) == (1, 0)
    fpr, fnr, cuts = det_curve(Y, P, drop_intermediate=False)
    known = {point.threshold: (point.fpr, point.fnr) for point in points}
    for at, cut in enumerate(cuts):
        if np.isfinite(cut):
            assert known[float(cut)] == pytest.approx((fpr[at], fnr[at]))


def test_many_points_are_thinned_and_keep_both_ends() -> None:
    rng = np.random.default_rng(0)
    scores, passed = rng.random(5000), rng.random(5000) < 0.3
    points = det_points(scores, passed, limit=50)
    assert len(points) == 50
    assert points[1].threshold == scores.max()
    assert points[-1].threshold == scores.min()


def test_unreadable_scores_rank_last_and_are_never_accepted() -> None:
    scores = np.array([0.9, np.nan, 0.1, np.nan])
    passed = np.array([True, True, False, False])
    assert auc(scores, passed, np.arange(4)).value == pytest.approx((1 + 1 + 0 + 0.5) / 4)
    assert det_points(scores, passed)[-1].fpr == 0.5


scored = st.lists(st.tuples(st.integers(0, 6), st.booleans(), st.integers(0, 5)), min_size=2, max_size=50)


@given(scored, st.integers(0, 999))
@settings(deadline=None, max_examples=100)
def test_agrees_with_scikit_learn_and_forgets_the_order(rows: list[tuple[int, bool, int]], seed: int) -> None:
    score, y, task = (np.array(column) for column in zip(*rows, strict=True))
    assume(0 < y.sum() < len(y))
    found = auc(score.astype(float), y, task)
    assert found.value == pytest.approx(roc_auc_score(y, score))
    order = np.random.default_rng(seed).permutation(len(y))
    again = auc(score[order].astype(float), y[order], task[order])
    assert again.low == (None if found.low is None else pytest.approx(found.low, abs=1e-9))
    turned = auc(-score.astype(float), ~y, task)
    assert turned.value == pytest.approx(found.value)
    if found.low is not None and found.high is not None and found.value is not None:
        assert 0 <= found.low <= found.value <= found.high <= 1
