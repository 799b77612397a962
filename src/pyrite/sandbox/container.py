"""A program in a container: the `docker run` command, and the running container seen from this machine.

Containers get no network, a read-only root, no capabilities, no new privileges, an unprivileged id, and
bounds on memory, processes and files. They end when their standard input does, so also when pyrite is
killed. No engine was at hand when this was written: the commands are tested, a run of them is not.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import select
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from pyrite.errors import SandboxError
from pyrite.sandbox import bwrap

MEGABYTE = 1 << 20
START_LIMIT_S = 60.0
COMMAND_LIMIT_S = 30.0
ENGINE_FAILED = 125
"""Exit code of `docker run` where the engine, and not the program, failed."""
_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy")


@dataclass(frozen=True)
class Bind:
    """A file or folder of this machine that a container sees."""

    source: Path
    target: str
    writable: bool = False


@dataclass(frozen=True)
class Order:
    """A container to run."""

    image: str
    user: tuple[int, int]
    """User and group id, the same on this machine."""
    command: Sequence[str]
    memory_bytes: int
    processes: int
    file_bytes: int
    """Largest file that it can write."""
    binds: Sequence[Bind] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    workdir: str = "/"
    hostname: str = "desk"
    name: str = field(default_factory=lambda: f"pyrite-{os.getpid()}-{uuid.uuid4().hex[:12]}")


def arguments(order: Order) -> list[str]:
    """The words of `docker run` for an order, without the name of the program itself."""
    user, group = order.user
    ours = f"uid={user},gid={group}"
    out = ["run", "--interactive", "--rm", "--pull", "never", "--name", order.name, "--label", "pyrite=desk"]
    out += ["--log-driver", "none", "--hostname", order.hostname, "--workdir", order.workdir]
    out += ["--network", "none", "--ipc", "private", "--cgroupns", "private"]
    out += ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
    out += ["--user", f"{user}:{group}", "--pids-limit", str(order.processes)]
    out += ["--memory", str(order.memory_bytes), "--memory-swap", str(order.memory_bytes)]
    out += ["--ulimit", "core=0:0", "--ulimit", f"fsize={order.file_bytes}:{order.file_bytes}"]
    out += ["--shm-size", str(256 * MEGABYTE)]
    out += ["--tmpfs", f"/tmp:rw,exec,nosuid,nodev,size={256 * MEGABYTE},mode=1777"]  # noqa: S108
    out += ["--tmpfs", f"/run:rw,nosuid,nodev,size={16 * MEGABYTE},mode=0700,{ours}"]
    for bind in order.binds:
        out += ["--mount", _mount(bind)]
    # the client would hand in this machine's proxies, which may hold passwords
    blank = {name: "" for proxy in _PROXIES for name in (proxy, proxy.upper())}
    for key, value in {**blank, **order.environment}.items():
        out += ["--env", f"{key}={value}"]
    program, *rest = order.command
    return [*out, "--entrypoint", program, order.image, *rest]


def _mount(bind: Bind) -> str:
    """The value of --mount, which is a line of CSV."""
    words = ["type=bind", f"source={bind.source}", f"target={bind.target}"]
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([*words, *([] if bind.writable else ["readonly"])])
    return line.getvalue()


@dataclass(frozen=True)
class Engine:
    """A docker client whose engine answers."""

    path: str
    version: str

    def ask(self, *words: str) -> Any:
        """What a command prints, read as JSON. Raises `SandboxError` where it fails."""
        done = _run([self.path, *words])
        if done.returncode != 0:
            said = bwrap.first_line(done.stderr) or f"exit code {done.returncode}"
            raise SandboxError(f"docker {words[0]}: {said}", next="pyrite doctor")
        try:
            return json.loads(done.stdout)
        except ValueError:
            raise SandboxError(f"docker {words[0]} printed no JSON", next="pyrite doctor") from None


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=COMMAND_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise SandboxError(f"{' '.join(command[:2])}: {exc}", next="pyrite doctor") from exc


class Container:
    """A running container; leaving the `with` block kills all of it and waits for the end."""

    def __init__(self, engine: Engine, order: Order) -> None:
        self._engine, self.order = engine, order
        self.init_pid: int | None = None
        self._init_fd: int | None = None
        self.process = subprocess.Popen(
            [engine.path, *arguments(order)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,  # ctrl-C is for us to tell
        )
        try:
            self.inspected = self._started()
            self.init_pid = int(self.inspected["State"]["Pid"])
            self._init_fd = os.pidfd_open(self.init_pid)
            require_here(self.init_pid, str(self.inspected["Id"]))
        except OSError as exc:
            self.close()
            raise SandboxError(f"the container ended at once: {exc.strerror}", next="pyrite doctor") from exc
        except BaseException:
            self.close()
            raise

    def _started(self) -> dict[str, Any]:
        """What the engine says of the container, once it runs."""
        deadline = time.monotonic() + START_LIMIT_S
        while self.process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(SandboxError):  # not made yet
                found: dict[str, Any] = self._engine.ask("container", "inspect", self.order.name)[0]
                if found["State"]["Running"] and found["State"]["Pid"]:
                    return found
            time.sleep(0.05)
        assert self.process.stderr is not None
        code = self.process.poll()
        said = bwrap.first_line(self.process.stderr.read(4096)) if code is not None else "it took too long"
        raise SandboxError(f"the container did not start: {said or 'no reason given'}", next="pyrite doctor")

    def is_empty(self, patience_s: float = 0.0) -> bool:
        """Whether its process 1, and with it every process, is gone; waits up to `patience_s` for it."""
        if self._init_fd is None:
            return True
        poll = select.poll()
        poll.register(self._init_fd, select.POLLIN)
        return bool(poll.poll(int(patience_s * 1000)))

    def kill(self, patience_s: float = 10.0) -> bool:
        """Kill everything inside and wait until nothing is left; False if something still is."""
        if not self.is_empty() or self.process.poll() is None:
            with contextlib.suppress(SandboxError):
                _run([self._engine.path, "kill", "--signal", "KILL", self.order.name])
        empty = self.is_empty(patience_s)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        return empty

    def close(self) -> None:
        """Kill what still runs and remove what is left of it."""
        self.kill()
        with contextlib.suppress(SandboxError):
            _run([self._engine.path, "rm", "--force", "--volumes", self.order.name])
        for stream in (self.process.stdin, self.process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        if self._init_fd is not None:
            os.close(self._init_fd)
            self._init_fd = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def require_here(pid: int, container_id: str, proc: Path = Path("/proc")) -> None:
    """Raise `SandboxError` unless a container's process is one of this kernel: it is driven from here."""
    try:
        groups = (proc / str(pid) / "cgroup").read_text()
    except OSError:
        groups = ""
    if not container_id or container_id not in groups:
        raise SandboxError(
            "the container's processes are not processes of this machine: its engine runs in a virtual"
            " or another one",
            expected="Docker Engine on this Linux machine, since screens and processes are read from outside",
            next="--backend local",
        )
