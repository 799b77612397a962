"""The home of a session as an archive: what a verifier will look at.

The home is hostile: links are stored and never followed, sockets and devices are left out, sparse
files and endless trees are bounded, names may be any bytes. What is left out is named.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import zstandard

from pyrite.tasks.archive import DEFAULT_LIMITS, packed_bytes

MAX_ENTRIES = 100_000
RUNTIME = {f".config/chromium/Singleton{what}" for what in ("Cookie", "Lock", "Socket")}
"""Links by which a running Chromium is found: they lead out of the home and mean nothing later."""
_LEVEL = 3
_NAMED = 100
_NAME_LENGTH = 200

Opened = TypeVar("Opened")


def write_archive(home: Path, archive: Path, limit_bytes: int) -> tuple[str, tuple[str, ...]]:
    """Write the tree below `home` as tar.zst; returns its sha256 and the paths that were left out.

    Sorted by name, times and owners 0. Entries are taken in order until the tar would be larger than
    `limit_bytes`, or than what is read back (`tasks.archive`); what does not fit is left out, and the
    first hundred of it are named. The archive appears whole or not at all.
    """
    omitted = _Omitted()
    left = min(limit_bytes, DEFAULT_LIMITS.total_bytes) - tarfile.RECORDSIZE
    partial = archive.with_name(archive.name + ".part")
    try:
        with partial.open("wb") as raw:
            with (
                zstandard.ZstdCompressor(level=_LEVEL).stream_writer(raw, closefd=False) as packed,
                tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
            ):
                for path, name in _walk(home, omitted):
                    left -= _add(tar, path, name, left, omitted)
            raw.flush()
            os.fsync(raw.fileno())
        os.replace(partial, archive)
    finally:
        partial.unlink(missing_ok=True)
    with archive.open("rb") as handle:
        digest = hashlib.file_digest(handle, "sha256").hexdigest()
    return digest, omitted.named()


class _Omitted:
    """What was left out: a bounded list, since an agent can leave out a million names of 4 kB."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._count = 0

    def append(self, name: str) -> None:
        self._count += 1
        if len(self._names) < _NAMED:
            self._names.append(printable(name)[:_NAME_LENGTH])

    def named(self) -> tuple[str, ...]:
        more = self._count - len(self._names)
        return (*self._names, *([f"and {more} more"] if more else ()))


def printable(name: str) -> str:
    """A file name as text that any encoding takes."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def usage(home: Path, stop_at: int) -> int:
    """Bytes on disk below a folder, counted until `stop_at`; each entry counts 4 kB at least."""
    total = 0
    pending = [str(home)]
    while pending and total < stop_at:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    try:
                        total += max(4096, entry.stat(follow_symlinks=False).st_blocks * 512)
                    except OSError:
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    if total >= stop_at:
                        break
        except OSError as exc:
            if exc.errno == errno.ENAMETOOLONG:  # what lies deeper could be of any size
                return stop_at
    return total


def _walk(home: Path, omitted: _Omitted) -> Iterator[tuple[str, str]]:
    """Paths below `home` and their names inside, parents first, sorted by name in each folder."""
    pending = [(str(home), "")]
    count = 0
    while pending:
        folder, prefix = pending.pop()
        try:
            with _opened(folder, os.scandir) as entries:
                found = sorted(entries, key=lambda e: os.fsencode(e.name))
        except OSError:
            omitted.append(prefix or ".")
            continue
        inner = []
        for entry in found:
            count += 1
            if count > MAX_ENTRIES:
                omitted.append(f"{prefix or '.'} and all that follows (more than {MAX_ENTRIES} entries)")
                return
            name = f"{prefix}{entry.name}"
            if name in RUNTIME:
                continue
            yield entry.path, name
            if entry.is_dir(follow_symlinks=False):
                inner.append((entry.path, f"{name}/"))
        pending.extend(reversed(inner))


def _opened(path: str, opener: Callable[[str], Opened]) -> Opened:
    """Open something of ours; where its owner has shut it, give the owner's rights back first."""
    try:
        return opener(path)
    except PermissionError:
        os.chmod(path, stat.S_IMODE(os.lstat(path).st_mode) | 0o700, follow_symlinks=True)
        return opener(path)


def _add(tar: tarfile.TarFile, path: str, name: str, left: int, omitted: _Omitted) -> int:
    """Add one entry; returns the bytes that it took, its headers included.

    Raises `OSError` only where the archive cannot be written.
    """
    with contextlib.ExitStack() as stack:
        try:
            member = _member(path, name)
            taken = packed_bytes(member)
            if taken > left:
                raise OSError(errno.EFBIG, "beyond the limit")
            content = stack.enter_context(_opened(path, _open_file)) if member.isreg() else None
        except OSError:
            omitted.append(name)
            return 0
        tar.addfile(member, _Exactly(content, member.size) if content else None)
    return taken


def _member(path: str, name: str) -> tarfile.TarInfo:
    info = os.lstat(path)
    member = tarfile.TarInfo(name)
    member.mode = stat.S_IMODE(info.st_mode) & 0o777
    if stat.S_ISDIR(info.st_mode):
        member.type = tarfile.DIRTYPE
    elif stat.S_ISLNK(info.st_mode):
        member.type = tarfile.SYMTYPE
        member.linkname = os.readlink(path)
    elif stat.S_ISREG(info.st_mode):
        member.size = info.st_size
    else:
        raise OSError(errno.EINVAL, "neither a file, a folder nor a link")
    return member


def _open_file(path: str) -> io.FileIO:
    return io.FileIO(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")


class _Exactly(io.RawIOBase):
    """Reads a fixed number of bytes: zeros follow where the file has become shorter."""

    def __init__(self, source: io.FileIO, size: int) -> None:
        super().__init__()
        self.source = source
        self.left = size

    def read(self, size: int = -1) -> bytes:
        wanted = self.left if size < 0 else min(size, self.left)
        try:
            got = self.source.read(wanted)
        except OSError:  # what cannot be read any more is zeros too
            got = b""
        got += bytes(wanted - len(got))
        self.left -= wanted
        return got
