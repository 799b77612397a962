"""Two sets of episodes on the same or partly the same tasks: paired rates, and a rate that has moved.

`paired_rates` weighs every task once, so it does not matter how many episodes either side has of it.
`rate_change` weighs episodes, and its tasks need not be the same: what both have of one task varies
together (linearised variance of two ratios with shared clusters; Cochran 1977, section 6.17).
"""

from __future__ import annotations

import math

import numpy as np

from pyrite.metrics.clusters import FEW, Counts, cluster_size
from pyrite.metrics.intervals import LEVEL, t_quantile, wilson
from pyrite.metrics.means import Codes, Floats, cluster_sums, mean_variance
from pyrite.metrics.paired import newcombe_10
from pyrite.records import Estimate, Interval


def paired_rates(
    first: Floats,
    second: Floats,
    cluster: Codes | None = None,
    *,
    estimand: str,
    empty: str = "no_common_task",
    unit: str = "task",
    level: float = LEVEL,
) -> Estimate:
    """Mean over tasks of the second rate less the first; one entry a task, `cluster` codes of its unit.

    Student's t on the variance between clusters (default: each task is one). Where fewer than five
    clusters differ, or they all differ alike, that variance says too little: Newcombe's method 10 on
    what the rates amount to were each task one episode, on as many tasks as there are clusters at most.

    >>> found = paired_rates(np.array([0, 0, 1, 1.0]), np.array([1, 0, 1, 1.0]), estimand="B - A")
    >>> found.value, found.method
    (0.25, 'Newcombe 10, by task')
    """
    tasks = len(first)
    codes = np.arange(tasks) if cluster is None else cluster
    apart = second - first
    sums, totals = cluster_sums(apart, codes)
    clusters = len(totals)
    common = {"level": level, "n": tasks, "clusters": clusters, "estimand": estimand}
    if not tasks:
        return Estimate(value=None, reason=empty, **common)
    value = min(1.0, max(-1.0, float(sums.sum()) / tasks))
    if clusters < 2:
        return Estimate(value=value, reason="single_cluster", **common)
    variance = mean_variance(sums, totals)
    if int((np.abs(sums) > 1e-12).sum()) < FEW or variance <= 1e-18:
        alike = tasks**2 / float(np.square(totals).sum())
        cells = (first * second, second * (1 - first), first * (1 - second), (1 - first) * (1 - second))
        low, high, _ = newcombe_10(*(float(cell.sum()) * alike / tasks for cell in cells), level=level)
        method, n_eff = f"Newcombe 10, by {unit}", alike
    else:
        half = t_quantile(clusters - 1, level) * math.sqrt(variance)
        low, high = max(-1.0, value - half), min(1.0, value + half)
        method, n_eff = f"variance between {_plural(unit)}, t", float(clusters)
    return Estimate(
        value=value, low=min(low, value), high=max(high, value), method=method, n_eff=n_eff, **common
    )


def rate_change(
    before: tuple[Counts, Counts],
    after: tuple[Counts, Counts],
    *,
    estimand: str,
    empty: str = "no_episodes",
    unit: str = "task",
    level: float = LEVEL,
) -> Estimate:
    """The later rate less the earlier one; (events, totals) of each, one entry a cluster, in one order.

    A cluster that one side has not has a total of 0 there. Where fewer than five clusters have an event
    on either side, or all episodes of a side are alike, Newcombe's score interval on effective sizes.

    >>> ten = np.ones(10); found = rate_change((np.zeros(10), ten), (np.array([1.0] * 3 + [0] * 7), ten),
    ...     estimand="indeterminate")
    >>> round(found.value, 2), round(found.low, 2), round(found.high, 2), found.method
    (0.3, -0.04, 0.62, 'Newcombe score on effective sizes, by task')
    """
    (hits, had), (found, have) = before, after
    sizes = float(had.sum()), float(have.sum())
    clusters = int(((had + have) > 0).sum())
    common = {"level": level, "n": round(sum(sizes)), "clusters": clusters, "estimand": estimand}
    if not all(sizes):
        return Estimate(value=None, reason=empty, **common)
    rates = float(hits.sum()) / sizes[0], float(found.sum()) / sizes[1]
    value = rates[1] - rates[0]
    alone = _newcombe_score(rates, sizes, level)
    iid = Interval(*alone, "Newcombe score")
    if min(int((had > 0).sum()), int((have > 0).sum())) < 2:
        return Estimate(value=value, reason="single_cluster", iid=iid, **common)
    few = min(int((hits > 0).sum()), int((found > 0).sum())) < FEW
    if few or not 0 < rates[0] < 1 or not 0 < rates[1] < 1:
        left = cluster_size(hits, had, level=level).size, cluster_size(found, have, level=level).size
        low, high = _newcombe_score(rates, left, level)
        method = f"Newcombe score on effective sizes, by {unit}"
    else:
        scores = (found - have * rates[1]) / sizes[1] - (hits - had * rates[0]) / sizes[0]
        variance = clusters / (clusters - 1) * float(np.square(scores).sum())
        half = t_quantile(clusters - 1, level) * math.sqrt(variance)
        low, high = max(-1.0, value - half), min(1.0, value + half)
        method = f"linearised variance by {unit}, t"
    return Estimate(value=value, low=min(low, value), high=max(high, value), method=method, iid=iid, **common)


def _newcombe_score(
    rates: tuple[float, float], sizes: tuple[float, float], level: float
) -> tuple[float, float]:
    """Newcombe's hybrid score interval of rates[1] - rates[0], independent samples.

    Source: Newcombe 1998, Statistics in Medicine 17:873, method 10, without continuity correction.
    """
    (low_0, high_0), (low_1, high_1) = (wilson(p, n, level=level) for p, n in zip(rates, sizes, strict=True))
    value = rates[1] - rates[0]
    below = math.hypot(rates[1] - low_1, high_0 - rates[0])
    above = math.hypot(high_1 - rates[1], rates[0] - low_0)
    return max(-1.0, value - below), min(1.0, value + above)


def _plural(unit: str) -> str:
    return "families" if unit == "family" else f"{unit}s"
