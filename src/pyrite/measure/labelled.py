"""What people say as the truth of a bench, and a judge's figures against both truths side by side.

People's outcome of an episode is `people.Labelled.truth`: adjudications win, else the majority of the
blind labels, else of the informed ones; a tie is indeterminate. An episode that nobody labelled is
attempted and indeterminate; so is one that its environment broke off, whatever people say of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pyrite.errors import InputError, UsageError
from pyrite.measure import people
from pyrite.measure.blocks import Settings, counted, judge_block
from pyrite.measure.people import Labelled
from pyrite.measure.table import FAIL, INDETERMINATE, MISSING, PASS, Factor, Flags, Table
from pyrite.measure.vote import votes_of
from pyrite.records import BLAME, SOURCES
from pyrite.store import labels
from pyrite.store.bench import Bench

NOT_LABELLED, UNDECIDED = "not_labelled", "people_undecided"
ABORTED = "environment_lost"
"""How an episode ended that its environment broke off: it is in no figure, and counted."""
BLAMED = {NOT_LABELLED: "people", UNDECIDED: "people", ABORTED: BLAME[ABORTED]}
"""Why an episode is indeterminate where people are the truth."""
_CAUSE = {MISSING: NOT_LABELLED, INDETERMINATE: UNDECIDED}
SHOWN = ("fpr", "tpr", "fdr", "kappa")


def read(bench: Bench, ids: tuple[str, ...]) -> Labelled:
    """The labels of a bench on the episodes `ids`, with those that were aborted."""
    said = people.read(labels.lines(bench), ids)
    if not said.annotators:
        return said
    return replace(said, aborted=np.array([_lost(bench, one) for one in ids], bool))


def _lost(bench: Bench, name: str) -> bool:
    try:
        return bench.meta(name).ended_by == ABORTED
    except InputError:  # it is told as broken elsewhere
        return False


def by_people(bench: Bench, table: Table, said: Labelled) -> Table:
    """The table with what people say in place of the verifier.

    Failures keep their category; causes become those of people. Raises `UsageError` where no label of
    an episode here has an outcome.
    """
    truth = said.truth()
    if not (truth != MISSING).any():
        raise UsageError(
            "no label says how an episode ended",
            where=str(bench.paths.labels),
            expected="lines with an outcome: pass, fail or indeterminate",
            next=f"pyrite label {bench.root}/episodes/EPISODE_ID --outcome fail --annotator NAME",
        )
    lost = np.zeros(len(truth), bool) if said.aborted is None else said.aborted
    cause: list[str | None] = [
        ABORTED if out else _CAUSE.get(one) for one, out in zip(truth.tolist(), lost.tolist(), strict=True)
    ]
    truth = np.where(truth == MISSING, INDETERMINATE, truth).astype(np.int8)
    silent, gone = cause.count(NOT_LABELLED), cause.count(ABORTED)
    told = ["truth is what people say (labels.jsonl), not the verifier"]
    if silent:
        are = "is" if silent == 1 else "are"
        told.append(f"{counted(silent, 'episode')} {are} not labelled and counted as indeterminate")
    if gone:
        told.append(f"{counted(gone, 'aborted run')}: indeterminate, whatever people say")
    episodes = replace(table.episodes, truth=truth, cause=Factor.of(cause))
    return replace(table, episodes=episodes, warnings=(*table.warnings, *told))


def not_scored(table: Table) -> list[dict[str, Any]]:
    """The episodes of a `by_people` table that have no outcome, each with its cause."""
    episodes = table.episodes
    assert episodes.cause is not None
    return [
        {"episode_id": episodes.ids[row], "cause": cause, "blame": BLAMED[cause], "problem": None}
        for row in np.flatnonzero(~episodes.scored).tolist()
        for cause in [episodes.cause.names[episodes.cause.codes[row]]]
    ]


def both(table: Table, said: Labelled, settings: Settings) -> dict[str, Any] | None:
    """Each judge against the verifier and against people, on the same episodes; None where there are none.

    Stratum -> condition -> judge -> counts and rates against either, on the episodes that both call pass
    or fail.
    """
    truth = said.truth()
    decided: Flags = table.episodes.scored & ((truth == PASS) | (truth == FAIL))
    strata = table.episodes.stratum
    if strata is None or not decided.any():
        return None
    against = {"verifier": table.episodes, "labels": replace(table.episodes, truth=truth)}
    found: dict[str, Any] = {}
    for name in SOURCES:
        if name not in strata.names:
            continue
        rows = decided & (strata.codes == strata.names.index(name))
        if not rows.any():
            continue
        conditions: dict[str, Any] = {}
        for judge, condition in table.asked():
            verdict = votes_of(table, judge, condition).verdict
            blocks = {key: judge_block(one, rows, verdict, settings) for key, one in against.items()}
            conditions.setdefault(condition, {})[judge] = {
                key: {"counts": block["counts"], **{figure: block[figure] for figure in SHOWN}}
                for key, block in blocks.items()
            }
        differ = int((rows & (truth != table.episodes.truth)).sum())
        found[name] = {"episodes": int(rows.sum()), "differ": differ, "conditions": conditions}
    return found or None
