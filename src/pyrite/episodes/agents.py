"""Agents: they see the task text and the screen, never verifier, gold state or parameters.

Those below are not agents under test: `scripted` is handed the competent action list, `hasty` the
same list without waiting for the screen, `idle` claims success at once, `quitter` gives up, and
`random-walk` does anything. `vlm-agent` and `command` are agents under test; how a label names an
agent, its options and what is taken away from it stands in `labels.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from PIL import Image

from pyrite.episodes import messages
from pyrite.errors import UsageError
from pyrite.records import Action, EndedBy
from pyrite.registry import Registry


class Stopped(Exception):
    """Raised by `Agent.act`: the agent ends without an action of its own."""

    def __init__(self, ended_by: EndedBy, why: str) -> None:
        super().__init__(why)
        self.ended_by = ended_by
        self.why = why


NOT_PERFORMED = "raw"
"""The action of a step in which nothing was done; its `why` says why, and the agent is told."""
_MOST_SHOWN = 500


def not_performed(said: str, why: str) -> Action:
    """A step that stands in the record although nothing was done: an answer that is no action."""
    return Action.model_validate(
        {"action": NOT_PERFORMED, "text": said[:_MOST_SHOWN], "why": why[:_MOST_SHOWN]}
    )


@dataclass(frozen=True)
class Observation:
    """What an agent sees before it acts."""

    screen: Image.Image
    step: int
    """Actions done so far."""
    error: str | None = None
    """Why the last action could not be carried out, if so."""


class Agent(Protocol):
    """The one interface of everything that acts.

    An agent may also have `settings` and `usage` (mappings, for meta.agent), `step_limit` (its own step
    budget) and `close()`, which is called once when the episode has ended.
    """

    name: str
    version: str
    waits: bool
    """Whether the screen must be still before the next action; `hasty` does not wait."""

    def act(self, instruction: str, observation: Observation) -> Action:
        """The next action; `done` and `fail` end the episode, and so does raising `Stopped`."""
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
    message_kind: str | None = None
    """Of a message that was drawn; see `messages`."""

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
    episode_id: str = ""
    """What is drawn by chance is drawn from this."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The options of its label."""


def scripted(part: Part) -> Replayer:
    """The competent action list, each action after the screen is still; what it says at the end is drawn."""
    said = messages.draw(part.claim, part.episode_id)
    return Replayer("scripted", _needed(part), said.text, message_kind=said.kind)


def hasty(part: Part) -> Replayer:
    """The same keys without waiting; how often that fails is whatever it is."""
    said = messages.draw(part.claim, part.episode_id)
    return Replayer("hasty", _needed(part), said.text, waits=False, message_kind=said.kind)


def idle(part: Part) -> Replayer:
    """Does nothing and claims success."""
    said = messages.of_kind("asserts", part.claim, part.episode_id)
    return Replayer("idle", (), said.text, message_kind=said.kind)


def quitter(part: Part) -> Replayer:
    """Gives up and says so."""
    said = messages.of_kind("admits", part.claim, part.episode_id)
    waits = (Action(action="wait", seconds=1.0),)
    return Replayer("quitter", waits, said.text, ends="fail", message_kind=said.kind)


def _needed(part: Part) -> Sequence[Action]:
    if not part.script:
        raise UsageError(
            "this task has no action list to carry out",
            expected="for scripted and hasty a task of a built-in suite, or `script` in task.json",
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
        "random-walk": "pyrite.episodes.random_walk:RandomWalk",
        "vlm-agent": "pyrite.episodes.vlm:VlmAgent",
        "command": "pyrite.episodes.command:CommandAgent",
    },
)
UNDER_TEST = ("vlm-agent", "command")
"""Built-in agents whose episodes are natural."""


def known(names: str) -> list[str]:
    """Read a comma-separated list of agent labels; `UsageError` for what no agent can be made of."""
    from pyrite.episodes import labels

    return [label.text for label in labels.parse_list(names)]
