"""What a score says: how well it ranks, what its threshold promises, whether it is a probability.

A score is averaged over the runs of an episode before any threshold. One that could not be read is an
answer that no threshold accepts, and is counted; one that is not there is missing, and in no figure.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrite.measure.blocks import Settings, compact, figure
from pyrite.measure.table import FAILURE, MISSING, PARSE_ERROR, PASS, SUCCESS, Episodes, Flags, Table
from pyrite.metrics.abstention import risk_coverage
from pyrite.metrics.calibration import Calibration, calibration, probability_of_success
from pyrite.metrics.certificate import Certificate, Sampling, certify
from pyrite.metrics.roc import auc, det_points
from pyrite.metrics.thresholds import Policy

Floats = NDArray[np.float64]
_MARKS, _FEW_SCORES = 64, 20


@dataclass(frozen=True)
class Scores:
    """One entry an episode."""

    values: Floats
    """NaN where the score could not be read, and where there is none."""
    present: Flags
    """A score was given, readable or not."""


@dataclass(frozen=True)
class Asked:
    """The threshold that is asked for: FPR <= target with confidence 1 - delta."""

    target: float = 0.05
    delta: float = 0.05
    policy: Policy = "fixed_sequence"
    sampling: Sampling = "one_per_task"


def score_block(
    episodes: Episodes,
    rows: Flags,
    scores: Scores,
    settings: Settings,
    *,
    judge: str,
    asked: Asked | None = None,
    looks: int = 1,
    hard: Flags | None = None,
    made_of: Mapping[str, str | None] | None = None,
) -> dict[str, Any]:
    """Counts, AUC, DET points, threshold with its held-out rates, calibration of one score.

    On the chosen episodes whose truth is pass or fail. `looks`: how many scores get a threshold on the
    same tasks, each with delta / looks. `hard`: which failed episodes look like successes. `made_of`: what
    told truth and tasks, for the certificate.
    """
    asked = asked or Asked()
    inside = rows & episodes.scored & scores.present
    values, passed = scores.values[inside], episodes.truth[inside] == PASS
    cluster = compact(episodes.cluster, inside)
    readable = scores.values[rows & scores.present]
    readable = readable[~np.isnan(readable)]
    finite = readable[np.isfinite(readable)]
    found = certify(
        values,
        passed,
        cluster,
        target=asked.target,
        delta=asked.delta,
        policy=asked.policy,
        sampling=asked.sampling,
        seed=settings.seed,
        looks=looks,
        hard=None if hard is None else hard[inside],
        level=settings.level,
    )
    return {
        "n": len(readable),
        "missing": int((rows & ~scores.present).sum()),
        "unreadable": int((rows & scores.present & np.isnan(scores.values)).sum()),
        "infinite": len(readable) - len(finite),
        "low": float(finite.min()) if len(finite) else None,
        "high": float(finite.max()) if len(finite) else None,
        "auc": figure(auc(values, passed, cluster, level=settings.level)),
        "det": [
            {"threshold": _finite(point.threshold), "fpr": point.fpr, "fnr": point.fnr}
            for point in det_points(values, passed)
        ],
        "risk_coverage": _risk(values, passed),
        "certificate": certificate_block(found, judge=judge)
        | {
            "made_of": dict(made_of or {}),
            "calibration": _calibrating(episodes, inside, found),
            "data_sha256": _digest(episodes, inside, values),
            "score_marks": score_marks(values[found.calibrating[cluster]] if len(values) else values),
        },
        "calibration": _calibration(values, passed, cluster, settings),
    }


def certificate_block(found: Certificate, *, judge: str) -> dict[str, Any]:
    """A certificate as it stands in a result, without what it says of the data that chose it."""
    chosen = found.threshold
    return {
        "kind": "threshold",
        "judge": judge if chosen.value is None else f"{judge}>={at_least(chosen.value, chosen.accept)!r}",
        "score": judge,
        "threshold": chosen.value,
        "accept": chosen.accept,
        "reason": chosen.reason,
        "policy": chosen.policy,
        "promise": found.promise,
        "target": chosen.target,
        "delta": chosen.delta,
        "looks": found.looks,
        "sampling": found.sampling,
        "n": chosen.n,
        "needed": chosen.needed,
        "false_positives": chosen.false_positives,
        "p_value": chosen.p_value,
        "upper": chosen.upper,
        "split_seed": found.split_seed,
        "calibration_tasks": found.calibration_tasks,
        "calibration_negatives": found.calibration_negatives,
        "held_out_tasks": found.held_out_tasks,
        "fpr": figure(found.fpr) if found.fpr.value is not None else None,
        "fpr_reason": found.fpr.reason,
        "tpr": figure(found.tpr),
        "hard_fpr": figure(found.hard_fpr) if found.hard_fpr else None,
    }


def at_least(value: float, accept: str) -> float:
    """The threshold as one that accepts scores at or above it.

    >>> at_least(0.5, ">="), at_least(0.5, ">") > 0.5
    (0.5, True)
    """
    return value if accept == ">=" else math.nextafter(value, math.inf)


def scores_of(table: Table, judge: str, condition: str) -> Scores | None:
    """Mean score of one judge in one condition, one entry an episode; None where it gives no score.

    As with votes, a strict majority of the configured runs must be there, else the episode is missing;
    where fewer than a majority can be read, the score is unreadable.
    """
    found = table.verdicts
    if found.score is None:
        return None
    chosen = (found.judge.codes == found.judge.names.index(judge)) & (
        found.condition.codes == found.condition.names.index(condition)
    )
    broken = chosen & (found.verdict == PARSE_ERROR)
    readable = chosen & ~np.isnan(found.score) & ~broken
    if not readable.any():
        return None
    size = len(table.episodes)
    seen = int(found.run[chosen].max(initial=1))
    majority = max(table.runs.get((judge, condition), seen), seen) // 2 + 1
    count = np.bincount(found.episode[readable], minlength=size)
    unread = np.bincount(found.episode[broken], minlength=size)
    order = np.lexsort((found.score[readable], found.episode[readable]))
    total = np.bincount(
        found.episode[readable][order], weights=found.score[readable][order], minlength=size
    ).astype(np.float64)
    values = np.where(count >= majority, total / np.maximum(count, 1), np.nan)
    return Scores(values, count + unread >= majority)


def confidence_block(
    table: Table, rows: Flags, judge: str, condition: str, settings: Settings
) -> dict[str, Any] | None:
    """Calibration of the confidence that stands beside verdicts; None where the judge gives none.

    A confidence is of the verdict: c for success, 1 - c for failure, undefined for uncertain; it is
    averaged over the runs of an episode that have one.
    """
    found = table.verdicts
    if found.confidence is None:
        return None
    chosen = (found.judge.codes == found.judge.names.index(judge)) & (
        found.condition.codes == found.condition.names.index(condition)
    )
    sure = probability_of_success(
        found.confidence, found.verdict == SUCCESS, (found.verdict != SUCCESS) & (found.verdict != FAILURE)
    )
    there = chosen & ~np.isnan(sure)
    if not there.any():
        return None
    size = len(table.episodes)
    order = np.lexsort((sure[there], found.episode[there]))
    total = np.bincount(found.episode[there][order], weights=sure[there][order], minlength=size)
    count = np.bincount(found.episode[there], minlength=size)
    values = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    given = np.bincount(found.episode[chosen & (found.verdict != MISSING)], minlength=size) > 0
    inside = rows & table.episodes.scored & given
    cluster = compact(table.episodes.cluster, inside)
    return _calibration(values[inside], table.episodes.truth[inside] == PASS, cluster, settings)


def _risk(values: Floats, passed: Flags) -> dict[str, Any]:
    """Areas under the risk-coverage curves of acceptance: the highest scores first, loss is a failure."""
    found = risk_coverage(values, (~passed).astype(np.float64), limit=100)
    points = [
        {"coverage": one.coverage, "risk": one.risk, "generalised": one.generalised} for one in found.points
    ]
    return {"aurc": found.aurc, "augrc": found.augrc, "reason": found.reason, "points": points}


def _calibration(
    values: Floats, passed: Flags, cluster: NDArray[np.integer], settings: Settings
) -> dict[str, Any]:
    return calibration_block(calibration(values, passed, cluster, level=settings.level))


def calibration_block(found: Calibration) -> dict[str, Any]:
    """A calibration as it stands in a result; only counts and the reason where there is none."""
    if found.reason:
        return {"reason": found.reason, "n": found.n, "excluded": found.excluded, "brier": None, "ece": None}
    return {
        "reason": None,
        "n": found.n,
        "excluded": found.excluded,
        "brier": figure(found.brier),
        "climatology": found.climatology,
        "skill": found.skill,
        "ece": found.ece,
        "binning": found.binning,
        "bins": [
            {"low": one.low, "high": one.high, "n": one.n, "mean": one.mean, "passed": figure(one.passed)}
            for one in found.bins
        ],
        "mean_on_failures": figure(found.sure_of_failures),
        "sure_of_failures": figure(found.very_sure_of_failures),
    }


def task_mark(name: str) -> str:
    """What stands for a task in a certificate: the first 16 hex digits of the sha256 of its name."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def score_marks(values: Floats) -> list[str]:
    """A sample of the scores that chose a threshold, by which they are known again under other names.

    The 64 smallest digests of distinct scores; empty where scores repeat so much that finding them
    elsewhere tells nothing.
    """
    read = values[~np.isnan(values)].astype("<f8")
    distinct = np.unique(read)
    if len(distinct) < max(_FEW_SCORES, len(read) / 2):
        return []
    return sorted(hashlib.sha256(one.tobytes()).hexdigest()[:16] for one in distinct)[:_MARKS]


def _calibrating(episodes: Episodes, inside: Flags, found: Certificate) -> list[str]:
    """The tasks that chose the threshold, sorted; a row without a task is of none."""
    codes = np.unique(episodes.cluster.codes[inside])[found.calibrating]
    return sorted(task_mark(episodes.cluster.names[code]) for code in codes.tolist() if code >= 0)


def _digest(episodes: Episodes, inside: Flags, values: Floats) -> str:
    """sha256 over the tasks, outcomes and scores of the episodes, sorted: their order is not in it."""
    used, code = np.unique(episodes.cluster.codes[inside], return_inverse=True)
    truth = episodes.truth[inside]
    order = np.lexsort((values, truth, code))
    names = [episodes.cluster.names[one] if one >= 0 else "" for one in used.tolist()]
    found = hashlib.sha256("\n".join(names).encode("utf-8", "surrogatepass"))
    found.update(code[order].astype("<i8").tobytes() + truth[order].tobytes())
    found.update(np.where(np.isnan(values), np.nan, values)[order].astype("<f8").tobytes())
    return found.hexdigest()


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
