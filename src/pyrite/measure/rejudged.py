"""The same episodes judged twice, by another model or under another prompt: what flipped, and is it noise?

The episodes of a stratum that both decided go in; strata are never pooled. `acceptance` is over all of
them and needs no truth; FPR and TPR are over those that failed and passed. Each is tested by sign flips
over tasks, or over families where those say less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pyrite.measure.bench import table_from_bench
from pyrite.measure.blocks import Settings
from pyrite.measure.pairs import ACCEPTANCE, METRICS, Side, pair_block, side
from pyrite.measure.table import (
    FAIL,
    FAILURE,
    INDETERMINATE,
    MISSING,
    PARSE_ERROR,
    PASS,
    SUCCESS,
    UNCERTAIN,
    Factor,
    Flags,
    Table,
)
from pyrite.metrics.intervals import LEVEL
from pyrite.metrics.plan import POWER
from pyrite.records import SCHEMA_VERSION, SOURCES, Verdict, VerdictLine
from pyrite.store.bench import Bench
from pyrite.store.jsonl import read_lines

ANSWERS = {SUCCESS: "success", FAILURE: "failure", UNCERTAIN: "uncertain", PARSE_ERROR: "parse_error"}
_TRUTH = {PASS: "pass", FAIL: "fail", INDETERMINATE: "indeterminate", MISSING: None}
Reasons = Mapping[str, Mapping[tuple[str, str], str]]
"""Judge -> (episode, answer) -> what the judge gave as its reason."""


def rejudged(
    bench: Bench,
    *,
    old: str,
    new: str,
    conditions: Sequence[str],
    level: float = LEVEL,
    seed: int = 0,
) -> dict[str, Any]:
    """A block a stratum and condition in which both were asked; `a` of every test is the new judge.

    `flips` lists every episode whose answer is another one now; `gained` and `lost_accepts` count those
    that became accepted and those that are not accepted any more.
    """
    table = table_from_bench(bench, verified=False)
    settings = Settings(level, seed=seed)
    asked = set(table.asked())
    blocks = []
    for condition in conditions:
        if {(old, condition), (new, condition)} <= asked:
            reasons = {label: _reasons(bench, label, condition) for label in (old, new)}
            before, after = side(table, old, condition), side(table, new, condition)
            for stratum, rows in _strata(table):
                block = _block(table, rows, before, after, reasons, settings)
                if block["episodes"]:
                    blocks.append({"stratum": stratum, "condition": condition, **block})
    return {
        "schema_version": SCHEMA_VERSION,
        "bench": bench.root.resolve().name,
        "old": old,
        "new": new,
        "level": level,
        "power": POWER,
        "blocks": blocks,
        "warnings": list(table.warnings),
    }


def untested(result: Mapping[str, Any]) -> bool:
    """Whether no difference could be tested: exit 3."""
    return all(one["tests"][ACCEPTANCE]["p_signflip"] is None for one in result["blocks"])


def _strata(table: Table) -> list[tuple[str | None, Flags]]:
    """Episodes by stratum, in order; those of an unknown one last."""
    strata: Factor | None = table.episodes.stratum
    if strata is None:
        return [(None, np.ones(len(table.episodes), dtype=np.bool_))]
    found: list[tuple[str | None, Flags]] = [
        (name, strata.codes == strata.names.index(name)) for name in SOURCES if name in strata.names
    ]
    return [*found, (None, strata.codes < 0)]


def _block(
    table: Table, rows: Flags, before: Side, after: Side, reasons: Reasons, settings: Settings
) -> dict[str, Any]:
    both: Flags = rows & before.decided & after.decided
    asked: Flags = rows & ((before.verdict != MISSING) | (after.verdict != MISSING))
    changed: Flags = both & (before.verdict != after.verdict)
    tests = {}
    for metric in (ACCEPTANCE, *METRICS):
        found = pair_block(table.episodes, asked, metric, after, before, settings)
        p = found["p_signflip"]
        differs = None if p is None else bool(p <= 1 - settings.level + 1e-12)
        tests[metric] = {**found, "p_holm": p, "differs": differs}
    return {
        "episodes": int(asked.sum()),
        "decided": int(both.sum()),
        "answers": _answers(before, after, both),
        "gained": int((both & after.accepted & ~before.accepted).sum()),
        "lost_accepts": int((both & before.accepted & ~after.accepted).sum()),
        "flips": [_flip(table, int(row), before, after, reasons) for row in np.flatnonzero(changed)],
        "tests": tests,
    }


def _answers(before: Side, after: Side, both: Flags) -> dict[str, dict[str, int]]:
    """Old answer -> new answer -> episodes."""
    return {
        then: {
            now: int((both & (before.verdict == old) & (after.verdict == new)).sum())
            for new, now in ANSWERS.items()
        }
        for old, then in ANSWERS.items()
    }


def _flip(table: Table, row: int, before: Side, after: Side, reasons: Reasons) -> dict[str, Any]:
    episodes = table.episodes
    episode_id = episodes.ids[row]
    then, now = ANSWERS[int(before.verdict[row])], ANSWERS[int(after.verdict[row])]
    return {
        "episode_id": episode_id,
        "task_id": _name(episodes.cluster, row),
        "truth": _TRUTH[int(episodes.truth[row])],
        "category": _name(episodes.category, row),
        "old": then,
        "new": now,
        "old_reason": reasons[before.name].get((episode_id, then)),
        "new_reason": reasons[after.name].get((episode_id, now)),
    }


def _name(factor: Factor | None, row: int) -> str | None:
    return factor.names[factor.codes[row]] if factor is not None and factor.codes[row] >= 0 else None


def _reasons(bench: Bench, judge: str, condition: str) -> dict[tuple[str, str], str]:
    """(episode, answer) -> the reason of the first run with that answer."""
    path = bench.paths.verdict_file(judge, condition)
    found: dict[tuple[str, str], str] = {}
    for line in read_lines(path, VerdictLine) if path.is_file() else ():
        said = Verdict.PARSE_ERROR if line.status != "ok" else line.verdict
        if said is not None and line.reason:
            found.setdefault((line.episode_id, said.value), line.reason)
    return found
