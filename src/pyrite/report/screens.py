"""Screens for a page: the last one of an episode as a data URI, and what differs between two.

An image that is missing, too large or broken is a reason, not an error: the page is made anyway.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pyrite.errors import InputError
from pyrite.store.bench import Bench
from pyrite.store.images import open_image

SHOWN_WIDTH = 1024
"""Pixels; a wider screen is scaled down for the page, never for the comparison."""
LOSSLESS_BYTES = 120_000
MAX_REGIONS = 2
CROP_WIDTH = 360
"""Width in CSS pixels at which a crop is shown at most."""
MAX_SCALE = 4.0
_CELL = 16
_PAD = 8
_MIN_CROP = (120, 24)

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Region:
    """A place where two screens differ, cut out of both."""

    box: tuple[int, int, int, int]
    """left, top, right, bottom in pixels of the screen."""
    pixels: int
    scale: float
    before: str
    after: str

    @property
    def size(self) -> tuple[int, int]:
        """Width and height at which the crops are shown, in CSS pixels."""
        left, top, right, bottom = self.box
        return round((right - left) * self.scale), round((bottom - top) * self.scale)


@dataclass(frozen=True)
class Difference:
    """How many of how many pixels differ between two screens, and where."""

    pixels: int
    total: int
    regions: tuple[Region, ...]
    more_regions: int
    """Places that differ and are not shown."""


def last_screen(bench: Bench, episode_id: str) -> Image.Image:
    """The last screen of an episode, RGB; `InputError` where there is none that can be read."""
    named = [line.screen for line in bench.actions(episode_id) if line.screen is not None]
    candidates = named[-1:] or ["screens/000.webp", "screens/000.png"]
    for name in candidates:
        path = bench.inside(episode_id, name)
        if path.is_file():
            return open_image(path)
    raise InputError(
        "no screen", where=str(bench.paths.episode(episode_id).screens), expected="a PNG or WebP image"
    )


def data_uri(image: Image.Image, *, width: int = SHOWN_WIDTH, lossless_bytes: int = LOSSLESS_BYTES) -> str:
    """The image as a WebP data URI, scaled down to `width` and four times that in height.

    Lossless unless that takes more than `lossless_bytes`; what an image file holds beside its pixels
    never gets onto a page.
    """
    scale = min(1.0, width / image.width, 4 * width / image.height)
    if scale < 1:
        size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
        image = image.resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0)
    data = _webp(image, lossless=True) if lossless_bytes else b""
    if not data or len(data) > lossless_bytes:
        data = _webp(image, lossless=False)
    return "data:image/webp;base64," + base64.b64encode(data).decode("ascii")


def difference(before: Image.Image, after: Image.Image) -> Difference | None:
    """Compare two screens pixel by pixel; None where they differ in size.

    The regions shown are the ones with most differing pixels, in reading order.
    """
    if before.size != after.size:
        return None
    changed: Flags = (np.asarray(before) != np.asarray(after)).any(axis=2)
    boxes = list(_boxes(changed))
    boxes.sort(key=lambda found: (-found[1], found[0]))
    chosen = sorted(boxes[:MAX_REGIONS], key=lambda found: (found[0][1], found[0][0]))
    regions = tuple(_region(before, after, box, pixels) for box, pixels in chosen)
    return Difference(int(changed.sum()), changed.size, regions, len(boxes) - len(regions))


def _webp(image: Image.Image, *, lossless: bool) -> bytes:
    buffer = io.BytesIO()
    clean = Image.frombytes("RGB", image.size, image.tobytes())
    clean.save(buffer, "WEBP", lossless=lossless, quality=75 if lossless else 88, method=4)
    return buffer.getvalue()


def _region(before: Image.Image, after: Image.Image, box: tuple[int, int, int, int], pixels: int) -> Region:
    padded = _padded(box, before.size)
    width = padded[2] - padded[0]
    scale = min(MAX_SCALE, int(4 * CROP_WIDTH / width) / 4) if width <= 4 * CROP_WIDTH else CROP_WIDTH / width
    return Region(padded, pixels, scale, data_uri(before.crop(padded)), data_uri(after.crop(padded)))


def _padded(box: tuple[int, int, int, int], size: tuple[int, int]) -> tuple[int, int, int, int]:
    """The box with a margin, at least as large as a crop must be to be recognised, inside the screen."""
    left, right = _span(box[0], box[2], _MIN_CROP[0], size[0])
    top, bottom = _span(box[1], box[3], _MIN_CROP[1], size[1])
    return left, top, right, bottom


def _span(start: int, end: int, least: int, limit: int) -> tuple[int, int]:
    length = min(max(end - start + 2 * _PAD, least), limit)
    first = min(max(0, (start + end - length) // 2), limit - length)
    return first, first + length


def _boxes(changed: Flags) -> Iterator[tuple[tuple[int, int, int, int], int]]:
    """A tight box around each group of differing pixels, and how many they are.

    Cells of 16 x 16 pixels that touch are one group; boxes of two groups may overlap, their pixels do not.
    """
    height, width = changed.shape
    rows, columns = -(-height // _CELL), -(-width // _CELL)
    padded = np.zeros((rows * _CELL, columns * _CELL), dtype=np.bool_)
    padded[:height, :width] = changed
    counts = padded.reshape(rows, _CELL, columns, _CELL).sum(axis=(1, 3))
    waiting = {(int(row), int(column)) for row, column in np.argwhere(counts)}
    while waiting:
        group, edge = [], [min(waiting)]
        waiting.discard(edge[0])
        while edge:
            row, column = edge.pop()
            group.append((row, column))
            near = {(row + dy, column + dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)} & waiting
            waiting -= near
            edge.extend(near)
        yield _tight(changed, group), sum(int(counts[cell]) for cell in group)


def _tight(changed: Flags, group: list[tuple[int, int]]) -> tuple[int, int, int, int]:
    top, left = min(row for row, _ in group) * _CELL, min(column for _, column in group) * _CELL
    bottom, right = (max(row for row, _ in group) + 1) * _CELL, (max(c for _, c in group) + 1) * _CELL
    mask = changed[top:bottom, left:right]
    ys, xs = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return left + int(xs[0]), top + int(ys[0]), left + int(xs[-1]) + 1, top + int(ys[-1]) + 1
