"""Screens: decoded within bounds, keyed by the sha256 of their pixels, stored lossless.

An image's key is the sha256 of "WIDTHxHEIGHT:" and its decoded RGB bytes, so the key is the same
in PNG and WebP and changes with any pixel.
"""

from __future__ import annotations

import hashlib
import io
import warnings
from pathlib import Path

from PIL import Image

from pyrite.errors import InputError
from pyrite.store.jsonl import write_bytes

MAX_PIXELS = 40_000_000
MAX_BYTES = 64 << 20


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
    """Decode the bytes of a PNG or WebP image to RGB, refusing bombs before their pixels are made."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            image = Image.open(io.BytesIO(data), formats=("PNG", "WEBP"))
            if image.width * image.height > MAX_PIXELS:
                raise InputError(
                    f"{image.width} x {image.height} pixels",
                    where=where,
                    expected=f"at most {MAX_PIXELS} pixels",
                )
            return image.convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as exc:
        raise InputError(f"not an image: {exc}", where=where, expected="a PNG or WebP image") from exc


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
