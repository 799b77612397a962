"""The blocks of a bench: one a stratum, in it one a condition, in it one a judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pyrite.measure import labelled
from pyrite.measure.beside import of_runs, of_verdicts
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
from pyrite.measure.claim_effect import claim_effects
from pyrite.measure.groups import group_blocks
from pyrite.measure.rank import rank_block
from pyrite.measure.scores import Asked, scores_of
from pyrite.measure.table import FAIL, INDETERMINATE, SUCCESS, Episodes, Factor, Flags, Table
from pyrite.measure.training import training_block
from pyrite.measure.vote import Votes, mapped, votes_of
from pyrite.metrics.judge import share
from pyrite.records import BLAME, HARD_NEGATIVES, SOURCES

UNCLASSIFIED = "unclassified"
_BLAMED = {**BLAME, **labelled.BLAMED}


def strata_blocks(
    table: Table, settings: Settings, asked: Asked | None = None, *, truth: str = "verifier"
) -> tuple[dict[str, Any], list[str]]:
    """A block for each stratum that has episodes, in the order in which they lead, and warnings.

    Where the table has groups, each stratum is broken down by them: `groups`.
    """
    episodes = table.episodes
    votes = {pair: votes_of(table, *pair) for pair in table.asked()}
    scored = sum(scores_of(table, *pair) is not None for pair in votes)
    hard = _hard(episodes)
    strata: dict[str, Any] = {}
    warnings: list[str] = []
    for name, rows in _strata(episodes):
        conditions: dict[str, Any] = {}
        warnings += [f"{name}: {text}" for text in cluster_warnings(episodes, rows)]
        for (judge, condition), cast in sorted(votes.items(), key=lambda item: (item[0][1], item[0][0])):
            block = _judge(episodes, rows, cast, settings)
            block |= of_runs(
                table,
                rows,
                judge,
                condition,
                settings,
                asked=asked,
                looks=max(1, scored),
                hard=hard,
                made_of={"truth": truth},
            )
            conditions.setdefault(condition, {"judges": {}})["judges"][judge] = block
            warnings += [f"{name}, {condition}, {text}" for text in judge_warnings(judge, block)]
        strata[name] = {
            "truth": _truth(episodes, rows, settings),
            "by_agent": _by_agent(episodes, rows, settings),
            "categories": _categories(episodes, rows),
            "conditions": conditions,
            "groups": _groups(episodes, rows, votes, settings),
            "claims": claim_effects(table, rows, settings),
        }
    return strata, warnings


def truth_strata(episodes: Episodes, settings: Settings) -> dict[str, Any]:
    """The same truth blocks, each with its agents and categories in it."""
    return {
        name: {
            **_truth(episodes, rows, settings),
            "categories": _categories(episodes, rows),
            "by_agent": _by_agent(episodes, rows, settings),
        }
        for name, rows in _strata(episodes)
    }


def _strata(episodes: Episodes) -> Iterator[tuple[str, Flags]]:
    for name in SOURCES:
        rows = _named(episodes.stratum, name, len(episodes))
        if rows.any():
            yield name, rows


def _truth(episodes: Episodes, rows: Flags, settings: Settings) -> dict[str, Any]:
    """The truth block, with why episodes are undecided: causes with their blame, and no outcome at all."""
    block = truth_block(episodes, rows, settings)
    undecided = rows & (episodes.truth == INDETERMINATE)
    causes = _counts(episodes.cause, undecided)
    blame: Counter[str] = Counter()
    for cause, n in causes.items():
        blame[_BLAMED.get(cause, "unknown")] += n
    return {
        **block,
        "unverified": block["missing"],
        "causes": {cause: {"n": n, "blame": _BLAMED.get(cause, "unknown")} for cause, n in causes.items()},
        "blame": dict(blame.most_common()),
    }


def _judge(episodes: Episodes, rows: Flags, votes: Votes, settings: Settings) -> dict[str, Any]:
    block = _rates(episodes, rows, votes, settings)
    verdict = mapped(votes.verdict, settings.uncertain)
    inside = matrix(episodes, rows, verdict)
    failed = inside & (episodes.truth == FAIL)
    accepted: Flags = verdict == SUCCESS
    unclassified = failed & _unknown(episodes.category, len(episodes))
    counts = block["counts"]
    decided = counts["tp"] + counts["fp"] + counts["fn"] + counts["tn"]
    return {
        **block,
        **of_verdicts(episodes, rows, verdict, settings),
        "status": "ok" if decided else "missing: no verdict on a scored episode",
        "runs": votes.runs,
        "incomplete": int((votes.incomplete & inside).sum()),
        "unclassified": int(unclassified.sum()),
        "by_category": _by_category(episodes, failed, accepted),
        "training": training_block(episodes, rows, verdict, settings),
        "ranks": None
        if episodes.agent is None
        else rank_block(episodes, rows, verdict, "agent", episodes.agent, settings),
        "false_accepts": [episodes.ids[row] for row in np.flatnonzero(failed & accepted)],
    }


def _rates(episodes: Episodes, rows: Flags, votes: Votes, settings: Settings) -> dict[str, Any]:
    """The figures of one judge, with its FPR on hard negatives apart from that on the other failures."""
    verdict = mapped(votes.verdict, settings.uncertain)
    failed = matrix(episodes, rows, verdict) & (episodes.truth == FAIL)
    accepted: Flags = verdict == SUCCESS
    hard = _hard(episodes)
    return {
        **judge_block(episodes, rows, votes.verdict, settings),
        "hard": _fpr(episodes, failed & hard, accepted, "accepted of hard negatives", settings),
        "other": _fpr(episodes, failed & ~hard, accepted, "accepted of the other failures", settings),
    }


def _groups(
    episodes: Episodes, rows: Flags, votes: Mapping[tuple[str, str], Votes], settings: Settings
) -> list[dict[str, Any]]:
    """A stratum broken down: for each group its truth, and the rates of each judge in each condition."""

    def block(inside: Flags) -> dict[str, Any]:
        conditions: dict[str, Any] = {}
        for (judge, condition), cast in sorted(votes.items(), key=lambda item: (item[0][1], item[0][0])):
            judges = conditions.setdefault(condition, {"judges": {}})["judges"]
            judges[judge] = _rates(episodes, inside, cast, settings)
        return {"truth": truth_block(episodes, inside, settings), "conditions": conditions}

    return group_blocks(episodes.groups, rows, block)


def _hard(episodes: Episodes) -> Flags:
    hard: Flags = np.zeros(len(episodes), dtype=np.bool_)
    for code in HARD_NEGATIVES:
        hard |= _named(episodes.category, code.value, len(episodes))
    return hard


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
    """Failure code -> how many of the chosen failed episodes, most first; `unclassified` for no code."""
    failed = rows & (episodes.truth == FAIL)
    found = _counts(episodes.category, failed)
    unclassified = int((failed & _unknown(episodes.category, len(episodes))).sum())
    if unclassified:
        found[UNCLASSIFIED] = unclassified
    return dict(Counter(found).most_common())


def _counts(found: Factor | None, rows: Flags) -> dict[str, int]:
    """Name -> how many of the chosen rows, most first, then by name; a name of none is left out."""
    if found is None:
        return {}
    codes = found.codes[rows]
    n = np.bincount(codes[codes >= 0], minlength=len(found.names))
    return dict(Counter({name: int(n[i]) for i, name in enumerate(found.names) if n[i]}).most_common())


def _by_agent(episodes: Episodes, rows: Flags, settings: Settings) -> dict[str, Any]:
    if episodes.agent is None:
        return {}
    blocks = {}
    for code in np.unique(episodes.agent.codes[rows]):
        chosen = rows & (episodes.agent.codes == code)
        name = episodes.agent.names[code] if code >= 0 else "unknown"
        blocks[name] = _truth(episodes, chosen, settings)
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
