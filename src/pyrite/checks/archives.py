"""What a tar or zip file holds, read as hostile data: nothing is unpacked to disk, every size is bounded.

    members = read_archive(home / "Backup/letters.tar.gz")
    members["letters/may.txt"].sha256

A file that cannot be read is `Unreadable`, which an agent can cause. Links and devices are members
without content; names are taken as they are and lead nowhere.
"""

from __future__ import annotations

import bz2
import hashlib
import io
import lzma
import posixpath
import tarfile
import zipfile
import zlib
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from pyrite.checks.package import Bounds, Package, Unreadable, read_file

BOUNDS = Bounds(file_bytes=8 << 20, entries=2000, member_bytes=8 << 20, total_bytes=32 << 20)
_MAX_TAR_NAMES = 1 << 20
"""Characters of all names together: a tar may repeat a long one in two thousand headers."""

Form = Literal["tar", "tar.gz", "tar.bz2", "tar.xz", "zip"]
_SIGNS: tuple[tuple[bytes, Form], ...] = (
    (b"\x1f\x8b", "tar.gz"),
    (b"BZh", "tar.bz2"),
    (b"\xfd7zXZ\0", "tar.xz"),
    (b"PK", "zip"),
)


class Member(NamedTuple):
    """One entry of an archive."""

    kind: Literal["file", "folder", "other"]
    sha256: str = ""
    """Of a file's content."""
    executable: bool = False


class Archive(NamedTuple):
    """The form that the bytes have, whatever the name says, and the members by normal path."""

    form: Form
    members: dict[str, Member]

    @property
    def files(self) -> dict[str, str]:
        """Path -> digest of every file."""
        return {path: member.sha256 for path, member in self.members.items() if member.kind == "file"}


class _Unpacker(Protocol):
    @property
    def eof(self) -> bool: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def read_archive(path: Path, bounds: Bounds = BOUNDS) -> Archive:
    """Everything in an archive; raises `Unreadable`.

    Paths are normal: ./a and a are one, and two members of one path are `ambiguous`.
    """
    data = read_file(path, bounds.file_bytes)
    form: Form = next((form for sign, form in _SIGNS if data.startswith(sign)), "tar")
    if form == "zip":
        return Archive(form, _zip(data, bounds))
    return Archive(form, _tar(_unpacked(data, form, bounds), bounds))


def _unpacked(data: bytes, form: Form, bounds: Bounds) -> bytes:
    """The tar inside; raises `Unreadable` where it is damaged, cut short or too large."""
    if form == "tar":
        return data
    one: _Unpacker
    try:
        if form == "tar.gz":
            one = zlib.decompressobj(wbits=31)
        elif form == "tar.bz2":
            one = bz2.BZ2Decompressor()
        else:
            one = lzma.LZMADecompressor(memlimit=1 << 28)
        out = one.decompress(data, bounds.total_bytes + 1)
    except (zlib.error, OSError, EOFError, lzma.LZMAError, ValueError) as exc:
        raise Unreadable("damaged", f"it cannot be unpacked: {exc}") from None
    if len(out) > bounds.total_bytes:
        raise _too_large(bounds)
    if not one.eof:
        raise Unreadable("damaged", "it ends in the middle")
    return out


def _too_large(bounds: Bounds) -> Unreadable:
    return Unreadable("too_large", f"it unpacks to more than {bounds.total_bytes} bytes")


def _tar(data: bytes, bounds: Bounds) -> dict[str, Member]:
    members: dict[str, Member] = {}
    names = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            for count, info in enumerate(tar, start=1):
                names += len(info.name)
                if count > bounds.entries or names > _MAX_TAR_NAMES:
                    raise Unreadable(
                        "too_large", f"it has more than {bounds.entries} members or too long names"
                    )
                member = _tar_member(tar, info, bounds)
                _add(members, info.name, member)
    except (tarfile.TarError, OSError, EOFError, ValueError, OverflowError, RecursionError, KeyError) as exc:
        raise Unreadable("damaged", f"it is no tar file: {exc}"[:200]) from None
    if not data[-512:].count(0) == len(data[-512:]):
        raise Unreadable("damaged", "it ends in the middle")
    return members


def _tar_member(tar: tarfile.TarFile, info: tarfile.TarInfo, bounds: Bounds) -> Member:
    if info.isdir():
        return Member("folder")
    if not info.isreg() or info.issparse():
        return Member("other")
    if info.size > bounds.member_bytes:
        raise Unreadable("too_large", f"a member has more than {bounds.member_bytes} bytes")
    content = tar.extractfile(info)
    found = content.read(bounds.member_bytes + 1) if content is not None else b""
    if len(found) != info.size:
        raise Unreadable("damaged", "it ends in the middle")
    return Member("file", hashlib.sha256(found).hexdigest(), bool(info.mode & 0o100))


def _zip(data: bytes, bounds: Bounds) -> dict[str, Member]:
    package = Package(data, bounds)
    members: dict[str, Member] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as listing:  # which the package has found to be sound
        infos = listing.infolist()
    for info in infos:
        name, kind = info.filename, info.external_attr >> 28
        if info.is_dir():
            _add(members, name, Member("folder"))
        elif kind not in {0, 8}:
            _add(members, name, Member("other"))
        else:
            digest = hashlib.sha256(package.read(name)).hexdigest()
            _add(members, name, Member("file", digest, bool(info.external_attr >> 16 & 0o100)))
    return members


def _add(members: dict[str, Member], name: str, member: Member) -> None:
    path = posixpath.normpath(name)
    if path == "." or (path in members and member == members[path] == Member("folder")):
        return
    if path in members:
        raise Unreadable("ambiguous", "two members have the same name")
    members[path] = member
