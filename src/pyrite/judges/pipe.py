"""A program that is asked by a line and answers by a line, with bounds on time, output and memory."""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

MAX_OUTPUT = 1 << 20
"""Bytes of stdout that are read for one answer."""
MAX_STDERR = 1 << 13
MAX_FILE = 1 << 30
GRACE_S, END_S = 1.0, 5.0
KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV")
"""Variables that every program gets; no key is among them."""

SETTLE_FIRST_S, SETTLE_S = 0.25, 0.01
"""How long a program is listened to behind its answer: the first one of a process, and any other."""

_START = """
import ctypes, os, resource, signal, sys, time
libc, waited = ctypes.CDLL(None), {signal.SIGTERM, signal.SIGCHLD}
signal.signal(signal.SIGCHLD, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_BLOCK, waited)
libc.prctl(1, signal.SIGTERM)
libc.prctl(36, 1)
memory, size, maker, argv = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
if os.getppid() != maker:
    sys.exit(1)
program = os.fork()
if program == 0:
    os.setsid()
    libc.prctl(1, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, waited)
    try:
        os.execvp(argv[0], argv)
    except OSError as exc:
        os.write(2, f"{argv[0]}: {exc.strerror}\\n".encode("utf-8", "replace"))
    os._exit(1)
nothing = os.open(os.devnull, os.O_RDWR)
for stream in range(3):
    os.dup2(nothing, stream)

def reap():
    status = None
    try:
        while True:
            pid, code = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return status
            status = code if pid == program else status
    except ChildProcessError:
        return status

def children():
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                if int(file.read().rpartition(b")")[2].split()[1]) == os.getpid():
                    yield int(name)
        except (OSError, IndexError):
            pass

status = None
while status is None and signal.sigwait(waited) != signal.SIGTERM:
    status = reap()
until = time.monotonic() + 4
while (left := list(children())) and time.monotonic() < until:
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    reap()
    time.sleep(0.001)
if status is not None and os.WIFSIGNALED(status):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    number = os.WTERMSIG(status)
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
os._exit(0 if status is None else os.waitstatus_to_exitcode(status) & 255)
"""
"""Runs the program within its limits, takes over what it leaves behind, and ends all of it with the program,
with whoever started it, or when it is told to."""
_PYTHON = (sys.executable, "-I", "-S", "-c", _START)


@dataclass
class Ran:
    """What came of one exchange; `answer` is None where there was none, and the rest says why."""

    answer: bytes | None = None
    chatter: bytes = b""
    """The last line of stdout that was no answer."""
    stderr: bytes = b""
    timed_out: bool = False
    too_long: bool = False
    exit_code: int | None = None
    """Of a program that ended by itself, with or without an answer."""
    twice: bool = False
    """Whether another answer followed the first."""

    @property
    def silent(self) -> bool:
        """Whether it went by itself, without a word."""
        nothing = self.answer is None and not self.chatter and not self.timed_out and not self.too_long
        return nothing and (self.exit_code is None or self.exit_code >= 0)


class Pipe:
    """One process at a time, started when it is needed and again after it ended."""

    def __init__(self, argv: Sequence[str], *, env: Sequence[str], memory_bytes: int) -> None:
        self._argv = list(argv)
        self._env, self._memory_bytes = [*KEPT, *env], memory_bytes
        self._process: subprocess.Popen[bytes] | None = None
        self._guard = threading.Lock()
        self._read = b""
        self._one_shot = False
        """Whether it was seen to end after an answer."""

    def exchange(self, line: bytes, is_answer: Callable[[bytes], bool], timeout_s: float) -> Ran:
        """Write a line, and read lines until one is the answer. Without one, the process is ended."""
        deadline = time.monotonic() + timeout_s
        process, fresh = self._started()
        if not fresh and (process.poll() is not None or self._left_over(process)):
            self._one_shot = self._one_shot or process.poll() is not None
            self.close()
            process, fresh = self._started()
        ran = self._exchange(process, line, is_answer, deadline)
        if not fresh and ran.silent:  # it ended after its last answer and never saw this request
            process, _ = self._started()
            ran = self._exchange(process, line, is_answer, deadline)
            fresh = True
        if ran.answer is not None:
            window = GRACE_S if self._one_shot else SETTLE_FIRST_S if fresh else SETTLE_S
            self._settle(process, is_answer, window, ran)
        return ran

    def kill(self) -> None:
        """End the process; whoever waits for its answer gets none."""
        with self._guard:
            if self._process is not None:
                self._process.terminate()

    def close(self, wait_s: float = 0.0) -> int | None:
        """End it with everything that it started; its exit code, where it went by itself."""
        with self._guard:
            process, self._process, self._read = self._process, None, b""
            if process is None:
                return None
            with suppress(OSError):
                if process.stdin is not None:
                    process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(wait_s)
            code = process.returncode
            if code is None:
                process.terminate()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(END_S)
            process.kill()
            process.wait()
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
            return code

    def _started(self) -> tuple[subprocess.Popen[bytes], bool]:
        """The process, and whether it was started now."""
        with self._guard:
            fresh = self._process is None
            if self._process is None:
                self._process = subprocess.Popen(
                    [*_PYTHON, str(self._memory_bytes), str(MAX_FILE), str(os.getpid()), *self._argv],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                    bufsize=0,
                    env={name: os.environ[name] for name in self._env if name in os.environ},
                )
                for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
                    assert stream is not None
                    os.set_blocking(stream.fileno(), False)
            return self._process, fresh

    def _left_over(self, process: subprocess.Popen[bytes]) -> bool:
        """Whether it said more than its answer, or closed its stdout, since it was last asked."""
        assert process.stdout is not None
        with suppress(BlockingIOError):
            self._read += os.read(process.stdout.fileno(), 1 << 16) or b"\n"
        return bool(self._read)

    def _exchange(
        self,
        process: subprocess.Popen[bytes],
        line: bytes,
        is_answer: Callable[[bytes], bool],
        deadline: float,
    ) -> Ran:
        ran = Ran()
        try:
            self._talk(process, line, is_answer, deadline, ran)
        finally:
            if ran.answer is None:
                ran.exit_code = self.close(0.0 if ran.timed_out or ran.too_long else GRACE_S)
        return ran

    def _talk(
        self,
        process: subprocess.Popen[bytes],
        line: bytes,
        is_answer: Callable[[bytes], bool],
        deadline: float,
        ran: Ran,
    ) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        taken, left = 0, memoryview(line)
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdin, selectors.EVENT_WRITE)
            selector.register(process.stdout, selectors.EVENT_READ)
            selector.register(process.stderr, selectors.EVENT_READ)
            while True:
                ready = {key.fileobj for key, _ in selector.select(max(0.0, deadline - time.monotonic()))}
                ran.timed_out = not ready or time.monotonic() > deadline
                if ran.timed_out:
                    ran.chatter = ran.chatter or self._read.strip()[:200]
                    return
                if process.stdin in ready:
                    left = left[_write(process.stdin.fileno(), left) :]
                    if not left:
                        selector.unregister(process.stdin)
                if process.stderr in ready and (chunk := _read(process.stderr.fileno())) is not None:
                    ran.stderr = (ran.stderr + chunk)[-MAX_STDERR:]
                    if not chunk:
                        selector.unregister(process.stderr)
                if process.stdout in ready and (chunk := _read(process.stdout.fileno())) is not None:
                    taken += len(chunk)
                    ran.too_long = taken > MAX_OUTPUT
                    if self._lines(chunk, is_answer, ran) or not chunk or ran.too_long:
                        return

    def _settle(
        self, process: subprocess.Popen[bytes], is_answer: Callable[[bytes], bool], window: float, ran: Ran
    ) -> None:
        """Listen on behind an answer: for another one, and for the end of the program."""
        assert process.stdout is not None
        until, taken = time.monotonic() + window, 0
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not ran.twice and taken <= MAX_OUTPUT:
                lines, self._read = whole_lines(self._read)
                ran.twice = any(is_answer(line) for line in lines)
                if not selector.select(max(0.0, until - time.monotonic())):
                    return
                chunk = _read(process.stdout.fileno())
                if chunk == b"":
                    lines, _ = whole_lines(self._read + b"\n", ended=True)
                    ran.twice = ran.twice or any(is_answer(line) for line in lines)
                    ran.exit_code = self.close(GRACE_S)
                    self._one_shot = self._one_shot or ran.exit_code is not None
                    return
                self._read += chunk or b""
                taken += len(chunk or b"")

    def _lines(self, chunk: bytes, is_answer: Callable[[bytes], bool], ran: Ran) -> bool:
        """Look through the lines that are whole; at the end of the stream the last one need not be."""
        lines, self._read = whole_lines(self._read + (chunk or b"\n"), ended=not chunk)
        for place, line in enumerate(lines):
            if not line or line.isspace():
                continue
            if is_answer(line):
                ran.answer = line
                self._read = b"\n".join([*lines[place + 1 :], self._read])
                return True
            ran.chatter = line.strip()[:200]
        return False


BOM = b"\xef\xbb\xbf"
_BEGIN, _END = b"{", b"}"


def whole_lines(data: bytes, *, ended: bool = False) -> tuple[list[bytes], bytes]:
    """The lines that are whole, and the rest; a JSON object that is printed over many lines is one.

    Such an object begins with a line that is a brace and ends with the next that is one. A byte order mark,
    and what a carriage return has written over, is left out. `ended`: nothing more will come.

    >>> whole_lines(b'log\\n{\\n "score": 1\\n}\\n{\\n "sc')
    ([b'log', b'{\\n "score": 1\\n}'], b'{\\n "sc')
    """
    *lines, rest = data.split(b"\n")
    found: list[bytes] = []
    begun: list[bytes] = []
    for raw in lines:
        line = raw.removeprefix(BOM).rstrip().rpartition(b"\r")[2]
        if begun and line.startswith(_BEGIN):
            found += begun
            begun = []
        if begun or line == _BEGIN:
            begun.append(line)
        else:
            found.append(line)
        if begun and line == _END:
            found.append(b"\n".join(begun))
            begun = []
    if ended:
        return found + begun, rest
    return found, b"\n".join([*begun, rest]) if begun else rest


def _read(descriptor: int) -> bytes | None:
    """What is there, empty at the end of the stream, None where nothing is there after all."""
    try:
        return os.read(descriptor, 1 << 16)
    except BlockingIOError:
        return None


def _write(descriptor: int, left: memoryview) -> int:
    """How many bytes it took; all of them where it does not read any more, since nobody will."""
    try:
        return os.write(descriptor, left[: 1 << 16])
    except BlockingIOError:
        return 0
    except OSError:
        return len(left)
