"""The fast engine: what it reads, and that a crash of it is a missing reading with the reason."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from pyrite.judges import ocr
from pyrite.judges.base import Unavailable
from pyrite.judges.ocr import readings, tesseract
from pyrite.judges.ocr.tesseract import Crashed, Worker
from pyrite.judges.screen_rules import ScreenRules, decide
from pyrite.records import Verdict
from pyrite.store.images import open_image, pixels_sha256

SCREENS = Path(__file__).resolve().parent / "screens"
needs_engine = pytest.mark.skipif(
    ocr.engine("tesserocr") is None, reason="tesserocr or Debian's tesseract-ocr-eng is not installed"
)
FAKE = """
import json, os, sys, time
print(json.dumps({"tesserocr": "9", "tesseract": "9"}), flush=True)
while head := sys.stdin.buffer.readline():
    request = json.loads(head)
    sys.stdin.buffer.read(request["width"] * request["height"] * 3)
    print("contained too little", file=sys.stderr, flush=True)
    {1: os.abort, 2: lambda: os._exit(3), 3: lambda: time.sleep(60), 4: lambda: print("[[1,", flush=True),
     5: lambda: print('{"error": "MemoryError: "}', flush=True), 6: lambda: print("x" * 5000000, flush=True),
     7: lambda: print('[[0, 0, 5, 5, "read", 0.5]]', flush=True)}[request["width"]]()
"""


def written(text: str, size: tuple[int, int] = (400, 300)) -> Image.Image:
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).text((10, 8), text, fill="black", font=ImageFont.load_default(size=16))
    return image


@pytest.fixture
def fake(tmp_path: Path) -> list[str]:
    """The command of a worker that fails in the way that the width of an image asks for."""
    script = tmp_path / "fake.py"
    script.write_text(FAKE, encoding="utf-8")
    return [sys.executable, str(script)]


@needs_engine
@pytest.mark.usefixtures("own_cache")
def test_a_screen_and_a_line_are_read_and_the_engine_is_named() -> None:
    reading = ocr.read_screen(written("Total 4500"), engine="tesserocr")
    (box,) = reading.boxes
    assert box.text == "Total 4500"
    assert 5 <= box.x0 < 15
    assert 60 < box.x1 < 140
    assert 0.5 < box.score <= 1
    assert reading.engine.startswith("tesserocr 2.")
    assert "tesseract 5." in reading.engine
    line = written("Total 4500").crop((0, 0, 120, 34)).resize((360, 102))
    assert [box.text for box in ocr.read_line(line, engine="tesserocr").boxes] == ["Total 4500"]


@needs_engine
@pytest.mark.usefixtures("own_cache")
def test_readings_do_not_depend_on_what_was_read_before() -> None:
    image = open_image(SCREENS / "dense.webp")
    first = ocr.read_screen(image, engine="tesserocr", cache=False)
    ocr.read_screen(written("Something else 123"), engine="tesserocr", cache=False)
    assert ocr.read_screen(image, engine="tesserocr", cache=False) == first
    assert ocr.read_screen(image, engine="tesserocr") == first


@needs_engine
@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("size", [(1, 1), (1, 3000), (3000, 1), (7, 500), (20, 20), (4000, 2500)])
def test_extreme_shapes_are_read_within_bounds(size: tuple[int, int]) -> None:
    image = Image.new("RGB", size, "white")
    assert ocr.read_screen(image, engine="tesserocr").boxes == ()
    assert ocr.read_line(image, engine="tesserocr").boxes == ()


@needs_engine
@pytest.mark.usefixtures("own_cache")
def test_noise_is_read_within_bounds() -> None:
    noise = Image.frombytes("RGB", (120, 80), random.Random(1).randbytes(120 * 80 * 3))
    for box in ocr.read_screen(noise, engine="tesserocr").boxes:
        assert 0 <= box.x0 <= box.x1 <= 120
        assert 0 <= box.y0 <= box.y1 <= 80
        assert 0 <= box.score <= 1


@needs_engine
@pytest.mark.usefixtures("own_cache")
def test_a_spreadsheet_is_read_well_enough_for_the_rules() -> None:
    instruction = "In q3_budget.xlsx set D14 to 4500 and save the file."
    reply = decide(instruction, open_image(SCREENS / "dense.webp"), ocr.Reader("tesserocr"))
    assert reply.verdict in {Verdict.SUCCESS, Verdict.FAILURE, Verdict.UNCERTAIN}
    assert reply.usage["ocr"]["engine"].startswith("tesserocr ")
    assert reply.usage["ocr"]["recorded"] is False


@needs_engine
@pytest.mark.usefixtures("own_cache")
def test_a_worker_that_died_is_replaced() -> None:
    ocr.read_line(written("one"), engine="tesserocr")
    os.kill(tesseract._RUNNING[os.getpid()].process.pid, signal.SIGKILL)
    tesseract._RUNNING[os.getpid()].process.wait()
    assert ocr.read_screen(written("two two"), engine="tesserocr").boxes[0].text == "two two"


@pytest.mark.parametrize(
    ("width", "why"),
    [
        (1, "ended by SIGABRT: contained too little"),
        (2, "ended with exit code 3: contained too little"),
        (4, "no answer"),
        (5, "MemoryError"),
        (6, "no answer"),
    ],
)
def test_what_becomes_of_a_worker_is_said(width: int, why: str, fake: list[str]) -> None:
    worker = Worker(fake)
    try:
        assert worker.read(Image.new("RGB", (7, 1)), "screen")[0].text == "read"
        with pytest.raises(Crashed, match=why):
            worker.read(Image.new("RGB", (width, 1)), "screen")
        assert worker.alive == (width == 5)
    finally:
        worker.close()


def test_a_worker_that_hangs_is_ended(fake: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tesseract, "TIME_LIMIT_S", 0.3)
    worker = Worker(fake)
    began = time.monotonic()
    with pytest.raises(Crashed, match=r"no answer within 0\.3 s"):
        worker.read(Image.new("RGB", (3, 1)), "screen")
    assert time.monotonic() - began < 10
    assert not worker.alive


def test_a_program_that_does_not_start_is_no_engine() -> None:
    with pytest.raises(Crashed, match="exit code 1"):
        Worker([sys.executable, "-c", "raise SystemExit(1)"])


@pytest.mark.usefixtures("own_cache")
def test_a_crash_is_a_missing_reading_never_an_empty_one(
    fake: list[str], own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = ocr.Engine("tesserocr", "tesserocr 9 (tesseract 9)", "b" * 64, (Path("eng.traineddata"),))
    workers: list[Worker] = []

    def worker(folder: Path) -> Worker:
        if not workers or not workers[-1].alive:
            workers.append(Worker(fake))
        return workers[-1]

    monkeypatch.setattr(ocr, "engine", lambda name="rapidocr": installed)
    monkeypatch.setattr(tesseract, "_worker", worker)
    try:
        with pytest.raises(Unavailable, match=r"missing: tesserocr 9 .* failed: .*SIGABRT"):
            ocr.read_screen(Image.new("RGB", (1, 1)), engine="tesserocr")
        assert not own_cache.exists()
        reading = ocr.read_screen(Image.new("RGB", (7, 1)), engine="tesserocr")
        assert reading.boxes[0].text == "read"
        assert reading.engine == "tesserocr 9 (tesseract 9)"
        assert len(workers) == 2
    finally:
        for one in workers:
            one.close()


@pytest.mark.usefixtures("no_engine")
def test_readings_of_two_engines_never_stand_in_for_each_other() -> None:
    image = open_image(SCREENS / "dense.webp")
    assert ocr.read_screen(image).engine.startswith("rapidocr ")
    with pytest.raises(Unavailable, match=r"no OCR engine tesserocr(.|\n)*tesseract-ocr-eng"):
        ocr.read_screen(image, engine="tesserocr")
    key = pixels_sha256(image)
    box = ocr.Box(0, 0, 9, 9, "other", 0.9)
    readings.keep(
        ocr.Entry(
            pixels=key, mode="screen", engine="tesserocr 1.0 (tesseract 5)", models="c" * 64, boxes=(box,)
        )
    )
    assert ocr.read_screen(image, engine="tesserocr").boxes == (box,)
    assert ocr.read_screen(image).engine.startswith("rapidocr ")
    assert ocr.is_recorded(key, name="tesserocr")


def test_the_choice_is_part_of_the_settings() -> None:
    first, second = ScreenRules().config(), ScreenRules("tesserocr").config()
    assert "rapidocr" in first["ocr"]
    assert "tesserocr" in second["ocr"]
    assert first != second


def test_where_the_english_data_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tessdata").mkdir()
    (tmp_path / "tessdata" / tesseract.LANGUAGE).write_bytes(b"x")
    monkeypatch.setenv("TESSDATA_PREFIX", str(tmp_path))
    assert tesseract.data_folder.__wrapped__() == tmp_path / "tessdata"
    monkeypatch.setenv("TESSDATA_PREFIX", str(tmp_path / "tessdata"))
    assert tesseract.data_folder.__wrapped__() == tmp_path / "tessdata"
