"""What one cell shows, read from its own pixels.

The active cell's outline and handle are taken off first; text is followed into neighbouring cells where
its ink crosses the border, which is how a spreadsheet shows text that is longer than its cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pyrite.judges.ocr import Reader
from pyrite.judges.screen_rules.grid import Grid, Pixels
from pyrite.judges.screen_rules.reread import Votes, background, read_strip

INK_CONTRAST = 60
"""Ink differs from the background by this much in its strongest channel."""
EDGE = 5
"""Text this close to a border, in pixels, starts or ends there."""

State = Literal["empty", "text", "clipped", "foreign"]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Shown:
    """What a cell shows: `clipped` text goes on out of sight; `foreign` text flows in from the left."""

    state: State
    text: Votes | None = None
    joint: Votes | None = None
    """The text joined with that of the next cell, where it may be one text with a space on the border."""


def read_cell(pixels: Pixels, grid: Grid, column: int, row: int, reader: Reader) -> Shown:
    """Read the cell at band indices (column, row)."""
    first, last = column, column
    while last + 1 < len(grid.columns) and _runs_over(pixels, grid, last, row):
        last += 1
    while first > 0 and _runs_over(pixels, grid, first - 1, row):
        first -= 1
    strip = _strip(pixels, grid, first, last, row)
    clipped = _clip_mark(strip)
    written = _written(strip[:, :-7] if clipped else strip)
    if written is None:
        return Shown("empty")
    text = read_strip(written.pixels, reader)
    flush_right = strip.shape[1] - written.right <= EDGE and last == column
    if first < column and not (flush_right and written.left > EDGE):
        return Shown("foreign", text)
    if clipped:
        return Shown("clipped", text)
    near = strip.shape[1] - written.right <= 2 * EDGE and written.left <= EDGE
    return Shown("text", text, _joint(pixels, grid, (first, last), row, reader) if near else None)


def _strip(pixels: Pixels, grid: Grid, first: int, last: int, row: int) -> Pixels:
    """The pixels of neighbouring cells in one row, the grid lines between them painted over."""
    band = grid.rows[row]
    x0 = grid.columns[first].start
    strip = pixels[band.start : band.end, x0 : grid.columns[last].end].copy()
    paper = background(strip)
    for index in range(first, last):
        for x in range(grid.columns[index].end - x0, grid.columns[index + 1].start - x0):
            line = background(strip[:, x : x + 1])
            strip[:, x][(strip[:, x] == line).all(axis=1)] = paper
    return strip


def _joint(pixels: Pixels, grid: Grid, cells: tuple[int, int], row: int, reader: Reader) -> Votes | None:
    """The text together with the next cell's, where a gap between letters may lie on their border."""
    first, last = cells
    if last + 1 >= len(grid.columns):
        return None
    neighbour = _written(_strip(pixels, grid, last + 1, last + 1, row))
    if neighbour is None or neighbour.left > 2 * EDGE:
        return None
    far = last + 1
    while far + 1 < len(grid.columns) and _runs_over(pixels, grid, far, row):
        far += 1
    written = _written(_strip(pixels, grid, first, far, row))
    return read_strip(written.pixels, reader) if written else None


def ink(strip: Pixels) -> Mask:
    """Pixels of a strip (H x W x 3) that are not background."""
    return _off(strip, background(strip))


@dataclass(frozen=True)
class _Written:
    """The text of a strip cut out, and where it lies in the strip (columns, end exclusive)."""

    pixels: Pixels
    left: int
    right: int


def _written(strip: Pixels) -> _Written | None:
    """Cut the text out of a cell, without outline, handle and caret; None if there is no ink."""
    if min(strip.shape[:2]) < 3:
        return None
    top, bottom, left, right = _frame(ink(strip))
    if bottom - top < 3 or right - left < 2:
        return None
    inner = strip[top:bottom, left:right].copy()
    mask = ink(inner)
    marks = _marks(mask)
    inner[marks] = background(inner)
    mask &= ~marks
    if mask.sum() < 3:
        return None
    ys, xs = np.nonzero(mask.any(axis=1))[0], np.nonzero(mask.any(axis=0))[0]
    x0, x1 = int(xs[0]), int(xs[-1]) + 1
    text = inner[max(int(ys[0]) - 2, 0) : int(ys[-1]) + 3, max(x0 - 2, 0) : x1 + 2]
    return _Written(text, left + x0, left + x1)


def _frame(mask: Mask) -> tuple[int, int, int, int]:
    """What is left of a cell when up to four lines of outline are peeled off each side."""
    top, bottom, left, right = 0, mask.shape[0], 0, mask.shape[1]
    for _ in range(4):
        inner = mask[top:bottom, left:right]
        if min(inner.shape) < 6:
            break
        lines = [inner[0], inner[-1], inner[:, 0], inner[:, -1]]
        peel = [int(line.mean() >= 0.85) for line in lines]
        if not any(peel):
            break
        top, bottom, left, right = top + peel[0], bottom - peel[1], left + peel[2], right - peel[3]
    return top, bottom, left, right


def _marks(mask: Mask) -> Mask:
    """What is not text: the handle of an active cell or a comment's mark in a corner, and a caret."""
    from scipy import ndimage  # 0.2 s, which every command would pay for

    labels, count = ndimage.label(mask, structure=np.ones((3, 3)))
    marks = np.zeros_like(mask)
    height, width = mask.shape
    for index, (rows, columns) in enumerate(ndimage.find_objects(labels, max_label=count), start=1):
        small = rows.stop - rows.start <= 5 and columns.stop - columns.start <= 5
        corner = (rows.start <= 0 or rows.stop >= height) and (columns.start <= 0 or columns.stop >= width)
        caret = columns.stop - columns.start <= 2 and rows.stop - rows.start >= 0.85 * height
        if (small and corner) or caret:
            marks |= labels == index
    return marks


def _runs_over(pixels: Pixels, grid: Grid, column: int, row: int) -> bool:
    """True if text crosses the right border of a cell: ink on the line and on both sides of it.

    The two outermost pixels of a row are left out: outlines of neighbouring active cells lie there.
    """
    band = grid.rows[row]
    upper, lower = band.start + 2, band.end - 2
    border, after = grid.columns[column].end, grid.columns[column + 1].start
    if lower - upper < 4 or border < 2 or after - border > 3:
        return False
    left, right = pixels[upper:lower, border - 2 : border], pixels[upper:lower, after : after + 2]
    on_line = _off(pixels[upper:lower, border], background(pixels[upper:lower, border : border + 1]))
    beside = pixels[upper:lower, grid.columns[column].start : grid.columns[column + 1].end]
    paper = background(beside)
    touches = [_widened(np.asarray(_off(side, paper).any(axis=1))) for side in (left, right)]
    return bool((on_line & touches[0] & touches[1]).any())


def _off(part: Pixels, colour: tuple[int, int, int]) -> Mask:
    """Pixels (… x 3) that are not of that colour."""
    away = np.abs(part.astype(np.int16) - np.array(colour, dtype=np.int16)).max(axis=-1)
    return np.asarray(away >= INK_CONTRAST, dtype=np.bool_)


def _widened(mask: Mask) -> Mask:
    """A mask along rows, grown by one row up and down."""
    grown = mask.copy()
    grown[1:] |= mask[:-1]
    grown[:-1] |= mask[1:]
    return grown


def _clip_mark(strip: Pixels) -> bool:
    """True if the small triangle with a red core that stands for hidden text is at the right border."""
    parts = strip.astype(np.int16)
    red = (parts[:, :, 0] >= 180) & (parts[:, :, 1] <= 90) & (parts[:, :, 2] <= 90)
    return bool(red[:, -7:].sum() >= 2 and red[:, -7:].any(axis=0).sum() <= 4 and not red[:, :-7].any())
