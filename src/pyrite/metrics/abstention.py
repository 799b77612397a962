"""A judge that may say "uncertain": what it covers, what it gets wrong there, and the curve between.

Two judges are compared at equal coverage or by their curves: each alone can look better by deciding less.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyrite.metrics.intervals import LEVEL
from pyrite.metrics.judge import share
from pyrite.records import Estimate

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Codes = NDArray[np.integer]


@dataclass(frozen=True)
class CurvePoint:
    """The most confident `coverage` of all episodes and the risk there."""

    coverage: float
    risk: float
    """Mean loss of those episodes."""
    generalised: float
    """Sum of their losses over all episodes: the undetected failures."""


@dataclass(frozen=True)
class RiskCoverage:
    """The risk-coverage curve; areas None with a reason where nothing is decided."""

    aurc: float | None
    augrc: float | None
    points: tuple[CurvePoint, ...]
    reason: str | None


def selective(
    passed: Flags, accepted: Flags, decided: Flags, cluster: Codes, *, level: float = LEVEL
) -> dict[str, Estimate]:
    """coverage, selective FPR, selective FDR and generalised risk; one entry an episode of the matrix.

    coverage = decided / N, selective FPR = FP / (decided negatives), selective FDR = FP / accepted
    (abstention does not change it), generalised risk = FP / N, the false successes that go undetected.

    >>> passed, accepted = np.array([1, 0, 0, 0], bool), np.array([1, 1, 0, 0], bool)
    >>> found = selective(passed, accepted, np.array([1, 1, 1, 0], bool), np.arange(4))
    >>> {name: one.value for name, one in found.items()}
    {'coverage': 0.75, 'fpr': 0.5, 'fdr': 0.5, 'generalised_risk': 0.25}
    """
    wrong = accepted & decided & ~passed
    everything: Flags = np.ones(len(passed), dtype=np.bool_)

    def of(chosen: Flags, rows: Flags, estimand: str, empty: str) -> Estimate:
        codes = np.unique(cluster[rows], return_inverse=True)[1]
        return share(chosen[rows], codes, estimand=estimand, empty=empty, level=level)

    none_decided = "nothing_decided" if not decided.any() else "no_negatives"
    return {
        "coverage": of(decided, everything, "decided of all episodes", "no_episodes"),
        "fpr": of(wrong, decided & ~passed, "accepted of decided failed episodes", none_decided),
        "fdr": of(wrong, decided & accepted, "failed of accepted episodes", "nothing_accepted"),
        "generalised_risk": of(wrong, everything, "failed and accepted of all episodes", "no_episodes")
        if decided.any() or not len(passed)
        else Estimate(value=None, level=level, n=len(passed), reason="nothing_decided"),
    }


def risk_coverage(confidence: Floats, loss: Floats, *, limit: int = 200) -> RiskCoverage:
    """AURC and AUGRC of episodes sorted by confidence; NaN confidence is an episode not decided.

    AURC is the mean over k of the mean loss of the k most confident of the n decided episodes; AUGRC
    that of the sum of their losses over all N (Traub et al. 2024). Both are expectations over all orders
    of episodes with equal confidence, so the order of rows does not matter. `points` are at the ends of
    groups of equal confidence, at most `limit`, evenly spread.

    >>> p = np.array([.95, .95, .90, .85, .80, .60, .55, .30, .20, .05])
    >>> y = np.array([1, 0, 1, 0, 1, 1, 0, 0, 0, 0])
    >>> found = risk_coverage(p, 1.0 - y)
    >>> round(found.aurc, 4), round(found.augrc, 4)
    (0.4651, 0.265)
    """
    total = len(confidence)
    decided = ~np.isnan(confidence)
    score, cost = confidence[decided], loss[decided].astype(np.float64)
    n = len(score)
    if not n:
        return RiskCoverage(None, None, (), "nothing_decided" if total else "no_episodes")
    order = np.lexsort((cost, -score))
    score, cost = score[order], cost[order]
    ends = np.append(np.flatnonzero(score[1:] != score[:-1]), n - 1)
    sizes = np.diff(ends, prepend=-1)
    sums = np.add.reduceat(cost, ends - sizes + 1)
    expected = np.cumsum(np.repeat(sums / sizes, sizes))
    taken = np.arange(1, n + 1)
    shown = ends if len(ends) <= limit else ends[np.linspace(0, len(ends) - 1, limit).round().astype(np.intp)]
    points = tuple(
        CurvePoint(float((k + 1) / total), float(expected[k] / (k + 1)), float(expected[k] / total))
        for k in shown
    )
    return RiskCoverage(float((expected / taken).mean()), float((expected / total).mean()), points, None)


def risk_at_coverage(found: RiskCoverage, coverage: float) -> float | None:
    """Risk at the last point that covers no more than `coverage`; None where no point is that small."""
    below = [point for point in found.points if point.coverage <= coverage + 1e-12]
    return below[-1].risk if below else None
