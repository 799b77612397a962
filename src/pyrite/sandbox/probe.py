"""What this machine can do, tried rather than assumed: what `pyrite doctor` prints."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pyrite.sandbox import apps, bwrap, cgroup, desktop, seccomp, seed

DESKTOP = "make desktop"
OCR = "pip install 'pyrite[ocr]'"
_RECORDING = "recording episodes on the desktop"
_GTK3_PLUGIN = "usr/lib/libreoffice/program/libvclplug_gtk3lo.so"
_OLDEST_PYTHON = (3, 11)


@dataclass(frozen=True)
class Capability:
    """One thing that this machine can or cannot do."""

    name: str
    ok: bool | None
    """None: could not be found out."""
    detail: str
    needed_for: str
    """What does not work, or is not enforced, without it."""
    install: str | None = None
    """Command that brings it; None where there is none, or nothing is missing."""


def capabilities() -> list[Capability]:
    """Everything that pyrite makes use of on a machine, in the order of a report; takes under a second."""
    found, reason = bwrap.probe()
    return [
        _python(),
        _command(),
        Capability(
            "bubblewrap",
            found is not None,
            f"{found.version}: starts" if found else reason,
            "confining verifiers; without it they run as plain processes. The desktop needs it",
            None if found else DESKTOP,
        ),
        *(_isolation(found) if found else []),
        _seccomp(),
        _memory(),
        *(_program(path, package) for path, package in sorted(desktop.PROGRAMS.items())),
        *(_program(*needed) for needed in dict.fromkeys(apps.programs())),
        _gtk3(),
        _fonts(),
        _cache(),
        _module("zstandard", "reading and writing end states", "pip install zstandard"),
        _module("Xlib", "mouse, keyboard and windows of the desktop", "pip install python-xlib"),
        _module("rapidocr", "reading screens (screen-rules)", OCR),
        _module("onnxruntime", "reading screens (screen-rules)", OCR),
        _module("tesserocr", "reading the screens of a whole set (screen-rules@ocr=tesserocr)", OCR),
        _english(),
        _docker(),
        _extra("xllamacpp", "serving a GGUF file (--gguf)", "pip install 'pyrite[local-llm]'"),
        _extra("transformers", "reward models in a folder (reward-hf)", "pip install 'pyrite[hf]'"),
    ]


def _python() -> Capability:
    ok = sys.version_info[:2] >= _OLDEST_PYTHON
    detail = f"{platform.python_version()} at {sys.executable}"
    return Capability("python", ok, detail, "everything", None if ok else "install Python 3.11 or later")


_TRIALS: tuple[tuple[str, str, str], ...] = (
    (
        "network apart",
        'test "$(ls /sys/class/net 2>/dev/null; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " ")" = lo',
        "episodes; refused where it does not hold",
    ),
    (
        "files apart",
        "test ! -e /etc/shadow && test ! -e /home && test ! -e /root && ! touch /usr/pyrite 2>/dev/null",
        "episodes; refused where it does not hold",
    ),
    ("processes apart", 'test "$(ls -d /proc/[0-9]* | wc -l)" -lt 8', "episodes and confined verifiers"),
    ("no user namespaces inside", "! unshare -Ur true 2>/dev/null", "closing a usual way out of a sandbox"),
)


def _command() -> Capability:
    """Whether the `pyrite` that a shell finds is this one: other packages have that name too."""
    found = shutil.which("pyrite")
    own = Path(sys.executable).with_name("pyrite")
    needed_for = "typing pyrite in a shell"
    if found is None:
        return Capability("pyrite command", None, f"not on the PATH; {own} is this one", needed_for)
    if Path(found).resolve() == own.resolve():
        return Capability("pyrite command", True, found, needed_for)
    return Capability(
        "pyrite command", False, f"{found} is another program", needed_for, f"use {own}, or python -m pyrite"
    )


def _isolation(found: bwrap.Bubblewrap) -> list[Capability]:
    """Try from inside what isolation is there to prevent."""
    out = []
    for name, script, needed_for in _TRIALS:
        arguments = [*bwrap.root(found), *bwrap.namespaces(found)]
        arguments += bwrap.environment({"PATH": "/usr/bin:/bin"})
        command = ["/bin/sh", "-c", script]
        with bwrap.Sandbox(found, arguments, command, user=desktop.unprivileged_id()) as trial:
            try:
                trial.process.wait(10)
                code = trial.exit_code()
            except subprocess.TimeoutExpired:
                code = None
        ok = None if code is None else code == 0
        detail = {True: "holds (tried from inside)", False: "DOES NOT HOLD", None: "could not be tried"}[ok]
        out.append(Capability(name, ok, detail, needed_for))
    return out


def _seccomp() -> Capability:
    program = seccomp.program()
    if program is None:
        detail, install = "libseccomp not found", "apt-get install libseccomp2"
    else:
        detail, install = f"filter of {len(program)} bytes, {len(seccomp.DENIED)} calls denied", None
    return Capability(
        "seccomp", program is not None, detail, "narrowing what confined code asks of the kernel", install
    )


def _memory() -> Capability:
    groups = cgroup.available()
    if "memory" in groups:
        return Capability(
            "memory bound", True, f"control group below {groups['memory']}", "bounding episodes"
        )
    return Capability(
        "memory bound",
        True,
        "no control group may be made here: a watchdog bounds desktops, a resource limit confined programs",
        "bounding episodes",
    )


def _program(path: str, package: str) -> Capability:
    ok = os.path.exists(path)
    needed_for = "recording episodes on the desktop"
    return Capability(
        os.path.basename(path), ok, path if ok else "not installed", needed_for, None if ok else DESKTOP
    )


def _gtk3() -> Capability:
    ok = Path("/", _GTK3_PLUGIN).exists()
    detail = "installed" if ok else "not installed: LibreOffice would look, and place its controls, otherwise"
    return Capability(
        "libreoffice-gtk3", ok, detail, "recording episodes on the desktop", None if ok else DESKTOP
    )


def _fonts() -> Capability:
    listing = shutil.which("fc-list")
    if listing is None:
        return Capability("fonts", None, "fc-list is not installed", "text on the desktop's screens", DESKTOP)
    done = subprocess.run([listing, ":", "family"], capture_output=True, text=True, timeout=30, check=False)
    families = {line.split(",")[0].strip() for line in done.stdout.splitlines()}
    ok = "Liberation Sans" in families
    detail = f"{len(families)} families" + ("" if ok else ", Liberation Sans is not among them")
    return Capability("fonts", ok, detail, "text on the desktop's screens", None if ok else DESKTOP)


def _english() -> Capability:
    own = os.environ.get("TESSDATA_PREFIX")
    folders = [*([Path(own), Path(own, "tessdata")] if own else []), Path("/usr/share/tessdata")]
    folders += sorted(Path("/usr/share/tesseract-ocr").glob("*/tessdata"))
    found = next((str(f) for f in folders if (f / "eng.traineddata").is_file()), None)
    detail, needed_for = found or "not installed", "reading the screens of a whole set, with tesserocr"
    return Capability("tesseract-ocr-eng", found is not None, detail, needed_for, None if found else DESKTOP)


def _docker() -> Capability:
    """Whether there is a client; its engine is asked when it is used, since that may take long."""
    found = shutil.which("docker")
    detail = f"{found}; whether its engine answers is seen when it is used" if found else "not installed"
    return Capability("docker", None, detail, "record --backend docker; not needed otherwise")


def _cache() -> Capability:
    folder = seed.cache_folder()
    nearest = next(p for p in (folder, *folder.parents) if p.exists())
    ok = os.access(nearest, os.W_OK)
    detail = f"{folder}" if ok else f"{nearest} is not writable"
    return Capability(
        "cache folder", ok, detail, "keeping LibreOffice's profile", None if ok else "set PYRITE_CACHE"
    )


def _extra(name: str, needed_for: str, install: str) -> Capability:
    """A package that few need: not to have it is no fault."""
    found = _module(name, needed_for, install)
    return found if found.ok else replace(found, ok=None)


def _module(name: str, needed_for: str, install: str) -> Capability:
    """Whether a package is importable, without importing it."""
    finder: Callable[[str], object | None] = importlib.util.find_spec
    ok = finder(name) is not None
    return Capability(name, ok, "importable" if ok else "not installed", needed_for, None if ok else install)
