"""Ensembles of judges that have judged: their verdicts are read, a file of its own is written for each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pyrite.errors import UsageError
from pyrite.evidence import conditions as evidence_conditions
from pyrite.judges.labels import split
from pyrite.measure.bench import table_from_bench
from pyrite.measure.ensemble import Ensemble, parse
from pyrite.measure.table import MISSING, Codes8
from pyrite.measure.vote import votes_of
from pyrite.records import Verdict, VerdictLine
from pyrite.stages.advice import to_have
from pyrite.stages.rejudge import ordered
from pyrite.store.bench import Bench, now
from pyrite.store.conditions import LAST_K, canonical
from pyrite.store.jsonl import read_lines, write_bytes

WORDS = (Verdict.FAILURE, Verdict.SUCCESS, Verdict.UNCERTAIN, Verdict.PARSE_ERROR)
"""By the code of a verdict in a table."""


@dataclass(frozen=True)
class Combined:
    """What became of one ensemble in one condition."""

    judge: str
    condition: str
    verdicts: dict[str, int]
    """How many episodes have which verdict."""
    missing: int
    """Episodes without: a member that could decide has no verdict there."""
    consulted: dict[str, int]
    """Member -> episodes that it is needed for."""
    file: str


@dataclass
class _Stored:
    """What the verdict files hold, beside the verdicts."""

    labels: dict[str, set[str]] = field(default_factory=dict)
    """Judge -> conditions."""
    configs: dict[tuple[str, str], str | None] = field(default_factory=dict)
    evidence: dict[tuple[str, str], str] = field(default_factory=dict)
    """(episode, condition) -> digest of what the members were shown."""


def ensemble(
    root: Path,
    *,
    rules: Sequence[str],
    members: Sequence[str],
    weights: Sequence[float] = (),
    conditions: str | None = None,
) -> list[Combined]:
    """Write a verdict file for each rule and condition that all members have verdicts in; asks nobody.

    A member's word is its vote over its runs. The files are made anew each time, from what stands then.
    Raises `UsageError` for a member without verdicts, and where no condition has all of them.
    """
    bench = Bench(root)
    bench.require_episodes()
    stored = _read(bench)
    names = [_known(bench, stored, label) for label in _apart(stored, members)]
    ensembles = parse(rules, names, weights)
    wanted = _conditions(bench, stored, names, conditions)
    with bench.exclusive():
        table = table_from_bench(bench, verified=False)
        found = []
        for condition in wanted:
            said = {name: votes_of(table, name, condition).verdict for name in names}
            for one in ensembles:
                found.append(_write(bench, stored, one, condition, table.episodes.ids, said))
        _note(bench, stored, ensembles, wanted)
    return found


def _read(bench: Bench) -> _Stored:
    found = _Stored()
    last_k = bench.asked("evidence", "last_k", LAST_K)
    for path in bench.paths.verdict_files():
        for line in read_lines(path, VerdictLine):
            condition = canonical(line.condition, last_k=last_k) or line.condition
            found.labels.setdefault(line.judge, set()).add(condition)
            found.configs[line.judge, condition] = line.config
            if line.evidence_sha256:
                found.evidence[line.episode_id, condition] = line.evidence_sha256
    return found


def _apart(stored: _Stored, members: Sequence[str]) -> list[str]:
    """One label each: what is between commas is apart, unless all of it is one judge (an ensemble) here."""
    whole = {ordered(name) for name in stored.labels}
    return [
        label
        for given in members
        for label in ([given] if ordered(given) in whole else split(given) or [given])
    ]


def _known(bench: Bench, stored: _Stored, label: str) -> str:
    same = [name for name in stored.labels if ordered(name) == ordered(label)]
    if not same:
        raise UsageError(
            f"{label} has no verdict here",
            where=str(bench.root),
            expected=f"judges with verdicts: {', '.join(sorted(stored.labels)) or 'nobody has judged here'}",
            next=to_have(bench.root, [label]),
        )
    return same[0]


def _conditions(bench: Bench, stored: _Stored, names: Sequence[str], asked: str | None) -> list[str]:
    common = sorted(set.intersection(*(stored.labels[name] for name in names)))
    named = [one.name for one in evidence_conditions.parse_list(asked)] if asked else common
    missing = [name for name in named if name not in common]
    if missing or not named:
        aim = missing[0] if missing else sorted(stored.labels[names[0]])[0]
        told = "; ".join(f"{name}: {', '.join(sorted(stored.labels[name]))}" for name in names)
        raise UsageError(
            f"not all of them have verdicts in {missing[0] if missing else 'one condition'}",
            where=str(bench.root),
            expected=f"a condition that all of them judged; {told}",
            next=to_have(bench.root, [name for name in names if aim not in stored.labels[name]], aim),
        )
    return named


def _write(
    bench: Bench,
    stored: _Stored,
    one: Ensemble,
    condition: str,
    ids: Sequence[str],
    said: dict[str, Codes8],
) -> Combined:
    codes, at = one.of(said), now()
    config = _config(_settings(stored, one, condition))

    def lines() -> Iterator[bytes]:
        for row in np.flatnonzero(codes != MISSING).tolist():
            shown = stored.evidence.get((ids[row], condition), "")
            line = VerdictLine(
                episode_id=ids[row],
                judge=one.label,
                config=config,
                condition=condition,
                run=1,
                verdict=WORDS[codes[row]],
                reason="; ".join(f"{name}: {_word(said[name][row])}" for name in one.members),
                called_at=at,
                evidence_sha256=shown,
                usage={"ensemble_of": list(one.members)},
            )
            yield line.model_dump_json().encode() + b"\n"

    path = bench.paths.verdict_file(one.label, condition)
    write_bytes(path, b"".join(lines()))
    counts = {word.value: int((codes == code).sum()) for code, word in enumerate(WORDS[:3])}
    return Combined(
        one.label, condition, counts, int((codes == MISSING).sum()), one.consulted(said), str(path)
    )


def _word(code: int) -> str:
    return "missing" if code == MISSING else WORDS[code].value


def _settings(stored: _Stored, one: Ensemble, condition: str) -> dict[str, Any]:
    configs = {name: stored.configs.get((name, condition)) for name in one.members}
    order = list(one.members)
    return {
        "judge": one.label,
        "rule": one.rule,
        "weights": list(one.weights),
        "members": configs,
        "order": order,
    }


def _config(settings: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


def _note(bench: Bench, stored: _Stored, ensembles: Sequence[Ensemble], conditions: Sequence[str]) -> None:
    """Enter them in lock.json beside the judges."""
    lock = bench.lock()
    judges: dict[str, Any] = dict(lock.get("judges", {}))
    runs: dict[str, Any] = dict(lock.get("judge_runs", {}))
    for one in ensembles:
        judges[one.label] = _settings(stored, one, conditions[0])
        runs[one.label] = {**runs.get(one.label, {}), **dict.fromkeys(conditions, 1)}
    bench.update_lock(judges=judges, judge_runs=runs)
