"""Cohen's kappa of a judge with the truth, its interval by resampling clusters."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pyrite.metrics.clusters import Counts
from pyrite.metrics.intervals import LEVEL, normal_quantile
from pyrite.metrics.resample import MAX_SKIPPED, resampled_sums
from pyrite.records import Estimate, Interval


def kappa_of(tp: Counts, fp: Counts, fn: Counts, tn: Counts) -> Counts:
    """Cohen's kappa (po - pe) / (1 - pe) of each table; NaN where chance agreement is 1."""
    n = tp + fp + fn + tn
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = (tp + tn) / n
        chance = ((tp + fp) * (tp + fn) + (fn + tn) * (fp + tn)) / (n * n)
        found: NDArray[np.float64] = (observed - chance) / (1 - chance)
    found[~np.isfinite(found)] = np.nan
    return found


def kappa(
    tp: Counts,
    fp: Counts,
    fn: Counts,
    tn: Counts,
    *,
    unit: str = "task",
    level: float = LEVEL,
    resamples: int = 2000,
    seed: int = 0,
) -> Estimate:
    """Cohen's kappa with a percentile interval over resampled clusters; one entry a cluster.

    None where one side is constant: with no passes or no failures kappa is 0 or 0/0 whatever the
    judge does. Replicates where it is undefined are skipped and counted; above 5 % the interval is
    refused ("unstable_resamples").
    """
    estimand = "Cohen's kappa of judge and truth, episode-weighted"
    n = tp + fp + fn + tn
    clusters, total = int((n > 0).sum()), float(n.sum())
    passes, failures = float((tp + fn).sum()), float((fp + tn).sum())
    common = {"level": level, "n": round(total), "clusters": clusters, "estimand": estimand}
    if total == 0 or passes == 0 or failures == 0:
        reason = "no_episodes" if total == 0 else "no_positives" if passes == 0 else "no_negatives"
        return Estimate(**common, value=None, reason=reason)
    cells = np.array([[c.sum()] for c in (tp, fp, fn, tn)], dtype=np.float64)
    value = float(kappa_of(*cells)[0])
    iid = _independent(*(float(c) for c in cells[:, 0]), value=value, level=level)
    if clusters < 2:
        return Estimate(**common, value=value, reason="single_cluster", iid=iid)
    sums = resampled_sums(np.stack([tp, fp, fn, tn], axis=1)[n > 0], resamples=resamples, seed=seed)
    replicates = kappa_of(*sums.T)
    defined = replicates[np.isfinite(replicates)]
    if len(defined) < (1 - MAX_SKIPPED) * resamples:
        return Estimate(**common, value=value, reason="unstable_resamples", iid=iid)
    tail = (1 - level) / 2
    low, high = (float(x) for x in np.quantile(defined, [tail, 1 - tail]))
    skipped = resamples - len(defined)
    method = f"cluster bootstrap by {unit}, percentile, {resamples} resamples"
    if low == high:
        return Estimate(**common, value=value, reason="no_variation", iid=iid)
    return Estimate(
        **common,
        value=value,
        low=min(low, value),
        high=max(high, value),
        method=f"{method}, {skipped} skipped" if skipped else method,
        iid=iid,
    )


def _independent(
    tp: float, fp: float, fn: float, tn: float, *, value: float, level: float
) -> Interval | None:
    """The large-sample interval of Fleiss, Cohen and Everitt (1969); None where its variance is 0."""
    n = tp + fp + fn + tn
    p = np.array([[tp, fp], [fn, tn]]) / n
    judged, true = p.sum(axis=1), p.sum(axis=0)
    chance = float(judged @ true)
    on = float(sum(p[i, i] * (1 - (judged[i] + true[i]) * (1 - value)) ** 2 for i in range(2)))
    off = float(sum(p[i, 1 - i] * (judged[1 - i] + true[i]) ** 2 for i in range(2))) * (1 - value) ** 2
    last = (value - chance * (1 - value)) ** 2
    variance = (on + off - last) / ((1 - chance) ** 2 * n)
    if variance <= 1e-15:
        return None
    half = normal_quantile(level) * math.sqrt(variance)
    return Interval(max(-1.0, value - half), min(1.0, value + half), "Fleiss-Cohen-Everitt")
