"""OCR of screens: rapidocr with the models inside its wheel, and a cache that works without it.

    reading = read_screen(image)           # lines of text with their boxes
    reading = read_line(crop)              # a crop that holds one line: no search for boxes

A reading belongs to exact pixels (`pixels_sha256`), an engine version and a digest of its models. With
an engine installed only its own readings count; without one, those of any recorded version do, from
the user's cache or the shipped file. One pixel changed and no engine: `Unavailable`, never an old
answer.

    $PYRITE_CACHE | $XDG_CACHE_HOME/pyrite | ~/.cache/pyrite
      ocr/<engine>-<models>/<pixels>.<mode>.json
    <package>/demo/ocr.jsonl.zst           the shipped readings, one entry a line
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import zstandard
from PIL import Image
from pydantic import Field, StringConstraints, ValidationError

from pyrite.judges.base import Unavailable
from pyrite.records import Record
from pyrite.store.images import pixels_sha256
from pyrite.store.jsonl import write_bytes

Mode = Literal["screen", "line"]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]

MAX_ENTRY_BYTES = 4 << 20
MAX_SHIPPED_BYTES = 64 << 20
MAX_BOXES = 5000
MIN_SIDE = 16
NEXT = "pip install 'pyrite[ocr]'"


class Box(NamedTuple):
    """One line of text and its bounding box in pixels of the image; `score` is 0 to 1."""

    x0: int
    y0: int
    x1: int
    y1: int
    text: str
    score: float

    @property
    def cx(self) -> float:
        return (self.x0 + self.x1) / 2

    @property
    def cy(self) -> float:
        return (self.y0 + self.y1) / 2


class Entry(Record):
    """What an engine read in one image: a line of the shipped file, a file of the cache."""

    pixels: Sha256
    mode: Mode
    engine: Annotated[str, StringConstraints(max_length=100)]
    models: Sha256
    boxes: tuple[Box, ...] = Field(max_length=MAX_BOXES)


@dataclass(frozen=True)
class Reading:
    """The lines of text of an image, and who read them."""

    boxes: tuple[Box, ...]
    engine: str
    models: str
    recalled: bool = False
    """True if no engine is installed here and the reading was recorded elsewhere or earlier."""


@dataclass(frozen=True)
class Engine:
    """An installed OCR engine: its version and the bundled models, by stage."""

    version: str
    models: str
    det: Path
    rec: Path


@lru_cache(maxsize=1)
def engine() -> Engine | None:
    """The installed engine, or None where rapidocr, onnxruntime or the bundled models are not there."""
    if find_spec("onnxruntime") is None or find_spec("rapidocr") is None:
        return None
    try:
        package = distribution("rapidocr")
    except PackageNotFoundError:
        return None
    bundled = sorted(str(name) for name in package.files or () if str(name).endswith(".onnx"))
    found = [Path(str(package.locate_file(name))) for name in bundled]
    det = next((path for path in found if "_det_" in path.name and path.is_file()), None)
    rec = next((path for path in found if "_rec_" in path.name and path.is_file()), None)
    if det is None or rec is None:
        return None
    digest = hashlib.sha256()
    for path in (det, rec):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return Engine(f"rapidocr {package.version}", digest.hexdigest(), det, rec)


def read_screen(image: Image.Image, *, cache: bool = True) -> Reading:
    """Find and read all lines of text of a screen (2.5 s of CPU for a full 1024 x 768 spreadsheet).

    `cache=False` reads anew. Raises `Unavailable` without an engine and without a recorded reading.
    """
    return _read(image, "screen", cache=cache)


def read_line(image: Image.Image, *, cache: bool = True) -> Reading:
    """Read an image that holds one line of text and nothing else (about 20 ms): at most one box."""
    return _read(image, "line", cache=cache)


def is_recorded(pixels: str, mode: Mode = "screen") -> bool:
    """Whether a reading of these pixels is there, so that no engine has to run."""
    return _recall(pixels, mode, engine()) is not None


@contextmanager
def collected() -> Iterator[dict[tuple[str, str], Entry]]:
    """Collect every reading used inside, by (pixels, mode): what `ship` writes."""
    entries: dict[tuple[str, str], Entry] = {}
    _COLLECTORS.append(entries)
    try:
        yield entries
    finally:
        _COLLECTORS.remove(entries)


def ship(entries: Iterable[Entry], path: Path) -> int:
    """Write readings as the file that travels with the package; returns its size in bytes."""
    unique = {(entry.pixels, entry.mode, entry.engine, entry.models): entry for entry in entries}
    lines = b"".join(unique[key].model_dump_json().encode() + b"\n" for key in sorted(unique))
    data = zstandard.ZstdCompressor(level=19).compress(lines)
    write_bytes(path, data)
    return len(data)


def cache_folder() -> Path:
    """Where readings are kept between runs; the environment decides."""
    if own := os.environ.get("PYRITE_CACHE"):
        return Path(own) / "ocr"
    shared = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(shared) / "pyrite" / "ocr"


def shipped_file() -> Path:
    """The readings that travel with the package."""
    return Path(str(files("pyrite"))) / "demo" / "ocr.jsonl.zst"


# --- lookup

_LOCK = threading.Lock()
_COLLECTORS: list[dict[tuple[str, str], Entry]] = []
_RECOGNISER: list[Any] = []


def _read(image: Image.Image, mode: Mode, *, cache: bool) -> Reading:
    pixels = pixels_sha256(image)
    installed = engine()
    entry = _recall(pixels, mode, installed) if cache else None
    if entry is None:
        if installed is None:
            raise Unavailable(
                "missing: no OCR engine is installed and no reading of these pixels is recorded",
                where=f"image {pixels[:12]}",
                next=NEXT,
            )
        entry = _recognise(image, pixels, mode, installed)
        _keep(entry)
    for entries in _COLLECTORS:
        entries[(pixels, mode)] = entry
    return Reading(entry.boxes, entry.engine, entry.models, recalled=installed is None)


def _recall(pixels: str, mode: Mode, installed: Engine | None) -> Entry | None:
    candidates = [*_stored(pixels, mode, installed), *_shipped(shipped_file()).get((pixels, mode), ())]
    if installed is not None:
        mine = (installed.version, installed.models)
        candidates = [entry for entry in candidates if (entry.engine, entry.models) == mine]
    return candidates[0] if candidates else None


def _entry_path(engine_name: str, models: str, pixels: str, mode: Mode) -> Path:
    safe = re.sub(r"[^A-Za-z0-9.]+", "-", engine_name)
    return cache_folder() / f"{safe}-{models[:12]}" / f"{pixels}.{mode}.json"


def _stored(pixels: str, mode: Mode, installed: Engine | None) -> Iterator[Entry]:
    """Readings in the user's cache, newest engine name first; an entry that is not one is skipped."""
    if installed is not None:
        paths = [_entry_path(installed.version, installed.models, pixels, mode)]
    else:
        paths = sorted(cache_folder().glob(f"*/{pixels}.{mode}.json"), reverse=True)
    for path in paths:
        with suppress(OSError, ValidationError), path.open("rb") as handle:
            data = handle.read(MAX_ENTRY_BYTES + 1)
            if len(data) > MAX_ENTRY_BYTES:
                continue
            entry = Entry.model_validate_json(data)
            if (entry.pixels, entry.mode) == (pixels, mode):
                yield entry


@lru_cache(maxsize=4)
def _shipped(path: Path) -> dict[tuple[str, str], tuple[Entry, ...]]:
    """The shipped readings by (pixels, mode); empty where nothing, or nothing usable, is shipped."""
    found: dict[tuple[str, str], tuple[Entry, ...]] = {}
    try:
        with path.open("rb") as handle, zstandard.ZstdDecompressor().stream_reader(handle) as reader:
            data = reader.read(MAX_SHIPPED_BYTES + 1)
    except (OSError, zstandard.ZstdError):
        return found
    if len(data) > MAX_SHIPPED_BYTES:
        return found
    for line in data.splitlines():
        with suppress(ValidationError):
            entry = Entry.model_validate_json(line)
            key = (entry.pixels, entry.mode)
            found[key] = (*found.get(key, ()), entry)
    return found


def _keep(entry: Entry) -> None:
    """Store a reading; a cache that cannot be written costs time, never a verdict."""
    path = _entry_path(entry.engine, entry.models, entry.pixels, entry.mode)
    with suppress(OSError):
        write_bytes(path, entry.model_dump_json().encode())


# --- the engine


def _recognise(image: Image.Image, pixels: str, mode: Mode, installed: Engine) -> Entry:
    """Run the engine, one image at a time in this process."""
    bgr = np.ascontiguousarray(np.asarray(_padded(image, mode))[:, :, ::-1])
    with _LOCK:
        try:
            if not _RECOGNISER:
                _RECOGNISER.append(_start(installed))
            result = _RECOGNISER[0](bgr, use_det=mode == "screen", use_cls=False, use_rec=True)
        except Exception as exc:  # whatever a foreign engine raises is "no verdict", never a crash of the run
            message = f"missing: the OCR engine failed: {type(exc).__name__}: {str(exc)[:200]}"
            raise Unavailable(message, where=f"image {pixels[:12]}", next=f"reinstall it: {NEXT}") from exc
    boxes = _boxes(result, image.size)
    return Entry(pixels=pixels, mode=mode, engine=installed.version, models=installed.models, boxes=boxes)


def _padded(image: Image.Image, mode: Mode) -> Image.Image:
    """Give a thin image margins: the engine scales the short side up, and memory with it (1 x 2000 kills)."""
    ratio = 6 if mode == "screen" else 40
    width = max(image.width, image.height // ratio, MIN_SIDE)
    height = max(image.height, image.width // ratio, MIN_SIDE)
    if (width, height) == image.size:
        return image.convert("RGB")
    canvas = Image.new("RGB", (width, height), "white")
    canvas.paste(image, (0, 0))
    return canvas


def _start(installed: Engine) -> Any:
    """Load the bundled models by path, so that nothing is fetched; one thread costs the least CPU."""
    import onnxruntime
    from rapidocr import RapidOCR

    onnxruntime.set_default_logger_severity(3)
    return RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.use_cls": False,
            "Det.model_path": str(installed.det),
            "Rec.model_path": str(installed.rec),
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )


def _boxes(result: Any, size: tuple[int, int]) -> tuple[Box, ...]:
    texts, scores = result.txts or (), result.scores or ()
    corners = getattr(result, "boxes", None)
    found = []
    for index, (text, score) in enumerate(zip(texts, scores, strict=True)):
        if not text:
            continue
        if corners is None:
            x0, y0, x1, y1 = 0, 0, *size
        else:
            xs, ys = corners[index][:, 0], corners[index][:, 1]
            x0, y0, x1, y1 = round(min(xs)), round(min(ys)), round(max(xs)), round(max(ys))
        found.append(Box(x0, y0, x1, y1, str(text), round(float(score), 3)))
    return tuple(found[:MAX_BOXES])
