"""What showing the agent's claim does to a judge: a paired contrast on the same failed episodes.

Only episodes whose final message claims success tell anything: without a claim the two packages are alike,
and those episodes are the placebo group. Whether the claim informs the judge or makes it lenient shows in
the discrimination d' (unchanged by leniency) and the criterion c.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyrite.metrics.clusters import Counts, cluster_size
from pyrite.metrics.compare import discordance, mcnemar_exact, sign_flip
from pyrite.metrics.intervals import LEVEL, special
from pyrite.metrics.paired import agreeing, difference
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

    Where a rate is 0 or 1 both rates are log-linear, (k + .5) / (n + 1) (Hautus 1995). With unequal numbers
    that alone moves equal rates apart (1 and 1 of 21 and 5 give .62); where it turns or makes the sign of
    TPR - FPR it tells of the numbers and not of the judge, and d' is 0.

    >>> found = discrimination(18, 2, 12, 68)
    >>> round(found.d_prime, 3), round(found.criterion, 3), found.corrected
    (2.318, -0.123, False)
    >>> discrimination(21, 0, 5, 0).d_prime
    0.0
    """
    positives, negatives = tp + fn, fp + tn
    if not positives or not negatives:
        return Discrimination(None, None, False, "no_positives" if not positives else "no_negatives")
    corrected = tp in {0, positives} or fp in {0, negatives}
    cells = np.array([[tp, fn, fp, tn]], dtype=np.float64)
    d_prime, criterion = _discriminated(*cells.T)
    return Discrimination(float(d_prime[0]), float(criterion[0]), corrected, None)


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
    p: float | None = None,
    level: float = LEVEL,
    resamples: int = 2000,
    seed: int = 0,
) -> Signal:
    """d' and c of `accepted` on passed and failed episodes, less those of `minus` where it is given.

    One entry an episode. Each rate is drawn from its Jeffreys law, Beta(k + .5, n - k + .5) on the effective
    size of its tasks, all of them together with the correlations that the tasks show (a Gaussian copula);
    the interval holds the middle of what the draws give, and the value. Unlike resampled tasks, these move at
    rates of 0 and 1. `p`: of the test that decides whether d' is 0; where it does not reject, the
    interval of d' is widened to hold 0.

    No interval, with a reason, where there is no pass or no failure, where one task holds all of either,
    and where two conditions do not differ in any episode.

    >>> passed = np.repeat([True, False], [20, 80])
    >>> accepted = np.concatenate([np.arange(20) < 18, np.arange(80) < 12])
    >>> found = signal(accepted, passed, np.arange(100))
    >>> round(found.d_prime.value, 3), round(found.criterion.value, 3), found.d_prime.low < 2.318
    (2.318, -0.123, True)
    """
    both = [accepted] if minus is None else [accepted, minus]
    counts = np.concatenate([_cells(one, passed, cluster) for one in both], axis=1)
    common = {"level": level, "n": len(passed), "clusters": len(counts), "estimand": "signal detection"}
    if not passed.any() or passed.all():
        reason = "no_negatives" if len(passed) and passed.all() else "no_positives"
        return Signal(*(Estimate(value=None, reason=reason, **common) for _ in range(2)))
    values = [float(one[0]) for one in _of_sums(counts.sum(axis=0, keepdims=True))]
    why = None
    if minus is not None and (accepted == minus).all():
        why = "no_difference"
    elif min(len(np.unique(cluster[chosen])) for chosen in (passed, ~passed)) < 2:
        why = "single_cluster"
    if why is not None:
        return Signal(*(Estimate(value=value, reason=why, **common) for value in values))
    drawn = _of_rates(_rates(counts, resamples, seed, level))
    found = []
    for value, draws, decides in zip(values, drawn, (p, None), strict=True):
        low, high = (float(end) for end in np.quantile(draws, [(1 - level) / 2, (1 + level) / 2]))
        low, high, method = min(low, value), max(high, value), "Jeffreys on effective sizes by task, drawn"
        if decides is not None and decides > 1 - level and not low <= 0 <= high:
            low, high = min(low, 0.0), max(high, 0.0)
            method += ", widened to what the permutation test does not reject"
        found.append(Estimate(value=value, low=low, high=high, method=method, **common))
    return Signal(*found)


def _rates(counts: Counts, resamples: int, seed: int, level: float) -> Counts:
    """(resamples, 2 or 4) rates, TPR and FPR of each condition, as the tasks leave them uncertain."""
    ordered = counts[np.lexsort(counts.T[::-1])]
    generator = np.random.default_rng(seed)
    shocks = generator.standard_normal((resamples, len(ordered)))
    found = []
    for at in range(0, ordered.shape[1], 2):
        events, totals = ordered[:, at], ordered[:, at : at + 2].sum(axis=1)
        size = cluster_size(events, totals, level=level)
        apart = events - totals * size.rate
        length = float(np.sqrt(np.square(apart).sum()))
        alone = generator.standard_normal(resamples)
        normal = shocks @ (apart / length) if length > _FLAT else alone
        hits = size.rate * size.size
        quantile = special().ndtr(normal)
        rates = special().betaincinv(hits + 0.5, size.size - hits + 0.5, quantile)
        found.append(np.clip(rates, _EDGE, 1 - _EDGE))
    return np.stack(found, axis=1)


_FLAT = 1e-9
"""Tasks whose counts lie closer than this to one rate do not differ."""
_EDGE = 1e-12
"""Of a drawn rate: z of it stays finite."""


def _of_rates(rates: Counts) -> tuple[Counts, Counts]:
    """d' and c of each row of TPR and FPR, the second two columns subtracted."""
    z = special().ndtri(rates)
    d_prime, criterion = z[:, 0] - z[:, 1], -(z[:, 0] + z[:, 1]) / 2
    if rates.shape[1] == 2:
        return d_prime, criterion
    return d_prime - (z[:, 2] - z[:, 3]), criterion + (z[:, 2] + z[:, 3]) / 2


def _cells(accepted: Flags, passed: Flags, cluster: Codes) -> Counts:
    """(tp, fn, fp, tn) of each cluster."""
    kinds = (passed & accepted, passed & ~accepted, ~passed & accepted, ~passed & ~accepted)
    size = int(cluster.max()) + 1 if len(cluster) else 0
    return np.stack([np.bincount(cluster[kind], minlength=size) for kind in kinds], axis=1).astype(float)


def _of_sums(sums: Counts) -> tuple[Counts, Counts]:
    """d' and c of each row of counts, the second four columns subtracted."""
    d_prime, criterion = _discriminated(*sums[:, :4].T)
    if sums.shape[1] == 4:
        return d_prime, criterion
    other = _discriminated(*sums[:, 4:].T)
    return d_prime - other[0], criterion - other[1]


def _discriminated(tp: Counts, fn: Counts, fp: Counts, tn: Counts) -> tuple[Counts, Counts]:
    positives, negatives = tp + fn, fp + tn
    edge = (tp == 0) | (fn == 0) | (fp == 0) | (tn == 0)
    hit = np.where(edge, (tp + 0.5) / (positives + 1), tp / positives)
    alarm = np.where(edge, (fp + 0.5) / (negatives + 1), fp / negatives)
    z_hit, z_alarm = special().ndtri(hit), special().ndtri(alarm)
    d_prime = z_hit - z_alarm
    turned = edge & (d_prime * (tp * negatives - fp * positives) <= 0)
    return np.where(turned, 0.0, d_prime), -(z_hit + z_alarm) / 2
