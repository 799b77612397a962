"""How the answers of `webvoyager` are read: as published, by policy, and strictly.

As published, capital letters anywhere decide. Strictly, all verdicts in capital letters must say the same
and mean it: "Verdict: NOT SUCCESS. The agent did not click." is a failure, "NOT A SUCCESS" is not read.
"""

from __future__ import annotations

import re

from pyrite.judges.baselines.base import unreadable
from pyrite.judges.english import foreign
from pyrite.judges.parse import Parsed
from pyrite.judges.spoken import WORDS, claims
from pyrite.records import Verdict

_WORD = re.compile(
    r"\b(?:(NOT(?=[\s*_`\"'-])[^\S\n]*[*_`\"'-]*[^\S\n]*\n?[^\S\n]*[*_`\"'-]*[^\S\n]*SUCCESS(?:FUL)?"
    r"|UNSUCCESSFUL|FAILURE)|SUCCESS(?:FUL)?)\b"
)
"""A verdict in capital letters; NOT and SUCCESS may stand apart by blanks, marks and one line break."""
_MARKED = re.compile(r"(?<![^\W_])_+|_+(?![^\W_])")
"""Underscores that mark words; those inside of a name (`EXIT_SUCCESS`) are a part of it."""
_ECHO = re.compile(
    r"^([ \t*_#>`-]*(?:your\s+|my\s+|the\s+)?(?:final\s+)?verdict)\W{1,6}"
    r"SUCCESS\W{1,6}or\W{1,6}(?:NOT\s+SUCCESS|FAILURE)(?=[*_`\"')]{0,4}\s*:)",
    re.MULTILINE | re.IGNORECASE,
)
"""The last line of the prompt, said once more before the verdict."""
_NEGATION = re.compile(
    r"\b(?:not|no|non|un|never|none|nothing|neither|nor|cannot|without|hardly|barely|scarcely|nearly|almost"
    r"|partial(?:ly)?|far from|short of|anything but|lack\w*|unlikely|unable|doubt\w*|den(?:y|ies|ied)"
    r"|reject\w*|refus\w*|rul\w+ out|fail(?:s|ed|ing)?|miss(?:es|ed|ing)?|incomplete"
    r"|(?:is|was|are|were|does|do|did|has|have|ca|could|would|should)nt)\b"
    r"|n['\u2019]t\b",
    re.IGNORECASE,
)
_NEARLY = re.compile(
    r"(?:\b(?:not|no|never|neither|nor|cannot)\b|n['\u2019]t\b)[\s*_`\"']*(?:\w+[\s*_`\"']+){0,3}$",
    re.IGNORECASE,
)
_BEHIND = re.compile(r"(?:(?!\b(?:because|since|as|and)\b)[^.!?,;:(\n\u2013\u2014-])*", re.IGNORECASE)
"""What goes on with the sentence behind a verdict."""
_RATING = r"(?:rate|judge|call|consider|classify|deem|label|mark|grade|score|assess|evaluate|conclude)"
_CONDITION = re.compile(
    r"\b(?:if|unless|otherwise|could|might|may|had|supposing|assuming|instead of|rather than"
    rf"|would\b(?!(?<=\bI would)\s+{_RATING}))\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"\b(?:says?|said|shows?|showed|shown|reads?|wrote|writes|written|claims?|claimed|prints?|printed"
    r"|displays?|displayed|contains?|quotes?|reports?|reported|returns?|returned|message|banner|dialog|either)"
    r"\W*(?:(?:a|an|the|that|it|is|was|word|as)\W+){0,3}$",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"[\s*_`\"']*(?:\?|:\s*\w|/|or\b|banner\b|message\b|but\b|only\b"
    r"|(?:[,;:(\u2013\u2014]|\s-+\s)\s*(?:if|unless|provided|assuming|supposing|had|were|or)\b)",
    re.IGNORECASE,
)
"""What stands right behind a verdict and makes none of it."""
_HEDGED = re.compile(
    r"[\s*_`\"']*(?:[,;:(\u2013\u2014]|\s-+\s)\s*"
    r"(?:but|however|yet|though|although|except|apart from|partly|partially|almost|nearly|no|not|never"
    r"|in part)\b",
    re.IGNORECASE,
)
"""The same, behind a success."""
_THEN = r"[ \t*_`\"')]*(?:[.!?\u2026]+|\n)[\s*_`\"')]*"
_BACK = re.compile(
    rf"{_THEN}"
    r"(?:(?:oh|well|hmm?|sorry|and|or)\W+)?"
    r"(?:wait|actually|correction|scratch|ignore|instead|rather|on (?:second|reflection)"
    r"|i (?:take|was wrong|mean)"
    r"|(?:no|nope|not|never|wrong|false|kidding)\b(?:\W*$|\s*[,.!?:;]|\s+(?:really|so|quite|yet|at all|wait))"
    r"|(?:it|this|that) (?:is|was)(?: not\b|n['\u2019]t\b)\W*"
    r"(?:so|true|right|correct|the case|my verdict|the verdict)\b)",
    re.IGNORECASE,
)
"""A sentence behind a verdict that takes it back."""
_UNDONE = re.compile(
    rf"{_THEN}(?:but|however|(?:it|this|that|the (?:task|agent)) (?:is|was|has|did|does)"
    r"(?: not\b|n['\u2019]t\b)"
    r"\s*(?:[.,;!?]|$|(?:an?|yet|been|fully|really|done|complete\w*|success\w*|succeed\w*|reached|met)\b))",
    re.IGNORECASE,
)
"""One that denies a success."""
_GOES_ON = re.compile(
    r"(?:\b(?:not|no|never|a|an|the|any|be|is|was|yet|cannot|as|of)|n['\u2019]t)\W*$", re.IGNORECASE
)
_LABEL = re.compile(
    r"\W*(?:hence|accordingly|consequently)?\W*(?:(?:my|your|our|the|final|overall|task)\W+){0,3}"
    r"(?:verdict|outcome|status|result|conclusion|answer"
    r"|judge?ment|decision|assessment|evaluation|rating|grade|ruling)?\W*",
    re.IGNORECASE,
)
"""Words before a verdict that lead over to it and are no prose."""
_LABELS = ("verdict", "outcome", "status")
_LEADING = re.compile(
    r"([\s*_#>-]*[A-Za-z][A-Za-z_ ]{0,40}[*_`\"']{0,3}\s*[:=])[\s*_`\"'(\[]*"
    r"(not success(?:ful)?|unsuccessful|success(?:ful)?|fail(?:ure|ed)?|pass(?:ed)?|uncertain)\b",
    re.IGNORECASE,
)
"""A label, and the word of a verdict that stands right behind it."""
_WORDS = {**WORDS, "not success": Verdict.FAILURE}


def as_published(text: str | None, images: str) -> Parsed:
    """Capital letters anywhere; what says nothing is none (last), a failure (last30), a success (first50).

    >>> as_published("It is NOT SUCCESS", "last").verdict.value
    'failure'
    >>> as_published("Done.", "first50").verdict.value
    'success'
    """
    if text is None:
        return unreadable("malformed", "the answer holds no text")
    reason = text.strip()[:2000]
    if images == "first50":
        return Parsed(Verdict.FAILURE if "FAILURE" in text else Verdict.SUCCESS, "ok", reason)
    if "NOT SUCCESS" in text:
        return Parsed(Verdict.FAILURE, "ok", reason)
    if "SUCCESS" in text:
        return Parsed(Verdict.SUCCESS, "ok", reason)
    if images == "last30":
        return Parsed(Verdict.FAILURE, "ok", reason)
    return unreadable("malformed", "there is no verdict in capital letters")


def strictly(text: str) -> Parsed:
    """The verdict in capital letters, where all that stand in the answer say the same and mean it.

    One in a denial, a condition, a question or a quotation is none, and neither are those beside it.

    >>> strictly("so it is a SUCCESS").verdict.value, strictly("SUCCESS? NOT SUCCESS!").status
    ('success', 'malformed')
    >>> strictly("Verdict: NOT SUCCESS. The agent did not click.").verdict.value
    'failure'
    >>> strictly("This is NOT A SUCCESS").status, strictly("It is **NOT** SUCCESS").verdict.value
    ('malformed', 'failure')
    """
    reason = text.strip()[:2000]
    text = _ECHO.sub(r"\1", _MARKED.sub(" ", text))
    words = list(_WORD.finditer(text))
    found = {one[1] is None for one in words}
    if len(found) != 1:
        return unreadable(
            "malformed", "it says two things" if found else "there is no verdict in capital letters"
        )
    if any(_unsure(text, one) for one in words):
        return unreadable("malformed", "a verdict stands in it where it may be denied, asked or quoted")
    verdict = Verdict.SUCCESS if found.pop() else Verdict.FAILURE
    if any(other != verdict for other in claims(_beside(text, words), _LABELS, _WORDS)):
        return unreadable("malformed", "it says two things")
    return Parsed(verdict, "ok", reason)


def _beside(text: str, words: list[re.Match[str]]) -> str:
    """The lines of an answer without a verdict in capital letters, and labels with one in small letters."""
    kept, at = [], 0
    for line in text.split("\n"):
        end = at + len(line)
        inside = [one for one in words if one.start() < end and one.end() > at]
        leading = _LEADING.match(line)
        if not inside:
            kept.append(line)
        elif leading is not None and at + leading.start(2) < inside[0].start():
            kept.append(f"{leading[1]} {leading[2]}")
        at = end + 1
    return "\n".join(kept)


def _unsure(text: str, found: re.Match[str]) -> bool:
    """Whether the words around a verdict may deny, ask, quote, suppose it or take it back."""
    success = found[1] is None
    sentence = re.split(r"[.!?]\s", _before(text[: found.start()]))[-1]
    if sentence.rstrip().endswith((".", "!", "?")):
        sentence = ""
    sentence = sentence.replace("_", " ")  # they would hide the end of a word
    clause = re.split(r"[,;]\s", sentence)[-1]
    denied = _NEGATION.search(clause) if success else _NEARLY.search(clause)
    other = (
        _CONDITION.search(sentence)
        or _QUOTED.search(sentence)
        or (_LABEL.fullmatch(clause) is None and foreign(clause))
    )
    end = found.end()
    behind = _BEHIND.match(text, end)
    after = behind[0].replace("_", " ") if behind is not None else ""
    denied = denied or _NEGATION.search(after) or _CONDITION.search(after)
    back = (
        _AGAINST.match(text, end)
        or _BACK.match(text, end)
        or (success and (_HEDGED.match(text, end) or _UNDONE.match(text, end)))
    )
    return bool(denied or other or back) or text[: found.start()].rpartition("\n")[2].lstrip().startswith(">")


def _before(text: str) -> str:
    """What leads over to a word: its line, and those before it where they run on into it."""
    above, _, line = text.rpartition("\n")
    while above and (_GOES_ON.search(above) or line[:1].islower()):
        above, _, more = above.rpartition("\n")
        line = f"{more} {line}"
    if not line.strip("*_`\"'#- \t") and above.rstrip().endswith((":", ",")):
        line = above.rstrip().rpartition("\n")[2].rstrip(":,") + " "
    return line
