"""How much of what a judge accepts has failed: at another success rate, and with one episode a task.

FDR depends on how often the agent succeeds, so a figure measured on one agent says little of another.
At a success rate pi it is (1 - pi) FPR / ((1 - pi) FPR + pi TPR), as long as FPR and TPR stay.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyrite.metrics.clusters import Counts, cluster_size
from pyrite.metrics.intervals import LEVEL, special
from pyrite.records import Estimate

_STEPS = 200
"""Midpoints of the quadrature over the posterior of the TPR."""


class Rate(NamedTuple):
    """A rate and the (effective) size that it was measured on."""

    value: float
    size: float


def fdr_at(fpr: float, tpr: float, success: float) -> float | None:
    """FDR of a judge where a share `success` of all episodes is true; None where nothing is accepted.

    >>> [round(fdr_at(0.15, 0.9, pi), 4) for pi in (0.2, 0.5, 0.8)]
    [0.4, 0.1429, 0.04]
    """
    wrong, right = (1 - success) * fpr, success * tpr
    return wrong / (wrong + right) if wrong + right > 0 else None


def projected_fdr(
    fpr: Rate | None, tpr: Rate | None, success: float | None, *, level: float = LEVEL
) -> Estimate:
    """FDR at a success rate, its interval from the Jeffreys posteriors of FPR and TPR.

    The posteriors are Beta(k + 1/2, n - k + 1/2) with k = rate x size, independent of each other, and
    the size is the effective one where episodes share tasks. The quantiles of the FDR are found
    without drawing: P(FDR <= x) = E over TPR of P(FPR <= c TPR), c = x pi / ((1 - x) (1 - pi)). None
    where a rate or the success rate is unknown ("no_negatives", "no_positives", "no_success_rate") or
    nothing is accepted.

    >>> found = projected_fdr(Rate(0.15, 80), Rate(0.9, 20), 0.2)
    >>> round(found.value, 2), round(found.low, 3), round(found.high, 3)
    (0.4, 0.275, 0.531)
    """
    estimand = "failed of accepted episodes at a given success rate"
    reason = None
    if fpr is None:
        reason = "no_negatives"
    elif tpr is None:
        reason = "no_positives"
    elif success is None:
        reason = "no_success_rate"
    if reason or fpr is None or tpr is None or success is None:
        return Estimate(value=None, level=level, estimand=estimand, reason=reason)
    if not 0 <= success <= 1:
        raise ValueError(f"a success rate in [0, 1] is needed, not {success}")
    value = fdr_at(fpr.value, tpr.value, success)
    n = round(fpr.size + tpr.size)
    if value is None:
        return Estimate(value=None, level=level, n=n, estimand=estimand, reason="nothing_accepted")
    if success in {0.0, 1.0}:
        return Estimate(
            value=value, low=value, high=value, method="exact: one class", level=level, n=n, estimand=estimand
        )
    tail = (1 - level) / 2
    return Estimate(
        value=value,
        low=min(value, _quantile(tail, fpr, tpr, success)),
        high=max(value, _quantile(1 - tail, fpr, tpr, success)),
        method="Jeffreys posteriors of FPR and TPR",
        level=level,
        n=n,
        estimand=estimand,
    )


def effective(events: Counts, totals: Counts, *, level: float = LEVEL) -> Rate | None:
    """A rate with its clustered size, one entry a cluster; None for no episodes or a single cluster."""
    if int((totals > 0).sum()) < 2:
        return None
    found = cluster_size(events, totals, level=level)
    return Rate(found.rate, found.size)


def task_shares(fp: Counts, tp: Counts) -> NDArray[np.float64]:
    """Failed share of what is accepted in each task that has an accepted episode.

    Their mean is the FDR of a training set with one accepted episode a task (task-balanced sampling,
    best of n, stop at the first accept): tasks that nobody can solve give nothing but poison.

    >>> float(task_shares(np.array([1.0, 0.0, 0.0]), np.array([0.0, 3.0, 0.0])).mean())
    0.5
    """
    accepted = fp + tp
    kept = accepted > 0
    shares: NDArray[np.float64] = fp[kept] / accepted[kept]
    return shares


def _quantile(q: float, fpr: Rate, tpr: Rate, success: float) -> float:
    """The x at which P(FDR <= x) = q, by bisection."""
    functions = special()
    grid = (np.arange(_STEPS) + 0.5) / _STEPS
    k, n = tpr.value * tpr.size, tpr.size
    caught = functions.betaincinv(k + 0.5, n - k + 0.5, grid)
    k, n = fpr.value * fpr.size, fpr.size
    odds = success / (1 - success)
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        below = np.minimum(1.0, middle / (1 - middle) * odds * caught)
        if float(functions.betainc(k + 0.5, n - k + 0.5, below).mean()) < q:
            low = middle
        else:
            high = middle
    return (low + high) / 2
