"""The screens of one page: each decoded once, each picture embedded once, all within bounds.

Everything here is hostile: a screen that is missing, broken, too large or outside its folder is a
reason, and the page is made anyway.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image

from pyrite.errors import InputError
from pyrite.report.screens import data_uri
from pyrite.store.bench import inside
from pyrite.store.images import open_image, pixels_sha256

THUMB_WIDTH = 256
"""Pixels; twice what a thumbnail takes on the page."""
FULL_WIDTH = 1920
FULL_LOSSLESS_BYTES = 400_000
PIXEL_BUDGET = 1_500_000_000
"""Pixels that are decoded for one page: 1,900 screens of 1024 x 768."""
PAGE_BYTES = 12 << 20
"""Bytes of all pictures of one page."""


@dataclass(frozen=True)
class Frame:
    """One picture of the page: its key is the sha256 of its pixels."""

    key: str
    width: int
    height: int
    """Of the screen itself, whatever the picture was scaled to."""


@dataclass
class Frames:
    """Reads screens below one episode folder and keeps the pictures that the page embeds."""

    folder: Path
    thumbs: dict[str, str] = field(default_factory=dict)
    """Frame key -> data URI, small."""
    full: dict[str, str] = field(default_factory=dict)
    """Frame key -> data URI, as large as it is shown at most."""
    sizes: dict[str, Frame] = field(default_factory=dict)
    _seen: dict[Path, Frame | str] = field(default_factory=dict)
    _pixels: int = 0
    _bytes: int = 0

    def thumb(self, name: str) -> Frame | str:
        """The frame of a screen, its thumbnail embedded; or the reason why there is none."""
        try:
            path = self._file(name)
        except InputError as exc:
            return exc.what
        if path not in self._seen:
            try:
                self._seen[path] = self._small(self._decode(path))
            except InputError as exc:
                self._seen[path] = exc.what
        return self._seen[path]

    def large(self, name: str) -> tuple[Frame, Image.Image] | str:
        """The frame of a screen in full, and its pixels; or the reason why there is none."""
        try:
            image = self._decode(self._file(name))
        except InputError as exc:
            return exc.what
        key = pixels_sha256(image)
        if key not in self.full:
            self.full[key] = data_uri(image, width=FULL_WIDTH, lossless_bytes=FULL_LOSSLESS_BYTES)
        frame = self.sizes[key] = Frame(key, image.width, image.height)
        return frame, image

    def _file(self, name: str) -> Path:
        path = inside(self.folder, name)
        if not path.is_file():
            raise InputError("no such file", where=str(path), expected="a PNG or WebP image")
        return path

    def _decode(self, path: Path) -> Image.Image:
        if self._pixels >= PIXEL_BUDGET:
            raise InputError("not read: the screens before it have too many pixels for one page")
        image = open_image(path)
        self._pixels += image.width * image.height
        return image

    def _small(self, image: Image.Image) -> Frame | str:
        key = pixels_sha256(image)
        if key not in self.thumbs:
            uri = data_uri(image, width=THUMB_WIDTH, lossless_bytes=0)
            if self._bytes + len(uri) > PAGE_BYTES:
                return "not shown: the page is full"
            self._bytes += len(uri)
            self.thumbs[key] = uri
        frame = self.sizes[key] = Frame(key, image.width, image.height)
        return frame
