"""The process walk, signals and watchdog, on real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyrite.sandbox import cgroup, processes
from pyrite.sandbox.watchdog import Watchdog

TREE = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c",
    "import subprocess,sys;subprocess.Popen(['/bin/sleep','60'],start_new_session=True).wait()"])
print("ready", flush=True)
child.wait()
"""


@pytest.fixture
def root() -> Iterator[int]:
    """A process with a child and a grandchild in a session of its own."""
    with subprocess.Popen([sys.executable, "-c", TREE], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            names = [Path(processes.executable(entry.pid)).name for entry in processes.inside(process.pid)]
            if names[1:] == ["sleep"]:  # a fork has its parent's name until it has become the program
                break
            time.sleep(0.02)
        yield process.pid
        for entry in processes.inside(process.pid):
            processes.send(entry, signal.SIGKILL)
        process.kill()


def test_walk_finds_every_descendant(root: int) -> None:
    found = processes.inside(root)
    assert [Path(processes.executable(e.pid)).name for e in found][-1] == "sleep"
    assert root not in {e.pid for e in found}
    described = processes.describe(root)
    assert described[-1].argv == ("/bin/sleep", "60")


def test_stop_and_continue(root: int) -> None:
    assert processes.stop_all(root)
    assert {e.state for e in processes.inside(root)} == {"T"}
    processes.continue_all(root)
    deadline = time.monotonic() + 5
    while "T" in {e.state for e in processes.inside(root)}:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_signal_reaches_only_the_process_that_was_seen(root: int) -> None:
    entry = processes.inside(root)[-1]
    another = processes.Entry(entry.pid, entry.parent, entry.state, entry.ticks, entry.started - 1)
    assert not processes.send(another, signal.SIGKILL)
    assert processes.executable(entry.pid)
    assert processes.send(entry, signal.SIGKILL)


def test_gone_processes() -> None:
    gone = subprocess.Popen(["/bin/true"])
    gone.wait()
    assert processes.inside(gone.pid) == []
    assert not processes.send(processes.Entry(gone.pid, 1, "S", 0, 0), signal.SIGKILL)
    assert processes.executable(gone.pid) == ""
    assert processes.describe(gone.pid) == ()
    assert processes.listening_ports(gone.pid) == ()


def test_cpu_use_counts_new_processes() -> None:
    assert processes.grown({1: 10, 2: 5}, {1: 12, 3: 4}) == 6
    assert processes.grown({}, {}) == 0


def test_memory_is_proportional_share(root: int) -> None:
    assert processes.memory_bytes(processes.inside(root)[0]) > 100_000


def test_a_name_with_brackets_and_spaces_is_read(tmp_path: Path) -> None:
    odd = tmp_path / "a) R (b"
    odd.write_bytes(Path("/bin/sleep").resolve().read_bytes())
    odd.chmod(0o755)
    with subprocess.Popen([odd, "60"]) as process:
        entry = processes._entry(process.pid)
        process.kill()
    assert entry is not None
    assert entry.parent == os.getpid()


def test_watchdog_kills_over_the_home_limit(root: int, tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"x" * 200_000)
    dog = Watchdog(tmp_path, 100_000, root, None)
    deadline = time.monotonic() + 10
    while processes.inside(root) and time.monotonic() < deadline:
        time.sleep(0.05)
    dog.stop()
    assert dog.hits == ["home"]
    assert processes.inside(root) == []


def test_watchdog_kills_the_largest_over_the_memory_limit(root: int, tmp_path: Path) -> None:
    dog = Watchdog(tmp_path, 1 << 30, root, 1000)
    deadline = time.monotonic() + 10
    while "memory" not in dog.hits and time.monotonic() < deadline:
        time.sleep(0.05)
    dog.stop()
    assert dog.hits == ["memory"]


def test_watchdog_leaves_what_is_within_limits(root: int, tmp_path: Path) -> None:
    dog = Watchdog(tmp_path, 1 << 30, root, 1 << 40)
    dog.look()
    dog.stop()
    assert dog.hits == []
    assert len(processes.inside(root)) == 2


@pytest.mark.skipif(not cgroup.available(), reason="no control group may be made here")
def test_control_group_is_made_and_removed() -> None:
    group = cgroup.Group(memory_bytes=100 << 20, processes=10)
    folders = list(group.folders.values())
    assert folders
    with subprocess.Popen(["/bin/sleep", "60"]) as process:
        group.add(process.pid)
        assert all(str(process.pid) in (f / "cgroup.procs").read_text().split() for f in folders)
        process.kill()
    group.close()
    assert not any(f.exists() for f in folders)
    group.close()
