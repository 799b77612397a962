"""The program that writes a file anew, its content the same; it runs confined, as its own process.

    python -P -m pyrite.audit.harmless FILE OUT

Makes OUT/<variant>/<name of FILE> and OUT/made.json: {"made": {variant: what}, "refused": {variant: why}}.
A sound comparator accepts every one of them. Each is read back and compared before it is believed.
"""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import sys
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from pyrite.checks.package import Package, Unreadable, read_file
from pyrite.truth.mutants import databases, images

FILE_LIMIT = 64 << 20
MADE = "made.json"
_STAMP = (2001, 2, 3, 4, 5, 6)


class Refused(Exception):
    """There is no such variant of this file."""


def variants(name: str, data: bytes) -> dict[str, tuple[str, Callable[[bytes], bytes]]]:
    """Variant -> what it is and how it is made, for the format that the ending and the bytes say."""
    ending = Path(name).suffix.lower()
    if data.startswith(databases.MAGIC):
        return {"vacuumed": ("the database file written anew, the same rows", _vacuumed)}
    if ending == ".json":
        return {
            "key-order": ("the keys of every object in the opposite order", _key_order),
            "whitespace": ("indented by three spaces", _whitespace),
        }
    if ending in {".csv", ".tsv"}:
        delimiter = "\t" if ending == ".tsv" else ","
        return {
            "line-ends": ("the other kind of line ends", lambda found: _line_ends(found, delimiter)),
            "quoted": ("every field in quotes", lambda found: _quoted(found, delimiter)),
        }
    if ending == ".png":
        return {"encoded": ("the same pixels, packed less", _encoded)}
    if data.startswith(b"PK\x03\x04"):
        return {"zipped": ("the same parts, packed otherwise, with other dates", _zipped)}
    return {}


def make(name: str, data: bytes, out: Path) -> dict[str, dict[str, str]]:
    """Write every variant that there is; what made.json says."""
    made, refused = {}, {}
    for variant, (what, write) in variants(name, data).items():
        try:
            written = write(data)
            if written == data:
                raise Refused("it is the same bytes")
        except (Refused, Unreadable, ValueError, RecursionError, sqlite3.Error, zipfile.BadZipFile) as exc:
            refused[variant] = f"{exc!s:.200}" or type(exc).__name__
            continue
        (out / variant).mkdir()
        (out / variant / name).write_bytes(written)
        made[variant] = what
    return {"made": made, "refused": refused}


def _parsed(data: bytes) -> Any:
    """JSON without what another reader may take otherwise: a key that stands twice, NaN."""

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in items}) < len(items):
            raise Refused("a key stands twice")
        return dict(items)

    def constant(text: str) -> Any:
        raise Refused(f"it holds {text}")

    return json.loads(data, object_pairs_hook=pairs, parse_constant=constant)


def _key_order(data: bytes) -> bytes:
    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        return [turned(item) for item in value] if isinstance(value, list) else value

    body = _parsed(data)
    found = turned(body)
    if json.dumps(found) == json.dumps(body):
        raise Refused("no object has two keys")
    return _same_json(json.dumps(found, ensure_ascii=False).encode(), body)


def _whitespace(data: bytes) -> bytes:
    body = _parsed(data)
    return _same_json((json.dumps(body, indent=3, ensure_ascii=False) + "\n").encode(), body)


def _same_json(written: bytes, body: Any) -> bytes:
    if json.loads(written) != body:
        raise Refused("it does not read back the same")
    return written


def _line_ends(data: bytes, delimiter: str) -> bytes:
    if b"\n" not in data:
        raise Refused("it is one line")
    plain = data.replace(b"\r\n", b"\n")
    if b"\r" in plain or any(
        "\n" in field or "\r" in field for row in _rows(data, delimiter) for field in row
    ):
        raise Refused("a field holds a line end")
    return plain if plain != data else data.replace(b"\n", b"\r\n")


def _quoted(data: bytes, delimiter: str) -> bytes:
    rows = _rows(data, delimiter)
    end = "\r\n" if b"\r\n" in data else "\n"
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator=end).writerows(rows)
    written = out.getvalue().encode()
    if not rows or any(not row for row in rows) or _rows(written, delimiter) != rows:
        raise Refused("it does not read back the same")
    return written


def _rows(data: bytes, delimiter: str) -> list[list[str]]:
    try:
        text = data.decode("utf-8")
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as exc:
        raise Refused(str(exc)) from None


def _encoded(data: bytes) -> bytes:
    image = images.read_image(data)
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=1)
    again = images.read_image(out.getvalue())
    if (again.mode, again.size, again.tobytes()) != (image.mode, image.size, image.tobytes()):
        raise Refused("it does not read back the same")
    if image.convert("RGBA").tobytes() != again.convert("RGBA").tobytes():
        raise Refused("its transparent colour would be lost")
    return out.getvalue()


def _zipped(data: bytes) -> bytes:
    package = Package(data)
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w") as target:
        for info in source.infolist():
            stored = info.filename == "mimetype" or info.compress_type == zipfile.ZIP_DEFLATED
            method = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
            target.writestr(zipfile.ZipInfo(info.filename, _STAMP), package.read(info.filename), method)
    return out.getvalue()


def _vacuumed(data: bytes) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder, "before"), Path(folder, "after")
        before.write_bytes(data)
        with closing(sqlite3.connect(before)) as db:
            dump = list(db.iterdump())
            db.execute("VACUUM INTO ?", (str(after),))
        with closing(sqlite3.connect(after)) as db:
            # one more page size: the bytes differ also where there was nothing to clean up
            db.execute("PRAGMA page_size = 8192")
            db.execute("VACUUM")
            if list(db.iterdump()) != dump:
                raise Refused("it does not read back the same")
        return after.read_bytes()


def main() -> None:
    """Make the variants of the file that the command line names."""
    source, out = Path(sys.argv[1]), Path(sys.argv[2])
    found = make(source.name, read_file(source, FILE_LIMIT), out)
    (out / MADE).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
