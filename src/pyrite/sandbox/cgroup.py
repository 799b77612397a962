"""A control group around a sandbox, where one may be made: bounds all its processes together.

Works with cgroup v1 (memory, pids) and with v2 where the memory controller is delegated. An
ordinary user rarely may; the caller then says so and bounds memory in another way.
"""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_PREFIX = "pyrite-"
_LIMITS = {
    1: {"memory": "memory.limit_in_bytes", "pids": "pids.max"},
    2: {"memory": "memory.max", "pids": "pids.max"},
}


@lru_cache(maxsize=1)
def available() -> dict[str, Path]:
    """Controller -> folder in which a group can be made; empty where none can."""
    found: dict[str, Path] = {}
    for controller in ("memory", "pids"):
        for version, parent in ((1, _ROOT / controller), (2, _ROOT)):
            if _usable(parent, _LIMITS[version][controller]):
                found[controller] = parent
                _sweep(parent)
                break
    return found


def _name() -> str:
    """A name of its own that says which process made the group."""
    return f"{_PREFIX}{os.getpid()}-{uuid.uuid4().hex[:12]}"


def _sweep(parent: Path) -> None:
    """Remove empty groups of processes that were killed before they could."""
    for folder in parent.glob(f"{_PREFIX}*"):
        maker = folder.name.removeprefix(_PREFIX).split("-")[0]
        if not os.path.exists(f"/proc/{maker}"):
            with contextlib.suppress(OSError):  # the kernel refuses where processes are left in it
                folder.rmdir()


def _usable(parent: Path, limit_file: str) -> bool:
    trial = parent / _name()
    try:
        trial.mkdir()
    except OSError:
        return False
    try:
        return os.access(trial / limit_file, os.W_OK) and os.access(trial / "cgroup.procs", os.W_OK)
    finally:
        with contextlib.suppress(OSError):
            trial.rmdir()


@dataclass
class Group:
    """One group per controller, for one sandbox. `close()` removes them once they are empty."""

    memory_bytes: int
    processes: int
    folders: dict[str, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        name = _name()
        for controller, parent in available().items():
            limit = self.memory_bytes if controller == "memory" else self.processes
            folder = parent / name
            version = 2 if parent == _ROOT else 1
            try:
                folder.mkdir(exist_ok=True)
                (folder / _LIMITS[version][controller]).write_text(str(limit))
            except OSError:
                continue
            self.folders[controller] = folder

    def add(self, pid: int) -> None:
        """Put a process, and what it will start, into the group."""
        for controller in list(self.folders):
            try:
                (self.folders[controller] / "cgroup.procs").write_text(str(pid))
            except OSError:
                self._remove(self.folders.pop(controller), 0.0)

    def memory_kills(self) -> int | None:
        """How many processes the kernel killed at the memory bound; None where it does not say."""
        folder = self.folders.get("memory")
        for name in ("memory.events", "memory.oom_control") if folder else ():
            assert folder is not None
            with contextlib.suppress(OSError):
                words = (folder / name).read_text().split()
                if "oom_kill" in words:
                    return int(words[words.index("oom_kill") + 1])
        return None

    def close(self, patience_s: float = 2.0) -> None:
        """Remove the group; its processes must have been killed."""
        for folder in set(self.folders.values()):
            self._remove(folder, patience_s)
        self.folders.clear()

    @staticmethod
    def _remove(folder: Path, patience_s: float) -> None:
        deadline = time.monotonic() + patience_s
        while True:
            try:
                folder.rmdir()
            except FileNotFoundError:
                return
            except OSError:
                if time.monotonic() > deadline:
                    return
                time.sleep(0.005)
            else:
                return
