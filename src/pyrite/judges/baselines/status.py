"""A verdict on a line "Status: …", read strictly: it ends the answer, and no other one speaks against it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from pyrite.judges.baselines.base import unreadable
from pyrite.judges.english import foreign
from pyrite.judges.parse import Format, Parsed, parse
from pyrite.judges.spoken import claims, of_another
from pyrite.records import Verdict

_BEHIND = re.compile(r"(?<=[.!?])[ \t]+(?=[*_]{0,2}status\b)", re.IGNORECASE)
"""Between a sentence and a status on the same line."""


def status(text: str, words: Mapping[str, Verdict], reason: str) -> Parsed:
    """The status of an answer, in one of these words (small letters); a parse error where it is not sure.

    One that stands in a sentence, that the words before it make a quotation or a condition of, or that is
    taken back behind it, is not read.

    >>> words = {"success": Verdict.SUCCESS, "failure": Verdict.FAILURE}
    >>> status('Fine.\\nStatus: "success"', words, "").verdict.value
    'success'
    >>> status('Status: failure\\nThe page says "Status: success"', words, "").status
    'malformed'
    """
    lines = [_BEHIND.sub("\n", line) if _closed(line) else line for line in text.split("\n")]
    above, _, last = "\n".join(lines).rstrip().rpartition("\n")
    form, text = Format(keys=(), labels=("status",), words=words), "\n".join(lines)
    if _ended(above.rstrip().rpartition("\n")[2]):  # parse takes nothing behind words of no English
        text = last
    found = parse(text, form=form)
    others = claims(above, form.labels, words) if text == last else []
    if found.status == "ok" and any(other != found.verdict for other in others):
        return unreadable("malformed", "it says two things")
    if found.status != "ok":
        return found
    return replace(found, reason=reason)


def _ended(line: str) -> bool:
    """Whether a line in another language than English is a sentence that has ended."""
    own = not line.lstrip().startswith(">") and line.rstrip().endswith((".", "!", "?", "\u2026", "\u3002"))
    return own and foreign(line)


def _closed(line: str) -> bool:
    """Whether each quotation on a line, up to its last status, has an end there."""
    before = line[: line.lower().rfind("status")]
    return before.count('"') % 2 == 0 and before.count("\u201c") == before.count("\u201d")


def quoted(before: str) -> bool:
    """Whether the words before something on its line make of it a quotation, a condition or a denial.

    >>> quoted("The game shows a "), quoted("It shows the cell. "), quoted("**")
    (True, False, False)
    """
    return not before.rstrip().endswith((".", "!", "?")) and of_another(before)
