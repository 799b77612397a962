"""Read a judge's verdict out of what a model answered.

    parsed = parse(text, finish=response.finish_reason)
    parsed.verdict, parsed.status        # (Verdict.FAILURE, 'ok')
    parsed.reply()

An answer that cannot be read is data with a status of its own, never a failure and never a 0: it counts as
parse_error. Nothing is repaired and nothing is guessed: what a model thinks aloud before its answer is not
its answer, and two objects with a verdict are none, nor is what can be read in two ways: a line against an
object, a broken object beside a whole one, a verdict that may be a quotation or hang on a condition.

    malformed    empty, prose, two objects, a tool call, invalid UTF-8: there is no answer to read
    off_schema   there is one, of another type or in other words than were asked for
    truncated    cut off        refused   the model would not

A verdict is read from JSON objects, alone, in fences or in prose; else from a line such as
`Verdict: success` that ends the answer, with none but the lines of its reason and confidence behind it;
else from an answer that is nothing but a word of the vocabulary.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyrite.judges.base import Reply
from pyrite.judges.english import foreign
from pyrite.judges.found import Found, Object, Unsaid, look, said
from pyrite.judges.spoken import (
    TRIM,
    WORDS,
    Spoken,
    alone,
    aside,
    claims,
    concludes_other,
    contradicts,
    headed,
    of_another,
    spoken,
    taken_back,
    word,
)
from pyrite.records import Status, Verdict

MAX_TEXT = 200_000
"""Characters of an answer above which it is not read."""
MAX_REASON = 2000

_ALSO = (
    *("verdict", "outcome", "success", "result", "final", "answer", "conclusion", "decision"),
    *("judgement", "judgment"),
)
"""Keys of what may be a verdict, though nobody asked for it there."""
_ASKS = re.compile(
    r"(?:^|_|\b)(?:success\w*|succeeded|passed|completed?|correct|achieved|done|(fail\w*))(?:_|\b|$)"
)
"""Keys that ask whether it is a success, or (the group) a failure."""
_YES = {
    **dict.fromkeys(("true", "yes", "1", "1.0"), True),
    **dict.fromkeys(("false", "no", "0", "0.0"), False),
}
_REASONS = ("reason", "reasoning", "explanation", "rationale", "thoughts")
_BESIDE = {"score", "confidence", "rating", "grade", *_REASONS}
"""Keys of an object that may be another answer, though it has no verdict."""
_STOPPED: Mapping[str, tuple[Status, str]] = {
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens"), ("truncated", "it was cut off")),
    "error": ("truncated", "its endpoint broke off"),
    **dict.fromkeys(("content_filter", "refusal"), ("refused", "the model was stopped")),
    **dict.fromkeys(("tool_calls", "tool_use", "function_call"), ("malformed", "it called a tool")),
}
"""Why a model stopped, as endpoints say it, where that is no answer."""
_TOOL_TAG = re.compile(r"<(?:tool_call|function_call|invoke)\b|<\|(?:tool|python_tag)", re.IGNORECASE)
_TOOL_KEYS = ({"name", "arguments"}, {"tool", "arguments"}, {"tool", "input"}, {"tool_calls"}, {"tool_call"})
_REFUSAL = re.compile(
    r"\b(?:i\s+(?:cannot|can\s+not|can['\u2019]t|am\s+unable\s+to|am\s+not\s+able\s+to|won['\u2019]t)"
    r"|i['\u2019]m\s+(?:unable|not\s+able)\s+to)\s+(?:\w+\s+){0,3}?"
    r"(?:evaluate|assess|judge|determine|help|assist|comply|provide|answer|verify|do\s+that)\b"
    r"|\bi\s*['\u2019]?\s?a?m\s+sorry\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(?:\.[0-9]{1,15})?")


@dataclass(frozen=True)
class Format:
    """What a judge was asked to answer."""

    keys: tuple[str, ...] = ("verdict", "outcome", "success")
    """Keys of a verdict in an object; all that are there must say the same."""
    labels: tuple[str, ...] = ("verdict", "outcome", "status")
    """Words before a verdict on a line of its own, at the end of an answer; the first that is there decides,
    and what the others say must agree."""
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
    nothing = unanswered(text, finish=finish, tool_calls=tool_calls, refusal=refusal, defect=defect)
    if nothing is not None:
        return nothing
    try:
        answer, before = said(text)
    except Unsaid as exc:
        return _none("truncated" if exc.cut else "malformed", str(exc))
    parsed = _read(answer, form)
    if parsed.status == "ok" and before and _differs(before, parsed, form):
        return _none("malformed", "it says something else before the end of its thoughts, which never began")
    return parsed


def unanswered(
    text: str | None,
    *,
    finish: str | None = None,
    tool_calls: bool = False,
    refusal: str | None = None,
    defect: str | None = None,
) -> Parsed | None:
    """What is wrong with an answer before a word of it is read; None where there is something to read."""
    if refusal is not None:
        return _none("refused", _text(refusal.strip()) or "the model refused")
    if defect is not None:
        return _none("malformed", defect)
    stopped = _STOPPED["tool_calls"] if tool_calls else _STOPPED.get((finish or "").lower())
    if stopped is not None:
        return _none(*stopped)
    if len(text or "") > MAX_TEXT:
        return _none("malformed", f"it has more than {MAX_TEXT} characters")
    if not (text or "").strip():
        return _none("malformed", "it is empty")
    return None


def _read(answer: str, form: Format) -> Parsed:
    found = look(answer)
    found.prose = headed(found.prose, form.labels, form.words)
    if found.many:
        return _none("malformed", "it has too many JSON objects")
    if found.cut:
        return _none("truncated", "it ends inside of a JSON object")
    parsed = _from_objects(found.objects, form) or _from_lines(answer, found, form)
    if parsed is None:
        return _unreadable(answer, found, form)
    return _undisputed(parsed, found, form) if parsed.status == "ok" else parsed


def _undisputed(parsed: Parsed, found: Found, form: Format) -> Parsed:
    """The verdict, where nothing else in the answer can be read as another one."""
    if _TOOL_TAG.search(found.prose):
        return _none("malformed", "it called a tool")
    if any(_looks_like_one(piece, form) for piece in found.broken):
        return _none("malformed", "a JSON object that cannot be read stands beside its verdict")
    inner: list[Verdict] = []
    for body, (before, after) in zip(found.objects, found.around, strict=True):
        if not _keys(form) & body.keys():
            inner += _inside([body], form)
            if form.strict and _BESIDE & body.keys():
                return _none("malformed", "another object that may be an answer stands beside its verdict")
        elif foreign(_beside(before)) or foreign(after):
            return _none("off_schema", "what stands beside its verdict is in no language that is read here")
        elif (
            aside(before, after, strict=form.strict)
            or of_another(before)
            or (parsed.verdict is not None and taken_back(after, parsed.verdict))
        ):
            return _none("malformed", "a verdict stands in it where it may be a quotation, or is taken back")
        elif parsed.verdict is not None and contradicts(f"{before}\n{after}", parsed.verdict):
            return _none("malformed", "the words beside its verdict state another one")
        elif form.strict:
            others = {key: value for key, value in body.items() if key not in form.keys}
            inner += [*_inside([others], form), *_stated(others, form)]
    if form.strict and parsed.verdict is not None and concludes_other(parsed.reason, parsed.verdict):
        return _none("malformed", "its reason concludes another verdict than it gives")
    said_too = [*claims(found.prose, form.labels, form.words), *inner]
    if parsed.verdict is not None and any(other != parsed.verdict for other in said_too):
        return _none("malformed", "it says two things")
    return parsed


def _beside(before: str) -> str:
    """The last line of words that leads over to an object."""
    lines = [line.strip(" \t`~") for line in before.split("\n")]
    return next((line for line in reversed(lines) if line and line.casefold() != "json"), "")


def _differs(before: str, parsed: Parsed, form: Format) -> bool:
    """Whether a text has a verdict, or what looks like one, other than this."""
    found = look(before)
    other = _read(before, form)
    if other.status == "ok":
        return (other.verdict, other.score) != (parsed.verdict, parsed.score)
    hints = [_keys(form) & body.keys() or list(_inside(body, form)) for body in found.objects]
    unsure = any(_looks_like_one(piece, form) for piece in found.broken) or found.many
    return unsure or any(hints) or bool(claims(found.prose, form.labels, form.words))


def _meant(value: Any, form: Format) -> Iterator[Verdict]:
    """The verdict of a value that may be meant as one."""
    if isinstance(value, bool):
        yield Verdict.SUCCESS if value else Verdict.FAILURE
    elif isinstance(value, str) and (verdict := form.words.get(word(value))) is not None:
        yield verdict


def _keys(form: Format) -> set[str]:
    return {*form.keys, *form.score_keys}


def _looks_like_one(piece: str, form: Format) -> bool:
    """Whether what is no JSON may be meant as an answer."""
    small = piece.casefold()
    return re.match(r"\{\s*[\"']", piece) is not None or any(key in small for key in _keys(form))


def _inside(value: Any, form: Format, depth: int = 0) -> Iterator[Verdict]:
    """Verdicts in the objects inside of an object."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inner if depth < 20 else ():
        if isinstance(one, dict):
            for key in one:
                if key in form.keys or key in _ALSO or key.endswith("verdict"):
                    yield from _meant(one[key], form)
                    if isinstance(one[key], dict):  # {"my_verdict": {"value": "failure"}}
                        yield from (found for value in one[key].values() for found in _meant(value, form))
        yield from _inside(one, form, depth + 1)


def _stated(others: Mapping[str, Any], form: Format) -> Iterator[Verdict]:
    """Verdicts under other keys of an answer: a word of the vocabulary, or yes or no to a success."""
    for key, value in others.items():
        verdict = form.words.get(word(value)) if isinstance(value, str) else None
        if key in _REASONS:
            continue
        if verdict is not None:
            yield verdict
        elif (asks := _ASKS.search(key)) is not None and not isinstance(value, dict | list):
            yes = _YES.get(str(value).strip(TRIM).casefold())
            if yes is not None:
                yield Verdict.SUCCESS if yes == (asks[1] is None) else Verdict.FAILURE


def _none(status: Status, reason: str) -> Parsed:
    return Parsed(Verdict.PARSE_ERROR, status, reason[:MAX_REASON])


# --- what it says ------------------------------------------------------------------------------


class _OffSchema(ValueError):
    """Something is there and is not what was asked for."""


def _from_objects(objects: list[Object], form: Format) -> Parsed | None:
    keys = _keys(form)
    answers = [body for body in objects if keys & body.keys()]
    acts = any(wanted <= body.keys() for body in answers or objects for wanted in _TOOL_KEYS)
    if acts:
        return _none("malformed", "it called a tool")
    if not answers:
        return None
    if len(answers) > 1:
        return _none("malformed", f"there are {len(answers)} objects with an answer")
    try:
        verdict = _only([_verdict(key, value, form) for key, value in _values(answers, form.keys)])
        score = _only([_score(key, value, form) for key, value in _values(answers, form.score_keys)])
        if form.strict and answers[0].repeated:
            raise _OffSchema(f"{answers[0].repeated[0]} stands twice in one object")
        if form.strict:
            _refuse_other_types(answers[0])
        return _whole(verdict, score, form, _reason(answers), _confidence(answers))
    except _OffSchema as exc:
        return _none("off_schema", str(exc))


def _refuse_other_types(body: Object) -> None:
    wrong = [key for key in _REASONS if key in body and not isinstance(body[key], str)]
    if wrong:
        raise _OffSchema(f"{wrong[0]} is {_shown(body[wrong[0]])}, expected text")
    if "confidence" in body and _confidence([body]) is None:
        raise _OffSchema(f"confidence is {_shown(body['confidence'])}, expected a number from 0 to 1")


def _values(answers: list[Object], keys: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
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
    verdict = form.words.get(word(value)) if isinstance(value, str) else None
    if verdict is None:
        known = ", ".join(dict.fromkeys(verdict.value for verdict in form.words.values()))
        raise _OffSchema(f"{key} is {_shown(value)}, expected one of {known}")
    return verdict


def _score(key: str, value: Any, form: Format, *, in_line: bool = False) -> float:
    low, high = form.score_range
    number = math.nan
    quoted = isinstance(value, str) and (in_line or not form.strict)
    if quoted and _NUMBER.fullmatch(value.strip(TRIM)):
        number = float(value.strip(TRIM))
    elif isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool)):
        number = float(value) if abs(value) < 1e300 else math.inf
    if not low <= number <= high:
        raise _OffSchema(f"{key} is {_shown(value)}, expected a number from {low:g} to {high:g}")
    return number


def _confidence(answers: list[Object]) -> float | None:
    given = [body["confidence"] for body in answers if "confidence" in body]
    value = given[0] if len(given) == 1 else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return float(value)


def _reason(answers: list[Object]) -> str:
    given = (body.get(key) for key in _REASONS for body in answers)
    return next((_text(value)[:MAX_REASON] for value in given if isinstance(value, str)), "")


def _from_lines(answer: str, found: Found, form: Format) -> Parsed | None:
    """From the lines that end an answer, or from the one word that it is."""
    bare = not (found.objects or found.broken or len(answer) >= 200 or answer.lstrip().startswith(">"))
    whole = alone(found.prose, form.words) if bare else None
    lines = spoken(found, (*form.labels, *form.score_keys), (*_REASONS, "confidence"))
    try:
        scores = _of_first(lines, form.score_keys)
        score = _only([_score(key, value, form, in_line=True) for key, value in scores])
        labelled = [_verdict(key, value, form) for key, value in _of_first(lines, form.labels)]
        if len(set(labelled)) > 1:
            return _none("malformed", "it says two things")
        verdict = labelled[0] if labelled else whole
        if verdict is None and score is None:
            return None
        for key, value in _of_first(lines, ("confidence",)) if form.strict else ():
            number = float(value) if _NUMBER.fullmatch(value) else math.nan
            if not 0 <= number <= 1:
                raise _OffSchema(f"{key} is {_shown(value)}, expected a number from 0 to 1")
        reason = _text(found.prose.strip())[:MAX_REASON] if whole is None else ""
        return _whole(verdict, score, form, reason, None)
    except _OffSchema as exc:
        return _none("off_schema", str(exc))


def _of_first(lines: list[Spoken], labels: tuple[str, ...]) -> list[tuple[str, str]]:
    """(label, value) of each line of the first label that is there."""
    for label in labels:
        if there := [(one.label, one.value) for one in lines if one.label == label]:
            return there
    return []


def _unreadable(answer: str, found: Found, form: Format) -> Parsed:
    if _TOOL_TAG.search(answer):
        return _none("malformed", "it called a tool")
    if _REFUSAL.search(answer):
        return _none("refused", _text(answer.strip()))
    if found.objects:
        return _none("off_schema", "its JSON has no verdict")
    if claims(found.prose, form.labels, form.words):
        what = "a verdict stands in it where it may be a quotation or a condition"
        return _none("malformed", what)
    if found.broken:
        return _none("malformed", "its JSON cannot be read")
    return _none("malformed", f"there is no verdict in it: {_shown(answer.strip())}")


_KINDS: Mapping[type, str] = {Object: "dict"}


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return repr(_text(value[:81])[:80])
    return (
        json.dumps(value)[:80]
        if isinstance(value, bool | float | None)
        else f"a {_KINDS.get(type(value), type(value).__name__)}"
    )


def _text(text: str) -> str:
    """Without the lone surrogates that no file can hold."""
    return text.encode("utf-8", "replace").decode()
