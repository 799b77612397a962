"""Screens: decoded within bounds, keyed by the sha256 of their pixels, stored lossless.

An image's key is the sha256 of "WIDTHxHEIGHT:" and its decoded RGB bytes, so the key is the same
in PNG and WebP and changes with any pixel.
"""

from __future__ import annotations

import hashlib
import io
import struct
import threading
import warnings
import zlib
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from pyrite.errors import InputError
from pyrite.store.jsonl import write_bytes

MAX_PIXELS = 40_000_000
MAX_BYTES = 64 << 20
_MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX")
_BROKEN = (
    OSError,
    ValueError,
    SyntaxError,
    LookupError,
    OverflowError,
    EOFError,
    MemoryError,
    struct.error,
    zlib.error,
    Image.DecompressionBombError,
)
"""What Pillow raises for damaged or hostile bytes."""
_OPENING = threading.Lock()


def read_image(path: Path) -> bytes:
    """The bytes of an image file of at most 64 MiB; `InputError` where it cannot be read."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise InputError(
                f"{size} bytes", where=str(path), expected=f"an image of at most {MAX_BYTES} bytes"
            )
        return path.read_bytes()
    except OSError as exc:
        raise InputError(exc.strerror or str(exc), where=str(path), expected="a PNG or WebP image") from exc


def open_image(path: Path) -> Image.Image:
    """Decode a PNG or WebP file of at most 40 megapixels to RGB; `InputError` for anything else."""
    return decode(read_image(path), where=str(path))


def decode(data: bytes, *, where: str) -> Image.Image:
    """Decode the bytes of a PNG or WebP image to RGB, refusing bombs before their pixels are made.

    One still picture of 8 bits a channel; what is transparent keeps the colour below. `InputError` for
    anything else.
    """
    try:
        image = _opened(data)
        if image.width * image.height > MAX_PIXELS:
            what, expected = f"{image.width} x {image.height} pixels", f"at most {MAX_PIXELS} pixels"
        elif image.mode not in _MODES:
            what, expected = f"pixels of kind {image.mode}", "8 bits a channel"
        elif getattr(image, "n_frames", 1) > 1:
            what, expected = f"an animation of {getattr(image, 'n_frames', 0)} frames", "one still picture"
        else:
            image.load()
            image.info.pop("transparency", None)  # else Pillow warns of what it drops
            return image.convert("RGB")
    except _BROKEN as exc:
        reason = "neither PNG nor WebP" if isinstance(exc, UnidentifiedImageError) else str(exc)
        raise InputError(f"not an image: {reason}", where=where, expected="a PNG or WebP image") from exc
    raise InputError(what, where=where, expected=expected)


def _opened(data: bytes) -> Image.Image:
    """Read the header. Warnings are switched off for the whole process meanwhile, hence the lock."""
    with _OPENING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Image.open(io.BytesIO(data), formats=("PNG", "WEBP"))


def pixels_sha256(image: Image.Image) -> str:
    """The key of an image: sha256 over its size and RGB pixels."""
    rgb = image if image.mode == "RGB" else image.convert("RGB")
    digest = hashlib.sha256(f"{rgb.width}x{rgb.height}:".encode())
    digest.update(rgb.tobytes())
    return digest.hexdigest()


def save_webp(image: Image.Image, path: Path) -> None:
    """Store a screen as lossless WebP without metadata (about 25 kB in 70 ms for 1024 x 768)."""
    buffer = io.BytesIO()
    image.save(buffer, "WEBP", lossless=True, method=4, quality=70, exact=True)
    write_bytes(path, buffer.getvalue())


def save_png(image: Image.Image, path: Path) -> None:
    """Store an image as PNG without metadata, compressed lightly."""
    buffer = io.BytesIO()
    Image.frombytes("RGB", image.size, image.tobytes()).save(buffer, "PNG", compress_level=3)
    write_bytes(path, buffer.getvalue())


def png_size(path: Path) -> tuple[int, int, int]:
    """Width, height and bytes of a PNG file of ours, from its header."""
    with path.open("rb") as handle:
        header = handle.read(24)
    width, height = struct.unpack(">II", header[16:24])
    return width, height, path.stat().st_size
