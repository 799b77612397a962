"""Every figure of one judge against the truth, from one entry an episode.

Definitions (N episodes with a verdict and a determinate truth; uncertain and parse_error count as
not accepted): FPR = FP / (FP + TN), FDR = FP / (FP + TP), TPR = TP / (TP + FN),
precision = TP / (FP + TP), inflation = (FP - FN) / N, Cohen's kappa. A zero denominator gives None
with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyrite.metrics.agreement import COEFFICIENTS, coefficient, kappa
from pyrite.metrics.clusters import Counts, rate
from pyrite.metrics.intervals import LEVEL
from pyrite.metrics.paired import inflation
from pyrite.metrics.resample import MAX_SKIPPED, resampled_sums
from pyrite.records import Estimate, Interval

Codes = NDArray[np.integer]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Cells:
    """The confusion matrix of each cluster: four arrays with one entry a cluster."""

    tp: Counts
    fp: Counts
    fn: Counts
    tn: Counts

    def totals(self) -> tuple[int, int, int, int]:
        """tp, fp, fn, tn over all clusters."""
        return tuple(round(float(c.sum())) for c in (self.tp, self.fp, self.fn, self.tn))  # type: ignore[return-value]


def cells(passed: Flags, accepted: Flags, cluster: Codes) -> Cells:
    """Count the four cells of each cluster; `cluster` holds codes from 0."""
    size = int(cluster.max()) + 1 if len(cluster) else 0

    def count(chosen: Flags) -> Counts:
        return np.bincount(cluster[chosen], minlength=size).astype(np.float64)

    return Cells(
        tp=count(passed & accepted),
        fp=count(~passed & accepted),
        fn=count(passed & ~accepted),
        tn=count(~passed & ~accepted),
    )


def judge_figures(
    passed: Flags,
    accepted: Flags,
    cluster: Codes,
    family: Codes | None = None,
    *,
    level: float = LEVEL,
    resamples: int = 2000,
    seed: int = 0,
) -> dict[str, Estimate]:
    """fpr, fdr, tpr, precision, kappa and inflation of one judge; one entry an episode in each array.

    Where families are known (codes from 0, every episode has one) each interval is made by task and
    by family, and the wider one leads; with one family the task leads and the method says so.
    """
    task = _figures(cells(passed, accepted, cluster), "task", level, resamples, seed)
    if family is None or len(family) == 0:
        return task
    if len(np.unique(family)) < 2:
        return {name: one_family(found) for name, found in task.items()}
    kin = _figures(cells(passed, accepted, family), "family", level, resamples, seed)
    return {name: wider(found, kin[name]) for name, found in task.items()}


def agreement_figures(
    passed: Flags,
    accepted: Flags,
    cluster: Codes,
    family: Codes | None = None,
    *,
    level: float = LEVEL,
    resamples: int = 2000,
    seed: int = 0,
) -> dict[str, Estimate]:
    """ac1, alpha, pabak and mcc of one judge, which stand beside kappa; arguments as `judge_figures`."""

    def by(codes: Codes, unit: str) -> dict[str, Estimate]:
        found = cells(passed, accepted, codes)
        table = (found.tp, found.fp, found.fn, found.tn)
        return {
            name: coefficient(name, *table, unit=unit, level=level, resamples=resamples, seed=seed)
            for name in COEFFICIENTS
            if name != "kappa"
        }

    task = by(cluster, "task")
    if family is None or len(family) == 0:
        return task
    if len(np.unique(family)) < 2:
        return {name: one_family(found) for name, found in task.items()}
    kin = by(family, "family")
    return {name: wider(found, kin[name]) for name, found in task.items()}


def bootstrap_rates(
    passed: Flags,
    accepted: Flags,
    cluster: Codes,
    *,
    level: float = LEVEL,
    resamples: int = 2000,
    seed: int = 0,
) -> dict[str, Interval | None]:
    """Percentile intervals of fpr, tpr and fdr by resampling tasks, to stand beside the leading ones.

    Not to lead: with few tasks or few events they are too narrow (coverage .79 to .94 of a nominal .95).
    None with fewer than two tasks, where over 5 % of the replicates have no such rate, and where all
    have the same.
    """
    found = cells(passed, accepted, cluster)
    counts = np.stack([found.tp, found.fp, found.fn, found.tn], axis=1)
    if len(counts) < 2:
        return dict.fromkeys(("fpr", "tpr", "fdr"))
    tp, fp, fn, tn = resampled_sums(counts, resamples=resamples, seed=seed).T
    tail = (1 - level) / 2

    def ends(events: Counts, totals: Counts) -> Interval | None:
        kept = totals > 0
        if 1 - float(kept.mean()) > MAX_SKIPPED:
            return None
        low, high = np.quantile(events[kept] / totals[kept], [tail, 1 - tail])
        if high - low <= 1e-9:  # where all tasks are alike, or none has an event, it would claim certainty
            return None
        return Interval(float(low), float(high), "percentile bootstrap of tasks")

    return {"fpr": ends(fp, fp + tn), "tpr": ends(tp, tp + fn), "fdr": ends(fp, fp + tp)}


def share(
    chosen: Flags,
    cluster: Codes,
    family: Codes | None = None,
    *,
    estimand: str,
    empty: str,
    level: float = LEVEL,
) -> Estimate:
    """The rate of `chosen` over all episodes given: an agent's success rate, or FPR on a subset."""

    def by(codes: Codes, unit: str) -> Estimate:
        size = int(codes.max()) + 1 if len(codes) else 0
        events = np.bincount(codes[chosen], minlength=size).astype(np.float64)
        totals = np.bincount(codes, minlength=size).astype(np.float64)
        return rate(events, totals, estimand=estimand, empty=empty, unit=unit, level=level)

    task = by(cluster, "task")
    if family is None or len(family) == 0:
        return task
    if len(np.unique(family)) < 2:
        return one_family(task)
    return wider(task, by(family, "family"))


def wider(by_task: Estimate, by_family: Estimate) -> Estimate:
    """The estimate with the wider interval, the other interval kept in `by_task` or `by_family`.

    Where only one of them has an interval, that one leads.
    """
    task, family = _interval(by_task), _interval(by_family)
    if family is None:
        return by_task
    if task is None or family.high - family.low > task.high - task.low:
        return by_family.model_copy(update={"by_task": task})
    return by_task.model_copy(update={"by_family": family})


def one_family(found: Estimate) -> Estimate:
    """Say in the method that all episodes are of one family, so clustering by it is not possible."""
    return found.model_copy(update={"method": f"{found.method} (one family)"}) if found.method else found


def _interval(found: Estimate) -> Interval | None:
    if found.low is None or found.high is None or found.method is None:
        return None
    return Interval(found.low, found.high, found.method)


def _figures(found: Cells, unit: str, level: float, resamples: int, seed: int) -> dict[str, Estimate]:
    tp, fp, fn, tn = found.tp, found.fp, found.fn, found.tn

    def ratio(events: Counts, totals: Counts, estimand: str, empty: str) -> Estimate:
        return rate(events, totals, estimand=estimand, empty=empty, unit=unit, level=level)

    return {
        "fpr": ratio(fp, fp + tn, "accepted of failed episodes", "no_negatives"),
        "fdr": ratio(fp, fp + tp, "failed of accepted episodes", "nothing_accepted"),
        "tpr": ratio(tp, tp + fn, "accepted of passed episodes", "no_positives"),
        "precision": ratio(tp, fp + tp, "passed of accepted episodes", "nothing_accepted"),
        "kappa": kappa(tp, fp, fn, tn, unit=unit, level=level, resamples=resamples, seed=seed),
        "inflation": inflation(tp, fp, fn, tn, unit=unit, level=level),
    }
