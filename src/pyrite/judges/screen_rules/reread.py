"""Reading a small part of a screen again, magnified: three scales, three votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from PIL import Image

from pyrite.judges.ocr import Reader
from pyrite.judges.screen_rules.grid import Pixels

SCALES = (2, 3, 4)
MARGIN = 6
MAX_SIDE = 2000
"""A strip is at most this many screen pixels long; a longer one is cut at its right end."""


@dataclass(frozen=True)
class Votes:
    """What the three readings of one strip said; an empty text is a reading too."""

    texts: tuple[str, ...]

    @property
    def best(self) -> str:
        """The text that most readings agree on, the first of equals."""
        return Counter(self.texts).most_common(1)[0][0]

    def support(self, accept: Callable[[str], bool]) -> int:
        """How many readings `accept` takes."""
        return sum(accept(text) for text in self.texts)


def background(strip: Pixels) -> tuple[int, int, int]:
    """The most frequent colour of a strip (H x W x 3)."""
    colours, counts = np.unique(strip.reshape(-1, 3), axis=0, return_counts=True)
    red, green, blue = colours[counts.argmax()]
    return int(red), int(green), int(blue)


def read_strip(strip: Pixels, reader: Reader) -> Votes:
    """Read one line of text (H x W x 3, no neighbours in it) on a margin of its own background."""
    strip = strip[:MAX_SIDE, :MAX_SIDE]
    if strip.size == 0:
        return Votes(("",) * len(SCALES))
    height, width = strip.shape[:2]
    canvas = Image.new("RGB", (width + 2 * MARGIN, height + 2 * MARGIN), background(strip))
    canvas.paste(Image.fromarray(np.ascontiguousarray(strip)), (MARGIN, MARGIN))
    texts = []
    for scale in SCALES:
        size = (canvas.width * scale, canvas.height * scale)
        reading = reader.line(canvas.resize(size, Image.Resampling.BICUBIC))
        texts.append(reading.boxes[0].text.strip() if reading.boxes else "")
    return Votes(tuple(texts))
