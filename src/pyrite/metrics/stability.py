"""Whether a judge says the same again: self-consistency over runs of one episode.

The share of episodes on which all runs agree falls with the number of runs, so the mean pairwise agreement
stands beside it. Runs of one episode are one observation, never more sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyrite.metrics.intervals import LEVEL
from pyrite.metrics.judge import share
from pyrite.metrics.means import clustered_mean
from pyrite.records import Estimate

Codes = NDArray[np.integer]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Consistency:
    """Self-consistency of one judge; everything None with a reason where there is one run."""

    runs: int
    episodes: int
    """With two runs or more, and no fewer than a strict majority of the configured runs."""
    complete: int
    """With every configured run; all-agree and Fleiss' kappa are of these."""
    all_agree: Estimate
    pairwise: Estimate
    """Mean share of equal pairs of runs: does not fall with the number of runs."""
    fleiss: float | None
    fleiss_reason: str | None


def self_consistency(votes: Codes, cluster: Codes, *, level: float = LEVEL) -> Consistency:
    """Agreement between runs; `votes` is (episodes, runs), codes from 0, below 0 where a run is missing.

    Use it on raw verdicts and again on mapped ones (uncertain as not accepted). None, never 1, for a
    single run ("one_run"). Fleiss' kappa is None where one code is ever used ("one_category").

    >>> s, f, u = 1, 0, 2
    >>> votes = np.array([[s, s, s], [s, s, u], [s, f, u], [f, f, f], [u, u, s]])
    >>> found = self_consistency(votes, np.arange(5))
    >>> found.all_agree.value, round(found.pairwise.value, 4), round(found.fleiss, 4)
    (0.4, 0.5333, 0.2708)
    """
    episodes, runs = votes.shape
    given = (votes >= 0).sum(axis=1)
    usable: Flags = (given >= 2) & (given > runs // 2)
    complete: Flags = given == runs
    if runs < 2:
        usable, complete = np.zeros(episodes, dtype=np.bool_), np.zeros(episodes, dtype=np.bool_)
    why = "one_run" if runs < 2 else "no_repeated_runs"
    counts = _counts(votes)
    pairs = counts * (counts - 1)
    agree = pairs[usable].sum(axis=1) / (given[usable] * (given[usable] - 1))
    alike: Flags = np.equal(counts[complete].max(axis=1, initial=0), runs)
    fleiss, reason = fleiss_kappa(counts[complete]) if complete.any() else (None, why)
    return Consistency(
        runs=runs,
        episodes=int(usable.sum()),
        complete=int(complete.sum()),
        all_agree=share(
            alike,
            _compact(cluster[complete]),
            estimand="episodes on which all runs agree",
            empty=why,
            level=level,
        ),
        pairwise=clustered_mean(
            agree,
            _compact(cluster[usable]),
            estimand="equal pairs of runs of an episode, mean over episodes",
            empty=why,
            bounds=(0, 1),
            level=level,
        ),
        fleiss=fleiss,
        fleiss_reason=reason,
    )


def any_run(chosen: NDArray[np.bool_], present: Flags, cluster: Codes, *, level: float = LEVEL) -> Estimate:
    """Share of failed episodes that at least one run accepts: the rate that matters if a trainer retries.

    `chosen` and `present` are (episodes, runs): the run accepts, the run is there. Only failed episodes
    go in; those with a run missing are left out, because that run could have accepted.
    """
    complete = present.all(axis=1) if present.size else np.zeros(len(present), dtype=np.bool_)
    why = "no_negatives" if not len(present) else "no_complete_runs"
    if present.shape[1] < 2:
        why, complete = "one_run", np.zeros(len(present), dtype=np.bool_)
    return share(
        np.any((chosen & present)[complete], axis=1),
        _compact(cluster[complete]),
        estimand="failed episodes that at least one run accepts",
        empty=why,
        level=level,
    )


def fleiss_kappa(counts: NDArray[np.int64]) -> tuple[float | None, str | None]:
    """Fleiss' kappa of (episodes, categories) counts with equal row sums, or None and why.

    Source: Fleiss 1971.
    """
    raters = int(counts[0].sum())
    observed = float((counts * (counts - 1)).sum()) / (len(counts) * raters * (raters - 1))
    shares = counts.sum(axis=0) / counts.sum()
    chance = float(np.square(shares).sum())
    if 1 - chance <= 1e-12:
        return None, "one_category"
    return (observed - chance) / (1 - chance), None


def _counts(votes: Codes) -> NDArray[np.int64]:
    """How often each code is said of each episode."""
    kinds = int(votes.max()) + 1 if votes.size and int(votes.max()) >= 0 else 1
    found: NDArray[np.int64] = np.stack([(votes == kind).sum(axis=1) for kind in range(kinds)], axis=1)
    return found


def _compact(cluster: Codes) -> Codes:
    codes: Codes = np.unique(cluster, return_inverse=True)[1]
    return codes
