"""Read the text of an OpenDocument text document.

Source: OpenDocument 1.3 part 3, sections 5.1 (paragraphs), 9.1 (tables), 16.4 (styles), 20.190 (font size).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree.ElementTree import Element

from pyrite.checks.package import DEFAULT_BOUNDS, Bounds, Package, Spent, Unreadable, local_name
from pyrite.checks.paragraphs import (
    MAX_STYLES,
    Look,
    Paragraph,
    Run,
    Table,
    TextDocument,
    chain,
    colour,
    paragraph,
)

_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_FO = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"
_BACKGROUND = f"{_FO}background-color"
_PAPER = "background of the paragraph"

_MIMETYPES = {
    b"application/vnd.oasis.opendocument.text",
    b"application/vnd.oasis.opendocument.text-template",
}
_PARAGRAPHS = {f"{_TEXT}p", f"{_TEXT}h"}
_GROUPS = {
    *(f"{_TEXT}{name}" for name in ("section", "list", "list-item", "list-header", "index-body")),
    f"{_TEXT}table-of-content",
}
_ROW_GROUPS = {f"{_TABLE}{name}" for name in ("table-row-group", "table-header-rows", "table-rows")}
_ASIDE = {f"{_OFFICE}annotation", f"{_OFFICE}annotation-end", f"{_TEXT}note", f"{_TEXT}ruby-text"}
_ALIGN = {"start": "left", "end": "right", "left": "left", "right": "right", "center": "center"}
_MAX_REPEAT = 1000


class _Styles(NamedTuple):
    """Paragraph and text styles by family/name."""

    parents: dict[str, str]
    own: dict[str, dict[str, str]]
    named: dict[str, str]
    """Named styles (not automatic ones) -> the name that is shown."""

    def add(self, element: Element, automatic: bool) -> None:
        family = element.get(f"{_STYLE}family", "")
        if family not in ("paragraph", "text"):
            return
        if len(self.own) >= MAX_STYLES:
            raise Unreadable("too_large", f"more than {MAX_STYLES} styles")
        is_default = element.tag == f"{_STYLE}default-style"
        name = f"{family}/" if is_default else f"{family}/{element.get(f'{_STYLE}name', '')}"
        properties: dict[str, str] = {}
        for child in element:
            if child.tag == f"{_STYLE}text-properties":
                properties.update(child.attrib)
            elif child.tag == f"{_STYLE}paragraph-properties":
                of_paragraph = dict(child.attrib)
                if (paper := of_paragraph.pop(_BACKGROUND, None)) is not None:
                    properties[_PAPER] = paper
                properties.update(of_paragraph)
        self.own[name] = properties
        parent = element.get(f"{_STYLE}parent-style-name", "")
        self.parents[name] = "" if is_default else f"{family}/{parent}"
        if not automatic and not is_default:
            shown = element.get(f"{_STYLE}display-name", element.get(f"{_STYLE}name", ""))
            self.named[name] = shown

    def value(self, style: str, attribute: str) -> str | None:
        """What a style or those below it say."""
        for name in chain(style, self.parents):
            found = self.own.get(name, {}).get(attribute)
            if found is not None:
                return found
        return None

    def colour(self, styles: list[str]) -> str:
        """Of the characters: the nearest style that names one, or says that it is automatic."""
        for style in styles:
            for name in chain(style, self.parents):
                own = self.own.get(name, {})
                if own.get(f"{_STYLE}use-window-font-color") == "true":
                    return ""
                if f"{_FO}color" in own:
                    return colour(own[f"{_FO}color"])
        return ""

    def size(self, styles: list[str]) -> float | None:
        """Points: percentages are of what the style is based on."""
        factor = 1.0
        for style in styles:
            for name in chain(style, self.parents):
                text = self.own.get(name, {}).get(f"{_FO}font-size", "")
                match = re.fullmatch(r"(\d{1,4}(?:\.\d{1,6})?)(pt|%)", text, re.ASCII)
                if match is None:
                    continue
                if match[2] == "pt":
                    return round(float(match[1]) * factor, 1)
                factor *= float(match[1]) / 100
        return None

    def shown_name(self, style: str) -> str:
        """The named style that a paragraph has, below its automatic one."""
        return next((self.named[name] for name in chain(style, self.parents) if name in self.named), "")


def parse_odt(data: bytes, bounds: Bounds = DEFAULT_BOUNDS, spent: Spent | None = None) -> TextDocument:
    """The body of an .odt file's bytes; raises `Unreadable`."""
    package = Package(data, bounds, spent)
    if "mimetype" in package and package.read("mimetype").strip() not in _MIMETYPES:
        raise Unreadable("wrong_format", "its mimetype is not that of a text document")
    styles = _Styles({}, {}, {})
    if "styles.xml" in package:
        for inside, element in _style_elements(package, "styles.xml"):
            if inside == "styles":
                styles.add(element, automatic=False)
    for inside, element in _style_elements(package, "content.xml"):
        if inside == "automatic-styles":
            styles.add(element, automatic=True)
    blocks: list[Paragraph | Table] | None = None
    for event, element in package.elements("content.xml", whole="text"):
        if event == "end" and element.tag == f"{_OFFICE}text":
            if blocks is not None:
                raise Unreadable("ambiguous", "it has two bodies")
            blocks = list(_blocks(element, styles, package))
    if blocks is None:
        raise Unreadable("wrong_format", "content.xml holds no text")
    return TextDocument(tuple(blocks), "odt")


def _style_elements(package: Package, part: str) -> Iterator[tuple[str, Element]]:
    """(styles | automatic-styles, element) of each style of a part."""
    inside = ""
    whole = "style" if part == "content.xml" else "styles"
    for event, element in package.elements(part, whole=whole):
        name = local_name(element)
        if name in ("styles", "automatic-styles") and element.tag.startswith(_OFFICE):
            if event == "start":
                inside = name
            elif name == "styles":
                for child in element:
                    if child.tag in (f"{_STYLE}style", f"{_STYLE}default-style"):
                        yield inside, child
                inside = ""
            else:
                inside = ""
        elif event == "end" and part == "content.xml" and element.tag == f"{_STYLE}style":
            yield inside, element


def _blocks(parent: Element, styles: _Styles, package: Package) -> Iterator[Paragraph | Table]:
    for child in parent:
        if child.tag in _PARAGRAPHS:
            yield _paragraph(child, styles, package)
        elif child.tag == f"{_TABLE}table":
            yield _table(child, styles, package)
        elif child.tag in _GROUPS:
            inside = _blocks(child, styles, package)
            yield from map(_hidden, inside) if _is_hidden(child) else inside


def _is_hidden(element: Element) -> bool:
    """Of a section, or a field that hides its paragraph."""
    return element.get(f"{_TEXT}display") == "none" or element.get(f"{_TEXT}is-hidden") == "true"


def _hidden(block: Paragraph | Table) -> Paragraph | Table:
    if isinstance(block, Table):
        return Table(tuple(tuple(tuple(map(_unseen, cell)) for cell in row) for row in block.rows))
    return _unseen(block)


def _unseen(block: Paragraph) -> Paragraph:
    runs = (Run(run.text, run.look._replace(hidden=True)) for run in block.runs)
    return paragraph(block.style, block.align, runs)


def _table(table: Element, styles: _Styles, package: Package) -> Table:
    rows: list[tuple[tuple[Paragraph, ...], ...]] = []
    for row in _rows(table):
        cells: list[tuple[Paragraph, ...]] = []
        for cell in row:
            if cell.tag == f"{_TABLE}table-cell":
                inside = _flat(_blocks(cell, styles, package))
                cells += [inside] * _repeat(cell, "number-columns-repeated", package)
        rows += [tuple(cells)] * _repeat(row, "number-rows-repeated", package, len(cells))
    return Table(tuple(rows))


def _flat(blocks: Iterator[Paragraph | Table]) -> tuple[Paragraph, ...]:
    """Paragraphs of a cell; those of a table inside of it follow one another."""
    found: list[Paragraph] = []
    for block in blocks:
        if isinstance(block, Paragraph):
            found.append(block)
        else:
            found += [inner for row in block.rows for cell in row for inner in cell]
    return tuple(found)


def _rows(table: Element) -> Iterator[Element]:
    for child in table:
        if child.tag == f"{_TABLE}table-row":
            yield child
        elif child.tag in _ROW_GROUPS:
            yield from _rows(child)


def _repeat(element: Element, name: str, package: Package, width: int = 1) -> int:
    """How often a row or cell stands; what is more than one counts as text that is made."""
    text = element.get(_TABLE + name, "1")
    if not re.fullmatch(r"\d{1,6}", text, re.ASCII) or not 1 <= int(text) <= _MAX_REPEAT:
        raise Unreadable("too_large", f"a repeat count is {text[:20]!r}")
    count = int(text)
    if count > 1:
        package.make_text(count * max(width, 1))
    return count


def _paragraph(element: Element, styles: _Styles, package: Package) -> Paragraph:
    own = f"paragraph/{element.get(f'{_TEXT}style-name', '')}"
    align = styles.value(own, f"{_FO}text-align") or styles.value("paragraph/", f"{_FO}text-align") or ""
    runs = list(_runs(element, [own], styles, package))
    found = paragraph(styles.shown_name(own), _ALIGN.get(align, align or "left"), _collapsed(runs))
    hides = any(_is_hidden(field) for field in element.iter(f"{_TEXT}hidden-paragraph"))
    return _unseen(found) if hides else found


def _runs(element: Element, path: list[str], styles: _Styles, package: Package) -> Iterator[Run]:
    look = _look(path, styles)
    if element.text:
        yield Run(re.sub(r"[ \t\r\n]+", " ", element.text), look)
    for child in element:
        if child.tag == f"{_TEXT}s":
            count = child.get(f"{_TEXT}c", "1")
            spaces = int(count) if re.fullmatch(r"\d{1,6}", count, re.ASCII) else 1
            package.make_text(spaces)
            yield Run("\u00a0" * spaces, look)
        elif child.tag in (f"{_TEXT}tab", f"{_TEXT}line-break"):
            yield Run("\t" if child.tag == f"{_TEXT}tab" else "\n", look)
        elif child.tag not in _ASIDE:
            inner = child.get(f"{_TEXT}style-name") if child.tag == f"{_TEXT}span" else None
            yield from _runs(child, path if inner is None else [f"text/{inner}", *path], styles, package)
        if child.tail:
            yield Run(re.sub(r"[ \t\r\n]+", " ", child.tail), look)


def _collapsed(runs: list[Run]) -> Iterator[Run]:
    """White space that the format drops: at the start, and after another space."""
    space = True
    for text, look in runs:
        if space and text.startswith(" "):
            text = text[1:]
        if text:
            space = text.endswith(" ")
        yield Run(text.replace("\u00a0", " "), look)


def _look(path: list[str], styles: _Styles) -> Look:
    def first(attribute: str) -> str:
        found = (styles.value(style, attribute) for style in [*path, "paragraph/"])
        return next((value for value in found if value is not None), "")

    weight = first(f"{_FO}font-weight")
    return Look(
        styles.size([*path, "paragraph/"]),
        weight == "bold" or (weight.isascii() and weight.isdigit() and int(weight[:4]) >= 600),
        first(f"{_FO}font-style") in ("italic", "oblique"),
        first(f"{_STYLE}text-underline-style") not in ("", "none"),
        any(first(f"{_STYLE}text-line-through-{kind}") not in ("", "none") for kind in ("style", "type")),
        first(f"{_TEXT}display") == "none",
        styles.colour([*path, "paragraph/"]),
        colour(first(_BACKGROUND), paper=True) or colour(first(_PAPER), paper=True),
    )
