"""What was read in an image, and where readings are kept: the user's cache and the shipped file.

$PYRITE_CACHE | $XDG_CACHE_HOME/pyrite | ~/.cache/pyrite
  ocr/<engine>-<models>/<pixels>.<mode>.json
<package>/demo/ocr.jsonl.zst           the shipped readings, one entry a line
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import zstandard
from pydantic import Field, StringConstraints, ValidationError

from pyrite.records import Record
from pyrite.store.jsonl import write_bytes

Mode = Literal["screen", "line"]
Name = Literal["rapidocr", "tesserocr"]
"""The engines, by the first word of what they are called in readings and results."""
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]

MAX_ENTRY_BYTES = 4 << 20
MAX_SHIPPED_BYTES = 64 << 20
MAX_BOXES = 5000


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
    """Name and version, such as "rapidocr 3.10.0"."""
    models: str
    """Digest of the models, and of the settings where they are not the engine's own."""
    recalled: bool = False
    """True if this engine is not installed here and the reading was recorded elsewhere or earlier."""

    def provenance(self) -> dict[str, str | bool]:
        """Who read, for the `usage` of a verdict."""
        return {"engine": self.engine, "models_sha256": self.models, "recorded": self.recalled}


@dataclass(frozen=True)
class Engine:
    """An installed OCR engine: its name, its version, and the files of its models."""

    name: Name
    version: str
    models: str
    files: tuple[Path, ...]


def is_of(entry: Entry, name: Name) -> bool:
    """Whether a reading was made by an engine of this name, in any version."""
    return entry.engine.split(" ")[0] == name


def cache_folder() -> Path:
    """Where readings are kept between runs; the environment decides."""
    if own := os.environ.get("PYRITE_CACHE"):
        return Path(own) / "ocr"
    shared = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(shared) / "pyrite" / "ocr"


def shipped_file() -> Path:
    """The readings that travel with the package."""
    return Path(str(files("pyrite"))) / "demo" / "ocr.jsonl.zst"


def ship(entries: Iterable[Entry], path: Path) -> int:
    """Write readings as the file that travels with the package; returns its size in bytes."""
    unique = {(entry.pixels, entry.mode, entry.engine, entry.models): entry for entry in entries}
    lines = b"".join(unique[key].model_dump_json().encode() + b"\n" for key in sorted(unique))
    data = zstandard.ZstdCompressor(level=19).compress(lines)
    write_bytes(path, data)
    return len(data)


def keep(entry: Entry) -> None:
    """Store a reading; a cache that cannot be written costs time, never a verdict."""
    path = _entry_path(entry.engine, entry.models, entry.pixels, entry.mode)
    with suppress(OSError):
        write_bytes(path, entry.model_dump_json().encode())


def stored(pixels: str, mode: Mode, name: Name, installed: Engine | None) -> Iterator[Entry]:
    """Readings in the user's cache, newest version first; an entry that is not one is skipped.

    Of what is installed, or of any version of the engine `name` where it is not.
    """
    if installed is not None:
        paths = [_entry_path(installed.version, installed.models, pixels, mode)]
    else:
        paths = sorted(cache_folder().glob(f"{name}-*/{pixels}.{mode}.json"), reverse=True)
    for path in paths:
        with suppress(OSError, ValidationError), path.open("rb") as handle:
            data = handle.read(MAX_ENTRY_BYTES + 1)
            if len(data) > MAX_ENTRY_BYTES:
                continue
            entry = Entry.model_validate_json(data)
            if (entry.pixels, entry.mode) == (pixels, mode):
                yield entry


@lru_cache(maxsize=4)
def shipped(path: Path) -> dict[tuple[str, str], tuple[Entry, ...]]:
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


def _entry_path(engine_name: str, models: str, pixels: str, mode: Mode) -> Path:
    safe = re.sub(r"[^A-Za-z0-9.]+", "-", engine_name)
    return cache_folder() / f"{safe}-{models[:12]}" / f"{pixels}.{mode}.json"
