from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

from pyrite.judges import ocr
from pyrite.judges.base import Unavailable
from pyrite.judges.ocr import rapid, readings
from pyrite.store.images import open_image, pixels_sha256

SCREENS = Path(__file__).resolve().parent / "screens"
needs_engine = pytest.mark.skipif(ocr.engine() is None, reason="the ocr extra is not installed")
FAKE = ocr.Engine("rapidocr", "rapidocr 9.9.9", "0" * 64, ())


def written(text: str, size: tuple[int, int] = (200, 40)) -> Image.Image:
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).text((10, 8), text, fill="black", font=ImageFont.load_default(size=20))
    return image


def entry(
    image: Image.Image, text: str, *, engine: str = "rapidocr 1.2.3", mode: ocr.Mode = "line"
) -> ocr.Entry:
    box = ocr.Box(0, 0, image.width, image.height, text, 0.9)
    return ocr.Entry(pixels=pixels_sha256(image), mode=mode, engine=engine, models="a" * 64, boxes=(box,))


@needs_engine
@pytest.mark.usefixtures("own_cache")
def test_a_line_and_a_screen_are_read() -> None:
    assert [box.text for box in ocr.read_line(written("Total 4500")).boxes] == ["Total 4500"]
    (box,) = ocr.read_screen(written("Total 4500", (400, 300))).boxes
    assert box.text == "Total 4500"
    assert box.x0 < 20
    assert box.x1 > 60
    assert 0 <= box.y0 < box.y1 <= 45
    assert 0.5 < box.score <= 1


@needs_engine
def test_a_reading_is_kept_and_recalled_without_the_engine_running(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = written("Total 4500")
    first = ocr.read_line(image)
    calls: list[int] = []
    real = ocr._recognise

    def counted(*args: Any) -> ocr.Entry:
        calls.append(1)
        return real(*args)

    monkeypatch.setattr(ocr, "_recognise", counted)
    assert ocr.read_line(image) == first
    assert calls == []
    assert ocr.read_line(image, cache=False) == first
    assert calls == [1]
    (kept,) = own_cache.glob("*/*.line.json")
    for damage in (b"", b"{", b"[]", b"null", kept.read_bytes().replace(b"line", b"page")):
        kept.write_bytes(damage)
        calls.clear()
        assert ocr.read_line(image) == first
        assert calls == [1]


@needs_engine
@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("size", [(1, 1), (1, 3000), (3000, 1), (7, 500), (20, 20)])
def test_extreme_shapes_are_read_within_bounds(size: tuple[int, int]) -> None:
    image = Image.new("RGB", size, "white")
    assert ocr.read_screen(image).boxes == ()
    assert ocr.read_line(image).boxes == ()


@needs_engine
@pytest.mark.usefixtures("own_cache")
def test_many_threads_share_one_engine() -> None:
    images = [written(f"value {number}") for number in range(100, 106)]
    found: dict[int, str] = {}

    def read(index: int) -> None:
        found[index] = ocr.read_line(images[index]).boxes[0].text

    threads = [threading.Thread(target=read, args=(index,)) for index in range(len(images))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[index] for index in range(6)] == [f"value {number}" for number in range(100, 106)]
    assert len(rapid._RECOGNISER) == 1


@pytest.mark.usefixtures("no_engine")
def test_without_an_engine_one_changed_pixel_is_missing() -> None:
    image = open_image(SCREENS / "dense.webp")
    reading = ocr.read_screen(image)
    assert reading.recalled
    assert reading.engine.startswith("rapidocr 3.")
    assert any("q3_budget.xlsx" in box.text for box in reading.boxes)
    pixel = image.getpixel((500, 400))
    assert isinstance(pixel, tuple)
    image.putpixel((500, 400), (pixel[0] ^ 1, pixel[1], pixel[2]))
    with pytest.raises(Unavailable, match=r"missing: no OCR .*(\n.*)*pip install 'pyrite\[ocr\]'"):
        ocr.read_screen(image)


@pytest.mark.usefixtures("no_engine")
def test_without_an_engine_nothing_can_be_read_anew() -> None:
    with pytest.raises(Unavailable):
        ocr.read_screen(open_image(SCREENS / "dense.webp"), cache=False)


def test_a_reading_of_another_engine_counts_only_where_none_is_installed(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = written("x")
    readings.keep(entry(image, "old answer"))
    monkeypatch.setattr(ocr, "engine", lambda name="rapidocr": None)
    assert ocr.read_line(image).boxes[0].text == "old answer"
    assert ocr.read_line(image).engine == "rapidocr 1.2.3"
    monkeypatch.setattr(ocr, "engine", lambda name="rapidocr": FAKE)
    assert ocr._recall(pixels_sha256(image), "line", "rapidocr", FAKE) is None
    assert len(list(own_cache.glob("*/*.json"))) == 1


def test_a_reading_of_a_line_is_not_one_of_a_screen(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = written("x")
    readings.keep(entry(image, "a line"))
    monkeypatch.setattr(ocr, "engine", lambda name="rapidocr": None)
    with pytest.raises(Unavailable):
        ocr.read_screen(image)
    assert own_cache.is_dir()


def test_shipped_readings_come_back_as_they_were(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = written("x")
    path = tmp_path / "shipped.jsonl.zst"
    twice = [entry(image, "shipped"), entry(image, "shipped")]
    assert ocr.ship(twice, path) == path.stat().st_size
    before = path.read_bytes()
    ocr.ship(reversed(twice), path)
    assert path.read_bytes() == before
    monkeypatch.setattr(ocr, "engine", lambda name="rapidocr": None)
    monkeypatch.setattr(ocr, "shipped_file", lambda: path)
    with ocr.collected() as used:
        assert ocr.read_line(image).boxes[0].text == "shipped"
    assert list(used.values()) == twice[:1]
    assert not own_cache.exists()


@pytest.mark.parametrize("data", [b"", b"not zstandard", b"\x28\xb5\x2f\xfd garbage"])
def test_a_damaged_shipped_file_ships_nothing(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "shipped.jsonl.zst"
    path.write_bytes(data)
    assert readings.shipped(path) == {}


@pytest.mark.parametrize(
    "change",
    [{"pixels": "../../etc/passwd"}, {"boxes": [[0, 0, 1, 1, "x"]]}, {"mode": "page"}, {"extra": 1}],
)
def test_an_entry_of_another_shape_is_no_entry(
    change: dict[str, Any], own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = written("x")
    readings.keep(entry(image, "kept"))
    (path,) = own_cache.glob("*/*.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    monkeypatch.setattr(ocr, "engine", lambda name="rapidocr": None)
    with pytest.raises(Unavailable):
        ocr.read_line(image)


def test_a_cache_that_cannot_be_written_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("PYRITE_CACHE", str(blocked))
    readings.keep(entry(written("x"), "kept"))
    monkeypatch.setattr(ocr, "engine", lambda name="rapidocr": None)
    with pytest.raises(Unavailable):
        ocr.read_line(written("x"))


def test_the_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/h")
    monkeypatch.delenv("PYRITE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert ocr.cache_folder() == Path("/h/.cache/pyrite/ocr")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert ocr.cache_folder() == Path("/x/pyrite/ocr")
    monkeypatch.setenv("PYRITE_CACHE", "/p")
    assert ocr.cache_folder() == Path("/p/ocr")
