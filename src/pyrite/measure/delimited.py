"""The rows of a CSV or TSV file, counted and checked before anybody reads values from it.

A fast reader may drop or pad a ragged row; this check names it. Every record must have as many
fields as the header, quotes must close, and the text must be UTF-8 (a byte order mark is allowed).
"""

from __future__ import annotations

import csv
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TextIO

from pyrite.errors import InputError


@dataclass(frozen=True)
class Layout:
    """What a scan found."""

    header: list[str]
    """Names of the columns, trimmed."""
    rows: int
    """Records below the header, blank lines left out."""
    longest: int
    """Characters of the longest record."""


def scan(path: Path, delimiter: str) -> Layout:
    """Read the whole file once; `InputError` with the line of the first record that does not fit."""
    with _wide_fields(), path.open(encoding="utf-8-sig", newline="") as handle:
        try:
            return _scan(path, handle, delimiter)
        except UnicodeDecodeError as exc:
            raise InputError(
                f"not UTF-8: byte 0x{exc.object[exc.start]:02x}",
                where=f"{path}:{_line_that_is_not_utf8(path)}",
                expected="a text file in UTF-8",
                next=f"iconv -f latin1 -t utf-8 {shlex.quote(path.name)} > utf8{path.suffix}",
            ) from exc


def line_of_row(path: Path, delimiter: str, row: int) -> int | None:
    """The line on which the row-th record (from 1, header not counted) starts."""
    with _wide_fields(), path.open(encoding="utf-8-sig", newline="", errors="replace") as handle:
        reader = csv.reader(handle, delimiter=delimiter)
        width, seen, line = None, -1, 1
        for fields in reader:
            if fields or width == 1:
                width = len(fields) if width is None else width
                seen += 1
                if seen == row:
                    return line
            line = reader.line_num + 1
    return None


def mixed_line_ends(path: Path) -> int | None:
    """The first line whose ending differs from that of the first line; None where all are alike."""
    with path.open("rb") as handle:
        first: bool | None = None
        for number, line in enumerate(handle, start=1):
            ending = line.endswith(b"\r\n")
            if first is None:
                first = ending
            elif line.endswith(b"\n") and ending != first:
                return number
    return None


def _scan(path: Path, handle: TextIO, delimiter: str) -> Layout:
    lines = enumerate(handle, start=1)
    header: list[str] | None = None
    rows = longest = 0
    for number, line in lines:
        last, fields = number, None
        if '"' in line:
            fields, last, size = _quoted(path, line, number, lines, delimiter)
        else:
            size = len(line)
        blank = line in {"\n", "\r\n", "\r"}
        if header is None:
            if blank:
                raise InputError(
                    "the first line is blank", where=f"{path}:1", expected="a header with column names"
                )
            names = fields if fields is not None else line.rstrip("\r\n").split(delimiter)
            header = [name.strip() for name in names]
            continue
        if blank and len(header) > 1:
            continue
        width = len(fields) if fields is not None else line.count(delimiter) + 1
        if width != len(header):
            raise InputError(
                f"{width} {'field' if width == 1 else 'fields'}: {line.rstrip()[:80]!r}",
                where=f"{path}:{number}" if last == number else f"{path}:{number}-{last}",
                expected=f"{len(header)} fields, as the header has",
            )
        rows += 1
        longest = max(longest, size)
    if header is None:
        raise InputError("the file is empty", where=str(path), expected="a header and at least one row")
    return Layout(header, rows, longest)


def _quoted(
    path: Path, line: str, number: int, lines: Iterator[tuple[int, str]], delimiter: str
) -> tuple[list[str], int, int]:
    """Parse the record that starts with `line`: its fields, last line and size in characters."""
    last, size = number, 0

    def pieces() -> Iterator[str]:
        nonlocal last, size
        for at, piece in chain([(number, line)], lines):
            last, size = at, size + len(piece)
            yield piece

    try:
        return next(csv.reader(pieces(), delimiter=delimiter, strict=True)), last, size
    except csv.Error as exc:
        torn = "end of data" in str(exc)
        raise InputError(
            "a quote is opened and never closed" if torn else f"a badly quoted field: {exc}",
            where=f"{path}:{number}",
            expected='fields in double quotes, with "" for a quote inside',
        ) from exc


def _line_that_is_not_utf8(path: Path) -> int:
    with path.open("rb") as handle:
        for number, line in enumerate(handle, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 1


@contextmanager
def _wide_fields() -> Iterator[None]:
    """Lift the csv module's limit of 131,072 characters a field for the time of a scan."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)
