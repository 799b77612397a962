"""FDR at another success rate, and with one accepted episode a task."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.metrics import fdr
from pyrite.metrics.fdr import Rate, effective, fdr_at, projected_fdr, task_shares


def test_examples() -> None:
    assert doctest.testmod(fdr).failed == 0


@pytest.mark.parametrize(
    ("success", "value", "low", "high"),
    [(0.2, 0.40, 0.275, 0.531), (0.5, 0.1429, 0.086, 0.220), (0.8, 0.04, 0.023, 0.066)],
)
def test_projection_of_m1(success: float, value: float, low: float, high: float) -> None:
    found = projected_fdr(Rate(0.15, 80), Rate(0.9, 20), success)
    assert found.value == pytest.approx(value, abs=5e-5)
    assert found.low == pytest.approx(low, abs=0.002), "printed by Monte Carlo, to .002"
    assert found.high == pytest.approx(high, abs=0.002)


def test_quantiles_are_those_of_drawing() -> None:
    generator = np.random.default_rng(5)
    f = generator.beta(3 + 0.5, 57 + 0.5, 400_000)
    t = generator.beta(30 + 0.5, 10 + 0.5, 400_000)
    drawn = 0.6 * f / (0.6 * f + 0.4 * t)
    found = projected_fdr(Rate(0.05, 60), Rate(0.75, 40), 0.4, level=0.9)
    assert found.low == pytest.approx(float(np.quantile(drawn, 0.05)), abs=5e-4)
    assert found.high == pytest.approx(float(np.quantile(drawn, 0.95)), abs=5e-4)


@given(st.integers(1, 200), st.integers(1, 200), st.data())
def test_at_the_samples_own_base_rate_it_is_the_samples_fdr(
    positives: int, negatives: int, data: st.DataObject
) -> None:
    tp, fp = data.draw(st.integers(0, positives)), data.draw(st.integers(0, negatives))
    pi = positives / (positives + negatives)
    found = fdr_at(fp / negatives, tp / positives, pi)
    if tp + fp == 0:
        assert found is None
    else:
        assert found == pytest.approx(fp / (tp + fp))


@pytest.mark.parametrize(
    ("fpr", "tpr", "success", "reason"),
    [
        (None, Rate(0.9, 20), 0.5, "no_negatives"),
        (Rate(0.1, 20), None, 0.5, "no_positives"),
        (Rate(0.1, 20), Rate(0.9, 20), None, "no_success_rate"),
        (Rate(0.0, 20), Rate(0.0, 20), 0.5, "nothing_accepted"),
        (Rate(0.0, 20), Rate(0.9, 20), 0.0, "nothing_accepted"),
    ],
)
def test_what_is_unknown_is_null_with_its_reason(
    fpr: Rate | None, tpr: Rate | None, success: float | None, reason: str
) -> None:
    found = projected_fdr(fpr, tpr, success)
    assert (found.value, found.low, found.reason) == (None, None, reason)


def test_one_class_is_exact() -> None:
    assert projected_fdr(Rate(0.1, 20), Rate(0.9, 20), 1.0).value == 0.0
    assert projected_fdr(Rate(0.1, 20), Rate(0.9, 20), 0.0).value == 1.0


def test_unsolvable_tasks_are_pure_poison() -> None:
    """Half of the tasks at pi 0, half at .4; TPR .9, FPR .1: .3077 pooled, .5714 balanced."""
    fp = np.array([10.0] * 10 + [6.0] * 10)
    tp = np.array([0.0] * 10 + [36.0] * 10)
    pooled = fp.sum() / (fp + tp).sum()
    assert round(float(pooled), 4) == 0.3077
    assert round(float(task_shares(fp, tp).mean()), 4) == 0.5714


def test_tasks_without_an_accepted_episode_have_no_share() -> None:
    assert task_shares(np.zeros(3), np.zeros(3)).size == 0


def test_a_single_cluster_has_no_effective_size() -> None:
    assert effective(np.array([1.0, 0.0]), np.array([9.0, 0.0])) is None
