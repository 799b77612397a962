"""Simulated promises: a certificate violates its target at most as often as it says; corrections cover."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from pyrite.metrics.certificate import Sampling, certify
from pyrite.metrics.correction import Proportion, ppi_mean, rogan_gladen
from pyrite.metrics.roc import auc
from pyrite.metrics.thresholds import Policy, fixed_sequence

pytestmark = pytest.mark.slow

TARGET, DELTA = 0.05, 0.05
BETWEEN, WITHIN = 0.8, 0.6  # standard deviations; together 1: the score of a failed episode is N(0, 1)


def alike(rng: np.random.Generator, tasks: int, each: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores of failed episodes, alike within a task, and their tasks."""
    task = np.repeat(np.arange(tasks), each)
    return BETWEEN * rng.normal(size=tasks)[task] + WITHIN * rng.normal(size=tasks * each), task


def violates(threshold: float | None) -> bool:
    """Whether the true FPR of the threshold is above the target; accepting nothing is not."""
    return threshold is not None and float(scipy.stats.norm.sf(threshold)) > TARGET


@pytest.mark.parametrize("policy", ["fixed_sequence", "neyman_pearson"])
def test_a_certificate_violates_its_target_at_most_as_often_as_delta(policy: Policy) -> None:
    rng, runs = np.random.default_rng(1), 4000
    bad = chosen = 0
    for seed in range(runs):
        scores, task = alike(rng, 200, 4)  # 100 calibration tasks
        found = certify(
            scores,
            np.zeros(len(scores), dtype=bool),
            task,
            target=TARGET,
            delta=DELTA,
            policy=policy,
            seed=seed,
        )
        chosen += found.threshold.value is not None
        bad += violates(found.threshold.value)
    assert chosen == runs
    assert bad / runs <= DELTA + 3 * np.sqrt(DELTA * (1 - DELTA) / runs)
    # not vacuous: one of 100 is allowed, which has probability .0371
    assert bad / runs == pytest.approx(0.0371, abs=0.012)


def test_taking_the_episodes_of_a_task_for_independent_breaks_the_promise() -> None:
    rng, runs = np.random.default_rng(2), 2000
    bad = 0
    for _ in range(runs):
        scores, _ = alike(rng, 50, 16)
        bad += violates(fixed_sequence(scores, TARGET, DELTA).value)
    assert bad / runs > 2 * DELTA


@pytest.mark.parametrize(("sampling", "most"), [("max_per_task", 0.05), ("effective_size", 0.08)])
def test_the_other_samplings(sampling: Sampling, most: float) -> None:
    rng, runs = np.random.default_rng(3), 1000
    bad = 0
    for seed in range(runs):
        scores, task = alike(rng, 200, 4)
        none = np.zeros(len(scores), dtype=bool)
        found = certify(scores, none, task, target=TARGET, delta=DELTA, sampling=sampling, seed=seed)
        bad += violates(found.threshold.value)
    assert bad / runs <= most


def test_the_conformal_rule_holds_on_average_only() -> None:
    rng, runs = np.random.default_rng(4), 2000
    rates = []
    for seed in range(runs):
        scores, task = alike(rng, 200, 4)
        none = np.zeros(len(scores), dtype=bool)
        found = certify(scores, none, task, target=TARGET, policy="conformal", seed=seed).threshold.value
        rates.append(0.0 if found is None else float(scipy.stats.norm.sf(found)))
    assert np.mean(rates) <= TARGET + 3 * np.std(rates) / np.sqrt(runs)
    assert np.mean(np.array(rates) > TARGET) > 0.3


@pytest.mark.parametrize(("judged", "coverage"), [(30, 0.95), (100, 0.95), (1000, 0.96)])
def test_rogan_gladen_covers(judged: int, coverage: float) -> None:
    rng, runs = np.random.default_rng(5), 4000
    theta, tpr, tnr = 7 / 15, 0.9, 0.85
    p = theta * tpr + (1 - theta) * (1 - tnr)
    hit = 0
    for _ in range(runs):
        found = rogan_gladen(
            Proportion(rng.binomial(judged, p) / judged, judged),
            Proportion(rng.binomial(40, tpr) / 40, 40),
            Proportion(rng.binomial(40, tnr) / 40, 40),
        ).estimate
        hit += found.low is not None and found.high is not None and found.low <= theta <= found.high
    assert hit / runs == pytest.approx(coverage, abs=0.02)


def test_prediction_powered_covers_with_alike_episodes() -> None:
    rng, runs = np.random.default_rng(6), 1500
    hit = naive = 0
    for _ in range(runs):
        p = np.repeat(rng.beta(0.8, 1.2, 120), 4)
        truth = (rng.random(480) < p).astype(float)
        judged = np.where(rng.random(480) < 0.85, truth, 1 - truth)
        task = np.repeat(np.arange(120), 4)
        gold = task < 40
        found = ppi_mean(
            truth[gold], judged[gold], judged[~gold], cluster=task[gold], cluster_only=task[~gold]
        )
        low, high = found.estimate.low, found.estimate.high
        hit += low is not None and high is not None and low <= 0.4 <= high
        beside = found.estimate.iid
        naive += beside is not None and beside.low <= 0.4 <= beside.high
    assert hit / runs == pytest.approx(0.95, abs=0.025)
    assert naive / runs < hit / runs - 0.05


def test_the_auc_interval_covers_with_alike_episodes() -> None:
    rng, runs = np.random.default_rng(7), 1500
    truth = float(scipy.stats.norm.cdf(1 / np.sqrt(2)))
    hit = naive = 0
    for _ in range(runs):
        scores, task = alike(rng, 60, 4)
        passed = np.repeat(rng.random(60) < 0.5, 4)
        found = auc(scores + passed, passed, task)
        hit += found.low is not None and found.high is not None and found.low <= truth <= found.high
        naive += found.iid is not None and found.iid.low <= truth <= found.iid.high
    assert hit / runs == pytest.approx(0.95, abs=0.025)
    assert naive / runs < 0.85
