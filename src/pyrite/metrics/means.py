"""The mean of one number an episode, with a clustered interval: a loss, an agreement, a paired difference."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pyrite.metrics.intervals import LEVEL, normal_quantile, t_quantile
from pyrite.records import Estimate, Interval

Floats = NDArray[np.float64]
Codes = NDArray[np.integer]


def cluster_sums(values: Floats, cluster: Codes) -> tuple[Floats, Floats]:
    """(sum of values, number of episodes) of each cluster that has an episode; codes from 0.

    The sums are in the order of the codes and do not depend on the order of rows.

    >>> cluster_sums(np.array([1.0, 0.5, 2.0]), np.array([0, 2, 0]))
    (array([3. , 0.5]), array([2., 1.]))
    """
    if not len(cluster):
        return np.zeros(0), np.zeros(0)
    order = np.lexsort((values, cluster))
    sums = np.bincount(cluster[order], weights=values[order]).astype(np.float64)
    totals = np.bincount(cluster).astype(np.float64)
    kept = totals > 0
    return sums[kept], totals[kept]


def mean_variance(sums: Floats, totals: Floats) -> float:
    """Variance of sum(sums) / sum(totals), K/(K-1) sum (s_k - n_k m)^2 / N^2; at least two clusters.

    Source: the ratio estimate of cluster sampling (Cochran 1977, section 9A.1).
    """
    clusters, total = len(totals), float(totals.sum())
    mean = float(sums.sum()) / total
    return clusters / (clusters - 1) * float(np.square(sums - totals * mean).sum()) / total**2


def clustered_mean(
    values: Floats,
    cluster: Codes,
    *,
    estimand: str,
    empty: str,
    bounds: tuple[float, float],
    unit: str = "task",
    level: float = LEVEL,
) -> Estimate:
    """The episode-weighted mean of `values`, cluster variance and Student's t on K - 1.

    `cluster` holds codes from 0, one entry an episode; the interval is cut at `bounds`, what a value
    can be. None where there is no episode (`empty`); no interval where one cluster holds all
    ("single_cluster") or where the clusters do not differ ("no_variation").

    >>> found = clustered_mean(np.array([1.0, 0, 0, 1, 1, 0]), np.array([0, 0, 1, 1, 2, 2]),
    ...     estimand="agreement", empty="no_episodes", bounds=(0, 1))
    >>> found.value, found.low, found.reason
    (0.5, None, 'no_variation')
    """
    n = len(values)
    if not n:
        return Estimate(value=None, level=level, n=0, clusters=0, estimand=estimand, reason=empty)
    sums, totals = cluster_sums(values, cluster)
    value = min(max(float(sums.sum()) / n, bounds[0]), bounds[1])
    ordered = np.sort(values)  # the order of rows must not show in the last digit
    iid = _independent(ordered, value, bounds, level)
    clusters = len(totals)
    reason = "single_cluster" if clusters < 2 else None
    variance = mean_variance(sums, totals) if clusters > 1 else 0.0
    if reason is None and variance <= 1e-18:
        reason = "no_variation"
    if reason:
        return Estimate(
            value=value, level=level, n=n, clusters=clusters, estimand=estimand, reason=reason, iid=iid
        )
    half = t_quantile(clusters - 1, level) * math.sqrt(variance)
    alone = float(np.var(ordered, ddof=1)) / n
    return Estimate(
        value=value,
        low=max(bounds[0], value - half),
        high=min(bounds[1], value + half),
        method=f"cluster variance by {unit}, t",
        level=level,
        n=n,
        n_eff=min(float(n), n * alone / variance),
        clusters=clusters,
        estimand=estimand,
        iid=iid,
    )


def _independent(values: Floats, value: float, bounds: tuple[float, float], level: float) -> Interval | None:
    spread = float(np.var(values, ddof=1)) if len(values) > 1 else 0.0
    if spread <= 0:
        return None
    half = normal_quantile(level) * math.sqrt(spread / len(values))
    return Interval(max(bounds[0], value - half), min(bounds[1], value + half), "normal")
