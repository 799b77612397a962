"""The blocks that a result is made of: the truth's own rate, and one judge's figures.

Both take flags over the episodes of a table, so a stratum, a group or an agent is a choice of rows.
Uncertain and parse_error count as not accepted; what is missing or has no determinate truth is in no
matrix and is counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pyrite.measure.table import (
    FAIL,
    INDETERMINATE,
    MISSING,
    PARSE_ERROR,
    PASS,
    SUCCESS,
    UNCERTAIN,
    Codes8,
    Codes32,
    Episodes,
    Factor,
    Flags,
)
from pyrite.measure.vote import Policy, mapped
from pyrite.metrics.intervals import LEVEL
from pyrite.metrics.judge import bootstrap_rates, judge_figures, share
from pyrite.records import Estimate, Interval

FIGURES = ("fpr", "fdr", "tpr", "precision", "kappa", "inflation")
FEW_CLUSTERS = 10
UNEVEN = 3
"""Tasks that weigh like less than a third of their number are told of."""
PARSE_ERROR_LIMIT = 0.01


@dataclass(frozen=True)
class Settings:
    """What every interval of one result is made with."""

    level: float = LEVEL
    resamples: int = 2000
    seed: int = 0
    uncertain: Policy = "failure"
    base_rates: tuple[float, ...] = ()
    """Success rates, besides the usual ones, at which the FDR is projected."""


def figure(found: Estimate) -> dict[str, Any]:
    """An estimate as it stands in a result."""
    block: dict[str, Any] = {
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "method": found.method,
        "n": found.n,
        "n_eff": found.n_eff,
        "clusters": found.clusters,
        "estimand": found.estimand,
        "reason": found.reason,
        "iid": _interval(found.iid),
    }
    for name, beside in (("by_task", found.by_task), ("by_family", found.by_family)):
        if beside is not None:
            block[name] = _interval(beside)
    return block


def truth_block(episodes: Episodes, rows: Flags, settings: Settings) -> dict[str, Any]:
    """Attempted, indeterminate, scored, pass, fail, the rate with its interval, and the bounds.

    `indeterminate` includes the episodes of which the source says nothing; `missing` tells them apart.
    The bounds assume nothing: all indeterminate fail, all pass.
    """
    scored = rows & episodes.scored
    passed = int((rows & (episodes.truth == PASS)).sum())
    failed = int((rows & (episodes.truth == FAIL)).sum())
    missing = int((rows & (episodes.truth == MISSING)).sum())
    indeterminate = missing + int((rows & (episodes.truth == INDETERMINATE)).sum())
    attempted = passed + failed + indeterminate
    found = share(
        episodes.truth[scored] == PASS,
        compact(episodes.cluster, scored),
        family_codes(episodes, scored),
        estimand="passed of scored episodes",
        empty="no_scored_episodes",
        level=settings.level,
    )
    block = figure(found)
    del block["value"]
    return {
        "attempted": attempted,
        "indeterminate": indeterminate,
        "missing": missing,
        "scored": passed + failed,
        "pass": passed,
        "fail": failed,
        "rate": found.value,
        **block,
        "bounds": [passed / attempted, (passed + indeterminate) / attempted] if attempted else None,
    }


def matrix(episodes: Episodes, rows: Flags, verdict: Codes8) -> Flags:
    """The episodes that are in a judge's matrix: determinate truth and a verdict."""
    inside: Flags = rows & episodes.scored & (verdict != MISSING)
    return inside


def judge_block(episodes: Episodes, rows: Flags, verdict: Codes8, settings: Settings) -> dict[str, Any]:
    """Counts, uncertain rate, the six figures and the envelope of one judge on the chosen episodes."""
    final = mapped(verdict, settings.uncertain)
    inside = matrix(episodes, rows, final)
    passed, said = episodes.truth[inside] == PASS, final[inside]
    accepted = said == SUCCESS
    answered = matrix(episodes, rows, verdict)
    uncertain = answered & (verdict == UNCERTAIN)
    found = judge_figures(
        passed,
        accepted,
        compact(episodes.cluster, inside),
        family_codes(episodes, inside),
        level=settings.level,
        resamples=settings.resamples,
        seed=settings.seed,
    )
    if not len(said):
        reason = "no_verdicts" if bool((rows & episodes.scored).any()) else "no_scored_episodes"
        found = {name: one.model_copy(update={"reason": reason}) for name, one in found.items()}
    drawn = bootstrap_rates(
        passed,
        accepted,
        compact(episodes.cluster, inside),
        level=settings.level,
        resamples=settings.resamples,
        seed=settings.seed,
    )
    judged = share(
        accepted,
        compact(episodes.cluster, inside),
        family_codes(episodes, inside),
        estimand="accepted of decided episodes",
        empty="no_verdicts",
        level=settings.level,
    )
    return {
        "counts": {
            "tp": int((accepted & passed).sum()),
            "fp": int((accepted & ~passed).sum()),
            "fn": int((~accepted & passed).sum()),
            "tn": int((~accepted & ~passed).sum()),
            "uncertain": int(uncertain.sum()),
            "parse_error": int((said == PARSE_ERROR).sum()),
            "missing": int((rows & episodes.scored & (verdict == MISSING)).sum()),
            "indeterminate": int((rows & ~episodes.scored).sum()),
        },
        "uncertain_policy": settings.uncertain,
        "uncertain_rate": float(uncertain.sum()) / int(answered.sum()) if answered.any() else None,
        "judged": figure(judged),
        **{name: figure(found[name]) for name in FIGURES},
        "bootstrap": {name: _interval(one) for name, one in drawn.items()},
        "envelope": _envelope(episodes.truth[answered] == FAIL, verdict[answered]),
    }


def _envelope(failed: Flags, said: Codes8) -> dict[str, Any]:
    """FPR with uncertain as failure (low), left out (drop) and success (high), whatever the policy is."""
    negatives = int(failed.sum())
    accepted, unsure = (int((failed & (said == one)).sum()) for one in (SUCCESS, UNCERTAIN))
    decided = negatives - unsure
    return {
        "low": accepted / negatives if negatives else None,
        "drop": accepted / decided if decided else None,
        "high": (accepted + unsure) / negatives if negatives else None,
        "uncertain": unsure,
    }


def judge_warnings(name: str, block: dict[str, Any]) -> list[str]:
    """What a reader must know before believing a judge's figures."""
    counts = block["counts"]
    decided = counts["tp"] + counts["fp"] + counts["fn"] + counts["tn"]
    found = []
    if decided and counts["parse_error"] / decided > PARSE_ERROR_LIMIT:
        found.append(
            f"{name}: {counts['parse_error']} of {decided} answers could not be parsed; "
            "they count as not accepted"
        )
    if n := counts["missing"]:
        have, are = ("has", "is") if n == 1 else ("have", "are")
        found.append(f"{name}: {counted(n, 'scored episode')} {have} no verdict and {are} left out")
    return found


def cluster_warnings(episodes: Episodes, rows: Flags) -> list[str]:
    """Whether rates rest on so few tasks, or on a few so large ones, that no interval can be trusted much."""
    told = []
    for what, chosen in (
        ("failed", rows & (episodes.truth == FAIL)),
        ("passed", rows & (episodes.truth == PASS)),
        ("scored", rows & episodes.scored),
    ):
        n = np.bincount(compact(episodes.cluster, chosen)).astype(np.float64)
        if not len(n):
            continue
        alike = float(n.sum()) ** 2 / float(np.square(n).sum())
        if len(n) < FEW_CLUSTERS and what == "failed":
            told.append(
                f"the failed episodes are of {counted(len(n), 'task')}, fewer than "
                f"{FEW_CLUSTERS}: read the intervals with care"
            )
        elif len(n) >= FEW_CLUSTERS and alike < min(FEW_CLUSTERS, len(n) / UNEVEN):
            told.append(
                f"one task has {100 * n.max() / n.sum():.0f} % of the {what} episodes: its {len(n):,} tasks "
                f"weigh like {alike:.1f} of one size, and intervals of their rates are too narrow"
            )
    return told


def counted(number: int, noun: str) -> str:
    """A number with its noun, as it stands in a warning.

    >>> counted(1, "episode"), counted(1200, "episode")
    ('1 episode', '1,200 episodes')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def compact(found: Factor, rows: Flags) -> Codes32:
    """The codes of the chosen rows, renumbered from 0 in order of name."""
    return np.unique(found.codes[rows], return_inverse=True)[1].astype(np.int32)


def family_codes(episodes: Episodes, rows: Flags) -> Codes32 | None:
    """Family codes of the chosen rows; None unless every one of them has a family."""
    if episodes.family is None or bool((episodes.family.codes[rows] < 0).any()):
        return None
    return compact(episodes.family, rows)


def _interval(found: Interval | None) -> dict[str, Any] | None:
    return None if found is None else {"low": found.low, "high": found.high, "method": found.method}
