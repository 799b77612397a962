"""What showing the agent's claim does to a judge: a paired contrast on the same failed episodes.

Only episodes whose final message claims success tell anything: without a claim the two packages are alike,
and those episodes are the placebo group. Whether the claim informs the judge or makes it lenient shows in
the discrimination d' (unchanged by leniency) and the criterion c.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyrite.metrics.clusters import Counts
from pyrite.metrics.compare import discordance, mcnemar_exact, sign_flip
from pyrite.metrics.intervals import LEVEL, special
from pyrite.metrics.paired import agreeing, difference
from pyrite.metrics.resample import MAX_SKIPPED, resampled_sums
from pyrite.records import Estimate

Flags = NDArray[np.bool_]
Codes = NDArray[np.integer]


@dataclass(frozen=True)
class Contrast:
    """How a judge's acceptance of the same episodes moves between two conditions."""

    difference: Estimate
    """Acceptance with minus without, (flip_in - flip_out) / n."""
    flip_in: int
    """Accepted with the claim only."""
    flip_out: int
    """Accepted without the claim only."""
    p_signflip: float | None
    """By task; None where there is no episode."""
    p_signflip_method: str | None
    p_mcnemar: float | None
    """Exact, episodes taken for independent: for reference."""


@dataclass(frozen=True)
class Discrimination:
    """Signal detection: how well a judge tells passed from failed, and how lenient it is."""

    d_prime: float | None
    criterion: float | None
    """Below 0 is lenient."""
    corrected: bool
    """Rates of 0 or 1 were replaced by (k + .5) / (n + 1)."""
    reason: str | None


def contrast(
    with_claim: Flags, without: Flags, cluster: Codes, *, estimand: str, empty: str, level: float = LEVEL
) -> Contrast:
    """Acceptance in one condition minus the other, on episodes decided in both; one entry an episode.

    The interval is that of `paired.difference`; the p-value of the sign-flip test by task decides, and where
    it does not reject 0 the interval is widened to hold it. Give
    failed episodes for the effect on the FPR, passed ones for that on the TPR, episodes without a claim
    or two halves of the runs of one condition for the noise floor.

    >>> shown = np.repeat([True, False, False], [14, 4, 62])
    >>> hidden = np.repeat([False, True, False], [14, 4, 62])
    >>> found = contrast(shown, hidden, np.arange(80), estimand="claim effect", empty="no_negatives")
    >>> found.difference.value, found.flip_in, found.flip_out, round(found.p_mcnemar, 4)
    (0.125, 14, 4, 0.0309)
    """
    cells = discordance(with_claim, without, cluster)
    found = difference(
        cells.both, cells.first, cells.second, cells.neither, estimand=estimand, empty=empty, level=level
    )
    _, flip_in, flip_out, _ = cells.totals()
    if not len(with_claim):
        return Contrast(found, 0, 0, None, None, None)
    apart = cells.first - cells.second
    flipped = sign_flip(apart)
    return Contrast(
        difference=agreeing(found, apart, flipped.p),
        flip_in=flip_in,
        flip_out=flip_out,
        p_signflip=flipped.p,
        p_signflip_method=flipped.method,
        p_mcnemar=mcnemar_exact(flip_in, flip_out),
    )


def discrimination(tp: int, fn: int, fp: int, tn: int) -> Discrimination:
    """d' = z(TPR) - z(FPR) and criterion c = -(z(TPR) + z(FPR)) / 2; None without passes or failures.

    Where a rate is 0 or 1 both rates are log-linear, (k + .5) / (n + 1) (Hautus 1995).

    >>> found = discrimination(18, 2, 12, 68)
    >>> round(found.d_prime, 3), round(found.criterion, 3), found.corrected
    (2.318, -0.123, False)
    """
    positives, negatives = tp + fn, fp + tn
    if not positives or not negatives:
        return Discrimination(None, None, False, "no_positives" if not positives else "no_negatives")
    corrected = tp in {0, positives} or fp in {0, negatives}
    if corrected:
        hit, alarm = (tp + 0.5) / (positives + 1), (fp + 0.5) / (negatives + 1)
    else:
        hit, alarm = tp / positives, fp / negatives
    z_hit, z_alarm = float(special().ndtri(hit)), float(special().ndtri(alarm))
    return Discrimination(z_hit - z_alarm, -(z_hit + z_alarm) / 2, corrected, None)


@dataclass(frozen=True)
class Signal:
    """d' and criterion with intervals: of one condition, or one condition minus another."""

    d_prime: Estimate
    criterion: Estimate


def signal(
    accepted: Flags,
    passed: Flags,
    cluster: Codes,
    *,
    minus: Flags | None = None,
    level: float = LEVEL,
    resamples: int = 2000,
    seed: int = 0,
) -> Signal:
    """d' and c of `accepted` on passed and failed episodes, less those of `minus` where it is given.

    One entry an episode. Percentile intervals of a bootstrap over clusters; None with a reason where there
    is no pass, no failure, one cluster, or where too many replicates lack one of them.

    >>> passed = np.repeat([True, False], [20, 80])
    >>> accepted = np.concatenate([np.arange(20) < 18, np.arange(80) < 12])
    >>> found = signal(accepted, passed, np.arange(100))
    >>> round(found.d_prime.value, 3), round(found.criterion.value, 3), found.d_prime.low < 2.318
    (2.318, -0.123, True)
    """
    columns = [_cells(accepted, passed, cluster)]
    if minus is not None:
        columns.append(_cells(minus, passed, cluster))
    counts = np.concatenate(columns, axis=1)
    reason = None
    if not passed.any() or passed.all():
        reason = "no_negatives" if len(passed) and passed.all() else "no_positives"
    if reason is not None:
        return Signal(*(_estimate(None, None, reason, len(passed), len(counts), level) for _ in range(2)))
    value = _of_sums(counts.sum(axis=0, keepdims=True))
    drawn = None
    if len(counts) > 1:
        drawn = _of_sums(resampled_sums(counts, resamples=resamples, seed=seed))
    return Signal(
        *(
            _estimate(
                float(value[k][0]), None if drawn is None else drawn[k], None, len(passed), len(counts), level
            )
            for k in range(2)
        )
    )


def _cells(accepted: Flags, passed: Flags, cluster: Codes) -> Counts:
    """(tp, fn, fp, tn) of each cluster."""
    kinds = (passed & accepted, passed & ~accepted, ~passed & accepted, ~passed & ~accepted)
    size = int(cluster.max()) + 1 if len(cluster) else 0
    return np.stack([np.bincount(cluster[kind], minlength=size) for kind in kinds], axis=1).astype(float)


def _of_sums(sums: Counts) -> tuple[Counts, Counts]:
    """d' and c of each row of counts, the second four columns subtracted; NaN where one cannot be had."""
    tp, fn, fp, tn = sums[:, :4].T
    d_prime, criterion = _discriminated(tp, fn, fp, tn)
    if sums.shape[1] == 4:
        return d_prime, criterion
    other = _discriminated(*sums[:, 4:].T)
    return d_prime - other[0], criterion - other[1]


def _discriminated(tp: Counts, fn: Counts, fp: Counts, tn: Counts) -> tuple[Counts, Counts]:
    positives, negatives = tp + fn, fp + tn
    edge = (tp == 0) | (fn == 0) | (fp == 0) | (tn == 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        hit = np.where(edge, (tp + 0.5) / (positives + 1), tp / positives)
        alarm = np.where(edge, (fp + 0.5) / (negatives + 1), fp / negatives)
        z_hit, z_alarm = special().ndtri(hit), special().ndtri(alarm)
    gone = (positives == 0) | (negatives == 0)
    return np.where(gone, np.nan, z_hit - z_alarm), np.where(gone, np.nan, -(z_hit + z_alarm) / 2)


def _estimate(
    value: float | None, drawn: Counts | None, reason: str | None, n: int, clusters: int, level: float
) -> Estimate:
    common = {"value": value, "level": level, "n": n, "clusters": clusters, "estimand": "signal detection"}
    if value is None:
        return Estimate(**common, reason=reason)
    if drawn is None:
        return Estimate(**common, reason="single_cluster")
    kept = drawn[~np.isnan(drawn)]
    if len(kept) < (1 - MAX_SKIPPED) * len(drawn):
        return Estimate(**common, reason="unstable_resamples")
    low, high = np.quantile(kept, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(
        **common, low=float(low), high=float(high), method="cluster bootstrap by task, percentile"
    )
