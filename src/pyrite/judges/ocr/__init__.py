"""OCR of screens, by one of two engines, with a cache that works without them.

    reading = read_screen(image)                        # lines of text: boxes and confidences
    reading = read_screen(image, engine="tesserocr")    # six times faster, a little less exact
    reading = read_line(crop)                           # a crop that holds one line: no search for boxes

A reading belongs to exact pixels (`pixels_sha256`), an engine with its version, and a digest of its
models; readings of two engines never stand in for each other. Where the engine asked for is installed
only its own readings count; where it is not, those of any recorded version of it do, from the user's
cache or the shipped file. One pixel changed and no engine: `Unavailable`, never an old answer and never
an empty text; so is an engine that crashes. What is kept where: `readings.py`. Many at once: `batch.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, get_args

from PIL import Image

from pyrite.errors import UsageError
from pyrite.judges.base import Unavailable
from pyrite.judges.ocr import rapid, tesseract
from pyrite.judges.ocr.readings import (
    Box,
    Engine,
    Entry,
    Mode,
    Name,
    Reading,
    cache_folder,
    is_of,
    keep,
    ship,
    shipped,
    shipped_file,
    stored,
)
from pyrite.store.images import pixels_sha256

__all__ = [
    "DEFAULT",
    "ENGINES",
    "Box",
    "Engine",
    "Entry",
    "Mode",
    "Name",
    "Reader",
    "Reading",
    "cache_folder",
    "collected",
    "engine",
    "is_recorded",
    "named",
    "note_failure",
    "read_line",
    "read_screen",
    "ship",
    "shipped_file",
]

ENGINES: tuple[Name, ...] = get_args(Name)
DEFAULT: Name = "rapidocr"
"""Reads where nothing else is asked for: it is the more exact one, and the shipped readings are its."""


class _Module(Protocol):
    """What the module of an engine offers."""

    NEXT: str

    def engine(self) -> Engine | None: ...

    def recognise(self, installed: Engine, image: Image.Image, mode: Mode) -> tuple[Box, ...]: ...


_MODULES: dict[Name, _Module] = {"rapidocr": rapid, "tesserocr": tesseract}
_FAILED: dict[tuple[str, str], str] = {}
"""(pixels, engine) of screens on which an engine failed in this run -> why: it is not asked twice."""
_COLLECTORS: list[dict[tuple[str, str, str], Entry]] = []


def named(name: str) -> Name:
    """An engine's name, checked. Raises `UsageError` for any other."""
    for known in ENGINES:
        if name == known:
            return known
    raise UsageError(f"unknown OCR engine {name[:80]!r}", expected=", ".join(ENGINES))


@dataclass(frozen=True)
class Reader:
    """How a judge reads: by which engine, and whether what is recorded counts."""

    engine: Name = DEFAULT
    cache: bool = True

    def screen(self, image: Image.Image) -> Reading:
        return read_screen(image, engine=self.engine, cache=self.cache)

    def line(self, image: Image.Image) -> Reading:
        return read_line(image, engine=self.engine, cache=self.cache)

    def config(self) -> dict[str, Any]:
        """For a judge's config(): the engine; where it is not installed, that any recorded version counts."""
        installed = engine(self.engine)
        return {
            "ocr": installed.version if installed else f"recorded readings of {self.engine}",
            "ocr_models_sha256": installed.models if installed else None,
        }


def engine(name: Name = DEFAULT) -> Engine | None:
    """The engine of this name, or None where it, or what it needs, is not installed."""
    return _MODULES[name].engine()


def read_screen(image: Image.Image, *, engine: Name = DEFAULT, cache: bool = True) -> Reading:
    """Find and read all lines of text of a screen.

    A full 1024 x 768 spreadsheet takes rapidocr 2.5 s of CPU, tesserocr 0.5. `cache=False` reads anew.
    Raises `Unavailable` without an engine and without a recorded reading, or where the engine fails.
    """
    return _read(image, "screen", engine, cache=cache)


def read_line(image: Image.Image, *, engine: Name = DEFAULT, cache: bool = True) -> Reading:
    """Read an image that holds one line of text and nothing else (about 20 ms)."""
    return _read(image, "line", engine, cache=cache)


def is_recorded(pixels: str, mode: Mode = "screen", *, name: Name = DEFAULT) -> bool:
    """Whether a reading of these pixels is there, so that no engine has to run."""
    return _recall(pixels, mode, name, engine(name)) is not None


def note_failure(pixels: str, name: Name, why: str) -> None:
    """Remember, for this process, that an engine failed on a screen, which may have taken minutes."""
    _FAILED[(pixels, name)] = why


@contextmanager
def collected() -> Iterator[dict[tuple[str, str, str], Entry]]:
    """Collect every reading used inside, by (pixels, mode, engine): what `ship` writes."""
    entries: dict[tuple[str, str, str], Entry] = {}
    _COLLECTORS.append(entries)
    try:
        yield entries
    finally:
        _COLLECTORS.remove(entries)


def _read(image: Image.Image, mode: Mode, name: Name, *, cache: bool) -> Reading:
    pixels = pixels_sha256(image)
    installed = engine(name)
    entry = _recall(pixels, mode, name, installed) if cache else None
    if entry is None:
        if cache and mode == "screen" and (why := _FAILED.get((pixels, name))):
            raise Unavailable(why, where=f"image {pixels[:12]}")
        if installed is None:
            raise Unavailable(
                f"missing: no OCR engine {name} is installed and no reading of these pixels is recorded",
                where=f"image {pixels[:12]}",
                next=_MODULES[name].NEXT,
            )
        entry = _recognise(image, pixels, mode, installed)
        keep(entry)
    for entries in _COLLECTORS:
        entries[(pixels, mode, entry.engine)] = entry
    return Reading(entry.boxes, entry.engine, entry.models, recalled=installed is None)


def _recall(pixels: str, mode: Mode, name: Name, installed: Engine | None) -> Entry | None:
    here = shipped(shipped_file()).get((pixels, mode), ())
    candidates = [entry for entry in (*stored(pixels, mode, name, installed), *here) if is_of(entry, name)]
    if installed is not None:
        mine = (installed.version, installed.models)
        candidates = [entry for entry in candidates if (entry.engine, entry.models) == mine]
    return candidates[0] if candidates else None


def _recognise(image: Image.Image, pixels: str, mode: Mode, installed: Engine) -> Entry:
    """Run the engine."""
    module = _MODULES[installed.name]
    try:
        boxes = module.recognise(installed, image, mode)
    except Exception as exc:  # whatever a foreign engine raises is "no verdict", never a crash of the run
        message = f"missing: {installed.version} failed: {type(exc).__name__}: {str(exc)[:200]}"
        raise Unavailable(message, where=f"image {pixels[:12]}", next=f"reinstall it: {module.NEXT}") from exc
    return Entry(pixels=pixels, mode=mode, engine=installed.version, models=installed.models, boxes=boxes)
