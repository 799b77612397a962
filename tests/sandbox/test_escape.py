"""Ten things that a hostile verifier tries, from `pyrite verify` down: what it achieves, and what is said.

The verifier is good in every replay and attacks when it meets an episode that asks for it, so the
whole path is tried: archive, extraction, confinement, answer.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import zstandard

from pyrite.sandbox import attempts, bwrap, confine

FOUND, REASON = bwrap.probe()
VERIFIER = Path(__file__).with_name("hostile") / "verify.py"
SECRET = "the other episode's secret"
KEY = "sk-0f1e2d3c4b5a"
GIGABYTES = 10


@dataclass
class Host:
    """What a verifier may reach for: a bench, a neighbour, listeners, a process with a key."""

    root: Path
    victim: subprocess.Popen[bytes]
    port: int
    abstract: str
    socket: Path
    connected: list[str] = field(default_factory=list)

    @property
    def bench(self) -> Path:
        return self.root / "bench"

    @property
    def other(self) -> Path:
        return self.bench / "episodes" / "neighbour" / "actions.jsonl"

    def mine(self) -> list[int]:
        """Processes that belong to a verification of this bench."""
        out = []
        for process in Path("/proc").iterdir():
            try:
                if process.name.isdigit() and os.fsencode(self.bench) in (process / "cmdline").read_bytes():
                    out.append(int(process.name))
            except OSError:
                continue
        return out


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    with ExitStack() as stack:
        victim = stack.enter_context(subprocess.Popen(["/bin/sleep", "300"], env={"OPENAI_API_KEY": KEY}))
        stack.callback(victim.kill)
        abstract, path = f"pyrite-{os.getpid()}-{time.monotonic_ns()}", tmp_path / "listener"
        made = Host(tmp_path, victim, 0, abstract, path)
        listeners = {
            "loopback": socket.create_server(("127.0.0.1", 0)),
            "abstract": _listen("\0" + abstract),
            "file": _listen(str(path)),
        }
        made.port = listeners["loopback"].getsockname()[1]
        for name, listener in listeners.items():
            stack.callback(listener.close)
            stack.callback(listener.shutdown, socket.SHUT_RDWR)
            threading.Thread(target=_accept, args=(listener, name, made.connected), daemon=True).start()
        yield made
        for pid in made.mine():
            os.kill(pid, signal.SIGKILL)


def _listen(address: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    return listener


def _accept(listener: socket.socket, name: str, connected: list[str]) -> None:
    while True:
        try:
            listener.accept()[0].close()
        except OSError:
            return
        connected.append(name)


def build(host: Host, *, wanted_bytes: int, forks: int) -> None:
    """A bench with one task and an episode an attack."""
    task = host.bench / "tasks" / "note"
    (task / "states").mkdir(parents=True)
    (task / "setup.sh").write_text("printf old >note.txt\n")
    (task / "states" / "good.sh").write_text("printf 4500 >note.txt\n")
    shutil.copyfile(VERIFIER, task / "verify.py")
    states = [{"name": "good", "kind": "good", "outcome": "pass"}]
    body = {"instruction": "Write 4500 into note.txt.", "states": states, "limits": {"timeout_s": 30}}
    (task / "task.json").write_text(json.dumps(body))
    order = {
        "other_episode": str(host.other),
        "port": host.port,
        "abstract": host.abstract,
        "socket": str(host.socket),
        "victim": host.victim.pid,
        "forks": forks,
        "bytes": wanted_bytes,
        "pause_s": 0.1,  # what comes in the instant before the kill is read as its own: two objects
    }
    for name in attempts.NAMES:
        episode(host, name, {"attack.json": json.dumps({**order, "attack": name}), "note.txt": "old"})
    episode(host, "neighbour", {"note.txt": "4500"})
    host.other.write_text(json.dumps({"step": 1, "action": "done", "thought": SECRET}) + "\n")


def episode(host: Host, name: str, files: dict[str, str]) -> None:
    folder = host.bench / "episodes" / name
    folder.mkdir(parents=True)
    target = str(host.other)
    with (
        (folder / "final_state.tar.zst").open("wb") as raw,
        zstandard.ZstdCompressor().stream_writer(raw, closefd=False) as packed,
        tarfile.open(fileobj=packed, mode="w|") as tar,
    ):
        for path, text in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
        if name == "symlink_out":
            climb = "../" * 20 + target.lstrip("/")
            for path, leads in (
                *(("absolute", target), ("relative", climb), ("folder", str(host.other.parent))),
                ("hard", target),
            ):
                member = tarfile.TarInfo(path)
                member.type = tarfile.SYMTYPE
                member.linkname = leads
                tar.addfile(member)
    (folder / "actions.jsonl").write_text('{"step": 1, "action": "done"}\n')
    agent = {"name": "scripted", "version": "1", "seed": 1}
    meta: dict[str, Any] = {
        "schema_version": "1",
        "episode_id": name,
        "task_id": "note",
        "source": "scripted",
    }
    meta |= {"agent": agent, "n_steps": 1, "created_at": "2026-01-01T00:00:00Z", "ended_by": "done"}
    (folder / "meta.json").write_text(json.dumps(meta))


def verify(host: Host, **env: str) -> dict[str, Any]:
    """`pyrite verify` as a user runs it, with a key in its environment; gt.json by episode."""
    done = subprocess.run(
        [sys.executable, "-m", "pyrite", "verify", str(host.bench), "-j", "1"],
        env={**os.environ, "OPENAI_API_KEY": KEY, **env},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    truths = (host.bench / "episodes").glob("*/gt.json")
    return {path.parent.name: json.loads(path.read_text()) for path in truths}


def achieved(host: Host, truths: dict[str, Any]) -> dict[str, str]:
    """Attack -> what it achieved, in the verifier's words or as seen from outside."""
    out = {name: truths[name]["diagnostics"].get("achieved", "") for name in attempts.NAMES}
    if truths["write_after_exit"]["outcome"] != "fail":
        out["write_after_exit"] = truths["write_after_exit"]["cause"] or "it passed"
    if host.mine():
        out["write_after_exit"] += " a process is left"
    return {name: what for name, what in out.items() if what}


@pytest.mark.skipif(FOUND is None, reason=f"no bubblewrap: {REASON}")
@pytest.mark.parametrize("way", ["forked", "fresh"])
def test_no_attack_of_a_verifier_succeeds(way: str, host: Host, record_property: Any) -> None:
    build(host, wanted_bytes=GIGABYTES << 30, forks=2000)
    files = {p: p.read_bytes() for p in host.bench.rglob("*") if p.is_file()}
    truths = verify(host, **({"PYRITE_NO_FORKSERVER": "1"} if way == "fresh" else {}))
    done = achieved(host, truths)
    count = f"{len(done)} of {len(attempts.NAMES)} verifier attacks"
    ways = {truths[name]["confinement"]["process"] for name in attempts.NAMES}
    record_property("figure", f"{count} succeeded (bubblewrap, {'/'.join(ways)} process)")
    assert done == {}
    assert host.connected == []
    assert host.victim.poll() is None
    assert {p: p.read_bytes() for p in files} == files
    assert truths["neighbour"]["outcome"] == "pass"
    assert {truths[name]["outcome"] for name in attempts.NAMES} == {"fail"}
    assert {tuple(truth["confinement"]["not_prevented"]) for truth in truths.values()} == {()}
    assert way == "forked" or ways == {"fresh"}
    assert KEY not in json.dumps(truths)
    assert SECRET not in json.dumps(truths)


def test_without_bubblewrap_it_names_what_is_not_prevented(host: Host, record_property: Any) -> None:
    # more than confinement would let it write in all, and than it would let it start; no harm to a machine
    build(host, wanted_bytes=600 << 20, forks=confine.PROCESS_LIMIT + 44)
    truths = verify(host, PYRITE_NO_BWRAP="1")
    done = achieved(host, truths)
    named = truths["neighbour"]["confinement"]["not_prevented"]
    count = f"{len(done)} of {len(attempts.NAMES)} verifier attacks"
    record_property("figure", f"{count} succeeded without bubblewrap; gt.json names {len(named)}")
    assert {truth["confinement"]["backend"] for truth in truths.values()} == {"none"}
    assert sorted(named) == sorted(done), done
    assert {"read_episode", "open_socket", "signal_parent", "write_after_exit"} <= set(done)
    assert {"loopback", "abstract", "file"} == set(host.connected)
    host.victim.wait(5)
