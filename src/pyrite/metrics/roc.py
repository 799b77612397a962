"""How well a score ranks passed above failed episodes: AUC with a clustered interval, and DET points."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyrite.metrics.intervals import LEVEL, normal_quantile, special, t_quantile
from pyrite.records import Estimate, Interval

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Codes = NDArray[np.integer]


@dataclass(frozen=True)
class Point:
    """Error rates where scores at or above `threshold` are accepted; None accepts nothing."""

    threshold: float | None
    fpr: float
    fnr: float


def auc(
    scores: Floats, passed: Flags, cluster: Codes, *, unit: str = "task", level: float = LEVEL
) -> Estimate:
    """P(a passed episode scores above a failed one), ties half, with a clustered interval.

    One entry an episode; a score of NaN ranks below all others. The variance is Obuchowski's (1997,
    Biometrics 53:567) for clustered data, the interval is on the logit scale with Student's t on
    min(clusters with a pass, clusters with a failure) - 1; beside it DeLong's (1988) for independent
    episodes. Neither exists where the variance is 0, as with perfect separation ("no_variation").

    >>> p = np.array([.95, .95, .90, .85, .80, .60, .55, .30, .20, .05])
    >>> y = np.array([1, 0, 1, 0, 1, 1, 0, 0, 0, 0], dtype=bool)
    >>> round(auc(p, y, np.arange(10)).value, 4)
    0.7708
    """
    estimand = "P(score of a passed episode > of a failed one)"
    ranked = np.where(np.isnan(scores), -np.inf, scores)
    high, low = ranked[passed], ranked[~passed]
    if len(scores) and bool(np.isnan(scores).all()):
        reason = "no_readable_scores"
        return Estimate(value=None, level=level, n=len(scores), clusters=0, estimand=estimand, reason=reason)
    if not len(high) or not len(low):
        empty = "no_episodes" if not len(scores) else "no_negatives" if len(high) else "no_positives"
        return Estimate(value=None, level=level, n=len(scores), clusters=0, estimand=estimand, reason=empty)
    of_passed = _placements(high, low)
    of_failed = 1 - _placements(low, high)
    value = float(of_passed.mean())
    codes = np.unique(cluster, return_inverse=True)[1]
    alone = np.arange(len(scores))
    iid = _variance(of_passed, of_failed, alone[passed], alone[~passed], value)
    groups = min(len(np.unique(codes[passed])), len(np.unique(codes[~passed])))
    alone_reason = "single_cluster" if groups < 2 else None
    variance = None if alone_reason else _variance(of_passed, of_failed, codes[passed], codes[~passed], value)
    beside = _logit(value, iid, normal_quantile(level))
    ends = _logit(value, variance, t_quantile(groups - 1, level)) if groups > 1 else None
    return Estimate(
        value=value,
        low=ends[0] if ends else None,
        high=ends[1] if ends else None,
        method=f"Obuchowski, clustered by {unit}, logit, t" if ends else None,
        level=level,
        n=len(scores),
        clusters=int(codes.max()) + 1,
        estimand=estimand,
        reason=None if ends else alone_reason or "no_variation",
        iid=Interval(*beside, "DeLong, logit") if beside else None,
    )


def det_points(scores: Floats, passed: Flags, *, limit: int = 200) -> list[Point]:
    """False-positive and false-negative rate at each distinct score, strictest first.

    The first point accepts nothing. With more than `limit` points, that many are kept, evenly spread by
    rank, both ends among them. Empty where no episode passed or none failed. NaN is accepted nowhere.
    """
    ranked = np.where(np.isnan(scores), -np.inf, scores)
    high, low = np.sort(ranked[passed]), np.sort(ranked[~passed])
    if not len(high) or not len(low):
        return []
    cuts = np.unique(ranked[np.isfinite(ranked)])[::-1]
    if len(cuts) > limit - 1:
        cuts = cuts[np.unique(np.linspace(0, len(cuts) - 1, limit - 1).round().astype(np.intp))]
    fpr = 1 - np.searchsorted(low, cuts, side="left") / len(low)
    fnr = np.searchsorted(high, cuts, side="left") / len(high)
    points = [Point(float(t), float(f), float(m)) for t, f, m in zip(cuts, fpr, fnr, strict=True)]
    return [Point(None, 0.0, 1.0), *points]


def _placements(these: Floats, others: Floats) -> Floats:
    """Share of `others` below each of `these`, ties half."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, these, side="left")
    upto = np.searchsorted(ordered, these, side="right")
    found: Floats = (below + upto) / (2 * len(ordered))
    return found


def _variance(
    of_passed: Floats, of_failed: Floats, passed: Codes, failed: Codes, value: float
) -> float | None:
    """Obuchowski's variance of the AUC; with an own cluster for every episode it is DeLong's."""
    size = int(max(passed.max(), failed.max())) + 1
    m, n = len(of_passed), len(of_failed)
    up = np.bincount(passed, weights=of_passed - value, minlength=size)
    down = np.bincount(failed, weights=of_failed - value, minlength=size)
    with_pass = np.bincount(passed, minlength=size) > 0
    with_fail = np.bincount(failed, minlength=size) > 0
    tens, ones, all_ = int(with_pass.sum()), int(with_fail.sum()), int((with_pass | with_fail).sum())
    if tens < 2 or ones < 2:
        return None
    first = tens / ((tens - 1) * m) * float(np.square(up).sum())
    second = ones / ((ones - 1) * n) * float(np.square(down).sum())
    cross = all_ / (all_ - 1) * float((up * down).sum())
    return first / m + second / n + 2 * cross / (m * n)


def _logit(value: float, variance: float | None, quantile: float) -> tuple[float, float] | None:
    if variance is None or variance <= 1e-15 or not 0 < value < 1:
        return None
    centre = math.log(value / (1 - value))
    half = quantile * math.sqrt(variance) / (value * (1 - value))
    low, high = (float(x) for x in special().expit(np.array([centre - half, centre + half])))
    return min(low, value), max(high, value)
