"""Read the text of a PDF as an office program writes it: enough to tell which document it shows.

    document = read_pdf(home / "Documents/report.pdf")
    document.pages, document.letters        # 1, 'HarbourReport2023In2023the…'

Words are not put together: letters come in the order of the content streams, without spaces, because where
a word ends is a matter of positions. Object and cross-reference streams, encryption and other filters than
Flate are not read: they are `Unreadable`, as is what is too large.
Source: ISO 32000-1, sections 7.3 (objects), 7.5.4 (cross-reference table), 9.4.3 (showing text), 9.10.3
(ToUnicode).
"""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import NamedTuple

from pyrite.checks.package import DEFAULT_BOUNDS, Bounds, Spent, Unreadable, read_file

MAX_OBJECTS = 5000
MAX_PAGES = 50
MAX_HEAD = 16 << 10
"""Bytes of an object before its stream; with a limit, no search in it takes long."""
MAX_TABLE = 256 << 10
MAX_RANGES = 256
MAX_LETTERS = 1 << 20
_OBJECT = re.compile(rb"(\d{1,7}) \d{1,5} obj\b")
_REFERENCE = rb"(\d{1,7}) \d{1,5} R"
_SHOWN = re.compile(
    rb"/([^\s/<>\[\]()]{1,64})\s+-?[\d.]{1,12}\s+Tf"
    rb"|<([0-9A-Fa-f\s]{0,20000})>"
    rb"|\((?:\\.|[^\\()]){0,20000}\)"
)
_RANGE = re.compile(rb"<([0-9A-Fa-f]{2})>\s*<([0-9A-Fa-f]{2})>\s*<([0-9A-Fa-f]{2,8})>")
_ONE = re.compile(rb"<([0-9A-Fa-f]{2,8})>\s*<([0-9A-Fa-f]{2,64})>")


class Pdf(NamedTuple):
    """What a PDF shows."""

    pages: int
    letters: str
    """Every character of its text but white space."""


class _Object(NamedTuple):
    head: bytes
    """What stands before its stream."""
    stream: bytes | None
    """As stored."""


def read_pdf(path: Path, bounds: Bounds = DEFAULT_BOUNDS, spent: Spent | None = None) -> Pdf:
    """The pages and letters of a PDF file; raises `Unreadable`."""
    data = read_file(path, bounds.file_bytes)
    if not data.startswith(b"%PDF-"):
        raise Unreadable("wrong_format", "it does not start like a PDF")
    if b"%%EOF" not in data[-2048:] or b"/Encrypt" in data[-4096:]:
        raise Unreadable("damaged", "it has no end, or it is encrypted")
    reader = _Reader(data, bounds, spent or Spent())
    try:
        return reader.read()
    except MemoryError:
        raise Unreadable("too_large", "it needs more memory than there is") from None


class _Reader:
    def __init__(self, data: bytes, bounds: Bounds, spent: Spent) -> None:
        self.bounds = bounds
        self.spent = spent
        self.objects = self._objects(data)
        self.fonts: dict[int, dict[int, str]] = {}

    def _objects(self, data: bytes) -> dict[int, _Object]:
        """Objects by number, the last of a number as in an updated file; bytes in streams are skipped."""
        found: dict[int, _Object] = {}
        at = 0
        while (match := _OBJECT.search(data, at)) is not None:
            if len(found) >= MAX_OBJECTS:
                raise Unreadable("too_large", f"more than {MAX_OBJECTS} objects")
            end = data.find(b"endobj", match.end())
            end = len(data) if end < 0 else end
            start = data.find(b"stream", match.end(), end)
            stream: bytes | None = None
            head = data[match.end() : end if start < 0 else start]
            if len(head) > MAX_HEAD:
                head = b""
            if start >= 0:
                begin = start + 6 + (2 if data[start + 6 : start + 8] == b"\r\n" else 1)
                stop = data.find(b"endstream", begin)
                stop = len(data) if stop < 0 else stop
                stream = data[begin:stop]
                end = stop
            found[int(match[1])] = _Object(head, stream)
            at = end
        return found

    def read(self) -> Pdf:
        pages = [o for o in self.objects.values() if re.search(rb"/Type\s*/Page\b(?!s)", o.head)]
        if not pages:
            raise Unreadable("wrong_format", "it has no page that can be read")
        if len(pages) > MAX_PAGES:
            raise Unreadable("too_large", f"more than {MAX_PAGES} pages")
        letters: list[str] = []
        length = 0
        for page in pages:
            fonts = self._fonts_of(page)
            for number in self._numbers(page.head, rb"/Contents"):
                for piece in self._texts(self._unpacked(number), fonts):
                    length += len(piece)
                    if length > MAX_LETTERS:
                        raise Unreadable("too_large", f"more than {MAX_LETTERS} letters")
                    letters.append(piece)
        return Pdf(len(pages), "".join("".join(letters).split()))

    def _numbers(self, head: bytes, key: bytes) -> list[int]:
        """The objects that a key refers to: one, or a list of them."""
        match = re.search(key + rb"\s*(?:" + _REFERENCE + rb"|\[([^\]]{0,2000})\])", head)
        if match is None:
            return []
        if match[1] is not None:
            return [int(match[1])]
        return [int(number) for number in re.findall(_REFERENCE, match[2])[:MAX_PAGES]]

    def _fonts_of(self, page: _Object) -> dict[bytes, dict[int, str]]:
        """Name -> code -> letters, of the fonts that a page may use."""
        head = page.head
        for number in self._numbers(head, rb"/Resources"):
            head = self.objects.get(number, _Object(b"", None)).head
        for number in self._numbers(head, rb"/Font"):
            head = b"/Font" + self.objects.get(number, _Object(b"", None)).head
        inside = re.search(rb"/Font\s*<<(.{0,8000}?)>>", head, re.DOTALL)
        fonts: dict[bytes, dict[int, str]] = {}
        for name, number in re.findall(
            rb"/([^\s/<>\[\]()]{1,64})\s+" + _REFERENCE, inside[1] if inside else b""
        ):
            fonts[name] = self._font(int(number))
        return fonts

    def _font(self, number: int) -> dict[int, str]:
        if number not in self.fonts:
            head = self.objects.get(number, _Object(b"", None)).head
            codes: dict[int, str] = {}
            for table in self._numbers(head, rb"/ToUnicode")[:1]:
                codes = _codes(self._unpacked(table))
            self.fonts[number] = codes
        return self.fonts[number]

    def _unpacked(self, number: int) -> bytes:
        """A stream, unpacked within the bounds."""
        item = self.objects.get(number)
        if item is None or item.stream is None:
            return b""
        if b"/Filter" not in item.head:
            self._spend(len(item.stream))
            return item.stream
        if re.search(rb"/Filter\s*\[?\s*/FlateDecode\s*\]?\s*(?:/|>>)", item.head) is None:
            raise Unreadable("damaged", "a stream is packed by a method that is not read")
        unpacker = zlib.decompressobj()
        try:
            data = unpacker.decompress(item.stream, self.bounds.member_bytes)
        except zlib.error as exc:
            raise Unreadable("damaged", f"a stream is broken: {exc}") from None
        if unpacker.unconsumed_tail:
            raise Unreadable("too_large", "a stream unpacks to too much")
        self._spend(len(data))
        return data

    def _spend(self, size: int) -> None:
        self.spent.bytes += size
        if self.spent.bytes > self.bounds.total_bytes:
            raise Unreadable("too_large", f"it unpacks to more than {self.bounds.total_bytes} bytes")

    @staticmethod
    def _texts(content: bytes, fonts: dict[bytes, dict[int, str]]) -> list[str]:
        """What a content stream shows, by the font that is set at each place."""
        font: dict[int, str] = {}
        found: list[str] = []
        for match in _SHOWN.finditer(content):
            if match[1] is not None:
                font = fonts.get(match[1], {})
            elif match[2] is not None:
                digits = b"".join(match[2].split())
                if len(digits) % 2 == 0:
                    found.append("".join(font.get(code, "") for code in bytes.fromhex(digits.decode())))
            else:
                found.append("".join(font.get(code, "") for code in match[0][1:-1]))
        return found


def _codes(table: bytes) -> dict[int, str]:
    """Code -> letters of a ToUnicode table, codes of one byte; such a table has a few hundred lines."""
    if len(table) > MAX_TABLE:
        raise Unreadable("too_large", "a table of letters is too long")
    codes: dict[int, str] = {}
    for block in table.split(b"beginbfchar")[1:]:
        for code, letters in _ONE.findall(block.partition(b"endbfchar")[0]):
            codes[int(code, 16)] = _decoded(letters)
    for block in table.split(b"beginbfrange")[1:]:
        for low, high, first in _RANGE.findall(block.partition(b"endbfrange")[0])[:MAX_RANGES]:
            start = int(low, 16)
            for code in range(start, min(int(high, 16), 255) + 1):
                value = int(first, 16) + code - start
                codes[code] = chr(value) if value < 0xD800 else ""
    return codes


def _decoded(digits: bytes) -> str:
    raw = bytes.fromhex(digits.decode()) if len(digits) % 2 == 0 else b""
    return raw.decode("utf-16-be", "ignore")
