"""The difference of two proportions on the same episodes: two judges, or a judge and the truth."""

from __future__ import annotations

import math

import numpy as np

from pyrite.metrics.clusters import FEW, Counts
from pyrite.metrics.compare import sign_flip_limits
from pyrite.metrics.intervals import LEVEL, t_quantile, wilson
from pyrite.records import Estimate, Interval


def newcombe_10(
    both: float, first: float, second: float, neither: float, *, level: float = LEVEL
) -> Interval:
    """Newcombe's hybrid score interval, method 10, of (first - second) / n.

    `first` and `second` are the discordant counts; counts need not be whole. Source: Newcombe 1998,
    Statistics in Medicine 17:2635, with the continuity-corrected phi.

    >>> [round(x, 4) for x in newcombe_10(18, 12, 2, 68)[:2]]
    [0.0263, 0.1749]
    """
    n = both + first + second + neither
    one, two = (both + first) / n, (both + second) / n
    value = (first - second) / n
    low_1, high_1 = wilson(min(one, 1.0), n, level=level)
    low_2, high_2 = wilson(min(two, 1.0), n, level=level)
    phi = _phi(both, first, second, neither)
    down_1, up_1, down_2, up_2 = one - low_1, high_1 - one, two - low_2, high_2 - two
    below = math.sqrt(max(0.0, down_1**2 - 2 * phi * down_1 * up_2 + up_2**2))
    above = math.sqrt(max(0.0, up_1**2 - 2 * phi * up_1 * down_2 + down_2**2))
    return Interval(max(-1.0, value - below), min(1.0, value + above), "Newcombe 10")


def inflation(
    tp: Counts, fp: Counts, fn: Counts, tn: Counts, *, unit: str = "task", level: float = LEVEL
) -> Estimate:
    """Judged minus true success rate, (FP - FN) / N: `difference` of what is accepted and what passed."""
    return difference(
        tp,
        fp,
        fn,
        tn,
        estimand="judged minus true success rate, episode-weighted",
        empty="no_episodes",
        unit=unit,
        level=level,
    )


def difference(
    both: Counts,
    first: Counts,
    second: Counts,
    neither: Counts,
    *,
    estimand: str,
    empty: str,
    unit: str = "task",
    level: float = LEVEL,
) -> Estimate:
    """Difference of two rates on the same episodes, (first - second) / N; cluster variance, t on K - 1.

    One entry a cluster; `first` and `second` count the discordant episodes. As an effective size is
    never above n, the variance is never below that of independent episodes. Where fewer than five
    clusters have first != second the variance between clusters says too little: Newcombe 10 on counts
    scaled to the size that is left if all episodes of a cluster were equal (or to n over the design
    effect, if smaller).
    """
    n = both + first + second + neither
    total = float(n.sum())
    if total == 0:
        return Estimate(value=None, level=level, n=0, clusters=0, estimand=estimand, reason=empty)
    cells = (float(both.sum()), float(first.sum()), float(second.sum()), float(neither.sum()))
    value = (cells[1] - cells[2]) / total
    iid = newcombe_10(*cells, level=level)
    clusters = int((n > 0).sum())
    common = {"value": value, "level": level, "n": round(total), "clusters": clusters, "estimand": estimand}
    if clusters < 2:
        return Estimate(**common, reason="single_cluster", iid=iid)
    apart = first - second
    variance = clusters / (clusters - 1) * float(np.square(apart - n * value).sum()) / total**2
    alone = ((cells[1] + cells[2]) / total - value**2) / total
    n_eff = min(total, total * alone / variance) if variance > 0 and alone > 0 else total
    if int((apart != 0).sum()) < FEW or variance == 0:
        n_eff = min(n_eff, total**2 / float(np.square(n).sum()))
        low, high, _ = newcombe_10(*(cell * n_eff / total for cell in cells), level=level)
        method = f"Newcombe 10, clustered by {unit}, few-event size"
    else:
        half = t_quantile(clusters - 1, level) * math.sqrt(max(variance, alone))
        low, high = max(-1.0, value - half), min(1.0, value + half)
        method = f"cluster variance by {unit}, t"
    low, high = min(low, value), max(high, value)
    return Estimate(**common, low=low, high=high, method=method, n_eff=n_eff, iid=iid)


def agreeing(found: Estimate, differences: Counts, p: float | None) -> Estimate:
    """An interval that does not contradict the sign-flip test of the same differences, one entry a cluster.

    Where it excludes 0 and the test does not reject 0 (fewer than six clusters that moved never can), it is
    widened to what the test, turned round, does not reject either: that holds 0. It is never narrowed.

    >>> four = np.ones(4)
    >>> none = np.zeros(4)
    >>> alone = difference(none, four, none, none, estimand="x", empty="none")
    >>> round(alone.low, 3), round(agreeing(alone, four, 0.125).low, 3)
    (0.307, -0.205)
    """
    if p is None or found.low is None or found.high is None or found.level is None:
        return found
    if p <= 1 - found.level or found.low <= 0 <= found.high:
        return found
    limits = sign_flip_limits(differences, level=found.level)
    low, high = (end / found.n for end in limits or (0.0, 0.0))
    return found.model_copy(
        update={
            "low": max(-1.0, min(found.low, low, 0.0)),
            "high": min(1.0, max(found.high, high, 0.0)),
            "method": f"{found.method}, widened to what the sign-flip test does not reject",
        }
    )


def _phi(both: float, first: float, second: float, neither: float) -> float:
    margins = (both + first) * (second + neither) * (both + second) * (first + neither)
    if margins <= 0:
        return 0.0
    product = both * neither - first * second
    half = (both + first + second + neither) / 2
    if product > half:
        product -= half
    elif product >= 0:
        product = 0.0
    return product / math.sqrt(margins)
