"""The steps of a verifier that must act before it looks: `act` in task.json, one object a step.

    {"step": "activate_window", "title": "stock.ods"}
    {"step": "key", "keys": "ctrl+s"}
    {"step": "wait_for", "file": "Documents/stock.ods", "timeout_s": 20}

Every step is observed, and one that cannot be seen to have worked ends the act: nothing is read as if it
had. `sleep` alone observes nothing, so it is flagged wherever it is used.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

MAX_STEPS = 40
MAX_ACT_S = 300.0
"""Longest time that all steps of a task may take together."""
MAX_PATTERN = 200
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_NOT_LINEAR = re.compile(r"\(\?[=!<P]|\\[1-9]")

Match = Literal["exact", "contains", "regex"]
Text = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
Arguments = Annotated[tuple[Annotated[str, StringConstraints(max_length=4096)], ...], Field(min_length=1)]
Seconds = Annotated[float, Field(gt=0, le=MAX_ACT_S)]


class _Step(BaseModel, ABC):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @property
    def longest_s(self) -> float:
        """How long it may take."""
        return float(getattr(self, "timeout_s", 0.0))

    @abstractmethod
    def brief(self) -> str:
        """The step in a few words, as reports name it."""


class _OfWindow(_Step):
    """A step that names a window by its title."""

    title: Text | None = None
    match: Match = "contains"
    timeout_s: Seconds = 10.0

    @model_validator(mode="after")
    def _pattern(self) -> Self:
        _check_pattern(self.match, self.title)
        return self


class ActivateWindow(_OfWindow):
    """Bring a window to the front; done when it is the active one and has the keyboard."""

    step: Literal["activate_window"]
    title: Text

    def brief(self) -> str:
        return f"activate_window {self.title!r}"


class Key(_OfWindow):
    """Press keys together, in the window of the last `activate_window` or in the one that is named.

    `title` None: the window that was activated. `timeout_s`: how long it may take to come to rest
    afterwards; no failure where it takes longer.
    """

    step: Literal["key"]
    keys: Text

    def brief(self) -> str:
        return f"key {self.keys}"


class WaitFor(_Step):
    """Wait until one thing is so; done when it is, failed at the deadline."""

    step: Literal["wait_for"]
    title: Text | None = None
    """A window of this title."""
    window: Text | None = None
    """A window of this class (WM_CLASS)."""
    file: Text | None = None
    """A file below the home, relative to it."""
    http: Text | None = None
    """A URL on the sandbox's own loopback."""
    command: Arguments | None = None
    """A program, run in the home until its output is as `output` says."""
    match: Match = "contains"
    gone: bool = False
    """With title or window: until there is none any more."""
    is_: Literal["changed", "exists"] = Field(default="changed", alias="is")
    """With file: written since the act began, or there at all; either way at rest."""
    status: int = Field(default=200, ge=100, le=599)
    output: Text | None = None
    """With http or command: what the answer must hold, in the way that `match` says."""
    expect_exit: int = Field(default=0, ge=0, le=255)
    timeout_s: Seconds = 10.0
    poll_s: float = Field(default=0.1, ge=0.02, le=10)

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True)

    @model_validator(mode="after")
    def _one_thing(self) -> Self:
        named = [name for name in _THINGS if getattr(self, name) is not None]
        if len(named) != 1:
            found = " and ".join(named) or "none of them"
            raise ValueError(f"wait_for needs exactly one of {', '.join(_THINGS)}; found {found}")
        _check_pattern(self.match, self.title)
        _check_pattern(self.match, self.output)
        own = {
            "gone": {"title", "window"},
            "is_": {"file"},
            "status": {"http"},
            "output": {"http", "command"},
            "expect_exit": {"command"},
            "match": {"title", "http", "command"},
        }
        for name in sorted(self.model_fields_set & own.keys()):
            given = getattr(self, name) != type(self).model_fields[name].default
            if given and named[0] not in own[name]:
                shown = name.rstrip("_")
                expected = " or ".join(sorted(own[name]))
                raise ValueError(f"{shown} goes with {expected}, and this waits for {named[0]}")
        if self.file is not None:
            _check_path(self.file)
        if self.http is not None:
            _check_url(self.http)
        return self

    @property
    def thing(self) -> str:
        """title, window, file, http or command."""
        return next(name for name in _THINGS if getattr(self, name) is not None)

    def brief(self) -> str:
        wanted = getattr(self, self.thing)
        shown = " ".join(wanted) if isinstance(wanted, tuple) else wanted
        how = self.is_ if self.thing == "file" else "gone" if self.gone else ""
        return f"wait_for {self.thing} {shown!r:.80}" + (f" {how}" if how else "")


_THINGS = ("title", "window", "file", "http", "command")


class Execute(_Step):
    """Run a program in the home; done when it exits as expected."""

    step: Literal["execute"]
    argv: Arguments
    expect_exit: int = Field(default=0, ge=0, le=255)
    timeout_s: Seconds = 30.0

    def brief(self) -> str:
        return f"execute {' '.join(self.argv)!r:.80}"


class Sleep(_Step):
    """Let time pass. It observes nothing: a slow machine makes it a silent failure, so it is flagged."""

    step: Literal["sleep"]
    seconds: float = Field(gt=0, le=60)

    @property
    def longest_s(self) -> float:
        return self.seconds

    def brief(self) -> str:
        return f"sleep {self.seconds:g}"


Step = Annotated[ActivateWindow | Key | WaitFor | Execute | Sleep, Field(discriminator="step")]


class ActLine(BaseModel):
    """One line of act.jsonl: a step, and what was observed of it. Other harnesses may add keys."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    n: int = Field(ge=1)
    step: dict[str, Any]
    """The step as task.json has it."""
    ok: bool
    seen: str = ""
    """What was observed, in words."""
    focus: str | None = None
    """Title of the window that had the keyboard afterwards; None where that is not known."""
    exit_code: int | None = None
    seconds: float | None = Field(default=None, ge=0)
    hazard: str | None = None
    """Why the step is not to be relied on, though it worked."""
    at: str | None = None


def as_line(step: Step) -> dict[str, Any]:
    """A step as it stands in act.jsonl: without what has its default.

    >>> as_line(Key(step="key", keys="ctrl+s"))
    {'step': 'key', 'keys': 'ctrl+s'}
    """
    kept: dict[str, Any] = step.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return {"step": step.step, **{name: value for name, value in kept.items() if name != "step"}}


def problem(steps: tuple[Step, ...]) -> str | None:
    """What is wrong with the steps of a task taken together, or None."""
    if len(steps) > MAX_STEPS:
        return f"{len(steps)} steps; at most {MAX_STEPS}"
    together = sum(step.longest_s for step in steps)
    if together > MAX_ACT_S:
        return f"the steps may take {together:g} s together; at most {MAX_ACT_S:g}"
    for number, step in enumerate(steps, start=1):
        if isinstance(step, ActivateWindow):
            break
        if isinstance(step, Key) and step.title is None:
            return (
                f"step {number}, key {step.keys}: nothing says which window it is for; expected an "
                "activate_window before it, or a title of its own"
            )
    return None


def _check_pattern(match: Match, text: str | None) -> None:
    if match != "regex" or text is None:
        return
    if len(text) > MAX_PATTERN:
        raise ValueError(f"a pattern of {len(text)} characters; at most {MAX_PATTERN}")
    if _NOT_LINEAR.search(text):
        raise ValueError(f"{text!r} looks around or refers back; expected RE2's syntax, which does not")
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError) as exc:
        raise ValueError(f"{text!r} is not a regular expression: {exc}") from None


def _check_path(path: str) -> None:
    parts = PurePosixPath(path).parts
    if path.startswith("/") or ".." in parts or "\0" in path or not parts:
        raise ValueError(f"{path!r} is not below the home; expected a relative path without ..")


def _check_url(url: str) -> None:
    found = urlsplit(url)
    if found.scheme != "http" or found.hostname not in _LOOPBACK:
        raise ValueError(f"{url!r} is not on the sandbox's loopback; expected http://127.0.0.1:PORT/…")
    _ = found.port  # raises ValueError with the reason
    if found.username or any(not c.isprintable() or c == " " for c in url):
        raise ValueError(f"{url!r} holds a user name, a space or a control character")
