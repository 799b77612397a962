"""Edit our own .odt and .docx files in place, to build known states; never imported by a verifier.

    document = open_text(path)
    document.style("Repairs", "Heading 2")
    document.save(path)

Paragraphs are found by their whole text. All else stays byte for byte what LibreOffice wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyrite.suites.desk.edits import Node, _Zipped

_ODT_MARKS = {
    "red": ("fo:color", "#c9211e"),
    "struck": ("style:text-line-through-style", "solid"),
    "hidden": ("text:display", "none"),
    "marked": ("fo:background-color", "#ffff00"),
    "underlined": ("style:text-underline-style", "solid"),
}
_DOCX_MARKS = {
    "": ("", ""),
    "red": ("w:color", "C9211E"),
    "struck": ("w:strike", "true"),
    "hidden": ("w:vanish", "true"),
    "marked": ("w:highlight", "yellow"),
    "underlined": ("w:u", "single"),
}


class TextFile(_Zipped):
    """What both formats share: paragraphs, found by their text."""

    part = ""
    tags: tuple[str, ...] = ()
    row_tag = ""
    cell_tag = ""
    table_tag = ""

    @property
    def root(self) -> Node:
        return self.dom(self.part)

    def find(self, text: str) -> Node:
        for tag in self.tags:
            for node in self.root.getElementsByTagName(tag):
                if _text(node) == text:
                    return node
        raise KeyError(text)

    def texts(self) -> list[str]:
        return [_text(node) for tag in self.tags for node in self.root.getElementsByTagName(tag)]

    def replace(self, old: str, new: str, *, most: int = 1000) -> None:
        """Replace a text within runs, the first `most` of them."""
        waiting = [self.root.documentElement]
        while waiting and most > 0:
            node = waiting.pop()
            if node.nodeType == node.TEXT_NODE and old in node.data:
                done = min(most, node.data.count(old))
                node.data = node.data.replace(old, new, done)
                most -= done
            waiting.extend(reversed(node.childNodes))

    def add_row(self, texts: Sequence[str], *, at: int | None = None) -> None:
        """A row at the end of the first table, or before its row `at`."""
        rows = self.root.getElementsByTagName(self.row_tag)
        new = rows[-1].cloneNode(True)
        for cell, text in zip(new.getElementsByTagName(self.cell_tag), texts, strict=True):
            _leaf(cell).data = text
        place = rows[-1].nextSibling if at is None else rows[at]
        rows[-1].parentNode.insertBefore(new, place)

    def add_paragraph(self, text: str) -> None:
        """One more paragraph like the last, behind it."""
        last = self.find(self.last_text())
        new = last.cloneNode(True)
        _leaf(new).data = text
        last.parentNode.insertBefore(new, last.nextSibling)

    def last_text(self) -> str:
        return [_text(n) for n in self.root.getElementsByTagName(self.tags[0]) if _text(n)][-1]

    def remove(self, text: str) -> None:
        node = self.find(text)
        node.parentNode.removeChild(node)


class OdtFile(TextFile):
    """An OpenDocument text document."""

    part = "content.xml"
    tags = ("text:p", "text:h")
    row_tag, cell_tag, table_tag = "table:table-row", "table:table-cell", "table:table"

    def style(self, text: str, name: str) -> None:
        """Give a paragraph a named style."""
        self.find(text).setAttribute("text:style-name", name.replace(" ", "_20_"))

    def look(
        self,
        text: str,
        *,
        size: float = 0,
        bold: bool = False,
        align: str = "",
        part: int = 0,
        mark: str = "",
    ) -> None:
        """Format a paragraph directly, or only its first `part` characters; `mark`: red, struck ..."""
        node = self.find(text)
        family = "text" if part else "paragraph"
        key = f"D2{len(self.root.getElementsByTagName('style:style'))}"
        style = self.root.createElement("style:style")
        style.setAttribute("style:name", key)
        style.setAttribute("style:family", family)
        if not part:
            style.setAttribute("style:parent-style-name", node.getAttribute("text:style-name"))
        if align:
            properties = self.root.createElement("style:paragraph-properties")
            properties.setAttribute("fo:text-align", align)
            style.appendChild(properties)
        properties = self.root.createElement("style:text-properties")
        if size:
            properties.setAttribute("fo:font-size", f"{size:g}pt")
        if bold:
            properties.setAttribute("fo:font-weight", "bold")
        if mark:
            properties.setAttribute(*_ODT_MARKS[mark])
        style.appendChild(properties)
        self.root.getElementsByTagName("office:automatic-styles")[0].appendChild(style)
        if not part:
            node.setAttribute("text:style-name", key)
            return
        span = self.root.createElement("text:span")
        span.setAttribute("text:style-name", key)
        span.appendChild(self.root.createTextNode(text[:part]))
        leaf = _leaf(node)
        leaf.data = text[part:]
        node.insertBefore(span, node.firstChild)

    def add_table(self, rows: Sequence[Sequence[str]]) -> None:
        """A table at the end, and the empty paragraph that has to follow it."""
        body = self.root.getElementsByTagName("office:text")[0]
        table = self.root.createElement("table:table")
        table.setAttribute("table:name", "Table9")
        for row in rows:
            line = self.root.createElement("table:table-row")
            for text in row:
                cell = self.root.createElement("table:table-cell")
                paragraph = self.root.createElement("text:p")
                paragraph.appendChild(self.root.createTextNode(text))
                cell.appendChild(paragraph)
                line.appendChild(cell)
            table.appendChild(line)
        body.appendChild(table)
        body.appendChild(self.root.createElement("text:p"))


class DocxFile(TextFile):
    """An Office Open XML document as LibreOffice writes it."""

    part = "word/document.xml"
    tags = ("w:p",)
    row_tag, cell_tag, table_tag = "w:tr", "w:tc", "w:tbl"

    def style(self, text: str, name: str) -> None:
        style = self.find(text).getElementsByTagName("w:pStyle")[0]
        style.setAttribute("w:val", name.replace(" ", ""))

    def look(
        self,
        text: str,
        *,
        size: float = 0,
        bold: bool = False,
        align: str = "",
        part: int = 0,
        mark: str = "",
    ) -> None:
        node = self.find(text)
        if align:
            node.getElementsByTagName("w:jc")[0].setAttribute("w:val", align)
        run = node.getElementsByTagName("w:r")[0]
        if part:
            rest = run.cloneNode(True)
            _leaf(rest).data = text[part:]
            _leaf(run).data = text[:part]
            run.parentNode.insertBefore(rest, run.nextSibling)
        properties = run.getElementsByTagName("w:rPr")[0]
        for tag, value in (
            ("w:sz", f"{size * 2:g}" if size else ""),
            ("w:b", "true" if bold else ""),
            _DOCX_MARKS[mark],
        ):
            if value:
                element = self.root.createElement(tag)
                element.setAttribute("w:val", value)
                properties.appendChild(element)

    def add_table(self, rows: Sequence[Sequence[str]]) -> None:
        body = self.root.getElementsByTagName("w:body")[0]
        end = body.getElementsByTagName("w:sectPr")[-1]
        table = self.root.createElement("w:tbl")
        for row in rows:
            line = self.root.createElement("w:tr")
            for text in row:
                cell = self.root.createElement("w:tc")
                cell.appendChild(self._paragraph(text))
                line.appendChild(cell)
            table.appendChild(line)
        body.insertBefore(table, end)
        body.insertBefore(self._paragraph(""), end)

    def _paragraph(self, text: str) -> Node:
        nodes = [self.root.createElement(tag) for tag in ("w:p", "w:r", "w:t")]
        nodes[0].appendChild(nodes[1])
        nodes[1].appendChild(nodes[2])
        nodes[2].appendChild(self.root.createTextNode(text))
        return nodes[0]


def open_text(path: Path) -> OdtFile | DocxFile:
    """Open a document of the suite by its ending."""
    return OdtFile(path) if path.suffix == ".odt" else DocxFile(path)


def _text(node: Node) -> str:
    if node.nodeType == node.TEXT_NODE:
        return str(node.data)
    return "".join(_text(child) for child in node.childNodes)


def _leaf(node: Node) -> Node:
    """The first text inside."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.nodeType == one.TEXT_NODE:
            return one
        waiting.extend(reversed(one.childNodes))
    raise KeyError("no text")
