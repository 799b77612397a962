"""Text of episodes and judges is hostile: it is made visible and cut before it is put on a page.

Escaping for HTML is left to the template engine, which does it everywhere.
"""

from __future__ import annotations

import re
import unicodedata

from markupsafe import Markup

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Unicode categories that print nothing of their own, or move what stands around them: control
characters, bidirectional overrides, surrogates, private and unassigned code points, line separators."""

MESSAGE_LIMIT = 400
NAME_LIMIT = 80


def plain(text: str) -> str:
    """The text with every character that hides, breaks or reorders others written as its escape.

    >>> plain("a\\u202eb\\n")
    'a\\\\u202eb\\\\n'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(c) for c in text)


def _visible(character: str) -> str:
    if unicodedata.category(character) not in _HIDDEN:
        return character
    return character.encode("unicode_escape").decode("ascii")


def cut(text: str, limit: int = NAME_LIMIT) -> str:
    """The text, or its beginning and how many characters are left out.

    >>> cut("abcdef", 4)
    'abcd… (2 more characters)'
    """
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text) - limit:,} more characters)"


def label(name: str, limit: int = 60) -> Markup:
    """A judge's label, cut, that may break after @ and after a comma.

    >>> label("vlm@model=a,eyes=b")
    Markup('vlm@<wbr>model=a,<wbr>eyes=b')
    """
    return Markup("<wbr>").join(re.split(r"(?<=[@,])(?=.)", plain(cut(name, limit))))


def lines(text: str, limit: int = MESSAGE_LIMIT) -> list[str]:
    """A message as at most eight visible lines, cut with a count."""
    found = [plain(line) for line in cut(text, limit).splitlines()] or [""]
    return found if len(found) <= 8 else [*found[:8], f"… ({len(found) - 8} more lines)"]
