"""A package within a budget of tokens and bytes: what does not fit is left out, and the package says so.

The budget is counted in units of no model in particular, so every judge gets the same package: an image
has a token for every 750 pixels, a text one for every 4 bytes; bytes are those of the image files. A
frame that is shown already costs nothing.

The last screen always stays, then the first, then the latest ones as far back as they fit. Of actions
the first stays and the latest, within half of the tokens. Long texts lose their middle.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pyrite.records import Evidence, LeftOut, ViewAction

MOST_TEXT, HEAD, TAIL = 10_000, 3_000, 7_000
"""Characters of one text of the agent above which it is cut, and what stays of it."""
PIXELS_A_TOKEN, BYTES_A_TOKEN = 750, 4


@dataclass(frozen=True)
class Budget:
    """What one package may hold."""

    max_tokens: int = 100_000
    max_bytes: int = 20_000_000
    """Of image files, each frame once."""


WHOLE = Budget(1_000_000_000, 100_000_000_000)
"""Of a condition that is not made for one request."""


class Frame(NamedTuple):
    """A stored screen of a package, and the step that led to it (0: before the first one)."""

    digest: str
    width: int
    height: int
    size_bytes: int
    step: int

    @property
    def tokens(self) -> int:
        return math.ceil(self.width * self.height / PIXELS_A_TOKEN)


def text_tokens(text: str) -> int:
    """Estimated tokens of a text.

    >>> text_tokens("save the file")
    4
    """
    return math.ceil(len(text.encode("utf-8", "replace")) / BYTES_A_TOKEN)


def fit(shown: Evidence, frames: Sequence[Frame], budget: Budget) -> Evidence:
    """The package with its images: as much of it as the budget allows, repeats marked.

    `shown` has no images yet; its actions name frames by their index.
    """
    cut = _Cut()
    shortened = [cut.action(action) for action in shown.actions]
    message = None if shown.final_message is None else cut.text(shown.final_message)
    fixed = text_tokens(shown.instruction) + text_tokens(message or "")
    lengths = [text_tokens(_as_text(action)) for action in shortened]
    actions = _latest(lengths, max(0, budget.max_tokens // 2 - fixed))
    hidden = {shortened[i].screen for i in range(len(shortened)) if i not in actions}
    spent = fixed + sum(lengths[i] for i in actions)
    kept = _screens(frames, hidden, budget.max_tokens - spent, budget.max_bytes)
    place = {old: new for new, old in enumerate(kept)}
    images = tuple(frames[i].digest for i in kept)
    left = LeftOut(
        screens=tuple(frames[i].step for i in range(len(frames)) if i not in place),
        actions=tuple(shortened[i].step for i in range(len(shortened)) if i not in actions),
        characters=cut.characters,
        max_tokens=budget.max_tokens,
        max_bytes=budget.max_bytes,
    )
    return shown.model_copy(
        update={
            "actions": tuple(_placed(shortened[i], place) for i in sorted(actions)),
            "images": images,
            "same_as": repeats(images),
            "final_message": message,
            "left_out": left if left.screens or left.actions or left.characters else None,
        }
    )


def repeats(images: Sequence[str]) -> tuple[int | None, ...]:
    """For each image the index of the first one with the same pixels; None where it is new.

    >>> repeats(["a", "b", "a", "a"])
    (None, None, 0, 0)
    """
    first: dict[str, int] = {}
    return tuple(
        None if first.setdefault(digest, index) == index else first[digest]
        for index, digest in enumerate(images)
    )


def _latest(lengths: Sequence[int], room: int) -> set[int]:
    """The first one, and from the end backwards as many as there is room for; the last one always."""
    if sum(lengths) <= room:
        return set(range(len(lengths)))
    chosen = {0, len(lengths) - 1}
    used = sum(lengths[i] for i in chosen)
    for index in range(len(lengths) - 2, 0, -1):
        used += lengths[index]
        if used > room:
            break
        chosen.add(index)
    return chosen


def _screens(frames: Sequence[Frame], hidden: set[int | None], tokens: int, size_bytes: int) -> list[int]:
    """Indices of the frames that stay, in order of time: last, first, then backwards from the last."""
    last = len(frames) - 1
    order = dict.fromkeys([last, *([0] if last else []), *range(last - 1, 0, -1)])
    chosen: list[int] = []
    known: set[str] = set()
    for index in order:
        frame = frames[index]
        new = frame.digest not in known
        fits = not new or (frame.tokens <= tokens and frame.size_bytes <= size_bytes)
        if index != last and (index in hidden or not fits):
            if index and not fits:
                break
            continue
        chosen.append(index)
        if new:
            known.add(frame.digest)
            tokens, size_bytes = tokens - frame.tokens, size_bytes - frame.size_bytes
    return sorted(chosen)


def _placed(action: ViewAction, place: dict[int, int]) -> ViewAction:
    screen = None if action.screen is None else place.get(action.screen)
    return action if screen == action.screen else action.model_copy(update={"screen": screen})


def _as_text(action: ViewAction) -> str:
    said = [action.action, action.parameters, action.thought]
    return json.dumps(said if action.page is None else [*said, action.page], ensure_ascii=False)


class _Cut:
    """Cuts long texts and counts what is gone."""

    def __init__(self) -> None:
        self.characters = 0

    def text(self, text: str) -> str:
        if len(text) <= MOST_TEXT:
            return text
        gone = len(text) - HEAD - TAIL
        self.characters += gone
        return f"{text[:HEAD]}[… {gone:,} characters are left out …]{text[-TAIL:]}"

    def action(self, action: ViewAction) -> ViewAction:
        changed = {
            "action": self.text(action.action),
            "parameters": {key: self._value(value) for key, value in action.parameters.items()},
            "thought": None if action.thought is None else self.text(action.thought),
        }
        same = all(getattr(action, key) == value for key, value in changed.items())
        return action if same else action.model_copy(update=changed)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        return [self._value(one) for one in value] if isinstance(value, list | tuple) else value
