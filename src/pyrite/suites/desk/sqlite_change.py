"""Family sqlite_change: change rows of a database in the sqlite3 shell, committed.

What counts is what the next program finds: an open transaction has changed nothing, however its rows look
on the screen. Its journal beside the unchanged database tells of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.databases import SIDECARS, Database, read_database
from pyrite.checks.package import Unreadable
from pyrite.checks.verdict import Result
from pyrite.suites.desk.goals import FILES, READS, Goal, Status, instead, judge, shell
from pyrite.suites.family import Family, KnownState

STOCK, OLD, CLUB = "Data/stock.db", "Data/stock_2023.db", "Data/club.db"
HOME = {
    STOCK: "texts/stock.db",
    OLD: "texts/stock_2023.db",
    CLUB: "texts/club.db",
    "Data/README.txt": "texts/tools_readme.txt",
    "Data/words.txt": "texts/words_new.txt",
}
Row = tuple[Any, ...] | None


class Params(NamedTuple):
    """One task."""

    path: str
    words: str
    changes: tuple[tuple[str, int, Row], ...]
    """(table, key, its row without the key; None: the row is to be gone)."""
    statements: tuple[str, ...]
    """What a competent agent types, in one transaction where there are several."""
    wrong: tuple[tuple[str, str], ...]
    """(name, statements) that reach something else; a name that begins with "also" adds to the right ones."""
    expected: tuple[str, ...]
    sibling: str = ""
    """A database with the same tables."""


PARAMS = {
    "sqlite-change-lamp-quantity": Params(
        STOCK, "In the table items of Data/stock.db, set the quantity of the item named lamp (id 1) to 9.",
        (("items", 1, ("lamp", 9, 22.0)),), ("UPDATE items SET quantity = 9 WHERE id = 1;",),
        (("row_below", "UPDATE items SET quantity = 9 WHERE id = "
        "2;"), ("all", "UPDATE items SET quantity = 9;"),
         ("as_text", "UPDATE items SET quantity = 'nine' WHERE id = 1;"),
         ("other_column", "UPDATE items SET price = 9 WHERE id = 1;")), ("9",), OLD,
    ),
    "sqlite-change-order-paid": Params(
        STOCK, "In the table orders of Data/stock.db, set the state of order 104 (Lindgren) to paid.",
        (("orders", 104, ("Lindgren", 2, "paid")),), ("UPDATE orders SET state = 'paid' WHERE id = 104;",),
        (("row_above", "UPDATE orders SET state = 'paid' WHERE id = 103 OR id = 102;"),
         ("all_open", "UPDATE orders SET state = 'paid' WHERE state = 'open';"),
         ("other_case", "UPDATE orders SET state = 'Paid' WHERE id = 104;")), ("paid",), OLD,
    ),
    "sqlite-change-new-item": Params(
        STOCK, "Add one row to the table items of Data/stock.db: id 6, name dimmer, quantity 15, price 9.75.",
        (("items", 6, ("dimmer", 15, 9.75)),), ("INSERT INTO items VALUES (6, 'dimmer', 15, 9.75);",),
        (("other_key", "INSERT INTO items VALUES (7, 'dimmer', 15, 9.75);"),
         ("wrong_price", "INSERT INTO items VALUES (6, 'dimmer', 15, 97.5);"),
         ("replaced", "UPDATE items SET id = 6, name = 'dimmer', quantity = 15, price = 9.75 WHERE id = 5;"),
         ("also_again", "INSERT INTO items VALUES (8, 'dimmer', 15, 9.75);")), ("dimmer",), OLD,
    ),
    "sqlite-change-delete-member": Params(
        CLUB, "Delete the member named Ida Berg (id 3), and no other, from the table members of "
        "Data/club.db.",
        (("members", 3, None),), ("DELETE FROM members WHERE id = 3;",),
        (("row_above", "DELETE FROM members WHERE id = 1;"),
         ("also_town", "DELETE FROM members WHERE town = 'Bergen';"),
         ("renamed", "UPDATE members SET name = '' WHERE id = 3;")), ("members",),
    ),
    "sqlite-change-move-walk": Params(
        CLUB, "In the table events of Data/club.db, set the day of the event titled Summer walk (id "
        "2) to 2024-06-22.",
        (("events", 2, ("Summer walk", "2024-06-22")),), ("UPDATE events SET day = '2024-06-22' "
        "WHERE id = 2;",),
        (("row_below", "UPDATE events SET day = '2024-06-22' WHERE id = 3;"),
         ("other_form", "UPDATE events SET day = '22.06.2024' WHERE id = 2;"),
         ("other_column", "UPDATE events SET title = 'Summer Walk' WHERE id = 2;")), ("2024-06-22",),
    ),
    "sqlite-change-two-fees": Params(
        CLUB,
        "In one transaction that is committed, set the fee of the members Ida Berg (id 3) and Kari "
        "Moe (id 5) to 25 "
        "in the table members of Data/club.db.",
        (("members", 3, ("Ida Berg", "Bergen", 25)), ("members", 5, ("Kari Moe", "Bergen", 25))),
        ("BEGIN;", "UPDATE members SET fee = 25 WHERE id = "
        "3;", "UPDATE members SET fee = 25 WHERE id = 5;", "COMMIT;"),
        (("one_of_two", "UPDATE members SET fee = 25 WHERE id = 3;"),
         ("others", "UPDATE members SET fee = 25 WHERE id = 1 OR id = 2;"),
         ("also_all", "UPDATE members SET fee = 25;")), ("25",),
    ),
}  # fmt: skip


def instruction(params: Params) -> str:
    return f"{params.words} Change nothing else."


def claim(params: Params) -> str:
    return f"{params.path} is changed as asked."


def initial(params: Params) -> Mapping[str, str]:
    return HOME


def opened(params: Params) -> tuple[str, tuple[str, ...]]:
    return "xterm", ()


def script(params: Params) -> list[dict[str, Any]]:
    return shell(f"sqlite3 {params.path}", *params.statements, ".quit")


# --- the verifier ------------------------------------------------------------------------------


def wanted(params: Params, path: str) -> dict[tuple[str, int], Row]:
    """Every row of the initial database at `path` as it is to be at the end."""
    rows = _rows(read_database(FILES / HOME[path]))
    for table, key, row in params.changes:
        rows[table, key] = row and (key, *row)
    return {at: row for at, row in rows.items() if row is not None}


def _rows(found: Database) -> dict[tuple[str, int], Row]:
    """(table, key) -> row; a row's own key comes first."""
    return {
        (name, key): (key, *row[1:])
        for name, table in found.tables.items()
        for key, row in table.rows.items()
    }


def _same(one: Mapping[Any, Row], other: Mapping[Any, Row]) -> bool:
    """Equal, and of equal types: 9 is not '9', and neither is it 9.0."""
    return repr(sorted(one.items())) == repr(sorted(other.items()))


def _look(params: Params, path: str, home: Path) -> Status:
    was = read_database(FILES / HOME[path])
    try:
        found = read_database(home / path)
    except Unreadable as exc:
        return "lost" if exc.reason == "missing" else "wrong"
    rows = _rows(found)
    if found.schema != was.schema:
        return "wrong"
    if _same(rows, wanted(params, path)):
        return "right"
    return "untouched" if _same(rows, _rows(was)) else "wrong"


def verify(params: Params, home: Path) -> Result:
    """The rows are as asked, every other row and file is as it was."""
    goal = Goal(params.path, look=lambda home: _look(params, params.path, home))
    allowed = [f"Data/*.db{ending}" for ending in SIDECARS]
    decoys = [instead(Goal(path, look=_elsewhere(params, path)), "F-WRONGTARGET") for path in copies(params)]
    if params.sibling:
        sibling = Goal(params.sibling, look=_elsewhere(params, params.sibling))
        decoys.append(instead(sibling, "F-WRONGAPP"))
    found = judge(home, HOME, [goal], expected=list(params.expected), decoys=decoys, allowed=allowed)
    if (
        found.passed
        or found.diagnostics["goals"].get(params.path) != "wrong"
        or "F-PARTIAL" not in found.category
    ):
        return _with_transaction(params, home, found)
    return found._replace(category=_narrowed(params, home))


def _elsewhere(params: Params, path: str) -> Callable[[Path], Status]:
    like = path if path in HOME else params.path
    return lambda home: (
        "right" if _read_rows(home / path) == repr(sorted(wanted(params, like).items())) else "wrong"
    )


def _read_rows(path: Path) -> str:
    try:
        return repr(sorted(_rows(read_database(path)).items()))
    except Unreadable:
        return ""


def copies(params: Params) -> list[str]:
    return [f"Data/{params.path[5:-3]}_new.db", params.path[5:], f"{params.path}.new"]


def _with_transaction(params: Params, home: Path, found: Result) -> Result:
    """An unchanged database with a journal beside it: a transaction was open when all ended."""
    state = found.diagnostics["goals"].get(params.path)
    if found.passed or state != "untouched" or found.diagnostics["damage_count"]:
        return found
    journal = home / f"{params.path}-journal"
    is_open = journal.is_file() and not journal.is_symlink()
    seen = {**found.diagnostics, "open_transaction": is_open}
    return Result(False, ("F-UNCOMMITTED",) if is_open else found.category, seen)


def _narrowed(params: Params, home: Path) -> tuple[str, ...]:
    """Of a database that is wrong: whether the right rows are right, and whether others hold the change."""
    try:
        rows = _rows(read_database(home / params.path))
    except Unreadable:
        return ("F-PARTIAL",)
    was = _rows(read_database(FILES / HOME[params.path]))
    target = {(table, key): row and (key, *row) for table, key, row in params.changes}
    right = [at for at, row in target.items() if rows.get(at) == row]
    moved = [at for at in rows.keys() | was.keys() if rows.get(at) != was.get(at) and at not in target]
    if len(right) == len(target):
        return ("F-SIDEEFFECT",)
    untouched = all(rows.get(at) == was.get(at) for at in target)
    return ("F-WRONGTARGET",) if untouched and moved else ("F-PARTIAL",)


def good(params: Params) -> tuple[KnownState, ...]:
    from pyrite.suites.desk import sqlite_change_states as known

    return known.good(params)


def harmless(params: Params) -> tuple[KnownState, ...]:
    from pyrite.suites.desk import sqlite_change_states as known

    return known.harmless(params)


def bad(params: Params) -> tuple[KnownState, ...]:
    from pyrite.suites.desk import sqlite_change_states as known

    return known.bad(params)


FAMILY = Family(
    name="sqlite_change",
    domain="terminal",
    files=FILES,
    params=PARAMS,
    instruction=instruction,
    initial=initial,
    opened=opened,
    reads=READS,
    good=good,
    harmless=harmless,
    bad=bad,
    verify=verify,
    script=script,
    claim=claim,
    tools=("sqlite3",),
)
