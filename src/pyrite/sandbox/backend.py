"""What a desktop backend gives: sessions that take actions and show screens, and an end state.

    with backend.start(home, SessionSpec(open=Launch(app="calc", args=("Documents/a.ods",)))) as session:
        seen = session.screenshot()
        seen = session.act(Action(action="key", keys="ctrl+s"))
        end = session.finish(Path("final_state.tar.zst"))

`home` is copied, never written to. What an agent does to its own desktop (kills applications, fills
the disk, grabs the display) shows in observations and facts; it never ends the session by an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from PIL import Image

from pyrite.records import Action, Facts, Launch
from pyrite.steps import ActLine, Step


@dataclass(frozen=True)
class SessionSpec:
    """What a desktop is to be."""

    open: Launch | None = None
    """Application that is open, and ready, when `start` returns."""
    width: int = 1024
    height: int = 768
    home_limit_bytes: int = 1 << 30
    memory_limit_bytes: int = 2 << 30
    time_limit_s: float = 900.0
    """After this long no action is performed any more."""
    settle_limit_s: float = 10.0
    """Longest wait for a still screen after one action."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Further variables of the applications."""
    read_clock: bool = False
    """Read the sandbox's clock against this machine's before the first action, for the facts."""


@dataclass(frozen=True)
class Observation:
    """What came of an action."""

    screen: Image.Image
    """RGB, the whole screen."""
    timed_out: bool = False
    """The screen was taken although it was not still within the limit."""
    error: str | None = None
    """Why the action was not performed, or had no effect; None where it was performed."""


@dataclass(frozen=True)
class EndState:
    """What is left of a session."""

    archive: Path
    """The home as tar.zst: sorted, times 0, owner 0."""
    facts: Facts
    sha256: str
    """Of the archive's bytes."""
    omitted: tuple[str, ...] = field(default=())
    """Paths of the home that are not in the archive (sockets, unreadable, beyond the size limit)."""


@dataclass(frozen=True)
class Act:
    """What a verifier does on the desktop after the end state was taken, before everything is killed."""

    steps: Sequence[Step]
    archive: Path
    """Where the home after them goes."""
    note: Callable[[ActLine], None]
    """Gets each step with what was observed of it, as soon as that is known."""


class Session(Protocol):
    """One running desktop."""

    enforced: dict[str, Any]
    """What isolates and bounds it, for meta.enforced."""
    image: str
    """Names the software inside, for meta.sandbox_image."""

    def act(self, action: Action, *, settle: bool = True) -> Observation:
        """Perform one action and return the screen after it.

        `settle=False` takes the screen at once, ready or not. Never raises for what an action says.
        """
        ...

    def screenshot(self, *, settle: bool = True) -> Observation: ...

    def finish(self, archive: Path, act: Act | None = None) -> EndState:
        """Stop everything, take facts and the home, ask windows to close, kill. Only `close` may follow.

        With `act`, its steps are carried out instead of asking windows to close, and the home is taken
        once more, wherever they ended.
        """
        ...

    def close(self) -> None:
        """Kill what runs and remove what was made; may be called twice."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Backend(Protocol):
    """A way to run desktops."""

    name: str

    def start(self, home: Path, spec: SessionSpec) -> Session:
        """A desktop whose home is a copy of `home`. Raises `SandboxError` where it cannot be isolated."""
        ...
