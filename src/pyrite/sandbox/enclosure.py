"""What a desktop runs in: two sandboxes, one for the display and one for the applications.

A session drives them from outside and cares for three things only: the host pid of each one's process 1,
a way to start commands in the second, and the folders of the workspace that both see. Whoever gives these
is an enclosure: bubblewrap here, containers in `docker.py`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Protocol, Self

from pyrite.errors import SandboxError
from pyrite.records import Launch
from pyrite.sandbox import apps, bwrap, cgroup, confine, desktop, held, image, seed
from pyrite.sandbox.backend import SessionSpec
from pyrite.sandbox.desktop import Workspace


class Running(Protocol):
    """A sandbox that has been started; leaving the `with` block kills all of it."""

    init_pid: int | None
    """Pid of its process 1 on this machine."""

    def is_empty(self, patience_s: float = 0.0) -> bool: ...

    def kill(self, patience_s: float = 10.0) -> bool: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


class Applications(Protocol):
    """The sandbox of window manager and applications; see `desktop.Applications`."""

    init_pid: int

    @property
    def sandbox(self) -> Running: ...

    @property
    def bounds_memory(self) -> bool: ...

    def memory_kills(self) -> int | None: ...

    def launch(self, command: list[str]) -> bool: ...

    def run(self, argv: Sequence[str], limit_s: float) -> confine.Finished: ...


class Enclosure(Protocol):
    """A way to enclose desktops."""

    def image(self) -> str:
        """Names the software inside."""
        ...

    def seed_key(self) -> str:
        """Names what the seed profile is made of."""
        ...

    def command(self, launch: Launch) -> list[str] | str:
        """The command line of a launch, or why there is none."""
        ...

    def display(self, space: Workspace, spec: SessionSpec) -> Running: ...

    def applications(self, space: Workspace, spec: SessionSpec) -> Applications: ...

    def enforced(self, spec: SessionSpec, applications: Any, display: Any) -> dict[str, Any]:
        """What holds, for meta.enforced. Raises `SandboxError` where isolation is missing."""
        ...


class Bubblewrapped:
    """Bubblewrap, with this machine's /usr inside."""

    def __init__(self) -> None:
        self._bwrap = bwrap.require()
        missing = desktop.missing_programs()
        if missing:
            raise SandboxError(
                f"not installed: {', '.join(missing)}", expected="a desktop", next="make desktop"
            )

    def image(self) -> str:
        return image.name()

    def seed_key(self) -> str:
        return seed.key()

    def command(self, launch: Launch) -> list[str] | str:
        return apps.command(launch)

    def display(self, space: Workspace, spec: SessionSpec) -> bwrap.Sandbox:
        return desktop.start_display(self._bwrap, space, spec.width, spec.height)

    def applications(self, space: Workspace, spec: SessionSpec) -> desktop.Applications:
        memory = spec.memory_limit_bytes
        group = cgroup.Group(memory_bytes=memory, processes=desktop.PROCESS_LIMIT)
        return desktop.Applications(
            self._bwrap, space, spec.home_limit_bytes, memory, group, spec.environment
        )

    def enforced(
        self, spec: SessionSpec, applications: desktop.Applications, display: bwrap.Sandbox
    ) -> dict[str, Any]:
        init, group = applications.init_pid, applications.group
        holds = held.read(init)
        holds.require()
        if display.init_pid is None:
            raise SandboxError("the display's sandbox has ended", next="pyrite doctor")
        held.read(display.init_pid).require()
        return {
            "backend": "local",
            "bubblewrap": self._bwrap.version,
            **holds.as_json(),
            "nested_user_namespaces": not (holds.seccomp or self._bwrap.disable_userns),
            "display_apart": held.are_apart(init, display.init_pid),
            "unprivileged_id": desktop.unprivileged_id() or os.getuid(),
            "memory": "cgroup" if applications.bounds_memory else "watchdog+rlimit",
            "memory_limit_bytes": spec.memory_limit_bytes,
            "display_memory_limit_bytes": desktop.DISPLAY_MEMORY_BYTES,
            "home": "watchdog",
            "home_limit_bytes": spec.home_limit_bytes,
            "processes": "cgroup+rlimit" if "pids" in group.folders else "rlimit",
            "processes_limit": holds.processes,
            "time_limit_s": spec.time_limit_s,
        }
