"""What errors of the truth do to a judge's figures, and figures at a fixed mix of failures.

A verifier that rejects some good states turns right accepts into false positives: with a good agent a
few per cent of them multiply a judge's FPR. Hence every counted false positive should be read by a
person, and a like sample of true negatives too, or only one side is corrected.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pyrite.metrics.clusters import Counts
from pyrite.metrics.intervals import LEVEL, normal_quantile
from pyrite.records import Estimate


def observed_fpr(
    fpr: float, tpr: float, success: float, *, rejects: float, accepts: float = 0.0
) -> float | None:
    """The FPR that would be measured with a verifier that errs independently of the judge.

    [pi v TPR + (1 - pi)(1 - u) FPR] / [pi v + (1 - pi)(1 - u)]: pi the true success rate, v = `rejects`
    of good states, u = `accepts` of bad ones. None where the verifier rejects nothing.

    >>> [round(observed_fpr(0.1, 0.9, pi, rejects=v), 3) for pi, v in ((0.5, 0.05), (0.5, 0.02), (0.8, 0.05))]
    [0.138, 0.116, 0.233]
    >>> round(observed_fpr(0.05, 0.9, 0.8, rejects=0.05), 3)
    0.192
    """
    good, bad = success * rejects, (1 - success) * (1 - accepts)
    return (good * tpr + bad * fpr) / (good + bad) if good + bad > 0 else None


def undetected_error(states: int, *, confidence: float = LEVEL) -> float | None:
    """Upper bound of a verifier's error rate after `states` known states without an error: 1 - a^(1/n).

    >>> [round(undetected_error(n), 4) for n in (10, 30, 59, 100, 299)]
    [0.2589, 0.095, 0.0495, 0.0295, 0.01]
    """
    if states <= 0:
        return None
    return 1 - float((1 - confidence) ** (1 / states))


def standardised(rates: Sequence[Estimate], weights: Sequence[float], *, level: float = LEVEL) -> Estimate:
    """Directly standardised rate, sum of w r over declared weights, which are scaled to add up to 1.

    The interval adds the variances of the strata up, each on the effective size of its rate (n without
    one) with Agresti and Coull's two added successes and failures, so that a stratum without an event
    does not count as known for certain. None where a stratum with a weight has no rate
    ("no_such_failures"): a mix that was not seen cannot be stated.

    >>> easy = Estimate(value=2 / 60, n=60); hard = Estimate(value=16 / 40, n=40)
    >>> round(standardised([easy, hard], [0.5, 0.5]).value, 4)
    0.2167
    """
    estimand = "accepted of failed episodes at declared weights of the categories"
    total = float(sum(weights))
    if len(rates) != len(weights) or any(w < 0 or not math.isfinite(w) for w in weights) or total <= 0:
        raise ValueError("one weight of at least 0 a rate is needed, not all of them 0")
    used = [(rate, w / total) for rate, w in zip(rates, weights, strict=True) if w > 0]
    n = sum(rate.n for rate, _ in used)
    common = {"level": level, "n": n, "estimand": estimand}
    if any(rate.value is None for rate, _ in used):
        return Estimate(**common, value=None, reason="no_such_failures")
    value, variance = 0.0, 0.0
    z = normal_quantile(level)
    for rate, w in used:
        assert rate.value is not None
        size = rate.n_eff if rate.n_eff is not None else float(rate.n)
        shrunk = (rate.value * size + z * z / 2) / (size + z * z)
        value += w * rate.value
        variance += w * w * shrunk * (1 - shrunk) / (size + z * z)
    half = z * math.sqrt(variance)
    return Estimate(
        **common,
        value=value,
        low=max(0.0, value - half),
        high=min(1.0, value + half),
        method="direct standardisation, Agresti-Coull variances on effective sizes",
        clusters=None,
    )


def gap(one: Estimate, other: Estimate, *, level: float = LEVEL) -> Estimate:
    """One rate minus another, of different episodes: Newcombe's hybrid score interval.

    d - sqrt((p1 - l1)^2 + (u2 - p2)^2) to d + sqrt((u1 - p1)^2 + (p2 - l2)^2) from the intervals of both
    (Newcombe 1998, Statistics in Medicine 17:873, method 10), here the clustered ones. Tasks that have
    episodes on both sides are taken for different tasks. None where a rate has none, no interval where
    one of them has none.

    >>> one = Estimate(value=0.7, low=0.574, high=0.801, n=60)
    >>> other = Estimate(value=0.3, low=0.199, high=0.426, n=60)
    >>> found = gap(one, other)
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (0.4, 0.222, 0.543)
    """
    estimand = "FPR of this category minus that of the failures it is held against"
    n = one.n + other.n
    if one.value is None or other.value is None:
        reason = one.reason if one.value is None else other.reason
        return Estimate(value=None, level=level, n=n, estimand=estimand, reason=reason or "no_such_failures")
    value = one.value - other.value
    common = {"value": value, "level": level, "n": n, "estimand": estimand}
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return Estimate(
            **common, reason=(one.reason if one.low is None else other.reason) or "single_cluster"
        )
    return Estimate(
        **common,
        low=max(-1.0, value - math.hypot(one.value - one.low, other.high - other.value)),
        high=min(1.0, value + math.hypot(one.high - one.value, other.value - other.low)),
        method="Newcombe hybrid score on clustered intervals",
    )


def matched_sample(
    wanted: Sequence[int], strata: Counts, candidates: Sequence[int], *, seed: int = 0
) -> list[int]:
    """As many candidates as there are `wanted` rows, of the same strata where those have enough.

    `strata` holds a code for every row (such as the category or the task). Each stratum gives as many
    as it has wanted rows; what it lacks is filled up from the other candidates. Sorted, without repeats.

    >>> matched_sample([0, 1], np.array([7, 7, 7, 7, 8, 8.0]), [2, 3, 4, 5])
    [2, 3]
    """
    generator = np.random.default_rng(seed)
    left = [int(one) for one in generator.permutation(np.array(sorted(candidates), dtype=np.int64))]
    chosen: list[int] = []
    for code in sorted({float(strata[row]) for row in wanted}):
        need = sum(1 for row in wanted if strata[row] == code)
        chosen += [row for row in left if strata[row] == code][:need]
    rest = [row for row in left if row not in set(chosen)]
    chosen += rest[: max(0, len(wanted) - len(chosen))]
    return sorted(chosen)
