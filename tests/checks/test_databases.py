"""Reading databases that an agent has left: what is committed, and nothing that harms."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrite.checks.databases import Limits, read_database
from pyrite.checks.package import Unreadable

VALUES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20),
    st.binary(max_size=20),
)


def make(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


def killed(folder: Path, commit: bool, mode: str) -> Path:
    """A database whose writer was killed in the middle: files as they were on the disk."""
    path = make(
        folder / "a.db", f"PRAGMA journal_mode = {mode}", "CREATE TABLE t (id INTEGER PRIMARY KEY, x)"
    )
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO t VALUES (1, 'old')")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN")
        connection.execute("UPDATE t SET x = 'new'")
        connection.executemany("INSERT INTO t VALUES (?, ?)", ((n, "y" * 2000) for n in range(2, 60)))
        if commit:
            connection.execute("COMMIT")
        shutil.copytree(folder, folder / "killed", ignore=shutil.ignore_patterns("killed", "*-shm"))
    return folder / "killed/a.db"


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(st.tuples(VALUES, VALUES), max_size=8))
def test_rows_come_back_as_they_were_written(
    rows: list[tuple[object, object]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = make(tmp_path_factory.mktemp("db") / "a.db", 'CREATE TABLE "a""b" (x, y)')
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executemany('INSERT INTO "a""b" VALUES (?, ?)', rows)
    found = read_database(path)
    table = found.tables['a"b']
    assert table.columns == ("x", "y")
    assert list(table.rows.values()) == rows
    assert list(table.rows) == list(range(1, len(rows) + 1))


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_a_committed_transaction_counts_and_an_open_one_does_not(mode: str, tmp_path: Path) -> None:
    for commit in (True, False):
        folder = tmp_path / str(commit)
        folder.mkdir()
        path = killed(folder, commit, mode)
        if mode == "WAL" or not commit:
            assert len(list(path.parent.iterdir())) == 2, "a log or a journal lies beside it"
        rows = read_database(path).tables["t"].rows
        assert (rows[1][1], len(rows)) == (("new", 59) if commit else ("old", 1))


def test_reading_changes_nothing(tmp_path: Path) -> None:
    path = killed(tmp_path, False, "DELETE")
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    read_database(path)
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before


def test_tables_without_row_ids_and_what_is_no_table(tmp_path: Path) -> None:
    path = make(
        tmp_path / "a.db",
        "CREATE TABLE k (name TEXT PRIMARY KEY, n) WITHOUT ROWID",
        "INSERT INTO k VALUES ('b', 2), ('a', 1)",
        "CREATE VIEW v AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c",
        "CREATE VIRTUAL TABLE f USING fts5(body)",
    )
    found = read_database(path)
    assert found.tables["k"].rows == {0: ("a", 1), 1: ("b", 2)}
    assert not {"v", "f"} & found.tables.keys(), "what runs code is not read"
    assert {"v", "f"} <= {name for _, name, _, _ in found.schema}


def test_what_an_agent_can_leave_instead(tmp_path: Path) -> None:
    path = make(tmp_path / "a.db", "CREATE TABLE t (x)", "INSERT INTO t VALUES (zeroblob(9000))")
    data = path.read_bytes()
    limits = Limits(file_bytes=1 << 16, rows=50, value_bytes=100)
    hostile = {
        "text.db": b"not a database at all",
        "half.db": data[: len(data) // 2],
        "noise.db": data[:100] + os.urandom(len(data) - 100),
        "large.db": b"SQLite format 3\0" + bytes(1 << 16),
        "value.db": data,
    }
    for name, content in hostile.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(Unreadable):
            read_database(tmp_path / name, limits)
    (tmp_path / "link.db").symlink_to(path)
    (tmp_path / "folder.db").mkdir()
    os.mkfifo(tmp_path / "pipe.db")
    for name in ("link.db", "folder.db", "pipe.db", "gone.db"):
        with pytest.raises(Unreadable):
            read_database(tmp_path / name)
    (tmp_path / "empty.db").touch()
    assert read_database(tmp_path / "empty.db") == ((), {})


def test_too_many_rows_tables_and_steps(tmp_path: Path) -> None:
    counting = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 5000)"
    many = f"{counting} INSERT INTO t SELECT n FROM c"
    path = make(tmp_path / "a.db", "CREATE TABLE t (x)", many, "CREATE TABLE u (x)")
    for limits, said in (
        (Limits(rows=100), "rows"),
        (Limits(tables=1), "tables"),
    ):
        with pytest.raises(Unreadable, match=said):
            read_database(path, limits)
    slow = "CREATE TABLE g (x, y AS (length(hex(zeroblob(10)))))"
    path = make(tmp_path / "b.db", slow, "CREATE TABLE t (x)", many, "INSERT INTO g(x) SELECT x FROM t")
    with pytest.raises(Unreadable, match="interrupted"):
        read_database(path, Limits(steps=-1))


def test_a_journal_that_names_another_file_is_refused_and_the_file_stays(tmp_path: Path) -> None:
    path = killed(tmp_path, False, "DELETE")
    victim = tmp_path / "victim"
    victim.write_text("x")
    name = str(victim).encode()
    record = name + len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big")
    journal = path.with_name("a.db-journal")
    journal.write_bytes(journal.read_bytes() + record + bytes.fromhex("d9d505f920a163d7"))
    with pytest.raises(Unreadable, match="another file"):
        read_database(path)
    assert victim.exists()


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_damaged_bytes_are_read_or_refused(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("db")
    path = make(
        folder / "a.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT)", "INSERT INTO t VALUES (1, 'a')"
    )
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 12))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(content))
    try:
        found = read_database(path)
    except Unreadable:
        return
    assert len(found.tables) <= 50
