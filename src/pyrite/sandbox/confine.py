"""Run foreign code: a task's setup, state builders and verifier.

With bubblewrap the program sees /usr, the Python that runs pyrite, pyrite's package, its own working
directory and the named paths, all read-only, each at its own place; it may write to `writes` and to a
small /tmp; it has no network and an environment of its own. Without bubblewrap it is a plain process
with the same environment and limits, and `what_holds()` says what is then not enforced.
"""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import signal
import site
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import pyrite
from pyrite.errors import InputError, RunError, SandboxError
from pyrite.records import Limits
from pyrite.sandbox import attempts, bwrap, cgroup, processes
from pyrite.store.scratch import scratch
from pyrite.tasks.task import Program

FILE_LIMIT = 1 << 30
"""Largest file that a confined program can write, in bytes."""
PROCESS_LIMIT = 256
"""Most processes and threads that a confined program can have at once."""
_PACKAGE_FOLDERS = ("site-packages", "dist-packages")
GRACE_S = 5.0
DRAIN_S = 1.0
PERIOD_S = 0.05

# dash and bash name the limit of processes differently; a system without a limit goes without it.
_LIMITED = (
    'ulimit -c 0; ulimit -t "$1"; ulimit -f "$2"; ulimit -v "$3" 2>/dev/null;'
    ' { [ "$4" = 0 ] || ulimit -p "$4" || ulimit -u "$4"; } 2>/dev/null; shift 4; exec "$@"'
)


@dataclass(frozen=True)
class Finished:
    """How a confined program ended."""

    returncode: int | None
    """Exit code, 128 + n where signal n ended it; None where the time limit did."""
    stdout: bytes
    stderr: bytes
    timed_out: bool
    truncated: bool
    """One of the outputs was longer than the limit; what exceeds it was read and dropped."""
    forked: bool = False
    """It was forked from a server that had imported before (`sandbox.forkserver`)."""


def run(
    program: Program,
    *,
    reads: Sequence[Path] = (),
    writes: Sequence[Path] = (),
    env: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    output_limit: int = 1 << 20,
) -> Finished:
    """Run a program confined and wait for its end; every process it started is gone afterwards.

    `output_limit`: bytes kept of each of stdout and stderr. Safe from several threads and processes.
    Raises `InputError` for a path that is not there, `SandboxError` where bubblewrap fails to set up.
    """
    limits = limits or Limits()
    readable = [*reads, *program.reads, program.cwd]
    for path in (*readable, *writes):
        if not path.exists():
            raise InputError("no such path", where=str(path), expected="a path that the program may use")
    command = [*_limit_words(limits), *program.argv]
    found, _ = bwrap.probe()
    if found is None:
        return _run_plainly(program, command, env or {}, limits, output_limit)
    arguments = arguments_for(found, program.cwd, readable, writes, env or {})
    group = cgroup.Group(memory_bytes=limits.memory_mb << 20, processes=PROCESS_LIMIT)
    sandbox = bwrap.Sandbox(
        found, arguments, command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, group=group
    )
    crowd = Crowd(sandbox, bounded="pids" in group.folders or os.getuid() != 0)
    with sandbox:
        out, err, timed_out, truncated = collect(
            sandbox.process, limits.timeout_s, output_limit, sandbox.kill, crowd.check
        )
        code = sandbox.exit_code()
    if crowd.killed:
        code = 128 + signal.SIGKILL
    if code is None and not timed_out:
        raise SandboxError(
            "the sandbox could not be set up: " + (bwrap.first_line(err) or "killed from outside"),
            where=str(program.cwd),
            expected="bubblewrap to start the program",
            next="pyrite doctor",
        )
    return Finished(None if timed_out else code, out, err, timed_out, truncated)


def what_holds() -> dict[str, Any]:
    """What confinement enforces here, for gt.json; every False comes with the reason.

    `not_prevented` names what of `attempts.NAMES` a hostile program would achieve.
    """
    found, reason = bwrap.probe()
    if found is None:
        return {
            "backend": "none",
            "filesystem": False,
            "network": False,
            **dict.fromkeys(("pid", "ipc", "uts", "user"), False),
            "seccomp": False,
            "file_size_limit_bytes": FILE_LIMIT,
            "memory": "rlimit",
            "processes": "none" if os.getuid() == 0 else "rlimit",
            "not_prevented": attempts.not_prevented(isolated=False, seccomp=False),
            "reason": reason,
        }
    groups = cgroup.available()
    otherwise = "watched" if os.getuid() == 0 else "rlimit"
    return {
        "backend": "bubblewrap",
        "version": found.version,
        "filesystem": True,
        "network": True,
        **dict.fromkeys(("pid", "ipc", "uts", "user"), True),
        "seccomp": found.seccomp,
        "file_size_limit_bytes": FILE_LIMIT,
        "memory": "cgroup+rlimit" if "memory" in groups else "rlimit",
        "processes": "cgroup" if "pids" in groups else otherwise,
        "not_prevented": attempts.not_prevented(isolated=True, seccomp=found.seccomp),
    }


# --- what it gets ---------------------------------------------------------------------------------


def _environment(home: str) -> dict[str, str]:
    out = {
        "PATH": f"{os.path.dirname(sys.executable)}:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": home,
        "TMPDIR": home,
        "TZ": "UTC",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    if site.ENABLE_USER_SITE:
        out["PYTHONUSERBASE"] = site.getuserbase()
    return out


@lru_cache(maxsize=1)
def interpreter() -> tuple[Path, ...]:
    """Folders of the running Python, of its packages and of pyrite, and links that lead to them."""
    folders = [Path(sys.prefix), Path(sys.base_prefix), Path(os.path.realpath(sys.base_prefix))]
    folders.append(Path(pyrite.__file__).parent)
    # Packages need not lie below the prefix: Debian's Python keeps some in /usr/local, users in ~/.local.
    folders += [Path(p) for p in sys.path if os.path.basename(p) in _PACKAGE_FOLDERS and os.path.isdir(p)]
    link = Path(sys.executable)
    while link.is_symlink():
        link = link.parent / os.readlink(link)
        if not any(link.is_relative_to(folder) for folder in folders):
            folders.append(link)
    system = Path("/usr")
    local = Path("/usr/local")
    return tuple(p for p in folders if not p.is_relative_to(system) or p.is_relative_to(local) or p == local)


def arguments_for(
    found: bwrap.Bubblewrap,
    cwd: Path,
    readable: Sequence[Path],
    writes: Sequence[Path],
    env: Mapping[str, str],
    *,
    masked: bool = True,
) -> list[str]:
    """bubblewrap's arguments for a confined program: root, namespaces, paths, environment.

    `masked`: hide process 1, which is bwrap under the same id: else its memory could be written to.
    """
    mask = ["--perms", "0000", *found.tmpfs("/proc/1", 4096), "--remount-ro", "/proc/1"] if masked else []
    out = [*bwrap.root(found), *mask, *bwrap.namespaces(found, hostname="confined")]
    out += bwrap.binds([*interpreter(), *readable], writes)
    out += bwrap.environment({**_environment("/tmp"), **env})  # noqa: S108
    return [*out, "--chdir", os.path.abspath(cwd)]


class Crowd:
    """Bounds the number of processes where neither a control group nor the kernel's own limit does."""

    def __init__(self, sandbox: bwrap.Sandbox, *, bounded: bool) -> None:
        self._sandbox = sandbox
        self._bounded = bounded
        self.killed = False

    def check(self) -> None:
        """Kill the sandbox if there are too many."""
        init = self._sandbox.init_pid
        if not self._bounded and init is not None and len(processes.inside(init)) > PROCESS_LIMIT:
            self.killed = True
            self._sandbox.kill()


def _limit_words(limits: Limits) -> list[str]:
    """The start of a command line that sets resource limits and then becomes the program."""
    seconds = math.ceil(limits.timeout_s + GRACE_S)
    # root is exempt from the kernel's process limit, and it would count all of root's processes here
    processes = 0 if os.getuid() == 0 else PROCESS_LIMIT
    numbers = (seconds, FILE_LIMIT // 512, limits.memory_mb * 1024, processes)
    return ["/bin/sh", "-c", _LIMITED, "sh", *map(str, numbers)]


def _run_plainly(
    program: Program, command: Sequence[str], env: Mapping[str, str], limits: Limits, output_limit: int
) -> Finished:
    with scratch("plain") as home:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**_environment(str(home)), **env},
                cwd=program.cwd,
                start_new_session=True,
            )
        except OSError as exc:
            raise RunError(str(exc), where=str(program.cwd), expected="a program that starts") from exc

        def kill() -> None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)

        try:
            out, err, timed_out, truncated = collect(process, limits.timeout_s, output_limit, kill)
        finally:
            kill()
            code = process.wait()
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
    return Finished(None if timed_out else (128 - code if code < 0 else code), out, err, timed_out, truncated)


# --- what it says ---------------------------------------------------------------------------------


class Capped:
    """Keeps the first `limit` bytes of a stream and drops the rest, so the writer never blocks."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.kept = bytearray()
        self.truncated = False

    def feed(self, chunk: bytes) -> None:
        room = self.limit - len(self.kept)
        self.kept += chunk[:room]
        self.truncated = self.truncated or len(chunk) > room


def collect(
    process: subprocess.Popen[bytes],
    timeout_s: float,
    limit: int,
    kill: Callable[[], object],
    check: Callable[[], object] = lambda: None,
) -> tuple[bytes, bytes, bool, bool]:
    """Read both outputs until the program ends or its time is up; then `kill` is called.

    `check` is called every PERIOD_S meanwhile.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    outputs = {process.stdout: Capped(limit), process.stderr: Capped(limit)}
    deadline = time.monotonic() + timeout_s
    with selectors.DefaultSelector() as selector:
        for stream in outputs:
            os.set_blocking(stream.fileno(), False)
            selector.register(stream, selectors.EVENT_READ)
        while process.poll() is None and (remaining := deadline - time.monotonic()) > 0:
            patience_s = min(remaining, PERIOD_S)
            if selector.get_map():
                read_ready(selector, outputs, patience_s)
            else:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(patience_s)
            check()
        timed_out = process.poll() is None
        kill()
        last = time.monotonic() + DRAIN_S
        while selector.get_map() and time.monotonic() < last and read_ready(selector, outputs, PERIOD_S):
            pass
    out, err = outputs[process.stdout], outputs[process.stderr]
    return bytes(out.kept), bytes(err.kept), timed_out, out.truncated or err.truncated


def read_ready(
    selector: selectors.BaseSelector, outputs: Mapping[IO[bytes], Capped], patience_s: float
) -> bool:
    """Take what is there of the registered streams; False where nothing came in time."""
    ready = selector.select(patience_s)
    for key, _ in ready:
        stream = key.fileobj
        assert not isinstance(stream, int)
        chunk = os.read(stream.fileno(), 1 << 16)
        if chunk:
            outputs[stream].feed(chunk)  # type: ignore[index]  # only the two streams are registered
        else:
            selector.unregister(stream)
    return bool(ready)
