"""Open a zipped office document as hostile data: every size is bounded before anything is read.

A file that cannot be opened is `Unreadable`. An agent can cause each of its reasons (it overwrote the
file, or made a zip bomb of it), so a verifier turns it into a fail, never into "unknown".
"""

from __future__ import annotations

import io
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse


class Unreadable(Exception):
    """A document that is not what its name says; `reason` is one stable word, `detail` a sentence."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class Bounds(NamedTuple):
    """What one document may cost."""

    file_bytes: int = 32 << 20
    entries: int = 2000
    member_bytes: int = 64 << 20
    total_bytes: int = 256 << 20
    """Unpacked, over all reads: a workbook may name one member a thousand times."""
    ratio: int = 500
    """Unpacked to packed, for members above 1 MB."""
    elements: int = 2_000_000
    """XML elements, over all reads."""
    kept_elements: int = 400_000
    """In one row or string, which is in memory as a whole."""
    depth: int = 200
    made_text: int = 4 << 20
    """Characters that are not in the file: repeated spaces, formulas shared by many cells."""


DEFAULT_BOUNDS = Bounds()
_LOCAL_HEADER = 30
_FED = 1 << 20
"""Bytes given to the parser at once: expat before 2.6 reads a long tag anew with each piece."""


class Spent:
    """What reading has cost so far. Documents that are given the same one share their bounds."""

    def __init__(self) -> None:
        self.bytes = 0
        self.elements = 0
        self.made_text = 0


def read_file(path: Path, limit: int) -> bytes:
    """The bytes of a regular file; a link, folder or device is never opened for reading.

    Raises `Unreadable` with reason missing, not_a_file, or too_large.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise Unreadable("missing", "there is no such file") from None
    except OSError as exc:
        raise Unreadable("not_a_file", exc.strerror or "cannot be opened") from None
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        os.close(handle)
        raise Unreadable("not_a_file", "it is not a regular file")
    with os.fdopen(handle, "rb") as file:
        if found.st_size > limit:
            raise Unreadable("too_large", f"{found.st_size} bytes, at most {limit} are read")
        return file.read(limit + 1)


class Package:
    """The members of a zip file, read on demand."""

    def __init__(self, data: bytes, bounds: Bounds = DEFAULT_BOUNDS, spent: Spent | None = None) -> None:
        self.bounds = bounds
        self.spent = spent or Spent()
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, OverflowError, EOFError, NotImplementedError, OSError):
            raise Unreadable("not_a_zip", "it is not a zip file, so not an office document") from None
        members = self._zip.infolist()
        if len(members) > bounds.entries:
            raise Unreadable("too_large", f"{len(members)} members, at most {bounds.entries} are read")
        self._members = {member.filename: member for member in members}
        if len(self._members) != len(members):
            raise Unreadable("ambiguous", "two members of the zip file have the same name")
        _check_layout(members)

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def read(self, name: str) -> bytes:
        """One member, unpacked; raises `Unreadable` if it is absent, damaged or too large."""
        member = self._members.get(name)
        if member is None:
            raise Unreadable("incomplete", f"it has no {name}")
        if member.flag_bits & 1:
            raise Unreadable("encrypted", f"{name} is encrypted")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Unreadable("damaged", f"{name} is packed by an unknown method")
        self._check_size(name, member.file_size, member.compress_size)
        self._check_total(member.file_size)
        try:
            with self._zip.open(member) as stream:
                data = stream.read(self.bounds.member_bytes + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError) as exc:
            raise Unreadable("damaged", f"{name}: {exc}") from None
        self._check_size(name, len(data), member.compress_size)
        self._check_total(len(data))
        self.spent.bytes += len(data)
        return data

    def elements(self, name: str, whole: str = "") -> Iterator[tuple[str, Element]]:
        """("start" | "end", element) of one XML member; document types and entities are refused.

        An element called `whole` still has everything inside of it when it ends; all others are dropped
        as soon as they have been seen, so memory is bounded by the largest of those.
        """
        kept = 0
        path: list[Element] = []
        outermost = 0
        try:
            source = _Fed(self.read(name))
            for event, element in iterparse(source, events=("start", "end"), forbid_dtd=True):
                if event == "start":
                    path.append(element)
                    if not outermost and local_name(element) == whole:
                        outermost, kept = len(path), 0
                    self.spent.elements += 1
                    kept += 1
                    if self.spent.elements > self.bounds.elements or len(path) > self.bounds.depth:
                        raise Unreadable("too_large", f"{name} has too many or too deep elements")
                    if outermost and kept > self.bounds.kept_elements:
                        raise Unreadable("too_large", f"{name} has a {whole} of too many elements")
                    yield event, element
                    continue
                yield event, element
                if outermost == len(path):
                    outermost = 0
                path.pop()
                if not outermost:
                    element.clear()
                    if path:
                        path[-1].remove(element)
        except DefusedXmlException:
            raise Unreadable("forbidden_xml", f"{name} declares a document type or entities") from None
        except (ParseError, ValueError, LookupError) as exc:
            raise Unreadable("damaged", f"{name} is not XML: {exc}") from None

    def _check_total(self, more: int) -> None:
        if self.spent.bytes + more > self.bounds.total_bytes:
            raise Unreadable("too_large", f"it unpacks to more than {self.bounds.total_bytes} bytes")

    def make_text(self, length: int) -> None:
        """Count text that is about to be made; raises `Unreadable` where it is too much."""
        self.spent.made_text += length
        if self.spent.made_text > self.bounds.made_text:
            raise Unreadable("too_large", "its repeated spaces or shared formulas are too long")

    def _check_size(self, name: str, size: int, packed: int) -> None:
        if size > self.bounds.member_bytes:
            raise Unreadable("too_large", f"{name} unpacks to more than {self.bounds.member_bytes} bytes")
        if size > 1 << 20 and size > self.bounds.ratio * max(packed, 1):
            raise Unreadable("too_large", f"{name} unpacks to more than {self.bounds.ratio} times its size")


def _check_layout(members: list[zipfile.ZipInfo]) -> None:
    """No member leads out of the package or shares its bytes with another."""
    if any(name.startswith("/") or ".." in name.split("/") for name in (m.filename for m in members)):
        raise Unreadable("damaged", "a member of the zip file has a path that leads out")
    end = 0
    for member in sorted(members, key=lambda member: member.header_offset):
        if member.header_offset < end:
            raise Unreadable("damaged", "members of the zip file overlap")
        end = member.header_offset + _LOCAL_HEADER + member.compress_size


class _Fed(io.BytesIO):
    """Gives a parser large pieces, whatever it asks for."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(_FED)


def local_name(element: Element) -> str:
    """The tag without its namespace."""
    return element.tag.rpartition("}")[2]
