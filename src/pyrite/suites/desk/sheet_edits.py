"""Rename, add and delete sheets of our own spreadsheets, for known states; never imported by a verifier."""

from __future__ import annotations

from pathlib import Path

from pyrite.suites.desk.edits import Node, OdsDocument, XlsxDocument, open_document


def edit_sheets(path: Path, *, rename: str = "", name: str = "", delete: str = "") -> None:
    """Rename `rename` to `name`, or delete `delete`, or else add `name` at the end."""
    document = open_document(path)
    if isinstance(document, OdsDocument):
        _edit_ods(document, rename, name, delete)
    else:
        _edit_xlsx(document, rename, name, delete)
    document.save(path)


def _edit_ods(document: OdsDocument, rename: str, name: str, delete: str) -> None:
    dom: Node = document.dom("content.xml")
    tables = {
        table.getAttribute("table:name"): table
        for table in dom.getElementsByTagName("table:table")
        if table.parentNode.nodeName == "office:spreadsheet"
    }
    if rename:
        tables[rename].setAttribute("table:name", name)
    elif delete:
        tables[delete].parentNode.removeChild(tables[delete])
    else:
        last = list(tables.values())[-1]
        new = dom.createElement("table:table")
        new.setAttribute("table:name", name)
        row = dom.createElement("table:table-row")
        row.appendChild(dom.createElement("table:table-cell"))
        new.appendChild(row)
        last.parentNode.insertBefore(new, last.nextSibling)


def _edit_xlsx(document: XlsxDocument, rename: str, name: str, delete: str) -> None:
    book: Node = document.dom("xl/workbook.xml")
    sheets = {sheet.getAttribute("name"): sheet for sheet in book.getElementsByTagName("sheet")}
    if rename:
        sheets[rename].setAttribute("name", name)
    elif delete:
        sheets[delete].parentNode.removeChild(sheets[delete])
    else:
        _add_xlsx(document, book, list(sheets.values())[-1], name)


def _add_xlsx(document: XlsxDocument, book: Node, last: Node, name: str) -> None:
    new = book.createElement("sheet")
    for attribute, value in (("name", name), ("sheetId", "99"), ("r:id", "rIdNew")):
        new.setAttribute(attribute, value)
    last.parentNode.insertBefore(new, last.nextSibling)
    relations: Node = document.dom("xl/_rels/workbook.xml.rels")
    like = relations.getElementsByTagName("Relationship")[0]
    relation = like.cloneNode(True)
    relation.setAttribute("Id", "rIdNew")
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet"
    relation.setAttribute("Type", kind)
    relation.setAttribute("Target", "worksheets/sheet99.xml")
    like.parentNode.appendChild(relation)
    types: Node = document.dom("[Content_Types].xml")
    override = types.createElement("Override")
    override.setAttribute("PartName", "/xl/worksheets/sheet99.xml")
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"
    override.setAttribute("ContentType", kind)
    types.documentElement.appendChild(override)
    document.members["xl/worksheets/sheet99.xml"] = (
        b'<?xml version="1.0" encoding="UTF-8"?><worksheet xmlns='
        b'"http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData/></worksheet>'
    )
