"""Near-misses of a .csv file: rows of fields beside what they were before."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from pyrite.truth.mutants.values import near_written

Grid = list[list[str]]
MOST_ROWS = 4000
_DELIMITERS = ",;\t|"


class Gridded(NamedTuple):
    """Other rows than the good ones."""

    operator: str
    at: str
    what: str
    rows: Grid


class Format(NamedTuple):
    """How a file writes its rows."""

    delimiter: str
    line_end: str
    mark: bool

    def write(self, rows: Grid) -> bytes:
        out = io.StringIO(newline="")
        csv.writer(out, delimiter=self.delimiter, lineterminator=self.line_end).writerows(rows)
        return out.getvalue().encode("utf-8-sig" if self.mark else "utf-8")


def read_grid(data: bytes) -> tuple[Grid, Format] | None:
    """Rows, and how they are written; None where writing them would give other bytes."""
    try:
        text = data.decode("utf-8-sig")
        first = text.partition("\n")[0]
        delimiter = max(_DELIMITERS, key=first.count)
        line_end = "\r\n" if "\r\n" in text else "\n"
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except (UnicodeDecodeError, csv.Error):
        return None
    found = Format(delimiter, line_end, data.startswith(b"\xef\xbb\xbf"))
    written = found.write(rows)
    if len(rows) > MOST_ROWS or written.rstrip(b"\r\n") != data.rstrip(b"\r\n"):
        return None
    return rows, found


def near_grid(before: Grid, after: Grid) -> Iterator[Gridded]:
    """Every near-miss of `after`."""
    changed: set[int] = set()
    whole = ["\0".join(row) for row in before], ["\0".join(row) for row in after]
    for kind, i, j, k, m in SequenceMatcher(None, *whole, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        changed.update(range(k, m))
        if kind == "replace" and j - i == m - k:
            for n in range(m - k):
                yield from _of_row(after, k + n, before[i + n])
            continue
        undone = [*after[:k], *before[i:j], *after[m:]]
        yield Gridded("drop-change", f"row {k + 1}", "this change is undone", undone)
        for row in range(k, m):
            yield from _of_row(after, row, None)
    yield from _beside(after, changed)


def _of_row(after: Grid, row: int, old: Sequence[str] | None) -> Iterator[Gridded]:
    line = after[row]
    same_shape = old is not None and len(old) == len(line)
    if old is not None and not same_shape:
        yield Gridded(
            "drop-change", f"row {row + 1}", "this change is undone", _with(after, row, [list(old)])
        )
    for column, value in enumerate(line):
        if old is not None and same_shape:
            if old[column] == value:
                continue
            yield from _moved(after, row, column, old[column])
        at = f"row {row + 1} field {column + 1}"
        for near in near_written(value):
            what = f"{str(near.value)[:40]!r} instead of {value[:40]!r}"
            yield Gridded(near.operator, at, what, _set(after, row, column, str(near.value)))
    twice = _with(after, row, [list(line), list(line)])
    yield Gridded("duplicate-row", f"row {row + 1}", "this row is there twice", twice)


def _moved(after: Grid, row: int, column: int, old: str) -> Iterator[Gridded]:
    """The field is as it was; then, a neighbour has the new value."""
    value = after[row][column]
    at = f"row {row + 1} field {column + 1}"
    undone = _set(after, row, column, old)
    yield Gridded("drop-change", at, "this change is undone", undone)
    for operator, down, across in (
        ("shift-down", 1, 0),
        ("shift-up", -1, 0),
        ("shift-right", 0, 1),
        ("shift-left", 0, -1),
    ):
        to_row, to_column = row + down, column + across
        inside = 0 <= to_row < len(after) and 0 <= to_column < len(after[to_row])
        if inside and after[to_row][to_column] != value:
            what = f"{value[:40]!r} is in row {to_row + 1} field {to_column + 1}"
            yield Gridded(operator, at, what, _set(undone, to_row, to_column, value))


def _beside(after: Grid, changed: set[int]) -> Iterator[Gridded]:
    others = [row for row, line in enumerate(after) if row not in changed and any(line)]
    for row in others[:1] + others[-1:] if len(others) > 1 else others:
        column = max(at for at, field in enumerate(after[row]) if field)
        near = next(near_written(after[row][column]), None)
        if near is not None:
            other = _set(after, row, column, str(near.value))
            yield Gridded("neighbour-changed", f"row {row + 1}", "this row is changed too", other)
        yield Gridded("neighbour-deleted", f"row {row + 1}", "this row is gone", _with(after, row, []))


def _set(rows: Grid, row: int, column: int, value: str) -> Grid:
    line = list(rows[row])
    line[column] = value
    return _with(rows, row, [line])


def _with(rows: Grid, row: int, new: Grid) -> Grid:
    return [*rows[:row], *new, *rows[row + 1 :]]
