"""What stands in a model's answer: its thoughts, its JSON objects, what looks like one, and its prose.

Nothing is judged here, and nothing is repaired. `parse` makes a verdict of it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

MAX_OBJECTS = 64
"""JSON objects, and what looks like one, above which an answer is not read."""

_TAG = re.compile(r"<(/?)(?:think|thinking|reasoning|scratchpad)\s*>", re.IGNORECASE)
_OTHER_TAG = re.compile(
    r"\[(/?)THINK\]|\u25c1(/?)think\u25b7|<(/?)(?:seed:think|thoughts?|reflection|analysis)\s*>"
    r"|<\|(?:begin|(end))_of_thought\|>",
    re.IGNORECASE,
)
"""How other models mark their thoughts."""
_CHANNEL = re.compile(r"<\|channel\|>\s*+(\w*+)[^<]*+(?:<\|constrain\|>[^<]*+)?+<\|message\|>", re.IGNORECASE)
_CHANNEL_MARK = "<|channel|>"
_CHANNEL_START = re.compile(r"\s*(?:<\|start\|>\s*assistant\s*)?<\|channel\|>", re.IGNORECASE)
_CHANNEL_END = re.compile(r"<\|(?:end|return|start|call)\|>", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$", re.MULTILINE)
_ONE_FENCE = re.compile(r"\s*(```|~~~)[^\n`]*\n(.*?)(?:\n[ \t]*)?\1\s*", re.DOTALL)
_BRACES = re.compile(r'["{}]|\\.', re.DOTALL)


class Unsaid(ValueError):
    """There is no answer beside the thoughts: `cut` where they do not end."""

    def __init__(self, reason: str, *, cut: bool = False) -> None:
        super().__init__(reason)
        self.cut = cut


class Object(dict[str, Any]):
    """A JSON object; `repeated` are the keys that stand in it twice."""

    repeated: tuple[str, ...] = ()


@dataclass
class Found:
    """The parts of a text."""

    objects: list[Object] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    """What looked like an object and was none."""
    prose: str = ""
    """Everything else; what stands in fences is quoted as in mail, unless a fence is all there is."""
    cut: bool = False
    """Whether it ends inside of an object."""
    many: bool = False
    """Whether there are more objects than are read."""
    around: list[tuple[str, str]] = field(default_factory=list)
    """What stands before and behind each object, up to the next one."""
    whole: list[int] = field(default_factory=list)
    """Which of the spans are objects."""
    spans: list[tuple[int, int]] = field(default_factory=list)
    """Where objects, whole and broken, begin and end."""


def said(text: str) -> tuple[str, str]:
    """What a model answers, and what stands before the end of a thought that it never began.

    A thought that begins the answer is left out. A tag, or the mark of a channel, inside of a JSON object
    is a part of it: an answer that is one object, alone or in a fence, is read as it is. Raises `Unsaid`.

    >>> said('<think>well</think>{"verdict": "failure"}')
    ('{"verdict": "failure"}', '')
    >>> said('{"reason": "it shows </think>"}')[0]
    '{"reason": "it shows </think>"}'
    """
    if not _whole(text):  # in an object it is a part of it
        text = _OTHER_TAG.sub(lambda tag: f"<{'/' if any(tag.groups()) else ''}think>", text)
    rest = _after_thoughts(text)
    if _whole(rest):
        return rest, ""
    if _CHANNEL_START.match(rest):
        return _final(rest), ""
    if _CHANNEL_MARK not in rest and _TAG.search(rest) is None:
        return rest, ""
    spans = look(rest).spans
    tags = [tag for tag in _TAG.finditer(rest) if not _within(tag.start(), spans)]
    if any(not _within(mark.start(), spans) for mark in re.finditer(re.escape(_CHANNEL_MARK), rest)):
        raise Unsaid("the mark of a channel stands in the middle of it")
    if not tags:
        return rest, ""
    if not tags[-1][1]:
        raise Unsaid("it ends in the middle of its thoughts", cut=True)
    if not rest[tags[-1].end() :].strip():
        raise Unsaid("there are thoughts and no answer")
    return rest[tags[-1].end() :], _TAG.sub("\n", rest[: tags[-1].start()])


def _after_thoughts(text: str) -> str:
    """Without the thoughts that begin it, each to the first tag that ends one."""
    rest = text
    while (begin := _TAG.match(rest, len(rest) - len(rest.lstrip()))) is not None:
        end = next((tag for tag in _TAG.finditer(rest, begin.end()) if tag[1] or begin[1]), None)
        if begin[1]:  # it ends what never began
            rest = rest[begin.end() :]
        elif end is None:
            raise Unsaid("it ends in the middle of its thoughts", cut=True)
        else:
            rest = rest[end.end() :]
    if text.strip() and not rest.strip():
        raise Unsaid("there are thoughts and no answer")
    return rest


def _final(text: str) -> str:
    """The one final message of an answer in channels."""
    marks = list(_CHANNEL.finditer(text))
    finals = [mark for mark in marks if mark[1].casefold() == "final"]
    if len(finals) != 1 or finals[0] is not marks[-1]:
        raise Unsaid("there are thoughts and no answer" if not finals else "it has two final messages")
    rest = text[finals[0].end() :]
    end = _CHANNEL_END.search(rest)
    if end is not None and not _whole(rest):
        if rest[end.end() :].strip():
            raise Unsaid("something stands behind its final message")
        rest = rest[: end.start()]
    if not rest.strip():
        raise Unsaid("there are thoughts and no answer")
    return rest


def _whole(text: str) -> bool:
    """Whether it is one JSON object and nothing else, alone or in a fence."""
    fence = _ONE_FENCE.fullmatch(text)
    for inner in (text, *([fence[2]] if fence else [])):
        body = inner.strip()
        if body.startswith("{") and object_at(body, 0)[1] == len(body) and object_at(body, 0)[0] is not None:
            return True
    return False


def _within(place: int, spans: list[tuple[int, int]]) -> bool:
    return any(start <= place < end for start, end in spans)


def look(text: str) -> Found:
    """Every object in a text, what looks like one, and the rest."""
    found = Found()
    body = text.strip()
    if body.startswith("{"):
        whole, end = object_at(body, 0)
        if whole is not None and end == len(body):  # a fence in one of its strings is no fence
            start = text.index("{")
            return Found(objects=[whole], around=[("", "")], spans=[(start, start + end)])
    begin, parts = 0, []
    for fence in (*_FENCE.finditer(text), None):
        parts.append((begin, len(text) if fence is None else fence.start()))
        begin = 0 if fence is None else fence.end()
    own = [part for number, part in enumerate(parts) if number % 2 == 0]
    all_fenced = len(parts) == 3 and not any(text[start:end].strip() for start, end in own)
    for number, (start, end) in enumerate(parts):
        prose = "\n" + _look_in(text, start, end, found, last=number == len(parts) - 1)
        found.prose += prose.replace("\n", "\n> ") if number % 2 and not all_fenced else prose
    ends = [0, *(end for _, end in found.spans)]
    starts = [*(start for start, _ in found.spans), len(text)]
    found.around = [
        (text[ends[number] : starts[number]], text[ends[number + 1] : starts[number + 1]])
        for number in found.whole
    ]
    return found


def _look_in(text: str, at: int, end: int, found: Found, *, last: bool) -> str:
    part, prose = text[:end], []
    while (start := part.find("{", at)) >= 0:
        if len(found.spans) >= MAX_OBJECTS:
            found.many = True
            break
        prose.append(part[at:start])
        body, at = object_at(part, start)
        if at < 0:
            found.cut, at = found.cut or last, end
        if body is None:
            found.broken.append(part[start:at])
        else:
            found.objects.append(body)
            found.whole.append(len(found.spans))
        found.spans.append((start, at))
    prose.append(part[at:].partition("{")[0])
    return "".join(prose)


def _pairs(items: list[tuple[str, Any]]) -> Object:
    body = Object((key.strip().casefold(), value) for key, value in items)
    if len(body) < len(items):
        counts = Counter(key.strip().casefold() for key, _ in items)
        body.repeated = tuple(key for key, count in counts.items() if count > 1)
    return body


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, strict=False)


def object_at(part: str, start: int) -> tuple[Object | None, int]:
    """The object that begins there and where it ends; None for what is none, -1 where it does not end."""
    try:
        body, end = _DECODER.raw_decode(part, start)
    except (ValueError, RecursionError):
        return None, _closing(part, start)
    return (body if isinstance(body, Object) else None), end


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
