"""Temporary folders that go away again, whatever was put into them and however their maker ended.

    with scratch("record") as folder: ...      # $TMPDIR/pyrite-record-<pid>-<began>-xxxxxxxx
    claimed = claim("desk"); claimed.close()

A folder is locked by its maker, and named after it. What a killed process left is not locked any more,
and the next process that claims a folder removes it.

A home that an agent made may be a thousand folders deep, or shut: `shutil.rmtree` recurses (Python 3.11
and 3.12) and gives up on both.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NAME = re.compile(r"pyrite-[a-z]+-(?P<maker>\d+)(?:-(?P<began>\d+))?-\w{8}")
_MEMORY = "/dev/shm"  # noqa: S108 - folders in it get names that cannot be foreseen
_SWEPT: set[tuple[Path, int | None]] = set()


class Claimed:
    """A temporary folder that this process holds until `close()`, which removes it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def close(self) -> None:
        """Remove the folder; may be called twice."""
        remove(self.root)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def claim(kind: str, *, base: Path | None = None, owner: int | None = None) -> Claimed:
    """A new empty folder in `base` (default: TMPDIR), links resolved; `kind` is a word of small letters.

    Removes what killed processes left there, once a process: folders of this user, and of the id
    `owner` that sandboxes run under.
    """
    base = (base or Path(tempfile.gettempdir())).resolve()
    if (base, owner) not in _SWEPT:
        _SWEPT.add((base, owner))
        sweep(base, owner)
    maker = f"{os.getpid()}-{_began(os.getpid())}"
    return Claimed(Path(tempfile.mkdtemp(prefix=f"pyrite-{kind}-{maker}-", dir=base)))


@contextmanager
def scratch(kind: str, within: Path | None = None) -> Iterator[Path]:
    """A new empty folder below TMPDIR, or below `within`, which this process claimed; removed at the end."""
    if within is None:
        claimed = claim(kind)
        try:
            yield claimed.root
        finally:
            claimed.close()
        return
    folder = Path(tempfile.mkdtemp(prefix=kind, dir=within)).resolve()
    try:
        yield folder
    finally:
        remove(folder)


def sweep(base: Path, owner: int | None = None) -> None:
    """Remove the folders in `base` whose maker has ended without doing so."""
    for left in base.glob("pyrite-*"):
        name = _NAME.fullmatch(left.name)
        if name is None:
            continue
        with contextlib.suppress(OSError):
            info = left.lstat()
            if not stat.S_ISDIR(info.st_mode) or info.st_uid not in {os.getuid(), owner}:
                continue
            began = _began(int(name["maker"]))
            if began is not None and name["began"] in {None, began}:
                continue
            descriptor = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove(left)
            finally:
                os.close(descriptor)


def _began(pid: int) -> str | None:
    """When a process began, in ticks since the machine did; None where none of that number lives."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if status[0] in "ZX" else status[19]  # Z: it has ended, and nobody has asked how


def in_memory(least: int) -> Path | None:
    """Where files lie in memory, if `least` bytes of it are free and TMPDIR names no other place; else None.

    For many small files of short life: a file system on a disk may look for minutes whether an inode that
    was freed is to be had again (ext4: `recently_deleted`).
    """
    if "TMPDIR" in os.environ or not os.access(_MEMORY, os.W_OK | os.X_OK):
        return None
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
        available = re.search(r"^MemAvailable:\s+(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
    except OSError:
        return None
    free = shutil.disk_usage(_MEMORY).free
    roomy = available is not None and min(free, int(available[1]) << 10) >= least
    return Path(_MEMORY) if roomy and [_MEMORY, "tmpfs"] in [mount[1:3] for mount in mounts] else None


def require_room(folder: Path, least: int = 1 << 20) -> None:
    """Raise `OSError` (ENOSPC) where a folder's disk has less room: then what failed there did for that."""
    if shutil.disk_usage(folder).free < least:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))


def remove(folder: Path) -> None:
    """Remove a tree of any depth, also where its folders were shut; never follows a link, never raises."""
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        for command in (["/bin/chmod", "-R", "u+rwx"], ["/bin/rm", "-rf"]):
            subprocess.run([*command, "--", str(folder)], stderr=subprocess.DEVNULL, check=False)
