"""Near-misses of an image without loss (.png): a block of pixels, a shift, another size, swapped colours."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import NamedTuple

from PIL import Image, ImageChops

from pyrite.checks.package import Unreadable

ENDINGS = (".png",)
MOST_PIXELS = 1 << 24
"""Of one image; decoding a larger one is not tried."""
BLOCK = 16
"""Side of a changed block, in pixels, where the image is that large."""
_EDITED = {"1": "RGB", "P": "RGBA", "I;16": "I;16", "L": "L", "LA": "LA", "RGB": "RGB", "RGBA": "RGBA"}


class NearImage(NamedTuple):
    """A near-miss of an image."""

    operator: str
    at: str
    what: str
    data: bytes


def read_image(data: bytes) -> Image.Image:
    """A decoded PNG of bounded size; raises `Unreadable`."""
    try:
        with Image.open(io.BytesIO(data), formats=("PNG",)) as image:
            if image.width * image.height > MOST_PIXELS:
                raise Unreadable("too_large", f"{image.width} x {image.height} pixels")
            image.load()
            return image.copy()
    except Unreadable:
        raise
    except Exception as exc:  # Pillow raises OSError, SyntaxError, struct.error … on broken files
        raise Unreadable("wrong_format", f"not a PNG: {exc!s:.80}") from None


def near_images(data: bytes) -> Iterator[NearImage]:
    """Every near-miss of a PNG whose pixels are others; raises `Unreadable`."""
    good = read_image(data)
    mode = _EDITED.get(good.mode)
    if mode is None:
        return
    base = good if good.mode == mode else good.convert(mode)
    for operator, at, what, image in _edits(base):
        if image.size != base.size or image.tobytes() != base.tobytes():
            yield NearImage(operator, at, what, _png(image))


def _edits(base: Image.Image) -> Iterator[tuple[str, str, str, Image.Image]]:
    width, height = base.size
    side = min(BLOCK, width, height)
    for name, left, top in (
        ("middle", (width - side) // 2, (height - side) // 2),
        ("top left", 0, 0),
        ("bottom right", width - side, height - side),
    ):
        yield (
            "pixels-changed",
            name,
            f"{side} x {side} pixels at {left},{top}",
            _inverted(base, left, top, side),
        )
    for dx, dy in ((1, 0), (0, 3), (8, 8)):
        shifted = ImageChops.offset(base, dx, dy) if base.mode != "I;16" else base
        yield "image-shifted", f"{dx},{dy}", f"moved by {dx},{dy} pixels, around the edge", shifted
    sizes = {(width + 1, height), (max(1, width // 2), max(1, height // 2))}
    for size in sorted(sizes - {base.size}):
        resized = base.resize(size)
        yield "image-resized", f"{size[0]}x{size[1]}", f"{size[0]} x {size[1]} pixels", resized
    if base.mode in {"RGB", "RGBA"}:
        red, green, blue, *rest = base.split()
        swapped = Image.merge(base.mode, (blue, green, red, *rest))
        yield "channels-swapped", "red-blue", "red and blue are swapped", swapped


def _inverted(base: Image.Image, left: int, top: int, side: int) -> Image.Image:
    """The image with a block in the opposite colour, and seen: alpha is full there."""
    out = base.copy()
    box = (left, top, left + side, top + side)
    block = base.crop(box)
    if base.mode in {"RGBA", "LA"}:
        *colours, alpha = block.split()
        solid = Image.new("L", alpha.size, 255)
        block = Image.merge(base.mode, (*(ImageChops.invert(one) for one in colours), solid))
    elif base.mode == "I;16":
        (first,) = struct.unpack_from("<H", block.tobytes())
        block = Image.new("I;16", block.size, 65535 - first)
    else:
        block = ImageChops.invert(block)
    out.paste(block, box)
    return out


def _png(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()
