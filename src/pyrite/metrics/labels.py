"""What several people say of the same episodes: agreement, the ceiling it sets for a judge, flips.

A judge cannot be shown to agree with people better than they agree with one another: the ceiling is how
well one annotator agrees with the majority of the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyrite.metrics.agreement import kappa
from pyrite.metrics.clusters import rate
from pyrite.metrics.intervals import LEVEL
from pyrite.metrics.judge import cells, share
from pyrite.records import Estimate

Codes = NDArray[np.integer]
Labels = NDArray[np.int8]
Floats = NDArray[np.float64]
FAIL, PASS, NONE = 0, 1, -1
"""A label; NONE where an annotator gave none, or one that is neither pass nor fail."""
PROCESS_CORRECT = 0.8
"""Least median process score of a correct process."""
ROUNDING = 1e-6
"""Scores are often stored in single precision: the median of 0.7 and 0.9 is then 0.79999998."""


class Agreement(NamedTuple):
    """How two sets of labels of the same episodes agree."""

    agreement: Estimate
    kappa: Estimate
    both_pass: int
    first_only: int
    """The first says pass, the second fail."""
    second_only: int
    both_fail: int


def agreement(
    first: Labels,
    second: Labels,
    cluster: Codes,
    *,
    level: float = LEVEL,
    resamples: int = 2000,
    seed: int = 0,
) -> Agreement:
    """Share of equal labels and Cohen's kappa where both are pass or fail, clustered by task.

    >>> a, b = np.array([1, 1, 0, 0, -1], np.int8), np.array([1, 0, 0, 0, 1], np.int8)
    >>> found = agreement(a, b, np.arange(5), resamples=200)
    >>> found.agreement.value, found.kappa.value, found[2:]
    (0.75, 0.5, (1, 1, 0, 2))
    """
    rows = (first >= 0) & (second >= 0)
    one, two = first[rows] == PASS, second[rows] == PASS
    codes = np.unique(cluster[rows], return_inverse=True)[1].ravel()
    same = share(one == two, codes, estimand="equal labels of both", empty="no_episodes", level=level)
    found = cells(two, one, codes)
    coefficient = kappa(
        found.tp, found.fp, found.fn, found.tn, level=level, resamples=resamples, seed=seed
    ).model_copy(update={"estimand": "Cohen's kappa of both, episode-weighted"})
    return Agreement(same, coefficient, *found.totals())


def majority(labels: Labels) -> Labels:
    """Majority of (episodes, annotators) labels; NONE for a tie and where nobody said anything.

    >>> majority(np.array([[1, 1, 0], [1, 0, -1], [-1, -1, -1]], np.int8)).tolist()
    [1, -1, -1]
    """
    passes, fails = (labels == PASS).sum(axis=1), (labels == FAIL).sum(axis=1)
    found: Labels = np.where(passes > fails, PASS, np.where(fails > passes, FAIL, NONE)).astype(np.int8)
    return found


def ceiling(
    labels: Labels,
    annotator: int,
    cluster: Codes,
    *,
    level: float = LEVEL,
    resamples: int = 2000,
    seed: int = 0,
) -> Agreement:
    """One annotator against the majority of the others, on the episodes where both say pass or fail."""
    others = np.delete(labels, annotator, axis=1)
    return agreement(
        labels[:, annotator], majority(others), cluster, level=level, resamples=resamples, seed=seed
    )


def pairwise_agreement(labels: Labels, cluster: Codes, *, level: float = LEVEL) -> Estimate:
    """Chance that two annotators of one episode say the same, each episode with two or more counting once.

    (pass (pass - 1) + fail (fail - 1)) / (n (n - 1)) of each episode; the interval is the clustered
    Wilson of a mean in [0, 1], whose variance is at most that of a proportion.

    >>> pairwise_agreement(np.array([[1, 1], [1, 0]], np.int8), np.arange(2)).value
    0.5
    """
    passes, fails = (labels == PASS).sum(axis=1), (labels == FAIL).sum(axis=1)
    n = passes + fails
    rows = n >= 2
    same = (passes * (passes - 1) + fails * (fails - 1))[rows] / (n * (n - 1))[rows]
    codes = np.unique(cluster[rows], return_inverse=True)[1].ravel()
    size = int(codes.max()) + 1 if len(codes) else 0
    return rate(
        np.bincount(codes, weights=same, minlength=size).astype(np.float64),
        np.bincount(codes, minlength=size).astype(np.float64),
        estimand="two annotators of one episode say the same",
        empty="one_annotator_each",
        level=level,
    )


def flips(
    before: Labels, after: Labels, cluster: Codes, *, level: float = LEVEL
) -> tuple[Estimate, int, int]:
    """Share of labels that changed once the annotator was informed, how many to pass, how many to fail.

    One entry an (episode, annotator) with a label at both stages; NONE is left out.
    """
    rows = (before >= 0) & (after >= 0)
    codes = np.unique(cluster[rows], return_inverse=True)[1].ravel()
    was, now = before[rows], after[rows]
    changed = share(
        was != now,
        codes,
        estimand="labels that changed when informed",
        empty="no_informed_labels",
        level=level,
    )
    return changed, int(((was == FAIL) & (now == PASS)).sum()), int(((was == PASS) & (now == FAIL)).sum())


def medians(scores: Floats) -> Floats:
    """Median of the scores of each episode, (episodes, annotators) with NaN for none; NaN where all are.

    >>> medians(np.array([[0.5, 0.9, np.nan], [np.nan] * 3])).tolist()
    [0.7, nan]
    """
    found = np.full(len(scores), np.nan)
    there = np.isfinite(scores).any(axis=1)
    found[there] = np.nanmedian(scores[there], axis=1) if there.any() else []
    return found


def process_outcome(median: Floats) -> Labels:
    """PASS where the median process score is at least 0.8, FAIL below, NONE where there is none.

    >>> process_outcome(np.array([0.8, 0.79, np.nan])).tolist()
    [1, 0, -1]
    """
    found = np.where(median >= PROCESS_CORRECT - ROUNDING, PASS, FAIL)
    found[~np.isfinite(median)] = NONE
    return found.astype(np.int8)
