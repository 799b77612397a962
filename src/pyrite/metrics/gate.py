"""One-sided bounds of clustered rates, and the three-way answer of a gate.

A gate needs "no more than the limit, with this confidence". The bound is the Beta form of Clopper and
Pearson on the effective size of `clusters.cluster_size`, with a floor, so that one more false positive
cannot turn INSUFFICIENT into PASS where the size rule changes. It is approximate for clustered rows:
at a true rate equal to the limit a gate passes in up to 7 % of cases, not 5 % (intra-task correlation
.3 to .8); one episode a task is the exact route. Sources: Clopper and Pearson 1934; Korn and Graubard
1998.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyrite.metrics.clusters import FEW, Counts, cluster_size
from pyrite.metrics.intervals import lower_bound, special, t_quantile, upper_bound

CONFIDENCE = 0.95
Codes = NDArray[np.integer]
Flags = NDArray[np.bool_]


class Answer(StrEnum):
    """What a line of a gate says; INSUFFICIENT is never a pass."""

    PASS = "PASS"  # noqa: S105 - no password
    FAIL = "FAIL"
    INSUFFICIENT = "INSUFFICIENT"


class Bound(NamedTuple):
    """A rate with its two one-sided bounds; None where there is none, then `reason` says why."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    events: float = 0.0
    clusters: int = 0
    size: float | None = None
    """What the bounds are made with: the effective size, or the few-event size."""
    method: str | None = None
    reason: str | None = None


def clustered_bound(
    events: Counts, totals: Counts, *, confidence: float = CONFIDENCE, unit: str = "task", empty: str
) -> Bound:
    """One-sided bounds of sum(events) / sum(totals); one entry a cluster.

    The upper bound is at least that of the same clusters with fewer events, the smallest clusters first,
    so that it never falls when an episode of a cluster without events becomes one, as long as no cluster
    has two; the lower bound is mirrored. (With five clusters of events it is at least that of 4 / N on the
    size that is left if all episodes of a cluster were equal, N^2 / sum n^2.) No episodes: all None, with
    the reason `empty`. One cluster: a value and no bound ("single_cluster").

    >>> import numpy as np
    >>> five = np.zeros(80); five[:5] = 1
    >>> found = clustered_bound(five, np.full(80, 4.0), empty="no_negatives")
    >>> round(found.value, 6), round(found.high, 4)
    (0.015625, 0.0579)
    """
    total, hits = float(totals.sum()), float(events.sum())
    clusters = int((totals > 0).sum())
    if total == 0:
        return Bound(None, None, None, 0, reason=empty)
    p, n = hits / total, round(total)
    if clusters < 2:
        return Bound(p, None, None, n, hits, clusters, reason="single_cluster")
    found = cluster_size(events, totals, level=2 * confidence - 1)
    high = _upper(events, totals, confidence)
    low = 1 - _upper(totals - events, totals, confidence)
    method = f"Clopper-Pearson, one-sided, clustered by {unit}, {found.rule}"
    return Bound(p, low, high, n, hits, clusters, found.size, method)


def within(events: Counts, totals: Counts, limit: float, *, confidence: float = CONFIDENCE) -> Flags:
    """Whether the upper bound of `clustered_bound` keeps the limit, for many sets of episodes at once.

    `events` is (sets, clusters), `totals` (clusters,), all above 0, at least two.

    >>> import numpy as np
    >>> within(np.zeros((1, 59)), np.full(59, 4.0), 0.05), within(np.zeros((1, 58)), np.full(58, 4.0), 0.05)
    (array([ True]), array([False]))
    """
    hits, size, p = _chain(events, totals, confidence)
    others = np.maximum(size - hits, np.finfo(np.float64).tiny)
    kept: Flags = ((special().betainc(hits + 1, others, limit) >= confidence) & (p <= limit)).all(axis=1)
    return kept


def _upper(events: Counts, totals: Counts, confidence: float) -> float:
    """The highest bound of the clusters with 0, 1, 2 ... of those that have an event, smallest first."""
    there = totals > 0
    hits, size, p = _chain(events[None, there], totals[there], confidence)
    below = p < 1
    high = np.ones(p.shape)
    high[below] = special().betaincinv(hits[below] + 1, (size - hits)[below], confidence)
    return float(np.maximum(high, p).max())


def _chain(events: Counts, totals: Counts, confidence: float) -> tuple[Counts, Counts, Counts]:
    """(events, size, rate) of each set of episodes with 0, 1, 2 ... of its clusters that have an event.

    Adding a cluster to those with one event each lowers the sum of sizes at every place of this chain, or
    keeps it; so the variance there grows, the size shrinks and the bound rises. Where few clusters have a
    non-event the smaller of the two sizes is taken, which can only do the same. Rows are sets; a set with
    fewer clusters with an event than another repeats its last place.
    """
    level = 2 * confidence - 1
    n = totals.astype(np.float64)
    clusters, total, squares = len(n), float(n.sum()), float(np.square(n).sum())
    alike = total**2 / squares
    longest = int((events > 0).sum(axis=1).max(initial=0))
    order = np.argsort(np.where(events > 0, n, np.inf), axis=1, kind="stable")[:, :longest]
    f = np.take_along_axis(events, order, axis=1).astype(np.float64)
    of = np.where(f > 0, n[order], 0.0)

    def chain(values: Counts) -> Counts:
        return np.concatenate([np.zeros((len(values), 1)), np.cumsum(values, axis=1)], axis=1)

    p = np.minimum(1.0, chain(f) / total)
    spread = p * (1 - p)
    variance = clusters / (clusters - 1) * (chain(f * f) - 2 * p * chain(f * of) + p * p * squares) / total**2
    n_eff = np.full(p.shape, total)
    np.divide(spread, variance, out=n_eff, where=variance > 0)
    n_eff = np.where(spread > 0, np.minimum(total, n_eff), alike)
    adjusted = n_eff.copy()
    if total > clusters:
        adjusted *= (t_quantile(total - 1, level) / t_quantile(clusters - 1, level)) ** 2
    few_events = chain((f > 0).astype(np.float64)) < FEW
    few_others = clusters - chain(((f == of) & (f > 0)).astype(np.float64)) < FEW
    capped = np.minimum(n_eff, alike)
    size = np.where(few_events, capped, np.where(few_others, np.minimum(capped, adjusted), adjusted))
    return p * size, size, p


def bound(
    values: NDArray[np.bool_] | Counts,
    cluster: Codes,
    family: Codes | None = None,
    *,
    confidence: float = CONFIDENCE,
    empty: str,
) -> Bound:
    """One-sided bounds of the mean of `values` in [0, 1], one entry an episode.

    Codes count from 0. Where families are known the wider of task and family gives each bound; with
    one family the task leads.
    """

    def by(codes: Codes, unit: str) -> Bound:
        size = int(codes.max()) + 1 if len(codes) else 0
        events = np.bincount(codes, weights=values, minlength=size).astype(np.float64)
        totals = np.bincount(codes, minlength=size).astype(np.float64)
        return clustered_bound(events, totals, confidence=confidence, unit=unit, empty=empty)

    task = by(cluster, "task")
    if family is None or len(np.unique(family)) < 2:
        return task
    return _wider(task, by(family, "family"))


def mean_bound(values: Counts, *, confidence: float = CONFIDENCE, empty: str) -> Bound:
    """One-sided bounds of the mean of one value in [0, 1] a task: the task-weighted rate.

    Student's t on the tasks; never tighter than Clopper-Pearson on the tasks with the same mean, whose
    variance is the largest that values in [0, 1] can have, where fewer than five tasks are above 0 or
    below 1.
    """
    n = len(values)
    if n == 0:
        return Bound(None, None, None, 0, reason=empty)
    value = min(1.0, max(0.0, float(values.mean())))
    if n < 2:
        return Bound(value, None, None, n, float(values.sum()), n, reason="single_cluster")
    few = min(int((values > 0).sum()), int((values < 1).sum())) < FEW
    if few:
        low = lower_bound(value, n, confidence=confidence)
        high = upper_bound(value, n, confidence=confidence)
        method = "Clopper-Pearson, one-sided, on tasks"
    else:
        half = t_quantile(n - 1, 2 * confidence - 1) * float(values.std(ddof=1)) / math.sqrt(n)
        low, high = max(0.0, value - half), min(1.0, value + half)
        method = "t, one-sided, on tasks"
    return Bound(value, low, high, n, float(values.sum()), n, float(n), method)


def at_most(found: Bound, limit: float) -> Answer:
    """PASS if the upper bound is within the limit, FAIL if the lower bound is above it.

    >>> str(at_most(Bound(0.0, 0.0, upper_bound(0, 60), 60), 0.05))
    'PASS'
    >>> str(at_most(Bound(1 / 60, 0.0009, 0.0766, 60), 0.05))
    'INSUFFICIENT'
    """
    if found.high is not None and found.high <= limit:
        return Answer.PASS
    if found.low is not None and found.low > limit:
        return Answer.FAIL
    return Answer.INSUFFICIENT


def at_least(found: Bound, limit: float) -> Answer:
    """PASS if the lower bound reaches the limit, FAIL if the upper bound stays below it."""
    if found.low is not None and found.low >= limit:
        return Answer.PASS
    if found.high is not None and found.high < limit:
        return Answer.FAIL
    return Answer.INSUFFICIENT


def all_of(answers: Iterable[Answer]) -> Answer:
    """PASS only if all pass (and there is one), FAIL if any fails, else INSUFFICIENT.

    >>> str(all_of([Answer.PASS, Answer.INSUFFICIENT])), str(all_of([]))
    ('INSUFFICIENT', 'INSUFFICIENT')
    """
    found = list(answers)
    if Answer.FAIL in found:
        return Answer.FAIL
    return Answer.PASS if found and all(one is Answer.PASS for one in found) else Answer.INSUFFICIENT


def needed(limit: float, *, confidence: float = CONFIDENCE) -> int:
    """Independent episodes without one event that show a rate of at most `limit`: ln(a) / ln(1 - limit).

    >>> needed(0.05)
    59
    """
    if not 0 < limit < 1:
        raise ValueError(f"a limit between 0 and 1 is needed, not {limit}")
    n = math.ceil(math.log(1 - confidence) / math.log(1 - limit))
    return n if upper_bound(0, n, confidence=confidence) <= limit else n + 1


def _wider(task: Bound, family: Bound) -> Bound:
    """Each bound from the clustering that makes it wider; the one that sets the upper bound is named."""
    if task.high is None or task.low is None:
        return family
    if family.high is None or family.low is None:
        return task
    lead = family if family.high - family.low > task.high - task.low else task
    return lead._replace(low=min(task.low, family.low), high=max(task.high, family.high))
