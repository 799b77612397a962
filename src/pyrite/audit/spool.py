"""Rows of a long list, kept as JSON lines on disk once they are many: 100,000 tasks have a million."""

from __future__ import annotations

import io
import json
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from typing import IO, Any

_IN_MEMORY = 4 << 20


class Spool:
    """Append rows under a rank; read them again rank by rank, in the order in which they came."""

    def __init__(self) -> None:
        self._files: dict[int, IO[bytes]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, row: Mapping[str, Any], rank: int = 0) -> None:
        """Add one row; its texts can be encoded and its numbers are finite."""
        file = self._files.setdefault(rank, io.BytesIO())
        file.write(json.dumps(row, ensure_ascii=True, allow_nan=False).encode() + b"\n")
        if isinstance(file, io.BytesIO) and file.tell() > _IN_MEMORY:
            self._files[rank] = self._on_disk(file)
        self._count += 1

    def _on_disk(self, file: io.BytesIO) -> IO[bytes]:
        """The same rows in a file without a name, which goes away with this spool."""
        found = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the spool
        weakref.finalize(self, found.close)
        found.write(file.getbuffer())
        return found

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for rank in sorted(self._files):
            file = self._files[rank]
            file.seek(0)
            for line in file:
                yield json.loads(line)
            file.seek(0, io.SEEK_END)
