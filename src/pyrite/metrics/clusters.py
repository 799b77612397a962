"""Rates of clustered episodes: the effective size, and Wilson's interval on it.

Episodes of one task are alike, so 100 of them hold less than 100 independent ones. The variance of
the ratio estimate gives a design effect, the design effect an effective size, and the size goes into
Wilson's formula: df-adjusted (Korn and Graubard 1998), and with a fallback where fewer than five
clusters have an event or a non-event (p = 0 and p = 1 included), because the variance between
clusters cannot be told from so few.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pyrite.metrics.intervals import LEVEL, t_quantile, wilson
from pyrite.records import Estimate, Interval

Counts = NDArray[np.float64]
FEW = 5
"""Fewer clusters than this with an event, or with a non-event, and the fallback size is used."""


@dataclass(frozen=True)
class ClusterSize:
    """What clustering leaves of n episodes."""

    rate: float
    n: int
    clusters: int
    standard_error: float
    """Of the ratio estimate, clustered; 0 where all clusters have one rate."""
    n_eff: float
    """n over the design effect, at most n."""
    size: float
    """What goes into the interval: n_eff df-adjusted, or the fallback."""
    rule: Literal["df-adjusted", "few-event size"]


def cluster_size(events: Counts, totals: Counts, *, level: float = LEVEL) -> ClusterSize:
    """Effective size of sum(events) / sum(totals); one entry a cluster, at least two with totals above 0.

    Raises `ValueError` for fewer than two such clusters: their variance is undefined.
    """
    kept = totals > 0
    f, n = events[kept].astype(np.float64), totals[kept].astype(np.float64)
    clusters, total = len(n), float(n.sum())
    if clusters < 2:
        raise ValueError("a clustered variance needs at least two clusters")
    p = float(f.sum()) / total
    variance = clusters / (clusters - 1) * float(np.square(f - n * p).sum()) / total**2
    alike = total**2 / float(np.square(n).sum())
    spread = p * (1 - p)
    if spread == 0:
        n_eff = alike
    elif variance == 0:
        n_eff = total
    else:
        n_eff = min(total, spread / variance)
    few = min(int((f > 0).sum()), int((f < n).sum())) < FEW
    if few:
        size = min(n_eff, alike)
    elif total == clusters:
        size = n_eff
    else:
        size = n_eff * (t_quantile(total - 1, level) / t_quantile(clusters - 1, level)) ** 2
    return ClusterSize(
        rate=p,
        n=round(total),
        clusters=clusters,
        standard_error=math.sqrt(variance),
        n_eff=n_eff,
        size=size,
        rule="few-event size" if few else "df-adjusted",
    )


def rate(
    events: Counts,
    totals: Counts,
    *,
    estimand: str,
    empty: str,
    unit: str = "task",
    level: float = LEVEL,
) -> Estimate:
    """An episode-weighted rate with its clustered Wilson interval, the independent one beside.

    `events` and `totals` hold one entry a cluster. Where all totals are 0 the value is None with the
    reason `empty`; where one cluster holds everything the interval is refused ("single_cluster").

    >>> import numpy as np
    >>> n = np.array([4.0, 4, 4, 3, 4, 2, 4, 5]); f = np.array([4.0, 0, 4, 0, 1, 1, 0, 2])
    >>> found = rate(f, n, estimand="FPR", empty="no_negatives")
    >>> found.value, round(found.low, 4), round(found.high, 4)
    (0.4, 0.1482, 0.7186)
    """
    total, hits = float(totals.sum()), float(events.sum())
    if total == 0:
        return Estimate(value=None, level=level, n=0, clusters=0, estimand=estimand, reason=empty)
    p = hits / total
    alone = wilson(p, total, level=level)
    iid = Interval(alone.low, alone.high, "Wilson")
    clusters = int((totals > 0).sum())
    if clusters < 2:
        return Estimate(
            value=p,
            level=level,
            n=round(total),
            clusters=clusters,
            estimand=estimand,
            reason="single_cluster",
            iid=iid,
        )
    size = cluster_size(events, totals, level=level)
    bounds = wilson(p, size.size, level=level)
    return Estimate(
        value=p,
        low=bounds.low,
        high=bounds.high,
        method=f"Wilson, clustered by {unit}, {size.rule}",
        level=level,
        n=round(total),
        n_eff=size.size if size.rule == "few-event size" else size.n_eff,
        clusters=clusters,
        estimand=estimand,
        iid=iid,
    )
