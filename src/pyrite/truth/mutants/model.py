"""What a near-miss is, and every operator that makes one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

OPERATORS = {
    "drop-change": "one change of the good state is undone, the others stay",
    "shift-down": "the change is one row or line too low",
    "shift-up": "the change is one row or line too high",
    "shift-right": "the change is one column too far right",
    "shift-left": "the change is one column too far left",
    "other-sheet": "the change is on another sheet or in another section",
    "sibling-file": "the change is in another file that was there",
    "written-as-copy": "the result is in a new file beside, the named one is untouched",
    "case-folded-path": "the result is under a name that differs in case",
    "other-folder": "the result is in another folder",
    "off-by-one": "the number is one too high",
    "off-by-half": "the number is half too high",
    "last-digit": "the last decimal of the number is another one",
    "sign": "the number has the other sign",
    "ten-times": "the number is ten times as large",
    "longer": "the value has more in front of it or behind",
    "shorter": "the end of the value is missing",
    "wrong-case": "the value is written in the other case",
    "number-as-text": "the number is stored as text",
    "locale-format": "the number is written 4.500,00",
    "stale-formula": "a formula that gives something else, with the value in its cache",
    "commented-out": "the line is there as a comment",
    "duplicate-row": "the changed row, line or entry is there twice",
    "neighbour-changed": "another cell, line or entry is changed too",
    "neighbour-deleted": "another line or entry is gone",
    "pixels-changed": "a block of an image's pixels has the opposite colour",
    "image-shifted": "an image is moved by a few pixels",
    "image-resized": "an image has another size",
    "channels-swapped": "red and blue of an image are swapped",
    "formula-lost": "another cell's formula became the number that it showed",
    "emptied-file": "the file is there and empty",
    "truncated-file": "the second half of the file is missing",
    "deleted-file": "the result's file is not there",
    "file-changed": "another file is changed too",
    "file-deleted": "another file is gone",
    "file-added": "a copy of the result is left beside it",
}
"""Name -> what is wrong with what it makes. Their order is that of the answer."""

PER_OPERATOR = 3
"""Near-misses that one operator makes of one task, at most."""
MOST = 60
"""Near-misses of one task, at most."""
FEWEST = 10
"""Fewer than this and the task's verifier was hardly tested: a finding."""


class Mutant(NamedTuple):
    """One near-miss, before it is made."""

    operator: str
    site: str
    """Where: the file, and what of it (`Documents/a.ods#Q3.D14`)."""
    what: str
    make: Callable[[Path], None]
    """Turns a copy of the good home into it; whatever it raises, it cannot be made."""

    @property
    def name(self) -> str:
        """The same in every run: what a task declares an equivalent by."""
        return f"{self.operator}@{self.site}"


class Change(NamedTuple):
    """One file that differs between the initial and the good home."""

    path: str
    before: bytes | None
    """None where it was not there."""
    after: bytes | None
    """None where it is gone."""


def put(home: Path, path: str, data: bytes | None) -> None:
    """Give a file of a home other content, or remove it.

    Homes share what they have in common through hard links: a file is made anew, never written into.
    """
    target = home / path
    target.unlink(missing_ok=True)
    if data is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
