"""A threshold chosen on some tasks and its error rates on others: what a certificate holds.

Episodes of one task are alike, so tasks are split, never episodes, and one number a task goes into the
rules of `thresholds.py`. What is chosen holds for the same agent and the same kind of tasks only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pyrite.metrics.clusters import cluster_size
from pyrite.metrics.intervals import LEVEL, upper_bound
from pyrite.metrics.judge import share
from pyrite.metrics.thresholds import (
    PROMISE,
    Policy,
    Threshold,
    binomial_tail,
    conformal,
    fixed_sequence,
    negatives_needed,
    neyman_pearson,
    strictest_first,
)
from pyrite.records import Estimate

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Codes = NDArray[np.integer]
MOST_CANDIDATES = 1000
"""Thresholds that are tried by effective size; of more, so many evenly spaced by rank."""
Sampling = Literal["one_per_task", "max_per_task", "effective_size"]


@dataclass(frozen=True)
class Certificate:
    """A threshold, what it promises, and what it does on tasks that did not choose it."""

    threshold: Threshold
    promise: str
    sampling: Sampling
    split_seed: int
    looks: int
    """Thresholds chosen on these tasks; each has delta / looks."""
    calibration_tasks: int
    """With a failed episode."""
    calibration_negatives: int
    held_out_tasks: int
    """All, with a failed episode or not."""
    calibrating: Flags = field(compare=False)
    """One entry a task code: whether the task chose the threshold."""
    fpr: Estimate
    """On the held-out tasks; None with a reason where nothing is certified."""
    tpr: Estimate
    hard_fpr: Estimate | None
    """On the held-out hard negatives, where it is known which they are."""


def certify(
    scores: Floats,
    passed: Flags,
    cluster: Codes,
    *,
    target: float = 0.05,
    delta: float = 0.05,
    policy: Policy = "fixed_sequence",
    sampling: Sampling = "one_per_task",
    candidates: Floats | None = None,
    seed: int = 0,
    looks: int = 1,
    hard: Flags | None = None,
    level: float = LEVEL,
) -> Certificate:
    """Choose a threshold on half of the tasks, measure FPR and TPR on the other half.

    One entry an episode: its score (NaN: an answer that could not be read, accepted by nothing), whether
    it passed, its task (codes from 0, in an order that does not depend on the rows). `candidates` are
    listed beforehand, or None for the distinct scores of all calibration episodes. `looks` is how many
    thresholds are chosen on these tasks, this one included. Raises `ValueError` for the effective size
    with another rule than the fixed sequence.
    """
    tasks = split_by_task(passed, cluster, seed=seed)
    calibrating = tasks[cluster] if len(cluster) else passed
    chosen = calibrating & ~passed
    listed = scores[calibrating] if candidates is None else candidates
    found = _sampled(policy, sampling, scores[chosen], cluster[chosen], target, delta / looks, listed, seed)
    accepted = accepts(found, scores)
    held = ~calibrating

    def on(rows: Flags, estimand: str, empty: str) -> Estimate:
        if found.value is None:
            return Estimate(
                value=None, level=level, n=int(rows.sum()), estimand=estimand, reason=found.reason
            )
        codes = np.unique(cluster[rows], return_inverse=True)[1]
        return share(accepted[rows], codes, estimand=estimand, empty=empty, level=level)

    return Certificate(
        threshold=found,
        promise=PROMISE[policy],
        sampling=sampling,
        split_seed=seed,
        looks=looks,
        calibration_tasks=len(np.unique(cluster[chosen])),
        calibration_negatives=int(chosen.sum()),
        held_out_tasks=len(np.unique(cluster[held])),
        calibrating=tasks,
        fpr=on(held & ~passed, "accepted of failed episodes of held-out tasks", "no_negatives"),
        tpr=on(held & passed, "accepted of passed episodes of held-out tasks", "no_positives"),
        hard_fpr=None
        if hard is None
        else on(held & ~passed & hard, "accepted of hard negatives of held-out tasks", "no_such_failures"),
    )


def accepts(threshold: Threshold, scores: Floats) -> Flags:
    """Which scores the threshold accepts: none where it is refused, and never NaN."""
    if threshold.value is None:
        return np.zeros(len(scores), dtype=np.bool_)
    found: Flags = scores >= threshold.value if threshold.accept == ">=" else scores > threshold.value
    return found


def split_by_task(passed: Flags, cluster: Codes, *, seed: int = 0) -> Flags:
    """Which tasks calibrate: half of those with a failed episode (the odd one too), half of the others.

    One entry a code in the answer. Tasks with and without failures are dealt apart, so that both
    halves get negatives.
    """
    generator = np.random.default_rng(seed)
    tasks = int(cluster.max()) + 1 if len(cluster) else 0
    failed = np.bincount(cluster[~passed], minlength=tasks) > 0
    found: Flags = np.zeros(tasks, dtype=np.bool_)
    for group in (np.flatnonzero(failed), np.setdiff1d(np.unique(cluster), np.flatnonzero(failed))):
        found[generator.permutation(group)[: (len(group) + 1) // 2]] = True
    return found


def one_per_task(scores: Floats, cluster: Codes, *, seed: int = 0) -> Floats:
    """One score a task, drawn by seed: n is the number of tasks, the FPR is the task-weighted one."""
    ordered, starts, counts = _grouped(scores, cluster)
    drawn = np.random.default_rng([seed, 1]).integers(0, counts) if len(counts) else counts
    found: Floats = ordered[starts + drawn]
    return found


def max_per_task(scores: Floats, cluster: Codes, *, seed: int = 0) -> Floats:
    """The highest score of each task: controls that a task has any false success, which is stricter."""
    ordered, starts, counts = _grouped(scores, cluster)
    found: Floats = ordered[starts + counts - 1]
    return found


def _grouped(scores: Floats, cluster: Codes) -> tuple[Floats, NDArray[np.intp], NDArray[np.intp]]:
    """Scores ascending inside ascending tasks (NaN first), and where each task starts with how many."""
    read = np.where(np.isnan(scores), -np.inf, scores)
    ordered = read[np.lexsort((read, cluster))]
    counts = np.bincount(cluster) if len(cluster) else np.zeros(0, dtype=np.intp)
    counts = counts[counts > 0]
    return ordered, np.cumsum(counts) - counts, counts


def _sampled(
    policy: Policy,
    sampling: Sampling,
    scores: Floats,
    cluster: Codes,
    target: float,
    delta: float,
    candidates: Floats,
    seed: int,
) -> Threshold:
    """The threshold on the calibration negatives, one number a task or by their effective size."""
    if sampling == "effective_size":
        if policy != "fixed_sequence":
            raise ValueError("the effective size goes with the fixed sequence only")
        return _by_effective_size(scores, cluster, target, delta, candidates)
    pick = one_per_task if sampling == "one_per_task" else max_per_task
    return _choose(policy, pick(scores, cluster, seed=seed), target, delta, candidates)


def _choose(policy: Policy, negatives: Floats, target: float, delta: float, candidates: Floats) -> Threshold:
    if policy == "neyman_pearson":
        return neyman_pearson(negatives, target, delta)
    if policy == "conformal":
        return conformal(negatives, target, candidates=candidates)
    return fixed_sequence(negatives, target, delta, candidates=candidates)


def _by_effective_size(
    scores: Floats, cluster: Codes, target: float, delta: float, candidates: Floats
) -> Threshold:
    """The fixed sequence with the clustered size of each candidate in the binomial bound: approximate."""
    tasks = np.unique(cluster, return_inverse=True)[1]
    n = np.bincount(tasks).astype(np.float64) if len(tasks) else np.zeros(0)
    needed = negatives_needed(target, delta)
    refused = Threshold("fixed_sequence", target, delta, None, ">=", 0, None, None, None, needed, None)
    if len(n) < 2:
        return replace(refused, n=len(scores), reason="no_negatives" if not len(n) else "single_cluster")
    ranked = np.where(np.isnan(scores), -np.inf, scores)
    alike = float(n.sum()) ** 2 / float(np.square(n).sum())
    best = replace(refused, n=alike, reason=f"too_few_negatives: {math.floor(alike)} of at least {needed}")
    if alike >= needed:
        best = replace(best, reason="no_candidate_passes")
    listed = strictest_first(ranked, candidates)
    if len(listed) > MOST_CANDIDATES:
        listed = listed[np.linspace(0, len(listed) - 1, MOST_CANDIDATES).round().astype(np.intp)]
    for cut in listed:
        hits = np.bincount(tasks[ranked >= cut], minlength=len(n)).astype(np.float64)
        size = cluster_size(hits, n, level=1 - 2 * delta).size
        rate = float(hits.sum()) / float(n.sum())
        p_value = binomial_tail(rate * size, size, target)
        if p_value > delta:
            break
        best = replace(
            refused,
            value=float(cut),
            n=size,
            false_positives=int(hits.sum()),
            p_value=p_value,
            upper=upper_bound(rate, size, confidence=1 - delta),
        )
    return best
