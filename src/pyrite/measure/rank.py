"""True against judged success by agent or any other group: inflation of each, and what happens to ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyrite.measure.blocks import Settings, compact, family_codes, figure, matrix
from pyrite.measure.table import PASS, SUCCESS, Codes8, Episodes, Factor, Flags
from pyrite.metrics.judge import cells, one_family, share, wider
from pyrite.metrics.paired import inflation
from pyrite.metrics.rank import MAX_GROUPS, ranking
from pyrite.records import Estimate

FEW = 10
"""A group of fewer episodes has no rank."""


def rank_block(
    episodes: Episodes, rows: Flags, verdict: Codes8, by: str, factor: Factor, settings: Settings
) -> dict[str, Any]:
    """One judge's ranking of the groups in a column, on the episodes that truth and judge both decided.

    Groups with fewer than ten such episodes are listed with counts and take no part in ranks and pairs.
    `reason` says why there is no ranking: fewer than two groups can be ranked, or there are too many.
    """
    inside = matrix(episodes, rows, verdict) & (factor.codes >= 0)
    passed, accepted = episodes.truth == PASS, verdict == SUCCESS
    sizes = np.bincount(factor.codes[inside], minlength=len(factor.names))
    groups = {
        name: _group(episodes, inside & (factor.codes == code), passed, accepted, settings)
        for code, name in enumerate(factor.names)
        if sizes[code]
    }
    ranked = np.flatnonzero(sizes >= FEW)
    block: dict[str, Any] = {
        "by": by,
        "groups": groups,
        "pairs": [],
        "concordance": None,
        "tau_b": None,
        "rank_changes": [],
        "reason": None,
    }
    if len(ranked) < 2 or len(ranked) > MAX_GROUPS:
        few = f"fewer than two groups with {FEW} episodes"
        return block | {"reason": few if len(ranked) < 2 else f"more than {MAX_GROUPS} groups"}
    chosen = inside & np.isin(factor.codes, ranked)
    names = [factor.names[code] for code in ranked]
    found = ranking(
        passed[chosen],
        accepted[chosen],
        compact(episodes.cluster, chosen),
        compact(factor, chosen),
        level=settings.level,
        resamples=settings.resamples,
        seed=settings.seed,
    )
    for at, name in enumerate(names):
        groups[name] |= {"true_rank": float(found.true_rank[at]), "judged_rank": float(found.judged_rank[at])}
    pairs = [
        {
            "a": names[one.first],
            "b": names[one.second],
            "true_difference": one.true_difference,
            "judged_difference": one.judged_difference,
            "same_order": one.same_order,
            "probability": one.probability,
        }
        for one in found.pairs
    ]
    changed = [name for name in names if groups[name]["true_rank"] != groups[name]["judged_rank"]]
    return block | {
        "pairs": pairs,
        "concordance": figure(found.concordance),
        "tau_b": found.tau_b,
        "rank_changes": sorted(changed, key=lambda name: groups[name]["true_rank"]),
    }


def _group(
    episodes: Episodes, rows: Flags, passed: Flags, accepted: Flags, settings: Settings
) -> dict[str, Any]:
    """True and judged rate of one group with intervals, and their difference."""
    task, family = compact(episodes.cluster, rows), family_codes(episodes, rows)

    def rate(flags: Flags, estimand: str) -> dict[str, Any]:
        return figure(
            share(flags[rows], task, family, estimand=estimand, empty="no_episodes", level=settings.level)
        )

    def grown(codes: Any, unit: str) -> Estimate:
        found = cells(passed[rows], accepted[rows], codes)
        return inflation(found.tp, found.fp, found.fn, found.tn, unit=unit, level=settings.level)

    difference = grown(task, "task")
    if family is not None and len(np.unique(family)) > 1:
        difference = wider(difference, grown(family, "family"))
    elif family is not None:
        difference = one_family(difference)
    return {
        "n": int(rows.sum()),
        "pass": int((rows & passed).sum()),
        "accepted": int((rows & accepted).sum()),
        "fp": int((rows & accepted & ~passed).sum()),
        "fn": int((rows & ~accepted & passed).sum()),
        "true": rate(passed, "passed of decided episodes"),
        "judged": rate(accepted, "accepted of decided episodes"),
        "inflation": figure(difference),
        "true_rank": None,
        "judged_rank": None,
    }
