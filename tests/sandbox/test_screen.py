"""Reading the screen and knowing when it is still."""

from __future__ import annotations

import struct
import time
from pathlib import Path

import pytest

from pyrite.errors import SandboxError
from pyrite.sandbox import settle as readiness
from pyrite.sandbox.framebuffer import Framebuffer


def xwd(path: Path, width: int, height: int, pixel: bytes, *, bits: int = 32, colours: int = 2) -> Path:
    """A file as `Xvfb -fbdir` writes it: header with a name, colour map, BGRX rows with padding."""
    stride = width * 4 + 8
    fields = [0] * 25
    fields[0], fields[1], fields[4], fields[5] = 100 + 12, 7, width, height
    fields[11], fields[12], fields[19] = bits, stride, colours
    rows = (pixel * width + b"pad_pad_") * height
    path.write_bytes(struct.pack(">25I", *fields) + b"Xvfb screen\0" + b"c" * 12 * colours + rows)
    return path


def test_pixels_are_read_in_order(tmp_path: Path) -> None:
    screen = Framebuffer(xwd(tmp_path / "s", 5, 3, b"\x01\x02\x03\xff"), 5, 3)
    image = screen.image()
    assert (image.size, image.mode) == ((5, 3), "RGB")
    assert set(image.get_flattened_data()) == {(3, 2, 1)}
    screen.close()
    screen.close()


def test_checksum_changes_with_a_pixel(tmp_path: Path) -> None:
    path = xwd(tmp_path / "s", 5, 3, b"\0\0\0\0")
    screen = Framebuffer(path, 5, 3)
    before = screen.checksum()
    assert screen.checksum() == before
    content = bytearray(path.read_bytes())
    content[-10] = 1
    path.write_bytes(content)
    assert screen.checksum() != before
    screen.close()


def test_image_does_not_change_later(tmp_path: Path) -> None:
    path = xwd(tmp_path / "s", 2, 2, b"\0\0\0\0")
    screen = Framebuffer(path, 2, 2)
    image = screen.image()
    xwd(path, 2, 2, b"\xff\xff\xff\xff")
    screen.checksum()
    assert image.getpixel((0, 0)) == (0, 0, 0)
    screen.close()


@pytest.mark.parametrize("size", [(6, 3), (5, 4), (0, 0)])
def test_another_size_is_refused(tmp_path: Path, size: tuple[int, int]) -> None:
    with pytest.raises(SandboxError, match="the display is 5x3"):
        Framebuffer(xwd(tmp_path / "s", 5, 3, b"abcd"), *size)


def test_torn_files_are_refused(tmp_path: Path) -> None:
    path = xwd(tmp_path / "s", 5, 3, b"abcd")
    whole = path.read_bytes()
    path.write_bytes(whole[:50])
    with pytest.raises(SandboxError):
        Framebuffer(path, 5, 3)
    path.write_bytes(whole)
    screen = Framebuffer(path, 5, 3)
    path.write_bytes(whole[:-1])
    with pytest.raises(SandboxError, match="ends after"):
        screen.image()
    screen.close()


def test_links_are_not_followed(tmp_path: Path) -> None:
    xwd(tmp_path / "s", 5, 3, b"abcd")
    (tmp_path / "link").symlink_to(tmp_path / "s")
    with pytest.raises(OSError, match="link"):
        Framebuffer(tmp_path / "link", 5, 3)


class Desk:
    """A pretended desktop: repaints until a moment, uses CPU until another."""

    def __init__(self, *, paints_for: float = 0.0, works_for: float = 0.0, answers: bool = True) -> None:
        self.start = time.monotonic()
        self.paints_for, self.works_for, self.will_answer = paints_for, works_for, answers
        self.frame = 0

    def elapsed(self) -> float:
        return time.monotonic() - self.start

    def checksum(self) -> int:
        if self.elapsed() < self.paints_for:
            self.frame += 1
        return self.frame

    def ticks_since(self, earlier: dict[int, int] | None) -> tuple[dict[int, int], int]:
        now = int(min(self.elapsed(), self.works_for) * 1000)
        return {1: now}, 0 if earlier is None else now - earlier[1]

    def settle(self, *rounds: float, limit_s: float = 5.0) -> bool:
        answers = self.will_answer
        return readiness.settle(self.checksum, self.ticks_since, lambda: answers, rounds, limit_s)


def test_still_desktop_takes_one_round() -> None:
    desk = Desk()
    assert desk.settle(0.1)
    assert 0.1 <= desk.elapsed() < 0.4


def test_waits_for_the_last_repaint() -> None:
    desk = Desk(paints_for=0.3)
    assert desk.settle(0.2)
    assert desk.elapsed() >= 0.45  # the last repaint is seen at most one poll early


def test_waits_for_idle_processes() -> None:
    desk = Desk(works_for=0.3)
    assert desk.settle(0.1)
    assert desk.elapsed() >= 0.4


def test_rounds_add_up() -> None:
    desk = Desk()
    assert desk.settle(0.1, 0.1, 0.1)
    assert desk.elapsed() >= 0.3


@pytest.mark.parametrize("desk", [Desk(paints_for=1e9), Desk(works_for=1e9), Desk(answers=False)])
def test_gives_up_at_the_limit(desk: Desk) -> None:
    start = time.monotonic()
    assert not desk.settle(0.1, limit_s=0.5)
    assert 0.4 < time.monotonic() - start < 1.5
