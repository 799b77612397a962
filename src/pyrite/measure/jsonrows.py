"""The rows of JSON, counted, and the first one that cannot be used, found exactly.

The fast reader's line numbers are off where a file has blank or torn lines; these are not.
"""

from __future__ import annotations

import codecs
import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from pyrite.errors import InputError

ARRAY = "a JSON array of objects, or JSON lines in a .jsonl file"
SEARCHED_BYTES = 1 << 28
"""Up to here an array that the fast reader refused is searched for the reason."""


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
            _refuse_half_characters(found, "the row", where)


def refuse_bad_array(path: Path) -> None:
    """Raise `InputError` for what keeps a file from being one JSON array; return if nothing does."""
    if path.stat().st_size > SEARCHED_BYTES:
        return
    data = path.read_bytes()
    if data.startswith(codecs.BOM_UTF8):
        raise InputError(
            "a byte order mark, which JSON does not allow",
            where=f"{path}:1",
            expected="JSON in UTF-8, without a mark",
            next=f"tail -c +4 {shlex.quote(path.name)} > without_mark.json",
        )
    try:
        text = data.decode()
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        raise InputError(
            f"not UTF-8: byte 0x{data[exc.start]:02x} at byte {exc.start}",
            where=f"{path}:{line}",
            expected="JSON in UTF-8",
            next=f"iconv -f latin1 -t utf-8 {shlex.quote(path.name)} > utf8.json",
        ) from exc
    _walk(path, text)


def _walk(path: Path, text: str) -> None:
    """Read the elements of an array one by one until one does not fit."""

    def refused(what: str, at: int) -> InputError:
        line = text.count("\n", 0, at) + 1
        where = f"{path}:{line}"
        return InputError(f"{what}, at byte {len(text[:at].encode())}", where=where, expected=ARRAY)

    decoder, row = json.JSONDecoder(), 0
    at = _after_space(text, 0)
    if text[at : at + 1] != "[":
        raise refused(f"not an array: it starts with {text[at : at + 1]!r}", at)
    at = _after_space(text, at + 1)
    while text[at : at + 1] != "]" or row:
        row += 1
        if at >= len(text):
            raise refused(f"the file ends before row {row}: the array is not closed", at)
        try:
            value, end = decoder.raw_decode(text, at)
        except RecursionError:
            return
        except ValueError as exc:
            place = getattr(exc, "pos", at)
            torn = place >= len(text.rstrip()) or "Unterminated" in str(exc)
            ends = "the file ends inside it" if torn else str(exc).partition(":")[0].removesuffix(" at")
            raise refused(f"row {row} is not one JSON value: {ends}", place) from exc
        _refuse_half_characters(value, f"row {row}", f"{path}:{text.count(chr(10), 0, at) + 1}")
        at = _after_space(text, end)
        following = text[at : at + 1]
        if following == "]":
            break
        if following != ",":
            torn = not following
            raise refused(
                f"the file ends after row {row}: the array is not closed"
                if torn
                else f"after row {row} stands {following!r}, not a comma or ]",
                at,
            )
        at = _after_space(text, at + 1)
    rest = _after_space(text, at + 1)
    if rest < len(text):
        raise refused(f"after the end of the array stands {text[rest : rest + 40]!r}", rest)


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


_SPACE = re.compile(r"[ \t\r\n]*")


def _refuse_half_characters(value: object, what: str, where: str) -> None:
    """A lone surrogate is half a character: no text can hold it."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as exc:
        half = str(exc.object)[exc.start]
        raise InputError(
            f"{what} holds a lone surrogate, \\u{ord(half):04x}: half a character",
            where=where,
            expected="whole characters, or both halves of a pair",
        ) from exc
    except RecursionError:
        return


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
