"""The known end states of family sqlite_change: what its verifier is tested with, never part of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from pyrite.suites.desk import goals as base
from pyrite.suites.desk.goals import Home
from pyrite.suites.desk.sqlite_change import Params, copies
from pyrite.suites.family import KnownState


def run(path: Path, statements: str, *, journal: str = "DELETE") -> None:
    """Run statements on a database and close it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal}")
        connection.executescript(statements)


def _home(params: Params) -> Home:
    return Home(lambda home: run(home / params.path, "".join(params.statements)), "Data/README.txt")


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", _home(params).good),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    def vacuumed(home: Path) -> None:
        run(home / params.path, "".join(params.statements) + "VACUUM;")

    def write_ahead(home: Path) -> None:
        """The database of a program that was killed after its commit: the rows are in the log beside it."""
        place = home / params.path
        run(place, "", journal="WAL")
        with closing(sqlite3.connect(place, isolation_level=None)) as connection:
            connection.executescript("".join(params.statements))
            kept = {end: place.with_name(place.name + end).read_bytes() for end in ("", "-wal")}
        for end, data in kept.items():
            place.with_name(place.name + end).write_bytes(data)

    return (
        KnownState("vacuumed", vacuumed),
        KnownState("write_ahead", write_ahead),
        *_home(params).harmless(".sqlite_history", f"{params.path}-journal.tmp"),
    )


def bad(params: Params) -> tuple[KnownState, ...]:
    right = "".join(params.statements)

    def open_transaction(home: Path) -> None:
        """What is on the disk while a transaction is open: the old pages, and a journal of them."""
        place = home / params.path
        with closing(sqlite3.connect(place, isolation_level=None)) as connection:
            connection.executescript("BEGIN;" + right.replace("BEGIN;", "").replace("COMMIT;", ""))
            kept = {end: place.with_name(place.name + end).read_bytes() for end in ("", "-journal")}
        for end, data in kept.items():
            place.with_name(place.name + end).write_bytes(data)

    def doing(statements: str, path: str = params.path) -> Callable[[Path], None]:
        return lambda home: run(home / path, statements)

    def copied(home: Path) -> None:
        base.copy(home, params.path, copies(params)[0])
        run(home / copies(params)[0], right)

    found = [*_home(params).bad(), KnownState("open_transaction", open_transaction, ("F-UNCOMMITTED",))]
    for name, statements in params.wrong:
        also = name.startswith("also")
        codes = ("F-SIDEEFFECT",) if also else _codes(name)
        found.append(KnownState(name, doing(right + statements if also else statements), codes))
    found += [
        KnownState("table_too_many", doing(f"{right}CREATE TABLE notes (text TEXT);"), ("F-SIDEEFFECT",)),
        KnownState("as_copy", copied, ("F-WRONGTARGET",)),
        KnownState("cut_short", lambda home: _cut(home / params.path), ("F-PARTIAL",)),
        KnownState("deleted", lambda home: (home / params.path).unlink()),
    ]
    if params.sibling:
        found.append(KnownState("sibling", doing(right, params.sibling), ("F-WRONGAPP",)))
        too = _home(params).also(doing(right, params.sibling))
        found.append(KnownState("sibling_too", too, ("F-SIDEEFFECT",)))
    return tuple(found)


def _codes(name: str) -> tuple[str, ...]:
    """What a wrong statement comes to, by its name."""
    if name in {"row_below", "row_above", "others", "other_key"}:
        return ("F-WRONGTARGET",)
    return ("F-SIDEEFFECT",) if name in {"all", "all_open", "replaced"} else ("F-PARTIAL",)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])
