"""A success rate measured by a judge, corrected with a small set of true outcomes.

Rogan-Gladen where the base rate may differ but the judge's error rates carry over; prediction-powered
(PPI++) where the true outcomes are a random sample of the same episodes. Both refuse, with the reason,
where they say nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyrite.metrics.intervals import LEVEL, normal_quantile, t_quantile
from pyrite.records import Estimate, Interval

Floats = NDArray[np.float64]
Codes = NDArray[np.integer]
WEAK = 0.3
"""Youden's J below which dividing by it is warned of."""


@dataclass(frozen=True)
class Proportion:
    """A proportion and the size behind it; an effective size need not be whole."""

    value: float
    n: float


@dataclass(frozen=True)
class Corrected:
    """A corrected success rate and what to know before using it."""

    estimate: Estimate
    youden: float | None = None
    """TPR - FPR of the judge, for Rogan-Gladen."""
    weight: float | None = None
    """lambda of PPI++: 0 is the true outcomes alone, 1 is plain PPI."""
    warnings: tuple[str, ...] = ()


def rogan_gladen(
    judged: Proportion,
    tpr: Proportion | None,
    tnr: Proportion | None,
    *,
    level: float = LEVEL,
    clusters: int | None = None,
) -> Corrected:
    """theta = (p + TNR - 1) / (TPR + TNR - 1), clipped to [0, 1], with the interval of Lang and Reiczigel.

    `judged` is the share that the judge accepts, on episodes without a true outcome; `tpr` and `tnr` come
    from those with one (None: no such episode). Sizes of clustered data go in as they are (approximate).
    Refused where TPR + TNR <= 1. Sources: Rogan and Gladen 1978; Lang and Reiczigel 2014.

    >>> found = rogan_gladen(Proportion(.5, 400), Proportion(.9, 40), Proportion(.85, 40)).estimate
    >>> round(found.value, 4), round(found.low, 4), round(found.high, 4)
    (0.4667, 0.3362, 0.5879)
    """
    estimand = "true success rate of the judged episodes, if the judge's TPR and TNR hold there"
    common = {"level": level, "n": round(judged.n), "clusters": clusters, "estimand": estimand}
    empty = _empty(judged, tpr, tnr)
    if empty or tpr is None or tnr is None:
        return Corrected(Estimate(**common, value=None, reason=empty))
    youden = tpr.value + tnr.value - 1
    if youden <= 1e-12:
        return Corrected(Estimate(**common, value=None, reason="judge_no_better_than_chance"), youden)
    raw = (judged.value + tnr.value - 1) / youden
    value = min(1.0, max(0.0, raw))
    warnings = []
    if youden < WEAK:
        warnings.append(f"TPR - FPR is {youden:.2f}, below {WEAK}: the correction divides by it")
    if raw < 0:
        warnings.append("observed rate below what false positives alone would give; clipped to 0")
    if raw > 1:
        warnings.append("observed rate above what the judge accepts of passed episodes; clipped to 1")
    ends = _lang_reiczigel(judged, tpr, tnr, normal_quantile(level))
    if ends is None:
        found = Estimate(**common, value=value, reason="judge_no_better_than_chance")
        return Corrected(found, youden, warnings=tuple(warnings))
    found = Estimate(
        **common,
        value=value,
        low=min(ends[0], value),
        high=max(ends[1], value),
        n_eff=judged.n,
        method="Rogan-Gladen, Lang-Reiczigel",
    )
    return Corrected(found, youden, warnings=tuple(warnings))


def ppi_mean(
    truth: Floats,
    judged: Floats,
    judged_only: Floats,
    *,
    cluster: Codes | None = None,
    cluster_only: Codes | None = None,
    weight: float | None = None,
    unit: str = "task",
    level: float = LEVEL,
) -> Corrected:
    """mean(truth) + weight (mean(judged_only) - mean(judged)): PPI++ for a mean.

    `truth` and `judged` are of the n episodes with a true outcome, `judged_only` of the N without (all
    0/1 or in [0, 1]). The first must be a random sample of the same kind of episodes; nothing is assumed
    of the judge. `weight` None is tuned, cov / ((1 + n/N) var). With clusters (codes from 0 that mean
    the same in both) the variance is that of cluster sums with Student's t, the normal one stands
    beside. Source: Angelopoulos, Duchi and Zrnic 2023.

    >>> y = np.repeat([1.0, 1, 0, 0], [18, 2, 12, 68]); f = np.repeat([1.0, 0, 1, 0], [18, 2, 12, 68])
    >>> found = ppi_mean(y, f, np.repeat([1.0, 0], [300, 600]))
    >>> round(found.estimate.value, 4), round(found.weight, 3)
    (0.2163, 0.488)
    """
    estimand = "true success rate of all episodes, the scored ones being a random sample"
    n, others = len(truth), len(judged_only)
    common = {"level": level, "n": n + others, "estimand": estimand}
    if n < 2 or not others:
        reason = "no_unscored_episodes" if not others else "too_few_scored_episodes"
        return Corrected(Estimate(**common, value=None, reason=reason))
    # sums of floats depend on their order: the rows' order must not show in the last digit
    order, order_only = np.lexsort((judged, truth)), np.argsort(judged_only, kind="stable")
    truth, judged, judged_only = truth[order], judged[order], judged_only[order_only]
    if cluster is not None and cluster_only is not None:
        cluster, cluster_only = cluster[order], cluster_only[order_only]
    tuned = _tuned(truth, judged, judged_only) if weight is None else weight
    residual = truth - tuned * judged
    raw = float(residual.mean()) + tuned * float(judged_only.mean())
    value = min(1.0, max(0.0, raw))
    alone = float(np.var(residual)) / n + tuned**2 * float(np.var(judged_only)) / others
    iid = _cut(value, normal_quantile(level) * math.sqrt(alone), "PPI++, normal")
    if cluster is None or cluster_only is None:
        if iid is None:
            return Corrected(Estimate(**common, value=value, reason="no_variation"), weight=tuned)
        found = Estimate(**common, value=value, low=iid.low, high=iid.high, method=iid.method)
        return Corrected(found, weight=tuned)
    variance, groups = _clustered_variance(residual, tuned * judged_only, cluster, cluster_only)
    ends = None
    if groups > 1:
        half = t_quantile(groups - 1, level) * math.sqrt(variance)
        ends = _cut(value, half, f"PPI++, cluster variance by {unit}, t")
    if ends is None:
        reason = "single_cluster" if groups < 2 else "no_variation"
        found = Estimate(**common, value=value, clusters=groups, reason=reason, iid=iid)
    else:
        low, high, method = ends
        found = Estimate(**common, value=value, low=low, high=high, method=method, clusters=groups, iid=iid)
    return Corrected(found, weight=tuned)


def _empty(judged: Proportion, tpr: Proportion | None, tnr: Proportion | None) -> str | None:
    if judged.n <= 0:
        return "no_unscored_episodes"
    if tpr is None or tpr.n <= 0:
        return "no_positives"
    return "no_negatives" if tnr is None or tnr.n <= 0 else None


def _lang_reiczigel(
    judged: Proportion, tpr: Proportion, tnr: Proportion, z: float
) -> tuple[float, float] | None:
    """Ends of the interval; None where the adjusted judge is no better than chance."""
    p, n = (judged.n * judged.value + z * z / 2) / (judged.n + z * z), judged.n + z * z
    q1, m1 = (tpr.n * tpr.value + 1) / (tpr.n + 2), tpr.n + 2
    q0, m0 = (tnr.n * tnr.value + 1) / (tnr.n + 2), tnr.n + 2
    youden = q0 + q1 - 1
    if youden <= 1e-12:
        return None
    theta = (p + q0 - 1) / youden
    spread0, spread1 = q0 * (1 - q0) / m0, q1 * (1 - q1) / m1
    shift = 2 * z * z * (-(1 - theta) * spread0 + theta * spread1)
    half = z * math.sqrt(p * (1 - p) / n + (1 - theta) ** 2 * spread0 + theta**2 * spread1) / youden
    low, high = theta + shift - half, theta + shift + half
    return min(1.0, max(0.0, low)), min(1.0, max(0.0, high))


def _tuned(truth: Floats, judged: Floats, judged_only: Floats) -> float:
    """The weight with the least variance, in [0, 1]; 0 for a judge that always says the same."""
    n, others = len(truth), len(judged_only)
    spread = float(np.var(np.concatenate([judged, judged_only]), ddof=1))
    if spread <= 0:
        return 0.0
    together = float(np.mean((truth - truth.mean()) * (judged - judged.mean())))
    return min(1.0, max(0.0, together / ((1 + n / others) * spread)))


def _clustered_variance(
    residual: Floats, only: Floats, cluster: Codes, cluster_only: Codes
) -> tuple[float, int]:
    """Variance of mean(residual) + mean(only) from sums by cluster, and the number of clusters."""
    size = int(max(cluster.max(), cluster_only.max())) + 1
    influence = np.bincount(cluster, weights=(residual - residual.mean()) / len(residual), minlength=size)
    influence += np.bincount(cluster_only, weights=(only - only.mean()) / len(only), minlength=size)
    groups = len(np.union1d(cluster, cluster_only))
    if groups < 2:
        return 0.0, groups
    return groups / (groups - 1) * float(np.sort(np.square(influence)).sum()), groups


def _cut(value: float, half: float, method: str) -> Interval | None:
    if half <= 1e-12:
        return None
    return Interval(max(0.0, value - half), min(1.0, value + half), method)
