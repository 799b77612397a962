"""Read the text of an Office Open XML document (.docx), transitional or strict.

Source: ECMA-376 part 1, sections 17.3 (paragraphs, runs), 17.4 (tables), 17.7 (styles, their order).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote
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

_ALIGN = {"start": "left", "end": "right", "both": "justify", "left": "left", "right": "right"}
_GROUPS = {"sdt", "sdtContent", "customXml", "ins", "moveTo", "smartTag"}
_RUN_GROUPS = {*_GROUPS, "hyperlink", "fldSimple"}
_READ = {
    *("sz", "b", "i", "u", "strike", "dstrike", "vanish", "color", "highlight", "shd"),
    *("jc", "pStyle", "rStyle"),
}
_PAPER = "shading of the paragraph"
_OFF = {"0", "false", "off", "none"}


class _Styles(NamedTuple):
    """Styles by id."""

    parents: dict[str, str]
    own: dict[str, dict[str, str]]
    names: dict[str, str]
    defaults: dict[str, str]
    """What holds where no style says anything, and under "" the id of the default paragraph style."""

    def add(self, element: Element) -> None:
        if len(self.own) >= MAX_STYLES:
            raise Unreadable("too_large", f"more than {MAX_STYLES} styles")
        key = _attribute(element, "styleId")
        self.own[key] = _properties(element)
        for child in element:
            if local_name(child) == "name":
                self.names[key] = _attribute(child, "val")
            elif local_name(child) == "basedOn":
                self.parents[key] = _attribute(child, "val")
        if _attribute(element, "type") == "paragraph" and _attribute(element, "default") in ("1", "true"):
            self.defaults[""] = key

    def value(self, styles: list[str], direct: dict[str, str], key: str) -> str:
        if key in direct:
            return direct[key]
        for style in styles:
            for name in chain(style, self.parents):
                if key in self.own.get(name, {}):
                    return self.own[name][key]
        return self.defaults.get(key, "")


def parse_docx(data: bytes, bounds: Bounds = DEFAULT_BOUNDS, spent: Spent | None = None) -> TextDocument:
    """The body of a .docx file's bytes; raises `Unreadable`."""
    package = Package(data, bounds, spent)
    main = next((path for kind, path in _related(package, "") if kind == "officeDocument"), None)
    if main is None:
        raise Unreadable("wrong_format", "it names no document")
    styles = _Styles({}, {}, {}, {})
    for kind, path in _related(package, main):
        if kind == "styles":
            _read_styles(package, path, styles)
    blocks: list[Paragraph | Table] | None = None
    root = ""
    for event, element in package.elements(main, whole="body"):
        root = root or local_name(element)
        if event == "end" and local_name(element) == "body":
            if blocks is not None:
                raise Unreadable("ambiguous", "it has two bodies")
            blocks = list(_blocks(element, styles))
    if root != "document" or blocks is None:
        raise Unreadable("wrong_format", f"its main part is a {root[:50]!r}, not a document")
    return TextDocument(tuple(blocks), "docx")


def _related(package: Package, part: str) -> list[tuple[str, str]]:
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
            found.append((kind, posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")))
    return found


def _read_styles(package: Package, path: str, styles: _Styles) -> None:
    for event, element in package.elements(path, whole="styles"):
        if event == "end" and local_name(element) == "styles":
            for child in element:
                if local_name(child) == "style":
                    styles.add(child)
                elif local_name(child) == "docDefaults":
                    for default in child:
                        for inner in default:
                            styles.defaults.update(_of(inner))


def _properties(parent: Element) -> dict[str, str]:
    """What the rPr and pPr below an element say."""
    found: dict[str, str] = {}
    for child in parent:
        if local_name(child) in ("rPr", "pPr"):
            found.update(_of(child))
    return found


def _of(holder: Element) -> dict[str, str]:
    found = {name: _attribute(child, "val", "on") for child in holder if (name := local_name(child)) in _READ}
    for child in holder:
        if local_name(child) == "shd":
            shown = "color" if found.pop("shd", "") == "solid" else "fill"
            found[_PAPER if local_name(holder) == "pPr" else "shd"] = _attribute(child, shown)
    return found


def _attribute(element: Element, name: str, default: str = "") -> str:
    """An attribute in whichever of the two namespaces."""
    return next((v for k, v in element.attrib.items() if k.rpartition("}")[2] == name), default)


def _blocks(parent: Element, styles: _Styles) -> Iterator[Paragraph | Table]:
    for child in parent:
        name = local_name(child)
        if name == "p":
            yield _paragraph(child, styles)
        elif name == "tbl":
            yield _table(child, styles)
        elif name in _GROUPS:
            yield from _blocks(child, styles)


def _table(table: Element, styles: _Styles) -> Table:
    rows = []
    for row in _inside(table, "tr"):
        rows.append(tuple(_flat(_blocks(cell, styles)) for cell in _inside(row, "tc")))
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


def _inside(parent: Element, wanted: str) -> Iterator[Element]:
    for child in parent:
        if local_name(child) == wanted:
            yield child
        elif local_name(child) in _GROUPS:
            yield from _inside(child, wanted)


def _paragraph(element: Element, styles: _Styles) -> Paragraph:
    own: dict[str, str] = {}
    for child in element:
        if local_name(child) == "pPr":
            own = _of(child)
    style = own.get("pStyle") or styles.defaults.get("", "")
    align = styles.value([style], own, "jc")
    name = styles.names.get(style, style)
    return paragraph(name, _ALIGN.get(align, align or "left"), _runs(element, style, own, styles))


def _runs(parent: Element, style: str, own: dict[str, str], styles: _Styles) -> Iterator[Run]:
    """`own`: what the paragraph itself says."""
    paper = colour(styles.value([style], own, _PAPER), paper=True)
    for child in parent:
        name = local_name(child)
        if name == "r":
            direct = _properties(child)
            of_run = [direct["rStyle"], style] if "rStyle" in direct else [style]
            look = _look(of_run, direct, styles)
            look = look._replace(background=look.background or paper)
            yield from (Run(text, look) for text in _texts(child))
        elif name in _RUN_GROUPS:
            yield from _runs(child, style, own, styles)


def _texts(run: Element) -> Iterator[str]:
    for child in run:
        name = local_name(child)
        if name == "t":
            yield child.text or ""
        elif name in ("tab", "br", "cr"):
            yield "\t" if name == "tab" else "\n"
        elif name == "noBreakHyphen":
            yield "-"


def _look(of_run: list[str], direct: dict[str, str], styles: _Styles) -> Look:
    def on(key: str) -> bool:
        return styles.value(of_run, direct, key).lower() not in {"", *_OFF}

    half = styles.value(of_run, direct, "sz")
    match = re.fullmatch(r"(\d{1,5})(?:\.0+)?", half, re.ASCII)

    def named(key: str, *, paper: bool = False) -> str:
        return colour(styles.value(of_run, direct, key), paper=paper)

    return Look(
        int(match[1]) / 2 if match else None,
        on("b"),
        on("i"),
        on("u"),
        on("strike") or on("dstrike"),
        on("vanish"),
        named("color"),
        named("highlight", paper=True) or named("shd", paper=True),
    )
