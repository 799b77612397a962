"""Give cells of our own spreadsheets a number format, for known states; never imported by a verifier."""

from __future__ import annotations

import re
from pathlib import Path

from pyrite.suites.desk.edits import Node, OdsDocument

_DATE = {"y": "year", "m": "month", "d": "day"}


def give_format(path: Path, sheet: str, cells: list[str], code: str) -> None:
    """Show cells by a format code: numbers, percentages and dates."""
    if path.suffix == ".xlsx":
        from openpyxl import load_workbook

        book = load_workbook(path)
        for cell in cells:
            book[sheet][cell].number_format = code.lower() if "Y" in code else code
        book.save(path)
        return
    document = OdsDocument(path)
    dom: Node = document.dom("content.xml")
    styles = dom.getElementsByTagName("office:automatic-styles")[0]
    styles.appendChild(_data_style(dom, code))
    style = dom.createElement("style:style")
    for name, value in (
        ("name", "ce9100"),
        ("family", "table-cell"),
        ("parent-style-name", "Default"),
        ("data-style-name", "N9100"),
    ):
        style.setAttribute(f"style:{name}", value)
    styles.appendChild(style)
    for cell in cells:
        document._cell(sheet, cell).setAttribute("table:style-name", "ce9100")
    document.save(path)


def _data_style(dom: Node, code: str) -> Node:
    """The data style of a code such as 0.0% or #,##0.00 or DD/MM/YYYY."""
    is_date = "Y" in code.upper()
    kind = "date" if is_date else "percentage" if code.endswith("%") else "number"
    style = dom.createElement(f"number:{kind}-style")
    style.setAttribute("style:name", "N9100")
    if is_date:
        for piece in re.findall(r"Y+|M+|D+|[^YMD]+", code):
            letter = piece[0].lower()
            part = dom.createElement(f"number:{_DATE.get(letter, 'text')}")
            if letter not in _DATE:
                part.appendChild(dom.createTextNode(piece))
            elif len(piece) in (2, 4):
                part.setAttribute("number:style", "long")
            style.appendChild(part)
        return style
    number = dom.createElement("number:number")
    decimals = len(code.rstrip("%").partition(".")[2])
    number.setAttribute("number:decimal-places", str(decimals))
    number.setAttribute("number:min-integer-digits", "1")
    if code.startswith("#,##"):
        number.setAttribute("number:grouping", "true")
    style.appendChild(number)
    if code.endswith("%"):
        text = dom.createElement("number:text")
        text.appendChild(dom.createTextNode("%"))
        style.appendChild(text)
    return style
