"""Bounds on a session's home and memory, watched from outside while it runs.

Over the home limit every application is killed, as a full disk would have stopped it; over the memory
limit the largest process is, as the kernel would. The session goes on: it is the agent's doing.
"""

from __future__ import annotations

import signal
import threading
from pathlib import Path

from pyrite.sandbox import end_state, processes

PERIOD_S = 0.5
_KEPT = {"/usr/bin/openbox", "/usr/bin/dbus-daemon"}


class Watchdog:
    """A thread that looks twice a second; `hits` says which limits were met."""

    def __init__(self, home: Path, home_limit: int, init_pid: int, memory_limit: int | None) -> None:
        self.hits: list[str] = []
        self._home = home
        self._home_limit = home_limit
        self._init_pid = init_pid
        self._memory_limit = memory_limit
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pyrite-watchdog", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(PERIOD_S):
            self.look()

    def look(self) -> None:
        """One round."""
        if end_state.usage(self._home, self._home_limit + 1) > self._home_limit:
            self._hit("home")
            for entry in processes.inside(self._init_pid):
                if processes.executable(entry.pid) not in _KEPT:
                    processes.send(entry, signal.SIGKILL)
        if self._memory_limit is not None:
            sizes = [(processes.memory_bytes(e), e) for e in processes.inside(self._init_pid)]
            if sizes and sum(size for size, _ in sizes) > self._memory_limit:
                self._hit("memory")
                processes.send(max(sizes, key=lambda pair: pair[0])[1], signal.SIGKILL)

    def _hit(self, limit: str) -> None:
        if limit not in self.hits:
            self.hits.append(limit)
