"""Read the binary settings of dconf (`~/.config/dconf/user`), a GVDB file of GVariants.

    settings = read_dconf(home / ".config/dconf/user")
    settings["/org/xfce/mousepad/preferences/view/tab-width"]     # 8

Only values of the types b, i, u, d and s are decoded; others are their bytes in hexadecimal, which is
enough to see that they are as they were. A hash table inside of another is not followed.
Source: gvdb-format.h of GLib (header, hash items), GVariant serialisation (little endian).
"""

from __future__ import annotations

import math
import struct
from pathlib import Path

from pyrite.checks.package import Unreadable, read_file

MAX_BYTES = 1 << 20
MAX_ITEMS = 5000
MAX_DEPTH = 50
MAX_KEY = 1000
MAX_VALUE = 64 << 10
_NO_PARENT = 0xFFFFFFFF
Value = bool | int | float | str


def read_dconf(path: Path) -> dict[str, Value]:
    """Every key and its value; raises `Unreadable`."""
    return parse_dconf(read_file(path, MAX_BYTES))


def parse_dconf(data: bytes) -> dict[str, Value]:
    """The same from the file's bytes."""
    if len(data) < 24 or data[:8] != b"GVariant":
        raise Unreadable("wrong_format", "it is not a settings database of dconf")
    try:
        return _Table(data).values()
    except (struct.error, UnicodeDecodeError) as exc:
        raise Unreadable("damaged", str(exc)[:100]) from None


class _Table:
    """The hash table at the root of a file."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        table = self.slice(*struct.unpack_from("<II", data, 16))
        if len(table) < 8:
            raise Unreadable("damaged", "it has no table")
        bloom, buckets = struct.unpack_from("<II", table, 0)
        start = 8 + 4 * ((bloom & 0x07FFFFFF) + buckets)
        if start > len(table) or (len(table) - start) % 24:
            raise Unreadable("damaged", "its table does not fit")
        count = (len(table) - start) // 24
        if count > MAX_ITEMS:
            raise Unreadable("too_large", f"more than {MAX_ITEMS} entries")
        self.items = [struct.unpack_from("<IIIHcxII", table, start + 24 * at) for at in range(count)]

    def slice(self, start: int, end: int) -> bytes:
        if not 0 <= start <= end <= len(self.data):
            raise Unreadable("damaged", "a place in it leads out")
        return self.data[start:end]

    def key(self, at: int) -> str:
        """The whole key of an item, those that it is below in front."""
        parts: list[bytes] = []
        seen = 0
        while at != _NO_PARENT:
            if at >= len(self.items) or seen > MAX_DEPTH:
                raise Unreadable("damaged", "an entry is below none")
            _, parent, start, size, _, _, _ = self.items[at]
            parts.append(self.slice(start, start + size))
            if sum(map(len, parts)) > MAX_KEY:
                raise Unreadable("too_large", "a key is too long")
            at, seen = parent, seen + 1
        return b"".join(reversed(parts)).decode("utf-8")

    def values(self) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for at, item in enumerate(self.items):
            if item[4] == b"v":
                key = self.key(at)
                if key in found:
                    raise Unreadable("ambiguous", "a key is there twice")
                found[key] = _value(self.slice(item[5], item[6]))
        return found


def _value(variant: bytes) -> Value:
    """What a variant holds: its value, a zero byte, and the name of its type."""
    if len(variant) > MAX_VALUE:
        raise Unreadable("too_large", "a value is too long")
    body, _, kind = variant.rpartition(b"\0")
    if kind == b"b" and len(body) == 1:
        return body != b"\0"
    if kind in (b"i", b"u") and len(body) == 4:
        return int(struct.unpack("<i" if kind == b"i" else "<I", body)[0])
    if kind == b"d" and len(body) == 8:
        number = float(struct.unpack("<d", body)[0])
        return number if math.isfinite(number) else str(number)
    if kind == b"s" and body.endswith(b"\0"):
        return body[:-1].decode("utf-8")
    return variant.hex()[:2000]
