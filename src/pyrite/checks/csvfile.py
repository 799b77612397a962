"""Read a .csv file (RFC 4180, UTF-8) as a workbook of one sheet that has no name."""

from __future__ import annotations

import csv
import io
import re

from pyrite.checks.cells import Cell, CellRun, RowRun, Sheet, Workbook, number_cell
from pyrite.checks.package import DEFAULT_BOUNDS, Bounds, Spent, Unreadable

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def parse_csv(data: bytes, bounds: Bounds = DEFAULT_BOUNDS, spent: Spent | None = None) -> Workbook:
    """The cells of a .csv file's bytes: what is written as a plain number is one, 007 is text."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable("wrong_format", "it is not UTF-8 text") from None
    if "\0" in text:
        raise Unreadable("wrong_format", "it holds zero bytes, so it is no text")
    rows: list[RowRun] = []
    spent = spent or Spent()
    spent.bytes += len(data)
    if spent.bytes > bounds.total_bytes:
        raise Unreadable("too_large", f"more than {bounds.total_bytes} bytes")
    try:
        for number, fields in enumerate(csv.reader(io.StringIO(text, newline=""), strict=True), start=1):
            spent.elements += 1 + len(fields)
            if spent.elements > bounds.elements:
                raise Unreadable("too_large", f"more than {bounds.elements} rows and fields")
            cells = tuple(
                CellRun(column, column, _cell(field)) for column, field in enumerate(fields, start=1) if field
            )
            if cells:
                rows.append(RowRun(number, number, cells))
    except csv.Error as exc:
        raise Unreadable("damaged", str(exc)) from None
    return Workbook({"": Sheet("", tuple(rows))}, "csv")


def _cell(field: str) -> Cell:
    return number_cell(field) if _NUMBER.fullmatch(field) else Cell("text", field)
