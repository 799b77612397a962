"""Read an SQLite file that an agent has left, as hostile data: on a copy, with every size bounded.

    found = read_database(home / "Kontor/kontor.db")
    found.tables["orders"].rows[1002]

What counts is what SQLite itself would find when it next opened the file: committed pages of a
write-ahead log belong to it, an open transaction does not. Both take a file beside the database, so
these are copied too. A file that cannot be read is `Unreadable`, which an agent can cause.
"""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.package import Unreadable, read_file

BESIDE = ("-wal", "-journal")
"""Files beside a database that hold a part of it; `-shm` is an index that is made anew."""
SIDECARS = (*BESIDE, "-shm")
_MAGIC = b"SQLite format 3\0"
_SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")
"""Ends a journal that names another file, which SQLite would open and remove."""
_STEPS = 10_000
_SELECT_SCHEMA = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master ORDER BY type, name"

Row = tuple[Any, ...]


class Limits(NamedTuple):
    """What one database may cost."""

    file_bytes: int = 8 << 20
    """Of each of its files."""
    tables: int = 50
    rows: int = 50_000
    """Of all tables together."""
    value_bytes: int = 1 << 16
    steps: int = 2000
    """Steps of SQLite's machine, in ten thousands."""


DEFAULT_LIMITS = Limits()


class Table(NamedTuple):
    """Columns by name, rows by row id (by position where a table has none)."""

    columns: tuple[str, ...]
    rows: dict[int, Row]


class Database(NamedTuple):
    """What is committed."""

    schema: tuple[tuple[str, str, str, str], ...]
    """(type, name, table, SQL) of everything that is defined, sorted."""
    tables: dict[str, Table]


def read_database(path: Path, limits: Limits = DEFAULT_LIMITS) -> Database:
    """Schema and rows of a database; raises `Unreadable`.

    Ordinary tables alone are read: a view or virtual table runs what its maker wrote. `missing` or
    `not_a_file` where there is no file; an empty file is an empty database, as for SQLite.
    """
    data = read_file(path, limits.file_bytes)
    if data and not data.startswith(_MAGIC):
        raise Unreadable("damaged", "it is no SQLite database")
    with tempfile.TemporaryDirectory(prefix="pyrite-") as folder:
        copy = Path(folder) / "copy.db"
        copy.write_bytes(data)
        for ending in BESIDE:
            beside = _beside(path, ending, limits)
            if ending == "-journal" and beside.endswith(_SUPER_JOURNAL):
                raise Unreadable("forbidden_journal", "its journal names another file")
            if beside:
                copy.with_name(copy.name + ending).write_bytes(beside)
        try:
            return _read(copy, limits)
        except (sqlite3.Error, OverflowError, ValueError, RecursionError, MemoryError) as exc:
            raise Unreadable("damaged", f"SQLite says: {exc}"[:200]) from None


def _beside(path: Path, ending: str, limits: Limits) -> bytes:
    try:
        return read_file(path.with_name(path.name + ending), limits.file_bytes)
    except Unreadable as exc:
        if exc.reason == "missing":
            return b""
        raise


def _read(copy: Path, limits: Limits) -> Database:
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        connection.text_factory = _text
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limits.file_bytes)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.set_progress_handler(_Clock(limits.steps).tick, _STEPS)
        for setting in ("trusted_schema = OFF", "cell_size_check = ON", "query_only = ON"):
            connection.execute(f"PRAGMA {setting}")
        schema = connection.execute(_SELECT_SCHEMA).fetchmany(10 * limits.tables + 1)
        if len(schema) > 10 * limits.tables:
            raise Unreadable("too_large", f"it defines more than {10 * limits.tables} things")
        tables: dict[str, Table] = {}
        left = limits.rows
        for kind, name, _, sql in schema:
            if kind != "table" or name.startswith("sqlite_") or _is_virtual(sql):
                continue
            if len(tables) >= limits.tables:
                raise Unreadable("too_large", f"it has more than {limits.tables} tables")
            tables[name] = _table(connection, name, left, limits)
            left -= len(tables[name].rows)
        return Database(tuple(schema), tables)


def _table(connection: sqlite3.Connection, name: str, left: int, limits: Limits) -> Table:
    quoted = '"' + name.replace('"', '""') + '"'
    try:
        cursor = connection.execute(f"SELECT rowid, * FROM {quoted} ORDER BY rowid")  # noqa: S608 - quoted
        found = cursor.fetchmany(left + 1)
        rows = {row[0]: tuple(row[1:]) for row in found}
        columns = tuple(column[0] for column in cursor.description[1:])
    except sqlite3.OperationalError as exc:
        if "no such column" not in str(exc):
            raise
        cursor = connection.execute(f"SELECT * FROM {quoted}")  # noqa: S608 - quoted
        found = cursor.fetchmany(left + 1)
        rows = dict(enumerate(found))
        columns = tuple(column[0] for column in cursor.description)
    if len(found) > left:
        raise Unreadable("too_large", f"it has more than {limits.rows} rows")
    for row in found:
        if any(isinstance(value, str | bytes) and len(value) > limits.value_bytes for value in row):
            raise Unreadable(
                "too_large", f"a value in {name[:40]!r} has more than {limits.value_bytes} bytes"
            )
    return Table(columns, rows)


def _is_virtual(sql: str) -> bool:
    return sql.upper().split()[:2] == ["CREATE", "VIRTUAL"]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


class _Clock:
    """Stops a query that runs too long."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def tick(self) -> int:
        self.left -= 1
        return int(self.left < 0)
