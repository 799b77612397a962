"""The home that a desktop starts from: LibreOffice's profile, made once on this machine and kept.

A first start takes 10 s and writes a profile; a start with one takes 3. Carets do not blink and
nothing is animated, so that a still screen is still; recovery and autosave are off, so that nothing
is persisted that the agent did not save. Warnings stay as the application ships them.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from pyrite.sandbox import image
from pyrite.store.scratch import remove

_GTK = """[Settings]
gtk-cursor-blink=0
gtk-enable-animations=0
"""
_ITEM = (
    '<item oor:path="/org.openoffice.{path}"><prop oor:name="{name}" oor:op="fuse">'
    "<value>{value}</value></prop></item>\n"
)
_SETTINGS = (
    ("Office.Common/Misc", "FirstRun", "false"),
    ("Office.Common/Misc", "ShowTipOfTheDay", "false"),
    ("Office.Common/Misc", "CollectUsageInformation", "false"),
    ("Office.Recovery/RecoveryInfo", "Enabled", "false"),
    ("Office.Recovery/AutoSave", "Enabled", "false"),
    ("Office.Common/Save/Document", "AutoSave", "false"),
    ("Office.Common/Save/Document", "CreateBackup", "false"),
)
_REGISTRY = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<oor:items xmlns:oor="http://openoffice.org/2001/registry"'
    ' xmlns:xs="http://www.w3.org/2001/XMLSchema"'
    ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">\n'
    + "".join(_ITEM.format(path=p, name=n, value=v) for p, n, v in _SETTINGS)
    + "</oor:items>\n"
)
_FILES = {
    ".config/gtk-3.0/settings.ini": _GTK,
    ".config/libreoffice/4/user/registrymodifications.xcu": _REGISTRY,
}
_MADE_OF = ("libreoffice", "libgtk-3", "openbox", "fonts-", "fontconfig")


def cache_folder() -> Path:
    """Where pyrite keeps what it can make again: PYRITE_CACHE, or pyrite/ in the user's cache folder."""
    own = os.environ.get("PYRITE_CACHE")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "pyrite"


def key() -> str:
    """Changes with the packages and settings that a profile is made of."""
    versions = {p: v for p, v in image.packages().items() if p.startswith(_MADE_OF)}
    return hashlib.sha256(f"{image.digest(versions)}{sorted(_FILES.items())}".encode()).hexdigest()[:16]


def bare(folder: Path) -> None:
    """Write the settings alone into a home."""
    for name, text in _FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def profile(make: Callable[[Path, Path], None], made_of: Callable[[], str] = key) -> Path:
    """The kept seed home; `make(bare home, into)` makes it where there is none. Never write to it.

    `made_of()` names the software and settings that it is made of.
    Safe for several processes: one makes it, the others wait.
    """
    kept = cache_folder() / "seed"
    kept.mkdir(parents=True, exist_ok=True)
    target = kept / made_of()
    if target.is_dir():
        return target
    with (kept / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.is_dir():
            return target
        for left in kept.glob("new-*"):  # of a process that was killed: nobody else makes one now
            remove(left)
        with tempfile.TemporaryDirectory(dir=kept, prefix="new-") as temporary:
            first, result = Path(temporary) / "first", Path(temporary) / "result"
            first.mkdir()
            bare(first)
            make(first, result)
            os.rename(result, target)
    return target


def take(home: Path, into: Path) -> None:
    """Keep of a used home what belongs into a seed: settings, no locks, no lists of recent files."""
    (into / ".config").mkdir(parents=True)
    for name in ("gtk-3.0", "libreoffice"):
        source = home / ".config" / name
        if source.is_dir():
            ignored = shutil.ignore_patterns(".lock", "backup", "*.lock")
            shutil.copytree(source, into / ".config" / name, symlinks=True, ignore=ignored)
