"""The processes of a sandbox, seen and signalled from outside.

They are found by walking the host's process table down from the sandbox's process 1: orphans are
handed to it, so the walk is complete, whatever a process does to its own name or descriptors.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from pyrite import records

_MAX_LISTED = 256
_MAX_ARGUMENTS = 64
_MAX_ARGUMENT_BYTES = 8192


@dataclass(frozen=True)
class Entry:
    """One line of the process table."""

    pid: int
    parent: int
    state: str
    ticks: int
    """CPU time used, in clock ticks."""
    started: int
    """Start time, in clock ticks since boot; with the pid it names the process for good."""


def _entry(pid: int) -> Entry | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as handle:
            text = handle.read()
    except OSError:
        return None
    fields = text[text.rindex(b")") + 2 :].split()
    ticks = int(fields[11]) + int(fields[12])
    return Entry(pid, int(fields[1]), fields[0].decode(), ticks, int(fields[19]))


def inside(init_pid: int) -> list[Entry]:
    """Every process below the sandbox's process 1, without it and without dead ones."""
    table = [e for name in os.listdir("/proc") if name.isdigit() and (e := _entry(int(name)))]
    children: dict[int, list[Entry]] = {}
    for entry in table:
        children.setdefault(entry.parent, []).append(entry)
    out: list[Entry] = []
    queue = [init_pid]
    while queue:
        for child in children.get(queue.pop(), ()):
            queue.append(child.pid)
            if child.state not in "ZX":
                out.append(child)
    return sorted(out, key=lambda e: (e.started, e.pid))


def cpu_ticks(init_pid: int) -> dict[int, int]:
    """CPU time of every process inside, by pid, in clock ticks."""
    return {e.pid: e.ticks for e in inside(init_pid)}


def grown(before: dict[int, int], after: dict[int, int]) -> int:
    """Clock ticks used between two readings, new processes included."""
    return sum(max(0, ticks - before.get(pid, 0)) for pid, ticks in after.items())


def send(entry: Entry, number: signal.Signals) -> bool:
    """Signal exactly this process; False where it is gone (its pid may belong to another by now)."""
    try:
        descriptor = os.pidfd_open(entry.pid)
    except OSError:
        return False
    try:
        now = _entry(entry.pid)
        if now is None or now.started != entry.started:
            return False
        with contextlib.suppress(ProcessLookupError, PermissionError):
            signal.pidfd_send_signal(descriptor, number)
            return True
        return False
    finally:
        os.close(descriptor)


def stop_all(init_pid: int, patience_s: float = 2.0) -> bool:
    """Stop every process inside; False where one still ran after `patience_s`."""
    deadline = time.monotonic() + patience_s
    while True:
        running = [e for e in inside(init_pid) if e.state not in "Tt"]
        if not running:
            return True
        for entry in running:
            send(entry, signal.SIGSTOP)
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)


def continue_all(init_pid: int) -> None:
    """Let every stopped process run again."""
    for entry in inside(init_pid):
        send(entry, signal.SIGCONT)


def executable(pid: int) -> str:
    """The file that a process runs; unlike its arguments it cannot be forged. "" where unreadable."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


def describe(init_pid: int) -> tuple[records.Process, ...]:
    """The processes inside as facts; arguments are cut at 8 kB."""
    out = []
    for entry in inside(init_pid)[:_MAX_LISTED]:
        arguments: tuple[str, ...] = ()
        with contextlib.suppress(OSError), open(f"/proc/{entry.pid}/cmdline", "rb") as handle:
            words = handle.read(_MAX_ARGUMENT_BYTES).rstrip(b"\0").split(b"\0")[:_MAX_ARGUMENTS]
            arguments = tuple(w.decode("utf-8", "replace") for w in words)
        out.append(records.Process(exe=executable(entry.pid), argv=arguments))
    return tuple(out)


def listening_ports(init_pid: int) -> tuple[int, ...]:
    """Ports that the sandbox's network namespace listens on, TCP and UDP, sorted."""
    ports: set[int] = set()
    for name, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{init_pid}/net/{name}").read_text().splitlines()[1:4096]:
                fields = line.split()
                if len(fields) > 3 and fields[3] == state:
                    ports.add(int(fields[1].rsplit(":", 1)[1], 16))
    return tuple(sorted(ports))


def memory_bytes(entry: Entry) -> int:
    """Proportional share of memory of a process (Pss), in bytes; 0 where it is gone."""
    with contextlib.suppress(OSError), open(f"/proc/{entry.pid}/smaps_rollup", "rb") as handle:
        for line in handle:
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    return 0
