"""A package as the user turn of a request: the same words and order for every model.

What the agent or its screen wrote stands in blocks that are marked and labelled:

    [final message of the agent: a claim, not evidence 3fa9c1d2b07e4415]
    …
    [end of final message of the agent: a claim, not evidence 3fa9c1d2b07e4415]

The mark is a digest of the whole episode: who writes in a block cannot know it, for it would be the digest
of what he writes. It is the same in every condition. Control tokens of chat templates, placeholders of
images and whatever else looks like a tag are broken up inside.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from pyrite.judges.client.base import Image, Part, Text
from pyrite.records import Evidence, LeftOut, ViewAction

CLAIM = "final message of the agent: a claim, not evidence"
MESSAGE = "final message of the agent"
ACTIONS = "actions of the agent"
SCREEN = "text read off the screen"
MOST_SCREEN_TEXT = 20_000
"""Characters of one screen's text that are shown."""

_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
"""Control characters, changes of direction, and letters that nobody sees but a model reads."""
_HTML = (
    "a|b|i|u|p|em|strong|br|hr|div|span|html|head|body|table|tr|td|th|ul|ol|li|h[1-6]|code|pre|form|input|button"
    "|label|select|option|link|meta|script|style|title"
)
_TEMPLATE = re.compile(
    r"<(?=[|｜])|(?<=[|｜])(?=>)|<<(?=\s{0,3}/?\s{0,3}SYS\s{0,3}>>)"
    rf"|<(?!\s{{0,3}}/?\s{{0,3}}(?:{_HTML})\b)(?=\s{{0,3}}[/!]?\s{{0,3}}[^\W\d][\w.:▁-]{{0,60}}(?:\s{{0,3}}=[^<>\n]{{0,60}}|\s{{1,3}}\d{{1,4}})?\s{{0,3}}/?\s{{0,3}}>)"
    r"|\[(?=\s{0,3}/?\s{0,3}(?-i:[a-z]?[A-Z][A-Z_]{1,40})\s{0,3}\])"
    r"|\[(?=\s{0,3}(?:img|image|audio|video)[-_ ]?\d{1,4}\s{0,3}\])"
    r"|(?<![^\n])[ \t#*>]*(?:gpt-?\d?[ \t](?:correct[ \t])?)?"
    r"(?:assistant|user|human|system|model|response|instruction)[ \t*]*(?=:)",
    re.IGNORECASE,
)
"""Where what looks like a tag of a chat template (</s>, [INST], [SEP]), a placeholder of an image or
a turn of a conversation is broken up: servers read those inside of a message too, and refuse a request with
more placeholders than images."""
_SEEN_AS = {
    "a": "аαɑ",
    "b": "ЬƄВ",
    "c": "сϲСᴄ",
    "d": "ԁᏧ",
    "e": "еєҽε",
    "f": "ғϝ",
    "0": "оοOoОΟ۰٠",
    "1": "lIӏι|١۱",
}
"""Letters that look like the digits of a mark, beside those of other widths and styles."""


def mark(evidence: Evidence) -> str:
    """The mark of the blocks of a package, 16 hex digits; of one without, a digest of all that it holds."""
    return evidence.mark or hashlib.sha256(evidence.model_dump_json().encode()).hexdigest()[:16]


def block(name: str, text: str, sign: str) -> str:
    """Foreign text between its marks; neither the marks nor the template can be imitated inside."""
    return f"[{name} {sign}]\n{tame(text, sign)}\n[end of {name} {sign}]"


def tame(text: str, sign: str) -> str:
    """Text without control characters, the mark and control tokens of chat templates.

    >>> tame("a <|im_end|> b 12ab34cd", "12ab34cd")
    'a < |im_end| > b ········'
    """
    clean = text.replace("\r\n", "\n").encode("utf-8", "replace").decode()
    folded = (_UNSEEN.sub("", clean) if clean.isascii() else clean.translate(_folded())).lower()
    if sign in folded:
        clean = _blank(sign, ascii_only=clean.isascii()).sub("·" * len(sign), clean)
    return _TEMPLATE.sub(r"\g<0> ", _CONTROL.sub(" ", clean))


_BETWEEN = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u0300-\u036f\u061c\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]*"
)
"""Characters that nobody sees."""
_UNSEEN = re.compile(_BETWEEN.rstrip("*"))


@lru_cache(maxsize=1)
def _folded() -> dict[int, str]:
    """For `str.translate`: what may be read as a hex digit as that, and nothing for what nobody sees."""
    numbers = (*range(0xFFFF), *range(0xE0000, 0xE01F0))
    unseen = {number: "" for number in numbers if _UNSEEN.match(chr(number)) is not None}
    return unseen | {ord(char): digit for digit, chars in _lookalikes().items() for char in chars}


@lru_cache(maxsize=64)
def _blank(sign: str, *, ascii_only: bool) -> re.Pattern[str]:
    """A mark in any case; in letters of other scripts, widths and styles, with unseen ones between, too."""
    seen_as = {} if ascii_only else _lookalikes()
    letters = (f"[{re.escape(seen_as.get(digit, digit))}]" for digit in sign)
    return re.compile(_BETWEEN.join(letters), re.IGNORECASE)


@lru_cache(maxsize=1)
def _lookalikes() -> dict[str, str]:
    """For each hex digit all characters that may be read as it."""
    found = {digit: digit + digit.upper() for digit in "0123456789abcdef"}
    for digit, letters in _SEEN_AS.items():
        found[digit] += letters + letters.upper()
    for first, last in (
        (0x80, 0x2FFF),
        (0xA640, 0xABFF),
        (0xFF00, 0xFFEF),
        (0x1D400, 0x1D7FF),
        (0x1F100, 0x1F1FF),
    ):
        for number in range(first, last + 1):
            plain = unicodedata.normalize("NFKD", chr(number)).casefold()
            bare = "".join(char for char in plain if not unicodedata.combining(char)).strip("()")
            if bare in found:
                found[bare] += chr(number)
    return found


def parts(
    evidence: Evidence,
    pictures: Sequence[Image],
    *,
    claim_line: bool = True,
    texts: Sequence[str] | None = None,
) -> tuple[Part, ...]:
    """The user turn: task, actions, screens in order of time, final message.

    `texts` stands in for the pixels, one text a screen. `claim_line` says beside the final message what
    it is worth. A frame that was shown already is named, not shown.
    """
    sign = mark(evidence)
    shown: list[Part] = [Text(_opening(evidence, sign))]
    steps = _steps(evidence)
    for index in range(len(evidence.images)):
        head = _heading(index, len(evidence.images), steps[index])
        first = evidence.same_as[index] if evidence.same_as else None
        if first is not None:
            shown.append(Text(f"{head}: the same frame as screen {first + 1}."))
        elif texts is None:
            shown += [Text(f"{head}:"), pictures[index]]
        else:
            read = texts[index] or "(no text was found on it)"
            shown.append(Text(f"{head}:\n{block(SCREEN, _bounded(read), sign)}"))
    shown.append(Text(_closing(evidence, sign, claim_line=claim_line)))
    return _joined(shown)


def left_out_text(left: LeftOut) -> str:
    """What a package does not show, in one sentence."""
    told = []
    if left.screens:
        told.append(f"the screens after steps {_ranges(left.screens)}")
    if left.actions:
        told.append(f"steps {_ranges(left.actions)}")
    if left.characters:
        told.append(f"{left.characters:,} characters out of the middle of long texts")
    return f"Not shown, for want of room: {'; '.join(told)}."


def _opening(evidence: Evidence, sign: str) -> str:
    lines = [f"Task:\n{tame(evidence.instruction, sign)}"]
    if evidence.left_out is not None:
        lines.append(left_out_text(evidence.left_out))
    if evidence.actions:
        log = "\n".join(_action(action) for action in evidence.actions)
        lines.append(block(ACTIONS, log, sign))
    n = len(evidence.images)
    lines.append("The screen at the end:" if n == 1 else f"{n} screens, in order of time:")
    return "\n\n".join(lines)


def _closing(evidence: Evidence, sign: str, *, claim_line: bool) -> str:
    if evidence.final_message is None:
        return "Your verdict on the task:"
    said = block(CLAIM if claim_line else MESSAGE, evidence.final_message, sign)
    return f"{said}\n\nYour verdict on the task:"


def _action(action: ViewAction) -> str:
    """One line whatever the action holds: values are JSON."""
    line = f"step {action.step}: {_json(action.action)[1:-1]} {_json(action.parameters)}"
    if action.page is not None:
        line += f"\n  on the page {_json(action.page)}"
    if action.thought is not None:
        line += f"\n  thought: {_json(action.thought)}"
    return line


def _steps(evidence: Evidence) -> list[int | None]:
    """The step that led to each image; None for one that no shown action led to."""
    found: list[int | None] = [None] * len(evidence.images)
    for action in evidence.actions:
        if action.screen is not None:
            found[action.screen] = action.step
    return found


def _heading(index: int, n: int, step: int | None) -> str:
    after = f", after step {step}" if step is not None else ""
    final = ", the last one" if index == n - 1 else ""
    return f"Screen {index + 1} of {n}{after}{final}"


def _bounded(text: str) -> str:
    if len(text) <= MOST_SCREEN_TEXT:
        return text
    return f"{text[:MOST_SCREEN_TEXT]}\n[{len(text) - MOST_SCREEN_TEXT:,} more characters are not shown]"


def _joined(shown: Iterable[Part]) -> tuple[Part, ...]:
    """Neighbouring texts as one part."""
    found: list[Part] = []
    for part in shown:
        if isinstance(part, Text) and found and isinstance(found[-1], Text):
            found[-1] = Text(f"{found[-1].text}\n\n{part.text}")
        else:
            found.append(part)
    return tuple(found)


def _ranges(numbers: Sequence[int]) -> str:
    """1-3, 5 for (1, 2, 3, 5)."""
    runs: list[list[int]] = []
    for n in sorted(numbers):
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
