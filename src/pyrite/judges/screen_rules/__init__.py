"""`screen-rules`: OCR of the last screen, then deterministic reading by geometry.

It sees the task's text and the pixels of the final screen, and understands one kind of task: a value in
a cell of a spreadsheet. In order: a dialog in the way or another file in the title is a failure; a title
or grid that cannot be read is uncertain; then the active sheet and what the task's cell shows decide.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
from PIL import Image

from pyrite.judges.base import Package, Reply
from pyrite.judges.ocr import DEFAULT, Box, Reader, Reading, named
from pyrite.judges.screen_rules.cell import Shown, read_cell
from pyrite.judges.screen_rules.grid import Grid, Pixels, find_grid
from pyrite.judges.screen_rules.instruction import Wanted, parse
from pyrite.judges.screen_rules.reread import Votes
from pyrite.judges.screen_rules.values import rounded_number, same_number, shapes, trimmed
from pyrite.judges.screen_rules.window import (
    Overlay,
    Title,
    find_dialog,
    find_overlays,
    read_sheet,
    read_title,
)
from pyrite.records import Evidence, Verdict

__all__ = ["ScreenRules", "decide"]

MAX_QUOTE = 60


@dataclass(frozen=True)
class _Found:
    """A step that settled the verdict."""

    verdict: Verdict
    reason: str


class ScreenRules:
    """Reads the last screen with OCR: success where it shows what the task asks for, by rules.

    `ocr` names the engine: rapidocr, or tesserocr for many screens. `cache=False` recomputes every reading.
    """

    name = "screen-rules"
    inputs = "task, text of the last screen"
    calls_per_episode = "0"
    source = "pyrite"
    deterministic = True

    def __init__(self, ocr: str = DEFAULT, *, cache: bool = True) -> None:
        self.reader = Reader(named(ocr), cache)

    def supports(self, condition: str) -> bool:
        return True

    def config(self) -> dict[str, Any]:
        """Rules and engine; without an engine, readings of any recorded version count, and it says so."""
        return {"rules_sha256": rules_sha256(), **self.reader.config()}

    def screens(self, evidence: Evidence) -> Sequence[str]:
        """Keys of the images that it will read: the last one, where it understands the task."""
        return evidence.images[-1:] if parse(evidence.instruction) else ()

    async def judge(self, package: Package, run: int) -> Reply:
        instruction = package.evidence.instruction
        if not package.evidence.images:
            return Reply(Verdict.UNCERTAIN, "there is no screen")
        return await asyncio.to_thread(lambda: decide(instruction, package.image(-1), self.reader))


@lru_cache(maxsize=1)
def rules_sha256() -> str:
    """Digest of the sources that decide."""
    digest = hashlib.sha256()
    for source in sorted(files(__package__).iterdir(), key=lambda source: source.name):
        if source.name.endswith(".py"):
            digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()


def decide(instruction: str, screen: Image.Image, reader: Reader | None = None) -> Reply:
    """Judge a final screen (RGB) against an instruction. Raises `Unavailable` where OCR is missing."""
    wanted = parse(instruction)
    if wanted is None:
        return Reply(Verdict.UNCERTAIN, "the instruction is not a single value in a single cell of one file")
    reader = reader or Reader()
    reading = reader.screen(screen)
    found = _decide(wanted, np.asarray(screen.convert("RGB")), reading.boxes, reader)
    return Reply(found.verdict, found.reason + _provenance(reading), usage={"ocr": reading.provenance()})


def _provenance(reading: Reading) -> str:
    return f" (recorded reading by {reading.engine}; no OCR engine here)" if reading.recalled else ""


def _decide(wanted: Wanted, pixels: Pixels, boxes: tuple[Box, ...], reader: Reader) -> _Found:
    grid = find_grid(pixels, boxes)
    overlays = find_overlays(pixels, grid) if grid else []
    if dialog := find_dialog(boxes, grid, overlays):
        return _Found(Verdict.FAILURE, f"a dialog is in the way: {_quoted(dialog)}")
    title = read_title(pixels, boxes, grid, reader)
    if found := _judge_title(wanted, title):
        return found
    if grid is None:
        return _Found(Verdict.UNCERTAIN, f"the title names {wanted.file}, but no grid can be read")
    sheet = read_sheet(pixels, boxes, reader)
    if found := _judge_sheet(wanted, sheet):
        return found
    return _judge_cell(wanted, pixels, boxes, grid, overlays, reader)


def _judge_title(wanted: Wanted, title: Title | None) -> _Found | None:
    """None if the title names the task's file and nothing speaks against it."""
    if title is None:
        return _Found(Verdict.UNCERTAIN, "no window title of a document can be read")
    if title.names.support(lambda name: shapes(name) == shapes(wanted.file)):
        if title.suffix:
            return _Found(Verdict.FAILURE, f"the title says {wanted.file} {title.suffix}")
        return None
    shown = title.names.best
    if title.names.support(lambda name: name == shown) < 2 or "…" in shown or "..." in shown:
        return _Found(Verdict.UNCERTAIN, f"the title is not legible: {_quoted(shown)}")
    return _Found(Verdict.FAILURE, f"the title names {_quoted(shown)}, not {wanted.file}")


def _judge_sheet(wanted: Wanted, sheet: Votes | None) -> _Found | None:
    """None if no sheet is asked for, the tab cannot be read, or it is the one asked for."""
    if wanted.sheet is None or sheet is None or not sheet.best:
        return None
    target = shapes(wanted.sheet)
    if sheet.support(lambda name: shapes(name) == target):
        return None
    if sheet.support(lambda name: name == sheet.best) < 2:
        return _Found(Verdict.UNCERTAIN, f"the active sheet is not legible: {_quoted(sheet.best)}")
    return _Found(Verdict.FAILURE, f"the active sheet is {_quoted(sheet.best)}, not {wanted.sheet}")


def _judge_cell(
    wanted: Wanted,
    pixels: Pixels,
    boxes: tuple[Box, ...],
    grid: Grid,
    overlays: list[Overlay],
    reader: Reader,
) -> _Found:
    column, row = grid.column(wanted.column), grid.row(wanted.row)
    if column is None or row is None:
        return _Found(Verdict.UNCERTAIN, f"{wanted.file}: {wanted.cell} is not in view")
    x, y = grid.columns[column], grid.rows[row]
    over = [overlay for overlay in overlays if overlay.overlaps(x.start, y.start, x.end, y.end)]
    if any(not overlay.in_cells for overlay in over):
        return _Found(Verdict.UNCERTAIN, f"{wanted.file}: something covers {wanted.cell}")
    shown = read_cell(pixels, grid, column, row, reader)
    if over and shown.state == "empty":
        return _Found(Verdict.UNCERTAIN, f"{wanted.file}: {wanted.cell} may be covered, or filled and empty")
    english = any(box.text.startswith("English") for box in boxes if box.cy > grid.bottom)
    return _judge_shown(wanted, shown, english=english)


def _judge_shown(wanted: Wanted, shown: Shown, *, english: bool) -> _Found:
    where = f"{wanted.file}: {wanted.cell}"
    if shown.state == "empty" or shown.text is None:
        return _Found(Verdict.FAILURE, f"{where} is empty, not {_quoted(wanted.value)}")
    best = shown.text.best
    if shown.state == "foreign":
        return _Found(Verdict.FAILURE, f"{where} is empty; text of a cell to its left runs over it")
    if best and set(best) <= {"#"}:
        return _Found(Verdict.UNCERTAIN, f"{where} shows ###: the column is too narrow")
    votes = shown.text.support(lambda text: _shows(wanted, text, english=english))
    if shown.state == "clipped":
        return _judge_clipped(wanted, best, where)
    if votes >= 2:
        return _Found(Verdict.SUCCESS, f"{where} shows {_quoted(best)}")
    joint = shown.joint is not None and shown.joint.support(
        lambda text: _shows(wanted, text, english=english)
    )
    if votes == 1 or joint or not best or _maybe(wanted, shown.text, english=english):
        return _Found(Verdict.UNCERTAIN, f"{where} is not legible: {_quoted(best)}")
    return _Found(Verdict.FAILURE, f"{where} shows {_quoted(best)}, not {_quoted(wanted.value)}")


def _judge_clipped(wanted: Wanted, best: str, where: str) -> _Found:
    """Text cut off by its neighbour: a beginning that fits proves nothing, one that does not is wrong."""
    start = shapes(best)[:-1]
    if start and not shapes(wanted.value).startswith(start):
        return _Found(Verdict.FAILURE, f"{where} begins with {_quoted(best)}, not {_quoted(wanted.value)}")
    return _Found(Verdict.UNCERTAIN, f"{where} is cut off: {_quoted(best)}")


def _shows(wanted: Wanted, text: str, *, english: bool) -> bool:
    if wanted.kind == "number":
        return same_number(text, wanted.value, english=english)
    return trimmed(text) == trimmed(wanted.value)


def _maybe(wanted: Wanted, text: Votes, *, english: bool) -> bool:
    """True if the cell may hold the value although it does not read so: rounded, or look-alikes."""
    if wanted.kind == "number":
        return text.support(lambda shown: rounded_number(shown, wanted.value, english=english)) >= 2
    return text.support(lambda shown: shapes(shown) == shapes(wanted.value)) >= 1


def _quoted(text: str) -> str:
    """Text from a screen or task, bounded and on one line."""
    flat = " ".join(text.split())
    return f'"{flat[:MAX_QUOTE]}…"' if len(flat) > MAX_QUOTE else f'"{flat}"'
