"""Rubrics that were written before: a file of WebTailBench, or of fara's task_data.json.

    {"ques": task, "precomputed_rubric": {"items": […]}}            JSON lines, also .gz
    id <tab> task_summary <tab> init_url <tab> benchmark <tab> precomputed_rubric        with a head line

A rubric that somebody was graded by already is stripped of its grades: it is never a verdict.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pyrite.errors import InputError
from pyrite.judges.universal.records import Rubric, Unusable
from pyrite.judges.universal.rubric import alike, criteria_of
from pyrite.judges.universal.words import task_and_start

MAX_BYTES = 256 << 20
EXPECTED = "JSON lines or a TSV with a task and its precomputed_rubric"
_TASK = ("ques", "task_summary", "task_proposal", "task", "confirmed_task")
_GRADED = (
    *("reality_notes", "applicable_evidence", "post_image_justification", "post_image_earned_points"),
    *("is_condition_met", "condition_disambiguation_reasoning"),
)


def load(path: Path) -> dict[str, Any]:
    """Task text, blanks evened out -> its rubric as it stands in the file. Raises `InputError`."""
    found: dict[str, Any] = {}
    for number, row in _rows(path):
        task = next((str(row[key]) for key in _TASK if row.get(key)), "")
        rubric = row.get("precomputed_rubric")
        if not task or rubric in (None, ""):
            continue
        if isinstance(rubric, str):
            try:
                rubric = json.loads(rubric)
            except (ValueError, RecursionError):
                raise InputError(
                    "precomputed_rubric is no JSON", where=f"{path}:{number}", expected=EXPECTED
                ) from None
        if found.setdefault(_even(task), rubric) != rubric:
            raise InputError(
                f"a second rubric for the task {_even(task)[:60]!r}",
                where=f"{path}:{number}",
                expected="one rubric a task",
            )
    if not found:
        raise InputError("there is no rubric in it", where=str(path), expected=EXPECTED)
    return found


def rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """The rows of a file of tasks. Raises `InputError`."""
    return (row for _, row in _rows(path))


def _text(path: Path) -> str:
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as handle:
            data = handle.read(MAX_BYTES + 1)
        text = data.decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError) as exc:
        raise InputError(str(exc)[:200], where=str(path), expected=EXPECTED) from exc
    if len(data) > MAX_BYTES:
        raise InputError("too large", where=str(path), expected=f"at most {MAX_BYTES:,} bytes")
    return text


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    text, expected = _text(path), EXPECTED
    if text.lstrip().startswith("{"):
        try:
            whole = json.loads(text)
        except (ValueError, RecursionError):
            whole = None
        if isinstance(whole, dict):  # one task_data.json
            yield 1, whole
            return
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError):
                    row = None
                if not isinstance(row, dict):
                    raise InputError("no JSON object", where=f"{path}:{number}", expected=expected)
                yield number, row
        return
    csv.field_size_limit(16 << 20)
    try:
        for number, row in enumerate(csv.DictReader(io.StringIO(text), delimiter="\t"), 2):
            yield number, row
    except csv.Error as exc:
        raise InputError(str(exc), where=str(path), expected=expected) from exc


def rubric_of(known: Mapping[str, Any], instruction: str) -> Rubric | str:
    """The rubric of a task; what is wrong with it, or "", where there is none to use."""
    task, _ = task_and_start(instruction)
    found = known.get(_even(task)) or known.get(_even(instruction))
    if found is None:
        return ""
    try:
        criteria = criteria_of(ungraded(found), quoted=False)
    except Unusable as exc:
        return str(exc)
    return Rubric(tuple(criteria), "given", alike=alike(criteria))


def ungraded(rubric: Any) -> Any:
    """A rubric without the grades, notes and penalties of an earlier review; a list means its first."""
    if isinstance(rubric, list):
        rubric = rubric[0] if rubric else None
    if not isinstance(rubric, dict) or not isinstance(rubric.get("items"), list):
        return rubric
    return {"items": [_ungraded(item) for item in rubric["items"] if not _penalty(item)]}


def _penalty(item: Any) -> bool:
    return isinstance(item, dict) and item.get("penalty") is True


def _ungraded(item: Any, depth: int = 0) -> Any:
    if not isinstance(item, dict) or depth > 10:
        return item
    clean = {key: value for key, value in item.items() if key not in _GRADED}
    if "items" in clean and isinstance(clean["items"], list):
        clean["items"] = [_ungraded(one, depth + 1) for one in clean["items"] if not _penalty(one)]
    return clean | {"justification": "", "earned_points": ""}


def _even(text: str) -> str:
    return " ".join(text.split())
