"""Read an Office Open XML workbook (.xlsx), transitional or strict.

Source: ECMA-376 part 1, sections 18.2 (workbook), 18.3 (worksheets), 18.4 (shared strings), 18.8
(number formats), 18.17.4.1 (dates: 1900 and 1904 base). Tags are compared without their namespace,
since the two dialects differ in nothing else here.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from pyrite.checks.cells import Cell, CellRun, RowRun, Sheet, Workbook, number_cell, position
from pyrite.checks.formulas import translate
from pyrite.checks.ods import iso_date
from pyrite.checks.package import DEFAULT_BOUNDS, Bounds, Package, Spent, Unreadable, local_name

_RELATION = re.compile(r"\{http://(schemas|purl)\.[a-z.]+/[a-zA-Z/0-9]*relationships\}id")
_BUILTIN_DATES = frozenset({14, 15, 16, 17, 22, *range(27, 37), *range(50, 59)})
_BUILTIN_TIMES = frozenset({18, 19, 20, 21, 45, 47})
_BUILTIN_SHOWN = {9: "percentage", 10: "percentage", **dict.fromkeys((5, 6, 7, 8, 42, 44), "currency")}
_ELAPSED = 46
_MAX_ROW, _MAX_COLUMN = 1 << 20, 1 << 14
_CODE_LENGTH = 255
_FORMULA_LENGTH = 8192


class _Style(NamedTuple):
    """What a number format makes of a number."""

    role: str = "number"
    """number | date | time | elapsed"""
    shown_as: str | None = None


class _Context(NamedTuple):
    """What the cells of a workbook refer to."""

    strings: list[str]
    styles: list[_Style]
    from_1904: bool


def parse_xlsx(data: bytes, bounds: Bounds = DEFAULT_BOUNDS, spent: Spent | None = None) -> Workbook:
    """The sheets of an .xlsx file's bytes; raises `Unreadable`."""
    package = Package(data, bounds, spent)
    main = _related(package, "")
    book = next((path for kind, path, _ in main if kind == "officeDocument"), None)
    if book is None:
        raise Unreadable("wrong_format", "it names no workbook")
    parts = _related(package, book)
    targets = {key: (kind, path) for kind, path, key in parts}
    named, from_1904 = _sheet_list(package, book)
    strings = [path for kind, path, _ in parts if kind == "sharedStrings"]
    styles = [path for kind, path, _ in parts if kind == "styles"]
    context = _Context(
        _shared_strings(package, strings[0]) if strings else [],
        _styles(package, styles[0]) if styles else [],
        from_1904,
    )
    sheets: dict[str, Sheet] = {}
    for name, key in named:
        if name in sheets:
            raise Unreadable("ambiguous", f"two sheets are named {name[:100]!r}")
        kind, path = targets.get(key, ("", ""))
        if not path:
            raise Unreadable("incomplete", f"sheet {name[:100]!r} has no content")
        sheets[name] = _sheet(package, path, name, context) if kind == "worksheet" else Sheet(name)
    if not sheets:
        raise Unreadable("wrong_format", "the workbook lists no sheet")
    return Workbook(sheets, "xlsx")


def _related(package: Package, part: str) -> list[tuple[str, str, str]]:
    """(kind, path, id) of what a part refers to inside of the package."""
    folder, name = posixpath.split(part)
    listing = posixpath.join(folder, "_rels", f"{name}.rels")
    if part and listing not in package:
        return []
    found = []
    for event, element in package.elements(listing):
        if event == "end" and local_name(element) == "Relationship":
            if element.get("TargetMode") == "External":
                continue
            kind = element.get("Type", "").rpartition("/")[2]
            target = unquote(element.get("Target", ""))
            path = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
            found.append((kind, path, element.get("Id", "")))
    return found


def _sheet_list(package: Package, book: str) -> tuple[list[tuple[str, str]], bool]:
    named: list[tuple[str, str]] = []
    from_1904 = False
    root = ""
    for event, element in package.elements(book):
        tag = local_name(element)
        root = root or tag
        if event == "start":
            continue
        if tag == "sheet":
            key = next((value for name, value in element.items() if _RELATION.fullmatch(name)), "")
            named.append((element.get("name", ""), key))
        elif tag == "workbookPr":
            from_1904 = element.get("date1904") in ("1", "true")
    if root != "workbook":
        raise Unreadable("wrong_format", f"its main part is a {root[:50]!r}, not a workbook")
    return named, from_1904


def _shared_strings(package: Package, path: str) -> list[str]:
    strings: list[str] = []
    for event, element in package.elements(path, whole="si"):
        if event == "end" and local_name(element) == "si":
            strings.append(_rich_text(element))
    return strings


def _rich_text(element: Element) -> str:
    """The text of a string item: its runs joined; phonetic hints are not text."""
    parts: list[str] = []
    for child in element:
        tag = local_name(child)
        if tag == "t":
            parts.append(child.text or "")
        elif tag == "r":
            parts.extend(run.text or "" for run in child if local_name(run) == "t")
    return re.sub(r"_x([0-9A-Fa-f]{4})_", lambda match: chr(int(match[1], 16)), "".join(parts))


def _styles(package: Package, path: str) -> list[_Style]:
    codes: dict[str, str] = {}
    styles: list[_Style] = []
    inside = False
    for event, element in package.elements(path):
        tag = local_name(element)
        if tag == "cellXfs":
            inside = event == "start"
        elif event == "end" and tag == "numFmt":
            codes[element.get("numFmtId", "")] = element.get("formatCode", "")
        elif event == "end" and tag == "xf" and inside:
            styles.append(_style(element.get("numFmtId", "0"), codes))
    return styles


def _style(number: str, codes: dict[str, str]) -> _Style:
    if number in codes:
        return style_of_code(codes[number][:_CODE_LENGTH])
    key = int(number) if re.fullmatch(r"\d{1,6}", number, re.ASCII) else 0
    if key == _ELAPSED:
        return _Style("elapsed")
    if key in _BUILTIN_DATES:
        return _Style("date")
    return _Style("time" if key in _BUILTIN_TIMES else "number", _BUILTIN_SHOWN.get(key))


def style_of_code(code: str) -> _Style:
    """What a format code makes of a number.

    >>> style_of_code("yyyy-mm-dd").role, style_of_code("[h]:mm").role, style_of_code("0.00").role
    ('date', 'elapsed', 'number')
    """
    currency = re.search(r"\[\$[^\]-]|[$€£¥]", code) is not None
    first = re.sub(r'"[^"]*"|\\.|_.|\*.', "", code.partition(";")[0])
    if re.search(r"\[(h+|m+|s+)\]", first, re.IGNORECASE):
        return _Style("elapsed")
    letters = re.sub(r"\[[^\]]*\]|General|AM/PM|A/P", "", first, flags=re.IGNORECASE).lower()
    if re.search(r"[yd]", letters) or (re.search(r"m", letters) and not re.search(r"[hs0#?]", letters)):
        return _Style("date")
    if re.search(r"[hs]", letters):
        return _Style("time")
    return _Style("number", "percentage" if "%" in letters else "currency" if currency else None)


class _SheetReader:
    """Collects the cells of one worksheet; rows and cells may leave out their references."""

    def __init__(self, context: _Context, make_text: Callable[[int], None]) -> None:
        self.context = context
        self.make_text = make_text
        self.rows: dict[int, tuple[CellRun, ...]] = {}
        self.merged: list[str] = []
        self.shared: dict[str, tuple[str, int, int]] = {}
        self.row = 0

    def add(self, element: Element) -> None:
        self.row = _index(element.get("r"), self.row + 1, _MAX_ROW)
        if self.row in self.rows:
            raise Unreadable("ambiguous", f"row {self.row} is there twice")
        cells: dict[int, Cell] = {}
        column = 0
        for child in element:
            if local_name(child) != "c":
                continue
            column = self._column(child.get("r"), column + 1)
            if column in cells:
                raise Unreadable("ambiguous", f"a cell of row {self.row} is there twice")
            cells[column] = self._cell(child, column)
        self.rows[self.row] = tuple(
            CellRun(at, at, cell)
            for at, cell in sorted(cells.items(), key=lambda pair: pair[0])
            if cell.kind != "empty" or cell.formula is not None
        )

    def _column(self, stated: str | None, default: int) -> int:
        if stated is None:
            return default
        try:
            row, column = position(stated)
        except ValueError:
            raise Unreadable("damaged", f"a cell is called {stated[:20]!r}") from None
        if row != self.row or column > _MAX_COLUMN:
            raise Unreadable("damaged", f"cell {stated} stands in row {self.row}")
        return column

    def _cell(self, element: Element, column: int) -> Cell:
        value: str | None = None
        text: str | None = None
        formula: str | None = None
        for child in element:
            tag = local_name(child)
            if tag == "v":
                value = child.text or ""
            elif tag == "is":
                text = _rich_text(child)
            elif tag == "f":
                formula = self._formula(child, column)
        return self._typed(element, value, text, formula)

    def _formula(self, element: Element, column: int) -> str:
        text = element.text or ""
        kind, key = element.get("t", "normal"), element.get("si", "")
        if kind == "shared":
            if text:
                self.shared[key] = (text, self.row, column)
            elif key in self.shared:
                master, row, start = self.shared[key]
                if len(master) > _FORMULA_LENGTH:
                    raise Unreadable("too_large", "a shared formula is too long")
                self.make_text(len(master))
                text = translate(master, self.row - row, column - start)
            else:
                raise Unreadable("damaged", f"shared formula {key[:20]!r} is not defined")
        elif kind in ("array", "dataTable"):
            return f"={{{kind} {element.get('ref', '')}: {text}}}"
        return f"={text}"

    def _typed(self, element: Element, value: str | None, text: str | None, formula: str | None) -> Cell:
        kind = element.get("t", "n")
        if kind == "inlineStr":
            return Cell("text", text or "", formula)
        if value is None or (kind not in ("s", "str") and not value.strip()):
            return Cell("empty", None, formula)  # also <v></v>: a formula that was never calculated
        if kind == "s":
            return Cell("text", self._string(value), formula)
        if kind == "str":
            return Cell("text", value, formula)
        if kind == "b":
            return Cell("boolean", value.strip() in ("1", "true"), formula)
        if kind == "d":
            return Cell("date", iso_date(value), formula)
        if kind == "e":
            return Cell("error", value[:100], formula)
        return self._number(number_cell(value.strip(), None, formula), element.get("s", "0"))

    def _number(self, cell: Cell, style_index: str) -> Cell:
        index = int(style_index) if re.fullmatch(r"\d{1,6}", style_index, re.ASCII) else 0
        style = self.context.styles[index] if index < len(self.context.styles) else _Style()
        value = cell.value
        if not isinstance(value, float) or style.role == "number":
            return cell._replace(shown_as=style.shown_as if cell.kind == "number" else None)
        if style.role == "elapsed" or (style.role == "time" and 0 <= value < 1):
            return Cell("time", round(value * 86400, 6), cell.formula)
        date = serial_date(value, self.context.from_1904)
        return cell if date is None else Cell("date", date, cell.formula)

    def _string(self, value: str) -> str:
        index = _index(value.strip(), -1, len(self.context.strings) - 1, lowest=0)
        return self.context.strings[index]


def serial_date(serial: float, from_1904: bool) -> str | None:
    """The ISO form of a date number; None if it is before the base or after the year 9999.

    >>> serial_date(45322.5, False), serial_date(59, False), serial_date(61, False)
    ('2024-01-31T12:00:00', '1900-02-28T00:00:00', '1900-03-01T00:00:00')
    """
    if not 0 <= serial < 2_958_466:
        return None
    if from_1904:
        base = datetime(1904, 1, 1)
    elif int(serial) == 60:
        return None
    else:
        base = datetime(1899, 12, 31) if serial < 60 else datetime(1899, 12, 30)
    try:
        return iso_date((base + timedelta(milliseconds=round(serial * 86_400_000))).isoformat())
    except OverflowError:
        return None


def _sheet(package: Package, path: str, name: str, context: _Context) -> Sheet:
    reader = _SheetReader(context, package.make_text)
    parents: list[str] = []
    for event, element in package.elements(path, whole="row"):
        tag = local_name(element)
        if event == "start":
            parents.append(tag)
            continue
        parents.pop()
        if tag == "row" and parents == ["worksheet", "sheetData"]:
            reader.add(element)
        elif tag == "mergeCell":
            reader.merged.append(element.get("ref", "")[:40])
    rows = tuple(RowRun(row, row, cells) for row, cells in sorted(reader.rows.items()) if cells)
    return Sheet(name, rows, tuple(reader.merged))


def _index(text: str | None, default: int, highest: int, *, lowest: int = 1) -> int:
    value = default if text is None else int(text) if re.fullmatch(r"\d{1,7}", text, re.ASCII) else -1
    if not lowest <= value <= highest:
        raise Unreadable("damaged", f"a row or string number is {str(text)[:20]!r}")
    return value
