"""The screen, read from outside: the X server keeps it in a file that no application can reach.

It is read with pread at fixed offsets and never mapped: a mapped file that shrinks kills its reader.
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

from PIL import Image

from pyrite.errors import SandboxError

_HEADER = struct.Struct(">25I")
_COLOUR_BYTES = 12


class Framebuffer:
    """A file written by `Xvfb -fbdir`: an XWD header, a colour map, then 32-bit BGRX rows."""

    def __init__(self, path: Path, width: int, height: int) -> None:
        self.size = (width, height)
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        head = os.pread(self._descriptor, _HEADER.size, 0)
        fields = _HEADER.unpack(head) if len(head) == _HEADER.size else (0,) * 25
        if (fields[4], fields[5], fields[11]) != (width, height, 32) or fields[12] < width * 4:
            self.close()
            raise SandboxError(
                f"the display is {fields[4]}x{fields[5]} with {fields[11]} bits",
                where=str(path),
                expected=f"{width}x{height} with 32 bits",
            )
        self._stride = fields[12]
        self._offset = fields[0] + fields[19] * _COLOUR_BYTES
        self._pixels = bytearray(self._stride * height)

    def read(self) -> bytearray:
        """The pixels as they are now; the same buffer every time, unchanged where the file is too short."""
        got = os.preadv(self._descriptor, [self._pixels], self._offset)
        if got != len(self._pixels):
            raise SandboxError(f"the display's file ends after {got} bytes of {len(self._pixels)}")
        return self._pixels

    def checksum(self) -> int:
        """Changes when any pixel does."""
        return zlib.crc32(self.read())

    def image(self) -> Image.Image:
        """The screen as an RGB image of its own."""
        return Image.frombytes("RGB", self.size, bytes(self.read()), "raw", "BGRX", self._stride)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
