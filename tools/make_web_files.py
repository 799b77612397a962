"""Make the databases and pages that the web and browser tasks of the desk suite start from.

    python tools/make_web_files.py

Writes `kontor_*.db`, `chromium_*.json` and `page_*.html` and what else
they name into `src/pyrite/suites/desk/files/`; the same each time.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from pyrite.sandbox.kontor.data import SCHEMA

FILES = Path(__file__).resolve().parents[1] / "src/pyrite/suites/desk/files"
Rows = list[tuple[Any, ...]]

LAMPS: dict[str, Rows] = {
    "customers": [
        (1, "Anna Weber", "Bremen", "anna.weber@example.org", "0421 5501"),
        (2, "Tom Fischer", "Ulm", "tom.fischer@example.org", "0731 2210"),
        (3, "Anna Weber", "Kassel", "a.weber@example.net", "0561 8837"),
        (4, "Anne Weber", "Bremen", "anne.weber@example.org", "0421 5510"),
        (5, "Li Chen", "Bonn", "li.chen@example.com", "0228 7012"),
        (6, "Eva Lund", "Kiel", "eva.lund@example.org", "0431 4409"),
        (7, "Eva Lund", "Flensburg", "e.lund@example.net", "0461 9921"),
        (8, "Omar Haddad", "Essen", "omar@example.com", "0201 3345"),
        (9, "Tom Fischer", "Trier", "fischer.tom@example.net", "0651 1180"),
    ],
    "products": [
        (1, "DL-10", "Desk lamp", 14),
        (2, "DL-12", "Desk lamp", 3),
        (3, "FL-20", "Floor lamp", 6),
        (4, "CD-25", "Cable drum 25 m", 21),
        (5, "CD-50", "Cable drum 50 m", 9),
        (6, "BX-04", "Bulb box of 4", 60),
        (7, "BX-10", "Bulb box of 10", 35),
    ],
    "orders": [
        (1001, 1, 1, 2, "", "shipped"),
        (1002, 3, 1, 2, "", "placed"),
        (1003, 1, 1, 2, "", "placed"),
        (1004, 2, 4, 1, "call before delivery", "placed"),
        (1005, 5, 3, 1, "", "placed"),
        (1006, 5, 3, 1, "second one", "placed"),
        (1007, 6, 7, 4, "", "draft"),
        (1008, 7, 7, 4, "", "draft"),
        (1009, 8, 5, 2, "", "placed"),
        (1010, 2, 6, 10, "", "draft"),
        (1011, 9, 6, 10, "", "draft"),
        (1012, 4, 2, 1, "", "placed"),
        (1013, 6, 2, 5, "", "cancelled"),
        (1014, 9, 4, 3, "", "placed"),
    ],
    "tickets": [
        (1, "Printer prints grey pages", 1, "printer", "nobody", "normal", "open"),
        (2, "Invoice sent twice", 2, "billing", "Ines", "low", "open"),
        (3, "Printer does not wake up", 5, "printer", "Jonas", "normal", "open"),
        (4, "Parcel left in the rain", 3, "delivery", "nobody", "high", "open"),
        (5, "Printer prints grey pages", 6, "printer", "nobody", "normal", "waiting"),
        (6, "Wrong lamp in the parcel", 7, "returns", "Marc", "normal", "open"),
        (7, "Cannot log in", 8, "website", "Mara", "normal", "open"),
        (8, "Cannot log in", 4, "website", "Marc", "normal", "open"),
        (9, "Printer jams on labels", 9, "printer", "nobody", "low", "open"),
        (10, "Invoice has old address", 1, "billing", "nobody", "normal", "closed"),
        (11, "Parcel never arrived", 2, "delivery", "nobody", "urgent", "open"),
        (12, "Return label missing", 6, "returns", "Mara", "normal", "waiting"),
    ],
    "replies": [
        (1, 2, "We are looking into both invoices.", "sent"),
        (2, 6, "Please keep the lamp, we send the right one.", "draft"),
        (3, 6, "Which lamp did you receive?", "sent"),
        (4, 11, "We have asked the carrier.", "draft"),
        (5, 12, "The label is in your inbox.", "draft"),
        (6, 12, "The label follows tomorrow.", "draft"),
    ],
}
BOOKS: dict[str, Rows] = {
    "customers": [
        (1, "Maria Costa", "Porto", "maria.costa@example.org", "22 501 77"),
        (2, "Maria Costa", "Braga", "m.costa@example.net", "25 318 40"),
        (3, "Mario Costa", "Porto", "mario.costa@example.org", "22 501 78"),
        (4, "Jan Novak", "Brno", "jan.novak@example.com", "54 220 11"),
        (5, "Jan Novak", "Plzen", "novak.jan@example.net", "37 812 06"),
        (6, "Ida Berg", "Oslo", "ida.berg@example.org", "22 41 07"),
        (7, "Paul Martin", "Lyon", "paul.martin@example.com", "47 220 19"),
        (8, "Paula Martin", "Lyon", "paula.martin@example.com", "47 220 91"),
    ],
    "products": [
        (1, "AT-1P", "Atlas of rivers", 8),
        (2, "AT-1H", "Atlas of rivers", 2),
        (3, "CK-3P", "Cooking for three", 17),
        (4, "CK-4P", "Cooking for four", 11),
        (5, "GR-2P", "Grammar, part 2", 25),
        (6, "GR-3P", "Grammar, part 3", 24),
    ],
    "orders": [
        (201, 1, 1, 1, "gift wrap", "placed"),
        (202, 2, 1, 1, "", "placed"),
        (203, 3, 3, 2, "", "placed"),
        (204, 4, 5, 30, "for the school", "placed"),
        (205, 5, 5, 30, "", "placed"),
        (206, 6, 2, 1, "", "draft"),
        (207, 7, 4, 6, "", "draft"),
        (208, 8, 4, 6, "", "draft"),
        (209, 7, 6, 2, "", "shipped"),
        (210, 1, 2, 1, "", "placed"),
    ],
    "tickets": [
        (31, "Book arrived torn", 1, "returns", "nobody", "normal", "open"),
        (32, "Book arrived torn", 2, "returns", "nobody", "normal", "open"),
        (33, "Charged in another currency", 4, "billing", "Ines", "high", "open"),
        (34, "Search finds nothing", 6, "website", "Jonas", "low", "open"),
        (35, "Delivery to a new address", 7, "delivery", "Mara", "normal", "open"),
        (36, "Delivery to a new address", 8, "delivery", "Marc", "normal", "open"),
        (37, "Voucher not accepted", 5, "billing", "nobody", "normal", "waiting"),
        (38, "Refund not received", 3, "billing", "Ines", "normal", "open"),
        (39, "Page is blank", 6, "website", "Jonas", "normal", "closed"),
        (40, "Refund not received", 2, "billing", "Marc", "normal", "open"),
    ],
    "replies": [
        (11, 31, "Please send us a photo.", "draft"),
        (12, 32, "Please send us a photo.", "draft"),
        (13, 33, "We will refund the difference.", "sent"),
        (14, 35, "The address is changed.", "draft"),
    ],
}


def make(path: Path, tables: dict[str, Rows]) -> None:
    """Write one database with these rows."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(SCHEMA)
        for table, rows in tables.items():
            marks = ", ".join("?" * len(rows[0]))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)


def url(number: int, name: str, address: str) -> dict[str, Any]:
    return {"id": str(number), "name": name, "type": "url", "url": address}


def folder(number: int, name: str, *children: dict[str, Any]) -> dict[str, Any]:
    return {"id": str(number), "name": name, "type": "folder", "children": list(children)}


def bookmarks(bar: list[dict[str, Any]], other: list[dict[str, Any]]) -> dict[str, Any]:
    """Chromium's file of bookmarks, without what it fills in by itself."""
    roots = {
        "bookmark_bar": folder(1, "Bookmarks bar", *bar),
        "other": folder(2, "Other bookmarks", *other),
        "synced": folder(3, "Mobile bookmarks"),
    }
    return {"roots": roots, "version": 1}


PAGES = "file:///home/agent/Pages"
BOOKMARKS = {
    "chromium_home_bookmarks.json": bookmarks(
        [
            url(11, "Weather", f"{PAGES}/kiel.html"),
            folder(
                12,
                "Recipes",
                url(15, "Rye bread", f"{PAGES}/rye_bread.html"),
                url(16, "Rolls", f"{PAGES}/r.html"),
            ),
            folder(13, "Winter recipes", url(17, "Cabbage", f"{PAGES}/cabbage.html")),
            folder(14, "Travel", url(18, "Weather", f"{PAGES}/alps.html")),
        ],
        [url(19, "Old ferry", f"{PAGES}/ferry_2019.html")],
    ),
    "chromium_work_bookmarks.json": bookmarks(
        [
            url(21, "Intranet", "http://portal.example.org/"),
            folder(22, "Suppliers", url(25, "Lindner", "http://lindner.example.com/")),
            folder(23, "Former suppliers", url(26, "Brandt", "http://brandt.example.com/")),
            folder(24, "Meetings", url(27, "Intranet", "http://old-net.example.org/")),
        ],
        [url(28, "Canteen", "http://canteen.example.org/")],
    ),
}
TITLES = {
    "soup.html": "Pumpkin soup",
    "ferry.html": "Ferry timetable",
    "prices.html": "Price list",
    "minutes.html": "Minutes of May",
}
OLD_LIST = (
    "id,name,city,sku,product,quantity,state,note\r\n77,Tom Fischer,Ulm,CD-25,Cable drum 25 m,2,placed,\r\n"
)
FIRST = "http://portal.example.org/"
PREFERENCES: dict[str, dict[str, Any]] = {
    "chromium_bar_preferences.json": {"bookmark_bar": {"show_on_all_tabs": True}},
    "chromium_new_tab_preferences.json": {"session": {"restore_on_startup": 5}},
    "chromium_one_page_preferences.json": {"session": {"restore_on_startup": 4, "startup_urls": [FIRST]}},
}


def write_browser_files() -> None:
    """Bookmarks, settings and pages."""
    for name, value in {**BOOKMARKS, **PREFERENCES}.items():
        (FILES / name).write_text(json.dumps(value, indent=3) + "\n", "utf-8")
    (FILES / "orders_old.csv").write_bytes(OLD_LIST.encode())
    for name, title in TITLES.items():
        text = f"<!doctype html>\n<title>{title}</title>\n<h1>{title}</h1>\n<p>Last changed in spring.</p>\n"
        (FILES / f"page_{name}").write_text(text, "utf-8")


if __name__ == "__main__":
    write_browser_files()
    make(FILES / "kontor_lamps.db", LAMPS)
    make(FILES / "kontor_books.db", BOOKS)
