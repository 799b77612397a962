"""Whether a judge's probability of success means what it says: Brier, ECE, reliability by bin.

A confidence beside a verdict is a confidence in that verdict and is converted first. ECE depends on the
bins and is biased upwards for few episodes, so the bins, the number in each and the Brier score go with
it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pyrite.metrics.intervals import LEVEL
from pyrite.metrics.judge import share
from pyrite.metrics.means import clustered_mean
from pyrite.records import Estimate

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Codes = NDArray[np.integer]
Bins = Literal["unique", "mass", "width-left", "width-right"]
UNIQUE = 10
"""Up to so many distinct probabilities, each is a bin of its own: models answer .9 and .95."""
SURE = 0.9


@dataclass(frozen=True)
class Bin:
    """Episodes of like probability and how many of them passed."""

    low: float
    """The lowest probability in the bin."""
    high: float
    n: int
    mean: float
    passed: Estimate


@dataclass(frozen=True)
class Calibration:
    """How far probabilities are from outcomes."""

    n: int
    excluded: int
    """Episodes without a probability: uncertain, not readable, or missing."""
    brier: Estimate
    climatology: float | None
    """Brier score of always saying the share that passed."""
    skill: float | None
    """1 - Brier / climatology; below 0 is worse than that."""
    ece: float | None
    bins: tuple[Bin, ...]
    binning: str
    sure_of_failures: Estimate
    """Mean probability of success given to failed episodes."""
    very_sure_of_failures: Estimate
    """Share of failed episodes with a probability of at least 0.9."""
    reason: str | None


def probability_of_success(confidence: Floats, success: Flags, uncertain: Flags) -> Floats:
    """c for a success, 1 - c for a failure, NaN (undefined, not 0.5) for uncertain; c in [0, 1].

    >>> probability_of_success(np.array([.9, .9, .9]), np.array([1, 0, 0], bool), np.array([0, 0, 1], bool))
    array([0.9, 0.1, nan])
    """
    found: Floats = np.where(uncertain, np.nan, np.where(success, confidence, 1 - confidence))
    return found


def calibration(
    probability: Floats,
    passed: Flags,
    cluster: Codes,
    *,
    bins: Bins | None = None,
    count: int = 10,
    level: float = LEVEL,
) -> Calibration:
    """Brier score, skill, ECE and reliability table; one entry an episode, NaN for no probability.

    `bins`: "unique" (a bin a distinct value), "mass" (`count` bins of equal number, equal values kept
    together), "width-left" ([a, b)) or "width-right" ((a, b]) of equal width; None is unique up to 10
    distinct values, else mass. A probability outside [0, 1] refuses the whole ("not_probabilities").

    >>> p = np.array([.95, .95, .90, .85, .80, .60, .55, .30, .20, .05])
    >>> y = np.array([1, 0, 1, 0, 1, 1, 0, 0, 0, 0], dtype=bool)
    >>> found = calibration(p, y, np.arange(10), bins="mass", count=5)
    >>> round(found.brier.value, 5), round(found.skill, 4), round(found.ece, 3)
    (0.22725, 0.0531, 0.335)
    """
    known = ~np.isnan(probability)
    p, y, task = probability[known], passed[known], _compact(cluster[known])
    n, excluded = len(p), int((~known).sum())
    bad = bool(((p < 0) | (p > 1)).any())
    reason = "not_probabilities" if bad else "no_probabilities" if n == 0 else None
    if reason:
        p, y, task = p[:0], y[:0], task[:0]
    empty = reason or "no_episodes"
    brier = clustered_mean(
        np.square(p - y), task, estimand="mean (p - y)^2", empty=empty, bounds=(0, 1), level=level
    )
    sure, very = _overconfidence(p[~y], task[~y], reason or "no_negatives", level)
    base = float(y.mean()) if len(y) else None
    climatology = None if base is None else base * (1 - base)
    table, binning = reliability(p, y, task, bins=bins, count=count, level=level)
    return Calibration(
        n=n,
        excluded=excluded,
        brier=brier,
        climatology=climatology,
        skill=1 - brier.value / climatology if climatology and brier.value is not None else None,
        ece=_ece(table),
        bins=table,
        binning=binning,
        sure_of_failures=sure,
        very_sure_of_failures=very,
        reason=reason,
    )


def _overconfidence(p: Floats, task: Codes, empty: str, level: float) -> tuple[Estimate, Estimate]:
    """Mean probability of failed episodes, and the share of them at 0.9 or above."""
    codes = _compact(task)
    mean = clustered_mean(
        p,
        codes,
        estimand="mean probability of success of failed episodes",
        empty=empty,
        bounds=(0, 1),
        level=level,
    )
    estimand = f"failed episodes with a probability of success of at least {SURE}"
    return mean, share(p >= SURE, codes, estimand=estimand, empty=empty, level=level)


def reliability(
    p: Floats,
    passed: Flags,
    cluster: Codes,
    *,
    bins: Bins | None = None,
    count: int = 10,
    level: float = LEVEL,
) -> tuple[tuple[Bin, ...], str]:
    """The bins that hold an episode, lowest first, and how they were made; p in [0, 1].

    Edges are k / count, exactly: a running sum would put .6 into the wrong bin.
    """
    distinct = len(np.unique(p))
    chosen = bins or ("unique" if distinct <= UNIQUE else "mass")
    code = _BINNERS[chosen](p, count)
    found = []
    for one in np.unique(code):
        inside = code == one
        rate = share(
            passed[inside],
            _compact(cluster[inside]),
            estimand="passed of the episodes in the bin",
            empty="no_episodes",
            level=level,
        )
        held = np.sort(p[inside])
        found.append(Bin(float(held[0]), float(held[-1]), len(held), float(held.mean()), rate))
    spoken = {
        "unique": f"{distinct} distinct values",
        "mass": f"{count} bins of equal number, equal values together",
        "width-left": f"{count} bins of equal width, [a, b)",
        "width-right": f"{count} bins of equal width, (a, b]",
    }
    return tuple(found), spoken[chosen]


def _ece(table: tuple[Bin, ...]) -> float | None:
    """sum of w_b |mean p - share passed| over the bins."""
    n = sum(one.n for one in table)
    if not n:
        return None
    return sum(one.n * abs(one.mean - one.passed.value) for one in table if one.passed.value is not None) / n


def _unique(p: Floats, count: int) -> Codes:
    codes: Codes = np.unique(p, return_inverse=True)[1]
    return codes


def _mass(p: Floats, count: int) -> Codes:
    first = np.searchsorted(np.sort(p), p, side="left")
    codes: Codes = first * count // max(1, len(p))
    return codes


def _width_left(p: Floats, count: int) -> Codes:
    codes: Codes = np.searchsorted(_inner_edges(count), p, side="right")
    return codes


def _width_right(p: Floats, count: int) -> Codes:
    codes: Codes = np.searchsorted(_inner_edges(count), p, side="left")
    return codes


_BINNERS = {"unique": _unique, "mass": _mass, "width-left": _width_left, "width-right": _width_right}


def _inner_edges(count: int) -> Floats:
    return np.array([k / count for k in range(1, count)], dtype=np.float64)


def _compact(cluster: Codes) -> Codes:
    codes: Codes = np.unique(cluster, return_inverse=True)[1]
    return codes
