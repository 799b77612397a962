"""Hostile screens, each of one episode, through `pyrite pack` and `pyrite judge` as they are run."""

from __future__ import annotations

import io
import json
import os
import struct
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

if TYPE_CHECKING:
    from tests.hostile.conftest import Ground

SIGNATURE = b"\x89PNG\r\n\x1a\n"
ROWS = (b"\0" + b"\1\2\3" * 2) * 2
"""Two rows of two RGB pixels, unfiltered."""


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(
    *chunks: bytes, size: tuple[int, int] = (2, 2), bits: int = 8, kind: int = 2, rows: bytes = ROWS
) -> bytes:
    head = struct.pack(">IIBBBBB", *size, bits, kind, 0, 0, 0)
    parts = (chunk(b"IHDR", head), *chunks, chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b""))
    return SIGNATURE + b"".join(parts)


def saved(image: Image.Image, form: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


PLAIN = Image.new("RGB", (40, 30), (9, 8, 7))
RED = Image.new("RGB", (40, 30), "red")
NOISE = Image.frombytes("RGB", (60, 60), os.urandom(60 * 60 * 3))


@cache
def refused() -> dict[str, bytes]:
    """Made when first asked for: some are of a hundred megabytes, and who runs other tests need not pay."""
    zeros = zlib.compress(bytes(100 << 20), 1)
    return {
        "PNG bomb, 60,000 x 60,000": png(size=(60_000, 60_000), rows=bytes(10**6)),
        "PNG bomb, 2^31 wide": png(size=(2**31 - 1, 1)),
        "PNG just above the limit": png(size=(8001, 5000)),
        "WebP bomb, 16,383 x 16,383": saved(
            Image.new("RGB", (16_383, 16_383)), "WEBP", lossless=True, method=0
        ),
        "PNG of no width": png(size=(0, 5), rows=b""),
        "PNG of no height": png(size=(5, 0), rows=b""),
        "cut off PNG": saved(NOISE, "PNG")[:-200],
        "cut off WebP": saved(NOISE, "WEBP", lossless=True)[:-200],
        "PNG without pixels": SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)),
        "WebP header alone": saved(NOISE, "WEBP", lossless=True)[:30],
        "empty": b"",
        "text": b"no picture at all",
        "wrong magic": b"\x88" + png()[1:],
        "GIF": saved(PLAIN, "GIF"),
        "CMYK JPEG": saved(PLAIN.convert("CMYK"), "JPEG"),
        "TIFF": saved(PLAIN, "TIFF"),
        "SVG": b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
        "animated PNG": saved(PLAIN, "PNG", save_all=True, append_images=[RED]),
        "animated WebP": saved(PLAIN, "WEBP", save_all=True, append_images=[RED], lossless=True),
        "16 bit grey": png(bits=16, kind=0, rows=(b"\0" + b"\x12\x34" * 2) * 2),
        "compressed text of 100 MB": png(chunk(b"zTXt", b"k\0\0" + zeros)),
        "colour profile of 100 MB": png(chunk(b"iCCP", b"k\0\0" + zeros)),
        "65 MB of text": png(chunk(b"tEXt", b"k\0" + b"x" * (65 << 20))),
        "a colour type that is not": png(kind=5),
    }


@cache
def read() -> dict[str, bytes]:
    """The same for what is read."""
    return {
        "plain PNG": saved(PLAIN, "PNG"),
        "plain WebP": saved(PLAIN, "WEBP", lossless=True),
        "palette": saved(PLAIN.convert("P"), "PNG"),
        "palette with transparency": png(
            chunk(b"PLTE", b"\1\2\3\4\5\6"), chunk(b"tRNS", b"\0\x80"), kind=3, rows=b"\0\0\1" * 2
        ),
        "alpha": saved(PLAIN.convert("RGBA"), "PNG"),
        "black and white": saved(PLAIN.convert("1"), "PNG"),
        "16 bit RGB": png(bits=16, rows=(b"\0" + b"\x12\x34" * 6) * 2),
        "text of 20 MB": png(chunk(b"tEXt", b"k\0" + b"F-CLAIM " * (20 << 17))),
        "EXIF of 20 MB": saved(PLAIN, "WEBP", exif=b"Exif\0\0" + bytes(20 << 20)),
        "50 MB of pixels where 16 are due": png(size=(4, 4), rows=bytes(50 << 20)),
    }


PEAK_MB = 900


def as_pipe(path: Path) -> None:
    os.mkfifo(path)


def as_folder(path: Path) -> None:
    path.mkdir()


def link_out(path: Path) -> None:
    path.symlink_to(Path(__file__))


ODD: dict[str, Callable[[Path], None]] = {"a pipe": as_pipe, "a folder": as_folder, "a link out": link_out}


def add(ground: Ground, number: int, content: bytes | Callable[[Path], None]) -> str:
    """An episode whose last screen is this one; the first is sound."""
    episode_id = f"e{number:03}"
    folder = ground.episode(episode_id, "note", {"note.txt": b"old"})
    (folder / "screens").mkdir()
    (folder / "screens" / "000.png").write_bytes(read()["plain PNG"])
    (folder / "actions.jsonl").write_text('{"step": 1, "action": "done", "screen": "screens/001.png"}\n')
    if callable(content):
        content(folder / "screens" / "001.png")
    else:
        (folder / "screens" / "001.png").write_bytes(content)
    return episode_id


def test_images(ground: Ground, record_property: Any) -> None:
    ground.task("note")
    cases: dict[str, Any] = {**refused(), **ODD, **read()}
    names = {add(ground, number, content): name for number, (name, content) in enumerate(cases.items())}
    done = ground.pyrite("pack", str(ground.bench.root), "--json", "--condition", "E1-final,E3-full")
    assert done.code == 0, done.err
    broken = {names[episode_id]: why for episode_id, why in done.document["broken"].items()}
    assert set(broken) == {*refused(), *ODD}
    assert all("001.png" in why or "leaves the episode" in why for why in broken.values())
    assert "8001 x 5000 pixels" in broken["PNG just above the limit"]
    packed = {names[entry["episode_id"]] for entry in done.document["entries"]}
    assert packed == set(read())
    assert "Traceback" not in done.err
    assert done.peak_mb < PEAK_MB
    stored = [path.read_bytes() for path in ground.bench.paths.images.iterdir()]
    assert max(map(len, stored)) < 1 << 20
    assert not any(b"F-CLAIM" in data for data in stored)
    record_property(
        "figure",
        f"hostile screens: {len(broken)} of {len(refused()) + len(ODD)} refused and "
        f"{len(packed)} of {len(read())} read within bounds, the other episodes packed "
        f"({done.seconds:.0f} s, {done.peak_mb:.0f} MB for all)",
    )


def test_a_broken_screen_costs_its_own_verdicts_and_no_others(ground: Ground) -> None:
    ground.task("note")
    sound, broken = add(ground, 0, read()["plain WebP"]), add(ground, 1, refused()["text"])
    torn = ground.episode("torn", "note", {"note.txt": b"old"})
    (torn / "meta.json").write_text("{")
    piped = add(ground, 2, read()["plain PNG"])
    actions = ground.bench.paths.episode(piped).actions
    actions.unlink()
    os.mkfifo(actions)
    bench = str(ground.bench.root)
    done = ground.pyrite("pack", bench, "--condition", "E1-final")
    assert done.code == 0
    for text in (
        "1 package",
        f"broken   {broken}",
        f"broken   {torn.name}",
        f"broken   {piped}",
        "3 episodes",
    ):
        assert text in done.out, done.out
    asked = ground.pyrite("judge", bench, "--judge", "accept-all,reject-all", "--condition", "E1-final")
    assert asked.code == 4, asked.err
    assert "1 new, 0 kept, 3 missing" in asked.out
    assert f"broken   {broken}" in asked.out
    lines = [
        json.loads(line)
        for path in ground.bench.paths.verdict_files()
        for line in path.read_text().splitlines()
    ]
    assert [(line["episode_id"], line["verdict"]) for line in lines] == [
        (sound, "success"),
        (sound, "failure"),
    ]


def test_a_screen_that_is_broken_early_spares_the_conditions_that_do_not_show_it(ground: Ground) -> None:
    ground.task("note")
    episode_id = add(ground, 0, read()["plain WebP"])
    (ground.bench.paths.episode(episode_id).screens / "000.png").write_bytes(b"x")
    done = ground.pyrite("pack", str(ground.bench.root), "--json", "--condition", "E1-final,E3-full")
    assert [entry["condition"] for entry in done.document["entries"]] == ["E1-final"]
    assert done.document["broken"][episode_id].startswith("E3-full: ")


@pytest.mark.parametrize("verb", [["pack"], ["judge", "--judge", "accept-all"]], ids=["pack", "judge"])
def test_where_nothing_can_be_packed_it_is_exit_2_and_says_why(ground: Ground, verb: list[str]) -> None:
    ground.task("note")
    episode_id = add(ground, 0, refused()["text"])
    add(ground, 1, refused()["GIF"])
    done = ground.pyrite(verb[0], str(ground.bench.root), *verb[1:], "--json")
    assert done.code == 2
    error = json.loads(done.out)["error"]
    assert "none of 2 episodes can be packed" in error["what"]
    assert episode_id in error["what"]
    assert error["next"].startswith("pyrite ")
