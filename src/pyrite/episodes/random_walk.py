"""The agent `random-walk`: clicks, keys and words by chance, the same ones for the same episode id."""

from __future__ import annotations

import random

from pyrite.episodes import messages
from pyrite.episodes.agents import Observation, Part
from pyrite.errors import UsageError
from pyrite.records import Action

STEPS = 15
MOST_STEPS = 90
_KEYS = (
    "Return",
    "Tab",
    "Escape",
    "Up",
    "Down",
    "Left",
    "Right",
    "Delete",
    "BackSpace",
    "Page_Down",
    "ctrl+s",
    "ctrl+z",
    "ctrl+a",
    "ctrl+c",
    "ctrl+v",
    "ctrl+Home",
    "F2",
    "alt+f",
)
_WORDS = ("1", "42", "4500", "done", "yes", "test", "report", "ok", "2024-01-05", "Amsterdam")
_CHANCES = {"click": 6, "key": 6, "type": 4, "double_click": 1, "right_click": 1, "scroll": 2}


class RandomWalk:
    """Anything that an agent can do, by chance; says by chance how it went."""

    OPTIONS = ("steps",)

    def __init__(self, part: Part) -> None:
        text = part.options.get("steps", str(STEPS))
        if not text.isascii() or not text.isdigit() or not 1 <= int(text[:6]) <= MOST_STEPS:
            raise UsageError(f"random-walk: steps is {text!r}", expected=f"a number from 1 to {MOST_STEPS}")
        self.name = "random-walk"
        self.version = "1"
        self.waits = True
        self.settings = {"steps": int(text)}
        self._left = int(text)
        self._chance = random.Random(f"random-walk {part.episode_id}")  # noqa: S311 - it must repeat
        self._message = messages.draw(part.claim, part.episode_id)
        self.message_kind = self._message.kind

    def act(self, instruction: str, observation: Observation) -> Action:
        if self._left == 0:
            return Action(action="done")
        self._left -= 1
        return self._any(*observation.screen.size)

    def _any(self, width: int, height: int) -> Action:
        kind = self._chance.choices(tuple(_CHANCES), tuple(_CHANCES.values()))[0]
        if kind == "key":
            return Action(action=kind, keys=self._chance.choice(_KEYS))
        if kind == "type":
            return Action(action=kind, text=self._chance.choice(_WORDS))
        x, y = self._chance.randrange(width), self._chance.randrange(height)
        if kind == "scroll":
            return Action(action=kind, x=x, y=y, dy=self._chance.choice((-3, 3)))
        return Action(action=kind, x=x, y=y)

    def final_message(self) -> str | None:
        return self._message.text
