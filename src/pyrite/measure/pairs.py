"""What two judges of one condition said of the same episodes, as blocks of a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pyrite.measure.blocks import Settings, compact, family_codes, figure
from pyrite.measure.table import (
    FAIL,
    FAILURE,
    MISSING,
    PARSE_ERROR,
    PASS,
    SUCCESS,
    UNCERTAIN,
    Codes8,
    Codes32,
    Episodes,
    Flags,
    Table,
)
from pyrite.measure.vote import votes_of
from pyrite.metrics import compare as tests
from pyrite.metrics.judge import one_family, wider
from pyrite.metrics.paired import agreeing, difference
from pyrite.metrics.plan import MIN_CLUSTERS, POWER, detectable_difference
from pyrite.records import Estimate

METRICS = {"fpr": (FAIL, "no_negatives"), "tpr": (PASS, "no_positives")}
"""Metric -> the truth of the episodes that it is of, and the reason where there is none."""
ACCEPTANCE = "acceptance"
"""The share of all episodes that is accepted, whatever their truth: needs none."""
_OF: dict[str, tuple[int | None, str]] = {**METRICS, ACCEPTANCE: (None, "no_episodes")}
REFERENCE_DRAWS = 10_000
"""For the task-weighted test, which decides nothing."""
ANSWERS = {
    "accepts": SUCCESS,
    "rejects": FAILURE,
    "uncertain": UNCERTAIN,
    "parse_error": PARSE_ERROR,
    "missing": MISSING,
}


@dataclass(frozen=True)
class Side:
    """One judge in one condition: which episodes it decided with all its runs, and which it accepts."""

    name: str
    decided: Flags
    accepted: Flags
    verdict: Codes8
    """The vote, incomplete or not."""


def side(table: Table, judge: str, condition: str) -> Side:
    """What a judge said in a condition, runs voted; an incomplete vote is no decision here."""
    votes = votes_of(table, judge, condition)
    decided: Flags = (votes.verdict != MISSING) & ~votes.incomplete
    return Side(judge, decided, votes.verdict == SUCCESS, votes.verdict)


def pair_block(
    episodes: Episodes, rows: Flags, metric: str, a: Side, b: Side, settings: Settings
) -> dict[str, Any]:
    """One pair on the episodes of one truth that both decided; `p_holm` is left to the family.

    `metric` is one of METRICS, or ACCEPTANCE for all episodes.
    """
    truth, empty = _OF[metric]
    of_truth: Flags = rows if truth is None else rows & (episodes.truth == truth)
    inside: Flags = of_truth & a.decided & b.decided
    first, second = a.accepted[inside], b.accepted[inside]
    task = tests.discordance(first, second, compact(episodes.cluster, inside))
    kin = family_codes(episodes, inside)
    reason = None if inside.any() else empty if not of_truth.any() else "no_common_verdicts"
    apart, unit, lead = _apart(task, first, second, kin, metric, reason or empty, settings)
    both, a_only, b_only, neither = task.totals()
    tested = _tested(lead, apart, settings)
    apart = agreeing(apart, lead.first - lead.second, tested["p_signflip"])
    return {
        "a": a.name,
        "b": b.name,
        "n": int(inside.sum()),
        "lost": int(of_truth.sum()) - int(inside.sum()),
        "clusters": _clusters(lead),
        "unit": unit,
        "both": both,
        "a_only": a_only,
        "b_only": b_only,
        "neither": neither,
        "difference": figure(apart),
        **tested,
        "p_mcnemar": tests.mcnemar_exact(a_only, b_only) if inside.any() else None,
        "reference": _reference(lead, settings) if inside.any() else None,
    }


def omnibus(episodes: Episodes, rows: Flags, metric: str, judges: list[Side]) -> dict[str, Any] | None:
    """Cochran's Q over the episodes that all judges decided; None for two judges, whose pair says it."""
    if len(judges) < 3:
        return None
    inside = rows & (episodes.truth == METRICS[metric][0])
    for side in judges:
        inside = inside & side.decided
    found = tests.cochrans_q(np.stack([side.accepted[inside] for side in judges], axis=1))
    reason = None
    if found.statistic is None:
        reason = "no_disagreement" if inside.any() else "no_common_verdicts"
    return {"n": int(inside.sum()), **found._asdict(), "reason": reason}


def together(episodes: Episodes, rows: Flags, metric: str, judges: list[Side]) -> dict[str, Any]:
    """Which judges accept the same episodes, of those that all of them decided: a count a set of judges."""
    inside = rows & (episodes.truth == METRICS[metric][0])
    for one in judges:
        inside = inside & one.decided
    accepted = np.stack([one.accepted[inside] for one in judges], axis=1)
    patterns, counts = np.unique(accepted, axis=0, return_counts=True)
    sets = [
        {"judges": [one.name for one, yes in zip(judges, pattern, strict=True) if yes], "n": int(n)}
        for pattern, n in zip(patterns, counts, strict=True)
    ]
    return {"n": int(inside.sum()), "sets": sorted(sets, key=lambda one: (-one["n"], one["judges"]))}


def confusion_block(episodes: Episodes, rows: Flags, judge: Side) -> dict[str, dict[str, int]]:
    """Truth x answer, all of it: what is indeterminate has a row, and what is no answer a column."""
    kinds = {
        "pass": episodes.truth == PASS,
        "fail": episodes.truth == FAIL,
        "indeterminate": ~episodes.scored,
    }
    return {
        kind: {name: int((rows & of_kind & (judge.verdict == code)).sum()) for name, code in ANSWERS.items()}
        for kind, of_kind in kinds.items()
    }


def _apart(
    task: tests.Discordance,
    first: Flags,
    second: Flags,
    kin: Codes32 | None,
    metric: str,
    empty: str,
    settings: Settings,
) -> tuple[Estimate, str, tests.Discordance]:
    """The difference by task and, where there are families, by family: the wider one and its unit lead."""

    name = metric.upper() if metric in METRICS else metric

    def made(found: tests.Discordance, unit: str) -> Estimate:
        return difference(
            found.both,
            found.first,
            found.second,
            found.neither,
            estimand=f"{name} of a minus that of b, episode-weighted",
            empty=empty,
            unit=unit,
            level=settings.level,
        )

    by_task = made(task, "task")
    if kin is None or len(kin) == 0:
        return by_task, "task", task
    family = tests.discordance(first, second, kin)
    if len(family.n) < 2:
        return one_family(by_task), "task", task
    lead = wider(by_task, made(family, "family"))
    return (lead, "family", family) if lead.by_task is not None else (lead, "task", task)


def _clusters(found: tests.Discordance) -> int:
    """Clusters with an episode that both decided: a count, 0 where there is none."""
    return int((found.n > 0).sum())


def _tested(lead: tests.Discordance, apart: Estimate, settings: Settings) -> dict[str, Any]:
    """The leading test, and what difference these episodes could have shown."""
    nothing: dict[str, Any] = {
        "p_signflip": None,
        "signflip_method": None,
        "discordant_clusters": None,
        "p_holm": None,
        "differs": None,
        "detectable_difference": None,
        "reason": apart.reason,
    }
    clusters = _clusters(lead)
    if apart.value is None or clusters < 2:
        return nothing
    flip = tests.sign_flip(lead.first - lead.second, seed=settings.seed)
    found: float | None = None
    if clusters >= MIN_CLUSTERS:
        _, first, second, _ = lead.totals()
        size = apart.n_eff if apart.n_eff is not None else float(apart.n)
        found = detectable_difference((first + second) / apart.n, size, power=POWER, level=settings.level)
    return {
        **nothing,
        "p_signflip": flip.p,
        "signflip_method": flip.method,
        "discordant_clusters": flip.discordant,
        "detectable_difference": found,
        "reason": apart.reason if found is not None else "too_few_clusters",
    }


def _reference(lead: tests.Discordance, settings: Settings) -> dict[str, Any]:
    """Other tests of the same pair, for readers who know them; none of them decides."""
    kept = lead.n > 0
    apart, n = (lead.first - lead.second)[kept], lead.n[kept]
    _, first, second, _ = lead.totals()
    weighted = tests.sign_flip(apart / n, draws=REFERENCE_DRAWS, seed=settings.seed)
    return {
        "mcnemar_mid_p": tests.mcnemar_mid(first, second),
        "signflip_task_weighted": {"p": weighted.p, "method": weighted.method},
        "obuchowski": tests.obuchowski(apart)._asdict(),
        "durkalski": tests.durkalski(apart, n)._asdict(),
        "yang": tests.yang(apart, n)._asdict(),
    }
