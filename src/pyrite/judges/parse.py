"""Read a judge's verdict out of what a model answered.

    parsed = parse(text, finish=response.finish_reason)
    parsed.verdict, parsed.status        # (Verdict.FAILURE, 'ok')
    parsed.reply()

An answer that cannot be read is data with a status of its own, never a failure and never a 0: it counts as
parse_error. Nothing is repaired and nothing is guessed: what a model thinks aloud before its answer is not
its answer, and two objects with a verdict are none, nor are two lines that differ.

    malformed    empty, prose, two objects, a tool call, invalid UTF-8: there is no answer to read
    off_schema   there is one, of another type or in other words than were asked for
    truncated    cut off        refused   the model would not

A verdict is read from JSON objects, alone, in fences or in prose; else from a line such as
`Verdict: success`; else from an answer that is nothing but a word of the vocabulary.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyrite.judges.base import Reply
from pyrite.records import Status, Verdict

MAX_TEXT = 200_000
"""Characters of an answer above which it is not read."""
MAX_OBJECTS = 64
"""JSON objects, and what looks like one, that are read in one answer."""
MAX_REASON = 2000

WORDS: Mapping[str, Verdict] = {
    "success": Verdict.SUCCESS,
    "failure": Verdict.FAILURE,
    "uncertain": Verdict.UNCERTAIN,
    **dict.fromkeys(("successful", "pass", "passed"), Verdict.SUCCESS),
    **dict.fromkeys(("unsuccessful", "not successful", "fail", "failed"), Verdict.FAILURE),
}
"""Words of a verdict, without regard to case; any other, such as "partially", is out of vocabulary."""

_REASONS = ("reason", "reasoning", "explanation", "rationale", "thoughts")
_STOPPED: Mapping[str, tuple[Status, str]] = {
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens"), ("truncated", "it was cut off")),
    **dict.fromkeys(("content_filter", "refusal"), ("refused", "the model was stopped")),
    **dict.fromkeys(("tool_calls", "tool_use", "function_call"), ("malformed", "it called a tool")),
}
"""Why a model stopped, as endpoints say it, where that is no answer."""
_THOUGHT = re.compile(r"<(?:think|thinking|reasoning|scratchpad)>", re.IGNORECASE)
_THOUGHT_ENDS = re.compile(r"</(?:think|thinking|reasoning|scratchpad)>", re.IGNORECASE)
_TOOL_TAG = re.compile(r"<(?:tool_call|function_call|invoke)\b|<\|(?:tool|python_tag)", re.IGNORECASE)
_TOOL_KEYS = ({"name", "arguments"}, {"tool", "arguments"}, {"tool", "input"}, {"tool_calls"}, {"tool_call"})
_REFUSAL = re.compile(
    r"\b(?:i\s+(?:cannot|can\s+not|can['\u2019]t|am\s+unable\s+to|am\s+not\s+able\s+to|won['\u2019]t)"
    r"|i['\u2019]m\s+(?:unable|not\s+able)\s+to)\s+(?:\w+\s+){0,3}?"
    r"(?:evaluate|assess|judge|determine|help|assist|comply|provide|answer|verify|do\s+that)\b"
    r"|\bi\s*['\u2019]?\s?a?m\s+sorry\b",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$", re.MULTILINE)
_BRACES = re.compile(r'["{}]|\\.', re.DOTALL)
_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(?:\.[0-9]{1,15})?")
_TRIM = " \t\r\n*_`\"'.!#>\u201c\u201d"


@dataclass(frozen=True)
class Format:
    """What a judge was asked to answer."""

    keys: tuple[str, ...] = ("verdict", "outcome", "success")
    """Keys of a verdict in an object; all that are there must say the same."""
    labels: tuple[str, ...] = ("verdict", "outcome", "status")
    """Words before a verdict on a line of its own; the first that is there decides."""
    words: Mapping[str, Verdict] = field(default_factory=lambda: WORDS)
    """In small letters."""
    score_keys: tuple[str, ...] = ()
    """Keys and labels of a score; where there are any, it must be there, and a verdict may be left out."""
    score_range: tuple[float, float] = (0.0, 1.0)
    strict: bool = False
    """A verdict is a word, a score and a confidence are numbers, a reason is text: else it is off_schema.
    Where this is off, a verdict may be true or false, a score a number in quotes, and what is wrong with
    confidence or reason leaves them out."""


@dataclass(frozen=True)
class Parsed:
    """What an answer says; `verdict` is parse_error exactly where `status` is not ok."""

    verdict: Verdict | None
    status: Status
    reason: str = ""
    """The model's own; for an answer that cannot be read, what is wrong with it."""
    score: float | None = None
    confidence: float | None = None
    """None where none was given, or none in [0, 1]."""

    def reply(self, *, usage: Mapping[str, Any] | None = None, raw: str | None = None) -> Reply:
        """The reply of a judge that got this answer."""
        return Reply(
            self.verdict, self.reason, self.score, self.confidence, self.status, dict(usage or {}), raw
        )


def parse(
    text: str | None,
    *,
    finish: str | None = None,
    tool_calls: bool = False,
    refusal: str | None = None,
    defect: str | None = None,
    form: Format | None = None,
) -> Parsed:
    """Read one answer; never raises for what it holds.

    `finish` is why the model stopped, in its endpoint's word; `tool_calls` whether it called a tool;
    `refusal` what it said instead of an answer; `defect` what is wrong with the bytes of the answer.

    >>> parse('I looked. {"verdict": "failure", "reason": "not saved"}').verdict.value
    'failure'
    >>> parse('{"verdict": "succ').status, parse("I cannot evaluate this.").status
    ('truncated', 'refused')
    >>> parse('{"verdict": "partially"}').reason
    "verdict is 'partially', expected one of success, failure, uncertain"
    """
    form, text = form or Format(), text or ""
    if refusal is not None:
        return _none("refused", _text(refusal.strip()) or "the model refused")
    if defect is not None:
        return _none("malformed", defect)
    stopped = _STOPPED["tool_calls"] if tool_calls else _STOPPED.get((finish or "").lower())
    if stopped is not None:
        return _none(*stopped)
    if len(text) > MAX_TEXT:
        return _none("malformed", f"it has more than {MAX_TEXT} characters")
    ends = [match.end() for match in _THOUGHT_ENDS.finditer(text)]
    said = text[ends[-1] :] if ends else text
    if _THOUGHT.search(said):
        return _none("truncated", "it ends in the middle of its thoughts")
    if not said.strip():
        return _none("malformed", "there are thoughts and no answer" if text.strip() else "it is empty")
    found = _look(said)
    if found.cut:
        return _none("truncated", "it ends inside of a JSON object")
    return _from_objects(found.objects, form) or _from_lines(found.prose, form) or _unreadable(said, found)


def _none(status: Status, reason: str) -> Parsed:
    return Parsed(Verdict.PARSE_ERROR, status, reason[:MAX_REASON])


# --- what is in an answer ----------------------------------------------------------------------


class _Object(dict[str, Any]):
    """A JSON object; `repeated` are the keys that stand in it twice."""

    repeated: tuple[str, ...] = ()


@dataclass
class _Found:
    objects: list[_Object] = field(default_factory=list)
    prose: str = ""
    """Everything else, without what looked like an object."""
    broken: bool = False
    """Whether something looked like an object and was none."""
    cut: bool = False
    """Whether the answer ends inside of an object."""


def _pairs(items: list[tuple[str, Any]]) -> _Object:
    body = _Object((key.strip().casefold(), value) for key, value in items)
    keys = [key.strip().casefold() for key, _ in items]
    body.repeated = (
        tuple(dict.fromkeys(key for key in keys if keys.count(key) > 1)) if len(keys) < 100 else ()
    )
    return body


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, strict=False)


def _look(said: str) -> _Found:
    found = _Found()
    parts = _FENCE.split(said)
    for number, part in enumerate(parts):
        _look_in(part, found, last=number == len(parts) - 1)
    return found


def _look_in(part: str, found: _Found, *, last: bool) -> None:
    at, prose = 0, []
    for _ in range(MAX_OBJECTS):
        start = part.find("{", at)
        if start < 0:
            break
        prose.append(part[at:start])
        body, at = _object_at(part, start)
        if at < 0:
            found.cut, found.broken, at = found.cut or last, True, len(part)
        elif body is None:
            found.broken = True
        else:
            found.objects.append(body)
    prose.append(part[at:].partition("{")[0])
    found.prose += "\n" + "".join(prose)


def _object_at(part: str, start: int) -> tuple[_Object | None, int]:
    """The object that begins there and where it ends; None for what is none, -1 where it does not end."""
    try:
        body, end = _DECODER.raw_decode(part, start)
    except (ValueError, RecursionError):
        return None, _closing(part, start)
    return (body if isinstance(body, _Object) else None), end


def _closing(part: str, start: int) -> int:
    """Behind the brace that closes the one at `start`; -1 where none does. Nothing inside is looked at."""
    depth, inside = 0, False
    for match in _BRACES.finditer(part, start):
        sign = match[0]
        if sign == '"':
            inside = not inside
        elif not inside and sign in "{}":
            depth += 1 if sign == "{" else -1
            if depth == 0:
                return match.end()
    return -1


# --- what it says ------------------------------------------------------------------------------


class _OffSchema(ValueError):
    """Something is there and is not what was asked for."""


def _from_objects(objects: list[_Object], form: Format) -> Parsed | None:
    keys = {*form.keys, *form.score_keys}
    answers = [body for body in objects if keys & body.keys()]
    if not answers:
        acts = any(wanted <= body.keys() for body in objects for wanted in _TOOL_KEYS)
        return _none("malformed", "it called a tool") if acts else None
    if len(answers) > 1:
        return _none("malformed", f"there are {len(answers)} objects with an answer")
    try:
        verdict = _only([_verdict(key, value, form) for key, value in _values(answers, form.keys)])
        score = _only([_score(key, value, form) for key, value in _values(answers, form.score_keys)])
        if form.strict:
            _refuse_other_types(answers[0])
        return _whole(verdict, score, form, _reason(answers), _confidence(answers))
    except _OffSchema as exc:
        return _none("off_schema", str(exc))


def _refuse_other_types(body: _Object) -> None:
    wrong = [key for key in _REASONS if key in body and not isinstance(body[key], str)]
    if wrong:
        raise _OffSchema(f"{wrong[0]} is {_shown(body[wrong[0]])}, expected text")
    if "confidence" in body and _confidence([body]) is None:
        raise _OffSchema(f"confidence is {_shown(body['confidence'])}, expected a number from 0 to 1")


def _values(answers: list[_Object], keys: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for body in answers:
        for key in keys:
            if key in body.repeated:
                raise _OffSchema(f"{key} stands twice in one object")
            if key in body:
                yield key, body[key]


def _whole(
    verdict: Verdict | None, score: float | None, form: Format, reason: str, confidence: float | None
) -> Parsed:
    if form.score_keys and score is None:
        raise _OffSchema(f"there is no {form.score_keys[0]}")
    if not form.score_keys and verdict is None:
        raise _OffSchema(f"there is no {form.keys[0]}")
    return Parsed(verdict, "ok", reason, score, confidence)


def _only(found: list[Any]) -> Any:
    """The one value; None for none; what differs is no value."""
    if len(set(found)) > 1:
        raise _OffSchema("it says two things: " + ", ".join(dict.fromkeys(map(str, found))))
    return found[0] if found else None


def _verdict(key: str, value: Any, form: Format) -> Verdict:
    if isinstance(value, bool) and not form.strict:
        return Verdict.SUCCESS if value else Verdict.FAILURE
    verdict = form.words.get(_word(value)) if isinstance(value, str) else None
    if verdict is None:
        known = ", ".join(dict.fromkeys(verdict.value for verdict in form.words.values()))
        raise _OffSchema(f"{key} is {_shown(value)}, expected one of {known}")
    return verdict


def _score(key: str, value: Any, form: Format, *, in_line: bool = False) -> float:
    low, high = form.score_range
    number = math.nan
    quoted = isinstance(value, str) and (in_line or not form.strict)
    if quoted and _NUMBER.fullmatch(value.strip(_TRIM)):
        number = float(value.strip(_TRIM))
    elif isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool)):
        number = float(value) if abs(value) < 1e300 else math.inf
    if not low <= number <= high:
        raise _OffSchema(f"{key} is {_shown(value)}, expected a number from {low:g} to {high:g}")
    return number


def _confidence(answers: list[_Object]) -> float | None:
    given = [body["confidence"] for body in answers if "confidence" in body]
    value = given[0] if len(given) == 1 else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return float(value)


def _reason(answers: list[_Object]) -> str:
    given = (body.get(key) for key in _REASONS for body in answers)
    return next((_text(value)[:MAX_REASON] for value in given if isinstance(value, str)), "")


def _from_lines(prose: str, form: Format) -> Parsed | None:
    alone = form.words.get(_word(prose)) if len(prose) < 200 else None
    try:
        scores = _labelled(prose, form.score_keys)
        score = _only([_score(key, value, form, in_line=True) for key, value in scores])
        labelled = [_verdict(key, value, form) for key, value in _labelled(prose, form.labels)]
        verdict = _only(labelled) if labelled else alone
        if verdict is None and score is None:
            return None
        return _whole(verdict, score, form, _text(prose.strip())[:MAX_REASON] if alone is None else "", None)
    except _OffSchema as exc:
        return _none("off_schema", str(exc))


def _labelled(prose: str, labels: tuple[str, ...]) -> list[tuple[str, str]]:
    """(label, value) of each line of the first label that is there."""
    lines = [line.strip(" \t\r*_#>-") for line in prose.split("\n")]
    for label in labels:
        start = re.compile(rf"(?:final\s+)?{re.escape(label)}[*_`\"']{{0,3}}\s*[:=]\s*(\S.*)", re.IGNORECASE)
        found = [(label, match[1]) for line in lines if (match := start.fullmatch(line))]
        if found:
            return found
    return []


def _unreadable(said: str, found: _Found) -> Parsed:
    if _TOOL_TAG.search(said):
        return _none("malformed", "it called a tool")
    if _REFUSAL.search(said):
        return _none("refused", _text(said.strip()))
    if found.objects:
        return _none("off_schema", "its JSON has no verdict")
    if found.broken:
        return _none("malformed", "its JSON cannot be read")
    return _none("malformed", f"there is no verdict in it: {_shown(said.strip())}")


def _word(text: str) -> str:
    return " ".join(text.strip(_TRIM).casefold().split()[:20])


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return repr(_text(value[:81])[:80])
    return json.dumps(value)[:80] if isinstance(value, bool | float | None) else f"a {type(value).__name__}"


def _text(text: str) -> str:
    """Without the lone surrogates that no file can hold."""
    return text.encode("utf-8", "replace").decode()
