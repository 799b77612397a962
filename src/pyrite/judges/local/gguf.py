"""What a GGUF file says of itself, and its digest: which model judged, and under which licence.

    model = read(Path("model.gguf"), sha256="b179c952…")
    model.name, model.licence, model.context

Only the header is read, bounded, before any engine sees the file: a file is somebody's data. The layout
is that of the GGUF specification, versions 2 and 3, little-endian.
"""

from __future__ import annotations

import hashlib
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pyrite.errors import InputError, UsageError

MAX_KEYS = 10_000
MAX_KEY = 1 << 16
MAX_HEADER = 256 << 20
"""Bytes of metadata above which a file is refused; the largest vocabularies take about 10 MB."""
MAX_ELEMENTS = 4_000_000
MAX_KEPT = 1 << 16
"""Bytes of a text that is kept; longer ones are passed over."""
UNKNOWN = "UNKNOWN"

SMOKE_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""SmolLM2-135M-Instruct Q4_1: it judges no better than chance, whatever its file is called."""
SMOKE_NAME = "SmolLM2-135M-chance-level-smoke-model"

_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_FORMATS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 7: "<?", 10: "<Q", 11: "<q"}
_STRING, _ARRAY = 8, 9
_EXPECTED = "a GGUF file (version 2 or 3), whole and in one part"


@dataclass(frozen=True)
class Gguf:
    """A model file: what it is called, may be used for and holds, and the digest of its bytes."""

    path: Path
    sha256: str
    architecture: str
    title: str
    """What the file calls the model, else the file's own name."""
    licence: str
    """As the file states it; UNKNOWN where it does not."""
    context: int | None
    """Tokens that it was trained for."""

    @property
    def smoke(self) -> bool:
        """Whether these are the bytes of the chance-level smoke model."""
        return self.sha256 == SMOKE_SHA256

    @property
    def name(self) -> str:
        """The model's name in labels, tables and verdicts: title and digest, nothing of the path."""
        safe = re.sub(r"[^A-Za-z0-9.]+", "-", self.title)[:60].strip(".-") or "model"
        return SMOKE_NAME if self.smoke else f"{safe}-{self.sha256[:8]}"

    def as_json(self) -> dict[str, Any]:
        """For a judge's settings and lock.json."""
        return {
            "file_sha256": self.sha256,
            "title": self.title,
            "architecture": self.architecture,
            "licence": self.licence,
            **({"note": "chance-level smoke model"} if self.smoke else {}),
        }


def read(path: Path, *, sha256: str | None = None) -> Gguf:
    """Read a GGUF file's header and digest.

    Raises `InputError` for what is no whole GGUF file, and for bytes that differ from `sha256`, where
    one is given.
    """
    if sha256 is not None and re.fullmatch(r"[0-9a-fA-F]{64}", sha256) is None:
        raise UsageError(f"{sha256[:80]!r} is no sha256", expected="64 hexadecimal digits")
    try:
        if not path.is_file():
            raise InputError("no such file", where=str(path), expected=_EXPECTED)
        with path.open("rb") as handle:
            said = _header(handle, path)
            handle.seek(0)
            digest = hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as exc:
        raise InputError(str(exc.strerror or exc), where=str(path), expected=_EXPECTED) from None
    if sha256 is not None and digest != sha256.lower():
        raise InputError(
            f"its sha256 is {digest}",
            where=str(path),
            expected=sha256.lower(),
            next="get the file anew, or give the digest of the file that you mean",
        )
    if _whole(said, "split.count", 1) > 1:
        raise InputError("it is one part of several", where=str(path), expected=_EXPECTED)
    architecture = _words(said, "general.architecture") or UNKNOWN
    return Gguf(
        path=path,
        sha256=digest,
        architecture=architecture,
        title=_words(said, "general.name") or path.stem,
        licence=_words(said, "general.license") or UNKNOWN,
        context=_whole(said, f"{architecture}.context_length", 0) or None,
    )


def _words(said: dict[str, Any], key: str) -> str:
    value = said.get(key)
    if not isinstance(value, str):
        return ""
    return "".join(c for c in " ".join(value.split()) if c.isprintable())[:100]


def _whole(said: dict[str, Any], key: str, default: int) -> int:
    value = said.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default


class _Reader:
    """Takes bytes off the front of a file, never more than the bound."""

    def __init__(self, handle: IO[bytes], path: Path) -> None:
        self._handle, self._path, self._taken = handle, path, 0

    def fail(self, what: str) -> InputError:
        return InputError(what, where=str(self._path), expected=_EXPECTED)

    def take(self, size: int) -> bytes:
        self._count(size)
        data = self._handle.read(size)
        if len(data) != size:
            raise self.fail("it ends inside of its header")
        return data

    def skip(self, size: int) -> None:
        self._count(size)
        self._handle.seek(size, 1)

    def _count(self, size: int) -> None:
        self._taken += size
        if self._taken > MAX_HEADER:
            raise self.fail(f"its header is larger than {MAX_HEADER} bytes")

    def number(self, form: str) -> int:
        (value,) = struct.unpack(form, self.take(struct.calcsize(form)))
        return int(value)

    def text(self, most: int) -> str | None:
        """A text, or None for one that is longer than `most` bytes."""
        size = self.number("<Q")
        if size > most:
            self.skip(size)
            return None
        return self.take(size).decode("utf-8", "replace")


def _header(handle: IO[bytes], path: Path) -> dict[str, Any]:
    reader = _Reader(handle, path)
    if handle.read(4) != b"GGUF":
        raise reader.fail("it does not begin as a GGUF file")
    version = reader.number("<I")
    if version not in {2, 3}:
        raise reader.fail(f"it is GGUF version {version}")
    reader.number("<Q")
    keys = reader.number("<Q")
    if keys > MAX_KEYS:
        raise reader.fail(f"it has {keys} keys")
    said: dict[str, Any] = {}
    for _ in range(keys):
        key = reader.text(MAX_KEY)
        if key is None:
            raise reader.fail(f"a key is longer than {MAX_KEY} bytes")
        said[key] = _value(reader, reader.number("<I"))
    return said


def _value(reader: _Reader, kind: int) -> Any:
    """A text or whole number; None for everything else, which is passed over."""
    if kind == _STRING:
        return reader.text(MAX_KEPT)
    if kind in _FORMATS:
        return reader.number(_FORMATS[kind])
    if kind in _SIZES:
        return reader.skip(_SIZES[kind])
    if kind != _ARRAY:
        raise reader.fail(f"it has a value of the unknown type {kind}")
    element, count = reader.number("<I"), reader.number("<Q")
    if count > MAX_ELEMENTS:
        raise reader.fail(f"it has a list of {count} values")
    if element in _SIZES:
        return reader.skip(_SIZES[element] * count)
    if element != _STRING:
        raise reader.fail(f"it has a list of values of the type {element}")
    for _ in range(count):
        reader.text(0)
    return None
