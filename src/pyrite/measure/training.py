"""What a trainer would get from a judge: how much of it has failed, and how strong the signal is."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyrite.measure.blocks import Settings, compact, family_codes, figure, matrix
from pyrite.measure.table import FAIL, PASS, SUCCESS, Codes8, Codes32, Episodes, Flags
from pyrite.metrics.clusters import Counts
from pyrite.metrics.fdr import Rate, effective, projected_fdr, task_shares
from pyrite.metrics.gate import mean_bound
from pyrite.metrics.reward import corrected_rewards, youden
from pyrite.records import Estimate

SUCCESS_RATES = (0.05, 0.2, 0.5, 0.8)
"""True success rates for which the FDR is projected."""


def training_block(episodes: Episodes, rows: Flags, verdict: Codes8, settings: Settings) -> dict[str, Any]:
    """Youden's J, backward-corrected rewards, FDR at other success rates and with one episode a task.

    `fdr_at` assumes that FPR and TPR stay what they are; `fdr_one_per_task` is the mean over tasks with
    an accepted episode, what task-balanced sampling, best of n or the first accept would take.
    """
    inside, accepted = matrix(episodes, rows, verdict), verdict == SUCCESS
    sides = {truth: inside & (episodes.truth == truth) for truth in (FAIL, PASS)}
    fpr, tpr = (_mean(accepted, sides[truth]) for truth in (FAIL, PASS))
    sizes = [effective_rate(episodes, sides[truth], accepted, settings.level) for truth in (FAIL, PASS)]
    rates = sorted({*SUCCESS_RATES, *settings.base_rates})
    projected = {f"{pi:g}": _projected(sizes[0], sizes[1], pi, settings.level, sides) for pi in rates}
    rewards = corrected_rewards(fpr, tpr)
    return {
        "youden": youden(fpr, tpr),
        "corrected_rewards": None if rewards is None else {"accepted": rewards[0], "rejected": rewards[1]},
        "fdr_at": {name: figure(one) for name, one in projected.items()},
        "fdr_one_per_task": figure(_one_per_task(episodes, inside & accepted, settings.level)),
    }


def effective_rate(episodes: Episodes, rows: Flags, accepted: Flags, level: float) -> Rate | None:
    """Share of accepted rows with the smaller of its sizes by task and by family; None for one cluster."""
    task, kin = compact(episodes.cluster, rows), family_codes(episodes, rows)
    found = [_sized(accepted[rows], task, level)]
    if kin is not None and len(np.unique(kin)) > 1:
        found.append(_sized(accepted[rows], kin, level))
    return min((one for one in found if one is not None), key=lambda one: one.size, default=None)


def accepted_by_task(episodes: Episodes, rows: Flags) -> tuple[Counts, Counts]:
    """False and true accepts of each task; `rows` are the accepted episodes."""
    codes, passed = compact(episodes.cluster, rows), episodes.truth[rows] == PASS
    size = int(codes.max()) + 1 if len(codes) else 0
    return (
        np.bincount(codes[~passed], minlength=size).astype(np.float64),
        np.bincount(codes[passed], minlength=size).astype(np.float64),
    )


def _projected(
    fpr: Rate | None, tpr: Rate | None, success: float, level: float, sides: dict[int, Flags]
) -> Estimate:
    found = projected_fdr(fpr, tpr, success, level=level)
    there = {truth: bool(rows.any()) for truth, rows in sides.items()}
    if found.value is None and all(there.values()) and (fpr is None or tpr is None):
        return found.model_copy(update={"reason": "single_cluster"})
    return found


def _one_per_task(episodes: Episodes, rows: Flags, level: float) -> Estimate:
    shares = task_shares(*accepted_by_task(episodes, rows))
    found = mean_bound(shares, confidence=(1 + level) / 2, empty="nothing_accepted")
    return Estimate(
        value=found.value,
        low=found.low,
        high=found.high,
        method=None if found.method is None else found.method.replace("one-sided, ", ""),
        level=level,
        n=found.n,
        clusters=found.clusters,
        estimand="failed of accepted episodes, one a task: the mean over tasks",
        reason=found.reason,
    )


def _mean(accepted: Flags, rows: Flags) -> float | None:
    return float(accepted[rows].mean()) if rows.any() else None


def _sized(accepted: Flags, codes: Codes32, level: float) -> Rate | None:
    size = int(codes.max()) + 1 if len(codes) else 0
    events = np.bincount(codes[accepted], minlength=size).astype(np.float64)
    return effective(events, np.bincount(codes, minlength=size).astype(np.float64), level=level)
