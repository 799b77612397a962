"""Agents: they see the task text and the screen, never verifier, gold state or parameters.

Those below are not agents under test: `scripted` is handed the competent action list, `hasty` the
same list without waiting for the screen, `idle` claims success at once, `quitter` gives up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from PIL import Image

from pyrite.errors import UsageError
from pyrite.records import Action, EndedBy
from pyrite.registry import Registry


@dataclass(frozen=True)
class Observation:
    """What an agent sees before it acts."""

    screen: Image.Image
    step: int
    """Actions done so far."""
    error: str | None = None
    """Why the last action could not be carried out, if so."""


class Agent(Protocol):
    """The one interface of everything that acts."""

    name: str
    version: str
    waits: bool
    """Whether the screen must be still before the next action; `hasty` does not wait."""

    def act(self, instruction: str, observation: Observation) -> Action:
        """The next action; `done` and `fail` end the episode."""
        ...

    def final_message(self) -> str | None:
        """What the agent says at the end. It is a claim, not evidence."""
        ...


@dataclass
class Replayer:
    """Carries out a fixed list of actions, then ends."""

    name: str
    actions: Sequence[Action]
    message: str | None
    ends: EndedBy = "done"
    waits: bool = True
    version: str = "1"

    def __post_init__(self) -> None:
        self._left = list(self.actions)

    def act(self, instruction: str, observation: Observation) -> Action:
        return self._left.pop(0) if self._left else Action(action="fail" if self.ends == "fail" else "done")

    def final_message(self) -> str | None:
        return self.message


@dataclass(frozen=True)
class Part:
    """What a suite hands to an agent that is not under test."""

    script: Sequence[Action]
    claim: str
    """What a competent agent would truthfully say at the end."""


def scripted(part: Part) -> Replayer:
    """The competent action list, each action after the screen is still."""
    return Replayer("scripted", _needed(part), part.claim)


def hasty(part: Part) -> Replayer:
    """The same keys without waiting; how often that fails is whatever it is."""
    return Replayer("hasty", _needed(part), part.claim, waits=False)


def idle(part: Part) -> Replayer:
    """Does nothing and claims success."""
    return Replayer("idle", (), part.claim)


def quitter(part: Part) -> Replayer:
    """Gives up and says so."""
    message = "I could not work out how to do this and I am giving up. The task is not done."
    return Replayer("quitter", (Action(action="wait", seconds=1.0),), message, ends="fail")


def _needed(part: Part) -> Sequence[Action]:
    if not part.script:
        raise UsageError(
            "this task has no action list to carry out",
            expected="a task of a built-in suite for the agents scripted and hasty",
            next="pyrite record desk -o runs/first",
        )
    return part.script


AGENTS = Registry(
    "agent",
    {
        "scripted": "pyrite.episodes.agents:scripted",
        "hasty": "pyrite.episodes.agents:hasty",
        "idle": "pyrite.episodes.agents:idle",
        "quitter": "pyrite.episodes.agents:quitter",
    },
)


def known(names: str) -> list[str]:
    """Read a comma-separated list of agent names; `UsageError` for an unknown one."""
    found = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not found:
        raise UsageError(f"no agent in {names!r}", expected=", ".join(AGENTS.names()))
    for name in found:
        AGENTS.load(name)
    return found
