"""Read what an agent under test answered: one JSON object that is an action.

    {"action": "click", "x": 512, "y": 300}
    {"action": "key", "keys": "ctrl+s", "thought": "The value is in; now save."}
    {"action": "done", "message": "The file is saved."}

The object may stand in a fence or among words; of several the first that has an `action` counts. An
answer that is no action is data: it costs the agent a step, and too many in a row end the episode.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from pyrite.records import Action
from pyrite.sandbox.inputs import REQUIRED

MOST_CHARS = 200_000
MOST_MESSAGE = 20_000
MALFORMED_LIMIT = 3
"""Answers in a row that are no action; after that the episode ends by `malformed`."""
_KEPT = set(Action.model_fields) | {"thought"}
_MOST_OBJECTS = 50

_REFUSAL = re.compile(
    r"\bi(?:'m| am) (?:sorry|unable|not able|not comfortable)\b[^.\n]{0,80}"
    r"\b(?:can(?:no|')?t|unable|not|assist|help|comply|do that)\b"
    r"|\bi (?:can(?:not|'t| not)|won'?t|will not|must decline to|have to decline|refuse to)\b[^.\n]{0,60}"
    r"\b(?:assist|help|comply|do that|do this|continue|fulfil|provide|perform|complete)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Answer:
    """An action, or why there is none."""

    action: Action | None
    message: str | None = None
    """What the agent says at the end, with `done` and `fail`."""
    why: str = ""


def parse(text: str) -> Answer:
    """The action that a text holds.

    >>> parse('I save it. {"action": "key", "keys": "ctrl+s"}').action.keys
    'ctrl+s'
    """
    if len(text) > MOST_CHARS:
        return Answer(None, why=f"the answer has {len(text)} characters, at most {MOST_CHARS} are read")
    found = _first_object(text)
    if found is not None:
        found = json.loads(whole(json.dumps(found, ensure_ascii=False)))
    if found is None:
        return Answer(None, why="no JSON object with an action in it")
    name = found.get("action")
    if not isinstance(name, str) or name not in REQUIRED:
        return Answer(None, why=f"unknown action {str(name)[:40]!r}; known: {', '.join(REQUIRED)}")
    message = found.get("message")
    try:
        action = Action.model_validate({key: value for key, value in found.items() if key in _KEPT})
    except ValidationError as exc:
        first = exc.errors(include_url=False)[0]
        return Answer(None, why=f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
    missing = [part for part in REQUIRED[name] if getattr(action, part) is None]
    if missing:
        return Answer(None, why=f"{name} needs {', '.join(missing)}")
    said = message[:MOST_MESSAGE] if isinstance(message, str) and message.strip() else None
    return Answer(action, said if name in {"done", "fail"} else None)


def whole(text: str) -> str:
    """A text that any file can hold: half of a surrogate pair, which JSON may spell, becomes a `?`.

    >>> whole("done " + chr(0xD800))
    'done ?'
    """
    return text.encode("utf-8", "replace").decode()


def is_refusal(text: str) -> bool:
    """Whether a text without an action declines the task.

    >>> is_refusal("I'm sorry, but I can't help with that.")
    True
    """
    return _REFUSAL.search(text[:4000].replace("’", "'")) is not None


def _first_object(text: str) -> dict[str, Any] | None:
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    at = text.find("{")
    for _ in range(_MOST_OBJECTS):
        if at < 0:
            return None
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        if isinstance(found, dict) and "action" in found:
            return found
        at = text.find("{", end)
    return None


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is not JSON")
