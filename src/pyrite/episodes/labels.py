"""Agent labels: who acts, with which options, and what is taken away from it.

    scripted        random-walk@steps=20        mypackage.agent:Mine
    vlm-agent@model=o4-mini,history=4           command@run=./my-harness.sh
    scripted~budget=6       vlm-agent@model=o4-mini~stale       hasty~without=scroll

What follows a `~` weakens the agent (`weaken.py`); its episodes are the stratum weakened, whoever it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass

from pyrite.episodes.agents import AGENTS, UNDER_TEST, Agent, Part
from pyrite.episodes.weaken import Weakening, parse_weakening
from pyrite.errors import PyriteError, UsageError
from pyrite.records import Source

_NEEDED = ("name", "version", "waits", "act", "final_message")


@dataclass(frozen=True)
class Label:
    """One agent as it was asked for."""

    text: str
    name: str
    options: Mapping[str, str]
    weakening: Weakening | None

    @property
    def source(self) -> Source:
        """The stratum of its episodes."""
        if self.weakening is not None:
            return "weakened"
        return "scripted" if self.name in AGENTS.builtin and self.name not in UNDER_TEST else "natural"

    @property
    def takes_part(self) -> bool:
        """Whether it is one of ours that a suite hands its action list to."""
        return self.name in AGENTS.builtin and self.name not in UNDER_TEST


def parse(text: str) -> Label:
    """Read one label; raises `UsageError` for an unknown agent, option or weakening."""
    rest, tilde, taken = text.strip().partition("~")
    name, _, words = rest.partition("@")
    factory = AGENTS.load(name)
    options = {}
    accepted = _accepted(name, factory)
    for word in filter(None, words.split(",")):
        key, equals, value = word.partition("=")
        if not equals or key not in accepted:
            raise UsageError(
                f"agent {text!r}: unknown option {word!r}",
                expected=", ".join(sorted(accepted)) or "no options for this agent",
            )
        options[key] = value
    label = Label(text.strip(), name, options, parse_weakening(taken) if tilde else None)
    if name in UNDER_TEST:
        make(label, Part((), ""))  # what it lacks is said before anything is started
    return label


def parse_list(texts: str) -> list[Label]:
    """Read a comma-separated list; options keep their commas after an `@`.

    >>> [label.text for label in parse_list("idle,random-walk@steps=3,idle")]
    ['idle', 'random-walk@steps=3']
    """
    parts: list[str] = []
    for part in (p.strip() for p in texts.split(",")):
        goes_on = bool(parts) and "@" in parts[-1] and "~" not in parts[-1]
        if part and goes_on and "=" in part.partition("~")[0] and "@" not in part.partition("=")[0]:
            parts[-1] += f",{part}"
        elif part:
            parts.append(part)
    if not parts:
        raise UsageError(f"no agent in {texts!r}", expected=", ".join(AGENTS.names()))
    return [parse(text) for text in dict.fromkeys(parts)]


def make(label: Label, part: Part) -> Agent:
    """The agent of a label, ready for one episode.

    Raises `UsageError` where it cannot be made: an option out of its range, or an object that is no agent.
    """
    factory = AGENTS.load(label.name)
    try:
        if label.takes_part:
            handed = Part(part.script, part.claim, part.episode_id, label.options)
            agent: Agent = factory(handed)
        else:
            agent = factory(**label.options)
    except PyriteError:
        raise
    except Exception as exc:  # anybody's code
        raise UsageError(
            f"agent {label.text!r} cannot be made: {type(exc).__name__}: {exc}",
            expected="a class or function that gives an agent when it is called",
        ) from exc
    missing = [name for name in _NEEDED if not hasattr(agent, name)]
    if missing:
        raise UsageError(
            f"{label.name!r} is not an agent: it has no {', '.join(missing)}", expected=", ".join(_NEEDED)
        )
    return agent if label.weakening is None else label.weakening.wrap(agent)


def _accepted(name: str, factory: object) -> set[str]:
    if name in AGENTS.builtin and name not in UNDER_TEST:
        return set(getattr(factory, "OPTIONS", ()))
    try:
        return set(inspect.signature(factory).parameters)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return set()
