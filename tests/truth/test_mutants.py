"""Near-misses of small homes in every format, read back with other libraries than made them."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from odf.opendocument import OpenDocumentSpreadsheet, OpenDocumentText
from odf.table import Table, TableCell, TableRow
from odf.text import P
from openpyxl import Workbook, load_workbook

from pyrite.checks.cells import read_workbook
from pyrite.checks.homes import snapshot
from pyrite.truth.mutants.build import build
from pyrite.truth.mutants.grids import near_grid
from pyrite.truth.mutants.lines import near_lines
from pyrite.truth.mutants.model import FEWEST, MOST, OPERATORS, PER_OPERATOR
from pyrite.truth.mutants.trees import near_tree
from pyrite.truth.mutants.values import near_number, near_text, near_written

Write = Callable[[Path], None]


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., dict[str, dict[str, Any]]]:
    def make(initial: Write, good: Write, *harmless: Write, reads: tuple[str, ...] = ()) -> dict[str, Any]:
        homes = []
        for number, write in enumerate((initial, good, *harmless)):
            home = tmp_path / f"home-{number}"
            (home / "d").mkdir(parents=True)
            write(home)
            homes.append(home)
        before = snapshot(homes[1], ignore=())
        found = build(homes[0], homes[1], homes[2:], list(reads), _new(tmp_path / "out"), "seed")
        again = build(homes[0], homes[1], homes[2:], list(reads), _new(tmp_path / "again"), "seed")
        assert found == again
        assert snapshot(homes[1], ignore=()) == before, "the good home is never written to"
        digests = [
            json.dumps(snapshot(tmp_path / "out" / one["folder"], ignore=())) for one in found["mutants"]
        ]
        known = [json.dumps(snapshot(home, ignore=())) for home in homes[:2]]
        assert len({*digests, *known}) == len(digests) + 2, "each is another home"
        assert len(digests) <= MOST
        used = [one["operator"] for one in found["mutants"]]
        assert max(map(used.count, used)) <= PER_OPERATOR
        assert {*used, *found["not_applicable"]} == {*OPERATORS}
        assert not {*used} & {*found["not_applicable"]}
        return {one["name"]: {**one, "home": tmp_path / "out" / one["folder"]} for one in found["mutants"]}

    return make


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _by_operator(made: dict[str, dict[str, Any]], operator: str) -> Path:
    home: Path = next(one["home"] for one in made.values() if one["operator"] == operator)
    return home


def _rows(made: dict[str, dict[str, Any]], operator: str) -> list[list[str]]:
    with (_by_operator(made, operator) / "d/p.csv").open(newline="") as file:
        return list(csv.reader(file))


def test_a_csv_file(made: Any) -> None:
    rows = "name,price\napples,1.20\npears,4.00\nplums,7\n"

    def initial(home: Path) -> None:
        (home / "d/p.csv").write_text(rows)
        (home / "d/other.txt").write_text("left alone\n")

    def good(home: Path) -> None:
        initial(home)
        (home / "d/p.csv").write_text(rows.replace("4.00", "4.50"))

    found = made(initial, good)
    assert len(found) >= FEWEST
    wanted = ("off-by-one", "off-by-half", "last-digit", "sign", "ten-times", "locale-format")
    assert {operator: _rows(found, operator)[2][1] for operator in wanted} == {
        "off-by-one": "5.50",
        "off-by-half": "5.00",
        "last-digit": "4.60",
        "sign": "-4.50",
        "ten-times": "45.00",
        "locale-format": "4,50",
    }
    below = _rows(found, "shift-down")
    assert (below[2][1], below[3][1]) == ("4.00", "4.50")
    folded = _by_operator(found, "case-folded-path") / "d"
    assert ((folded / "p.csv").read_text(), (folded / "P.csv").read_text()) == (
        rows,
        rows.replace("4.00", "4.50"),
    )
    assert not (_by_operator(found, "file-deleted") / "d/other.txt").exists()
    assert (_by_operator(found, "deleted-file") / "d").is_dir()


def test_settings(made: Any) -> None:
    def initial(home: Path) -> None:
        (home / "d/app.ini").write_text("[net]\nport = 80\nhost = a\n[log]\nlevel = info\n")

    def good(home: Path) -> None:
        (home / "d/app.ini").write_text("[net]\nport = 8080\nhost = a\n[log]\nlevel = info\n")

    found = made(initial, good)
    assert len(found) >= FEWEST
    text = {
        operator: (_by_operator(found, operator) / "d/app.ini").read_text()
        for operator in ("off-by-one", "commented-out", "other-sheet", "duplicate-row", "neighbour-deleted")
    }
    assert "port = 8081\n" in text["off-by-one"]
    assert "# port = 8080\n" in text["commented-out"]
    assert "[log]\nport = 8080\n" in text["other-sheet"]
    assert "[net]\nport = 80\n" in text["other-sheet"]
    assert text["duplicate-row"].count("port = 8080\n") == 2
    assert "port = 8080" in text["neighbour-deleted"]


def test_a_json_file(made: Any) -> None:
    def initial(home: Path) -> None:
        (home / "d/s.json").write_text(json.dumps({"size": 10, "on": False, "names": ["a", "b"], "t": "x"}))

    def good(home: Path) -> None:
        (home / "d/s.json").write_text(json.dumps({"size": 12, "on": True, "names": ["a", "b"], "t": "x"}))

    found = made(initial, good)
    assert len(found) >= FEWEST
    assert json.loads((_by_operator(found, "number-as-text") / "d/s.json").read_text())["size"] in {"12", 12}
    bodies = [
        json.loads((one["home"] / "d/s.json").read_text()) for name, one in found.items() if "#size" in name
    ]
    assert {"size": 13, "on": True, "names": ["a", "b"], "t": "x"} in bodies
    assert {"size": 10, "on": True, "names": ["a", "b"], "t": "x"} in bodies


def test_a_database(made: Any) -> None:
    def fill(home: Path, price: int) -> None:
        with sqlite3.connect(home / "d/shop.db") as connection:
            connection.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price INTEGER)")
            rows = [(1, "lamp", 7), (2, "desk", price), (3, "chair", 20)]
            connection.executemany("INSERT INTO item VALUES (?, ?, ?)", rows)
        connection.close()

    found = made(lambda home: fill(home, 40), lambda home: fill(home, 45))
    assert len(found) >= FEWEST

    def rows(operator: str) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(_by_operator(found, operator) / "d/shop.db")
        try:
            return connection.execute("SELECT id, name, price FROM item ORDER BY id").fetchall()
        finally:
            connection.close()

    assert rows("off-by-one")[1] == (2, "desk", 46)
    assert rows("shift-down")[1:] == [(2, "desk", 40), (3, "chair", 45)]
    assert rows("neighbour-deleted")[0][0] in {1, 2}
    assert len(rows("neighbour-deleted")) == 2


def test_a_text_document(made: Any) -> None:
    def write(home: Path, price: str) -> None:
        document = OpenDocumentText()
        for text in ("Offer", f"The price is {price} EUR", "Kind regards"):
            document.text.addElement(P(text=text))
        document.save(str(home / "d/offer.odt"))

    found = made(lambda home: write(home, "30"), lambda home: write(home, "45"))
    assert len(found) >= FEWEST

    def paragraphs(operator: str) -> list[str]:
        from odf.opendocument import load

        document = load(str(_by_operator(found, operator) / "d/offer.odt"))
        return ["".join(map(str, p.childNodes)) for p in document.text.getElementsByType(P)]

    assert paragraphs("off-by-one")[1] == "The price is 46 EUR"
    assert paragraphs("duplicate-row") == [
        "Offer",
        "The price is 45 EUR",
        "The price is 45 EUR",
        "Kind regards",
    ]
    assert len(paragraphs("neighbour-deleted")) == 2


def test_workbooks_of_two_libraries(made: Any) -> None:
    def xlsx(home: Path, value: float) -> None:
        book = Workbook()
        sheet = book.active
        assert sheet is not None
        for row in range(1, 8):
            sheet.append([f"row {row}", row * 10.0])
        sheet["B5"] = value
        book.create_sheet("More").append(["other", 1])
        book.save(home / "d/a.xlsx")

    found = made(lambda home: xlsx(home, 50), lambda home: xlsx(home, 4500))
    assert len(found) >= FEWEST
    cells = load_workbook(_by_operator(found, "shift-down") / "d/a.xlsx").worksheets[0]
    assert (cells["B5"].value, cells["B6"].value) == (50, 4500)
    assert (
        load_workbook(_by_operator(found, "number-as-text") / "d/a.xlsx").worksheets[0]["B5"].value == "4500"
    )
    assert (
        load_workbook(_by_operator(found, "stale-formula") / "d/a.xlsx").worksheets[0]["B5"].value == "=1+1"
    )
    twice = load_workbook(_by_operator(found, "duplicate-row") / "d/a.xlsx").worksheets[0]
    assert [twice[f"B{row}"].value for row in range(4, 9)] == [40, 4500, 4500, 60, 70]


def test_a_sheet_whose_rows_repeat(made: Any) -> None:
    def ods(home: Path, value: str) -> None:
        document = OpenDocumentSpreadsheet()
        table = Table(name="S")
        table.addElement(TableRow(numberrowsrepeated=3))
        line = TableRow()
        line.addElement(TableCell(valuetype="float", value=value))
        table.addElement(line)
        document.spreadsheet.addElement(table)
        document.save(str(home / "d/a.ods"))

    found = made(lambda home: ods(home, "1"), lambda home: ods(home, "2"))
    sheet = read_workbook(_by_operator(found, "duplicate-row") / "d/a.ods").sheets["S"]
    assert [sheet.at(f"A{row}").value for row in range(3, 7)] == [None, 2.0, 2.0, None]


def test_a_file_that_is_only_bytes_and_one_that_is_gone(made: Any) -> None:
    def initial(home: Path) -> None:
        for name in ("a.bin", "b.bin", "c.bin"):
            (home / "d" / name).write_bytes(b"\0\1" + name.encode())

    def good(home: Path) -> None:
        initial(home)
        (home / "d/a.bin").write_bytes(b"\0\2new")
        (home / "d/b.bin").unlink()

    found = made(initial, good)
    assert len(found) >= 8
    assert {one["operator"] for one in found.values()} >= {"drop-change", "sibling-file", "truncated-file"}
    assert (_by_operator(found, "written-as-copy") / "d/a_new.bin").read_bytes() == b"\0\2new"


def test_what_harmless_states_do_is_no_near_miss(made: Any) -> None:
    def initial(home: Path) -> None:
        (home / "note.txt").write_text("old\n")
        (home / "log.txt").write_text("a\n")

    def good(home: Path) -> None:
        initial(home)
        (home / "note.txt").write_text("new\n")

    def harmless(home: Path) -> None:
        good(home)
        (home / "log.txt").write_text("b\n")
        (home / "more.txt").write_text("x")

    found = {one["operator"] for one in made(initial, good, harmless).values()}
    assert not found & {"file-added", "file-changed", "file-deleted"}


def test_what_the_verifier_does_not_read_is_left_alone(made: Any) -> None:
    def initial(home: Path) -> None:
        (home / "d/a.txt").write_text("old\n")
        (home / "elsewhere.txt").write_text("x\n")

    def good(home: Path) -> None:
        initial(home)
        (home / "d/a.txt").write_text("new\n")

    found = {one["operator"] for one in made(initial, good, reads=("d/**",)).values()}
    assert not found & {"file-changed", "file-deleted"}


@pytest.mark.parametrize("data", [b"PK\3\4 broken", b"", b"\xff\xfe", b"SQLite format 3\0junk", b"[" * 5000])
@pytest.mark.parametrize("name", ["a.ods", "a.docx", "a.json", "a.csv", "a.txt"])
def test_files_that_cannot_be_read_leave_the_file_operators(made: Any, data: bytes, name: str) -> None:
    def initial(home: Path) -> None:
        (home / "d" / name).write_bytes(b"before")

    found = made(initial, lambda home: (home / "d" / name).write_bytes(data))
    assert {one["operator"] for one in found.values()} >= {"written-as-copy", "deleted-file"}


def test_a_link_in_a_home_is_not_followed(made: Any, tmp_path: Path) -> None:
    outside = tmp_path / "secret.txt"
    outside.write_text("secret\n")

    def initial(home: Path) -> None:
        (home / "d/a.txt").write_text("old\n")
        (home / "d/link.txt").symlink_to(outside)

    def good(home: Path) -> None:
        initial(home)
        (home / "d/a.txt").write_text("new\n")

    for one in made(initial, good).values():
        link = one["home"] / "d/link.txt"
        assert link.is_symlink()
    assert outside.read_text() == "secret\n"


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_no_number_is_near_itself(value: float) -> None:
    assert all(near.value != value for near in near_number(value))


@given(st.text(max_size=20))
def test_no_text_is_near_itself(text: str) -> None:
    assert all(near.value != text for near in near_text(text))
    assert all(str(near.value) != text for near in near_written(text))


LINES = st.lists(st.text(alphabet="ab =1\n[]:".replace("\n", ""), max_size=8), max_size=6)


@given(LINES, LINES, st.booleans())
def test_lines_of_any_kind_give_edits_and_no_error(
    before: list[str], after: list[str], settings: bool
) -> None:
    for edited in near_lines(before, after, settings=settings):
        assert edited.operator in OPERATORS
        assert all(isinstance(line, str) for line in edited.lines)


@given(st.lists(LINES, max_size=4), st.lists(LINES, max_size=4))
def test_rows_of_any_kind_give_edits_and_no_error(before: list[list[str]], after: list[list[str]]) -> None:
    assert all(near.operator in OPERATORS for near in near_grid(before, after))


TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=2), children, max_size=3)
    ),
    max_leaves=8,
)


@given(TREES, TREES)
def test_trees_of_any_kind_give_edits_and_no_error(before: Any, after: Any) -> None:
    for near in near_tree(before, after):
        assert near.operator in OPERATORS
        json.dumps(near.body)
