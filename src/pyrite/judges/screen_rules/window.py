"""What the window around the grid says: the title's file, the active sheet, dialogs in the way."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from pyrite.judges.ocr import Box, Reader
from pyrite.judges.screen_rules.grid import Grid, Pixels
from pyrite.judges.screen_rules.reread import Votes, read_strip

_TITLE = re.compile(r"^(?P<name>.{1,300}?)\s*[-–—−]+\s*Libre\s?[O0]ffice\b", re.IGNORECASE)
_SUFFIX = re.compile(r"\s*\((?:read-?only|repaired document|safe mode|shared)\)\s*$", re.IGNORECASE)
_STATUS = re.compile(r"^Sheet\s*(\d{1,4})\s*of\s*(\d{1,4})", re.IGNORECASE)
_PHRASES = re.compile(
    r"keep current format|confirm file format|document in use|locked for editing|save document\s*\?|"
    r"save changes to document|your changes will be lost|cannot be saved in the currently selected|"
    r"use odf format|open read-only|document has been changed by others|already exists|"
    r"text import|document recovery|error saving the document|password required",
    re.IGNORECASE,
)
_BUTTONS = frozenset(
    {"ok", "cancel", "save", "open", "close", "help", "discard", "replace", "reset", "apply", "yes", "no"}
    | {"retry", "ignore", "notify", "finish", "don'tsave", "don’tsave", "dontsave", "saveas", "continue"}
)
MIN_OVERLAY_WIDTH = 60
MIN_OVERLAY_ROWS = 3


@dataclass(frozen=True)
class Overlay:
    """A rectangle in which the grid is covered by something else."""

    x0: int
    y0: int
    x1: int
    y1: int
    in_cells: bool = False

    def covers(self, box: Box) -> bool:
        return self.x0 <= box.cx <= self.x1 and self.y0 <= box.cy <= self.y1

    def overlaps(self, x0: int, y0: int, x1: int, y1: int) -> bool:
        return self.x0 < x1 and x0 < self.x1 and self.y0 < y1 and y0 < self.y1


@dataclass(frozen=True)
class Title:
    """The file name in the title bar, as read three times; `suffix` is what follows it, e.g. (read-only)."""

    names: Votes
    suffix: str = ""


def read_title(pixels: Pixels, boxes: Sequence[Box], grid: Grid | None, reader: Reader) -> Title | None:
    """The topmost LibreOffice title above the grid; None if there is none."""
    below = grid.top if grid else pixels.shape[0]
    titled = [box for box in boxes if _TITLE.match(box.text) and box.cy < below]
    if not titled:
        return None
    box = min(titled, key=lambda box: box.cy)
    strip = pixels[max(box.y0 - 1, 0) : box.y1 + 1, max(box.x0 - 4, 0) : box.x1 + 4]
    texts = [box.text, *read_strip(strip, reader).texts]
    names = [match["name"].strip() for text in texts if (match := _TITLE.match(text))]
    suffix = _SUFFIX.search(names[0])
    return Title(
        Votes(tuple(_SUFFIX.sub("", name) for name in names)), suffix.group().strip() if suffix else ""
    )


def read_sheet(pixels: Pixels, boxes: Sequence[Box], reader: Reader) -> Votes | None:
    """The name on the active tab, the one white stretch of the tab bar; None if it cannot be told."""
    status = next((box for box in sorted(boxes, key=lambda b: -b.cy) if _STATUS.match(box.text)), None)
    if status is None:
        return None
    tabs = [box for box in boxes if 14 <= status.cy - box.cy <= 40]
    cy = round(median(box.cy for box in tabs)) if tabs else round(status.cy) - 23
    bar = pixels[cy - 8 : cy + 8]
    if cy < 8 or bar.shape[0] < 16:
        return None
    white = (bar >= 250).all(axis=2).mean(axis=0) >= 0.4
    stretches = [(a, b) for a, b in _runs(white, close=12) if 20 <= b - a <= 400]
    if len(stretches) != 1:
        return None
    start, end = stretches[0]
    return read_strip(bar[:, start + 1 : end - 1], reader)


def find_overlays(pixels: Pixels, grid: Grid) -> list[Overlay]:
    """Rectangles in which the horizontal grid lines are not drawn.

    `in_cells`: their sides are column borders, so it may be a fill that hides the lines.
    """
    image = pixels.astype(np.int16)
    edges = [grid.left, grid.right, *(band.start - 1 for band in grid.columns if band.number is not None)]
    edges += [band.end for band in grid.columns if band.number is not None]
    cut: list[tuple[int, int, int]] = []
    aligned: list[tuple[int, int, int]] = []
    for band in grid.rows:
        if not 0 < band.end < image.shape[0] - 1:
            continue
        line, above, below = image[band.end], image[band.end - 1], image[band.end + 1]
        differs = [np.abs(line - side).sum(axis=1)[grid.left : grid.right] >= 12 for side in (above, below)]
        for a, b in _runs(~_closed(differs[0] & differs[1], 12), close=14):
            x0, x1 = a + grid.left, b + grid.left
            at_border = all(
                min(abs(x - edge) for edge in edges) <= 3 or x >= grid.right - 3 for x in (x0, x1)
            )
            if b - a >= MIN_OVERLAY_WIDTH:
                (aligned if at_border else cut).append((x0, x1, band.end))
    if len([line for line in aligned if line[1] - line[0] >= 0.9 * (grid.right - grid.left)]) * 2 > len(
        grid.rows
    ):
        aligned = []  # a sheet that shows no grid lines at all
    return [*_rectangles(cut, in_cells=False), *_rectangles(aligned, in_cells=True)]


def find_dialog(boxes: Sequence[Box], grid: Grid | None, overlays: Sequence[Overlay]) -> str | None:
    """The text that gives a dialog away: a known phrase, or a line of buttons that is not in the grid."""
    for box in sorted(boxes, key=lambda box: box.cy):
        in_cells = grid is not None and _inside(grid, box) and not any(o.covers(box) for o in overlays)
        if _PHRASES.search(box.text) and not in_cells:
            return box.text
    buttons = [box for box in boxes if re.sub(r"[\s._!]+", "", box.text.lower()) in _BUTTONS]
    if grid is not None:
        buttons = [box for box in buttons if any(overlay.covers(box) for overlay in overlays)]
    for box in buttons:
        line = {other.text for other in buttons if abs(other.cy - box.cy) <= 8}
        fill = grid is not None and not any(o.covers(box) for o in overlays if not o.in_cells)
        if len(line) >= 2 and (not fill or "cancel" in {text.lower() for text in line}):
            return " / ".join(sorted(line))
    return None


def _inside(grid: Grid, box: Box) -> bool:
    return grid.left <= box.cx <= grid.right and grid.top <= box.cy <= grid.bottom


def _rectangles(cut: list[tuple[int, int, int]], *, in_cells: bool) -> list[Overlay]:
    """Group cut lines that share their left or right end, in rows below each other."""
    groups: list[list[tuple[int, int, int]]] = []
    for line in cut:
        for group in groups:
            last = group[-1]
            if abs(line[0] - last[0]) <= 3 or abs(line[1] - last[1]) <= 3:
                group.append(line)
                break
        else:
            groups.append([line])
    found = []
    for group in groups:
        if len(group) >= MIN_OVERLAY_ROWS:
            pitch = (group[-1][2] - group[0][2]) // max(len(group) - 1, 1)
            x0, x1 = min(line[0] for line in group), max(line[1] for line in group)
            found.append(Overlay(x0, group[0][2] - pitch, x1, group[-1][2] + pitch, in_cells))
    return found


def _runs(mask: np.ndarray[tuple[int], np.dtype[np.bool_]], *, close: int) -> list[tuple[int, int]]:
    """Stretches of True, start and end, with gaps of up to `close` bridged."""
    padded = np.concatenate(([False], mask, [False])).astype(np.int8)
    steps = np.diff(padded)
    runs: list[tuple[int, int]] = []
    for start, end in zip(np.nonzero(steps == 1)[0], np.nonzero(steps == -1)[0], strict=True):
        if runs and start - runs[-1][1] <= close:
            runs[-1] = (runs[-1][0], int(end))
        else:
            runs.append((int(start), int(end)))
    return runs


def _closed(
    mask: np.ndarray[tuple[int], np.dtype[np.bool_]], shortest: int
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """The mask without stretches of True shorter than `shortest` (letters that cross a line)."""
    kept = np.zeros_like(mask)
    for start, end in _runs(mask, close=0):
        if end - start >= shortest:
            kept[start:end] = True
    return kept
