"""Which verdicts of a file stand: given with these settings, on this very evidence. Streamed, not held."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from pyrite.errors import UsageError
from pyrite.judges.labels import Labelled
from pyrite.records import Verdict, VerdictLine
from pyrite.store.bench import Bench
from pyrite.store.jsonl import read_lines

Key = tuple[str, int]
"""Episode and run."""


@dataclass
class Standing:
    """What a verdict file holds for one judge in one condition."""

    keys: set[Key] = field(default_factory=set)
    dropped: int = 0
    """Lines on other evidence or of other settings, and second lines of a key."""
    other: str | None = None
    """A digest of other settings that some line was given with."""
    undecided: set[Key] = field(default_factory=set)
    """Keys of those that stand and are `undecided`."""


def standing(path: Path, labelled: Labelled, evidence: Mapping[str, str]) -> Standing:
    """Read a verdict file; `evidence` is the sha256 of each episode's package as it is now."""
    found = Standing()
    for line in _lines(path):
        if line.config != labelled.config and found.other is None:
            found.other = line.config or "not stated: another harness wrote it"
        if _stands(line, labelled, evidence) and (line.episode_id, line.run) not in found.keys:
            found.keys.add((line.episode_id, line.run))
            if undecided(line):
                found.undecided.add((line.episode_id, line.run))
        else:
            found.dropped += 1
    return found


def undecided(line: VerdictLine) -> bool:
    """Whether a judge that grades the process says neither success nor failure: a step of it failed."""
    process = (line.model_extra or {}).get("process")
    return isinstance(process, dict) and line.verdict in {Verdict.UNCERTAIN, Verdict.PARSE_ERROR}


def settled(bench: Bench, labelled: Labelled, condition: str, evidence: Mapping[str, str]) -> set[Key]:
    """Keys of the verdicts that stand, once the others are out of the file."""
    path = bench.paths.verdict_file(labelled.label, condition)
    found = standing(path, labelled, evidence)
    if found.dropped:
        bench.log(f"judge {labelled.label} {condition}: {found.dropped} verdicts are out of date")
        _rewrite(path, labelled, evidence)
    return found.keys


def take_over(bench: Bench, label: str, condition: str) -> int:
    """Let verdicts that were asked for anew take the place of the old ones, each of its own.

    Old verdicts of other settings go with the first new one, for no file holds two ways of asking; those
    that no new one replaces are counted, logged and returned. Where nothing was answered, nothing changes.
    May be killed at any moment, and called again.
    """
    path, beside = bench.paths.verdict_file(label, condition), bench.paths.verdicts_anew(label, condition)
    new = {(line.episode_id, line.run): line.config for line in _lines(beside)}
    gone = 0
    if new:
        configs = set(new.values())
        left = [line.config in configs for line in _lines(path) if (line.episode_id, line.run) not in new]
        gone = left.count(False)
        old = (
            line for line in _lines(path) if line.config in configs and (line.episode_id, line.run) not in new
        )
        if gone:
            bench.log(
                f"judge {label} {condition}: {gone} verdicts of other settings, of which none is anew, go"
            )
        _write(path, chain(old, _lines(beside)))
    beside.unlink(missing_ok=True)
    return gone


def refuse_other_settings(
    bench: Bench, labelled: Labelled, condition: str, evidence: Mapping[str, str]
) -> None:
    """Raise `UsageError` with the difference where the file holds verdicts of other settings."""
    path = bench.paths.verdict_file(labelled.label, condition)
    other = standing(path, labelled, evidence).other
    if other is not None:
        raise UsageError(
            f"judge {labelled.label!r} has other settings than the verdicts in this file: "
            + _difference(bench, labelled),
            where=str(path),
            expected=f"config {other}, now {labelled.config}",
            next="the same command with --force: the new verdicts take their place",
        )


def _lines(path: Path) -> Iterator[VerdictLine]:
    return iter(read_lines(path, VerdictLine)) if path.is_file() else iter(())


def _stands(line: VerdictLine, labelled: Labelled, evidence: Mapping[str, str]) -> bool:
    shown = evidence.get(line.episode_id, line.evidence_sha256)
    return line.config == labelled.config and line.evidence_sha256 == shown


def _rewrite(path: Path, labelled: Labelled, evidence: Mapping[str, str]) -> None:
    """The lines that stand, once each."""
    seen: set[Key] = set()

    def left() -> Iterator[VerdictLine]:
        for line in _lines(path):
            key = (line.episode_id, line.run)
            if _stands(line, labelled, evidence) and key not in seen:
                seen.add(key)
                yield line

    _write(path, left())


def _write(path: Path, lines: Iterable[VerdictLine]) -> None:
    """Lines in a new file that takes the old one's place."""
    partial = path.with_name(f".{path.name}.{os.getpid()}-0.partial")
    with partial.open("wb") as handle:
        for line in lines:
            handle.write(line.model_dump_json().encode() + b"\n")
        handle.flush()
        os.fsync(handle.fileno())
    partial.replace(path)


def _difference(bench: Bench, labelled: Labelled) -> str:
    """What changed in a judge's settings since lock.json was written."""
    before: Any = bench.lock().get("judges", {}).get(labelled.label, {})
    keys = sorted({*before, *labelled.settings})
    changed = [k for k in keys if before.get(k) != labelled.settings.get(k)]
    return (
        "; ".join(f"{k} was {before.get(k)!r}, is {labelled.settings.get(k)!r}" for k in changed) or "unknown"
    )
