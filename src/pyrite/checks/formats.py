"""How the numbers of a spreadsheet are shown: the format code of each cell that is not empty.

    formats = read_formats(home / "Documents/members.ods")
    formats["Members"].at("E2").value      # '0.0%'

Codes are those of a format dialog, in one spelling: "#,##0.00", "0.0%", "€ #,##0.00", "yyyy-mm-dd". They
come as sheets of text cells, so that `cells.changes` compares them.
Source: OpenDocument 1.3 part 3, section 16.29 (data styles); ECMA-376 part 1, 18.8.30 (numFmt).
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from pyrite.checks.cells import Cell, CellRun, RowRun, Sheet, position
from pyrite.checks.package import DEFAULT_BOUNDS, Bounds, Package, Spent, Unreadable, local_name, read_file

GENERAL = "general"
MAX_STYLES = 5000
MAX_CODE = 200
_BUILTIN = {
    **{0: GENERAL, 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00e+00"},
    **{14: "mm-dd-yy", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 20: "h:mm", 21: "h:mm:ss", 49: "@"},
}
_REPEATED = 1 << 20
_CHAIN = 50


def read_formats(path: Path, bounds: Bounds = DEFAULT_BOUNDS, spent: Spent | None = None) -> dict[str, Sheet]:
    """Sheet by sheet, the format codes of an .ods or .xlsx file; raises `Unreadable`."""
    try:
        package = Package(read_file(path, bounds.file_bytes), bounds, spent)
        if path.suffix.lower() == ".ods":
            return _of_ods(package)
        if path.suffix.lower() == ".xlsx":
            return _of_xlsx(package)
    except (MemoryError, RecursionError):
        raise Unreadable("too_large", "it needs more memory than there is") from None
    raise Unreadable("unknown_format", "not an .ods or .xlsx file")


def normal(code: str) -> str:
    """A code in the one spelling.

    >>> normal('[$€-407]#,##0.00;[RED]-[$€-407]#,##0.00'), normal("YYYY-MM-DD"), normal('0.0"%"')
    ('€#,##0.00', 'yyyy-mm-dd', '0.0%')
    """
    code = re.split(r";(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)", code[:MAX_CODE])[0]
    code = re.sub(r"\[\$([^\]\-]*)(?:-[^\]]*)?\]", r"\1", code)
    code = re.sub(r"\[[^\]]*\]", "", code)
    code = code.replace('"', "").replace("\\", "").replace("_-", "").replace("_)", "")
    return code.strip().lower() or GENERAL


# --- .ods --------------------------------------------------------------------------------------


class _OdsSheets:
    """Collects the sheets of a content.xml; tables inside of cells are none."""

    def __init__(self, shown: Callable[[str], str]) -> None:
        self.shown = shown
        self.sheets: dict[str, Sheet] = {}
        self.depth = 0
        self._begin("")

    def _begin(self, name: str) -> None:
        self.name = name
        self.next_row = 1
        self.columns: list[tuple[int, str]] = []
        self.rows: list[RowRun] = []

    def table(self, event: str, element: Element) -> None:
        self.depth += 1 if event == "start" else -1
        if event == "start" and self.depth == 1:
            self._begin(_attribute(element, "name"))
        elif event == "end" and self.depth == 0:
            self.sheets[self.name] = Sheet(self.name, tuple(self.rows))

    def column(self, element: Element) -> None:
        last = self.columns[-1][0] if self.columns else 0
        until = min(last + _count(element, "number-columns-repeated"), _REPEATED)
        self.columns.append((until, _attribute(element, "default-cell-style-name")))

    def row(self, element: Element) -> None:
        after = min(self.next_row + _count(element, "number-rows-repeated"), _REPEATED)
        found = _ods_row(element, self.columns, self.shown)
        if found:
            self.rows.append(RowRun(self.next_row, after - 1, tuple(found)))
        self.next_row = after


def _of_ods(package: Package) -> dict[str, Sheet]:
    codes: dict[str, str] = {}
    mapped: dict[str, str] = {}
    cells: dict[str, tuple[str, str]] = {}
    for part in ("styles.xml", "content.xml"):
        if part in package:
            _ods_styles(package, part, codes, mapped, cells)

    def shown(style: str) -> str:
        seen = 0
        while style in cells and seen < _CHAIN:
            data, parent = cells[style]
            if data:
                return codes.get(mapped.get(data, data), GENERAL)
            style, seen = parent, seen + 1
        return GENERAL

    found = _OdsSheets(shown)
    for event, element in package.elements("content.xml", whole="table-row"):
        tag = local_name(element)
        if tag == "table" and "table:1.0}" in element.tag:
            found.table(event, element)
        elif event == "end" and found.depth == 1 and tag == "table-column":
            found.column(element)
        elif event == "end" and found.depth == 1 and tag == "table-row":
            found.row(element)
    return found.sheets


def _ods_row(row: Element, columns: list[tuple[int, str]], shown: Callable[[str], str]) -> list[CellRun]:
    found: list[CellRun] = []
    column = 1
    for cell in row:
        if local_name(cell) not in ("table-cell", "covered-table-cell"):
            continue
        after = min(column + _count(cell, "number-columns-repeated"), _REPEATED)
        if _attribute(cell, "value-type"):
            style = _attribute(cell, "style-name") or _attribute(row, "default-cell-style-name")
            at = bisect_left(columns, column, key=lambda item: item[0])
            style = style or (columns[at][1] if at < len(columns) else "")
            found.append(CellRun(column, after - 1, Cell("text", shown(style or "Default"))))
        column = after
    return found


def _ods_styles(
    package: Package, part: str, codes: dict[str, str], mapped: dict[str, str], cells: dict[str, Any]
) -> None:
    kinds = {
        f"{kind}-style" for kind in ("number", "percentage", "currency", "date", "time", "text", "boolean")
    }
    whole = "styles" if part == "styles.xml" else "automatic-styles"
    for event, element in package.elements(part, whole=whole):
        if event != "end" or local_name(element) not in ("styles", "automatic-styles"):
            continue
        if part == "styles.xml" and local_name(element) != "styles":
            continue
        for style in element:
            if len(codes) + len(cells) > MAX_STYLES:
                raise Unreadable("too_large", f"more than {MAX_STYLES} styles")
            tag, name = local_name(style), _attribute(style, "name")
            if tag in kinds:
                codes[name] = normal("".join(_ods_part(child) for child in style))
                for child in style:
                    if local_name(child) == "map" and "value()>=0" in _attribute(child, "condition"):
                        mapped[name] = _attribute(child, "apply-style-name")
            elif tag == "style" and _attribute(style, "family") == "table-cell":
                data = _attribute(style, "data-style-name")
                cells[name] = (data, _attribute(style, "parent-style-name"))


def _ods_part(child: Element) -> str:
    tag, long = local_name(child), _attribute(child, "style") == "long"
    if tag == "number" and not _attribute(child, "decimal-places"):
        return GENERAL
    if tag == "number":
        whole = "#,##0" if _attribute(child, "grouping") == "true" else "0" * min(_leading(child), 20)
        decimals = _small(_attribute(child, "decimal-places"))
        return whole + ("." + "0" * decimals if decimals else "")
    if tag in ("text", "currency-symbol"):
        return (child.text or "")[:20]
    letter = {"year": "y", "month": "m", "day": "d", "hours": "h", "minutes": "m", "seconds": "s"}.get(
        tag, ""
    )
    if tag == "month" and _attribute(child, "textual") == "true":
        return "mmmm" if long else "mmm"
    if tag == "year":
        return "yyyy" if long else "yy"
    return letter * (2 if long else 1)


def _leading(child: Element) -> int:
    return max(1, _small(_attribute(child, "min-integer-digits")))


def _small(text: str) -> int:
    return min(int(text), 20) if re.fullmatch(r"\d{1,4}", text, re.ASCII) else 0


# --- .xlsx -------------------------------------------------------------------------------------


def _of_xlsx(package: Package) -> dict[str, Sheet]:
    book = _targets(package, "").get("officeDocument", [("", "")])[0][1]
    if book not in package:
        raise Unreadable("wrong_format", "it names no workbook")
    parts = _targets(package, book)
    paths = {key: path for found in parts.values() for key, path in found}
    styles = [path for _, path in parts.get("styles", [])]
    codes = _xlsx_codes(package, styles[0]) if styles else []
    sheets: dict[str, Sheet] = {}
    for event, element in package.elements(book):
        if event == "end" and local_name(element) == "sheet":
            key = next((v for k, v in element.attrib.items() if k.endswith("relationships}id")), "")
            name, path = element.get("name", ""), paths.get(key, "")
            if path in package:
                sheets[name] = Sheet(name, _xlsx_rows(package, path, codes))
    return sheets


def _targets(package: Package, part: str) -> dict[str, list[tuple[str, str]]]:
    """Kind -> (id, path) of what a part refers to."""
    folder, name = posixpath.split(part)
    listing = posixpath.join(folder, "_rels", f"{name}.rels")
    found: dict[str, list[tuple[str, str]]] = {}
    if listing not in package:
        return found
    for event, element in package.elements(listing):
        if event == "end" and local_name(element) == "Relationship":
            kind = element.get("Type", "").rpartition("/")[2]
            target = posixpath.normpath(posixpath.join("/", folder, unquote(element.get("Target", ""))))
            found.setdefault(kind, []).append((element.get("Id", ""), target.lstrip("/")))
    return found


def _xlsx_codes(package: Package, path: str) -> list[str]:
    own: dict[int, str] = {}
    codes: list[str] = []
    for event, element in package.elements(path, whole="cellXfs"):
        if event != "end":
            continue
        if local_name(element) == "numFmt":
            own[_small_id(element)] = normal(element.get("formatCode", ""))
        elif local_name(element) == "cellXfs":
            if len(element) > MAX_STYLES:
                raise Unreadable("too_large", f"more than {MAX_STYLES} styles")
            for xf in element:
                number = _small_id(xf)
                codes.append(own.get(number, _BUILTIN.get(number, GENERAL)))
    return codes


def _small_id(element: Element) -> int:
    text = element.get("numFmtId", "0")
    return int(text) if re.fullmatch(r"\d{1,6}", text, re.ASCII) else 0


def _xlsx_rows(package: Package, path: str, codes: list[str]) -> tuple[RowRun, ...]:
    found: dict[int, dict[int, Cell]] = {}
    for event, element in package.elements(path, whole="c"):
        if event != "end" or local_name(element) != "c" or not len(element):
            continue
        try:
            row, column = position(element.get("r", ""))
        except ValueError:
            continue
        style = element.get("s", "0")
        at = int(style) if re.fullmatch(r"\d{1,6}", style, re.ASCII) else 0
        code = codes[at] if at < len(codes) else GENERAL
        found.setdefault(row, {})[column] = Cell("text", code)
    return tuple(
        RowRun(row, row, tuple(CellRun(c, c, cell) for c, cell in sorted(cells.items())))
        for row, cells in sorted(found.items())
    )


def _attribute(element: Element, name: str) -> str:
    """An attribute in whichever namespace."""
    return next((v for k, v in element.attrib.items() if k.rpartition("}")[2] == name), "")


def _count(element: Element, name: str) -> int:
    text = _attribute(element, name) or "1"
    if not re.fullmatch(r"\d{1,10}", text, re.ASCII) or int(text) < 1:
        raise Unreadable("damaged", f"a repeat count is {text[:20]!r}")
    return int(text)
