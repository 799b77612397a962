"""Pearson and Spearman correlation of two scores of the same episodes, with intervals.

Sources: Fisher 1921 (z transform); Bonett and Wright 2000, Psychometrika 65:23 (Spearman's variance).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pyrite.metrics.intervals import LEVEL, normal_quantile
from pyrite.records import Estimate

Floats = NDArray[np.float64]
FEWEST = 4
"""Pairs below which the z transform has no variance."""


def pearson(x: Floats, y: Floats, *, level: float = LEVEL) -> Estimate:
    """Pearson's r of n pairs, its interval by Fisher's z with variance 1 / (n - 3).

    Pairs in which either is NaN are left out. None where fewer than two are left ("too_few") or one
    side is constant ("no_variation"); no interval for fewer than four pairs or |r| = 1.

    >>> found = pearson(np.array([1.0, 2, 3, 4, 5]), np.array([2.0, 1, 4, 3, 5]))
    >>> round(found.value, 4), found.n
    (0.8, 5)
    """
    x, y = _paired(x, y)
    return _estimate(x, y, "Pearson correlation", level, lambda r: 1.0)


def spearman(x: Floats, y: Floats, *, level: float = LEVEL) -> Estimate:
    """Spearman's rho: Pearson's r of the ranks, ties share the mean rank.

    The variance of its z is (1 + rho^2 / 2) / (n - 3). Otherwise as `pearson`.

    >>> round(spearman(np.array([1.0, 2, 3, 4]), np.array([1.0, 8, 27, 64])).value, 4)
    1.0
    """
    x, y = _paired(x, y)
    return _estimate(_ranks(x), _ranks(y), "Spearman correlation", level, lambda r: 1 + r * r / 2)


def _paired(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    if len(x) != len(y):
        raise ValueError(f"{len(x)} and {len(y)} scores are no pairs")
    kept = np.isfinite(x) & np.isfinite(y)
    return x[kept], y[kept]


def _estimate(
    x: Floats, y: Floats, estimand: str, level: float, spread: Callable[[float], float]
) -> Estimate:
    n = len(x)
    common = {"level": level, "n": n, "estimand": estimand}
    if n < 2:
        return Estimate(**common, value=None, reason="too_few")
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return Estimate(**common, value=None, reason="no_variation")
    a, b = x - x.mean(), y - y.mean()
    a, b = a / np.abs(a).max(), b / np.abs(b).max()
    r = float(a @ b) / math.sqrt(float(a @ a) * float(b @ b))
    r = min(1.0, max(-1.0, r))
    if n < FEWEST or abs(r) > 1 - 1e-12:
        return Estimate(**common, value=r, reason="too_few" if n < FEWEST else "no_variation")
    half = normal_quantile(level) * math.sqrt(spread(r) / (n - 3))
    low, high = math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)
    return Estimate(**common, value=r, low=low, high=high, method="Fisher z")


def _ranks(values: Floats) -> Floats:
    """Rank of each value, 1 for the lowest, ties share the mean rank."""
    _, at, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    found: Floats = (last - (counts - 1) / 2)[at.ravel()]
    return found
