"""Compare texts, identifiers, and one line among many."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from pyrite.checks.compared import Compared, Kind, Read, compare, plain_text, settle, shown

_DIGITS = re.compile(r"[0-9]+")


class Text(NamedTuple):
    """A text: every character counts, save how a letter with an accent is stored and space at its ends.

    >>> from pyrite.checks.compare import compare
    >>> compare(" a  b", "a b", Text()).equal, compare("A b", "a b", Text(case=False)).equal
    (True, True)
    """

    case: bool = True
    """Whether upper and lower case differ."""
    space: bool = False
    """Whether the length of space between words, and space at the ends, count."""

    @property
    def rule(self) -> str:
        options = [*([] if self.case else ["any case"]), *(["space counts"] if self.space else [])]
        return ", ".join(["text", *options])

    def compared(self, got: object, expected: object) -> Compared:
        pair = (shown(got), shown(expected))
        return settle(self.rule, self._read(got), self._read(expected), str.__eq__, pair)

    def _read(self, value: object) -> Read:
        text = plain_text(value)
        if text is None:
            return Read(problem="it is no text")
        text = unicodedata.normalize("NFC", text)
        if not self.space:
            text = " ".join(text.split())
        if not self.case:
            text = unicodedata.normalize("NFC", text.casefold())
        return Read((text,))


class Id(NamedTuple):
    """An identifier: as a text, but one of digits alone may be padded with zeros.

    >>> from pyrite.checks.compare import compare
    >>> compare("00042", 42, Id()).equal, compare("420", 42, Id()).equal
    (True, False)
    """

    padded: bool = True
    """Whether zeros in front of digits are padding."""

    @property
    def rule(self) -> str:
        return "id" if self.padded else "id, zeros count"

    def compared(self, got: object, expected: object) -> Compared:
        pair = (shown(got), shown(expected))
        return settle(self.rule, self._read(got), self._read(expected), str.__eq__, pair)

    def _read(self, value: object) -> Read:
        text = plain_text(value)
        if text is None or not text.strip():
            return Read(problem="it is no identifier")
        text = unicodedata.normalize("NFC", text.strip())
        if self.padded and _DIGITS.fullmatch(text):
            text = text.lstrip("0") or "0"
        return Read((text,))


class Lines(NamedTuple):
    """One line among those that were found: a whole one, never a part of a longer one.

    What was found is a text or a list of lines, such as the names in a folder.

    >>> from pyrite.checks.compare import compare
    >>> compare("mytest.py\\nREADME", "test.py", Lines()).equal
    False
    """

    of: Kind = Text()

    @property
    def rule(self) -> str:
        return f"one of the lines, each {self.of.rule}"

    def compared(self, got: object, expected: object) -> Compared:
        if isinstance(expected, str) and len(expected.splitlines()) > 1:
            return Compared(None, self.rule, "more than one line is expected", "expected")
        lines = got.splitlines() if isinstance(got, str) else got
        if not isinstance(lines, list | tuple):
            return Compared(False, self.rule, f"{shown(got)} has no lines")
        unsure: Compared | None = None
        for line in lines:
            found = compare(line, expected, self.of)
            if found.equal or found.why == "expected":
                return found._replace(rule=self.rule)
            if found.equal is None:
                unsure = found
        if unsure is not None:
            return unsure._replace(rule=self.rule)
        return Compared(False, self.rule, f"none of the {len(lines)} lines is {shown(expected)}")
