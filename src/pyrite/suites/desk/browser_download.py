"""Family browser_download: download one of several lists of the web application.

The list must be the one that was asked for, whole, in Downloads, under the name that the application
gives it; where a file of that name is there, Chromium adds a number. What is shown is not downloaded.
"""

from __future__ import annotations

import csv
import io
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.databases import SIDECARS, read_database
from pyrite.checks.homes import TooManyFiles, diff, digest_file, snapshot
from pyrite.checks.package import Unreadable, read_file
from pyrite.checks.verdict import NOTHING_PERSISTED, Result
from pyrite.suites.desk.kontor import DATABASE, LIMITS
from pyrite.suites.family import Family, KnownState

FILES = Path(__file__).with_name("files")
HEAD = ["id", "name", "city", "sku", "product", "quantity", "state", "note"]
STATES = ("draft", "placed", "shipped", "cancelled")
MAX_BYTES = 1 << 20
OLD = "orders_old.csv"
Rows = list[list[str]]


class Params(NamedTuple):
    """One task."""

    database: str
    state: str
    """Of the orders that are wanted; empty: all."""
    page: str
    there: bool = False
    """Whether an older file of that name is in Downloads."""

    @property
    def name(self) -> str:
        return f"orders-{self.state or 'all'}.csv"

    @property
    def which(self) -> str:
        return f"the orders whose state is {self.state}" if self.state else "all orders"


def initial(params: Params) -> dict[str, str]:
    return {DATABASE: params.database, **({f"Downloads/{params.name}": OLD} if params.there else {})}


def instruction(params: Params) -> str:
    place, numbered = f"Downloads/{params.name}", params.name.replace(".csv", " (1).csv")
    old = (
        f" An older {place} is there already: leave it as it is, the new one may be called {numbered}."
        if params.there
        else ""
    )
    return (
        "In the web application Kontor that is open in the browser, download the list of "
        f"{params.which} as CSV, so that it is in {place}; change no order.{old} "
        "Download it once and nothing else, and change no other file."
    )


def wanted(params: Params) -> Rows:
    """The list as the application makes it of the initial database."""
    tables = read_database(FILES / params.database).tables
    rows = [HEAD]
    for key, order in sorted(tables["orders"].rows.items()):
        found = dict(zip(tables["orders"].columns, order, strict=True))
        customer = dict(
            zip(tables["customers"].columns, tables["customers"].rows[found["customer_id"]], strict=True)
        )
        product = dict(
            zip(tables["products"].columns, tables["products"].rows[found["product_id"]], strict=True)
        )
        if params.state in ("", found["state"]):
            parts = (key, customer["name"], customer["city"], product["sku"], product["name"])
            rows.append([*map(str, parts), *(str(found[name]) for name in ("quantity", "state", "note"))])
    return rows


def read_rows(path: Path) -> Rows | None:
    """The rows of a small CSV file; None for anything else."""
    try:
        text = read_file(path, MAX_BYTES).decode("utf-8")
        return list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except (Unreadable, UnicodeDecodeError, csv.Error):
        return None


def verify(params: Params, home: Path) -> Result:
    """Look for the list among what was downloaded; the database must hold what it held."""
    seen: dict[str, Any] = {"file": f"Downloads/{params.name}", "expected": [params.name], "damage": []}
    before = {path: digest_file(FILES / name) for path, name in initial(params).items() if path != DATABASE}
    try:
        after = snapshot(home)
        database = read_database(home / DATABASE, LIMITS)
    except TooManyFiles as exc:
        return Result(False, (), {**seen, "damage": [str(exc)]})
    except Unreadable as exc:
        return Result(False, (), {**seen, "damage": [f"{DATABASE}: {exc}"[:200]]})
    for ending in ("", *SIDECARS):
        after.pop(DATABASE + ending, None)
    moved = diff(before, after)
    rows = wanted(params)
    new = [*moved.added, *(path for _, path in moved.renamed), *moved.changed]
    stem, number = re.escape(params.name.removesuffix(".csv")), r"(?: \(\d{1,3}\))?"
    named = [path for path in new if re.fullmatch(rf"Downloads/{stem}{number}\.csv", path)]
    right = [path for path in named if read_rows(home / path) == rows and path not in before]
    given_up = [
        path for path in moved.added if path.startswith("Downloads/") and path.endswith(".crdownload")
    ]
    damage = [f"{path} is new" for path in new if path not in right[:1] and path not in given_up]
    damage += [f"{path} is gone" for path in (*moved.removed, *(old for old, _ in moved.renamed))]
    damage += [] if database == read_database(FILES / params.database) else ["the orders have changed"]
    seen["damage"] = [text[:200] for text in damage[:10]]
    if right:
        return Result(not damage, ("F-SIDEEFFECT",) if damage else (), seen)
    return Result(False, _category(home, new, named, rows) or (() if damage else NOTHING_PERSISTED), seen)


def _category(home: Path, new: list[str], named: list[str], rows: Rows) -> tuple[str, ...]:
    """What files allow of which none is the list under its name in Downloads."""
    codes = {"F-PARTIAL"} if named else set()
    elsewhere = [path for path in new if path not in named]
    if any(read_rows(home / path) == rows for path in elsewhere):
        codes.add("F-WRONGTARGET")
    elif any(re.fullmatch(r"Downloads/orders-\w+(?: \(\d{1,3}\))?\.csv", path) for path in elsewhere):
        codes.add("F-WRONGTARGET")  # another list
    elif any(path.endswith(".crdownload") for path in elsewhere):
        codes.add("F-UNCOMMITTED")
    return tuple(sorted(codes))


# --- known states ------------------------------------------------------------------------------


class _Builder:
    """Makes known states of one task."""

    def __init__(self, params: Params) -> None:
        self.params = params
        name = params.name
        self.place = f"Downloads/{name.replace('.csv', ' (1).csv') if params.there else name}"

    def put(
        self, state: str, path: str = "", *, end: str = "\r\n", cut: int | None = None
    ) -> Callable[[Path], None]:
        def make(home: Path) -> None:
            out = io.StringIO()
            csv.writer(out, lineterminator=end).writerows(wanted(self.params._replace(state=state))[:cut])
            target = home / (path or self.place)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(out.getvalue().encode())

        return make

    def right(self, *then: Callable[[Path], object]) -> Callable[[Path], None]:
        def make(home: Path) -> None:
            self.put(self.params.state)(home)
            for step in then:
                step(home)

        return make

    def text(self, text: str, path: str = "") -> Callable[[Path], None]:
        def make(home: Path) -> None:
            target = home / (path or self.place)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)

        return make


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", _Builder(params).right()),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    make = _Builder(params)
    numbered = f"Downloads/{params.name.replace('.csv', ' (2).csv')}"

    def leftovers(home: Path) -> None:
        (home / ".config/chromium/Default").mkdir(parents=True)
        (home / ".config/chromium/Default/History").write_bytes(b"SQLite format 3\0")
        shutil.copyfile(FILES / params.database, home / f"{DATABASE}-shm")

    return (
        KnownState("unix_lines", make.put(params.state, end="\n")),
        KnownState("leftovers", make.right(leftovers)),
        KnownState("numbered", make.put(params.state, numbered)),
        KnownState("given_up_first", make.right(make.text("id,na", "Downloads/Unconfirmed 1234.crdownload"))),
    )


def bad(params: Params) -> tuple[KnownState, ...]:
    make = _Builder(params)
    other = next(state for state in STATES if state != params.state)
    other_name = f"Downloads/orders-{other}.csv"
    twice = f"Downloads/{params.name.replace('.csv', ' (2).csv')}"
    elsewhere, partial, beside = ("F-WRONGTARGET",), ("F-PARTIAL",), ("F-SIDEEFFECT",)

    def cancel(home: Path) -> None:
        import sqlite3
        from contextlib import closing

        with closing(sqlite3.connect(home / DATABASE, isolation_level=None)) as connection:
            connection.execute("UPDATE orders SET state = 'x' WHERE id = (SELECT min(id) FROM orders)")

    states = [
        KnownState("untouched", lambda home: None, NOTHING_PERSISTED),
        KnownState("other_list", make.put(other, other_name), elsewhere),
        KnownState("other_list_renamed", make.put(other), partial),
        KnownState("head_only", make.put(params.state, cut=1), partial),
        KnownState("row_missing", make.put(params.state, cut=-1), partial),
        KnownState("saved_page", make.text("<table></table>", "Downloads/Orders - Kontor.html")),
        KnownState("page_under_that_name", make.text("<table></table>"), partial),
        KnownState("in_documents", make.put(params.state, f"Documents/{params.name}"), elsewhere),
        KnownState("in_the_home", make.put(params.state, params.name), elsewhere),
        KnownState(
            "not_finished", make.text("id,na", "Downloads/Unconfirmed 1234.crdownload"), ("F-UNCOMMITTED",)
        ),
        KnownState("both_lists", make.right(make.put(other, other_name)), beside),
        KnownState("twice", make.right(make.put(params.state, twice)), beside),
        KnownState("order_changed", make.right(cancel), beside),
        KnownState("database_gone", make.right(lambda home: (home / DATABASE).unlink())),
    ]
    if params.there:
        old = f"Downloads/{params.name}"
        states.append(KnownState("old_one_gone", make.right(lambda home: (home / old).unlink()), beside))
        states.append(KnownState("old_one_overwritten", make.put(params.state, old), partial))
    return tuple(states)


# --- tasks -------------------------------------------------------------------------------------


def script(params: Params) -> list[dict[str, Any]]:
    """Go to the address that the link has."""
    return [
        {"action": "key", "keys": "ctrl+l"},
        {"action": "type", "text": f"127.0.0.1:8000/orders.csv?state={params.state}"},
        {"action": "key", "keys": "Return"},
        {"action": "wait", "seconds": 1.0},
        {"action": "done"},
    ]


FAMILY = Family(
    name="browser_download",
    domain="browser",
    files=FILES,
    params={
        "browser-download-placed-lamps": Params("kontor_lamps.db", "placed", "/orders"),
        "browser-download-drafts-books": Params("kontor_books.db", "draft", "/orders?state=placed"),
        "browser-download-all-again": Params("kontor_lamps.db", "", "/orders?state=placed", there=True),
        "browser-download-placed-again": Params("kontor_books.db", "placed", "/tickets", there=True),
    },
    instruction=instruction,
    initial=initial,
    opened=lambda one: ("kontor", (one.page,)),
    reads=("**",),
    good=good,
    harmless=harmless,
    bad=bad,
    verify=verify,
    script=script,
    claim=lambda one: f"I downloaded {one.name}.",
)
