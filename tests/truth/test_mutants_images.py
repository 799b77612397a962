"""Near-misses of a PNG: each has other pixels, in every mode that a PNG can hold."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from pyrite.checks.package import Unreadable
from pyrite.truth.mutants.images import MOST_PIXELS, near_images, read_image


def png(mode: str, width: int, height: int, values: bytes) -> bytes:
    image = Image.new("RGBA", (width, height), (90, 160, 30, 255))
    for index, value in enumerate(values):
        image.putpixel((index % width, index // width % height), (value, 255 - value, value // 2, 255))
    if mode == "I;16":
        made = Image.new("I;16", (width, height), 500)
    elif mode == "P":
        made = image.convert("RGB").convert("P")
    else:
        made = image.convert(mode)
    out = io.BytesIO()
    made.save(out, "PNG")
    return out.getvalue()


def pixels(data: bytes) -> tuple[tuple[int, int], bytes]:
    with Image.open(io.BytesIO(data)) as image:
        wide = image if image.mode == "I;16" else image.convert("RGBA")
        return image.size, wide.tobytes()


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(["1", "L", "LA", "P", "RGB", "RGBA", "I;16"]),
    st.integers(1, 40),
    st.integers(1, 40),
    st.binary(max_size=80),
)
def test_each_is_another_image(mode: str, width: int, height: int, values: bytes) -> None:
    good = png(mode, width, height, values)
    found = list(near_images(good))
    assert all(pixels(near.data) != pixels(good) for near in found)
    assert {near.operator for near in found} >= {"pixels-changed", "image-resized"}
    assert list(near_images(good)) == found


def test_red_and_blue_are_swapped() -> None:
    swapped = [
        near.data for near in near_images(png("RGB", 20, 20, b"")) if near.operator == "channels-swapped"
    ]
    with Image.open(io.BytesIO(swapped[0])) as image:
        assert image.getpixel((19, 19)) == (30, 160, 90)


@pytest.mark.parametrize("data", [b"", b"\x89PNG\r\n\x1a\n", png("RGB", 9, 9, b"")[:45], b"GIF89a"])
def test_what_is_no_png_is_unreadable(data: bytes) -> None:
    with pytest.raises(Unreadable):
        read_image(data)


def test_an_image_of_too_many_pixels_is_not_decoded() -> None:
    side = int(MOST_PIXELS**0.5) + 1
    with pytest.raises(Unreadable, match="too_large"):
        read_image(png("1", side, side, b""))
