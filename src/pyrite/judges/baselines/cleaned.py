"""Words of an answer as AgentRewardBench cleans them up: trimmed, in small letters, without quotes."""

from __future__ import annotations

from typing import Literal

from pyrite.judges.baselines.base import unreadable
from pyrite.judges.parse import Parsed
from pyrite.records import Verdict

YES = ("successful", "yes", "success")
NO = ("unsuccessful", "unsuccesful", "no", "failure")
WORDS = {
    **dict.fromkeys(YES, Verdict.SUCCESS),
    **dict.fromkeys(NO, Verdict.FAILURE),
    "n/a": Verdict.UNCERTAIN,
}
"""Every word that may stand there, in small letters."""
Word = Literal["yes", "no", "n/a"]


def cleaned(text: str) -> str:
    return text.strip().lower().replace('"', "").replace("'", "").strip()


def word(text: str) -> Word | None:
    """yes, no or n/a; None for any other word.

    >>> word(' "Successful" '), word("Unsuccesful"), word("mostly")
    ('yes', 'no', None)
    """
    said = cleaned(text)
    if said in YES:
        return "yes"
    if said in NO:
        return "no"
    return "n/a" if said == "n/a" else None


def verdict(text: str | None, reason: str, *, compat: bool) -> Parsed:
    """The verdict of a cleaned word; where there is none, a failure as published, else a parse error.

    What is neither yes nor no stops the original with an error; n/a is neither accepted nor rejected.
    """
    if text is None or not cleaned(text):
        if compat:
            return Parsed(Verdict.FAILURE, "ok", reason)
        return unreadable("malformed", "there is no verdict where one was asked for")
    said = word(text)
    if said is None:
        return unreadable(
            "off_schema", f"the verdict is {text.strip()[:80]!r}, expected successful or unsuccessful"
        )
    return Parsed(WORDS[cleaned(text)], "ok", reason)
