"""Verdicts on lines of prose: which of them are the judge's own, and which only stand there.

A line is its own where it ends the answer, is not quoted, and nothing leads over to it: "the screen
shows:", "if it was saved,". Any other is a claim: never the verdict, and in its way where it differs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pyrite.judges.english import foreign
from pyrite.judges.found import Found
from pyrite.records import Verdict

WORDS: Mapping[str, Verdict] = {
    "success": Verdict.SUCCESS,
    "failure": Verdict.FAILURE,
    "uncertain": Verdict.UNCERTAIN,
    **dict.fromkeys(("successful", "pass", "passed"), Verdict.SUCCESS),
    **dict.fromkeys(("unsuccessful", "not successful", "fail", "failed"), Verdict.FAILURE),
}
"""Words of a verdict, without regard to case; any other, such as "partially", is out of vocabulary."""

TRIM = " \t\r\n*_`\"'.!#>\u201c\u201d"
_MARKS = " \t\r*_#>-"
_ALSO = (
    *("result", "conclusion", "answer", "judgement", "judgment", "decision", "assessment", "evaluation"),
    "success",
)
"""Words before what may be a verdict, though nobody asked for it there."""
_LABELLED = re.compile(
    r"(?:(?:my|final|overall|task)\s+){0,3}([a-z][a-z_ ]{0,30}?)\s?[*_`\"']{0,3}\s*[:=]\s*(\S.*)",
    re.IGNORECASE,
)
_MENTION = re.compile(
    r"\b(?:success|succe(?:ss|ed)\w*|fail\w*|unsuccess\w*|pass(?:ed)?|uncertain)\b", re.IGNORECASE
)
_CONDITION = re.compile(
    r"(?:if|when|unless|otherwise|else|suppos|assum|provided|in case|were|had|should)\w*\b", re.IGNORECASE
)
_ENDS = tuple(".!?)]…。！？*_`\"'\u201d|")


@dataclass(frozen=True)
class Spoken:
    """`label: value` on a line of its own."""

    label: str
    value: str


def word(text: str) -> str:
    """A text as a word of the vocabulary would stand there."""
    return " ".join(text.strip(TRIM).casefold().split()[:20])


def _split(line: str) -> Spoken | None:
    match = _LABELLED.fullmatch(line[:4000].strip(_MARKS))
    return None if match is None else Spoken(" ".join(match[1].casefold().split()), match[2])


_ALONE = re.compile(
    r"(?:(?:the|my|our|final|overall)\s+){0,3}"
    r"(?:verdict|answer|conclusion|result|outcome|decision|judge?ment|assessment|evaluation)"
    r"\s*[*_]{0,2}\s*(?:is|:|=)\s*[*_]{0,2}\s*(?:an?\s+)?(\S.{0,40})",
    re.IGNORECASE,
)
_HEAD = re.compile(r"(?:#{1,6}[ \t]*|\*\*)((?:(?:my|final|overall) )?\w{1,20})[:*]{0,4}[ \t]*", re.IGNORECASE)


def alone(prose: str, words: Mapping[str, Verdict]) -> Verdict | None:
    """The verdict of an answer that is one word of the vocabulary, or one line that says it is.

    >>> alone("Final Answer: failure", WORDS).value, alone("The verdict is failure.", WORDS).value
    ('failure', 'failure')
    """
    text = prose.strip()
    if (found := words.get(word(text))) is not None:
        return found
    line = _ALONE.fullmatch(text.strip(_MARKS))
    return None if line is None else words.get(word(line[1]))


def headed(prose: str, labels: Collection[str], words: Mapping[str, Verdict]) -> str:
    """The prose, where a heading of the judge's own and the one word below it at the end are a line.

    >>> headed("It is unsaved.\\n\\n## Verdict\\n\\n**failure**", ["verdict"], WORDS)
    'It is unsaved.\\n\\nverdict: failure'
    """
    rows = prose.rstrip().split("\n")
    lines = [at for at, line in enumerate(rows) if line.strip()][-2:]
    if len(lines) < 2:
        return prose
    head, last = _HEAD.fullmatch(rows[lines[0]].strip()[:80]), word(rows[lines[1]][:80])
    if head is None or head[1].split()[-1].casefold() not in labels or last not in words:
        return prose
    return "\n".join([*rows[: lines[0]], f"{head[1].split()[-1].casefold()}: {last}"])


def spoken(found: Found, labels: Collection[str], beside: Collection[str]) -> list[Spoken]:
    """The lines of these labels that end the answer, and of those that may stand beside them."""
    if first := _first(found.prose, labels, beside):
        return first
    own: list[Spoken] = []
    lines = found.prose.rstrip().split("\n")
    top = len(lines)
    for place in range(len(lines) - 1, -1, -1):
        if not lines[place].strip():
            continue
        one = None if lines[place].lstrip().startswith(">") else _split(lines[place])
        if one is None or one.label not in {*labels, *beside}:
            break
        own.append(one)
        top = place
    return [] if _leads_over(lines[:top]) else own[::-1]


def _first(prose: str, labels: Collection[str], beside: Collection[str]) -> list[Spoken]:
    """The line that begins an answer, where all that follows are reasons for it."""
    line, _, after = prose.strip().partition("\n")
    one = None if line.startswith(">") else _split(line)
    more = [other for text in after.split("\n") if (other := _split(text)) is not None]
    if one is None or one.label not in labels or any(other.label in {*labels, *_ALSO} for other in more):
        return []
    verdict = WORDS.get(word(one.value))
    if (
        verdict is None or foreign(after) or taken_back(after, verdict) or after[:1].islower()
    ):  # the sentence goes on
        return []
    return [one, *(other for other in more if other.label in beside)]


def _leads_over(lines: list[str]) -> bool:
    """Whether what comes before makes a quotation or a condition of what follows."""
    last = next((line for line in reversed(lines) if line.strip()), "").strip()
    if not last:
        return False
    bare = last.strip(_MARKS)
    if foreign(bare) or points(bare):
        return True
    if len(last) <= 200 and _HEADING.fullmatch(last):
        return _OF_JUDGE.search(bare) is None
    if bare.endswith((":", ",", "\uff1a", "=")) or "following" in bare.casefold() or _CONDITION.match(bare):
        return True
    apart = not lines[-1].strip()  # a blank line between
    if last.startswith(">"):  # what stands right behind a quotation goes on with it
        return not apart
    one = _split(last)
    if one is not None and one.label in _ALSO:
        return False
    if apart and not last.endswith(_ENDS):
        return _GOES_ON.search(bare) is not None
    return not (apart or last.endswith(_ENDS))


_HEADING = re.compile(r"#{1,6}\s.*|(\*\*|__).+\1:?|\[[^\]]*\]:?|=+.*=+|-{2,}.*-{2,}")
"""A line that names what stands below it: `## Page text`, `**The screen**`, `[screen]`."""
_OF_JUDGE = re.compile(
    r"\b(?:verdict|assess\w*|evaluation|judge?ments?|decision|conclusions?|final|summary|analysis|reason\w*"
    r"|rationale|explanation|answer|findings?|observations?|evidence|checks?|criteria|state|step)\b",
    re.IGNORECASE,
)
"""Words in the heading of what a judge says itself."""
_SOURCE = re.compile(
    r"\b(?:pages?|screens?|screenshots?|windows?|dialogs?|terminal|console|banner|popup|messages?|claims?"
    r"|documents?|web ?sites?|content|e-?mails?|agents?|files?|text)\b",
    re.IGNORECASE,
)
"""What words beside a verdict may be taken from, in a heading above them."""
_GOES_ON = re.compile(
    r"\b(?:with|as|by|in|on|of|at|to|for|from|is|are|was|were|the|an?|reads?|says?|shows?|states?|displays?"
    r"|ends?|begins?|prints?|wrote|writes?|contains?|holds?|carr(?:y|ies))$",
    re.IGNORECASE,
)
"""What a line that has no end ends with, where the sentence goes on below it."""
_POINTS = re.compile(
    r"\b(?:(?:this|these|the|that|those|following)\s+(?:text|words?|messages?|lines?|notes?|strings?|banner)"
    r"|this|these|below|as follows|verbatim)$"
    r"|^(?:the |an? |its |his )?"
    r"(?:claims?|messages?|texts?|words?|statement|notes?|quote|quotation|reply|report)"
    r"(?:\s+(?:of|by|from|on|in)\b[^.,;]*)?$",
    re.IGNORECASE,
)


_CLOSING = " \t.!?:;,*_`#\"'()"


def points(text: str) -> bool:
    """Whether the last sentence of a text points at what follows, and so makes it somebody else's.

    >>> points("It is an injection. The page carries this text."), points("The cell holds 4500.")
    (True, False)
    """
    return _POINTS.search(re.split(r"[.!?]\s", text[-400:].strip())[-1].rstrip(_CLOSING)) is not None


_ELSEWHERE = re.compile(
    r"\b(?:not|never|cannot|if|unless|were|had|would|could|might|examples?|instance|e\.g|such as|format"
    r"|schema|template|agents?|on (?:the|its) screen|terminal|message|dialog|prompt|injection"
    r"|says?|said|saying|shows?|showed|showing|wrote|writes|written|reads?|claims?|claimed|prints?|printed"
    r"|displays?|displayed|contains?|quotes?|quoted|outputs|returns?|returned|instead of|rather than)\b"
    r"|n['\u2019]t\b",
    re.IGNORECASE,
)
"""Words that make of what follows somebody else's, or nobody's."""
_BACK = (
    r"but|however|actually|wait|instead|correction|correct(?:ed|ing)?|revis\w*|on second"
    r"|although|though|ignore|trick|scratch (?:that|this|it)|back|on reflection|edit|opposite|kidding|page"
    r"|demand\w*"
)
_NOT = r"not|never|no|none|nothing|cannot|wrong|incorrect|missing|\w+n['\u2019]t"
_UNDONE = r"incomplete|un(?:saved|changed|finished|done|solved)|remain\w*|still|lost|empty"
_AGAINST = {
    Verdict.SUCCESS: rf"fail\w*|unsuccess\w*|uncertain|{_NOT}|{_UNDONE}|false|f",
    Verdict.FAILURE: r"success\w*|succeed\w*|pass(?:ed)?|uncertain|true|as (?:asked|required|expected)",
    Verdict.UNCERTAIN: r"success\w*|succeed\w*|fail\w*|unsuccess\w*|pass(?:ed)?",
}


_NEGATED = re.compile(
    r"(?:\b(?:not|no|without|never|cannot)|n['\u2019]t)\s+(?:(?:a|yet|been|be|really|fully)\s+){0,2}"
    r"(success\w*|succeed\w*|pass(?:ed)?)\b",
    re.IGNORECASE,
)
_CRITERIA = re.compile(
    r"\b(?:success|failure|pass)[- ](?:criteri\w+|conditions?|requirements?)"
    r"|\b(?:criteri\w+|conditions?|requirements?) (?:for|of) (?:success|failure)\b",
    re.IGNORECASE,
)
_STATES = {
    Verdict.SUCCESS: r"fail\w*|unsuccess\w*|uncertain",
    Verdict.FAILURE: r"success\w*|succeed\w*|pass(?:ed)?|uncertain",
    Verdict.UNCERTAIN: r"success\w*|succeed\w*|fail\w*|unsuccess\w*|pass(?:ed)?",
}


_ATTRIBUTED = re.compile(
    r"\b(?:agent|assistant|message)(?:['\u2019]s (?:final )?message)?\s+"
    r"(?:claim\w*|sa(?:id|ys)|report\w*|assert\w*|announc\w*|declar\w*)\s+(?:that\s+)?"
    r"(?:it (?:is|was) (?:a )?)?success\b",
    re.IGNORECASE,
)
"""A success that somebody else speaks of: no word of the judge's against a failure."""
_CROSS = re.compile("[\u274c\u2717\u2718\U0001f44e\U0001f6ab]")
_TICK = re.compile("^[ \t]*[\u2705\u2713\u2714\U0001f44d]\ufe0f?[ \t]*$", re.MULTILINE)


def contradicts(prose: str, verdict: Verdict) -> bool:
    """Whether words beside an object hold a word of another verdict; success and failure are treated alike.

    >>> [contradicts(text, Verdict.FAILURE) for text in ("It claims success.", "It was not successful.")]
    [True, False]
    """
    if verdict != Verdict.FAILURE and _CROSS.search(prose):
        return True
    if verdict == Verdict.FAILURE:
        if _TICK.search(prose):
            return True
        prose = _ATTRIBUTED.sub("", prose)
    bare = _NEGATED.sub("failure", _CRITERIA.sub("", prose))
    return re.search(rf"\b(?:{_STATES.get(verdict, 'x^')})\b", bare, re.IGNORECASE) is not None


_ELEMENT = re.compile(
    r"</?(?!(?:answer|json|output|final|response|result|solution)\b)[a-z][\w:-]*\s*>|<!--|-->", re.IGNORECASE
)
_OWN = re.compile(
    r"\b(?:answer|verdict|evaluation|judg\w+|json|conclusion|assess\w*|decision|response|result|output"
    r"|therefore|thus|so|hence|final|here)\b",
    re.IGNORECASE,
)


def aside(before: str, after: str, *, strict: bool = True) -> bool:
    """Whether an object stands in a sentence, a list, a table or an element, or under somebody's heading."""
    here, there = before.rpartition("\n")[2].strip(), after.partition("\n")[0].strip()
    if re.match(r"\W*[a-z]|\W*[|~<`]", there.replace("```", "")) or re.search(
        r"[<|`~]|^(?:[-*+]|\d+[.)])\s", here.replace("```json", "").replace("```", "")
    ):
        return True
    above = [
        line.strip(" \t*_#") for line in before.split("\n") if not line.lstrip().startswith(("```", "~~~"))
    ]
    below = [line.strip() for line in after.split("\n") if not line.lstrip().startswith(("```", "~~~"))]
    last, following = (next(filter(None, lines), "") for lines in (above[::-1], below))
    if _ELEMENT.search(last) or _ELEMENT.fullmatch(following):
        return True
    leading = re.split(r"[.!?]\s", last)[-1]
    if here and strict and _GOES_ON.search(leading) and _OWN.search(leading) is None:
        return True
    return leading.endswith((":", "\uff1a")) and _OWN.search(leading) is None


_BORNE_OUT = re.compile(
    r"\b(?:but|however|although|though)\b(?=[^.!?\n]{0,200}(?:\b(?:unsaved|unchanged|unfinished|incomplete|empty)\b"
    r"|(?:\bnot|\bnever|n['\u2019]t)\s+(?:\w+\s+)?"
    r"(?:saved|written|persisted|stored|committed|applied|submitted|done|changed|set)\b))",
    re.IGNORECASE,
)
"""What leads from a claim to what is wrong with it."""
_QUOTED = re.compile(r"\"[^\"]*\"|\u201c[^\u201d]*\u201d|`[^`]*`|(?<!\w)'[^']*'(?!\w)")
_CONCLUDES = re.compile(
    r"\b(?:(?:verdict|answer|conclusion|judge?ment|outcome|result)\s+(?:is|was|should be|must be|has to be)"
    r"|hence|therefore|thus|so|i conclude|i judge|conclusion)\b[:,]?\s+"
    r"(?:(?:the|this|that|it|task|is|was|has|an?|as|i|judge|say|conclude|it's|overall|clear(?:ly)?)\s+){0,6}"
    r"(success|successful|succeeded|passed|fail(?:ed|ure)?|unsuccessful|uncertain)\s*(?:[.!;)]|$)",
    re.IGNORECASE | re.MULTILINE,
)
_CONCLUDED = {
    **dict.fromkeys(("success", "successful", "succeeded", "passed"), Verdict.SUCCESS),
    **dict.fromkeys(("fail", "failed", "failure", "unsuccessful"), Verdict.FAILURE),
    "uncertain": Verdict.UNCERTAIN,
}


def concludes_other(reason: str, verdict: Verdict) -> bool:
    """Whether a reason ends up, in so many words and outside of quotation marks, at another verdict.

    >>> concludes_other("It is unsaved, hence failure.", Verdict.SUCCESS)
    True
    >>> concludes_other("The page says 'so the task failed'. It is saved.", Verdict.SUCCESS)
    False
    """
    found = _CONCLUDES.findall(_QUOTED.sub(" ", reason))
    return bool(found) and _CONCLUDED[found[-1].casefold()] != verdict


def taken_back(after: str, verdict: Verdict) -> bool:
    """Whether what follows a verdict speaks against it, or may."""
    if verdict == Verdict.FAILURE:  # "the agent claimed success, but it was never saved" bears it out
        after = _BORNE_OUT.sub(" ", _ATTRIBUTED.sub(" ", after))
    against = rf"\b(?:{_BACK}|{_AGAINST.get(verdict, _NOT)})\b"
    return re.search(against, after, re.IGNORECASE) is not None


def of_another(before: str) -> bool:
    """Whether the words that lead over to an object make a quotation, a condition or an example of it."""
    lines = [
        line for line in before.split("\n") if line.strip() and not line.lstrip().startswith(("```", "~~~"))
    ]
    here = before.rpartition("\n")[2]
    if here.lstrip().startswith(">"):
        return True
    last = lines[-1].strip() if lines else ""
    if points(last):
        return True
    if len(last) <= 200 and _HEADING.fullmatch(last):
        return _SOURCE.search(last) is not None and _OF_JUDGE.search(last) is None
    if not here.strip() and last.endswith((".", "!", "?", "\u3002")):
        return False
    return _ELSEWHERE.search(re.split(r"[.!?]\s", last)[-1]) is not None


def claims(prose: str, labels: tuple[str, ...], words: Mapping[str, Verdict]) -> list[Verdict | None]:
    """What each line with a label says, wherever it stands; None where that is not clear."""
    found: list[Verdict | None] = []
    for line in prose.split("\n"):
        one = _split(line)
        if one is None and (bare := words.get(word(line))) is not None:
            found.append(bare)
        if one is None or one.label not in {*labels, *_ALSO}:
            continue
        verdict = words.get(word(one.value))
        if verdict is not None:
            found.append(verdict)
        elif one.label in labels and (one.label == labels[0] or _MENTION.search(one.value)):
            found.append(None)
    return found
