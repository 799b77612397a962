"""How the answers of `webvoyager` are read: as published, by policy, and strictly.

As published, capital letters anywhere decide. Strictly, only a sentence that is a verdict and nothing else
is one: "Verdict: NOT SUCCESS. The agent did not click." is a failure, "the page says SUCCESS" says nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyrite.judges.baselines.base import unreadable
from pyrite.judges.parse import Parsed
from pyrite.records import Verdict

_MARKS = re.compile(r"[*`\"\u201c\u201d]+|(?<![^\W_])_+|_+(?![^\W_])")
"""Marks of Markdown; underscores inside of a name (`EXIT_SUCCESS`) are a part of it."""
_APART = re.compile(r"\bNOT[ \t]*\n[ \t]*SUCCESS\b")
_VALUE = (
    r"(?:(?P<no>not[ \t-]+success(?:ful)?|unsuccessful|failure|fail(?:ed)?)"
    r"|(?P<yes>success(?:ful)?)"
    r"|(?P<open>uncertain|unclear|unknown|undecided|partial(?:ly)?(?:[ \t-]+success(?:ful)?)?))"
)
_SO = r"(?:so|hence|thus|therefore|accordingly|consequently|overall|finally|in conclusion|to conclude)"
_NOUN = (
    r"(?:verdict|outcome|status|result|conclusion|answer|judge?ment|decision|assessment|evaluation"
    r"|rating|grade|ruling)"
)
_ECHO = r"(?:\W{1,6}success\W{1,6}or\W{1,6}(?:not[ \t]+success|failure)\)?)?"
"""The last line of the prompt, said once more before the verdict."""
_LABEL = (
    rf"(?:(?:my|your|our|the|own|final|overall|revised|task)\s+){{0,3}}{_NOUN}{_ECHO}"
    r"\s*(?:\bis\b|\bwas\b|[:=]|->|\u2192|[\u2013\u2014]|\s-\s)\s*:?\s*(?:an?\s+)?"
)
_IT_IS = r"(?:(?:it|this|that|(?:the|this)\s+(?:task|attempt|run))\s+(?:is|was)\s+(?:an?\s+)?)"
_RATE = (
    r"(?:(?:i|we)\s+(?:would\s+|do\s+|must\s+|will\s+)?(?:rate|judge|call|consider|classify|deem|label|mark|grade)"
    r"\s+(?:it|this|that|(?:the|this)\s+(?:task|attempt|run|result))\s+(?:as\s+)?(?:to\s+be\s+)?(?:an?\s+)?)"
)
_SAYING = rf"(?:{_SO}\W{{1,3}})?(?P<how>{_LABEL}|{_IT_IS}|{_RATE})?{_VALUE}"
_TAIL = r"(?P<tail>[.!\u2026]*|\s*(?:[,;(\u2013\u2014]|\s-\s|\b(?:because|since|as)\b).*)"
_CLAIM = re.compile(rf"(?:[-\u2022#]+\s*)?{_SAYING}{_TAIL}", re.IGNORECASE)
_LED_TO = re.compile(rf"(?P<first>.{{1,2000}}[,;])\s*{_SO}\b,?\s*{_SAYING}(?P<tail>[.!]*)", re.IGNORECASE)
"""A verdict that follows from the first part of its sentence."""
_LABEL_ALONE = re.compile(rf"[#\s]*(?:(?:my|your|the|final)\s+){{0,2}}{_NOUN}{_ECHO}\s*:?", re.IGNORECASE)
_HARMLESS = re.compile(
    r"\b(?:nothing\s+(?:else\s+)?(?:is|was|seems)\s+(?:missing|wrong|lost|left|changed)"
    r"|(?:nothing|none|(?:does|do)(?:\s+not|n['\u2019]t))\s+contradicts?"
    r"|(?:no|without(?:\s+any)?)\s+(?:errors?|problems?|issues?|warnings?))\b",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"\b(?:not|no|nope|non|never|none|nothing|neither|nor|cannot|without|hardly|barely|scarcely|nearly|almost"
    r"|if|unless|when|once|until|provided|assuming|supposing|were|had|could|might|may"
    r"|but|however|although|though|yet|except|apart|only|partial\w*|partly"
    r"|fail\w*|un(?:saved|met|done|finished|changed|clear|successful|determined|fulfilled|likely|able)"
    r"|miss(?:ing|es|ed)|incomplete|wrong|incorrect|empty|absent|lack\w*|false|fake|pending|disput\w+"
    r"|disagree\w*|disregard\w*|ignor\w+|jok\w+|kidding|reverse\w*|opposite|instead|rather|revis\w+"
    r"|correction|actually|wait|scratch|take\s+(?:it|that)\s+back|doubt\w*|den(?:y|ies|ied)|reject\w*|refus\w*"
    r"|claim\w*|says?|said|states?|stated|according|quot\w+|alleg\w+|suppos\w+|uncertain|criteri\w+)\b"
    r"|n['\u2019]?t\b|[?\u274c\u2717\u2718\u2610]",
    re.IGNORECASE,
)
"""What a success cannot stand beside in its sentence, or before it in what it follows from."""
_TOLD = re.compile(
    r"\b(?:cannot|refus\w+|declin\w+|tells?|told|demands?|asks?|asked|says?|said|reads?|shows?|showed|shown"
    r"|answer|write|writes|wrote|output|prints?|printed|announc\w+|ends?|not|never|no)\b|n['\u2019]?t\b",
    re.IGNORECASE,
)
"""Words in a line without an end that the next line may belong to."""
_SENTENCES = re.compile(r"(?<=[.!?])\s+")
_ENDED = (".", "!", "?", ")")


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


@dataclass(frozen=True)
class _Claim:
    """A sentence that is a verdict."""

    verdict: Verdict
    loud: bool
    """In capital letters, as the prompt asks for."""
    meant: bool
    """Nothing around it denies it, puts it into another mouth or takes it back."""


def strictly(text: str) -> Parsed:
    """The verdict in capital letters, where all sentences that are verdicts say the same and mean it.

    One that is denied, supposed, asked, quoted or taken back behind it is none.

    >>> strictly("so it is a SUCCESS").verdict.value, strictly("SUCCESS? NOT SUCCESS!").verdict.value
    ('success', 'failure')
    >>> strictly("Verdict: NOT SUCCESS. The agent did not click.").verdict.value
    'failure'
    >>> strictly("This is NOT A SUCCESS").status, strictly("It is **NOT** SUCCESS").verdict.value
    ('malformed', 'failure')
    """
    found = _claims(_APART.sub("NOT SUCCESS", _MARKS.sub("", text)))
    said = {one.verdict for one in found}
    if len(said) > 1:
        return unreadable("malformed", "it says two things")
    if not any(one.loud for one in found) or Verdict.UNCERTAIN in said:
        return unreadable("malformed", "there is no sentence that is a verdict in capital letters")
    if not all(one.meant for one in found):
        return unreadable("malformed", "a verdict stands in it that may be denied, supposed or quoted")
    return Parsed(said.pop(), "ok", text.strip()[:2000])


def _claims(text: str) -> list[_Claim]:
    lines = [line.strip() for line in text.split("\n")]
    lines = [line for line in lines if line and not line.startswith(">")]
    sentences = [(n, one) for n, line in enumerate(lines) for one in _SENTENCES.split(line)]
    found = []
    for at, (_, sentence) in enumerate(sentences):
        match = _CLAIM.fullmatch(sentence) or _LED_TO.fullmatch(sentence)
        if match is None:
            continue
        behind = " ".join([match["tail"], *(one for _, one in sentences[at + 1 :])])
        verdict = _verdict(match)
        word = match["no"] or match["yes"] or match["open"]
        if verdict is Verdict.SUCCESS:
            first = match.groupdict().get("first") or ""
            meant = not _denied(f"{first} {behind}") and _stands(lines, sentences, at, bool(match["how"]))
        else:
            meant = re.search(r"(?<!NOT )(?<!NOT-)\bSUCCESS", match["tail"]) is None
        found.append(_Claim(verdict, word.isupper(), meant))
    return found


def _verdict(match: re.Match[str]) -> Verdict:
    if match["open"]:
        return Verdict.UNCERTAIN
    return Verdict.FAILURE if match["no"] else Verdict.SUCCESS


def _denied(text: str) -> bool:
    return _AGAINST.search(_HARMLESS.sub(" ", text)) is not None


def _stands(lines: list[str], sentences: list[tuple[int, str]], at: int, labelled: bool) -> bool:
    """Whether what leads over to a sentence lets it be one of its own."""
    line = sentences[at][0]
    if at and sentences[at - 1][0] == line:
        before = sentences[at - 1][1]
        return labelled or (len(before.split()) > 2 and not _denied(before))
    above = lines[line - 1] if line else ""
    if not above or above.endswith(_ENDED) or _LABEL_ALONE.fullmatch(above) is not None:
        return True
    return labelled and not above.endswith(",") and _TOLD.search(above) is None
