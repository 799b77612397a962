"""Known end states of the web application's families: what their verifier is tested with, no part of it."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

from pyrite.checks.verdict import NOTHING_PERSISTED
from pyrite.suites.desk.kontor import DATABASE, Change, Params
from pyrite.suites.family import KnownState

Make = Callable[[Path], None]


def apply(connection: sqlite3.Connection, changes: Iterable[Change]) -> None:
    """Make changes as the application does."""
    for table, key, values in changes:
        if key is None:
            names, marks = ", ".join(values), ", ".join("?" * len(values))
            text = f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608 - names of ours
            connection.execute(text, tuple(values.values()))
        else:
            names = ", ".join(f"{name} = ?" for name in values)
            text = f"UPDATE {table} SET {names} WHERE id = ?"  # noqa: S608 - names of ours
            connection.execute(text, (*values.values(), key))


def _open(home: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(home / DATABASE, isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")
    return connection


def changed(*changes: Change, statements: tuple[str, ...] = ()) -> Make:
    """The changes, and further statements."""

    def make(home: Path) -> None:
        with closing(_open(home)) as connection:
            apply(connection, changes)
            for statement in statements:
                connection.execute(statement)

    return make


def logged(*changes: Change, commit: bool = True) -> Make:
    """As the application leaves it when it is killed: the changes in the write-ahead log alone."""

    def make(home: Path) -> None:
        database = home / DATABASE
        kept = home / "kept"
        with closing(_open(home)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA cache_size = 1")
            connection.execute("BEGIN")
            apply(connection, changes)
            if commit:
                connection.execute("COMMIT")
            shutil.copytree(database.parent, kept)
        shutil.rmtree(database.parent)
        kept.rename(database.parent)

    return make


def also(make: Make, then: Callable[[Path], object]) -> Make:
    def both(home: Path) -> None:
        make(home)
        then(home)

    return both


def _leftovers(home: Path) -> None:
    """What Chromium leaves in a home."""
    profile = home / ".config/chromium/Default"
    profile.mkdir(parents=True)
    (profile / "Preferences").write_text('{"profile": {}}')
    with closing(sqlite3.connect(profile / "History")) as history:
        history.execute("CREATE TABLE urls (url TEXT)")
    (home / "Downloads").mkdir()


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", changed(*params.changes)),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    states = [
        KnownState("in_the_log", logged(*params.changes)),
        KnownState("vacuumed", changed(*params.changes, statements=("PRAGMA page_size = 8192", "VACUUM"))),
        KnownState("leftovers", also(changed(*params.changes), _leftovers)),
    ]
    if any(change.key is None for change in params.changes):
        gap = tuple(
            change._replace(values={"id": 5000 + at, **change.values}) if change.key is None else change
            for at, change in enumerate(params.changes)
        )
        states.append(KnownState("other_number", changed(*gap)))
    for column in params.ends:
        for name, sql in (("line_end", "char(13, 10)"), ("blanks", "'  '")):
            longer = tuple(
                f"UPDATE {change.table} SET {column} = {column} || {sql} WHERE id = {change.key}"  # noqa: S608
                for change in params.changes
            )
            states.append(KnownState(f"{column}_then_{name}", changed(*params.changes, statements=longer)))
    return tuple(states)


def bad(params: Params) -> tuple[KnownState, ...]:
    beside = ("F-SIDEEFFECT",)
    right = params.changes
    states = [
        KnownState("untouched", lambda home: None, NOTHING_PERSISTED),
        KnownState("opened", logged(), NOTHING_PERSISTED),
        KnownState("not_committed", logged(*right, commit=False), NOTHING_PERSISTED),
        *(KnownState(near.name, changed(*near.changes), near.codes) for near in params.near),
        KnownState(
            "stock_too",
            changed(*right, statements=("UPDATE products SET stock = stock - 1 WHERE id = 2",)),
            beside,
        ),
        KnownState(
            "customer_gone", changed(*right, statements=("DELETE FROM customers WHERE id = 4",)), beside
        ),
        KnownState(
            "row_too", changed(*right, Change("requests", None, {"product_id": 1, "quantity": 1})), beside
        ),
        KnownState(
            "file_too", also(changed(*right), lambda home: (home / "copy.txt").write_text("x")), beside
        ),
        KnownState("not_a_database", lambda home: _overwrite(home, b"orders\n"), ("F-PARTIAL",)),
        KnownState("cut_off", also(changed(*right), _cut), ("F-PARTIAL",)),
        KnownState("other_tables", changed(*right, statements=("ALTER TABLE orders ADD COLUMN x",))),
        KnownState("deleted", lambda home: (home / DATABASE).unlink()),
    ]
    return tuple(states)


def _overwrite(home: Path, data: bytes) -> None:
    (home / DATABASE).write_bytes(data)


def _cut(home: Path) -> None:
    _overwrite(home, (home / DATABASE).read_bytes()[: 5 * 4096 // 2])
