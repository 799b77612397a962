"""Thresholds for judges that give a score: an FPR target that holds with a stated confidence.

A score at or above the threshold (or strictly above it, where a rule says so) is accepted. The scores
given here are of failed episodes ("negatives") and are taken as independent: choose them by task first
(`certificate.py`). A score of NaN is an answer that could not be read: a negative that no threshold
accepts. Sources: Tong, Feng and Li 2018 (Neyman-Pearson umbrella); Angelopoulos et al. 2021 (learn then
test); Angelopoulos et al. 2022 (conformal risk control).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pyrite.metrics.intervals import special, upper_bound

Floats = NDArray[np.float64]
Policy = Literal["fixed_sequence", "neyman_pearson", "conformal"]
PROMISE: dict[str, str] = {
    "fixed_sequence": "P(FPR > target) <= delta",
    "neyman_pearson": "P(FPR > target) <= delta",
    "conformal": "FPR <= target on average over calibration sets only: the weaker promise",
}


@dataclass(frozen=True)
class Threshold:
    """What a rule chose on n negatives, or why it accepts nothing."""

    policy: Policy
    target: float
    delta: float | None
    """None for the conformal rule, which has no confidence."""
    value: float | None
    """None: no threshold is certified, accept nothing."""
    accept: Literal[">=", ">"]
    n: float
    """Negatives that the rule counted, or their effective size."""
    false_positives: int | None
    """Calibration negatives that are accepted at `value`."""
    p_value: float | None
    """P(at most that many | FPR = target)."""
    upper: float | None
    """One-sided Clopper-Pearson bound of the FPR at `value`, at confidence 1 - delta."""
    needed: int
    """Negatives below which no data can certify the target."""
    reason: str | None


def negatives_needed(target: float, delta: float, *, false_positives: int = 0) -> int:
    """The fewest independent negatives that certify FPR <= target at 1 - delta with this many accepted.

    With none accepted it is ln(delta) / ln(1 - target), rounded up.

    >>> negatives_needed(0.05, 0.05), negatives_needed(0.05, 0.05, false_positives=2)
    (59, 124)
    """
    _check_rates(target, delta)
    low, high = false_positives, max(8, 2 * false_positives)
    while binomial_tail(false_positives, high, target) > delta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if binomial_tail(false_positives, middle, target) > delta:
            low = middle
        else:
            high = middle
    return high


def allowed_false_positives(n: int, target: float, delta: float) -> int | None:
    """The largest c with P(Binomial(n, target) <= c) <= delta; None where even c = 0 is too many.

    >>> [allowed_false_positives(n, 0.05, 0.05) for n in (58, 59, 93, 124, 500)]
    [None, 0, 1, 2, 16]
    """
    _check_rates(target, delta)
    if n <= 0 or binomial_tail(0, n, target) > delta:
        return None
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        if binomial_tail(middle, n, target) > delta:
            high = middle
        else:
            low = middle
    return low


def binomial_tail(false_positives: float, n: float, target: float) -> float:
    """P(Binomial(n, target) <= false_positives), in its Beta form: n may be an effective size.

    With FPR = target it is the p-value of a threshold, and how often a rule that allows so many
    false positives violates its target.

    >>> round(binomial_tail(5, 100, 0.05), 3), round(binomial_tail(3, 100, 0.10), 5)
    (0.616, 0.00784)
    """
    if false_positives >= n:
        return 1.0
    return float(special().betainc(n - false_positives, false_positives + 1, 1 - target))


def neyman_pearson_rank(n: int, target: float, delta: float) -> int | None:
    """The smallest rank k with sum_{j>=k} C(n,j)(1-a)^j a^(n-j) <= delta; None where there is none.

    >>> [neyman_pearson_rank(n, 0.05, 0.05) for n in (58, 59, 93, 100, 124, 200)]
    [None, 59, 92, 99, 122, 196]
    """
    allowed = allowed_false_positives(n, target, delta)
    return None if allowed is None else n - allowed


def neyman_pearson(negatives: Floats, target: float, delta: float) -> Threshold:
    """Accept strictly above the k-th smallest score of the negatives: P(FPR > target) <= delta.

    >>> found = neyman_pearson(np.arange(100) / 100, 0.05, 0.05)
    >>> found.value, found.accept, found.false_positives
    (0.98, '>', 1)
    """
    ordered = np.sort(_read(negatives))
    n = len(ordered)
    rank = neyman_pearson_rank(n, target, delta)
    if rank is None:
        return _refused("neyman_pearson", n, target, delta, ">")
    cut = float(ordered[rank - 1])
    if math.isinf(cut):
        # the k-th smallest is an answer that could not be read: the next readable score is the cut
        return _refused("neyman_pearson", n, target, delta, ">", "unreadable_scores")
    above = int((ordered > cut).sum())
    return _chosen("neyman_pearson", cut, n, above, target, delta, ">")


def fixed_sequence(
    negatives: Floats, target: float, delta: float, *, candidates: Floats | None = None
) -> Threshold:
    """Walk from the strictest candidate to the most lenient while Binom.cdf(FP, n, target) <= delta.

    The last candidate that passes is the threshold; the walk stops at the first that does not. Scores at
    or above it are accepted. `candidates` are listed beforehand, or None for the distinct scores of
    the negatives (valid too, because the FPR is monotone in the threshold).

    >>> scores = np.repeat([.05, .2, .4, .6, .7, .8, .9, .97], [30, 20, 20, 15, 8, 4, 2, 1])
    >>> found = fixed_sequence(scores, 0.10, 0.05, candidates=np.array([.98, .95, .85, .75, .65, .5]))
    >>> found.value, found.false_positives, round(found.upper, 4)
    (0.85, 3, 0.0757)
    """
    ordered = np.sort(_read(negatives))
    n = len(ordered)
    allowed = allowed_false_positives(n, target, delta)
    if allowed is None:
        return _refused("fixed_sequence", n, target, delta, ">=")
    return _walk("fixed_sequence", ordered, candidates, allowed, target, delta)


def conformal(negatives: Floats, target: float, *, candidates: Floats | None = None) -> Threshold:
    """The most lenient candidate with (FP + 1) / (n + 1) <= target: FPR on average only.

    A weaker promise than the other rules: 59 negatives allow 2 accepted at target .05, not 0.

    >>> conformal(np.arange(59) / 59, 0.05).false_positives
    2
    """
    _check_rates(target, target)
    ordered = np.sort(_read(negatives))
    n = len(ordered)
    allowed = math.floor(target * (n + 1) - 1 + 1e-9)
    if allowed < 0:
        return _refused("conformal", n, target, None, ">=")
    return _walk("conformal", ordered, candidates, allowed, target, None)


def false_positives_at(ordered: Floats, candidates: Floats) -> NDArray[np.intp]:
    """How many of the ascending scores are at or above each candidate."""
    found: NDArray[np.intp] = len(ordered) - np.searchsorted(ordered, candidates, side="left")
    return found


def strictest_first(ordered: Floats, candidates: Floats | None) -> Floats:
    """Distinct finite candidates, descending; those of the scores themselves where none are listed."""
    chosen = ordered if candidates is None else np.asarray(candidates, dtype=np.float64)
    found: Floats = np.unique(chosen[np.isfinite(chosen)])[::-1]
    return found


def _walk(
    policy: Policy,
    ordered: Floats,
    candidates: Floats | None,
    allowed: int,
    target: float,
    delta: float | None,
) -> Threshold:
    listed = strictest_first(ordered, candidates)
    counts = false_positives_at(ordered, listed)
    passing = int(np.searchsorted(counts, allowed, side="right"))  # counts rise as candidates fall
    n = len(ordered)
    if not passing:
        return _refused(policy, n, target, delta, ">=", "no_candidate_passes")
    return _chosen(policy, float(listed[passing - 1]), n, int(counts[passing - 1]), target, delta, ">=")


def _chosen(
    policy: Policy,
    value: float,
    n: int,
    false_positives: int,
    target: float,
    delta: float | None,
    accept: Literal[">=", ">"],
) -> Threshold:
    return Threshold(
        policy=policy,
        target=target,
        delta=delta,
        value=value,
        accept=accept,
        n=n,
        false_positives=false_positives,
        p_value=binomial_tail(false_positives, n, target),
        upper=None if delta is None else upper_bound(false_positives / n, n, confidence=1 - delta),
        needed=_needed(target, delta),
        reason=None,
    )


def _refused(
    policy: Policy,
    n: int,
    target: float,
    delta: float | None,
    accept: Literal[">=", ">"],
    reason: str | None = None,
) -> Threshold:
    needed = _needed(target, delta)
    why = reason or ("no_negatives" if n == 0 else f"too_few_negatives: {n} of at least {needed}")
    return Threshold(policy, target, delta, None, accept, n, None, None, None, needed, why)


def _needed(target: float, delta: float | None) -> int:
    return math.ceil(1 / target - 1 - 1e-9) if delta is None else negatives_needed(target, delta)


def _read(scores: Floats) -> Floats:
    """NaN becomes minus infinity: accepted by no threshold."""
    read = np.asarray(scores, dtype=np.float64)
    found: Floats = np.where(np.isnan(read), -np.inf, read)
    return found


def _check_rates(target: float, delta: float) -> None:
    if not (0 < target < 1 and 0 < delta < 1):
        raise ValueError(f"target and delta in (0, 1) are needed, not {target} and {delta}")
