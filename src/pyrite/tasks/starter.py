"""A working task folder to start from: it passes replay as it is, and its comments teach."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

from pyrite.errors import UsageError
from pyrite.tasks.folder import FolderTask, load_folder

TEMPLATE = Path(__file__).parent / "template"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def start(name: str, out: Path) -> FolderTask:
    """Write the folder `out/name` and load it; it appears whole or not at all.

    Raises `UsageError` for a name that no task can have, and where something is there already.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name[:100]!r} is not a task's name",
            expected="letters, digits, . _ and -, a letter or digit first, at most 100",
            next="pyrite init task my-first-task",
        )
    folder = out / name
    if os.path.lexists(folder):
        raise UsageError(
            "it is there already and is left as it is",
            where=str(folder),
            expected="a name that is free",
            next=f"pyrite init task {name}-2 -o {out}",
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise UsageError("it is not a folder", where=str(out), expected="a folder for tasks") from None
    with tempfile.TemporaryDirectory(dir=out, prefix=f".{name}.") as partial:
        made = Path(partial) / name
        shutil.copytree(TEMPLATE, made, ignore=shutil.ignore_patterns("__pycache__"))
        os.rename(made, folder)
    return load_folder(folder)
