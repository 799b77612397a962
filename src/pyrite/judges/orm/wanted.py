"""What an instruction asks for, as text that can be looked for: quoted strings, numbers, files, words.

Nothing here knows a task: it is the same reading for every instruction, and much of it misses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pyrite.judges.ocr import Box
from pyrite.judges.screen_rules.values import shapes

MAX_TEXT = 20_000
"""Characters read of an instruction, of what was typed, and of a message."""
MAX_PARTS = 60
"""Strings of one kind that are looked for."""
SHORT = 4
"""Shorter strings must be words of their own: anywhere in a page they occur by chance."""

_QUOTED = re.compile(r'"([^"\n]{1,200})"|“([^”\n]{1,200})”')
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d(?:[\d.,:/]{0,30}\d)?(?![\w])")
_FILE = re.compile(
    r"(?<!\S)[\w~.+-]{0,80}(?:/[\w.+-]{1,80}){0,10}\.[A-Za-z][A-Za-z0-9]{0,5}(?=[\s,;:)]|\.?$|\.\s)"
)
_VALUE = re.compile(
    r"""\b(?:to|with|by|as|into|under|named?|enter|add|lines?|says?)\s+(?:the\s+\w+\s+)?"""
    r"""(?:"([^"\n]{1,200})"|“([^”\n]{1,200})”|(=?[\w$#.:@%/(+-][^\s,;"“”]{0,80}))"""
)
_WORD = re.compile(r"[^\W\d_]{4,40}")
_SPLIT = re.compile(r"[\s,;|()\[\]{}<>“”\"]+")
_COMMON = frozenset(
    {"that", "this", "with", "from", "into", "save", "file", "files", "folder", "open", "leave", "change"}
    | {"other", "nothing", "else", "everything", "only", "your", "have", "will", "which", "their", "them"}
    | {"must", "need", "under", "name", "keep", "same", "whose", "each", "every", "they", "kept"}
)


@dataclass(frozen=True)
class Asked:
    """The parts of an instruction, each as it stands there."""

    quoted: tuple[str, ...]
    numbers: tuple[str, ...]
    files: tuple[str, ...]
    """Names without their folders."""
    values: tuple[str, ...]
    """What follows `to`, `with`, `by`, `named` ...: mostly what is to be there in the end."""
    words: tuple[str, ...]


def asked(instruction: str) -> Asked:
    """Read an instruction.

    >>> found = asked('In Documents/q3.ods, sheet Q3, set cell D14 to 4500 and save the file.')
    >>> found.files, found.numbers, found.values, found.words
    (('q3.ods',), ('4500',), ('4500',), ('Documents', 'sheet', 'cell'))
    """
    text = instruction[:MAX_TEXT]
    files = [name.rsplit("/", 1)[-1] for name in _FILE.findall(text)]
    bare = _FILE.sub(" ", text)
    values = ["".join(parts).rstrip(".") for parts in _VALUE.findall(text)]
    words = [word for word in _WORD.findall(text) if word.casefold() not in _COMMON]
    named = {word for name in files for word in _WORD.findall(name)}
    return Asked(
        quoted=_first("".join(parts) for parts in _QUOTED.findall(text)),
        numbers=_first(_NUMBER.findall(bare)),
        files=_first(files),
        values=_first(value for value in values if shapes(value) and not _plain(value)),
        words=_first(word for word in words if word not in named),
    )


def _plain(value: str) -> bool:
    """A lower-case word without quotes is prose (`to the`), not a value."""
    return value.isalpha() and value.islower() and (len(value) < SHORT or value in _COMMON)


def _first(parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))[:MAX_PARTS]


class Text:
    """Text that strings are looked for in; look-alikes of OCR, case and spaces do not matter."""

    def __init__(self, parts: Iterable[str]) -> None:
        kept = [part[:MAX_TEXT] for part in parts]
        self.joined = "".join(shapes(part) for part in kept)
        self.words = {shapes(word.strip(".:!?'")) for part in kept for word in _SPLIT.split(part)} - {""}

    @classmethod
    def of_screen(cls, boxes: Iterable[Box]) -> Text:
        """A screen in reading order, so that a string over two lines is found."""
        return cls(box.text for box in sorted(boxes, key=lambda box: (round(box.cy / 8), box.x0)))

    def holds(self, wanted: str) -> bool:
        """Whether a string occurs: a short one as a word of its own, a longer one anywhere."""
        shape = shapes(wanted)
        if len(shape) < SHORT:
            return bool(shape) and shape in self.words
        return shape in self.joined

    def share(self, wanted: Iterable[str]) -> float | None:
        """The share of strings that occur; None where none is wanted."""
        found = [self.holds(one) for one in wanted]
        return sum(found) / len(found) if found else None
