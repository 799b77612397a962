"""End states as .tar.zst files: read as hostile data, written so that equal homes give equal bytes.

    extract(episode.final_state, home, reads=["Documents/**"])

Two kinds of oddity are told apart. What an agent can make inside of its home (a link that leads out, a
fifo, a socket, a path too long to be laid out here) is skipped and listed: the verifier then finds
nothing there, which is the agent's own failure. What no home can contain (a member named /etc/x or ../x,
a name that stands twice, a truncated or padded file) means that the archive itself is broken:
`StateUnreadable`. A disk that is full here is neither: `RunError`.
"""

from __future__ import annotations

import errno
import hashlib
import os
import posixpath
import shutil
import stat
import tarfile
import tempfile
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

import zstandard

from pyrite.checks.homes import matches
from pyrite.errors import RunError
from pyrite.store.scratch import scratch
from pyrite.tasks.members import BLOCK, CHUNK, DEFAULT_LIMITS, Limits, StateUnreadable, each_member, safe_name

__all__ = [
    "DEFAULT_LIMITS",
    "Extracted",
    "Limits",
    "StateUnreadable",
    "Written",
    "extract",
    "matches",
    "trim",
    "write",
]


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


_LISTED = 100
_KEPT_MODE = 0o755
_KEPT_BYTES = 64 << 20
_PATH_BYTES = 4096
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def extract(
    archive: Path, into: Path, *, reads: Sequence[str] = (), limits: Limits = DEFAULT_LIMITS
) -> Extracted:
    """Lay out an end state, or what `reads` selects of it, in the empty folder `into`.

    Folders become 0755; files keep their permissions, save that their owner, who is the caller, may always
    read and write them and nobody else may write. Setuid bits, owners and times are dropped.
    Links that stay inside are made last, so that nothing is ever written through one. Raises
    `StateUnreadable`; `into` may then hold a part.
    """
    layout = _Layout(into, tuple(reads), limits)
    each_member(archive, layout.add, limits)
    if layout.missing_sources:
        each_member(archive, layout.add_source, limits)
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
    with scratch("trim") as folder:
        extract(archive, folder, reads=reads, limits=limits)
        return write(folder, out, limits=limits)


class _Layout:
    """Lays members out below one folder."""

    def __init__(self, root: Path, reads: tuple[str, ...], limits: Limits) -> None:
        self.root = root
        self.base = f"{root}/"
        self.reads = reads
        self.limits = limits
        self.files = 0
        self.folders = 0
        self.bytes = 0
        self.kept_bytes = 0
        self.skipped: list[tuple[str, str]] = []
        self.links: dict[str, str] = {}
        self.hard_links: dict[str, str] = {}

    def add(self, member: tarfile.TarInfo, content: IO[bytes] | None) -> None:
        path = safe_name(member.name)
        if path == "." or (self.reads and not member.isdir() and not matches(path, self.reads)):
            return
        if member.isdir():
            if not self.reads or matches(path, self.reads):
                self._folder(path)
        elif member.issym():
            self._keep(self.links, path, member.linkname)
        elif member.islnk():
            self._keep(self.hard_links, path, safe_name(member.linkname))
        elif member.isreg() and content is not None:
            self._file(path, content, member.size, member.mode)
        elif member.ischr() or member.isblk():
            raise StateUnreadable(f"the archive holds a device, {path!r:.200}")
        else:
            self._skip(path, "neither a file, a folder nor a link")

    @property
    def missing_sources(self) -> set[str]:
        return {source for source in self.hard_links.values() if not self._is_file(source)}

    def add_source(self, member: tarfile.TarInfo, content: IO[bytes] | None) -> None:
        """Second pass: a selected hard link whose content stands under a name not selected."""
        source = safe_name(member.name)
        names = [path for path, target in self.hard_links.items() if target == source]
        if not names or self._is_file(source) or content is None or not member.isreg():
            return
        self._file(names[0], content, member.size, member.mode)
        del self.hard_links[names[0]]
        for path in names[1:]:
            self.hard_links[path] = names[0]

    def finish(self) -> Extracted:
        for path, source in self.hard_links.items():
            if not self._is_file(source):
                what = f"{path!r:.200} is linked to {source!r:.200}, which the archive does not hold"
                raise StateUnreadable(what)
            with open(self.base + source, "rb") as content:
                status = os.fstat(content.fileno())
                self._file(path, content, status.st_size, status.st_mode)
        for path, target in self.links.items():
            if os.path.lexists(self.base + path):
                raise StateUnreadable(f"{path!r:.200} stands twice")
            if not _stays_inside(path, target):
                self._skip(path, "a link that leads out of the home")
            elif self._folder(posixpath.dirname(path)):
                self._make(path, partial(os.symlink, target))
        return Extracted(self.files, self.bytes, tuple(self.skipped))

    def _is_file(self, path: str) -> bool:
        """Links are made last, so that nothing here follows one."""
        try:
            return stat.S_ISREG(os.lstat(self.base + path).st_mode)
        except OSError:
            return False

    def _file(self, path: str, content: IO[bytes], size: int, mode: int) -> None:
        """`size` may be far above what the archive holds: hard links multiply."""
        self.bytes += size
        if self.bytes > self.limits.total_bytes:
            raise StateUnreadable(f"its files come to more than {self.limits.total_bytes} bytes")

        def copy(place: str) -> None:
            with open(place, "xb") as out:
                shutil.copyfileobj(content, out, CHUNK)
                os.fchmod(out.fileno(), mode & _KEPT_MODE | 0o600)

        if self._folder(posixpath.dirname(path)) and self._make(path, copy):
            self.files += 1

    def _folder(self, path: str) -> bool:
        """Make a folder and those above it; False where its path is too long here."""
        if not path or os.path.isdir(self.base + path):
            return True
        names = path.split("/")
        there = len(names) - 1
        if not self._is_folder(names[:there]):
            there = bisect_left(range(1, there), True, key=lambda n: not self._is_folder(names[:n]))
        self.folders += len(names) - there
        if self.folders > self.limits.entries:
            raise StateUnreadable(f"the archive has more than {self.limits.entries} folders")
        return self._make(path, lambda place: _descend(self.base, names, there))

    def _is_folder(self, names: list[str]) -> bool:
        return os.path.isdir(self.base + "/".join(names))

    def _make(self, path: str, make: Callable[[str], object]) -> bool:
        """Make one entry; False where its path is too long here, which an agent can bring about."""
        try:
            make(self.base + path)
        except OSError as exc:
            if exc.errno == errno.ENAMETOOLONG:
                self._skip(path, "its path is too long here")
                return False
            if exc.errno in _NO_ROOM:
                raise _no_room(self.root, exc) from None
            what = "stands twice" if exc.errno == errno.EEXIST else f"cannot be laid out: {exc.strerror}"
            raise StateUnreadable(f"{path!r:.200} {what}") from None
        return True

    def _keep(self, links: dict[str, str], path: str, target: str) -> None:
        """Links wait until all else is laid out; how many of them is bounded by their text."""
        if path in self.links or path in self.hard_links:
            raise StateUnreadable(f"{path!r:.200} stands twice")
        self.kept_bytes += len(path) + len(target)
        if self.kept_bytes > _KEPT_BYTES:
            self._skip(path, "too many links")
        else:
            links[path] = target

    def _skip(self, path: str, why: str) -> None:
        if len(self.skipped) < _LISTED:
            self.skipped.append((path, why))


def _descend(base: str, names: list[str], there: int) -> None:
    """Make the folders `names[there:]`, each in the one before: a path costs its length, not its square."""
    if len(base) + sum(map(len, names)) + len(names) > _PATH_BYTES:
        raise OSError(errno.ENAMETOOLONG, "too long")
    handle = os.open(base + "/".join(names[:there]), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in names[there:]:
            os.mkdir(name, dir_fd=handle)
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=handle)
            os.close(handle)
            handle = inner
    finally:
        os.close(handle)


def _no_room(place: Path, exc: OSError) -> RunError:
    return RunError(
        f"an end state cannot be unpacked: {exc.strerror}",
        where=str(place.parent),
        expected="room for an end state, up to 2 GB",
        next="free some space or set TMPDIR, then run the same command again",
    )


class _Packer:
    """Adds a home's entries to a tar."""

    def __init__(self, home: Path, reads: tuple[str, ...], limits: Limits) -> None:
        self.home = home
        self.reads = reads
        self.limits = limits
        self.files = 0
        self.bytes = 0
        self.entries = 0
        self.written = 0
        self.omitted: list[str] = []

    def pack(self, tar: tarfile.TarFile) -> None:
        for path, status in _walk(self.home):
            if self.reads and not matches(path, self.reads):
                continue
            self.entries += 1
            member = tarfile.TarInfo(path)
            member.mode = 0o755 if stat.S_ISDIR(status.st_mode) else status.st_mode & _KEPT_MODE | 0o600
            if self.entries > self.limits.entries:
                self.omitted.append(path)
            elif stat.S_ISDIR(status.st_mode):
                member.type = tarfile.DIRTYPE
                self._add(tar, member, None)
            elif stat.S_ISLNK(status.st_mode):
                member.type = tarfile.SYMTYPE
                member.linkname = os.readlink(self.home / path)
                self._add(tar, member, None)
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
            if self._add(tar, member, content):
                self.files += 1
                self.bytes += member.size

    def _add(self, tar: tarfile.TarFile, member: tarfile.TarInfo, content: IO[bytes] | None) -> bool:
        """Add an entry if it fits, so that what is written can be read back within the same limits."""
        self.written += packed_bytes(member)
        if self.written + tarfile.RECORDSIZE > self.limits.total_bytes:
            self.written -= packed_bytes(member)
            self.omitted.append(member.name)
            return False
        tar.addfile(member, content)
        return True


def packed_bytes(member: tarfile.TarInfo) -> int:
    """What an entry takes in a tar: its headers, and its content in whole blocks."""
    header = member.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
    return len(header) + -(-member.size // BLOCK) * BLOCK


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
