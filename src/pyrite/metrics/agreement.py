"""Agreement of a judge with the truth beyond chance, intervals by resampling clusters.

Several coefficients, because each can mislead alone: kappa falls where one outcome is rare (the
prevalence paradox), AC1 does not. None of them says how generous a judge is: TPR and FPR do.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pyrite.metrics.clusters import Counts
from pyrite.metrics.intervals import LEVEL, normal_quantile, t_quantile
from pyrite.metrics.resample import MAX_SKIPPED, resampled_sums
from pyrite.records import Estimate, Interval


def kappa_of(tp: Counts, fp: Counts, fn: Counts, tn: Counts) -> Counts:
    """Cohen's kappa (po - pe) / (1 - pe) of each table; NaN where chance agreement is 1."""
    n = tp + fp + fn + tn
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = (tp + tn) / n
        chance = ((tp + fp) * (tp + fn) + (fn + tn) * (fp + tn)) / (n * n)
        return _finite((observed - chance) / (1 - chance))


def ac1_of(tp: Counts, fp: Counts, fn: Counts, tn: Counts) -> Counts:
    """Gwet's AC1 (po - pe) / (1 - pe), pe = 2q(1 - q), q the mean share of success; NaN for no episode.

    >>> ac1_of(*(np.array([x]) for x in (18.0, 12, 2, 68))).round(4)
    array([0.776])
    """
    n = tp + fp + fn + tn
    with np.errstate(invalid="ignore", divide="ignore"):
        q = (2 * tp + fp + fn) / (2 * n)
        chance = 2 * q * (1 - q)
        return _finite(((tp + tn) / n - chance) / (1 - chance))


def alpha_of(tp: Counts, fp: Counts, fn: Counts, tn: Counts) -> Counts:
    """Krippendorff's nominal alpha 1 - Do / De of two raters; NaN where one outcome is ever used.

    >>> alpha_of(*(np.array([x]) for x in (18.0, 12, 2, 68))).round(4)
    array([0.6285])
    """
    n = tp + fp + fn + tn
    yes, no = 2 * tp + fp + fn, 2 * tn + fp + fn
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = 2 * yes * no / (2 * n * (2 * n - 1))
        return _finite(1 - (fp + fn) / n / expected)


def pabak_of(tp: Counts, fp: Counts, fn: Counts, tn: Counts) -> Counts:
    """Prevalence- and bias-adjusted kappa, 2 po - 1; NaN for no episode."""
    n = tp + fp + fn + tn
    with np.errstate(invalid="ignore", divide="ignore"):
        return _finite(2 * (tp + tn) / n - 1)


def mcc_of(tp: Counts, fp: Counts, fn: Counts, tn: Counts) -> Counts:
    """Matthews correlation of judge and truth; NaN where either always says the same.

    >>> mcc_of(*(np.array([x]) for x in (18.0, 12, 2, 68))).round(4)
    array([0.6547])
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        margins = np.sqrt(tp + fp) * np.sqrt(tp + fn) * np.sqrt(tn + fp) * np.sqrt(tn + fn)
        return np.clip(_finite((tp * tn - fp * fn) / margins), -1, 1)


Coefficient = Callable[[Counts, Counts, Counts, Counts], Counts]
COEFFICIENTS: dict[str, tuple[str, Coefficient]] = {
    "kappa": ("Cohen's kappa", kappa_of),
    "ac1": ("Gwet's AC1", ac1_of),
    "alpha": ("Krippendorff's alpha", alpha_of),
    "pabak": ("PABAK", pabak_of),
    "mcc": ("Matthews correlation", mcc_of),
}


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
    return coefficient("kappa", tp, fp, fn, tn, unit=unit, level=level, resamples=resamples, seed=seed)


def coefficient(
    name: str,
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
    """One of `COEFFICIENTS` with a percentile interval over resampled clusters; one entry a cluster.

    None with a reason where it is undefined: no episode; for kappa and the Matthews correlation no
    passes or no failures; for the Matthews correlation a judge that always says the same; for AC1 and
    alpha one outcome said by both and of every episode. Replicates where it is undefined are skipped
    and counted; above 5 % the interval is refused ("unstable_resamples").
    """
    spoken, of = COEFFICIENTS[name]
    n = tp + fp + fn + tn
    clusters, total = int((n > 0).sum()), float(n.sum())
    estimand = f"{spoken} of judge and truth, episode-weighted"
    common = {"level": level, "n": round(total), "clusters": clusters, "estimand": estimand}
    cells = np.array([c.sum() for c in (tp, fp, fn, tn)], dtype=np.float64)
    if reason := _undefined(name, cells):
        return Estimate(**common, value=None, reason=reason)
    value = float(of(*cells[:, None])[0])
    iid = _beside(name, cells, value, level)
    if clusters < 2:
        return Estimate(**common, value=value, reason="single_cluster", iid=iid)
    sums = resampled_sums(np.stack([tp, fp, fn, tn], axis=1)[n > 0], resamples=resamples, seed=seed)
    replicates = of(*sums.T)
    defined = replicates[np.isfinite(replicates)]
    if len(defined) < (1 - MAX_SKIPPED) * resamples:
        return Estimate(**common, value=value, reason="unstable_resamples", iid=iid)
    tail = (1 - level) / 2
    low, high = (float(x) for x in np.quantile(defined, [tail, 1 - tail]))
    skipped = resamples - len(defined)
    method = f"cluster bootstrap by {unit}, percentile, {resamples} resamples"
    if high - low <= 1e-9:
        return Estimate(**common, value=value, reason="no_variation", iid=iid)
    return Estimate(
        **common,
        value=value,
        low=min(low, value),
        high=max(high, value),
        method=f"{method}, {skipped} skipped" if skipped else method,
        iid=iid,
    )


def krippendorff_alpha(ratings: NDArray[np.integer]) -> float | None:
    """Krippendorff's nominal alpha of any number of raters, an (episodes, raters) array of codes.

    Below 0 is no rating; an episode with one rating pairs with nothing and is left out. None where no
    episode has two, or where one code is ever used. Source: Krippendorff 2011.

    >>> round(krippendorff_alpha(np.array([[1, 1], [1, 0], [0, 0], [0, -1]])), 4)
    0.4444
    """
    kinds = int(ratings.max()) + 1 if ratings.size else 0
    if kinds < 1:
        return None
    counts = np.stack([(ratings == kind).sum(axis=1) for kind in range(kinds)], axis=1).astype(np.float64)
    given = counts.sum(axis=1)
    counts, given = counts[given > 1], given[given > 1]
    values, used = float(given.sum()), counts.sum(axis=0)
    if values == 0 or float(used.max()) == values:
        return None
    pairs = (np.square(given) - np.square(counts).sum(axis=1)) / (given - 1)
    observed = float(pairs.sum()) / values
    expected = (values**2 - float(np.square(used).sum())) / (values * (values - 1))
    return 1 - observed / expected


def _undefined(name: str, cells: Counts) -> str | None:
    tp, fp, fn, tn = (float(c) for c in cells)
    if tp + fp + fn + tn == 0:
        return "no_episodes"
    if name in {"kappa", "mcc"} and (tp + fn == 0 or fp + tn == 0):
        return "no_positives" if tp + fn == 0 else "no_negatives"
    if name == "mcc" and (tp + fp == 0 or fn + tn == 0):
        return "constant_judge"
    if name in {"ac1", "alpha"} and fp + fn == 0 and (tp == 0 or tn == 0):
        return "one_category"
    return None


def _beside(name: str, cells: Counts, value: float, level: float) -> Interval | None:
    """The interval for independent episodes, for the coefficients that have a standard one."""
    if name == "kappa":
        return _fleiss_cohen_everitt(*(float(c) for c in cells), value=value, level=level)
    if name == "ac1":
        return _gwet(*(float(c) for c in cells), value=value, level=level)
    return None


def _fleiss_cohen_everitt(
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


def _gwet(tp: float, fp: float, fn: float, tn: float, *, value: float, level: float) -> Interval | None:
    """Gwet's (2008) interval, linearised by episode, with t on n - 1; None where the variance is 0."""
    n = tp + fp + fn + tn
    if n < 2:
        return None
    q = (2 * tp + fp + fn) / (2 * n)
    chance = 2 * q * (1 - q)
    agree, count = np.array([1.0, 0, 0, 1]), np.array([tp, fp, fn, tn])
    share = np.array([1.0, 0.5, 0.5, 0])
    own = share * (1 - q) + (1 - share) * q
    linear = (agree - chance) / (1 - chance) - 2 * (1 - value) * (own - chance) / (1 - chance)
    variance = float((count * np.square(linear - value)).sum()) / (n * (n - 1))
    if variance <= 1e-15:
        return None
    half = t_quantile(n - 1, level) * math.sqrt(variance)
    return Interval(max(-1.0, value - half), min(1.0, value + half), "Gwet, t")


def _finite(found: NDArray[np.float64]) -> Counts:
    return np.where(np.isfinite(found), found, np.nan)
