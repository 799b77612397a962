"""The rows of JSON lines, counted, and the first one that cannot be used, found exactly.

The fast reader's line numbers are off where a file has blank or torn lines; these are not.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pyrite.errors import InputError


@dataclass(frozen=True)
class Lines:
    """How many lines hold something, and the bytes of the longest."""

    rows: int
    longest: int


def count_lines(path: Path) -> Lines:
    """Count the lines that are not blank."""
    rows = longest = 0
    with path.open("rb") as handle:
        for line in handle:
            if not line.isspace():
                rows += 1
                longest = max(longest, len(line))
    return Lines(rows, longest)


def line_of_row(path: Path, row: int) -> int | None:
    """The line that holds the row-th object (from 1)."""
    seen = 0
    with path.open("rb") as handle:
        for number, line in enumerate(handle, start=1):
            if not line.isspace():
                seen += 1
                if seen == row:
                    return number
    return None


def refuse_bad_line(path: Path) -> None:
    """Raise `InputError` for the first line that is not one JSON object; return if there is none."""
    with path.open("rb") as handle:
        for number, line in enumerate(handle, start=1):
            if line.isspace():
                continue
            where = f"{path}:{number}"
            try:
                found = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
            except UnicodeDecodeError as exc:
                raise InputError(f"not UTF-8: {exc.reason}", where=where, expected="UTF-8 text") from exc
            except (ValueError, RecursionError) as exc:
                torn = not line.endswith(b"\n")
                what = "a torn last line" if torn else "not one JSON value"
                raise InputError(f"{what}: {exc}", where=where, expected="one JSON object a line") from exc
            if not isinstance(found, dict):
                raise InputError(
                    f"a row that is {kind(found)}", where=where, expected="one JSON object a line"
                )


def kind(value: object) -> str:
    """What a JSON value is, in words."""
    if isinstance(value, list):
        return "an array"
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "an object"
    return (
        f"a {'true/false' if isinstance(value, bool) else 'string' if isinstance(value, str) else 'number'}"
    )
