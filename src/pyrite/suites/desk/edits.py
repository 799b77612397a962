"""Edit our own .ods and .xlsx files in place, to build known end states in milliseconds.

    document = open_document(path)
    document.put("Q3", "D14", 4500.0)
    document.save(path)

Only the named cell changes; everything else stays byte for byte what LibreOffice wrote. For the files of
the suite only: documents of an episode are read by `pyrite.checks`. This is build code and is never
imported by a verifier.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from defusedxml.minidom import parseString

from pyrite.checks.cells import number_text, position, reference

Node: TypeAlias = Any
"""An element or document of minidom, whose stubs part the kinds of nodes too finely to be of use."""


_OFFICE = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
_CALCEXT = "urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0"


class Formula(NamedTuple):
    """A formula and the result that is stored with it, right or stale."""

    text: str
    """Without the leading =, valid in both formats."""
    cached: float | str


Content = float | str | Formula


class _Zipped:
    """The members of a zip file, some of them as XML."""

    def __init__(self, path: Path) -> None:
        with zipfile.ZipFile(path) as source:
            self.members = {info.filename: source.read(info) for info in source.infolist()}
        self.doms: dict[str, Node] = {}

    def dom(self, name: str) -> Node:
        if name not in self.doms:
            self.doms[name] = parseString(self.members[name].decode())
        return self.doms[name]

    def save(self, path: Path) -> None:
        """Write the file; member dates are fixed, so equal edits give equal bytes."""
        with zipfile.ZipFile(path, "w") as target:
            for name, data in self.members.items():
                if name in self.doms:
                    data = self.doms[name].toxml(encoding="utf-8")
                method = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
                target.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), data, method)


class OdsDocument(_Zipped):
    """An OpenDocument spreadsheet."""

    def put(self, sheet: str, cell: str, content: Content) -> None:
        """Set one cell, cutting the repeats that it is part of."""
        element = self._cell(sheet, cell)
        self._empty(element)
        if isinstance(content, Formula):
            element.setAttribute("table:formula", f"of:={content.text}")
            content = content.cached
        kind = "string" if isinstance(content, str) else "float"
        shown = content if isinstance(content, str) else number_text(content)
        _set_kind(element, kind)
        if kind == "float":
            element.setAttribute("office:value", shown)
        paragraph = self.dom("content.xml").createElement("text:p")
        paragraph.appendChild(self.dom("content.xml").createTextNode(shown))
        element.appendChild(paragraph)

    def restyle(self, sheet: str, cell: str) -> None:
        """Show the cell as an amount of money in red."""
        dom = self.dom("content.xml")
        number = dom.createElement("number:currency-style")
        number.setAttribute("style:name", "N9001")
        for tag, text in (("number:currency-symbol", "€"), ("number:number", "")):
            part = dom.createElement(tag)
            if text:
                part.appendChild(dom.createTextNode(text))
            number.appendChild(part)
        style = dom.createElement("style:style")
        for name, value in (("name", "ce9001"), ("family", "table-cell"), ("data-style-name", "N9001")):
            style.setAttribute(f"style:{name}", value)
        look = dom.createElement("style:text-properties")
        look.setAttribute("fo:color", "#ff0000")
        style.appendChild(look)
        styles = dom.getElementsByTagName("office:automatic-styles")[0]
        styles.appendChild(number)
        styles.appendChild(style)
        element = self._cell(sheet, cell)
        element.setAttribute("table:style-name", "ce9001")
        if element.getAttribute("office:value-type") == "float":
            _set_kind(element, "currency")
            element.setAttribute("office:currency", "EUR")

    def move_cursor(self, cell: str) -> None:
        """Leave the cursor of every sheet at another cell, and the last sheet in front."""
        row, column = position(cell)
        items = self.dom("settings.xml").getElementsByTagName("config:config-item")
        sheets = [table.getAttribute("table:name") for table in self._tables()]
        for item in items:
            wanted = {
                "CursorPositionX": str(column - 1),
                "CursorPositionY": str(row - 1),
                "ActiveTable": sheets[-1],
            }.get(item.getAttribute("config:name"))
            if wanted is not None:
                _set_text(self.dom("settings.xml"), item, wanted)

    def rename_generator(self, name: str) -> None:
        """State another program and date in the metadata."""
        for tag, text in (("meta:generator", name), ("dc:date", "2023-05-06T07:08:09")):
            for element in self.dom("meta.xml").getElementsByTagName(tag):
                _set_text(self.dom("meta.xml"), element, text)

    def insert_row(self, sheet: str, before: int) -> None:
        """Push everything from a row on one row down."""
        row = self._row(sheet, before)
        new = self.dom("content.xml").createElement("table:table-row")
        new.appendChild(self.dom("content.xml").createElement("table:table-cell"))
        row.parentNode.insertBefore(new, row)

    def clear(self, sheet: str, cell: str) -> None:
        """Empty one cell."""
        self._empty(self._cell(sheet, cell))

    def repeat_row(self, sheet: str, row: int) -> None:
        """Store a row as one that stands twice; what is below moves down by one."""
        _repeat(self._row(sheet, row), 2, "table:number-rows-repeated")

    def expand_repeats(self, rows: int) -> None:
        """Write the first rows of each sheet one by one, and their cells too."""
        for table in self._tables():
            for row in range(1, rows + 1):
                for column in range(1, 12):
                    self._cell(table.getAttribute("table:name"), reference(row, column))

    def _tables(self) -> list[Node]:
        found = [self.dom("content.xml").documentElement]
        for tag in ("office:body", "office:spreadsheet", "table:table"):
            found = [child for node in found for child in node.childNodes if child.nodeName == tag]
        return found

    def _row(self, sheet: str, row: int) -> Node:
        table = next(table for table in self._tables() if table.getAttribute("table:name") == sheet)
        rows = table.getElementsByTagName("table:table-row")
        return _single(table, rows, row, "table:number-rows-repeated", "table:table-row")

    def _cell(self, sheet: str, cell: str) -> Node:
        row, column = position(cell)
        element = self._row(sheet, row)
        cells = [
            child
            for child in _children(element)
            if child.tagName in ("table:table-cell", "table:covered-table-cell")
        ]
        return _single(element, cells, column, "table:number-columns-repeated", "table:table-cell")

    @staticmethod
    def _empty(element: Node) -> None:
        for name in list(element.attributes.keys()):
            if name.startswith(("office:", "calcext:")) or name == "table:formula":
                element.removeAttribute(name)
        for child in list(element.childNodes):
            element.removeChild(child)


class XlsxDocument(_Zipped):
    """An Office Open XML workbook as LibreOffice or openpyxl writes it."""

    def put(self, sheet: str, cell: str, content: Content) -> None:
        """Set one cell; texts go into the cell itself instead of the shared strings."""
        element = self._cell(sheet, cell)
        for child in list(element.childNodes):
            element.removeChild(child)
        if element.hasAttribute("t"):
            element.removeAttribute("t")
        dom = self.dom(self._part(sheet))
        if isinstance(content, Formula):
            self._append(dom, element, "f", content.text)
            content = content.cached
            if isinstance(content, str):
                element.setAttribute("t", "str")
            self._append(dom, element, "v", content if isinstance(content, str) else number_text(content))
        elif isinstance(content, str):
            element.setAttribute("t", "inlineStr")
            inline = dom.createElement("is")
            self._append(dom, inline, "t", content)
            element.appendChild(inline)
        else:
            self._append(dom, element, "v", number_text(content))

    def restyle(self, sheet: str, cell: str) -> None:
        """Show the cell as an amount of money."""
        dom = self.dom("xl/styles.xml")
        formats = dom.getElementsByTagName("cellXfs")[0]
        style = dom.createElement("xf")
        for name, value in (("numFmtId", "7"), ("fontId", "0"), ("fillId", "0"), ("borderId", "0")):
            style.setAttribute(name, value)
        style.setAttribute("applyNumberFormat", "1")
        formats.appendChild(style)
        count = len(_children(formats))
        formats.setAttribute("count", str(count))
        self._cell(sheet, cell).setAttribute("s", str(count - 1))

    def move_cursor(self, cell: str) -> None:
        """Leave the cursor of every sheet at another cell."""
        for sheet in self._sheets():
            for selection in self.dom(self._part(sheet)).getElementsByTagName("selection"):
                selection.setAttribute("activeCell", cell)
                selection.setAttribute("sqref", cell)

    def rename_generator(self, name: str) -> None:
        """State another program and date in the metadata."""
        for part, tag, text in (
            ("docProps/app.xml", "Application", name),
            ("docProps/core.xml", "dcterms:modified", "2023-05-06T07:08:09Z"),
        ):
            for element in self.dom(part).getElementsByTagName(tag):
                _set_text(self.dom(part), element, text)

    def insert_row(self, sheet: str, before: int) -> None:
        """Push everything from a row on one row down."""
        for row in self.dom(self._part(sheet)).getElementsByTagName("row"):
            number = int(row.getAttribute("r"))
            if number >= before:
                row.setAttribute("r", str(number + 1))
                for cell in _children(row):
                    column = position(cell.getAttribute("r"))[1]
                    cell.setAttribute("r", reference(number + 1, column))

    def clear(self, sheet: str, cell: str) -> None:
        """Empty one cell."""
        element = self._cell(sheet, cell)
        element.parentNode.removeChild(element)

    def repeat_row(self, sheet: str, row: int) -> None:
        """Write a row twice; what is below moves down by one."""
        self.insert_row(sheet, row + 1)
        data = self.dom(self._part(sheet)).getElementsByTagName("sheetData")[0]
        original = _placed(data, "row", row, lambda item: int(item.getAttribute("r")))
        original.setAttribute("r", str(row))
        copy = original.cloneNode(True)
        copy.setAttribute("r", str(row + 1))
        for cell in _children(copy):
            cell.setAttribute("r", reference(row + 1, position(cell.getAttribute("r"))[1]))
        data.insertBefore(copy, original.nextSibling)

    def expand_repeats(self, rows: int) -> None:
        """Write empty cells that the file leaves out."""
        for sheet in self._sheets():
            for row in range(1, rows + 1):
                for column in range(1, 12):
                    self._cell(sheet, reference(row, column))

    def _sheets(self) -> dict[str, str]:
        return {
            sheet.getAttribute("name"): sheet.getAttribute("r:id")
            for sheet in self.dom("xl/workbook.xml").getElementsByTagName("sheet")
        }

    def _part(self, sheet: str) -> str:
        key = self._sheets()[sheet]
        relations = self.dom("xl/_rels/workbook.xml.rels").getElementsByTagName("Relationship")
        target = next(item.getAttribute("Target") for item in relations if item.getAttribute("Id") == key)
        return target.removeprefix("/") if target.startswith("/") else f"xl/{target}"

    def _cell(self, sheet: str, cell: str) -> Node:
        number, column = position(cell)
        dom = self.dom(self._part(sheet))
        data = dom.getElementsByTagName("sheetData")[0]
        row = _placed(data, "row", number, lambda item: int(item.getAttribute("r")))
        if not row.hasAttribute("r"):
            row.setAttribute("r", str(number))
        found = _placed(row, "c", column, lambda item: position(item.getAttribute("r"))[1])
        found.setAttribute("r", reference(number, column))
        return found

    @staticmethod
    def _append(dom: Node, parent: Node, tag: str, text: str) -> None:
        child = dom.createElement(tag)
        child.appendChild(dom.createTextNode(text))
        parent.appendChild(child)


def open_document(path: Path) -> OdsDocument | XlsxDocument:
    """Open a document of the suite by its ending."""
    return OdsDocument(path) if path.suffix == ".ods" else XlsxDocument(path)


def _children(element: Node) -> list[Node]:
    return [child for child in element.childNodes if child.nodeType == child.ELEMENT_NODE]


def _single(parent: Node, elements: Sequence[Node], index: int, repeat: str, tag: str) -> Node:
    """The element that covers `index` (from 1), cut out of its repeats, or made at the end."""
    first = 1
    for element in elements:
        count = int(element.getAttribute(repeat) or 1)
        if index < first + count:
            return _cut(element, index - first, count, repeat)
        first += count
    made = parent.ownerDocument.createElement(tag)
    parent.appendChild(made)
    return _cut(made, index - first, index - first + 1, repeat)


def _cut(element: Node, before: int, count: int, repeat: str) -> Node:
    for number, place in ((before, element), (count - before - 1, element.nextSibling)):
        if number:
            copy = element.cloneNode(True)
            _repeat(copy, number, repeat)
            element.parentNode.insertBefore(copy, place)
    _repeat(element, 1, repeat)
    return element


def _repeat(element: Node, count: int, repeat: str) -> None:
    if count > 1:
        element.setAttribute(repeat, str(count))
    elif element.hasAttribute(repeat):
        element.removeAttribute(repeat)


def _placed(parent: Node, tag: str, wanted: int, index: Callable[[Node], int]) -> Node:
    """The child numbered `wanted`, made in its place if it is not there."""
    after = None
    for child in _children(parent):
        if index(child) == wanted:
            return child
        if index(child) > wanted:
            after = child
            break
    made = parent.ownerDocument.createElement(tag)
    parent.insertBefore(made, after)
    return made


def _set_kind(element: Node, kind: str) -> None:
    """Both value types; minidom keeps two attributes of one local name apart only by namespace."""
    element.setAttributeNS(_OFFICE, "office:value-type", kind)
    element.setAttributeNS(_CALCEXT, "calcext:value-type", kind)
    root = element.ownerDocument.documentElement
    if not root.hasAttribute("xmlns:calcext"):  # only LibreOffice declares it
        root.setAttribute("xmlns:calcext", _CALCEXT)


def _set_text(dom: Node, element: Node, text: str) -> None:
    for child in list(element.childNodes):
        element.removeChild(child)
    element.appendChild(dom.createTextNode(text))
