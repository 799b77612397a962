"""Read the content.xml of an OpenDocument spreadsheet.

Source: OpenDocument 1.3 part 3, sections 9.1 (tables), 19.385 (value types) and 6.1.2 (white space).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from xml.etree.ElementTree import Element

from pyrite.checks.cells import Cell, CellRun, RowRun, Sheet, Workbook, number_cell, reference
from pyrite.checks.package import DEFAULT_BOUNDS, Bounds, Package, Spent, Unreadable

_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_CALCEXT = "{urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0}"

_BODY = [f"{_OFFICE}document-content", f"{_OFFICE}body", f"{_OFFICE}spreadsheet", f"{_TABLE}table"]
_GROUPS = {f"{_TABLE}{name}" for name in ("table-row-group", "table-header-rows", "table-rows")}
_CELLS = {f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"}
_ASIDE = {f"{_OFFICE}annotation", f"{_OFFICE}annotation-end", f"{_TEXT}note", f"{_TEXT}ruby-text"}
_MIMETYPES = {
    b"application/vnd.oasis.opendocument.spreadsheet",
    b"application/vnd.oasis.opendocument.spreadsheet-template",
}
_LAST = 1 << 31
_MakeText = Callable[[int], None]


class _SheetReader:
    """Collects the rows of one sheet."""

    def __init__(self, name: str, make_text: _MakeText) -> None:
        self.name = name
        self.make_text = make_text
        self.rows: list[RowRun] = []
        self.merged: list[str] = []
        self.next_row = 1

    def add(self, row: Element) -> None:
        first = self.next_row
        self.next_row = min(first + _repeats(row, "number-rows-repeated"), _LAST)
        cells: list[CellRun] = []
        column = 1
        for element in row:
            if element.tag not in _CELLS:
                continue
            after = min(column + _repeats(element, "number-columns-repeated"), _LAST)
            cell = _cell(element, self.make_text)
            self._note_merge(element, first, column)
            if cell.kind != "empty" or cell.formula is not None:
                cells.append(CellRun(column, after - 1, cell))
            column = after
        if cells:
            self.rows.append(RowRun(first, self.next_row - 1, tuple(cells)))

    def sheet(self) -> Sheet:
        return Sheet(self.name, tuple(self.rows), tuple(self.merged))

    def _note_merge(self, element: Element, row: int, column: int) -> None:
        across = _count(element.get(f"{_TABLE}number-columns-spanned"))
        down = _count(element.get(f"{_TABLE}number-rows-spanned"))
        if across > 1 or down > 1:
            end = reference(row + down - 1, column + across - 1)
            self.merged.append(f"{reference(row, column)}:{end}")


def parse_ods(data: bytes, bounds: Bounds = DEFAULT_BOUNDS, spent: Spent | None = None) -> Workbook:
    """The sheets of an .ods file's bytes; raises `Unreadable`."""
    package = Package(data, bounds, spent)
    if "mimetype" in package and package.read("mimetype").strip() not in _MIMETYPES:
        raise Unreadable("wrong_format", "its mimetype is not that of a spreadsheet")
    sheets: dict[str, Sheet] = {}
    for reader in _tables(package):
        if reader.name in sheets:
            raise Unreadable("ambiguous", f"two sheets are named {reader.name!r}")
        sheets[reader.name] = reader.sheet()
    if not sheets:
        raise Unreadable("wrong_format", "content.xml holds no sheet")
    return Workbook(sheets, "ods")


def _tables(package: Package) -> Iterator[_SheetReader]:
    """Each sheet; tables inside of cells, shapes and caches of linked documents are not sheets."""
    path: list[str] = []
    reader: _SheetReader | None = None
    for event, element in package.elements("content.xml", whole="table-row"):
        if event == "start":
            path.append(element.tag)
            if path == _BODY:
                reader = _SheetReader(element.get(f"{_TABLE}name", ""), package.make_text)
            elif path[:-1] == _BODY and element.tag == f"{_TABLE}table-source":
                reader = None
            continue
        if reader and element.tag == f"{_TABLE}table-row" and _is_sheet_row(path):
            reader.add(element)
        elif path == _BODY:
            if reader:
                yield reader
            reader = None
        path.pop()


def _is_sheet_row(path: list[str]) -> bool:
    return path[:4] == _BODY and all(tag in _GROUPS for tag in path[4:-1])


def _cell(element: Element, make_text: _MakeText) -> Cell:
    formula = element.get(f"{_TABLE}formula")
    if formula is not None:
        formula = formula.removeprefix("of:")
    kind = element.get(f"{_OFFICE}value-type")
    if element.get(f"{_CALCEXT}value-type") == "error":
        return Cell("error", _text(element, make_text) or element.get(f"{_OFFICE}string-value", ""), formula)
    if kind in ("float", "percentage", "currency"):
        shown_as = None if kind == "float" else kind
        return number_cell(element.get(f"{_OFFICE}value", ""), shown_as, formula)
    if kind == "date":
        return Cell("date", iso_date(element.get(f"{_OFFICE}date-value", "")), formula)
    if kind == "time":
        return _time(element.get(f"{_OFFICE}time-value", ""), formula)
    if kind == "boolean":
        return Cell("boolean", element.get(f"{_OFFICE}boolean-value") == "true", formula)
    stored = element.get(f"{_OFFICE}string-value")
    text = stored if stored is not None else _text(element, make_text)
    if kind is None and not text:
        return Cell("empty", None, formula)
    return Cell("text", text, formula)


def iso_date(text: str) -> str:
    """A date to the second, in one form.

    >>> iso_date("2024-01-31"), iso_date("2024-01-31T08:30:00.000000000")
    ('2024-01-31T00:00:00', '2024-01-31T08:30:00')
    """
    match = re.fullmatch(
        r"(-?\d{4,6}-\d\d-\d\d)(?:T(\d\d:\d\d)(?::(\d\d)(?:[.,](\d+))?)?Z?)?", text.strip(), re.ASCII
    )
    if match is None:
        return text[:100]
    fraction = (match[4] or "").rstrip("0")
    return f"{match[1]}T{match[2] or '00:00'}:{match[3] or '00'}" + (f".{fraction}" if fraction else "")


def _time(text: str, formula: str | None) -> Cell:
    match = re.fullmatch(
        r"(-?)PT(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:[.,]\d{1,12})?)S)?", text.strip(), re.ASCII
    )
    if match is None:
        return Cell("error", text[:100], formula)
    hours, minutes, seconds = (float((part or "0").replace(",", ".")) for part in match.groups()[1:])
    total = round(hours * 3600 + minutes * 60 + seconds, 6)
    return Cell("time", -total if match[1] else total, formula)


def _text(cell: Element, make_text: _MakeText) -> str:
    """The paragraphs of a cell, one a line, with white space as the format defines it."""
    paragraphs = (child for child in cell if child.tag in (f"{_TEXT}p", f"{_TEXT}h"))
    return "\n".join(_paragraph(child, make_text) for child in paragraphs)


def _paragraph(paragraph: Element, make_text: _MakeText) -> str:
    """Runs of white space are one space and none at the start; at the end one stays.

    The format drops it there too, but LibreOffice writes and reads it: "Amsterdam " is not "Amsterdam".
    """
    parts: list[str] = []
    space = True

    def literal(text: str | None) -> None:
        nonlocal space
        for piece in re.findall(r"[ \t\r\n]+|[^ \t\r\n]+", text or ""):
            if piece[0] not in " \t\r\n":
                parts.append(piece)
                space = False
            elif not space:
                parts.append(" ")
                space = True

    def walk(element: Element) -> None:
        nonlocal space
        literal(element.text)
        for child in element:
            if child.tag == f"{_TEXT}s":
                spaces = _count(child.get(f"{_TEXT}c"))
                make_text(spaces)
                parts.append(" " * spaces)
                space = False
            elif child.tag in (f"{_TEXT}tab", f"{_TEXT}line-break"):
                parts.append("\t" if child.tag == f"{_TEXT}tab" else "\n")
                space = False
            elif child.tag not in _ASIDE:
                walk(child)
            literal(child.tail)

    walk(paragraph)
    return "".join(parts)


def _repeats(element: Element, name: str) -> int:
    return _count(element.get(_TABLE + name))


def _count(text: str | None) -> int:
    if text is None:
        return 1
    if not re.fullmatch(r"\d{1,10}", text.strip(), re.ASCII) or int(text) < 1:
        raise Unreadable("damaged", f"a repeat count is {text[:20]!r}")
    return int(text)
