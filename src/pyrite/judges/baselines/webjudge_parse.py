"""How the answers of `webjudge` are read: as published, in two variants, and strictly.

As published, an answer without the exact heading scores 0 and a missing status is a failure. Strictly,
neither is read at all: what is not there is not taken for a no.
"""

from __future__ import annotations

import re

from pyrite.judges.baselines.status import quoted, status
from pyrite.judges.parse import Parsed
from pyrite.records import Verdict

VARIANTS = ("om2w", "general")
Variant = str
_MARKER: dict[Variant, str] = {"om2w": "Score", "general": "### Score"}
_DIGIT = re.compile("[1-5]")
_RANGE = r"(?:\s*\(\s*1\s*(?:-|\u2013|to)\s*5\s*\))?"
_BETWEEN = r"[^\w<>~$+\u2264\u2265\u2248\u00b1-]"
"""What may stand between the word and its digit: nothing that makes a bound or another number of it."""
_DIGITS = r"([1-5])(?!\w)(?:\s*/\s*5\b|\s+(?:out\s+)?of\s+5\b)?(?=(?P<rest>[^\n]*))"
_MARKED = re.compile(rf"^[^\w\n]*score{_RANGE}{_BETWEEN}{{0,12}}{_DIGITS}", re.IGNORECASE | re.MULTILINE)
_COLON = re.compile(rf"\bscore{_RANGE}[*_\s]{{0,4}}:{_BETWEEN}{{0,8}}{_DIGITS}", re.IGNORECASE)
_ANYWHERE = re.compile(rf"\bscore{_RANGE}{_BETWEEN}{{0,12}}{_DIGITS}", re.IGNORECASE)
_UNSURE = re.compile(
    r"\s*(?:[*_`\"']*\s*(?:[-\u2013\u2014\u2192+/:%,.<>=~\u2044]+\s*)?\d|[-=]*>|[\u2192+%<~]"
    r"|(?:or|to|of|out|and|not|too)\b)"
    r"|[ \t]+[a-z][^.;()\u2013\u2014-]*\b(?:so|but|no|rather|instead|actually|correction)\b[^.;()]*\d",
    re.IGNORECASE,
)
"""Behind a digit: that it is not the score, or not all of it."""
_STATUS = re.compile(r"\bstatus\b[*_`\"'\s]*:", re.IGNORECASE)
_LABELS = {"success": Verdict.SUCCESS, "failure": Verdict.FAILURE}


def key_points(text: str) -> str:
    """The list behind its heading, or the whole answer; no line is indented, no line is blank.

    >>> key_points("Sure.\\n\\n**Key Points**:\\n  1. Sort by price")
    '\\n1. Sort by price'
    """
    text = text.replace("\n\n", "\n")
    head, marker, _ = text.partition("**Key Points**:")
    part = text.split("**Key Points**:")[1] if marker else head.split("Key Points:")[-1]
    return "\n".join(line.lstrip() for line in part.split("\n"))


def score_as_published(text: str, variant: Variant) -> int:
    """The first digit of 1 to 5 behind the exact heading; 0 where there is none.

    >>> score_as_published("### Score: 4", "general"), score_as_published("Score: 4", "general")
    (4, 0)
    """
    pieces = text.split(_MARKER[variant])
    found = _DIGIT.search(pieces[1]) if pieces[1:] else None
    return int(found[0]) if found else 0


def score(text: str) -> int | None:
    """The one score behind a heading or colon, else the one that stands anywhere; None for none and two.

    None too for a bound, a span, another scale, and what stands in a sentence that quotes or denies it.

    >>> score("**Score**: 4/5"), score("Score (1-5): 2"), score("It is good."), score("Score: 2 ... Score: 5")
    (4, 2, None, None)
    >>> score("Score: 3 out of 10"), score("Score: 4 or 5"), score("I would not score 5")
    (None, None, None)
    """
    marked = [*_MARKED.finditer(text), *_COLON.finditer(text)]
    found = marked or list(_ANYWHERE.finditer(text))
    if any(_unsure(text, one) for one in found):
        return None
    scores = {int(one[1]) for one in found}
    return scores.pop() if len(scores) == 1 else None


def _unsure(text: str, found: re.Match[str]) -> bool:
    before = text[text.rfind("\n", 0, found.start(1)) + 1 : found.start()]
    return _UNSURE.match(found["rest"]) is not None or quoted(before)


def reasoning(text: str, variant: Variant) -> str:
    """Why a screen has its score, in one line."""
    if variant == "general":
        return text.split("### Reasoning:")[-1].strip().split("### Score")[0].replace("\n", " ")
    return text.split("**Reasoning**:")[-1].strip().split("\n\n")[0].replace("\n", " ")


def label_as_published(text: str) -> Parsed:
    """Success where the word stands between the first and the second "status:", else failure.

    >>> label_as_published('Status: "unsuccessful"').verdict.value, label_as_published("done").verdict.value
    ('success', 'failure')
    """
    pieces = text.lower().split("status:")
    accepted = len(pieces) > 1 and "success" in pieces[1]
    return Parsed(Verdict.SUCCESS if accepted else Verdict.FAILURE, "ok", _thoughts(text))


def label(text: str) -> Parsed:
    """The "Status:" that ends the answer, which must be success or failure and nothing else.

    >>> label('Thoughts: fine.\\nStatus: "success"').verdict.value, label('Status: "unsuccessful"').status
    ('success', 'off_schema')
    """
    return status(text, _LABELS, _thoughts(text))


def _thoughts(text: str) -> str:
    return _STATUS.split(text)[0].removeprefix("Thoughts:").strip()[:2000]
