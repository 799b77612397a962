"""Spreadsheets as typed cells, in the sparse form in which they are stored.

    book = read_workbook(home / "Documents/q3_budget.ods")
    book.sheets["Q3"].at("D14")            # Cell(kind='number', value=4500.0, ...)
    list(changes(before.sheets["Q3"], book.sheets["Q3"]))

A row or cell that a file repeats a million times is one run here, so nothing is ever expanded.
Rows and columns count from 1. Numbers keep whether they are shown as percentage or currency in
`shown_as`, which no comparison looks at.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from pyrite.checks.package import DEFAULT_BOUNDS, Bounds, Spent, Unreadable, read_file

Item = TypeVar("Item")

_NUMBER_LENGTH = 1000


class Cell(NamedTuple):
    """One cell: what is in it, not how it looks."""

    kind: str
    """empty | number | text | boolean | date | time | error"""
    value: float | str | bool | None = None
    """number: float; text and error: str; date: ISO 8601 to the second or finer; time: seconds."""
    formula: str | None = None
    """Formula text with its leading =, or None; `value` is then only what was cached."""
    shown_as: str | None = None
    """percentage | currency | None"""


EMPTY = Cell("empty")


class CellRun(NamedTuple):
    """Equal cells in neighbouring columns."""

    first: int
    last: int
    item: Cell


class RowRun(NamedTuple):
    """Equal neighbouring rows; `item` holds their cells that are not empty."""

    first: int
    last: int
    item: tuple[CellRun, ...]


class Block(NamedTuple):
    """A rectangle of cells that differ between two sheets in the same way."""

    first_row: int
    last_row: int
    first_column: int
    last_column: int
    before: Cell
    after: Cell

    @property
    def single(self) -> bool:
        return self.first_row == self.last_row and self.first_column == self.last_column

    @property
    def cells(self) -> str:
        """The rectangle in A1 notation."""
        start = reference(self.first_row, self.first_column)
        return start if self.single else f"{start}:{reference(self.last_row, self.last_column)}"

    def holds(self, row: int, column: int) -> bool:
        return self.first_row <= row <= self.last_row and self.first_column <= column <= self.last_column


class Sheet(NamedTuple):
    """One sheet; `rows` are sorted and do not overlap."""

    name: str
    rows: tuple[RowRun, ...] = ()
    merged: tuple[str, ...] = ()
    """Merged ranges in A1 notation."""

    def at(self, cell: str) -> Cell:
        """The cell at an A1 reference; outside of what is stored it is empty."""
        row, column = position(cell)
        cells = _find(self.rows, row)
        return (_find(cells, column) if cells else None) or EMPTY


class Workbook(NamedTuple):
    """The sheets of a document, in their order."""

    sheets: dict[str, Sheet]
    format: str
    """ods | xlsx | csv"""


def position(cell: str) -> tuple[int, int]:
    """(row, column) of an A1 reference, from 1.

    >>> position("D14"), position("$AA$1")
    ((14, 4), (1, 27))
    """
    match = re.fullmatch(r"\$?([A-Za-z]{1,3})\$?([1-9][0-9]{0,6})", cell)
    if match is None:
        raise ValueError(f"{cell!r} is not a cell reference like D14")
    column = 0
    for letter in match[1].upper():
        column = column * 26 + ord(letter) - 64
    return int(match[2]), column


def reference(row: int, column: int) -> str:
    """The A1 reference of a position.

    >>> reference(14, 4), reference(1, 27)
    ('D14', 'AA1')
    """
    letters = ""
    while column > 0:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return f"{letters}{row}"


def read_workbook(path: Path, bounds: Bounds = DEFAULT_BOUNDS, spent: Spent | None = None) -> Workbook:
    """Read an .ods, .xlsx or .csv file, by its name's ending.

    Documents that are given the same `spent` stay within the bounds together. Raises `Unreadable` if
    the content is not what the name says, an .ods name over .xlsx content included, and where it
    needs more memory than there is.
    """
    try:
        return _read(path, bounds, spent)
    except (MemoryError, RecursionError):
        pass  # what was read is let go before the answer is made
    raise Unreadable("too_large", "it needs more memory than there is")


def _read(path: Path, bounds: Bounds, spent: Spent | None) -> Workbook:
    data = read_file(path, bounds.file_bytes)
    ending = path.suffix.lower()
    if ending == ".ods":
        from pyrite.checks.ods import parse_ods

        return parse_ods(data, bounds, spent)
    if ending == ".xlsx":
        from pyrite.checks.xlsx import parse_xlsx

        return parse_xlsx(data, bounds, spent)
    if ending == ".csv":
        from pyrite.checks.csvfile import parse_csv

        return parse_csv(data, bounds, spent)
    raise Unreadable("unknown_format", f"{ending or 'no ending'} is not one of .ods .xlsx .csv")


def same_content(one: Cell, other: Cell) -> bool:
    """Equal as content: the formula text where there is one, else kind and value.

    What a formula last evaluated to does not count: programs recalculate, and a cached value may be
    stale. An empty text is an empty cell.
    """
    if one.formula is not None or other.formula is not None:
        return one.formula == other.formula
    if one.kind == other.kind == "number":
        return same_number(one.value, other.value)
    return _bare(one) == _bare(other)


def same_number(one: object, other: object) -> bool:
    """Equal up to the last digits that a save and a load may lose (relative 1e-12)."""
    if not isinstance(one, float) or not isinstance(other, float):
        return False
    return math.isclose(one, other, rel_tol=1e-12, abs_tol=0.0)


def changes(before: Sheet, after: Sheet) -> Iterator[Block]:
    """The rectangles whose content differs between two sheets, in reading order."""
    for first_row, last_row, old_cells, new_cells in _align(before.rows, after.rows):
        for first, last, old, new in _align(old_cells or (), new_cells or ()):
            old, new = old or EMPTY, new or EMPTY
            if not same_content(old, new):
                yield Block(first_row, last_row, first, last, old, new)


def describe(cell: Cell) -> str:
    """A cell in words, at most 200 characters.

    >>> describe(Cell("number", 4500.0)), describe(Cell("text", "4500")), describe(EMPTY)
    ('4500', 'text "4500"', 'empty')
    """
    value = cell.value
    if cell.kind == "empty":
        shown = "empty"
    elif isinstance(value, float) and cell.kind == "number":
        shown = number_text(value)
    elif cell.kind == "text":
        shown = f'text "{value}"'
    else:
        shown = f"{cell.kind} {value}"
    if cell.formula is not None:
        shown = f"formula {cell.formula} showing {shown}"
    return shown if len(shown) <= 200 else shown[:199] + "…"


def number_text(value: float) -> str:
    """A number as one types it.

    >>> number_text(4500.0), number_text(12.75)
    ('4500', '12.75')
    """
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def number_cell(text: str, shown_as: str | None = None, formula: str | None = None) -> Cell:
    """A stored number; what is not a finite number becomes an error cell with that text."""
    if len(text) > _NUMBER_LENGTH:
        return Cell("error", text[:100], formula)
    try:
        value = float(text)
    except ValueError:
        return Cell("error", text[:100], formula)
    if not math.isfinite(value):
        return Cell("error", text[:100], formula)
    return Cell("number", value, formula, shown_as)


def _bare(cell: Cell) -> tuple[str, float | str | bool | None]:
    return (EMPTY.kind, None) if cell.kind == "text" and cell.value == "" else (cell.kind, cell.value)


def _find(runs: Sequence[tuple[int, int, Item]], index: int) -> Item | None:
    at = bisect_right(runs, index, key=lambda run: run[0]) - 1
    if at < 0 or runs[at][1] < index:
        return None
    return runs[at][2]


def _align(
    left: Sequence[tuple[int, int, Item]], right: Sequence[tuple[int, int, Item]]
) -> Iterator[tuple[int, int, Item | None, Item | None]]:
    """Cut two sorted lists of runs at each other's borders and pair what lies side by side."""
    i = j = 0
    start = 1
    while i < len(left) or j < len(right):
        one = left[i] if i < len(left) else None
        two = right[j] if j < len(right) else None
        start = max(start, min(run[0] for run in (one, two) if run is not None))
        in_one = one is not None and one[0] <= start
        in_two = two is not None and two[0] <= start
        ends = [run[1] if run[0] <= start else run[0] - 1 for run in (one, two) if run is not None]
        end = min(ends)
        yield start, end, one[2] if one and in_one else None, two[2] if two and in_two else None
        start = end + 1
        i += one is not None and one[1] <= end
        j += two is not None and two[1] <= end
