"""bubblewrap: found, tried out once, and started with an empty environment and an allow-list root.

The root of a sandbox is an empty tmpfs into which only named things are bound; whatever is not
named does not exist inside. bwrap's own environment is empty too, because `--clearenv` leaves the
host's variables readable in /proc/1/environ, and its arguments come through a descriptor, so host
paths do not stand in /proc/1/cmdline.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import IO

from pyrite.errors import SandboxError
from pyrite.sandbox import cgroup, seccomp

INSIDE_ID = 1000
"""User and group id that programs see themselves run under."""

_ETC_BASE = (
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "alternatives",
    "localtime",
    "timezone",
    "mime.types",
)
_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_STORES = ("/nix/store", "/gnu/store")


@dataclass(frozen=True)
class Bubblewrap:
    """A bwrap that works here, and which of its options do."""

    path: str
    version: str
    disable_userns: bool
    sized_tmpfs: bool
    seccomp: bool

    def tmpfs(self, where: str, limit_bytes: int) -> list[str]:
        """Arguments for an empty folder in memory, bounded where this bwrap can."""
        size = ["--size", str(limit_bytes)] if self.sized_tmpfs else []
        return [*size, "--tmpfs", where]


@lru_cache(maxsize=1)
def probe() -> tuple[Bubblewrap | None, str]:
    """A usable bwrap, or None and the reason; tried once a process."""
    if os.environ.get("PYRITE_NO_BWRAP"):
        return None, "switched off by PYRITE_NO_BWRAP"
    if not sys.platform.startswith("linux"):
        return None, f"bubblewrap needs Linux; this is {sys.platform}"
    path = shutil.which("bwrap")
    if path is None:
        return None, "bwrap is not installed"
    command = [path, "--version"]
    reported = subprocess.run(command, capture_output=True, text=True, env={}, timeout=10, check=False)
    version = reported.stdout.strip().removeprefix("bubblewrap ")
    parts = tuple(int(n) for n in re.findall(r"\d+", version)[:2])
    found = Bubblewrap(
        path=path,
        version=version,
        disable_userns=parts >= (0, 8),
        sized_tmpfs=parts >= (0, 7),
        seccomp=seccomp.program() is not None,
    )
    arguments = [*root(found), *namespaces(found)]
    try:
        trial = Sandbox(found, arguments, ["/bin/sh", "-c", "exit 7"], stderr=subprocess.PIPE)
        with trial:
            _, errors = trial.process.communicate(timeout=20)
            if trial.exit_code() != 7:
                return None, "bwrap does not work here: " + (first_line(errors) or "no reason given")
    except (OSError, subprocess.SubprocessError, SandboxError) as exc:
        return None, f"bwrap does not work here: {exc}"
    return found, ""


def require() -> Bubblewrap:
    """A usable bwrap, or `SandboxError` with the command that installs it."""
    found, reason = probe()
    if found is None:
        raise SandboxError(
            reason,
            expected="bubblewrap, so that what runs has no network and sees nothing of this machine",
            next="make desktop",
        )
    return found


def first_line(text: bytes | None) -> str:
    """The first line of an error output, shortened, as text."""
    lines = (text or b"").decode("utf-8", "replace").strip().splitlines()
    return lines[0][:300] if lines else ""


# --- arguments ------------------------------------------------------------------------------------


def root(bwrap: Bubblewrap, etc: Sequence[str] = (), var: Sequence[str] = ()) -> list[str]:
    """Arguments for the allow-list root: an empty /, /usr without /usr/local, named entries of /etc and /var.

    /tmp, /run, /dev/shm are empty and bounded; the caller adds its own binds and ends with `seal()`.
    """
    megabytes = 1 << 20
    out = [*bwrap.tmpfs("/", 16 * megabytes), "--ro-bind", "/usr", "/usr"]
    if os.path.isdir("/usr/local"):
        out += bwrap.tmpfs("/usr/local", megabytes)
    for name in _LINKS:
        host = f"/{name}"
        if os.path.islink(host):
            out += ["--symlink", os.readlink(host), host]
        elif os.path.isdir(host):
            out += ["--ro-bind", host, host]
    for store in _STORES:
        if os.path.isdir(store):
            out += ["--ro-bind", store, store]
    for folder, names in (("/etc", (*_ETC_BASE, *etc)), ("/var", var)):
        for name in names:
            out += ["--ro-bind-try", f"{folder}/{name}", f"{folder}/{name}"]
    out += ["--proc", "/proc", "--dev", "/dev", *bwrap.tmpfs("/dev/shm", 256 * megabytes)]  # noqa: S108
    return [*out, *bwrap.tmpfs("/tmp", 256 * megabytes), *bwrap.tmpfs("/run", 16 * megabytes)]  # noqa: S108


def seal() -> list[str]:
    """Arguments that make what is left of the root read-only; after the last bind."""
    return ["--remount-ro", "/dev", "--remount-ro", "/"]


def binds(read_only: Iterable[Path], writable: Iterable[Path]) -> list[str]:
    """Arguments that bind paths at their own place, outer before inner; writable wins over read-only."""
    modes = {os.path.abspath(p): "--ro-bind" for p in read_only}
    modes.update({os.path.abspath(p): "--bind" for p in writable})
    return [word for path in sorted(modes) for word in (modes[path], path, path)]


def namespaces(bwrap: Bubblewrap, *, hostname: str = "desk") -> list[str]:
    """Arguments for new namespaces of all kinds (no network), no capabilities, an unprivileged id."""
    own = str(INSIDE_ID)
    out = ["--unshare-user", "--unshare-all", "--uid", own, "--gid", own, "--hostname", hostname]
    out += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
    return [*out, "--disable-userns"] if bwrap.disable_userns else out


def environment(variables: Mapping[str, str]) -> list[str]:
    """Arguments that set the environment of the program."""
    return [word for name, value in variables.items() for word in ("--setenv", name, value)]


# --- a running sandbox ----------------------------------------------------------------------------


@dataclass
class Sandbox:
    """A program running in bubblewrap; leaving the `with` block kills all of it and waits for the end.

    It dies when the thread that started it ends (--die-with-parent), so a thread that starts one
    must outlive it.
    """

    bwrap: Bubblewrap
    arguments: Sequence[str]
    command: Sequence[str]
    stdin: int | IO[bytes] = subprocess.DEVNULL
    stdout: int | IO[bytes] = subprocess.DEVNULL
    stderr: int | IO[bytes] = subprocess.DEVNULL
    user: int | None = None
    """Host id to run bwrap under; None: the caller's."""
    group: cgroup.Group | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Path inside -> content of read-only files that come through a descriptor: no host path shows."""
    process: subprocess.Popen[bytes] = field(init=False)
    init_pid: int | None = field(init=False, default=None)
    """Host pid of the sandbox's process 1."""
    _init_fd: int | None = field(init=False, default=None)
    _status: IO[bytes] = field(init=False)

    def __post_init__(self) -> None:
        with contextlib.ExitStack() as stack:
            block_read, block_write = _pipe(stack)
            status_read, status_write = os.pipe()
            self._status = os.fdopen(status_read, "rb")
            passed = [status_write, block_read]
            options = ["--json-status-fd", str(status_write), "--block-fd", str(block_read)]
            try:
                for flag, content, target in self._data():
                    passed.append(_memory_file(stack, content))
                    options += [flag, str(passed[-1]), *target]
                options = [*self.arguments, *options, *seal()]
                listed = "\0".join(options).encode("utf-8", "surrogateescape") + b"\0"
                passed.append(_memory_file(stack, listed))
                self._start(passed)
            finally:
                os.close(status_write)
            try:
                self._wait_for_init()
                os.write(block_write, b"1")
            except BaseException:
                self.kill()
                raise

    def _start(self, passed: Sequence[int]) -> None:
        self.process = subprocess.Popen(
            [self.bwrap.path, "--args", str(passed[-1]), "--", *self.command],
            stdin=self.stdin,
            stdout=self.stdout,
            stderr=self.stderr,
            env={},
            cwd="/",
            pass_fds=passed,
            start_new_session=True,
            user=self.user,
            group=self.user,
            extra_groups=None if self.user is None else [],
        )

    def _data(self) -> Iterator[tuple[str, bytes, list[str]]]:
        """What goes in through a descriptor: the filter and the two tables of names."""
        if self.bwrap.seccomp:
            yield "--seccomp", seccomp.program() or b"", []
        own = INSIDE_ID
        passwd = f"agent:x:{own}:{own}::/home/agent:/bin/sh\n"
        yield "--ro-bind-data", passwd.encode(), ["/etc/passwd"]
        yield "--ro-bind-data", f"agent:x:{own}:\n".encode(), ["/etc/group"]
        for path, content in self.files.items():
            yield "--ro-bind-data", content, [path]

    def _wait_for_init(self) -> None:
        line = self._status.readline()
        if not line:  # bwrap says why on its stderr; communicate() and exit_code() bring it out
            return
        self.init_pid = int(json.loads(line)["child-pid"])
        with contextlib.suppress(ProcessLookupError):
            self._init_fd = os.pidfd_open(self.init_pid)
        if self.group is not None:
            self.group.add(self.init_pid)

    def exit_code(self) -> int | None:
        """The program's exit code (128 + n for signal n) once it has ended; None if it never started."""
        self.process.wait()
        for line in self._status:
            report = json.loads(line)
            if "exit-code" in report:
                return int(report["exit-code"])
        return None

    def is_empty(self, patience_s: float = 0.0) -> bool:
        """Whether every process of the sandbox is gone; waits up to `patience_s` for it."""
        if self._init_fd is None:
            return True
        poll = select.poll()
        poll.register(self._init_fd, select.POLLIN)
        return bool(poll.poll(int(patience_s * 1000)))

    def kill(self, patience_s: float = 10.0) -> bool:
        """Kill everything inside and wait until nothing is left; False if something still is."""
        if self._init_fd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._init_fd, signal.SIGKILL)
        empty = self.is_empty(patience_s)
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        return empty

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill what still runs and give back descriptors and the control group."""
        self.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        if self._init_fd is not None:
            os.close(self._init_fd)
            self._init_fd = None
        self._status.close()
        if self.group is not None:
            self.group.close()


def _pipe(stack: contextlib.ExitStack) -> tuple[int, int]:
    ends = os.pipe()
    for end in ends:
        stack.callback(os.close, end)
    return ends


def _memory_file(stack: contextlib.ExitStack, content: bytes) -> int:
    descriptor = os.memfd_create("pyrite")
    stack.callback(os.close, descriptor)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
