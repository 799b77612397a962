"""Text documents as paragraphs and tables, with how their text looks once all styles are applied.

    document = read_text_document(home / "Documents/report.odt")
    document.paragraphs[0].text, document.paragraphs[0].size    # 'Report', 24.0

Two programs write one look in many ways (a style, a direct format, a span), so what is compared is the
effective look of each run of characters; neighbouring runs that look alike are one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from pyrite.checks.package import DEFAULT_BOUNDS, Bounds, Spent, Unreadable, read_file

MAX_STYLES = 5000
MAX_CHAIN = 50
"""Styles that one style may be based on, one after the other."""


class Look(NamedTuple):
    """How characters look; fonts and spacing are left out."""

    size: float | None = None
    """Points; None where nothing says it."""
    bold: bool = False
    italic: bool = False
    underline: bool = False
    strike: bool = False
    hidden: bool = False
    """Not on the page at all."""
    colour: str = ""
    """Six hex digits; empty where it is automatic or black."""
    background: str = ""
    """Behind the characters or the whole paragraph: six hex digits, or the name of a highlight."""

    @property
    def marks(self) -> tuple[bool, bool, bool, str, str]:
        """What stays when another style gives size, weight and slant."""
        return self.underline, self.strike, self.hidden, self.colour, self.background

    def __str__(self) -> str:
        words = [f"{self.size} pt", *(name for name in _SWITCHES if getattr(self, name))]
        words += [self.colour, f"on {self.background}" if self.background else ""]
        return " ".join(word for word in words if word)


_SWITCHES = ("bold", "italic", "underline", "strike", "hidden")
_NO_COLOUR = {"", "auto", "none", "transparent", "000000"}


class Run(NamedTuple):
    """Characters that look alike."""

    text: str
    look: Look


class Paragraph(NamedTuple):
    """One paragraph or heading."""

    style: str
    """Name of the named style that it has, in lower case ("heading 1")."""
    align: str
    """left | right | center | justify"""
    runs: tuple[Run, ...]

    @property
    def text(self) -> str:
        return "".join(run.text for run in self.runs)

    @property
    def looks(self) -> set[Look]:
        """Looks of what can be seen of it."""
        return {run.look for run in self.runs if run.text.strip()}


class Table(NamedTuple):
    """A table; each cell is the paragraphs in it."""

    rows: tuple[tuple[tuple[Paragraph, ...], ...], ...]

    @property
    def texts(self) -> list[list[str]]:
        return [["\n".join(p.text for p in cell).strip() for cell in row] for row in self.rows]


class TextDocument(NamedTuple):
    """What stands in the body of a document, in reading order."""

    blocks: tuple[Paragraph | Table, ...]
    format: str
    """odt | docx"""

    @property
    def paragraphs(self) -> list[Paragraph]:
        return [block for block in self.blocks if isinstance(block, Paragraph)]

    @property
    def tables(self) -> list[Table]:
        return [block for block in self.blocks if isinstance(block, Table)]


def read_text_document(
    path: Path, bounds: Bounds = DEFAULT_BOUNDS, spent: Spent | None = None
) -> TextDocument:
    """Read an .odt or .docx file, by its name's ending; raises `Unreadable`."""
    try:
        data = read_file(path, bounds.file_bytes)
        ending = path.suffix.lower()
        if ending == ".odt":
            from pyrite.checks.odt import parse_odt

            return parse_odt(data, bounds, spent)
        if ending == ".docx":
            from pyrite.checks.docx import parse_docx

            return parse_docx(data, bounds, spent)
    except (MemoryError, RecursionError):
        raise Unreadable("too_large", "it needs more memory than there is") from None
    raise Unreadable("unknown_format", f"{ending[:20] or 'no ending'} is not one of .odt .docx")


def paragraph(style: str, align: str, runs: Iterable[Run]) -> Paragraph:
    """A paragraph whose neighbouring runs differ in look; empty runs are left out."""
    merged: list[Run] = []
    for run in runs:
        if merged and merged[-1].look == run.look:
            merged[-1] = Run(merged[-1].text + run.text, run.look)
        elif run.text:
            merged.append(run)
    return Paragraph(style.casefold(), align, tuple(merged))


def colour(text: str, *, paper: bool = False) -> str:
    """A colour as both formats say it; `paper`: of what is behind, where white is none.

    >>> colour("#FF0000"), colour("auto"), colour("FFFFFF", paper=True)
    ('ff0000', '', '')
    """
    plain = text.strip().removeprefix("#").lower()[:20]
    if paper:
        return "" if plain in _NO_COLOUR - {"000000"} or plain in ("ffffff", "white") else plain
    return "" if plain in _NO_COLOUR else plain


def chain(name: str, parents: dict[str, str]) -> Iterator[str]:
    """A style and those it is based on, the nearest first; a circle ends."""
    seen: set[str] = set()
    while name and name not in seen and len(seen) < MAX_CHAIN:
        seen.add(name)
        yield name
        name = parents.get(name, "")


def without_empty(document: TextDocument) -> list[Paragraph | Table]:
    """The blocks, those paragraphs left out that hold nothing to see."""
    return [b for b in document.blocks if isinstance(b, Table) or b.text.strip()]


def describe(block: Paragraph | Table | None) -> str:
    """A block in words, at most 160 characters."""
    if block is None:
        return "nothing"
    if isinstance(block, Table):
        shown = f"table {block.texts}"
    else:
        looks = sorted(map(str, block.looks))
        shown = f"{block.style}, {block.align}, {', '.join(looks[:3])}: {block.text}"
    return shown if len(shown) <= 160 else shown[:159] + "…"
