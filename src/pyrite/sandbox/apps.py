"""The applications that an action may launch, by name."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

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
    needs: tuple[str, ...] = ()
    """Executables that it starts besides its own command."""
    asks: bool = True
    """Whether a window with unsaved work brings up a dialog when it is asked to close."""

    @property
    def executable(self) -> str:
        return self.runs or os.path.basename(self.argv[0])


_CHROMIUM = (
    "/usr/lib/chromium/chromium",
    "--no-sandbox",
    "--test-type",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--password-store=basic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-crash-restore-bubble",
    "--disable-search-engine-choice-screen",
    "--force-device-scale-factor=1",
    "--start-maximized",
)
"""Its own sandbox wants user namespaces, which ours denies; the rest keeps it still and offline. Not by the
script in /usr/bin, which reads settings of this machine."""
_BROWSER_FLUSH_S, _APPLICATION_FLUSH_S = 11.0, 3.0
"""Chromium writes bookmarks up to 2.1 s and settings up to 10 s after the screen shows them; a download, and
what the web application writes, take no longer than bookmarks."""

KONTOR = "/var/lib/kontor.pyz"
"""Where the web application is inside; an argument of its launch is the path of the page to open."""
KONTOR_DATABASE = "Kontor/kontor.db"

APPS: dict[str, App] = {
    "calc": App(
        ("/usr/bin/soffice", "--norestore", "--nologo", "--calc"),
        "libreoffice-calc",
        runs="soffice.bin",
        window_class="libreoffice-calc",
    ),
    "chromium": App(
        _CHROMIUM,
        "chromium",
        flush_s=_BROWSER_FLUSH_S,
        runs="chromium",
        window_class="Chromium-browser",
        asks=False,
    ),
    "kontor": App(
        ("/usr/bin/python3", "-E", "-B", KONTOR, KONTOR_DATABASE, *_CHROMIUM),
        "chromium",
        flush_s=_APPLICATION_FLUSH_S,
        runs="chromium",
        window_class="Chromium-browser",
        needs=(_CHROMIUM[0],),
        asks=False,
    ),
    "mousepad": App(("/usr/bin/mousepad",), "mousepad", window_class="Mousepad"),
    "pcmanfm": App(("/usr/bin/pcmanfm", "--no-desktop"), "pcmanfm", window_class="Pcmanfm", asks=False),
    "writer": App(
        ("/usr/bin/soffice", "--norestore", "--nologo", "--writer"),
        "libreoffice-writer",
        runs="soffice.bin",
        window_class="libreoffice-writer",
    ),
    "xterm": App(("/usr/bin/xterm",), "xterm", window_class="XTerm", asks=False),
}

MAX_ARGS = 32
MAX_ARG_CHARS = 1024


def programs() -> list[tuple[str, str]]:
    """(executable, Debian package) of every application."""
    return [((app.needs or app.argv)[0], app.package) for app in APPS.values()]


def flush_s(running: Mapping[str, App], launched: Collection[str]) -> float:
    """How long to wait for what running applications have still to write.

    Of several that run the same executable, those count that were launched.
    """
    known = {running[name].executable for name in launched if name in running}
    counting = [a.flush_s for name, a in running.items() if name in launched or a.executable not in known]
    return max(counting, default=0.0)


@cache
def brought() -> dict[str, bytes]:
    """Programs of ours that exist inside: path -> content. The same modules give the same bytes."""
    folder = Path(__file__).with_name("kontor")
    members = {f"kontor/{path.name}": path.read_bytes() for path in sorted(folder.glob("*.py"))}
    members["__main__.py"] = b"from kontor.start import main\n\nmain()\n"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return {KONTOR: out.getvalue()}


def command(launch: Launch, installed: Callable[[str], bool] = os.path.exists) -> list[str] | str:
    """The command line of a launch, or why there is none; `installed` says whether a program is there."""
    app = APPS.get(launch.app)
    if app is None:
        return f"unknown application {launch.app[:80]!r}; known: {', '.join(sorted(APPS))}"
    if not all(installed(program) for program in (app.argv[0], *app.needs)):
        return f"{launch.app} is not installed (package {app.package})"
    if len(launch.args) > MAX_ARGS or any(len(a) > MAX_ARG_CHARS for a in launch.args):
        return f"too many or too long arguments (at most {MAX_ARGS} of {MAX_ARG_CHARS} characters)"
    if any(not a.isprintable() for a in launch.args):
        return "an argument holds a control character"
    return [*app.argv, *launch.args]
