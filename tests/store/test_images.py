from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image

from pyrite.errors import InputError
from pyrite.store.images import decode, open_image, pixels_sha256, save_png, save_webp


def picture(colour: tuple[int, int, int] = (10, 20, 30)) -> Image.Image:
    image = Image.new("RGB", (64, 48), colour)
    image.putpixel((5, 6), (200, 100, 50))
    return image


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def test_the_key_is_the_same_in_png_and_webp(tmp_path: Path) -> None:
    image = picture()
    save_png(image, tmp_path / "a.png")
    save_webp(image, tmp_path / "a.webp")
    keys = {pixels_sha256(open_image(p)) for p in (tmp_path / "a.png", tmp_path / "a.webp")}
    assert keys == {pixels_sha256(image)}


def test_one_pixel_changes_the_key() -> None:
    changed = picture()
    changed.putpixel((0, 0), (10, 20, 31))
    assert pixels_sha256(changed) != pixels_sha256(picture())


def test_the_shape_is_part_of_the_key() -> None:
    assert pixels_sha256(Image.new("RGB", (4, 2))) != pixels_sha256(Image.new("RGB", (2, 4)))


def test_metadata_does_not_survive(tmp_path: Path) -> None:
    image = picture()
    image.info["comment"] = "F-UNCOMMITTED"
    save_png(image, tmp_path / "a.png")
    assert b"F-UNCOMMITTED" not in (tmp_path / "a.png").read_bytes()


def test_a_png_bomb_is_refused_before_its_pixels_are_made() -> None:
    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(10**6)))
    with pytest.raises(InputError, match=r"60000 x 60000|exceeds limit"):
        decode(data, where="bomb.png")


@pytest.mark.parametrize("data", [b"", b"not an image", b"\x89PNG\r\n\x1a\n", b"RIFF\0\0\0\0WEBP"])
def test_garbage_is_an_input_error(data: bytes) -> None:
    with pytest.raises(InputError, match="not an image"):
        decode(data, where="x")


def test_a_truncated_image_and_another_format_are_refused() -> None:
    buffer = io.BytesIO()
    picture().save(buffer, "PNG")
    with pytest.raises(InputError):
        decode(buffer.getvalue()[:-40], where="x")
    gif = io.BytesIO()
    picture().save(gif, "GIF")
    with pytest.raises(InputError):
        decode(gif.getvalue(), where="x")
