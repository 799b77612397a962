"""Weakened agents: the same agent with one thing taken away, which is recorded.

    budget=N        at most N actions (the episode ends by step_limit)
    without=TYPE    actions of one type are refused: key, type, scroll, drag, right_click, …
    downscaled[=K]  it sees the screen K times smaller, scaled up again (4 without a number)
    stale           it sees the screen before its last action
    unready         its next action does not wait until the screen is still

The agent is told that an action was refused, as it is told of any action that could not be carried out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from PIL import Image

from pyrite.episodes.agents import Agent, Observation, not_performed
from pyrite.errors import UsageError
from pyrite.records import Action
from pyrite.sandbox.inputs import REQUIRED

_TYPES = tuple(name for name in REQUIRED if name not in {"done", "fail", "answer"})
_USAGE = "budget=N, without=TYPE, downscaled[=K], stale, unready"


@dataclass(frozen=True)
class Weakening:
    """What is taken away."""

    kind: str
    value: str = ""

    @property
    def text(self) -> str:
        """As it stands in a label and in meta.json."""
        return f"{self.kind}={self.value}" if self.value else self.kind

    def wrap(self, agent: Agent) -> Weakened:
        return Weakened(agent, self)


def parse_weakening(text: str) -> Weakening:
    """Read what follows the `~` of a label; raises `UsageError`.

    >>> parse_weakening("budget=4").text
    'budget=4'
    """
    kind, equals, value = text.strip().partition("=")
    if kind == "budget" and _is_number(value, 1, 10_000):
        return Weakening(kind, value)
    if kind == "without" and value in _TYPES:
        return Weakening(kind, value)
    if kind == "downscaled" and (_is_number(value, 2, 32) or not equals):
        return Weakening(kind, value or "4")
    if kind in {"stale", "unready"} and not equals:
        return Weakening(kind)
    near = {
        "budget": "budget=N, N from 1",
        "without": f"without=TYPE, TYPE one of {', '.join(_TYPES)}",
        "downscaled": "downscaled=K, K from 2 to 32",
    }
    raise UsageError(f"{text[:80]!r} is nothing that can be taken away", expected=near.get(kind, _USAGE))


def _is_number(text: str, low: int, high: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 6 and low <= int(text) <= high


class Weakened:
    """An agent behind one weakening; implements `Agent`."""

    def __init__(self, agent: Agent, weakening: Weakening) -> None:
        self._agent = agent
        self._weakening = weakening
        self._before: Image.Image | None = None
        self.name = agent.name
        self.version = agent.version
        self.waits = agent.waits and weakening.kind != "unready"
        own = getattr(agent, "step_limit", None)
        budget = int(weakening.value) if weakening.kind == "budget" else None
        limits = [limit for limit in (own, budget) if limit is not None]
        self.step_limit: int | None = min(limits) if limits else None
        self.settings: Mapping[str, Any] = getattr(agent, "settings", {})
        self.message_kind: str | None = getattr(agent, "message_kind", None)

    @property
    def usage(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = getattr(self._agent, "usage", {})
        return found

    def act(self, instruction: str, observation: Observation) -> Action:
        seen = Observation(self._seen(observation.screen), observation.step, observation.error)
        action = self._agent.act(instruction, seen)
        if self._weakening.kind == "without" and action.action == self._weakening.value:
            return not_performed(action.action, f"actions of the type {action.action} are not available")
        return action

    def _seen(self, screen: Image.Image) -> Image.Image:
        kind = self._weakening.kind
        if kind == "downscaled":
            by = int(self._weakening.value)
            small = (max(1, screen.width // by), max(1, screen.height // by))
            coarse = screen.resize(small, Image.Resampling.BILINEAR)
            return coarse.resize(screen.size, Image.Resampling.BILINEAR)
        if kind == "stale":
            shown, self._before = self._before or screen, screen
            return shown
        return screen

    def final_message(self) -> str | None:
        return self._agent.final_message()

    def close(self) -> None:
        end = getattr(self._agent, "close", None)
        if end is not None:
            end()
