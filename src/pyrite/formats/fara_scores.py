"""Verdicts of `universal` as score files of fara: <folder>/scores/mmrubric_<threshold>-<k>-3.json."""

from __future__ import annotations

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


@dataclass
class Scores:
    """What was written."""

    out: str
    written: list[str] = field(default_factory=list)
    undecided: dict[str, str] = field(default_factory=dict)
    """Trajectories without a verdict, with the reason: no file, and never a 0."""
    aborted: list[str] = field(default_factory=list)
    """Aborted trajectories: they get no score."""


def write_scores(
    bench: Bench, label: str, out: Path, *, condition: str | None = None, success: str = "outcome"
) -> Scores:
    """Write a score file for each trajectory that a judge decided, in its first run.

    Raises `UsageError` where the judge has no verdicts with a process here.
    """
    lines = [line for path in _files(bench) for line in read_lines(path, VerdictLine)]
    mine = [line for line in lines if line.judge == label and condition in {None, line.condition}]
    graded = {line.episode_id: line for line in mine if line.run == 1 and _process(line) is not None}
    if not graded:
        known = sorted({line.judge for line in lines if _process(line) is not None})
        raise UsageError(
            f"no verdict of {label} with a process",
            where=str(bench.root),
            expected=", ".join(known) or "verdicts of universal",
            next=f"pyrite judge {bench.root} --judge universal@model=NAME --condition E3-full+claim",
        )
    done = Scores(str(out))
    for name in bench.episode_ids():
        meta = bench.meta(name)
        folder = meta.origin_id or name
        if meta.ended_by == "environment_lost":
            done.aborted.append(folder)
        elif name in graded:
            _one(bench, meta, folder, graded[name], out, success, done)
    return done


def _one(
    bench: Bench, meta: Meta, folder: str, line: VerdictLine, out: Path, success: str, done: Scores
) -> None:
    process = _process(line)
    assert process is not None
    verdict = released.verdict_of(process, success)
    if verdict is None:
        done.undecided[folder] = line.reason
        return
    if line.raw is None:
        raise InputError("the verdict has no raw answer", where=f"{bench.root} {line.episode_id}")
    raw = read_json(bench.root / line.raw, limit_bytes=256 << 20)
    body = released.payload(process, raw, success=success, final_answer=meta.final_message or "<no_answer>")
    target = (out / folder).resolve()
    if not target.is_relative_to(out.resolve()):
        raise InputError(f"the folder {folder!r} leaves the place for scores", where=str(out))
    name = f"mmrubric_{process['threshold']:g}-{process['k']}-{UNUSED}.json"
    write_json(target / "scores" / name, released.score_file(body))
    done.written.append(folder)


def _files(bench: Bench) -> list[Path]:
    return sorted(bench.paths.verdicts.glob("*.jsonl")) if bench.paths.verdicts.is_dir() else []


def _process(line: VerdictLine) -> dict[str, Any] | None:
    found = (line.model_extra or {}).get("process")
    return found if isinstance(found, dict) else None
