"""Do names, order, times, image metadata or message kinds tell what no judge may know?

`leaks.scan` looks for plain strings. This asks whether a classifier can tell source or outcome of an episode
from anything that is not content, better than it could with shuffled labels, on tasks it has not seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrite.errors import UsageError
from pyrite.evidence import packing
from pyrite.metrics.compare import holm
from pyrite.metrics.predictable import DEPTH, FOLDS, Predicted, predictable
from pyrite.pool import Silent, Watch
from pyrite.records import SCHEMA_VERSION, Meta, Outcome
from pyrite.stages.traces import PACKED, RECORDED, traces
from pyrite.store.bench import Bench

ALPHA = 0.05
SHUFFLES = 299
PLACES = ("packed", "recorded")
FEWEST_TASKS = 10
METHOD = (
    f"decision tree of depth {DEPTH}, {FOLDS}-fold by task; AUC, of several sources the mean of each against "
    "the others; labels shuffled over all episodes; Holm over the tests of a place; message kinds among "
    "episodes that said done and whose message was drawn (idle and claim-only assert by definition)"
)
SAID = "message kinds"
"""Who runs out of steps or gives up shows that by its actions; of the others the message is asked."""
OPEN = {
    "episode times": "recorded one kind after the other; meta.json beside them names the source anyway",
}
"""Groups that may tell: they never leave the folder of whoever recorded, and say what stands there openly."""


def leak_test(
    bench: Bench, *, shuffles: int = SHUFFLES, seed: int = 0, watch: Watch | None = None
) -> dict[str, Any]:
    """One row a group of traces and label: AUC, its baseline, p, and whether that is a leak.

    On verified episodes (pass or fail) that are packed in every condition that any is packed in. Raises
    `UsageError` where there is none, `RunError` without scikit-learn.
    """
    metas, index, passed = _episodes(bench)
    columns = traces(bench, metas, index)
    labels = {
        "source": _codes([meta.source for meta in metas]),
        "outcome": passed.astype(np.int64),
    }
    task = _codes([meta.task_id for meta in metas])
    everyone = np.ones(len(metas), dtype=np.bool_)
    drawn = np.array([_draws(meta) for meta in metas], dtype=np.bool_)
    watch = watch or Silent()
    watch.total = len(labels) * (len(columns) + 2)
    rows: list[dict[str, Any]] = []
    for place, groups in zip(PLACES, (PACKED, RECORDED), strict=True):
        closed = [group for group in groups if group not in OPEN and group != SAID]
        parts = {group: columns[group] for group in groups}
        parts["all of these"] = np.concatenate([columns[group] for group in closed], axis=1)
        found = []
        for label, codes in labels.items():
            for group, x in parts.items():
                rows_of = drawn if group == SAID else everyone
                told = predictable(x[rows_of], codes[rows_of], task[rows_of], shuffles=shuffles, seed=seed)
                found.append(_row(place, group, label, told))
                watch.tick(f"{place} {group} {label}")
        rows += _adjusted(found)
    conditions = sorted({condition for _, condition in index})
    return {
        "schema_version": SCHEMA_VERSION,
        "bench": str(bench.root),
        "method": METHOD,
        "shuffles": shuffles,
        "seed": seed,
        "alpha": ALPHA,
        "episodes": len(metas),
        "tasks": int(task.max()) + 1,
        "conditions": conditions,
        "rows": rows,
        "leaks": [f"{row['place']}: {row['group']} tell {row['label']}" for row in rows if row["leaks"]],
        "undecided": undecided(int(task.max()) + 1, shuffles, rows),
    }


def undecided(tasks: int, shuffles: int, rows: Sequence[dict[str, Any]]) -> str | None:
    """Why finding nothing would say nothing; None where it says something."""
    if tasks < FEWEST_TASKS:
        return f"{tasks} tasks, at least {FEWEST_TASKS} are needed"
    tests = max(sum(row["place"] == place and row["p"] is not None for row in rows) for place in PLACES)
    if tests / (shuffles + 1) > ALPHA:
        return f"{shuffles} shuffles, at least {math.ceil(tests / ALPHA) - 1} are needed to show a leak"
    return None


def _episodes(bench: Bench) -> tuple[list[Meta], dict[tuple[str, str], Any], NDArray[np.bool_]]:
    """Episodes that can be asked about, all packages by (episode, condition), and who passed."""
    index = packing.index(bench)
    conditions = {condition for _, condition in index}
    found: list[Meta] = []
    passed: list[bool] = []
    for episode_id in bench.require_episodes():
        truth = bench.truth(episode_id)
        if truth is None or truth.outcome is Outcome.INDETERMINATE:
            continue
        if conditions and all((episode_id, condition) in index for condition in conditions):
            found.append(bench.meta(episode_id))
            passed.append(truth.outcome is Outcome.PASS)
    if not found:
        raise UsageError(
            "no episode is both verified and packed",
            where=str(bench.root),
            expected="episodes with gt.json, and evidence",
            next=f"pyrite verify {bench.root}, then pyrite pack {bench.root}",
        )
    return found, index, np.array(passed, dtype=np.bool_)


def _draws(meta: Meta) -> bool:
    """Whether the message could have been any: not of who asserts success, or denies it, by definition."""
    by_definition = meta.agent.name == "idle" or meta.perturbation == "claim-only"
    return meta.ended_by == "done" and not by_definition


def _row(place: str, group: str, label: str, told: Predicted) -> dict[str, Any]:
    return {
        "place": place,
        "group": group,
        "label": label,
        "n": told.n,
        "auc": told.auc,
        "baseline": told.baseline,
        "baseline_high": told.high,
        "p": told.p,
        "reason": told.reason,
        "open": OPEN.get(group),
    }


def _adjusted(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with Holm's p over those that count, and whether each is a leak."""
    adjusted = holm([None if row["open"] else row["p"] for row in rows])
    return [
        {**row, "p_holm": p, "leaks": p is not None and p <= ALPHA}
        for row, p in zip(rows, adjusted, strict=True)
    ]


def _codes(names: Sequence[str]) -> NDArray[np.intp]:
    codes: NDArray[np.intp] = np.unique(np.array(names, dtype=np.str_), return_inverse=True)[1]
    return codes
