"""An agent that breaks all it can reach: it fails its own episode, and nothing else is touched."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pyrite.episodes.agents import Observation
from pyrite.episodes.record import Order, record_episode
from pyrite.records import Action, Meta, Outcome
from pyrite.sandbox import desktop
from pyrite.sandbox.backend import SessionSpec
from pyrite.sandbox.local import LocalBackend, LocalSession
from pyrite.store.bench import Bench
from pyrite.tasks.folder import FolderTask, load_folder
from pyrite.truth.verify import verify

pytestmark = pytest.mark.desktop

QUOTA = 60_000_000
BROKEN = ("framebuffer", "descriptors", "x_clients", "x_socket", "processes", "window_manager", "quota")
"""What the script goes for; each leaves a line in tried.txt before it begins."""

ATTACK = r"""
trap '' HUP PIPE TERM
tried() { echo "$1" >>tried.txt; }

tried framebuffer
for file in /f/Xvfb_screen0 $(find / -name 'Xvfb_screen*' 2>/dev/null) /proc/[0-9]*/root/f/Xvfb_screen0; do
    (: >"$file"); truncate -s 0 "$file"
done 2>/dev/null

tried descriptors
for descriptor in /proc/[0-9]*/fd/*; do
    case "$descriptor" in /proc/$$/*) continue ;; esac
    [ -p "$descriptor" ] || [ -S "$descriptor" ] || continue
    timeout 1 dd if=/dev/zero bs=4096 count=32 oflag=nonblock of="$descriptor"
    printf '%s\n' '{"exit-code": 0}' 7368 pass | timeout 1 dd oflag=nonblock of="$descriptor"
done 2>/dev/null

tried x_clients
perl -MSocket -e '
    for (1 .. 600) {
        socket(my $s, PF_UNIX, SOCK_STREAM, 0) or last;
        connect($s, sockaddr_un("/tmp/.X11-unix/X7")) or last;
        syswrite $s, pack("a1 x S S S S x2", "l", 11, 0, 0, 0); push @kept, $s;
    }
    sleep 600' &
sleep 1

tried x_socket
rm -rf /tmp/.X11-unix/X7 /tmp/.X11-unix; mv /tmp/.X11-unix /tmp/gone; (: >/tmp/.X11-unix/X7)

tried processes
kill -9 1
for pid in $(seq 2 5 4000000); do kill -9 $pid; [ $pid -gt 20000 ] && break; done 2>/dev/null

tried window_manager
for process in /proc/[0-9]*; do
    [ "$(cat "$process/comm")" = openbox ] && kill -9 "${process#/proc/}"
done 2>/dev/null
kill -9 -1

tried quota
while :; do i=$((i + 1)); head -c 5000000 /dev/zero >"big$i" || break; done
"""

VERIFY = """
import json, pathlib, sys
note = pathlib.Path(sys.argv[1], "note.txt")
found = note.read_text().strip() if note.is_file() else None
category = None if found == "4500" else ["F-ABORT", "F-CLAIM"]
print(json.dumps({"pass": found == "4500", "category": category, "diagnostics": {"found": found}}))
"""


class SmallHomes(LocalBackend):
    """Desktops whose homes are full soon."""

    def start(self, home: Path, spec: SessionSpec) -> LocalSession:
        self.session = super().start(home, replace(spec, home_limit_bytes=QUOTA))
        return self.session


class Agent:
    """Starts an xterm with a script, looks on while it runs, types on, and says that it is done."""

    name = "hostile"
    version = "1"
    waits = False

    def __init__(self, script: str, looks: int, typed: str = "") -> None:
        wait = [Action(action="wait", seconds=1.0)] * looks
        typing = [Action(action="type", text=typed), Action(action="key", keys="Return")]
        first = Action(action="launch", app="xterm", args=("-e", "sh", script))
        click = Action(action="click", x=512, y=384)
        again = Action(action="launch", app="xterm", args=())
        self._left = [first, *wait, click, *typing, again, Action(action="wait", seconds=1.0)]

    def act(self, instruction: str, observation: Observation) -> Action:
        return self._left.pop(0) if self._left else Action(action="done")

    def final_message(self) -> str | None:
        return "The note is saved."


@pytest.fixture
def task(tmp_path: Path) -> FolderTask:
    folder = tmp_path / "bench" / "tasks" / "note"
    (folder / "states").mkdir(parents=True)
    (folder / "files").mkdir()
    (folder / "files" / "attack.sh").write_text(ATTACK)
    (folder / "files" / "work.sh").write_text('read line; echo "$line" >note.txt; sleep 600\n')
    (folder / "setup.sh").write_text("printf old >note.txt\n")
    (folder / "states" / "good.sh").write_text("printf 4500 >note.txt\n")
    (folder / "verify.py").write_text(VERIFY)
    names = ("attack.sh", "work.sh")
    body = {
        "instruction": "Write 4500 into note.txt.",
        "initial": {"files": [{"path": name, "from": f"files/{name}"} for name in names]},
        "states": [{"name": "good", "kind": "good", "outcome": "pass"}],
    }
    (folder / "task.json").write_text(json.dumps(body))
    return load_folder(folder)


def record(backend: LocalBackend, task: FolderTask, agent: Agent, name: str, bench: Bench) -> Meta:
    order = Order(name, "natural", seed=1)
    return record_episode(backend, task, agent, order, bench.paths.episode(name).root)


@contextmanager
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the id that sandboxes run under, outside of any."""
    owner = desktop.unprivileged_id()
    with subprocess.Popen(["/bin/sleep", "300"], user=owner, cwd="/") as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_hostile_agent_harms_only_its_own_episode(
    backend: LocalBackend, task: FolderTask, tmp_path: Path, record_property: Any
) -> None:
    bench = Bench.create(tmp_path / "bench")
    small = SmallHomes()
    with bystander() as other, ThreadPoolExecutor(2) as executor:
        attacked = executor.submit(record, small, task, Agent("attack.sh", 12), "hostile", bench)
        beside = executor.submit(record, backend, task, Agent("work.sh", 14, "4500"), "beside", bench)
        metas = [attacked.result(240), beside.result(240)]
        killed = other.poll() is not None
    tried = _text(bench, "hostile", "tried.txt").split()
    assert tried == list(BROKEN), "the attack did not get to its end"
    facts = bench.facts("hostile")
    assert facts is not None
    assert (facts.model_extra or {}).get("limits_hit") == ["home"]
    report = verify(bench, lambda name: task if name == "note" else None, jobs=1)
    hostile, neighbour = bench.truth("hostile"), bench.truth("beside")
    assert hostile is not None
    assert neighbour is not None
    harmed = {
        "its record": metas[0].ended_by != "done",
        "its outcome": (hostile.outcome, hostile.cause) != (Outcome.FAIL, None),
        "a neighbour": metas[1].ended_by != "done" or neighbour.outcome is not Outcome.PASS,
        "a process of the host": killed,
    }
    ways = f"an agent that broke its session in {len(BROKEN)} ways"
    record_property("figure", f"{sum(harmed.values())} of {len(harmed)} other things were harmed by {ways}")
    assert not any(harmed.values()), (harmed, report.text())
    size = bench.paths.episode("hostile").final_state.stat().st_size
    assert size < QUOTA // 10
    assert not small.session.home.parent.exists()


def _text(bench: Bench, episode: str, name: str) -> str:
    import tarfile

    import zstandard

    with (
        zstandard.open(bench.paths.episode(episode).final_state, "rb") as stream,
        tarfile.open(fileobj=stream, mode="r|") as tar,
    ):
        for member in tar:
            if member.name == name:
                content = tar.extractfile(member)
                assert content is not None
                return content.read().decode()
    raise AssertionError(f"{name} is not in the end state")


def test_a_display_that_dies_is_the_agents_failure(
    backend: LocalBackend, task: FolderTask, tmp_path: Path
) -> None:
    """Where an agent finds a way to crash the X server, its record still ends as it would have."""
    bench = Bench.create(tmp_path / "bench")
    small = SmallHomes()

    class Killer(Agent):
        def act(self, instruction: str, observation: Observation) -> Action:
            if len(self._left) == 2:
                small.session._display.kill()
            return super().act(instruction, observation)

    meta = record(small, task, Killer("work.sh", 2, "450"), "dead", bench)
    assert meta.ended_by == "done"
    facts = bench.facts("dead")
    assert facts is not None
    assert facts.unsaved is None
    verify(bench, lambda name: task, jobs=1)
    truth = bench.truth("dead")
    assert truth is not None
    assert (truth.outcome, truth.cause) == (Outcome.FAIL, None)
