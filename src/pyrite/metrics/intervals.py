"""Intervals for one proportion: Wilson, Clopper-Pearson (Beta form) and Jeffreys.

All take a proportion and a size, which need not be whole: an effective size of clustered data goes
in as it is. Sources: Wilson 1927; Clopper and Pearson 1934; Brown, Cai and DasGupta 2001; for
non-integer sizes Korn and Graubard 1998.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

LEVEL = 0.95


class Bounds(NamedTuple):
    """Lower and upper end of an interval, inside [0, 1]."""

    low: float
    high: float


def special() -> Any:
    """scipy.special, imported when a quantile is first needed (0.2 s that `--help` must not pay)."""
    import scipy.special

    return scipy.special


def normal_quantile(level: float = LEVEL) -> float:
    """The two-sided normal quantile: 1.959964 at level 0.95."""
    return float(special().ndtri(0.5 + level / 2))


def t_quantile(df: float, level: float = LEVEL) -> float:
    """The two-sided quantile of Student's t with `df` degrees of freedom (above 0)."""
    return float(special().stdtrit(df, 0.5 + level / 2))


def wilson(p: float, n: float, *, level: float = LEVEL) -> Bounds:
    """Wilson's score interval of a proportion p observed on size n.

    >>> [round(x, 4) for x in wilson(12 / 80, 80)]
    [0.0879, 0.2441]
    """
    _check(p, n)
    z = normal_quantile(level)
    shrink = 1 + z * z / n
    centre = (p + z * z / (2 * n)) / shrink
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / shrink
    low = 0.0 if p == 0 else max(0.0, centre - half)
    high = 1.0 if p == 1 else min(1.0, centre + half)
    return Bounds(min(low, p), max(high, p))


def clopper_pearson(p: float, n: float, *, level: float = LEVEL) -> Bounds:
    """The exact interval, in its Beta form; at level 0.90 each end is a one-sided 95 % bound.

    >>> [round(x, 4) for x in clopper_pearson(12 / 80, 80)]
    [0.08, 0.2474]
    """
    _check(p, n)
    k, tail = p * n, (1 - level) / 2
    quantile = special().betaincinv
    low = 0.0 if p == 0 else float(quantile(k, n - k + 1, tail))
    high = 1.0 if p == 1 else float(quantile(k + 1, n - k, 1 - tail))
    return Bounds(min(low, p), max(high, p))


def jeffreys(p: float, n: float, *, level: float = LEVEL) -> Bounds:
    """The equal-tailed interval of the Jeffreys posterior Beta(k + 1/2, n - k + 1/2).

    At p = 0 the lower end is 0 and at p = 1 the upper end is 1 (Brown, Cai and DasGupta 2001).

    >>> [round(x, 4) for x in jeffreys(12 / 80, 80)]
    [0.0847, 0.2401]
    """
    _check(p, n)
    k, tail = p * n, (1 - level) / 2
    quantile = special().betaincinv
    low = 0.0 if p == 0 else float(quantile(k + 0.5, n - k + 0.5, tail))
    high = 1.0 if p == 1 else float(quantile(k + 0.5, n - k + 0.5, 1 - tail))
    return Bounds(min(low, p), max(high, p))


def upper_bound(p: float, n: float, *, confidence: float = LEVEL) -> float:
    """One-sided Clopper-Pearson upper bound: no more than this, with the given confidence.

    >>> round(upper_bound(0, 59), 5)
    0.04951
    """
    return clopper_pearson(p, n, level=2 * confidence - 1).high


def lower_bound(p: float, n: float, *, confidence: float = LEVEL) -> float:
    """One-sided Clopper-Pearson lower bound: no less than this, with the given confidence."""
    return clopper_pearson(p, n, level=2 * confidence - 1).low


def _check(p: float, n: float) -> None:
    if not (0 <= p <= 1 and 0 < n < math.inf):
        raise ValueError(f"a proportion in [0, 1] on a size above 0 is needed, not {p} on {n}")
