"""Near-misses of a spreadsheet (.ods, .xlsx): its cells beside what they were before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from pyrite.checks.cells import Cell, Sheet, Workbook, changes, describe, number_text, position, reference
from pyrite.checks.ods import parse_ods
from pyrite.checks.package import Bounds
from pyrite.checks.xlsx import parse_xlsx
from pyrite.suites.desk.edits import Formula, OdsDocument, XlsxDocument, open_document
from pyrite.truth.mutants.model import Mutant, put
from pyrite.truth.mutants.values import continental, near_number, near_text

ENDINGS = (".ods", ".xlsx")
BOUNDS = Bounds(file_bytes=8 << 20, member_bytes=32 << 20, total_bytes=64 << 20, elements=400_000)
MOST_CELLS = 200
Document = OdsDocument | XlsxDocument
Edit = Callable[[Document], None]


class _Site(NamedTuple):
    sheet: str
    row: int
    column: int
    before: Cell
    after: Cell

    @property
    def cell(self) -> str:
        return reference(self.row, self.column)

    @property
    def at(self) -> str:
        return f"{self.sheet}.{self.cell}"


def read_book(path: str, data: bytes) -> Workbook:
    """The cells of a spreadsheet's bytes; raises `Unreadable`."""
    return parse_ods(data, BOUNDS) if path.lower().endswith(".ods") else parse_xlsx(data, BOUNDS)


def near_sheets(path: str, before: bytes | None, after: bytes, others: dict[str, bytes]) -> Iterator[Mutant]:
    """Every near-miss of a spreadsheet; `others` are spreadsheets that the good state left alone."""
    book = read_book(path, after)
    old = read_book(path, before) if before is not None else Workbook({}, book.format)
    sites = _sites(old, book)
    taken = {(site.sheet, site.row, site.column) for site in sites}

    def mutant(operator: str, at: str, what: str, edit: Edit) -> Mutant:
        return Mutant(operator, f"{path}#{at}", what, lambda home: _write(home, path, after, book, edit))

    for site in sites:
        yield mutant("drop-change", site.at, f"{site.cell} is as it was", _restoring(site))
        for operator, what, edit in _values(site):
            yield mutant(operator, site.at, what, edit)
        for operator, sheet, row, column in _elsewhere(site, book):
            if (sheet, row, column) not in taken:
                to = f"{sheet}.{reference(row, column)}"
                edit = _moving(site, sheet, reference(row, column))
                yield mutant(operator, site.at, f"the value is in {to}, {site.cell} is as it was", edit)
        yield mutant("duplicate-row", site.at, f"row {site.row} is there twice", _repeating(site))
        yield from _in_others(path, before, site, others)
    for operator, sheet, cell, what, edit in _beside(book, sites):
        yield mutant(operator, f"{sheet}.{cell}", what, edit)


def _write(home: Path, path: str, data: bytes, book: Workbook, edit: Edit) -> None:
    """Edit the good document; raises ValueError where reading it again shows no difference."""
    put(home, path, data)
    document = open_document(home / path)
    edit(document)
    (home / path).unlink()
    document.save(home / path)
    again = read_book(path, (home / path).read_bytes())
    if list(again.sheets) == list(book.sheets) and not any(
        next(changes(sheet, again.sheets[name]), None) for name, sheet in book.sheets.items()
    ):
        raise ValueError("the document reads as before")


def _sites(old: Workbook, new: Workbook) -> list[_Site]:
    """Changed cells in reading order; of a rectangle that changed alike, its first and last."""
    found: list[_Site] = []
    for name, sheet in new.sheets.items():
        for block in changes(old.sheets.get(name, Sheet(name)), sheet):
            corners = {(block.first_row, block.first_column), (block.last_row, block.last_column)}
            found += [_Site(name, *at, block.before, block.after) for at in sorted(corners)]
            if len(found) >= MOST_CELLS:
                return found
    return found


def _values(site: _Site) -> Iterator[tuple[str, str, Edit]]:
    """The right cell with a wrong value, or with the right one in a wrong form."""
    value = site.after.value
    if isinstance(value, float) and site.after.kind == "number":
        found = [*near_number(value)]
        if site.after.formula is None:
            yield "number-as-text", "the number is stored as text", _putting(site, number_text(value))
            other = "1+1" if value != 2 else "1+2"
            yield "stale-formula", f"={other} with a cached value", _putting(site, Formula(other, value))
        yield "locale-format", f"the text {continental(value)}", _putting(site, continental(value))
    elif isinstance(value, str) and site.after.kind == "text":
        found = [*near_text(value)]
        if site.after.formula is None:
            yield (
                "stale-formula",
                "another text with a cached value",
                _putting(site, Formula('"none"', value)),
            )
    else:
        return
    shown = describe(site.after)
    for near in found:
        written = number_text(near.value) if isinstance(near.value, float) else near.value
        yield near.operator, f"{written[:60]} instead of {shown[:60]}", _putting(site, near.value)


def _elsewhere(site: _Site, book: Workbook) -> Iterator[tuple[str, str, int, int]]:
    yield "shift-down", site.sheet, site.row + 1, site.column
    if site.row > 1:
        yield "shift-up", site.sheet, site.row - 1, site.column
    yield "shift-right", site.sheet, site.row, site.column + 1
    if site.column > 1:
        yield "shift-left", site.sheet, site.row, site.column - 1
    other = next((name for name in book.sheets if name != site.sheet), None)
    if other is not None:
        yield "other-sheet", other, site.row, site.column


def _in_others(path: str, before: bytes | None, site: _Site, others: dict[str, bytes]) -> Iterator[Mutant]:
    """The target's file is as it was, and another spreadsheet has the value."""
    for other, data in others.items():

        def make(home: Path, other: str = other, data: bytes = data) -> None:
            book = read_book(other, data)
            sheet = site.sheet if site.sheet in book.sheets else next(iter(book.sheets))
            put(home, path, before)
            _write(home, other, data, book, lambda document: _put(document, sheet, site.cell, site.after))

        yield Mutant("sibling-file", f"{path}#{site.at}", f"the value is in {other}", make)


def _beside(book: Workbook, sites: list[_Site]) -> Iterator[tuple[str, str, str, str, Edit]]:
    """The right change, and another cell: a constant of the same sheet, of another, and a formula."""
    taken = {(site.sheet, site.row, site.column) for site in sites}
    own = sites[0].sheet if sites else ""
    constants: dict[str, tuple[str, Cell]] = {}
    for name, sheet in book.sheets.items():
        for row in sheet.rows:
            for run in row.item:
                if (name, row.first, run.first) in taken:
                    continue
                cell = reference(row.first, run.first)
                if run.item.formula is not None:
                    if isinstance(run.item.value, float):
                        edit = _setting(name, cell, run.item.value)
                        yield "formula-lost", name, cell, f"the formula in {name}.{cell} is a number", edit
                elif run.item.kind in {"number", "text"}:
                    constants[name] = (cell, run.item)
    for name in sorted(constants, key=lambda name: name != own):
        cell, item = constants[name]
        new = item.value + 1 if isinstance(item.value, float) else f"{item.value}x"
        yield "neighbour-changed", name, cell, f"{name}.{cell} is changed too", _setting(name, cell, new)


def _setting(sheet: str, cell: str, value: float | str) -> Edit:
    return lambda document: document.put(sheet, cell, value)


def _putting(site: _Site, value: float | str | Formula) -> Edit:
    return lambda document: document.put(site.sheet, site.cell, value)


def _restoring(site: _Site) -> Edit:
    return lambda document: _put(document, site.sheet, site.cell, site.before)


def _repeating(site: _Site) -> Edit:
    return lambda document: document.repeat_row(site.sheet, site.row)


def _moving(site: _Site, sheet: str, cell: str) -> Edit:
    def edit(document: Document) -> None:
        _put(document, site.sheet, site.cell, site.before)
        _put(document, sheet, cell, site.after)

    return edit


def _put(document: Document, sheet: str, cell: str, content: Cell) -> None:
    """Write a cell as it was read; raises ValueError for what only its own program can write."""
    position(cell)
    if content.kind == "empty" and content.formula is None:
        document.clear(sheet, cell)
        return
    if content.kind not in {"number", "text"} or not isinstance(content.value, float | str):
        raise ValueError(f"a {content.kind} cell is not written")
    if content.formula is None:
        document.put(sheet, cell, content.value)
    elif content.formula.startswith("="):
        document.put(sheet, cell, Formula(content.formula[1:], content.value))
    else:
        raise ValueError("an array formula is not written")
