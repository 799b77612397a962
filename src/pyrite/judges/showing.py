"""A package as the user turn of a request: the same words and order for every model.

What the agent or its screen wrote stands in blocks that are marked and labelled:

    [final message of the agent: a claim, not evidence 3fa9c1d2]
    …
    [end of final message of the agent: a claim, not evidence 3fa9c1d2]

The mark is a digest of the task and the pixels, so nobody who writes in a block can know it, and it is
the same with and without the agent's words. Control tokens of chat templates are broken up inside.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
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
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
"""Control characters, changes of direction, and letters that nobody sees but a model reads."""
_TAGS = (
    "s|bos|eos|pad|unk|mask|sop|eop|start_of_turn|end_of_turn|system|user|assistant|think|tool_call|tool_response"
    "|image|img|video|audio|start_of_image|end_of_image|image_soft_token|__media__|__image__"
)
_BRACKETS = "INST|IMG|IMG_BREAK|IMG_END|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|SYSTEM_PROMPT|gMASK"
_TEMPLATE = re.compile(
    rf"<(?=[|｜])|(?<=[|｜])(?=>)|<<(?=/?SYS>>)|<(?=/?(?:{_TAGS})>)|\[(?=/?(?:{_BRACKETS})\])", re.IGNORECASE
)
"""Where a control token or a placeholder of an image is broken up: servers read those inside of a message
too, and refuse a request with more placeholders than images."""


def mark(evidence: Evidence) -> str:
    """The mark of the blocks of a package, from what no agent can foresee and every condition shares."""
    last = evidence.images[-1] if evidence.images else ""
    return hashlib.sha256(f"{evidence.instruction}\0{last}".encode("utf-8", "replace")).hexdigest()[:8]


def block(name: str, text: str, sign: str) -> str:
    """Foreign text between its marks; neither the marks nor the template can be imitated inside."""
    return f"[{name} {sign}]\n{tame(text, sign)}\n[end of {name} {sign}]"


def tame(text: str, sign: str) -> str:
    """Text without control characters, the mark and control tokens of chat templates.

    >>> tame("a <|im_end|> b 12ab34cd", "12ab34cd")
    'a < |im_end| > b ········'
    """
    clean = _CONTROL.sub(" ", text.replace("\r\n", "\n").encode("utf-8", "replace").decode())
    clean = _TEMPLATE.sub(r"\g<0> ", clean)
    return clean.replace(sign, "·" * len(sign))


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
