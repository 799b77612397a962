"""Verdicts of `universal` as score files of fara: <folder>/scores/mmrubric_<threshold>-<k>-3.json."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyrite.errors import InputError, UsageError
from pyrite.judges.universal import released
from pyrite.records import Meta, VerdictLine
from pyrite.store.bench import Bench
from pyrite.store.jsonl import read_json, read_lines, write_json

UNUSED = 3
"""The last number of a score file's name; nothing depends on it."""
_MOST = 256 << 20


@dataclass
class Scores:
    """What was written."""

    out: str
    condition: str
    run: int
    left_out: int
    """Verdicts of this judge in other conditions or runs."""
    written: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    """Score files that were there and say the same."""
    stays: list[str] = field(default_factory=list)
    """Score files that were there and say otherwise: nothing is written to them."""
    undecided: dict[str, str] = field(default_factory=dict)
    """Trajectories without a verdict, with the reason: no file, and never a 0."""
    aborted: list[str] = field(default_factory=list)
    """Aborted trajectories: they get no score."""


def write_scores(
    bench: Bench,
    label: str,
    out: Path,
    *,
    condition: str | None = None,
    run: int | None = None,
    success: str = "outcome",
) -> Scores:
    """Write a score file for each trajectory that a judge decided, in one condition and run.

    Where none is named, those with the most verdicts, of as many the first. A file that is there stays.
    Raises `UsageError` where the judge has no verdicts with a process here.
    """
    lines = [line for path in _files(bench) for line in read_lines(path, VerdictLine)]
    graded = [line for line in lines if _process(line) is not None]
    mine = {_key(line): line for line in graded if line.judge == label}  # of one key the last counts
    asked = [one for one in mine.values() if condition in {None, one.condition} and run in {None, one.run}]
    if not asked:
        raise _none_of(bench, label, graded, (condition, run))
    often = Counter((one.condition, one.run) for one in asked)
    shown = min(often, key=lambda one: (-often[one], one))
    chosen = {one.episode_id: one for one in asked if (one.condition, one.run) == shown}
    done = Scores(str(out), *shown, left_out=len(mine) - len(chosen))
    for name in bench.episode_ids():
        meta = bench.meta(name)
        folder = meta.origin_id or name
        if meta.ended_by == "environment_lost":
            done.aborted.append(folder)
        elif name in chosen:
            _one(bench, meta, folder, chosen[name], out, success, done)
    return done


def _key(line: VerdictLine) -> tuple[str, str, int]:
    return line.episode_id, line.condition, line.run


def _none_of(
    bench: Bench, label: str, graded: Sequence[VerdictLine], asked: tuple[str | None, int | None]
) -> UsageError:
    """The error that names what there is instead."""
    mine = sorted({f"{one.condition}, run {one.run}" for one in graded if one.judge == label})
    words = [asked[0] or "", "" if asked[1] is None else f"run {asked[1]}"]
    place = ", ".join(one for one in words if one)
    return UsageError(
        f"no verdict of {label} with a process" + (f" in {place}" if mine and place else ""),
        where=str(bench.root),
        expected="; ".join(mine)
        or ", ".join(sorted({one.judge for one in graded}))
        or "verdicts of universal",
        next=f"pyrite judge {bench.root} --judge universal@model=NAME --condition E3-whole+claim",
    )


def _one(
    bench: Bench, meta: Meta, folder: str, line: VerdictLine, out: Path, success: str, done: Scores
) -> None:
    process = _process(line)
    assert process is not None
    target = (out / folder).resolve()
    if not target.is_relative_to(out.resolve()):
        raise InputError(f"the folder {folder!r} leaves the place for scores", where=str(out))
    path = target / "scores" / f"mmrubric_{process['threshold']:g}-{process['k']}-{UNUSED}.json"
    verdict = released.verdict_of(process, success)
    if verdict is None:
        done.undecided[folder] = line.reason
        if path.exists():
            done.stays.append(str(path))
        return
    if line.raw is None:
        raise InputError("the verdict has no raw answer", where=f"{bench.root} {line.episode_id}")
    raw = read_json(bench.root / line.raw, limit_bytes=_MOST)
    body = released.payload(process, raw, success=success, final_answer=meta.final_message or "<no_answer>")
    document = released.score_file(body)
    if not path.exists():
        write_json(path, document)
        done.written.append(folder)
    elif _says(path, document):
        done.kept.append(folder)
    else:
        done.stays.append(str(path))


def _says(path: Path, document: Any) -> bool:
    """Whether a file has this content."""
    try:
        return json.dumps(read_json(path, limit_bytes=_MOST)) == json.dumps(document)
    except InputError:
        return False


def _files(bench: Bench) -> list[Path]:
    return sorted(bench.paths.verdicts.glob("*.jsonl")) if bench.paths.verdicts.is_dir() else []


def _process(line: VerdictLine) -> dict[str, Any] | None:
    found = (line.model_extra or {}).get("process")
    return found if isinstance(found, dict) else None
