"""Is a judge safe as a training signal? Ten lines, each PASS, FAIL or INSUFFICIENT, and a certificate.

The certificate holds the limits, every line with its bounds, and the digests of everything that went
in: when one of them changes, or the policy does, the answer is void. A pass needs all ten lines.
"""

from __future__ import annotations

import hashlib
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import pyrite
from pyrite.errors import UsageError
from pyrite.measure import gate_known as known
from pyrite.measure import gate_rates as rates
from pyrite.measure import gate_runs as runs
from pyrite.measure import gate_threshold as thresholds
from pyrite.measure import gate_verdicts as verdict_files
from pyrite.measure.bench import lock_digest, table_from_bench
from pyrite.measure.finding import is_shortcut
from pyrite.measure.follows import unchecked
from pyrite.measure.foreign import CONDITION, ForeignTable, table_from_file
from pyrite.measure.gate_known import Health, Scan
from pyrite.measure.gate_lines import Subject, line
from pyrite.measure.gate_threshold import Promised
from pyrite.measure.measure import named_columns, required
from pyrite.measure.read import column_names
from pyrite.measure.refused import with_next
from pyrite.measure.table import FAIL, PARSE_ERROR, UNCERTAIN, Episodes, Factor, Flags, Table
from pyrite.measure.values import column_spec
from pyrite.measure.vote import votes_of
from pyrite.metrics.gate import Answer, all_of
from pyrite.records import BLAME, HARD_NEGATIVES, SCHEMA_VERSION, SOURCES
from pyrite.store import episodes as attempts
from pyrite.store import labels
from pyrite.store.bench import Bench
from pyrite.store.config import Gate

UNCLASSIFIED = "unclassified"
HOLDS_FOR = "this agent and these kinds of task; void for another policy checkpoint or another input"


def gate_table(
    path: Path,
    *,
    truth: str | None,
    cluster: str | None,
    verdicts: Sequence[str],
    cluster_strip: str | None = None,
    group: Sequence[str] = (),
    agent: str | None = None,
    category: str | None = None,
    mapping: Sequence[str] = (),
    where: str | None = None,
    key: Sequence[str] = (),
    limits: Gate | None = None,
    certificate: Path | None = None,
    config: Path | None = None,
) -> dict[str, Any]:
    """Gate the judges in the columns of a file; a row is an episode, and all rows are natural.

    `group` makes the cells of line 6, `category` too (its hard negatives go into line 1), `agent` tells
    whose success rate is lowest (without it a group column of that name). Raises as `measure_table`.
    """
    limits = limits or Gate()
    groups = tuple(dict.fromkeys(group))
    who = agent or ("agent" if "agent" in groups else None)
    asked = tuple(dict.fromkeys([*groups, *(one for one in (who, category) if one)]))
    promise = thresholds.read_certificate(certificate) if certificate else None
    with with_next(path, "gate"):
        found = table_from_file(
            path,
            named_columns(
                path,
                truth=truth,
                cluster=cluster,
                verdicts=_named(path, verdicts),
                scores=_certified_column(path, promise, verdicts),
                cluster_strip=cluster_strip,
                groups=asked,
                mapping=mapping,
                where=where,
                key=key,
            ),
        )
    inputs = _with_files({"table": {path.name: _sha256(path)}}, config, certificate)
    asked_for: dict[str, Any] = {"truth": truth, "cluster": cluster, "cluster_strip": cluster_strip}
    asked_for |= {"verdicts": list(verdicts), "where": where, "map": list(mapping), "group": list(groups)}
    asked_for |= {"agent": who, "category": category}
    blocks = _columns(found, verdicts, groups, who, category, limits, promise, asked_for)
    return _result(blocks, limits, inputs, asked_for, found.table.warnings)


def _certified_column(path: Path, promise: Promised | None, verdicts: Sequence[str]) -> tuple[str, ...]:
    """The score column that a certificate is of, where one of the verdicts is that score cut."""
    if promise is None or promise.score not in {column_spec(one).column for one in verdicts}:
        return ()
    return (promise.score,) if promise.score in column_names(path) else ()


def _columns(
    found: ForeignTable,
    verdicts: Sequence[str],
    groups: Sequence[str],
    who: str | None,
    category: str | None,
    limits: Gate,
    promise: Promised | None,
    made_of: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """A block for each column of verdicts."""
    table, episodes = found.table, found.table.episodes
    everything: Flags = np.ones(len(episodes), dtype=np.bool_)
    by = {name: episodes.groups[name] for name in groups if name != category}
    cells = rates.breakdown(by, everything)
    codes = episodes.groups.get(category) if category else None
    cells |= _categories(codes, everything & (episodes.truth == FAIL))
    blocks = []
    for judge in verdicts:
        cast = votes_of(table, judge, CONDITION)
        scores = found.scores.get(column_spec(judge).column)
        told = thresholds.of_table(promise, episodes, judge, scores, limits, made_of)
        subject = Subject(
            judge,
            CONDITION,
            cast.verdict,
            told.counted,
            table,
            limits,
            hard=_hard(codes),
            agents=episodes.groups.get(who) if who else None,
            cells=cells,
        )
        tells = bool(((cast.verdict == UNCERTAIN) | (cast.verdict == PARSE_ERROR)).any())
        lines = [
            *_measured(subject, tells_unusable=tells),
            line(7, [told.part]),
            known.truth_health(subject, None, tells_indeterminate=known.tells_indeterminate(episodes.truth)),
            known.evidence(None, None),
            known.provenance(None, seeded=False),
        ]
        blocks.append(_block(subject, lines))
    return blocks


def gate_bench(
    bench: Bench,
    *,
    judges: Sequence[str] = (),
    conditions: Sequence[str] = (),
    limits: Gate | None = None,
    certificate: Path | None = None,
    config: Path | None = None,
    scan: Callable[[], Scan | None] = lambda: None,
    deterministic: Collection[str] = (),
) -> dict[str, Any]:
    """Gate judges of a bench on its natural episodes; without names, all but the shortcuts.

    `scan` searches the packed evidence, `deterministic` names the judges that cannot disagree with
    themselves. Hard negatives of another stratum stand in where the natural one has none, and the
    line says so. Raises `UsageError` for a judge or condition that has no verdict.
    """
    limits = limits or Gate()
    promise = thresholds.read_certificate(certificate) if certificate else None
    table = table_from_bench(bench)
    chosen = _chosen(bench, table, judges, conditions)
    episodes, natural = table.episodes, _stratum(table.episodes, "natural")
    failed = natural & (episodes.truth == FAIL)
    health, seen = _health(bench, natural, table), scan()
    written, lock = verdict_files.read(bench), bench.lock()
    blocks = []
    for judge, condition in chosen:
        told = thresholds.of_bench(promise, table, judge, condition, limits)
        subject = Subject(
            judge,
            condition,
            thresholds.voted(table, judge, condition, told.cut),
            natural & told.counted,
            thresholds.cut_table(table, judge, told.cut),
            limits,
            hard=_hard(episodes.category),
            hard_elsewhere=_hard_elsewhere(episodes, told.counted),
            agents=episodes.agent,
            cells=_categories(episodes.category, failed),
            cut=told.cut,
        )
        said = written.of(judge, condition)
        lines = [
            *_measured(subject, tells_unusable=True, deterministic=judge in deterministic),
            line(7, [told.part]),
            known.truth_health(subject, health, tells_indeterminate=True),
            known.evidence(seen, written.unequal(condition)),
            known.provenance(
                said,
                seeded="seed" in lock or "metrics" in lock,
                members=not unchecked(lock, [judge]),
            ),
        ]
        blocks.append(_block(subject, lines))
    inputs = _bench_inputs(bench)
    asked = {"judges": list(judges), "conditions": list(conditions)}
    warnings = list(table.warnings)
    if not natural.any():
        warnings.append("no natural episode: nothing here is of an agent under test")
    return _result(blocks, limits, _with_files(inputs, config, certificate), asked, warnings)


def _named(path: Path, verdicts: Sequence[str]) -> tuple[str, ...]:
    required(path, "--verdicts", ",".join(verdicts), "what the judge says")
    return tuple(verdicts)


def _measured(
    subject: Subject, *, tells_unusable: bool, deterministic: bool | None = None
) -> list[dict[str, Any]]:
    """Lines 1 to 6."""
    return [
        rates.false_accepts(subject),
        rates.training_set(subject),
        rates.recognised(subject, tells_unusable=tells_unusable),
        runs.claim_effect(subject, deterministic=deterministic),
        runs.stability(subject, deterministic=deterministic),
        rates.leaky_corner(subject),
    ]


def _block(subject: Subject, lines: list[dict[str, Any]]) -> dict[str, Any]:
    lines = sorted(lines, key=lambda one: one["line"])
    answers = {one["line"]: Answer(one["answer"]) for one in lines}
    return {
        "judge": subject.judge,
        "condition": subject.condition,
        "answer": all_of(answers.values()).value,
        "passed": [number for number, answer in answers.items() if answer is Answer.PASS],
        "failed": [number for number, answer in answers.items() if answer is Answer.FAIL],
        "insufficient": [number for number, answer in answers.items() if answer is Answer.INSUFFICIENT],
        "lines": lines,
    }


def _result(
    blocks: list[dict[str, Any]],
    limits: Gate,
    inputs: dict[str, Any],
    asked: dict[str, Any],
    warnings: Iterable[str],
) -> dict[str, Any]:
    told = list(warnings)
    if len(blocks) > 1:
        told.append(
            f"{len(blocks)} gates on the same episodes are {len(blocks)} looks: keeping the best one needs "
            f"looks: {len(blocks) * limits.looks} below gate: in the configuration"
        )
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "gate",
        "pyrite": pyrite.__version__,
        "answer": all_of(Answer(one["answer"]) for one in blocks).value,
        "lines_tested": sum(len(one["lines"]) for one in blocks),
        "limits": limits.model_dump(mode="json"),
        "asked": asked,
        "inputs": inputs,
        "judges": blocks,
        "warnings": told,
        "holds_for": HOLDS_FOR,
    }


def _chosen(
    bench: Bench, table: Table, judges: Sequence[str], conditions: Sequence[str]
) -> list[tuple[str, str]]:
    there = table.asked()
    names, shown = sorted({judge for judge, _ in there}), sorted({condition for _, condition in there})
    for option, wanted, known_ones in (("--judge", judges, names), ("--condition", conditions, shown)):
        for one in wanted:
            if one not in known_ones:
                raise UsageError(
                    f"{option} {one[:80]!r}: no such verdicts",
                    where=str(bench.root),
                    expected=f"of {', '.join(known_ones) or 'none: nobody was asked yet'}",
                    next=f"pyrite judge {shlex.quote(str(bench.root))} --judge NAME",
                )
    found = [
        (judge, condition)
        for judge, condition in there
        if (judge in judges or not (judges or is_shortcut(judge)))
        and (not conditions or condition in conditions)
    ]
    if not found:
        raise UsageError(
            f"no judge to gate; verdicts are of {', '.join(names) or 'nobody'}",
            where=str(bench.root),
            expected="verdicts of a judge that looks at the screen, or --judge NAME",
            next=f"pyrite judge {shlex.quote(str(bench.root))} --judge screen-rules",
        )
    return found


def _stratum(episodes: Episodes, name: str) -> Flags:
    found = episodes.stratum
    if found is None or name not in found.names:
        return np.zeros(len(episodes), dtype=np.bool_)
    flags: Flags = found.codes == found.names.index(name)
    return flags


def _hard(codes: Factor | None) -> Flags | None:
    """Failures that look like successes; None where no category is known at all."""
    if codes is None or not codes.names:
        return None
    wanted = [i for i, name in enumerate(codes.names) if name in set(HARD_NEGATIVES)]
    flags: Flags = np.isin(codes.codes, wanted)
    return flags


def _hard_elsewhere(episodes: Episodes, counted: Flags) -> tuple[str, Flags] | None:
    """The first other stratum that has hard negatives to count; strata are never pooled."""
    hard = _hard(episodes.category)
    if hard is None:
        return None
    failed = hard & counted & (episodes.truth == FAIL)
    for name in SOURCES:
        rows = failed & _stratum(episodes, name)
        if name != "natural" and rows.any():
            return name, rows
    return None


def _categories(codes: Factor | None, failed: Flags) -> dict[str, Flags]:
    """Category -> its episodes; the failures without one are a cell of their own."""
    if codes is None or not codes.names:
        return {}
    found = {name: codes.codes == code for code, name in enumerate(codes.names)}
    if bool((failed & (codes.codes < 0)).any()):
        found[UNCLASSIFIED] = codes.codes < 0
    return found


def _health(bench: Bench, natural: Flags, table: Table) -> Health:
    """What gt.json and labels.jsonl tell of the natural episodes."""
    rows = dict(zip(table.episodes.ids, natural, strict=True))
    truths = [
        one.truth for one in attempts.read(bench).episodes if one.truth is not None and rows[one.episode_id]
    ]
    scored = [truth for truth in truths if truth.passed is not None]
    faults = Counter(t.cause for t in truths if t.cause and BLAME.get(t.cause) in {"verifier", "task"})
    said = labels.lines(bench)
    return Health(
        replayed=sum(1 for truth in scored if truth.replay is not None and truth.replay.outcomes),
        scored=len(scored),
        faults=dict(sorted(faults.items())),
        read=frozenset(one.episode_id for one in said if one.outcome is not None and one.stage != "practice"),
    )


def _bench_inputs(bench: Bench) -> dict[str, Any]:
    paths, ids = bench.paths, bench.episode_ids()
    return {
        "episodes": _digest(bench, (paths.episode(one).meta for one in ids)),
        "truth": _digest(bench, (paths.episode(one).truth for one in ids)),
        "verdicts": {path.name: _sha256(path) for path in paths.verdict_files()},
        "evidence_index": _sha256(paths.evidence_index) if paths.evidence_index.is_file() else None,
        "labels": _sha256(paths.labels) if paths.labels.is_file() else None,
        "lock": lock_digest(bench),
    }


def _with_files(inputs: dict[str, Any], config: Path | None, certificate: Path | None) -> dict[str, Any]:
    named: Mapping[str, Path | None] = {"config": config, "certificate": certificate}
    return inputs | {name: _sha256(path) if path is not None else None for name, path in named.items()}


def _digest(bench: Bench, files: Iterable[Path]) -> str:
    """One digest of many files: of the lines `sha256  path`, as `sha256sum` prints them."""
    listed = sorted((path.relative_to(bench.root).as_posix(), path) for path in files if path.is_file())
    text = "".join(f"{_sha256(path)}  {name}\n" for name, path in listed)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
