"""Why a table cannot be read, where the fast reader does not say it well, and what to type next."""

from __future__ import annotations

import codecs
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyrite.errors import InputError, UsageError

_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Byte order marks; those of UTF-32 first, one begins as that of UTF-16 does."""


def other_unicode(path: Path) -> None:
    """Raise `InputError` where a byte order mark says that a text is not UTF-8."""
    try:
        with path.open("rb") as handle:
            start = handle.read(4)
    except OSError as exc:
        raise InputError(exc.strerror or str(exc), where=str(path), expected="a readable file") from exc
    coding = next((name for mark, name in _MARKS.items() if start.startswith(mark)), None)
    if coding is not None:
        raise InputError(
            f"{coding.upper()}, not UTF-8",
            where=f"{path}:1",
            expected="a text file in UTF-8",
            next=f"iconv -f {coding} -t utf-8 {shlex.quote(path.name)} > utf8{path.suffix}",
        )


def torn_parquet(path: Path) -> None:
    """Raise `InputError` for a file that does not begin and end with PAR1, as every Parquet file does."""
    with path.open("rb") as handle:
        start = handle.read(4)
        size = handle.seek(0, os.SEEK_END)
        handle.seek(max(0, size - 4))
        end = handle.read()
    if start == end == b"PAR1" and size > 8:
        return
    what = "it is cut off" if start == b"PAR1" else "it does not begin as one"
    raise InputError(
        f"not a whole Parquet file: {what}; {size:,} bytes",
        where=str(path),
        expected="a file that begins and ends with PAR1",
        next=f"write or copy {path.name} again",
    )


@contextmanager
def with_next(path: Path, verb: str = "measure") -> Iterator[None]:
    """Give every error about a table a next command: one that shows the line, where one is named.

    Else it is the help of the verb that reads the table; the outermost verb is the one that is named.
    """
    try:
        yield
    except UsageError as exc:
        if not exc.next or exc.next == "pyrite measure --help":
            found = re.match(r":(\d+)(?:-(\d+))?\b", exc.where.removeprefix(str(path)))
            first, last = (found[1], found[2]) if found else (None, None)
            lines = f"{first},{last}p" if last else f"{first}p"
            exc.next = f"sed -n {lines} {shlex.quote(str(path))}" if found else f"pyrite {verb} --help"
        raise
