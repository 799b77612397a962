"""Ask judges about packages: bounded, resumable, one line a verdict, nothing lost or doubled.

The key of a verdict is (episode, judge, condition, run). What is in the file is not asked again. An
infrastructure error writes no line: it is logged, counted as missing, and tried again next time.
"""

from __future__ import annotations

import asyncio
import math
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from pyrite.errors import InputError, PyriteError, UsageError
from pyrite.evidence.packing import load
from pyrite.judges.base import Package, Reply, Unavailable
from pyrite.judges.labels import Labelled
from pyrite.pool import Silent, Watch
from pyrite.records import EvidenceEntry, Verdict, VerdictLine
from pyrite.store.bench import Bench, now
from pyrite.store.jsonl import append_lines, read_lines, write_bytes

BATCH = 16
"""Verdicts a sync: at most this many are asked again after a kill."""


@dataclass
class Asked:
    """What became of one judge in one condition."""

    judge: str
    condition: str
    supported: bool = True
    new: int = 0
    kept: int = 0
    missing: int = 0
    why_missing: dict[str, int] = field(default_factory=dict)
    """Reason -> how many episodes have no verdict for it."""


@dataclass(frozen=True)
class Judging:
    """What became of all of them."""

    asked: tuple[Asked, ...]
    broken: dict[str, str] = field(default_factory=dict)
    """Episodes that could not be packed in all conditions, with the reason: no verdict there."""

    @property
    def obtained(self) -> int:
        """Verdicts that are there now."""
        return sum(one.new + one.kept for one in self.asked)

    @property
    def missing(self) -> int:
        """Verdicts that could not be obtained."""
        return sum(one.missing for one in self.asked)


def configured_runs(bench: Bench, judges: Sequence[Labelled], judging: Judging, runs: int) -> dict[str, Any]:
    """Runs asked for by judge and condition, for lock.json: the most that was ever asked."""
    before: Any = bench.lock().get("judge_runs", {})
    fixed = {labelled.label: labelled.judge.deterministic for labelled in judges}
    merged = {label: dict(old) if isinstance(old := before.get(label), dict) else {} for label in fixed}
    for one in judging.asked:
        if one.supported:
            wanted = 1 if fixed[one.judge] else runs
            merged[one.judge][one.condition] = max(wanted, merged[one.judge].get(one.condition, 1))
    return merged


def dry(
    bench: Bench,
    judges: Sequence[Labelled],
    entries: Sequence[EvidenceEntry],
    conditions: Sequence[str],
    *,
    runs: int,
) -> Judging:
    """What `ask` would do, without packing or asking: `missing` is what is still to be asked for."""
    results = []
    episode_ids = bench.require_episodes()
    for labelled, condition in product(judges, conditions):
        chosen = [entry for entry in entries if entry.condition == condition]
        supported = labelled.judge.supports(condition)
        repeats = 1 if labelled.judge.deterministic else runs
        lines = _standing(bench, labelled, condition, chosen)[0] if supported and not labelled.anew else []
        here = set(episode_ids)
        standing = sum(1 for line in lines if line.run <= repeats and line.episode_id in here)
        todo = len(episode_ids) * repeats - standing if supported else 0
        results.append(Asked(labelled.label, condition, supported, kept=standing, missing=todo))
    return Judging(tuple(results))


def unanswered(bench: Bench, labelled: Labelled, entries: Sequence[EvidenceEntry]) -> list[EvidenceEntry]:
    """Packages that a judge takes and has no verdict on that stands."""
    left = []
    for condition in dict.fromkeys(entry.condition for entry in entries):
        if labelled.judge.supports(condition):
            chosen = [entry for entry in entries if entry.condition == condition]
            done = {line.episode_id for line in _standing(bench, labelled, condition, chosen)[0]}
            left += [entry for entry in chosen if entry.episode_id not in done]
    return left


async def ask(
    bench: Bench,
    judges: Sequence[Labelled],
    entries: Sequence[EvidenceEntry],
    *,
    runs: int = 1,
    in_flight: int = 4,
    force: bool = False,
    watch: Watch | None = None,
) -> Judging:
    """Ask every judge about every package it supports; verdicts are appended as they come.

    A verdict on evidence that has changed since is dropped and asked for anew. Raises `UsageError`
    when a label's settings differ from those that its file was written with, unless `force`: then
    the old verdicts are dropped.
    """
    watch = watch or Silent()
    watch.total = sum(
        (1 if labelled.judge.deterministic else runs)
        for labelled, entry in product(judges, entries)
        if labelled.judge.supports(entry.condition)
    )
    results = []
    for labelled, condition in product(judges, dict.fromkeys(entry.condition for entry in entries)):
        chosen = [entry for entry in entries if entry.condition == condition]
        if labelled.judge.supports(condition):
            results.append(await _ask_one(bench, labelled, condition, chosen, runs, in_flight, force, watch))
        else:
            results.append(Asked(labelled.label, condition, supported=False))
    return Judging(tuple(results))


async def _ask_one(
    bench: Bench,
    labelled: Labelled,
    condition: str,
    entries: Sequence[EvidenceEntry],
    runs: int,
    in_flight: int,
    force: bool,
    watch: Watch,
) -> Asked:
    asked = Asked(labelled.label, condition)
    repeats = 1 if labelled.judge.deterministic else runs
    done = set() if labelled.anew else _already(bench, labelled, condition, entries, force)
    if labelled.anew:
        bench.paths.verdict_file(labelled.label, condition).unlink(missing_ok=True)
    todo = [(e, r) for e in entries for r in range(1, repeats + 1) if (e.episode_id, r) not in done]
    asked.kept = len(entries) * repeats - len(todo)
    watch.tick(f"{labelled.label} {condition}", items=asked.kept)
    path = bench.paths.verdict_file(labelled.label, condition)
    gate = asyncio.Semaphore(in_flight)

    async def one(place: int, entry: EvidenceEntry, run: int) -> None:
        async with gate:
            line = await _verdict(bench, labelled, entry, run, asked)
            if line is not None:
                answered[place] = line
            watch.tick(f"{labelled.label} {condition} {entry.episode_id}")

    for start in range(0, len(todo), BATCH):
        answered: dict[int, VerdictLine] = {}
        batch = enumerate(todo[start : start + BATCH])
        try:
            with redirect_stdout(sys.stderr):  # of all at once: calls that overlap would restore it wrongly
                await asyncio.gather(*(one(place, entry, run) for place, (entry, run) in batch))
        finally:  # also of a batch that is interrupted, what is answered is kept
            asked.new += append_lines(path, [answered[place] for place in sorted(answered)])
    return asked


async def _verdict(
    bench: Bench, labelled: Labelled, entry: EvidenceEntry, run: int, asked: Asked
) -> VerdictLine | None:
    started, at = time.monotonic(), now()
    try:
        package = Package(load(bench, entry), bench.paths.image)
        reply = await labelled.judge.judge(package, run)
        return _line(labelled, entry, run, reply, at, time.monotonic() - started)
    except (Exception, SystemExit) as exc:  # a judge is anybody's code: one failure never stops the rest
        known = isinstance(exc, Unavailable | InputError)
        why = f"the judge failed: {type(exc).__name__}: {exc}"
        if isinstance(exc, PyriteError):
            why = f"{exc.what}; {exc.next}" if exc.next else exc.what
        asked.missing += 1
        asked.why_missing[why[:200]] = asked.why_missing.get(why[:200], 0) + 1
        said = str(exc) if known else "".join(traceback.format_exception(exc))
        bench.log(f"judge {labelled.label} {entry.condition} {entry.episode_id} run {run}: {said}")
        return None


def _line(
    labelled: Labelled, entry: EvidenceEntry, run: int, reply: Reply, at: str, latency_s: float
) -> VerdictLine:
    if not isinstance(reply, Reply):
        raise InputError(f"the judge answered {type(reply).__name__}", expected="a Reply")
    if any(value is not None and not math.isfinite(value) for value in (reply.score, reply.confidence)):
        reply = replace(reply, verdict=Verdict.PARSE_ERROR, status="off_schema", score=None, confidence=None)
    if (reply.status != "ok") != (reply.verdict == "parse_error"):
        raise InputError(
            f"the judge answered {reply.verdict} with status {reply.status!r}",
            expected="verdict parse_error exactly when the status is not ok",
        )
    if reply.verdict is None and reply.score is None:
        raise InputError("the judge answered neither a verdict nor a score", expected="one of them")
    return VerdictLine(
        episode_id=entry.episode_id,
        judge=labelled.label,
        config=labelled.config,
        condition=entry.condition,
        run=run,
        verdict=reply.verdict,
        score=reply.score,
        confidence=reply.confidence,
        reason=reply.reason[:2000],
        called_at=at,
        evidence_sha256=entry.evidence_sha256,
        status=reply.status,
        usage=reply.usage,
        latency_s=round(latency_s, 4),
        raw=reply.raw,
    )


def _already(
    bench: Bench, labelled: Labelled, condition: str, entries: Sequence[EvidenceEntry], force: bool
) -> set[tuple[str, int]]:
    """Keys of the verdicts that stand; the file is rewritten without those that do not."""
    standing, dropped, other = _standing(bench, labelled, condition, entries)
    path = bench.paths.verdict_file(labelled.label, condition)
    if other is not None and not force:
        raise UsageError(
            f"judge {labelled.label!r} has other settings than the verdicts in this file: "
            + _difference(bench, labelled),
            where=str(path),
            expected=f"config {other}, now {labelled.config}",
            next=f"pyrite judge {bench.root} --judge {labelled.label} --condition {condition} --force",
        )
    if dropped:
        bench.log(f"judge {labelled.label} {condition}: {dropped} verdicts are out of date")
        write_bytes(path, b"".join(line.model_dump_json().encode() + b"\n" for line in standing))
    return {(line.episode_id, line.run) for line in standing}


def _standing(
    bench: Bench, labelled: Labelled, condition: str, entries: Sequence[EvidenceEntry]
) -> tuple[list[VerdictLine], int, str | None]:
    """The verdicts of these settings on this very evidence, how many others there are, another config."""
    path = bench.paths.verdict_file(labelled.label, condition)
    lines = list(read_lines(path, VerdictLine)) if path.is_file() else []
    current = {entry.episode_id: entry.evidence_sha256 for entry in entries}
    configs = (line.config or "not stated: another harness wrote it" for line in lines)
    other = next((config for config in configs if config != labelled.config), None)
    standing = [
        line
        for line in lines
        if line.config == labelled.config
        and current.get(line.episode_id, line.evidence_sha256) == line.evidence_sha256
    ]
    return standing, len(lines) - len(standing), other


def _difference(bench: Bench, labelled: Labelled) -> str:
    """What changed in a judge's settings since lock.json was written."""
    before: Any = bench.lock().get("judges", {}).get(labelled.label, {})
    keys = sorted({*before, *labelled.settings})
    changed = [k for k in keys if before.get(k) != labelled.settings.get(k)]
    return (
        "; ".join(f"{k} was {before.get(k)!r}, is {labelled.settings.get(k)!r}" for k in changed) or "unknown"
    )
