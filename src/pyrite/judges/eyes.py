"""`eyes=ocr`: the text of a screen in place of its pixels, laid out as it stands there."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from statistics import median

from pyrite.judges import ocr
from pyrite.judges.base import Package
from pyrite.judges.ocr import Box


async def texts(package: Package, *, cache: bool = True) -> list[str]:
    """The text of every image of a package; a frame that is repeated is read once.

    Raises `Unavailable` where there is neither an OCR engine nor a recorded reading.
    """
    found: dict[str, str] = {}
    for index, digest in enumerate(package.evidence.images):
        if digest not in found:
            found[digest] = await asyncio.to_thread(_text, package, index, cache)
    return [found[digest] for digest in package.evidence.images]


def reader() -> dict[str, str | None]:
    """Who reads, for a judge's settings."""
    installed = ocr.engine()
    return {
        "ocr": installed.version if installed else "recorded readings",
        "ocr_models_sha256": installed.models if installed else None,
    }


def rows(boxes: tuple[Box, ...]) -> list[str]:
    """Boxes as lines of text, from top to bottom; wide gaps inside of a line become three blanks.

    >>> rows((Box(60, 0, 90, 10, "two", 1.0), Box(0, 1, 30, 11, "one", 1.0), Box(0, 20, 30, 30, "x", 1.0)))
    ['one   two', 'x']
    """
    height = median(box.y1 - box.y0 for box in boxes) if boxes else 0
    lines: list[list[Box]] = []
    for box in sorted(boxes, key=lambda box: (box.cy, box.x0)):
        if lines and box.cy - lines[-1][0].cy <= height / 2:
            lines[-1].append(box)
        else:
            lines.append([box])
    return [_row(sorted(line, key=lambda box: box.x0), height) for line in lines]


def _row(line: list[Box], height: float) -> str:
    text = line[0].text
    for left, right in pairwise(line):
        text += ("   " if right.x0 - left.x1 > height else " ") + right.text
    return text


def _text(package: Package, index: int, cache: bool) -> str:
    return "\n".join(rows(ocr.read_screen(package.image(index), cache=cache).boxes))
