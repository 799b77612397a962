"""The verdict lines of a bench, as rows of the one table.

A line on evidence that was packed anew since is no verdict any more: it is counted, and missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pyrite.errors import InputError
from pyrite.measure.table import FAILURE, MISSING, PARSE_ERROR, SUCCESS, UNCERTAIN, Factor, Verdicts
from pyrite.records import EvidenceEntry, Verdict, VerdictLine
from pyrite.store.bench import Bench
from pyrite.store.conditions import LAST_K, canonical
from pyrite.store.jsonl import read_lines

_VERDICT = {
    Verdict.SUCCESS: SUCCESS,
    Verdict.FAILURE: FAILURE,
    Verdict.UNCERTAIN: UNCERTAIN,
    Verdict.PARSE_ERROR: PARSE_ERROR,
}


class Row(NamedTuple):
    """One verdict, by the row of its episode."""

    episode: int
    judge: str
    condition: str
    run: int
    verdict: int
    score: float
    confidence: float


class Lines(NamedTuple):
    """What the verdict files of a bench say."""

    rows: list[Row]
    strangers: int
    """Lines of episodes that are not here."""
    superseded: int
    """Lines on evidence that has changed since; their rows have no verdict."""
    aliases: dict[str, str]
    """Conditions that go by another name in tables than in the files."""


def read(bench: Bench, row_of: Mapping[str, int]) -> Lines:
    """Read all verdict files; `row_of` gives the row of each episode.

    Raises `InputError` for a judge with two configurations, and for two lines that both are of one
    episode, judge, condition and run on the evidence that is there.
    """
    rows: dict[tuple[int, str, str, int], Row] = {}
    stands: dict[tuple[int, str, str, int], str] = {}
    old: set[tuple[int, str, str, int]] = set()
    configs: dict[tuple[str, str], tuple[str | None, str]] = {}
    names = _Names(bench)
    current = _current_evidence(bench, names)
    strangers = 0
    for path in bench.paths.verdict_files():
        for number, line in enumerate(read_lines(path, VerdictLine), start=1):
            where, condition = f"{path}:{number}", names.of(line.condition)
            _refuse_other_config(configs, line, condition, where)
            episode = row_of.get(line.episode_id)
            if episode is None:
                strangers += 1
                continue
            key = (episode, line.judge, condition, line.run)
            packed = current.get((line.episode_id, condition))
            if packed and line.evidence_sha256 and line.evidence_sha256 != packed:
                old.add(key)
                rows.setdefault(key, Row(*key, MISSING, float("nan"), float("nan")))
                continue
            if key in stands:
                raise InputError(
                    f"{line.judge}, {condition}, run {line.run} of {line.episode_id} stands already "
                    f"at {stands[key]}",
                    where=where,
                    expected="one verdict an episode, judge, condition and run",
                )
            stands[key] = where
            rows[key] = Row(*key, _said(line), _number(line.score), _number(line.confidence))
    ordered = [rows[key] for key in sorted(rows)]  # lines stand in the order in which answers came
    return Lines(ordered, strangers, len(old - stands.keys()), names.aliases)


def verdicts(rows: list[Row]) -> Verdicts:
    """The rows as columns."""
    return Verdicts(
        episode=np.array([row.episode for row in rows], dtype=np.int32),
        judge=Factor.of([row.judge for row in rows]),
        condition=Factor.of([row.condition for row in rows]),
        run=np.array([row.run for row in rows], dtype=np.int32),
        verdict=np.array([row.verdict for row in rows], dtype=np.int8),
        score=np.array([row.score for row in rows], dtype=np.float64),
        confidence=np.array([row.confidence for row in rows], dtype=np.float64),
    )


def configured_runs(bench: Bench, found: Verdicts) -> dict[tuple[str, str], int]:
    """Runs that were asked for, where lock.json says so: {"judge_runs": {label: {condition: n}}}."""
    asked = bench.lock().get("judge_runs")
    if not isinstance(asked, dict):
        return {}
    wanted: dict[tuple[str, str], int] = {}
    for judge in found.judge.names:
        runs: Any = asked.get(judge)
        for condition in found.condition.names:
            n = runs.get(condition) if isinstance(runs, dict) else None
            if isinstance(n, int) and n > 0:
                wanted[judge, condition] = n
    return wanted


class _Names:
    """Conditions as tables name them: another harness may write an alias, or E2-lastk for this k."""

    def __init__(self, bench: Bench) -> None:
        asked = bench.asked("evidence", "last_k", LAST_K)
        self._last_k = asked if isinstance(asked, int) else LAST_K
        self._known: dict[str, str] = {}

    def of(self, written: str) -> str:
        if written not in self._known:
            same = canonical(written) == written
            self._known[written] = written if same else self._true(written)
        return self._known[written]

    def _true(self, written: str) -> str:
        return canonical(written, last_k=self._last_k) or written

    @property
    def aliases(self) -> dict[str, str]:
        return {written: name for written, name in self._known.items() if written != name}


def _current_evidence(bench: Bench, names: _Names) -> dict[tuple[str, str], str]:
    """(episode, condition) -> digest of the package that is there now; the last line of a pair counts."""
    path = bench.paths.evidence_index
    entries = read_lines(path, EvidenceEntry) if path.is_file() else ()
    return {(e.episode_id, names.of(e.condition)): e.evidence_sha256 for e in entries}


def _refuse_other_config(
    configs: dict[tuple[str, str], tuple[str | None, str]], line: VerdictLine, condition: str, where: str
) -> None:
    config, first = configs.setdefault((line.judge, condition), (line.config, where))
    if config != line.config:
        raise InputError(
            f"{line.judge}, {condition}: config {line.config!r} here and {config!r} at {first}",
            where=where,
            expected="one configuration a judge and condition",
        )


def _said(line: VerdictLine) -> int:
    """A status that is not ok is a parse error, whatever the verdict says; null has no verdict."""
    if line.status != "ok":
        return PARSE_ERROR
    return MISSING if line.verdict is None else _VERDICT[line.verdict]


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
