"""A bench becomes the one table, and the table a result.

meta.json, gt.json, the labels and the verdict files are joined here and nowhere else. Strata are never
pooled.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pyrite.errors import InputError, UsageError
from pyrite.measure.blocks import Settings
from pyrite.measure.strata import strata_blocks
from pyrite.measure.table import (
    FAIL,
    FAILURE,
    INDETERMINATE,
    MISSING,
    PARSE_ERROR,
    PASS,
    SUCCESS,
    UNCERTAIN,
    Episodes,
    Factor,
    Table,
    Verdicts,
)
from pyrite.measure.vote import votes_of
from pyrite.metrics.intervals import LEVEL
from pyrite.records import BLAME, SCHEMA_VERSION, SOURCES, Meta, Outcome, Truth, Verdict, VerdictLine
from pyrite.store import labels
from pyrite.store.bench import Bench
from pyrite.store.conditions import LAST_K, canonical
from pyrite.store.jsonl import read_lines

TRUTH = {Outcome.PASS: PASS, Outcome.FAIL: FAIL, Outcome.INDETERMINATE: INDETERMINATE}
_PASSED = {Outcome.PASS: True, Outcome.FAIL: False, Outcome.INDETERMINATE: None}
_VERDICT = {
    Verdict.SUCCESS: SUCCESS,
    Verdict.FAILURE: FAILURE,
    Verdict.UNCERTAIN: UNCERTAIN,
    Verdict.PARSE_ERROR: PARSE_ERROR,
}


class _Row(NamedTuple):
    episode: int
    judge: str
    condition: str
    run: int
    verdict: int
    score: float


class _Lines(NamedTuple):
    """The verdict lines of a bench."""

    rows: list[_Row]
    strangers: int
    """Lines of episodes that are not here."""
    aliases: dict[str, str]
    """Conditions that go by another name in tables than in the files."""


def table_from_bench(bench: Bench, *, families: Mapping[str, str] | None = None) -> Table:
    """Join a bench's episodes, truth and verdicts.

    The cluster is the task (a perturbed episode carries the task of its origin). `families` (task_id ->
    family) fills in where meta.json has none. Raises `UsageError` where there is no episode or one is
    not verified, `InputError` for contradictory truth and repeated verdicts.
    """
    ids = bench.require_episodes()
    metas = [bench.meta(episode_id) for episode_id in ids]
    people = labels.read(bench)
    truths = [people.joined(truth) for truth in _truths(bench, ids)]
    episodes = Episodes(
        truth=np.array([TRUTH[t.outcome] for t in truths], dtype=np.int8),
        cluster=Factor.of([m.task_id for m in metas]),
        ids=tuple(ids),
        family=_families(metas, families or {}),
        stratum=Factor.of([m.source for m in metas]),
        agent=Factor.of([m.agent.name for m in metas]),
        category=Factor.of([t.category.value if t.category else None for t in truths]),
        cause=Factor.of([t.cause for t in truths]),
    )
    lines = _verdict_rows(bench, {episode_id: row for row, episode_id in enumerate(ids)})
    warnings = [f"condition {written} is read as {name}" for written, name in sorted(lines.aliases.items())]
    if lines.strangers:
        warnings.append(
            f"{lines.strangers} verdict lines are of episodes that are not here; they are left out"
        )
    said = people.of(truths)
    warnings += labels.notes(said)
    verdicts = _verdicts(lines.rows)
    return Table(episodes, verdicts, _configured_runs(bench, verdicts), tuple(warnings), said)


def measure_bench(
    bench: Bench,
    *,
    families: Mapping[str, str] | None = None,
    level: float = LEVEL,
    resamples: int = 2000,
    seed: int = 0,
) -> dict[str, Any]:
    """Every figure of a bench: a block a stratum, in it one a condition, in it one a judge.

    `families` (task_id -> family) fills in what a meta.json does not say. `lead` is the first of
    natural, weakened, perturbed, scripted that has failures. Raises as `table_from_bench` does.
    """
    table = table_from_bench(bench, families=families)
    episodes = table.episodes
    strata, warnings = strata_blocks(table, Settings(level, resamples, seed))
    failing = [name for name in SOURCES if name in strata and strata[name]["truth"]["fail"]]
    kin = episodes.family
    return {
        "schema_version": SCHEMA_VERSION,
        "level": level,
        "bench": bench.root.resolve().name,
        "episodes": len(episodes),
        "tasks": len(episodes.cluster.names),
        "families": len(kin.names) if kin is not None else None,
        "lead": failing[0] if failing else None,
        "strata": strata,
        "indeterminate": _indeterminate(episodes),
        "labels": table.labels,
        "warnings": [*table.warnings, *warnings],
        "lock_sha256": lock_digest(bench),
    }


def votes_of_episode(bench: Bench, episode_id: str) -> list[tuple[str, str, int, int]]:
    """(judge, condition, voted verdict, configured runs) of one episode, verified or not.

    Raises `InputError` where two lines contradict each other.
    """
    verdicts = _verdicts(_verdict_rows(bench, {episode_id: 0}).rows)
    alone = Episodes(truth=np.array([MISSING], dtype=np.int8), cluster=Factor.of([None]), ids=(episode_id,))
    table = Table(alone, verdicts, _configured_runs(bench, verdicts))
    voted = ((judge, condition, votes_of(table, judge, condition)) for judge, condition in table.asked())
    return [(judge, condition, int(votes.verdict[0]), votes.runs) for judge, condition, votes in voted]


def lock_digest(bench: Bench) -> str | None:
    """sha256 of lock.json; None where there is none."""
    path = bench.paths.lock
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def _truths(bench: Bench, ids: list[str]) -> list[Truth]:
    found = {episode_id: bench.truth(episode_id) for episode_id in ids}
    absent = [episode_id for episode_id, truth in found.items() if truth is None]
    if absent:
        raise UsageError(
            f"{len(absent)} of {len(ids)} episodes are not verified, {absent[0]} first",
            where=str(bench.root),
            expected="a gt.json in every episode",
            next=f"pyrite verify {bench.root}",
        )
    truths = [truth for truth in found.values() if truth is not None]
    for episode_id, truth in zip(ids, truths, strict=True):
        where = str(bench.paths.episode(episode_id).truth)
        if truth.episode_id != episode_id:
            raise InputError(f"episode_id is {truth.episode_id!r}", where=where, expected=repr(episode_id))
        if truth.passed is not _PASSED[truth.outcome]:
            raise InputError(
                f"outcome is {truth.outcome.value} and pass is {truth.passed}",
                where=where,
                expected="pass: true for pass, false for fail, null for indeterminate",
            )
    return truths


def _families(metas: list[Meta], families: Mapping[str, str]) -> Factor | None:
    found = Factor.of([meta.family or families.get(meta.task_id) or None for meta in metas])
    return found if found.names else None


def _verdict_rows(bench: Bench, row_of: Mapping[str, int]) -> _Lines:
    rows: list[_Row] = []
    renamed: dict[str, str] = {}
    seen: dict[tuple[int, str, str, int], str] = {}
    configs: dict[tuple[str, str], tuple[str | None, str]] = {}
    strangers = 0
    for path in bench.paths.verdict_files():
        for number, line in enumerate(read_lines(path, VerdictLine), start=1):
            where = f"{path}:{number}"
            if line.condition not in renamed:
                renamed[line.condition] = _true_name(bench, line.condition)
            condition = renamed[line.condition]
            config, first = configs.setdefault((line.judge, condition), (line.config, where))
            if config != line.config:
                raise InputError(
                    f"{line.judge}, {condition}: config {line.config!r} here and {config!r} at {first}",
                    where=where,
                    expected="one configuration a judge and condition",
                )
            episode = row_of.get(line.episode_id)
            if episode is None:
                strangers += 1
                continue
            key = (episode, line.judge, condition, line.run)
            if key in seen:
                raise InputError(
                    f"{line.judge}, {condition}, run {line.run} of {line.episode_id} stands already "
                    f"at {seen[key]}",
                    where=where,
                    expected="one verdict an episode, judge, condition and run",
                )
            seen[key] = where
            rows.append(_Row(episode, line.judge, condition, line.run, _said(line), _score(line)))
    aliases = {written: name for written, name in renamed.items() if written != name}
    return _Lines(rows, strangers, aliases)


def _true_name(bench: Bench, condition: str) -> str:
    """A condition as tables name it: another harness may write an alias, or E2-lastk for this bench's k."""
    evidence = bench.lock().get("evidence")
    last_k = evidence.get("last_k") if isinstance(evidence, dict) else None
    if canonical(condition) == condition:
        return condition
    return canonical(condition, last_k=last_k if isinstance(last_k, int) else LAST_K) or condition


def _said(line: VerdictLine) -> int:
    """A status that is not ok is a parse error, whatever the verdict says; null has no verdict."""
    if line.status != "ok":
        return PARSE_ERROR
    return MISSING if line.verdict is None else _VERDICT[line.verdict]


def _score(line: VerdictLine) -> float:
    return float("nan") if line.score is None else line.score


def _verdicts(rows: list[_Row]) -> Verdicts:
    return Verdicts(
        episode=np.array([row.episode for row in rows], dtype=np.int32),
        judge=Factor.of([row.judge for row in rows]),
        condition=Factor.of([row.condition for row in rows]),
        run=np.array([row.run for row in rows], dtype=np.int32),
        verdict=np.array([row.verdict for row in rows], dtype=np.int8),
        score=np.array([row.score for row in rows], dtype=np.float64),
    )


def _indeterminate(episodes: Episodes) -> list[dict[str, Any]]:
    cause = episodes.cause
    listed = []
    for row in np.flatnonzero(~episodes.scored):
        code = -1 if cause is None else int(cause.codes[row])
        why = cause.names[code] if cause is not None and code >= 0 else None
        blame = BLAME.get(why) if why else None
        listed.append({"episode_id": episodes.ids[row], "cause": why, "blame": blame})
    return listed


def _configured_runs(bench: Bench, verdicts: Verdicts) -> dict[tuple[str, str], int]:
    """Runs that were asked for, where lock.json says so: {"judge_runs": {label: {condition: n}}}."""
    asked = bench.lock().get("judge_runs")
    if not isinstance(asked, dict):
        return {}
    found = {}
    for judge in verdicts.judge.names:
        runs = asked.get(judge)
        for condition in verdicts.condition.names:
            n = runs.get(condition) if isinstance(runs, dict) else None
            if isinstance(n, int) and n > 0:
                found[judge, condition] = n
    return found
