"""Write report.json and report.html of a bench, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyrite
from pyrite.errors import InputError, UsageError
from pyrite.measure.compare import compare_bench
from pyrite.measure.finding import finding
from pyrite.measure.grader import found_faults
from pyrite.measure.measure import undecided
from pyrite.measure.process import process_of_bench
from pyrite.report.endings import Endings, endings
from pyrite.report.inputs import digests
from pyrite.report.page import render
from pyrite.report.text import plain
from pyrite.store.bench import Bench
from pyrite.store.jsonl import read_json, write_bytes

REPORT_LIMIT_BYTES = 1 << 30


@dataclass(frozen=True)
class Written:
    """What was written, and whether anything in it is decided."""

    json: Path
    html: Path
    undecided: bool
    """Every figure of the leading stratum is null."""
    finding: str
    html_bytes: int


def write(
    bench: Bench,
    result: Mapping[str, Any],
    *,
    options: Mapping[str, Any],
    order: Sequence[str] = (),
    gated: Mapping[str, Any] | None = None,
    no_gate: str = "the judges were not gated",
    force: bool = False,
) -> Written:
    """Write the report of a bench from its `measure_bench` result.

    `order` are task ids in the order of their suite. `options` are what the figures were made with; a
    report that was made with others is not overwritten without `force`: `UsageError` says what differs.
    Equal inputs and options give equal bytes.
    """
    kept: dict[str, Any] = json.loads(json.dumps(options, default=str, allow_nan=False))
    if not force:
        _refuse_other_options(bench.paths.report_json, kept)
    said = result.get("finding") or finding(result)
    picture, no_picture = _picture(bench, order)
    compared, no_pairs = _compared(bench, result, kept)
    inputs = digests(bench)
    grader, process = found_faults(bench), _process(bench, str(result["truth_from"]))
    document = {
        **result,
        "finding": said,
        "pyrite": pyrite.__version__,
        "options": kept,
        "inputs": inputs,
        "endings": _endings_json(picture),
        "comparison": compared,
        "gate": gated,
        "grader": grader,
        "process": process,
    }
    text = json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False)
    page = render(
        document,
        endings=picture,
        no_endings=no_picture,
        compared=compared,
        no_pairs=no_pairs,
        gated=gated,
        no_gate=no_gate,
        grader=grader,
        inputs=inputs,
        options=kept,
    )
    data = page.encode()
    write_bytes(bench.paths.report_html, data)
    write_bytes(bench.paths.report_json, text.encode() + b"\n")
    return Written(bench.paths.report_json, bench.paths.report_html, undecided(dict(result)), said, len(data))


def _compared(
    bench: Bench, result: Mapping[str, Any], options: Mapping[str, Any]
) -> tuple[dict[str, Any] | None, str]:
    """All pairs of judges of the leading stratum; None and why where there are none to compare."""
    if result["lead"] is None:
        return None, "no stratum has a failed episode"
    if result["truth_from"] == "labels":
        return None, "pairs are held against the verifier, and this report is of what people say"
    try:
        found = compare_bench(
            bench, stratum=result["lead"], level=result["level"], seed=options.get("seed", 0)
        )
    except InputError:
        raise
    except UsageError as exc:
        return None, exc.what
    return found, ""


def _process(bench: Bench, truth: str) -> list[dict[str, Any]]:
    """What judges say of the process, a block each; none where no judge has graded it."""
    try:
        return process_of_bench(bench, truth=truth)
    except UsageError:  # also for a broken episode beside none: the report names it elsewhere
        return []


def _picture(bench: Bench, order: Sequence[str]) -> tuple[Endings | None, str]:
    found = endings(bench, order)
    return found, "" if found else "no task has a passed, an unsaved or a misplaced ending"


def _endings_json(picture: Endings | None) -> dict[str, Any] | None:
    """Which episodes the page shows, and how many pixels differ from the saved screen."""
    if picture is None:
        return None
    return {
        "task_id": picture.task_id,
        "shown": [
            {
                "kind": ending.kind,
                "episode_id": ending.episode_id,
                "pixels_from_saved": ending.from_saved.pixels if ending.from_saved else None,
                "pixels": ending.from_saved.total if ending.from_saved else None,
            }
            for ending in picture.shown
        ],
        "missing": list(picture.missing),
    }


def _refuse_other_options(path: Path, options: Mapping[str, Any]) -> None:
    if not path.is_file():
        return
    try:
        found = read_json(path, limit_bytes=REPORT_LIMIT_BYTES)
    except InputError as exc:
        raise _not_ours(path, exc.what) from exc
    if not isinstance(found, dict) or not isinstance(found.get("options"), dict):
        raise _not_ours(path, "there are no options in it")
    there = found["options"]
    if there == options:
        return
    names = [name for name in sorted({*there, *options}) if there.get(name, ...) != options.get(name, ...)]
    changes = "; ".join(f"{name}: {_value(there, name)} there, {_value(options, name)} now" for name in names)
    raise UsageError(
        f"a report with other options is there: {changes}",
        where=str(path),
        expected="the same options, or --force to overwrite it",
        next=f"pyrite report {path.parent} --force",
    )


def _not_ours(path: Path, why: str) -> UsageError:
    return UsageError(
        f"a file is there that is not a report of pyrite: {why}",
        where=str(path),
        expected="no file, a report, or --force to overwrite it",
        next=f"pyrite report {path.parent} --force",
    )


def _value(options: Mapping[str, Any], name: str) -> str:
    return plain(json.dumps(options[name])) if name in options else "not given"
