"""Near-misses of an SQLite file: its rows beside what they were before."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from pyrite.truth.mutants.model import put
from pyrite.truth.mutants.values import near_number, near_text

MAGIC = b"SQLite format 3\0"
MOST_TABLES = 40
MOST_ROWS = 4000
Row = tuple[Any, ...]


class Stored(NamedTuple):
    """Statements that make a near-miss of the good database."""

    operator: str
    at: str
    what: str
    statements: tuple[tuple[str, Row], ...]


class _Table(NamedTuple):
    name: str
    columns: tuple[str, ...]
    rows: dict[int, Row]


def near_database(before: bytes | None, after: bytes) -> Iterator[Stored]:
    """Every near-miss of the database `after`; tables without row ids are left alone."""
    old = read_tables(before) if before is not None else {}
    for name, table in read_tables(after).items():
        was = old.get(name, _Table(name, table.columns, {}))
        if was.columns == table.columns:
            yield from _of_table(was, table)


def apply(home: Path, path: str, data: bytes, statements: tuple[tuple[str, Row], ...]) -> None:
    """Write the good database to a home and run statements on it."""
    put(home, path, data)
    with closing(sqlite3.connect(home / path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = MEMORY")
        for text, values in statements:
            connection.execute(text, values)


def read_tables(data: bytes) -> dict[str, _Table]:
    """Tables with row ids, and their rows; raises `sqlite3.Error` for what is no database."""
    found: dict[str, _Table] = {}
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(data)
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        for (name,) in names.fetchmany(MOST_TABLES):
            if str(name).startswith("sqlite_"):
                continue
            columns = tuple(row[1] for row in connection.execute(f"PRAGMA table_info({_quoted(name)})"))
            try:
                select = f"SELECT rowid, * FROM {_quoted(name)} ORDER BY rowid"  # noqa: S608 - quoted
                rows = connection.execute(select)
                kept = {row[0]: tuple(row[1:]) for row in rows.fetchmany(MOST_ROWS)}
            except sqlite3.OperationalError:
                continue
            found[name] = _Table(name, columns, kept)
    return found


def _of_table(was: _Table, table: _Table) -> Iterator[Stored]:
    changed = [key for key, row in table.rows.items() if was.rows.get(key) != row]
    for key in changed:
        yield from _of_row(was, table, key)
    for key, row in was.rows.items():
        if key not in table.rows:
            yield Stored(
                "drop-change", _at(table, key), "this row is there again", (_insert(table, row, key),)
            )
    others = [key for key in table.rows if key not in changed]
    for key in others[:1] + others[-1:] if len(others) > 1 else others:
        column = _changeable(table, key)
        if column is not None:
            _, near = next(_near(table.rows[key][column]))
            statement = _update(table, key, column, near)
            yield Stored("neighbour-changed", _at(table, key), "this row is changed too", (statement,))
        yield Stored("neighbour-deleted", _at(table, key), "this row is gone", (_delete(table, key),))


def _of_row(was: _Table, table: _Table, key: int) -> Iterator[Stored]:
    row, old = table.rows[key], was.rows.get(key)
    at = _at(table, key)
    if old is None:
        yield Stored("drop-change", at, "this row is missing", (_delete(table, key),))
        yield Stored("duplicate-row", at, "this row is there twice", (_copy(table, key),))
    for column, value in enumerate(row):
        if old is not None and old[column] == value:
            continue
        where = f"{at}.{table.columns[column]}"
        for operator, near in _near(value):
            if value == key and isinstance(value, int):
                break  # the key itself: another number is as good
            what = f"{str(near)[:40]!r} instead of {str(value)[:40]!r}"
            yield Stored(operator, where, what, (_update(table, key, column, near),))
        if old is not None:
            undo = _update(table, key, column, old[column])
            yield Stored("drop-change", where, "this change is undone", (undo,))
            for operator, other in _neighbours(table, key):
                moved = (undo, _update(table, other, column, value))
                yield Stored(operator, where, f"the value is in row {other}", moved)


def _neighbours(table: _Table, key: int) -> Iterator[tuple[str, int]]:
    keys = list(table.rows)
    place = keys.index(key)
    if place + 1 < len(keys):
        yield "shift-down", keys[place + 1]
    if place:
        yield "shift-up", keys[place - 1]


def _near(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, int | float) and abs(value) < 1e15:
        for near in near_number(float(value)):
            assert isinstance(near.value, float)
            whole = isinstance(value, int) and near.value.is_integer()
            yield near.operator, int(near.value) if whole else near.value
    elif isinstance(value, str):
        yield from ((near.operator, near.value) for near in near_text(value))


def _changeable(table: _Table, key: int) -> int | None:
    """The last column of a row whose value has near ones and is not the row's own key."""
    row = table.rows[key]
    columns = [at for at, value in enumerate(row) if value != key and next(_near(value), None)]
    return columns[-1] if columns else None


def _update(table: _Table, key: int, column: int, value: Any) -> tuple[str, Row]:
    name = _quoted(table.columns[column])
    return f"UPDATE {_quoted(table.name)} SET {name} = ? WHERE rowid = ?", (value, key)  # noqa: S608 - quoted


def _delete(table: _Table, key: int) -> tuple[str, Row]:
    return f"DELETE FROM {_quoted(table.name)} WHERE rowid = ?", (key,)  # noqa: S608 - quoted


def _insert(table: _Table, row: Row, key: int) -> tuple[str, Row]:
    names = ", ".join(map(_quoted, ("rowid", *table.columns)))
    marks = ", ".join("?" * (len(row) + 1))
    return f"INSERT INTO {_quoted(table.name)} ({names}) VALUES ({marks})", (key, *row)  # noqa: S608 - quoted


def _copy(table: _Table, key: int) -> tuple[str, Row]:
    """Once more, with a key of its own where the row holds its key."""
    row = tuple(None if value == key and at == 0 else value for at, value in enumerate(table.rows[key]))
    names = ", ".join(map(_quoted, table.columns))
    marks = ", ".join("?" * len(row))
    return f"INSERT INTO {_quoted(table.name)} ({names}) VALUES ({marks})", row  # noqa: S608 - quoted


def _quoted(name: str) -> str:
    return '"' + str(name).replace('"', '""') + '"'


def _at(table: _Table, key: int) -> str:
    return f"{table.name}.{key}"
