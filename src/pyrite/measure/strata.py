"""The blocks of a bench: one a stratum, in it one a condition, in it one a judge."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyrite.measure.blocks import (
    Settings,
    cluster_warnings,
    compact,
    family_codes,
    figure,
    judge_block,
    judge_warnings,
    matrix,
    truth_block,
)
from pyrite.measure.table import FAIL, SUCCESS, Episodes, Factor, Flags, Table
from pyrite.measure.vote import Votes, votes_of
from pyrite.metrics.judge import share
from pyrite.records import HARD_NEGATIVES, SOURCES

UNCLASSIFIED = "unclassified"


def strata_blocks(table: Table, settings: Settings) -> tuple[dict[str, Any], list[str]]:
    """A block for each stratum that has episodes, in the order in which they lead, and warnings."""
    episodes = table.episodes
    votes = {pair: votes_of(table, *pair) for pair in table.asked()}
    strata: dict[str, Any] = {}
    warnings: list[str] = []
    for name in SOURCES:
        rows = _named(episodes.stratum, name, len(episodes))
        if not rows.any():
            continue
        conditions: dict[str, Any] = {}
        warnings += [f"{name}: {text}" for text in cluster_warnings(episodes, rows)]
        for (judge, condition), cast in sorted(votes.items(), key=lambda item: (item[0][1], item[0][0])):
            block = _judge(episodes, rows, cast, settings)
            conditions.setdefault(condition, {"judges": {}})["judges"][judge] = block
            warnings += [f"{name}, {condition}, {text}" for text in judge_warnings(judge, block)]
        strata[name] = {
            "truth": truth_block(episodes, rows, settings),
            "by_agent": _by_agent(episodes, rows, settings),
            "categories": _categories(episodes, rows),
            "conditions": conditions,
        }
    return strata, warnings


def _judge(episodes: Episodes, rows: Flags, votes: Votes, settings: Settings) -> dict[str, Any]:
    block = judge_block(episodes, rows, votes.verdict, settings)
    inside = matrix(episodes, rows, votes.verdict)
    failed = inside & (episodes.truth == FAIL)
    accepted: Flags = votes.verdict == SUCCESS
    hard: Flags = np.zeros(len(episodes), dtype=np.bool_)
    for code in HARD_NEGATIVES:
        hard |= _named(episodes.category, code.value, len(episodes))
    unclassified = failed & _unknown(episodes.category, len(episodes))
    counts = block["counts"]
    decided = counts["tp"] + counts["fp"] + counts["fn"] + counts["tn"]
    return {
        **block,
        "status": "ok" if decided else "missing: no verdict on a scored episode",
        "runs": votes.runs,
        "incomplete": int((votes.incomplete & inside).sum()),
        "hard": _fpr(episodes, failed & hard, accepted, "accepted of hard negatives", settings),
        "other": _fpr(episodes, failed & ~hard, accepted, "accepted of the other failures", settings),
        "unclassified": int(unclassified.sum()),
        "by_category": _by_category(episodes, failed, accepted),
        "false_accepts": [episodes.ids[row] for row in np.flatnonzero(failed & accepted)],
    }


def _fpr(
    episodes: Episodes, rows: Flags, accepted: Flags, estimand: str, settings: Settings
) -> dict[str, Any]:
    return figure(
        share(
            accepted[rows],
            compact(episodes.cluster, rows),
            family_codes(episodes, rows),
            estimand=estimand,
            empty="no_such_failures",
            level=settings.level,
        )
    )


def _by_category(episodes: Episodes, failed: Flags, accepted: Flags) -> dict[str, Any]:
    found = {}
    for code, count in _categories(episodes, failed).items():
        chosen = failed & (
            _unknown(episodes.category, len(episodes))
            if code == UNCLASSIFIED
            else _named(episodes.category, code, len(episodes))
        )
        found[code] = {"accepted": int((chosen & accepted).sum()), "n": count}
    return found


def _categories(episodes: Episodes, rows: Flags) -> dict[str, int]:
    """Failure code -> how many of the chosen failed episodes; `unclassified` where there is none."""
    failed = rows & (episodes.truth == FAIL)
    names = episodes.category.names if episodes.category is not None else ()
    found = {name: int((failed & _named(episodes.category, name, len(episodes))).sum()) for name in names}
    found[UNCLASSIFIED] = int((failed & _unknown(episodes.category, len(episodes))).sum())
    return {name: count for name, count in found.items() if count}


def _by_agent(episodes: Episodes, rows: Flags, settings: Settings) -> dict[str, Any]:
    if episodes.agent is None:
        return {}
    blocks = {}
    for code in np.unique(episodes.agent.codes[rows]):
        chosen = rows & (episodes.agent.codes == code)
        name = episodes.agent.names[code] if code >= 0 else "unknown"
        blocks[name] = truth_block(episodes, chosen, settings)
    return blocks


def _named(found: Factor | None, name: str, size: int) -> Flags:
    if found is None or name not in found.names:
        return np.zeros(size, dtype=np.bool_)
    flags: Flags = found.codes == found.names.index(name)
    return flags


def _unknown(found: Factor | None, size: int) -> Flags:
    if found is None:
        return np.ones(size, dtype=np.bool_)
    flags: Flags = found.codes < 0
    return flags
