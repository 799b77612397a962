"""Temporary folders that go away again, whatever was put into them.

A home that an agent made may be a thousand folders deep, or shut: `shutil.rmtree` recurses (Python 3.11
and 3.12) and gives up on both.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scratch(prefix: str, within: Path | None = None) -> Iterator[Path]:
    """A new empty folder below `within` (default: TMPDIR), its links resolved, removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=within)).resolve()
    try:
        yield folder
    finally:
        remove(folder)


def remove(folder: Path) -> None:
    """Remove a tree of any depth, also where its folders were shut; never follows a link, never raises."""
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        for command in (["/bin/chmod", "-R", "u+rwx"], ["/bin/rm", "-rf"]):
            subprocess.run([*command, "--", str(folder)], stderr=subprocess.DEVNULL, check=False)
