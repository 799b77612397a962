"""The applications that an action may launch, by name."""

from __future__ import annotations

import os
from dataclasses import dataclass

from pyrite.records import Launch


@dataclass(frozen=True)
class App:
    """How an application is started inside the sandbox."""

    argv: tuple[str, ...]
    """Command; the arguments of the launch follow."""
    package: str
    """Debian package that brings it."""
    flush_s: float = 0.0
    """How long it may take to write what the screen already shows as done."""
    runs: str = ""
    """File name of the executable that its process runs; empty: that of the command."""
    window_class: str = ""
    """Class of the windows that show its documents."""

    @property
    def executable(self) -> str:
        return self.runs or os.path.basename(self.argv[0])


APPS: dict[str, App] = {
    "calc": App(
        ("/usr/bin/soffice", "--norestore", "--nologo", "--calc"),
        "libreoffice-calc",
        runs="soffice.bin",
        window_class="libreoffice-calc",
    ),
    "mousepad": App(("/usr/bin/mousepad",), "mousepad", window_class="Mousepad"),
    "xterm": App(("/usr/bin/xterm",), "xterm", window_class="XTerm"),
}

MAX_ARGS = 32
MAX_ARG_CHARS = 1024


def command(launch: Launch) -> list[str] | str:
    """The command line of a launch, or why there is none."""
    app = APPS.get(launch.app)
    if app is None:
        return f"unknown application {launch.app[:80]!r}; known: {', '.join(sorted(APPS))}"
    if not os.path.exists(app.argv[0]):
        return f"{launch.app} is not installed (package {app.package})"
    if len(launch.args) > MAX_ARGS or any(len(a) > MAX_ARG_CHARS for a in launch.args):
        return f"too many or too long arguments (at most {MAX_ARGS} of {MAX_ARG_CHARS} characters)"
    if any(not a.isprintable() for a in launch.args):
        return "an argument holds a control character"
    return [*app.argv, *launch.args]
