"""Write a dconf database for known states; never imported by a verifier.

Keys stand whole, without the lists of folders that dconf keeps for browsing; dconf reads it.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

from pyrite.checks.gvdb import Value


def write_dconf(path: Path, settings: Mapping[str, Value]) -> None:
    """Booleans as b, numbers as u, texts as s."""
    keys = sorted(settings, key=lambda key: _hash(key) % max(len(settings), 1))
    count = len(keys)
    hashes = [_hash(key) for key in keys]
    buckets = [next((i for i, h in enumerate(hashes) if h % count >= b), count) for b in range(count)]
    table = 24
    size = 8 + 4 * count + 24 * count
    body = b""
    items = b""
    for key, digest in zip(keys, hashes, strict=True):
        start = table + size + len(body)
        body += key.encode()
        end = table + size + len(body)
        body += b"\0" * (-(table + size + len(body)) % 8)
        value = table + size + len(body)
        body += _variant(settings[key])
        items += struct.pack(
            "<IIIHcxII", digest, 0xFFFFFFFF, start, end - start, b"v", value, table + size + len(body)
        )
    head = struct.pack("<8sIIII", b"GVariant", 0, 0, table, table + size)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(head + struct.pack(f"<II{count}I", 0, count, *buckets) + items + body)


def _variant(value: Value) -> bytes:
    if isinstance(value, bool):
        return (b"\1" if value else b"\0") + b"\0b"
    if isinstance(value, int):
        return struct.pack("<i", value) + (b"\0i" if value < 0 else b"\0u")
    return str(value).encode() + b"\0\0s"


def _hash(key: str) -> int:
    """The hash of GVDB (djb, signed characters)."""
    value = 5381
    for byte in key.encode():
        value = (value * 33 + (byte - 256 if byte > 127 else byte)) & 0xFFFFFFFF
    return value
