"""The grid of a spreadsheet window: which pixels belong to which cell.

Row numbers and column letters are read by OCR and anchor the numbering; the exact borders are taken
from the pixels of the two headers, where a border is a thin line across the whole header. Labels that
OCR misses (I and J often) are filled in from their neighbours, unless a hidden column or a frozen pane
makes the neighbours disagree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np
from numpy.typing import NDArray

from pyrite.judges.ocr import Box
from pyrite.judges.screen_rules.instruction import column_number

Pixels = NDArray[np.uint8]

LINE_CONTRAST = 10
"""A border differs from both of its sides by this much, summed over the three channels."""


@dataclass(frozen=True)
class Band:
    """A visible row or column: its number (None if it cannot be told) and its interior, end exclusive."""

    number: int | None
    start: int
    end: int


@dataclass(frozen=True)
class Grid:
    """The visible cells."""

    columns: tuple[Band, ...]
    rows: tuple[Band, ...]

    @property
    def top(self) -> int:
        return self.rows[0].start

    @property
    def left(self) -> int:
        return self.columns[0].start

    @property
    def right(self) -> int:
        return self.columns[-1].end

    @property
    def bottom(self) -> int:
        return self.rows[-1].end

    def column(self, number: int) -> int | None:
        """Index of the band of a column; None if it is not in view."""
        return next((i for i, band in enumerate(self.columns) if band.number == number), None)

    def row(self, number: int) -> int | None:
        return next((i for i, band in enumerate(self.rows) if band.number == number), None)


def find_grid(pixels: Pixels, boxes: Sequence[Box]) -> Grid | None:
    """Find the grid in a screen (H x W x 3) from its lines of text; None if there is none to be read."""
    numbers = _row_numbers(boxes)
    if not numbers:
        return None
    letters = _column_letters(boxes, numbers)
    if len(letters) < 2:
        return None
    image = pixels.astype(np.int16)
    cx = round(median(box.cx for box in numbers))
    cy = round(median(box.cy for box in letters))
    rows = _borders(image.transpose(1, 0, 2), cx - 9, cx + 10)
    rows = [y for y in rows if y > cy]
    columns = [x for x in _borders(image, cy - 6, cy + 7) if x > cx]
    row_bands = _numbered(rows, numbers, _y, _as_row)
    column_bands = _numbered(columns, letters, _x, _as_column)
    if not row_bands or not column_bands:
        return None
    if row_bands[-1].end > pixels.shape[0] or column_bands[-1].end > pixels.shape[1]:
        return None
    return Grid(column_bands, _whole(row_bands))


def _x(box: Box) -> float:
    return box.cx


def _y(box: Box) -> float:
    return box.cy


# --- labels


def _as_row(text: str) -> int | None:
    fixed = text.strip().translate(str.maketrans("OolI|", "00111"))
    return int(fixed) if re.fullmatch(r"[1-9]\d{0,6}", fixed) else None


def _as_column(text: str) -> int | None:
    fixed = text.strip().translate(str.maketrans("1|l0", "IIIO"))
    return column_number(fixed) if re.fullmatch(r"[A-Za-z]{1,3}", fixed) else None


def _row_numbers(boxes: Sequence[Box]) -> list[Box]:
    """The leftmost stack of centred numbers that count on: at least three steps of one."""
    numbered = [box for box in boxes if _as_row(box.text) is not None]
    for anchor in sorted(numbered, key=lambda box: box.cx):
        stack = sorted((b for b in numbered if abs(b.cx - anchor.cx) <= 5), key=lambda box: box.cy)
        values = [_as_row(box.text) or 0 for box in stack]
        steps = sum(after - before == 1 for before, after in pairwise(values))
        if steps >= 3 and steps * 2 >= len(values) - 1:
            return stack
    return []


def _column_letters(boxes: Sequence[Box], numbers: Sequence[Box]) -> list[Box]:
    """The line of letters right above the first row number, right of the row header."""
    first = numbers[0]
    gaps = [after.cy - before.cy for before, after in pairwise(numbers)]
    pitch = max(8.0, median(gaps))
    right_of = max(box.cx for box in numbers)
    lettered = [
        box
        for box in boxes
        if _as_column(box.text) is not None
        and box.cx > right_of
        and first.cy - 3 * pitch < box.cy < first.cy - 0.4 * pitch
    ]
    lines = [[b for b in lettered if abs(b.cy - anchor.cy) <= 4] for anchor in lettered]
    counting = [line for line in lines if _ascending(line)]
    return max(counting, key=lambda line: (len(line), line[0].cy), default=[])


def _ascending(line: list[Box]) -> bool:
    """At least two letters, each further on than the one to its left; one misread in four is forgiven."""
    values = [_as_column(box.text) or 0 for box in sorted(line, key=lambda box: box.cx)]
    steps = [after > before for before, after in pairwise(values)]
    return len(values) >= 2 and sum(steps) * 4 >= 3 * len(steps)


# --- borders


def _borders(image: NDArray[np.int16], start: int, end: int) -> list[int]:
    """Positions across the second axis of lines, 1 to 3 pixels wide, that run through rows start:end."""
    strip = image[max(start, 0) : max(end, 0)]
    if strip.shape[0] < 4 or strip.shape[1] < 5:
        return []
    changes = np.abs(np.diff(strip, axis=1)).sum(axis=2, dtype=np.int32) >= LINE_CONTRAST
    edges = np.nonzero(changes.mean(axis=0) >= 0.95)[0] + 1
    return [int(a) for a, b in pairwise(edges) if b - a <= 3]


def _numbered(
    borders: list[int],
    labels: Sequence[Box],
    centre: Callable[[Box], float],
    read: Callable[[str], int | None],
) -> tuple[Band, ...]:
    """Bands by their borders, or on a fitted line where the headers show none."""
    return _bands(borders, labels, centre, read) or _fitted(labels, centre, read)


def _bands(
    borders: list[int],
    labels: Sequence[Box],
    centre: Callable[[Box], float],
    read: Callable[[str], int | None],
) -> tuple[Band, ...]:
    """Bands between borders, numbered from the labels inside them; () if borders do not fit the labels."""
    spans = [(a + 1, b) for a, b in pairwise(borders) if b - a > 4]
    own: list[int | None] = []
    for start, end in spans:
        slack = 3 + (end - start) * 0.15
        inside = [box for box in labels if start <= centre(box) < end]
        centred = len(inside) == 1 and abs(centre(inside[0]) - (start + end) / 2) <= slack
        own.append(read(inside[0].text) if centred else None)
    labelled = [index for index, number in enumerate(own) if number is not None]
    if len(labelled) < 2 or len(labelled) * 2 < len(labels):
        return ()
    numbers = number_bands(own[: labelled[-1] + 1])
    return tuple(Band(n, start, end) for n, (start, end) in zip(numbers, spans, strict=False))


def _whole(bands: tuple[Band, ...]) -> tuple[Band, ...]:
    """Take the number off a last row that the window's edge seems to cut."""
    *whole, last = bands
    usual = median(band.end - band.start for band in bands)
    cut = last.end - last.start < 0.85 * usual
    return (*whole, Band(None if cut else last.number, last.start, last.end))


def number_bands(own: Sequence[int | None]) -> list[int | None]:
    """Number bands in order from the labels that were read (None: not read).

    A label counts when a neighbouring label agrees with it. A band between two counted labels that
    disagree (something is hidden between them) keeps its own label if that fits in order, else None.

    >>> number_bands([1, None, 3, 4])
    [1, 2, 3, 4]
    >>> number_bands([1, 3, 4, None, 6])
    [1, 3, 4, 5, 6]
    """
    read = [(index, number) for index, number in enumerate(own) if number is not None]
    trusted: dict[int, int] = {}
    for (i, a), (j, b) in pairwise(read):
        if b - a == j - i:
            trusted[i], trusted[j] = a, b
    return [_number(index, own[index], trusted) for index in range(len(own))]


def _number(index: int, own: int | None, trusted: dict[int, int]) -> int | None:
    if index in trusted:
        return trusted[index]
    before = max((i for i in trusted if i < index), default=None)
    after = min((i for i in trusted if i > index), default=None)
    low = trusted[before] + index - before if before is not None else None
    high = trusted[after] - (after - index) if after is not None else None
    if low is not None and high is not None and low == high:
        return low
    if own is not None:
        fits = (low is None or own >= low) and (high is None or own <= high)
        return own if fits and trusted else None
    if low is None or high is None:
        found = low if low is not None else high
        return found if found is not None and found >= 1 else None
    return None  # something is hidden here and the label was not read


def _fitted(
    labels: Sequence[Box], centre: Callable[[Box], float], read: Callable[[str], int | None]
) -> tuple[Band, ...]:
    """Equal bands on a line through the labels, where the headers show no borders; () if it does not fit."""
    points = [(number, centre(box)) for box in labels if (number := read(box.text)) is not None]
    if len(points) < 3 or len({number for number, _ in points}) < 3:
        return ()
    values, positions = np.array(points, dtype=np.float64).T
    pitch, offset = np.polyfit(values, positions, 1)
    if pitch < 8 or np.abs(positions - (pitch * values + offset)).max() > 3:
        return ()
    if pitch * values.min() + offset - pitch / 2 < 0:
        return ()
    middle = [(int(n), pitch * n + offset) for n in range(int(values.min()), int(values.max()) + 1)]
    return tuple(Band(n, round(c - pitch / 2) + 1, round(c + pitch / 2)) for n, c in middle)
