"""Run many Python programs confined, each forked from a server that has imported what they import.

    with forkserver.scratch() as folder:            # what a program may read is laid out below this
        finished = forkserver.run(program, reads=[folder / "home"])

One server a set of imports and of folders, in bubblewrap, in each thread that asks (bubblewrap ends
with the thread that started it). What one program leaves - files, processes, sockets, changed
modules - dies with its namespaces before the next begins. Where that cannot be had, each program is
a confined process of its own (`confine.run`), with the same answer: without bubblewrap, where the
kernel refuses nested namespaces, for programs that are not Python's or read elsewhere.
"""

from __future__ import annotations

import array
import contextlib
import json
import math
import os
import selectors
import socket
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing import util
from pathlib import Path
from typing import IO, Any

from pyrite.errors import InputError, SandboxError
from pyrite.records import Limits
from pyrite.sandbox import bwrap, cgroup, confine, forked, seccomp
from pyrite.sandbox.confine import Capped, Finished
from pyrite.store.scratch import Claimed, claim, in_memory
from pyrite.store.scratch import scratch as temporary
from pyrite.tasks.task import Program

SERVERS = 2
"""Servers kept at once in each thread; the one used longest ago makes room."""
_START_S = 60.0
_BACKSTOP_S = 10.0
_MESSAGE = 1 << 20
_MEGABYTES = 1 << 20
_ROOM = 4 << 30
"""Memory for each core, for states to be laid out there: a hostile one may take 2 GiB."""
_EMPTIED = {"/tmp": 256 * _MEGABYTES, "/dev/shm": 256 * _MEGABYTES, "/run": 16 * _MEGABYTES}  # noqa: S108

Key = tuple[object, ...]


class _Lost(Exception):
    """The server ended or does not answer."""


class _Refused(Exception):
    """A fork cannot be had: not for this program, or (`lasting`) not on this system; the text says why."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        super().__init__(answer["refused"])
        self.lasting = bool(answer["lasting"])


def run(
    program: Program,
    *,
    reads: Sequence[Path] = (),
    env: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    output_limit: int = 1 << 20,
) -> Finished:
    """Run a program that writes nothing, as `confine.run` does, forked where that is possible.

    `Finished.forked` says which of the two it was. Raises as `confine.run` does.
    """
    limits = limits or Limits()
    finished = None
    if unavailable() is None:
        order = _order(program, reads, limits, env or {})
        finished = None if order is None else _of_this_thread().ask(order, limits, output_limit)
    if finished is not None:
        return finished
    return confine.run(program, reads=reads, env=env, limits=limits, output_limit=output_limit)


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder that this thread's servers can read; removed at the end."""
    with temporary("", _of_this_thread().place()) as folder:
        yield folder


def unavailable() -> str | None:
    """Why programs are not forked in this process; None as long as nothing speaks against it."""
    found, reason = bwrap.probe()
    if found is None:
        return reason
    if os.environ.get("PYRITE_NO_FORKSERVER"):
        return "switched off by PYRITE_NO_FORKSERVER"
    return _STATE.refused


def close() -> None:
    """End all servers of this process and remove what they could read."""
    for thread in list(_STATE.threads):
        thread.close()


# --- servers --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Order:
    """A program, divided into what a server is made for and what changes from request to request."""

    key: Key
    imports: tuple[str, ...]
    cwd: Path
    fixed: tuple[Path, ...]
    argv: tuple[str, ...]
    binds: tuple[str, ...]
    env: Mapping[str, str]


def _order(program: Program, reads: Sequence[Path], limits: Limits, env: Mapping[str, str]) -> _Order | None:
    """None where the program has to be a process of its own."""
    if program.imports is None or program.argv[0] != sys.executable:
        return None
    place = _of_this_thread().place()
    paths = [Path(os.path.abspath(path)) for path in (*reads, *program.reads)]
    for path in (*paths, program.cwd):
        if not path.exists():
            raise InputError("no such path", where=str(path), expected="a path that the program may use")
    changing = dict.fromkeys(path for path in paths if path.is_relative_to(place))
    if any(path.is_symlink() for path in changing):
        return None
    fixed = tuple(dict.fromkeys(path for path in (*paths, program.cwd) if path not in changing))
    known = [(str(path), *_identity(path)) for path in fixed]
    return _Order(
        key=(program.imports, str(program.cwd), tuple(known), limits.memory_mb),
        imports=program.imports,
        cwd=program.cwd,
        fixed=fixed,
        argv=program.argv,
        binds=tuple(map(str, changing)),
        env=env,
    )


def _identity(path: Path) -> tuple[int, int]:
    """A folder that was removed and made anew is another one; a bind would still show the first."""
    status = path.stat()
    return status.st_dev, status.st_ino


class _Thread:
    """The servers of one thread, and the folder below which they can read."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._thread = threading.current_thread()
        self._place: Path | None = None
        self._claimed: Claimed | None = None
        self._servers: OrderedDict[Key, _Server] = OrderedDict()
        self._unusable: set[Key] = set()
        """For these each program is a process of its own."""

    def place(self) -> Path:
        if self._place is None or not self._place.is_dir():
            self._close_servers()
            if self._claimed is not None:
                self._claimed.close()
            self._claimed = claim("verify", base=in_memory(_ROOM * (os.cpu_count() or 1)))
            self._place = self._claimed.root
        return self._place

    def ask(self, order: _Order, limits: Limits, output_limit: int) -> Finished | None:
        """The result of a forked program; None where it has to be run in another way."""
        if order.key in self._unusable:
            return None
        for _ in range(2):  # a server that was killed between two requests is started once more
            server = None
            try:
                server = self._server(order, limits)
                finished = server.run(order, limits, output_limit)
                if finished is None:
                    self._unusable.add(order.key)
                return finished
            except (_Lost, SandboxError):
                self._drop(order.key)
                if server is None:
                    self._unusable.add(order.key)
                if server is None or server.asked == 1:
                    return None
            except _Refused as exc:
                self._drop(order.key)
                if exc.lasting:
                    _STATE.refused = f"this system refuses nested namespaces ({exc})"
                elif server is None:
                    self._unusable.add(order.key)
                return None
            except BaseException:
                self._drop(order.key)
                raise
        return None

    def _server(self, order: _Order, limits: Limits) -> _Server:
        if order.key in self._servers:
            self._servers.move_to_end(order.key)
        else:
            while len(self._servers) >= SERVERS:
                self._servers.popitem(last=False)[1].close()
            self._servers[order.key] = _Server(order, self.place(), limits)
        return self._servers[order.key]

    def _drop(self, key: Key) -> None:
        server = self._servers.pop(key, None)
        if server is not None:
            server.close()

    def _close_servers(self) -> None:
        for server in self._servers.values():
            server.close()
        self._servers.clear()

    def is_over(self) -> bool:
        """Whether the thread has ended; bubblewrap and what ran in it ended with it."""
        return not self._thread.is_alive()

    def close(self) -> None:
        if self._pid != os.getpid():  # a copy in a forked process owns nothing
            return
        self._close_servers()
        if self._claimed is not None:
            self._claimed.close()
            self._place = self._claimed = None


class _Server:
    """One bubblewrap with a Python in it that waits for requests."""

    def __init__(self, order: _Order, place: Path, limits: Limits) -> None:
        found = bwrap.require()
        # forks make namespaces of their own and install the filter themselves afterwards
        bare = replace(found, disable_userns=False, seccomp=False)
        arguments = confine.arguments_for(bare, order.cwd, [*order.fixed, place], (), {}, masked=False)
        command = [sys.executable, "-P", forked.__file__]
        self.asked = 0
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        group = cgroup.Group(memory_bytes=limits.memory_mb << 20, processes=confine.PROCESS_LIMIT)
        try:
            with theirs:
                self._sandbox = bwrap.Sandbox(bare, arguments, command, stdin=theirs.fileno(), group=group)
        except BaseException:
            self._channel.close()
            group.close()
            raise
        self.crowd = confine.Crowd(self._sandbox, bounded="pids" in group.folders or os.getuid() != 0)
        try:
            self._greet(found, order, place)
        except BaseException:
            self.close()
            raise

    def _greet(self, found: bwrap.Bubblewrap, order: _Order, place: Path) -> None:
        emptied = dict(_EMPTIED)
        covered = [Path(folder) for folder in emptied]
        if not any(place.is_relative_to(folder) for folder in covered):
            emptied[str(place)] = _MEGABYTES
        kept = [
            p for p in (*confine.interpreter(), *order.fixed) if any(p.is_relative_to(f) for f in covered)
        ]
        setup = {
            "imports": order.imports,
            "emptied": list(emptied.items()),
            "kept": sorted(map(str, dict.fromkeys(kept))),
            "filter": (seccomp.program() or b"").hex() if found.seccomp else "",
        }
        self._channel.settimeout(_START_S)
        self._send(setup)
        answer = self._receive()
        if "refused" in answer:
            raise _Refused(answer)

    def _send(self, message: Mapping[str, Any], descriptors: Sequence[int] = ()) -> None:
        sent = array.array("i", descriptors).tobytes()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, sent)] if descriptors else []
        try:
            self._channel.sendmsg([json.dumps(message).encode()], rights)
        except OSError as exc:
            raise _Lost from exc

    def _receive(self) -> dict[str, Any]:
        try:
            data = self._channel.recv(_MESSAGE)
        except OSError as exc:
            raise _Lost from exc
        if not data:
            raise _Lost
        answer: dict[str, Any] = json.loads(data)
        return answer

    def run(self, order: _Order, limits: Limits, output_limit: int) -> Finished | None:
        """Run one request. Raises `_Lost`, or `_Refused` where the kernel refuses its namespaces."""
        self.asked += 1
        request = {
            "argv": order.argv,
            "binds": order.binds,
            "env": dict(order.env),
            "cwd": str(order.cwd),
            "timeout_s": limits.timeout_s,
            "limits": _limit_numbers(limits),
        }
        with _Outputs(output_limit) as outputs:
            self._send(request, outputs.ends)
            outputs.let_go()
            answer = outputs.collect(self, limits.timeout_s + _BACKSTOP_S)
        if answer is None:  # it was stopped, or cannot be scheduled; nothing inside may go on
            raise _Lost
        if "refused" in answer:
            raise _Refused(answer)
        if "own_process" in answer:
            return None
        if answer["code"] is None and not answer["timed_out"]:
            raise _Lost
        out, err = outputs.streams.values()
        truncated = out.truncated or err.truncated
        timed_out = bool(answer["timed_out"])
        return Finished(answer["code"], bytes(out.kept), bytes(err.kept), timed_out, truncated, forked=True)

    @property
    def channel(self) -> socket.socket:
        return self._channel

    def answer(self) -> dict[str, Any]:
        """The reply that is waiting."""
        return self._receive()

    def close(self) -> None:
        """Kill the server and everything in it."""
        self._channel.close()
        self._sandbox.close()


class _Outputs:
    """The two outputs of one request, read as they come, each up to a limit."""

    def __init__(self, limit: int) -> None:
        self.streams: dict[IO[bytes], Capped] = {}
        self.ends: list[int] = []
        for _ in range(2):
            ours, theirs = os.pipe()
            os.set_blocking(ours, False)
            self.streams[os.fdopen(ours, "rb", buffering=0)] = Capped(limit)
            self.ends.append(theirs)

    def let_go(self) -> None:
        """Close the ends that the server has got."""
        for end in self.ends:
            os.close(end)
        self.ends = []

    def collect(self, server: _Server, patience_s: float) -> dict[str, Any] | None:
        """Read until the server answers, then what is left; None where it does not in time."""
        deadline = time.monotonic() + patience_s
        answer: dict[str, Any] | None = None
        with selectors.DefaultSelector() as selector, selectors.DefaultSelector() as both:
            for stream in self.streams:
                selector.register(stream, selectors.EVENT_READ)
            both.register(selector, selectors.EVENT_READ)
            both.register(server.channel, selectors.EVENT_READ)
            while answer is None:
                ready = both.select(min(confine.PERIOD_S, max(0.0, deadline - time.monotonic())))
                server.crowd.check()
                if not ready and time.monotonic() > deadline:
                    return None
                if any(key.fileobj is server.channel for key, _ in ready):
                    answer = server.answer()
                elif ready:
                    confine.read_ready(selector, self.streams, 0.0)
            # every process that could write has ended: what is in the pipes is all there is
            while selector.get_map() and confine.read_ready(selector, self.streams, 0.0):
                pass
        return answer

    def __enter__(self) -> _Outputs:
        return self

    def __exit__(self, *_: object) -> None:
        self.let_go()
        for stream in self.streams:
            stream.close()


def _limit_numbers(limits: Limits) -> dict[str, int]:
    """The same resource limits as for a process of its own, by the names of the resource module."""
    numbers = {
        "RLIMIT_CORE": 0,
        "RLIMIT_CPU": math.ceil(limits.timeout_s + confine.GRACE_S),
        "RLIMIT_FSIZE": confine.FILE_LIMIT,
        "RLIMIT_AS": limits.memory_mb << 20,
    }
    if os.getuid() != 0:
        numbers["RLIMIT_NPROC"] = confine.PROCESS_LIMIT
    return numbers


# --- the state of this process --------------------------------------------------------------------


@dataclass
class _State:
    """What this process has started, and whether its kernel lets it."""

    refused: str | None = None
    threads: list[_Thread] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    local: threading.local = field(default_factory=threading.local)
    owner: int | None = None
    """The process that has seen to it that `close` is called at its end."""


_STATE = _State()


def _of_this_thread() -> _Thread:
    mine: _Thread | None = getattr(_STATE.local, "mine", None)
    if mine is None or mine._pid != os.getpid():
        mine = _STATE.local.mine = _Thread()
        with _STATE.lock:
            over = [thread for thread in _STATE.threads if thread.is_over()]
            _STATE.threads = [thread for thread in _STATE.threads if thread not in over] + [mine]
        for thread in over:
            thread.close()
    if _STATE.owner != os.getpid():
        # also runs at the end of a worker process of multiprocessing, where atexit does not
        util.Finalize(None, close, exitpriority=10)
        _STATE.owner = os.getpid()
    return mine
