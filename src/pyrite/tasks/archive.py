"""End states as .tar.zst files: read as hostile data, written so that equal homes give equal bytes.

    extract(episode.final_state, home, reads=["Documents/**"])

Two kinds of oddity are told apart. What an agent can make inside of its home (a link that leads out, a
fifo, a socket) is skipped and listed: the verifier then finds nothing there, which is the agent's own
failure. What no home can contain (a member named /etc/x or ../x, a truncated or padded file) means that
the archive itself is broken: `StateUnreadable`.
"""

from __future__ import annotations

import hashlib
import io
import os
import posixpath
import shutil
import stat
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import zstandard

from pyrite.checks.homes import matches
from pyrite.errors import InputError

__all__ = ["Extracted", "Limits", "StateUnreadable", "Written", "extract", "matches", "trim", "write"]


class StateUnreadable(InputError):
    """An end state that cannot be read as it is."""

    code = "state_unreadable"


class Limits(NamedTuple):
    """What one end state may cost."""

    entries: int = 1_000_000
    total_bytes: int = 2 << 30


class Extracted(NamedTuple):
    """What was laid out."""

    files: int
    bytes: int
    skipped: tuple[tuple[str, str], ...]
    """(path, why) of selected members that were not laid out; the first hundred."""


class Written(NamedTuple):
    """What was packed."""

    sha256: str
    files: int
    bytes: int
    omitted: tuple[str, ...]
    """Files that did not fit into the limits or could not be read; the first hundred."""


DEFAULT_LIMITS = Limits()
_HEADER_BYTES = 1 << 20
_CHUNK = 1 << 16
_PACKED_CHUNK = 1 << 10
_LISTED = 100
_BLOCK = 512
_Adder = Callable[[tarfile.TarInfo, IO[bytes] | None], None]


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
        wanted = size if size >= 0 else _CHUNK
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
            self._tail = (self._tail + unpacked)[-2 * _BLOCK :]
            self._ready = memoryview(unpacked)
        return True

    def finish(self) -> None:
        """Read to the end and check that the tar and the file end where they should."""
        while chunk := self.read(_CHUNK):
            if chunk.strip(b"\0"):
                raise StateUnreadable("something follows the end of the tar")
        if len(self._tail) < 2 * _BLOCK or self._tail.strip(b"\0"):
            raise StateUnreadable("the tar has no end marker: it is cut off")
        if self._frame.unused_data or self._file.read(1):
            raise StateUnreadable("something follows the end of the archive")


class _Member(tarfile.TarInfo):
    """A header whose own extensions (long names, pax records) are bounded."""

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        extensions = (
            tarfile.XHDTYPE,
            tarfile.XGLTYPE,
            tarfile.SOLARIS_XHDTYPE,
            tarfile.GNUTYPE_LONGNAME,
            tarfile.GNUTYPE_LONGLINK,
        )
        if self.type in extensions and self.size > _HEADER_BYTES:
            raise StateUnreadable("a header of the tar is larger than 1 MB")
        found: tarfile.TarInfo = super()._proc_member(tar)  # type: ignore[misc]
        return found


def extract(
    archive: Path, into: Path, *, reads: Sequence[str] = (), limits: Limits = DEFAULT_LIMITS
) -> Extracted:
    """Lay out an end state, or what `reads` selects of it, in the empty folder `into`.

    Folders become 0755 and files 0644, owned by the caller; setuid bits, owners and times are dropped.
    Links that stay inside are made last, so that nothing is ever written through one. Raises
    `StateUnreadable`; `into` may then hold a part.
    """
    layout = _Layout(into, tuple(reads), limits.total_bytes)
    _each_member(archive, layout.add, limits)
    if layout.missing_sources:
        _each_member(archive, layout.add_source, limits)
    return layout.finish()


def write(
    home: Path, archive: Path, *, reads: Sequence[str] = (), limits: Limits = DEFAULT_LIMITS
) -> Written:
    """Pack a home: sorted, times and owners 0, links as links; equal content gives equal bytes.

    The file appears whole or not at all. What exceeds the limits is left out and named.
    """
    packer = _Packer(home, tuple(reads), limits)
    archive.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=archive.parent, prefix=f".{archive.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
            with (
                compressor.stream_writer(file, closefd=False) as stream,
                tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as tar,
            ):
                packer.pack(tar)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, archive)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    with archive.open("rb") as packed:
        sha256 = hashlib.file_digest(packed, "sha256").hexdigest()
    return Written(sha256, packer.files, packer.bytes, tuple(packer.omitted[:_LISTED]))


def trim(archive: Path, out: Path, *, reads: Sequence[str], limits: Limits = DEFAULT_LIMITS) -> Written:
    """Pack anew only what `reads` selects of an end state."""
    with tempfile.TemporaryDirectory(prefix="pyrite-trim-") as folder:
        extract(archive, Path(folder), reads=reads, limits=limits)
        return write(Path(folder), out, limits=limits)


class _Layout:
    """Lays members out below one folder."""

    def __init__(self, root: Path, reads: tuple[str, ...], total_bytes: int) -> None:
        self.root = root
        self.reads = reads
        self.total_bytes = total_bytes
        self.files = 0
        self.bytes = 0
        self.skipped: list[tuple[str, str]] = []
        self.links: dict[str, str] = {}
        self.hard_links: dict[str, str] = {}
        self.made: set[str] = set()

    def add(self, member: tarfile.TarInfo, content: IO[bytes] | None) -> None:
        path = _safe_name(member.name)
        if path == "." or (self.reads and not member.isdir() and not matches(path, self.reads)):
            return
        if member.isdir():
            if not self.reads or matches(path, self.reads):
                self._folder(path)
        elif member.issym():
            self.links[path] = member.linkname
        elif member.islnk():
            self.hard_links[path] = _safe_name(member.linkname)
        elif member.isreg() and content is not None:
            self._file(path, content, member.size)
        elif member.ischr() or member.isblk():
            raise StateUnreadable(f"the archive holds a device, {path!r}")
        else:
            self._skip(path, "neither a file, a folder nor a link")

    @property
    def missing_sources(self) -> set[str]:
        return set(self.hard_links.values()) - self.made

    def add_source(self, member: tarfile.TarInfo, content: IO[bytes] | None) -> None:
        """Second pass: a selected hard link whose content stands under a name not selected."""
        source = _safe_name(member.name)
        names = [path for path, target in self.hard_links.items() if target == source]
        if source in self.made or not names or content is None or not member.isreg():
            return
        self._file(names[0], content, member.size)
        del self.hard_links[names[0]]
        for path in names[1:]:
            self.hard_links[path] = names[0]

    def finish(self) -> Extracted:
        for path, source in self.hard_links.items():
            if source in self.made:
                with (self.root / source).open("rb") as content:
                    self._file(path, content, os.fstat(content.fileno()).st_size)
            else:
                raise StateUnreadable(f"{path!r} is linked to {source!r}, which the archive does not hold")
        for path, target in self.links.items():
            if _stays_inside(path, target):
                self._folder(posixpath.dirname(path))
                try:
                    os.symlink(target, self.root / path)
                except (OSError, ValueError):
                    self._skip(path, "a link that cannot be made")
            else:
                self._skip(path, "a link that leads out of the home")
        return Extracted(self.files, self.bytes, tuple(self.skipped))

    def _file(self, path: str, content: IO[bytes], size: int) -> None:
        """`size` may be far above what the archive holds: sparse members and hard links multiply."""
        self.bytes += size
        if self.bytes > self.total_bytes:
            raise StateUnreadable(f"its files come to more than {self.total_bytes} bytes")
        self._folder(posixpath.dirname(path))
        try:
            with (self.root / path).open("wb") as out:
                shutil.copyfileobj(content, out, _CHUNK)
        except (OSError, ValueError) as exc:
            raise StateUnreadable(f"{path[:200]!r} cannot be laid out: {exc}") from None
        self.made.add(path)
        self.files += 1

    def _folder(self, path: str) -> None:
        try:
            (self.root / path).mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as exc:
            raise StateUnreadable(f"{path[:200]!r} cannot be laid out: {exc}") from None

    def _skip(self, path: str, why: str) -> None:
        if len(self.skipped) < _LISTED:
            self.skipped.append((path, why))


class _Packer:
    """Adds a home's entries to a tar."""

    def __init__(self, home: Path, reads: tuple[str, ...], limits: Limits) -> None:
        self.home = home
        self.reads = reads
        self.limits = limits
        self.files = 0
        self.bytes = 0
        self.entries = 0
        self.omitted: list[str] = []

    def pack(self, tar: tarfile.TarFile) -> None:
        for path, status in _walk(self.home):
            if self.reads and not matches(path, self.reads):
                continue
            self.entries += 1
            member = tarfile.TarInfo(path)
            member.mode = 0o755 if stat.S_ISDIR(status.st_mode) else status.st_mode & 0o755 | 0o600
            if self.entries > self.limits.entries:
                self.omitted.append(path)
            elif stat.S_ISDIR(status.st_mode):
                member.type = tarfile.DIRTYPE
                tar.addfile(member)
            elif stat.S_ISLNK(status.st_mode):
                member.type = tarfile.SYMTYPE
                member.linkname = os.readlink(self.home / path)
                tar.addfile(member)
            elif stat.S_ISREG(status.st_mode):
                self._file(tar, member)

    def _file(self, tar: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        try:
            handle = os.open(
                self.home / member.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            )
        except OSError:
            self.omitted.append(member.name)
            return
        with os.fdopen(handle, "rb") as content:
            member.size = os.fstat(handle).st_size
            padded = -(-member.size // _BLOCK) * _BLOCK + 4 * _BLOCK
            if self.bytes + self.entries * 4 * _BLOCK + padded > self.limits.total_bytes:
                self.omitted.append(member.name)
                return
            tar.addfile(member, content)
        self.files += 1
        self.bytes += member.size


def _each_member(archive: Path, add: _Adder, limits: Limits) -> None:
    """Call `add(member, content)` for every member; raise `StateUnreadable` with the archive's name."""
    try:
        with archive.open("rb") as file:
            stream = _Stream(file, limits.total_bytes)
            with tarfile.open(
                fileobj=stream,
                mode="r|",
                bufsize=20 * _BLOCK,
                tarinfo=_Member,
                encoding="utf-8",
                errors="surrogateescape",
            ) as tar:
                for count, member in enumerate(iter(tar.next, None), start=1):
                    if count > limits.entries:
                        raise StateUnreadable(f"the archive has more than {limits.entries} entries")
                    add(member, tar.extractfile(member) if member.isreg() else None)
                    tar.members.clear()  # type: ignore[attr-defined]  # else it keeps every header
            stream.finish()
    except FileNotFoundError:
        raise
    except StateUnreadable as exc:
        raise StateUnreadable(exc.what, where=str(archive), expected=_EXPECTED) from None
    except (tarfile.TarError, zstandard.ZstdError, EOFError, ValueError, OSError, OverflowError) as exc:
        raise StateUnreadable(
            f"it is not a tar.zst file: {exc}", where=str(archive), expected=_EXPECTED
        ) from None


_EXPECTED = "a whole .tar.zst file of a home, as `pyrite record` writes it"


def _safe_name(name: str) -> str:
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts or "\0" in name or len(name) > 4096:
        raise StateUnreadable(f"a member is called {name[:200]!r}")
    return "/".join(parts) or "."


def _stays_inside(path: str, target: str) -> bool:
    """A relative link is safe if its leading .. stay inside and no .. follows a name.

    The folders on the way to the link are real ones; what follows may only descend, through links for
    which the same holds.
    """
    if not target or target.startswith("/") or "\0" in target:
        return False
    parts = [part for part in target.split("/") if part not in ("", ".")]
    up = next((count for count, part in enumerate(parts) if part != ".."), len(parts))
    return up <= path.count("/") and ".." not in parts[up:]


def _walk(home: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Everything below a home in the order of its bytes, folders before what is in them."""
    waiting = [""]
    while waiting:
        path = waiting.pop()
        try:
            status = os.lstat(home / path)
            names = os.listdir(home / path) if stat.S_ISDIR(status.st_mode) else []
        except OSError:
            continue
        if path:
            yield path, status
        waiting.extend(f"{path}/{name}" if path else name for name in sorted(names, reverse=True))
