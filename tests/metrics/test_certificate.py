"""Certificates: the split by task, one number a task, held-out rates, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrite.metrics.certificate import (
    Sampling,
    accepts,
    certify,
    max_per_task,
    one_per_task,
    split_by_task,
)
from pyrite.metrics.thresholds import Policy


def drawn(tasks: int, each: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores in [0, 1], higher for passed episodes, alike within a task."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(tasks), each)
    passed = rng.random(tasks * each) < 0.4
    hard = np.repeat(rng.random(tasks), each)
    return np.clip(0.5 * passed + 0.3 * hard + 0.3 * rng.random(tasks * each), 0, 1), passed, cluster


def test_the_threshold_is_chosen_and_measured_on_different_tasks() -> None:
    scores, passed, cluster = drawn(200, 4)
    found = certify(scores, passed, cluster, target=0.05, delta=0.05)
    calibrating = split_by_task(passed, cluster)[cluster]
    assert found.threshold.value is not None
    assert found.calibration_tasks == len(np.unique(cluster[calibrating & ~passed])) == found.threshold.n
    accepted = scores >= found.threshold.value
    held = ~calibrating
    assert found.fpr.value == pytest.approx(accepted[held & ~passed].mean())
    assert found.tpr.value == pytest.approx(accepted[held & passed].mean())
    assert found.fpr.n == int((held & ~passed).sum())
    assert found.held_out_tasks == len(np.unique(cluster[held]))


def test_changing_held_out_scores_does_not_move_the_threshold() -> None:
    scores, passed, cluster = drawn(200, 4)
    held = ~split_by_task(passed, cluster)[cluster]
    other = np.where(held, 1 - scores, scores)
    assert certify(scores, passed, cluster).threshold == certify(other, passed, cluster).threshold


def test_the_stricter_samplings_are_stricter() -> None:
    scores, passed, cluster = drawn(300, 4)

    def at(sampling: Sampling) -> float:
        value = certify(scores, passed, cluster, sampling=sampling).threshold.value
        assert value is not None
        return value

    assert at("max_per_task") >= at("one_per_task")
    assert 0 < at("effective_size") <= 1


def test_the_effective_size_counts_tasks_where_episodes_are_alike() -> None:
    # 58 calibration tasks of 10 equal episodes are too few, though 580 rows would be plenty
    cluster = np.repeat(np.arange(116), 10)
    scores, passed = np.repeat(np.linspace(0, 1, 116), 10), np.zeros(1160, dtype=bool)
    found = certify(scores, passed, cluster, sampling="effective_size")
    assert found.threshold.value is None
    assert found.threshold.reason == "too_few_negatives: 58 of at least 59"
    assert (found.fpr.value, found.fpr.reason) == (None, found.threshold.reason)
    with pytest.raises(ValueError, match="fixed sequence"):
        certify(scores, passed, cluster, sampling="effective_size", policy="conformal")


def test_more_looks_are_stricter_and_recorded() -> None:
    scores, passed, cluster = drawn(400, 2)
    one, three = (certify(scores, passed, cluster, looks=looks) for looks in (1, 3))
    assert three.threshold.delta == pytest.approx(0.05 / 3)
    assert one.threshold.value is not None
    assert three.threshold.value is not None
    assert three.threshold.value >= one.threshold.value
    assert (one.looks, three.looks) == (1, 3)


@pytest.mark.parametrize("policy", ["fixed_sequence", "neyman_pearson", "conformal"])
def test_every_rule_says_what_it_promises(policy: Policy) -> None:
    scores, passed, cluster = drawn(200, 3)
    found = certify(scores, passed, cluster, policy=policy)
    assert found.threshold.policy == policy
    assert ("weaker" in found.promise) == (policy == "conformal")


def test_no_passes_still_certify_and_no_failures_do_not() -> None:
    scores, _, cluster = drawn(200, 3)
    none = certify(scores, np.zeros(600, dtype=bool), cluster)
    assert none.threshold.value is not None
    assert (none.tpr.value, none.tpr.reason) == (None, "no_positives")
    everything = certify(scores, np.ones(600, dtype=bool), cluster)
    assert (everything.threshold.value, everything.threshold.reason) == (None, "no_negatives")
    nothing = certify(np.zeros(0), np.zeros(0, dtype=bool), np.zeros(0, dtype=int))
    assert (nothing.threshold.value, nothing.fpr.value) == (None, None)


def test_hard_negatives_stand_apart() -> None:
    scores, passed, cluster = drawn(200, 3)
    hard = np.arange(600) % 2 == 0
    found = certify(scores, passed, cluster, hard=hard)
    assert found.hard_fpr is not None
    assert 0 < found.hard_fpr.n < found.fpr.n
    assert certify(scores, passed, cluster).hard_fpr is None


def test_nan_is_accepted_by_nothing() -> None:
    scores, passed, cluster = drawn(200, 3)
    scores[::7] = np.nan
    found = certify(scores, passed, cluster)
    assert not accepts(found.threshold, scores)[::7].any()
    assert accepts(found.threshold, scores).any()


def test_one_number_a_task() -> None:
    scores, cluster = np.array([0.3, 0.9, 0.1, np.nan, 0.4]), np.array([0, 0, 2, 5, 5])
    assert max_per_task(scores, cluster).tolist() == [0.9, 0.1, 0.4]
    one = one_per_task(scores, cluster, seed=3)
    assert len(one) == 3
    assert one[0] in (0.3, 0.9)
    assert one[2] in (0.4, -np.inf)
    seen = {one_per_task(scores, cluster, seed=s)[0] for s in range(20)}
    assert seen == {0.3, 0.9}


@given(st.integers(1, 60), st.integers(1, 4), st.integers(0, 10_000))
@settings(deadline=None, max_examples=40)
def test_the_order_of_rows_does_not_matter_and_tasks_stay_whole(tasks: int, each: int, seed: int) -> None:
    scores, passed, cluster = drawn(tasks, each, seed)
    order = np.random.default_rng(seed).permutation(len(scores))
    found = certify(scores, passed, cluster, target=0.3, delta=0.2, seed=seed)
    again = certify(scores[order], passed[order], cluster[order], target=0.3, delta=0.2, seed=seed)
    assert found == again
    split = split_by_task(passed, cluster, seed=seed)
    assert len(split) == tasks
    failed = np.unique(cluster[~passed])
    assert split[failed].sum() == (len(failed) + 1) // 2
