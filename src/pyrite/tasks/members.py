"""The members of a .tar.zst file, read forwards as hostile data: bounded, and whole or `StateUnreadable`.

The tar ends where the file ends; nothing follows it, nothing is missing. No member is sparse, none has
a name that a home on this system cannot hold.
"""

from __future__ import annotations

import io
import os
import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, NamedTuple

import zstandard

from pyrite.errors import InputError

BLOCK = 512
CHUNK = 1 << 16
_PACKED_CHUNK = 1 << 10
_HEADER_BYTES = 1 << 20
_NAME_BYTES = 255
_PATH_BYTES = 4096
_PAX_TYPES = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE)
_SPARSE = "the archive holds a sparse member: pack it without --sparse"

Adder = Callable[[tarfile.TarInfo, IO[bytes] | None], None]


class StateUnreadable(InputError):
    """An end state that cannot be read as it is."""

    code = "state_unreadable"


class Limits(NamedTuple):
    """What one end state may cost."""

    entries: int = 200_000
    """Members, and folders that are made for them; `pyrite record` writes half as many at most."""
    total_bytes: int = 2 << 30
    """Of the unpacked tar, its headers included, and of the files that are laid out."""


DEFAULT_LIMITS = Limits()


class _Stream(io.RawIOBase):
    """The unpacked bytes of a .zst file, forwards only, counted, never silent about a cut-off end.

    Input goes in by the kilobyte: a block that repeats one byte unpacks up to 2^15 fold.
    """

    def __init__(self, file: IO[bytes], limit: int) -> None:
        self._file = file
        self._limit = limit
        self._frame = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
        self._ready = memoryview(b"")
        self._count = 0
        self._tail = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        parts: list[bytes] = []
        wanted = size if size >= 0 else CHUNK
        while wanted > 0 and (self._ready or self._refill()):
            part = bytes(self._ready[:wanted])
            self._ready = self._ready[len(part) :]
            wanted -= len(part)
            parts.append(part)
        return b"".join(parts)

    def _refill(self) -> bool:
        while not self._ready:
            if self._frame.eof:
                return False
            packed = self._file.read(_PACKED_CHUNK)
            if not packed:
                raise StateUnreadable("the archive is cut off")
            unpacked = self._frame.decompress(packed)
            self._count += len(unpacked)
            if self._count > self._limit:
                raise StateUnreadable(f"the archive unpacks to more than {self._limit} bytes")
            self._tail = (self._tail + unpacked[-2 * BLOCK :])[-2 * BLOCK :]
            self._ready = memoryview(unpacked)
        return True

    def finish(self) -> None:
        """Read to the end and check that the tar and the file end where they should."""
        while chunk := self.read(CHUNK):
            if chunk.strip(b"\0"):
                raise StateUnreadable("something follows the end of the tar")
        if len(self._tail) < 2 * BLOCK or self._tail.strip(b"\0"):
            raise StateUnreadable("the tar has no end marker: it is cut off")
        if self._frame.unused_data or self._file.read(1):
            raise StateUnreadable("something follows the end of the archive")


class _Member(tarfile.TarInfo):
    """A header whose own extensions (long names, pax records) are bounded, and never sparse.

    A sparse map may be larger than memory, and the pax reader of the library takes quadratic time.
    """

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        extensions = (*_PAX_TYPES, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
        if self.type in extensions and self.size > _HEADER_BYTES:
            raise StateUnreadable("a header of the tar is larger than 1 MB")
        if self.type == tarfile.GNUTYPE_SPARSE:
            raise StateUnreadable(_SPARSE)
        found: tarfile.TarInfo = super()._proc_member(tar)  # type: ignore[misc]
        return found

    def _proc_pax(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        size = self._block(self.size)  # type: ignore[attr-defined]
        records = _pax_records(tar.fileobj.read(size)[: self.size])
        found = type(self).fromtarfile(tar)
        if self.type in _PAX_TYPES:
            found._apply_pax_info(records, tar.encoding, tar.errors)  # type: ignore[attr-defined]
            if "size" in records:
                padded = found._block(found.size) if found.isreg() else 0  # type: ignore[attr-defined]
                tar.offset = found.offset_data + padded
        return found


def _pax_records(data: bytes) -> dict[str, str]:
    """Name, link and size of a pax header, "LENGTH KEY=VALUE\n" each; the rest is not needed here."""
    records: dict[str, str] = {}
    start = 0
    while start < len(data) and data[start]:
        digits = data[start : start + 8].partition(b" ")[0]
        length = int(digits) if re.fullmatch(rb"[0-9]{1,7}", digits) else 0
        key, equals, value = data[start + len(digits) + 1 : start + length].partition(b"=")
        if not equals or not value.endswith(b"\n") or start + length > len(data):
            raise StateUnreadable("a pax header of the tar is damaged")
        if key.startswith(b"GNU.sparse."):
            raise StateUnreadable(_SPARSE)
        if key == b"size" and not re.fullmatch(rb"[0-9]{1,15}\n", value):
            raise StateUnreadable("a pax header of the tar is damaged")
        if key in (b"path", b"linkpath", b"size"):
            records[key.decode()] = value[:-1].decode("utf-8", "surrogateescape")
        start += length
    return records


def each_member(archive: Path, add: Adder, limits: Limits) -> None:
    """Call `add(member, content)` for every member; raise `StateUnreadable` with the archive's name."""
    try:
        with archive.open("rb") as file:
            stream = _Stream(file, limits.total_bytes)
            with tarfile.open(
                fileobj=stream,
                mode="r|",
                bufsize=20 * BLOCK,
                tarinfo=_Member,
                encoding="utf-8",
                errors="surrogateescape",
            ) as tar:
                for count, member in enumerate(iter(tar.next, None), start=1):
                    if count > limits.entries:
                        raise StateUnreadable(f"the archive has more than {limits.entries} entries")
                    if member.size < 0:
                        raise StateUnreadable(f"{member.name!r:.200} has a negative size")
                    add(member, tar.extractfile(member) if member.isreg() else None)
                    tar.members.clear()  # type: ignore[attr-defined]  # else it keeps every header
            stream.finish()
    except FileNotFoundError:
        raise
    except StateUnreadable as exc:
        raise StateUnreadable(exc.what, where=str(archive), expected=_EXPECTED) from None
    except _BROKEN as exc:
        raise StateUnreadable(
            f"it is not a tar.zst file: {exc}", where=str(archive), expected=_EXPECTED
        ) from None


_BROKEN = (
    tarfile.TarError,
    zstandard.ZstdError,
    EOFError,
    ValueError,
    OSError,
    OverflowError,
    LookupError,
    RecursionError,
)
"""What the readers raise for damaged bytes; a header of a header of a header ends in RecursionError."""

_EXPECTED = "a whole .tar.zst file of a home, as `pyrite record` writes it"


def safe_name(name: str) -> str:
    parts = [part for part in name.split("/") if part not in ("", ".")]
    lengths = [len(os.fsencode(part)) for part in parts]
    too_long = sum(lengths) + len(lengths) > _PATH_BYTES or max(lengths, default=0) > _NAME_BYTES
    if name.startswith("/") or ".." in parts or "\0" in name or too_long:
        raise StateUnreadable(f"a member is called {name[:200]!r}")
    return "/".join(parts) or "."
