"""A program that is asked by a line and answers by a line, with bounds on time, output and memory."""

from __future__ import annotations

import os
import selectors
import signal
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
GRACE_S = 1.0
KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV")
"""Variables that every program gets; no key is among them."""

_START = """
import ctypes, os, resource, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
memory, size = int(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
try:
    os.execvp(sys.argv[3], sys.argv[3:])
except OSError as exc:
    sys.exit(f"{sys.argv[3]}: {exc.strerror}")
"""
"""Asks to be killed with whoever started it, sets the limits on itself and becomes the program."""
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

    def exchange(self, line: bytes, is_answer: Callable[[bytes], bool], timeout_s: float) -> Ran:
        """Write a line, and read lines until one is the answer. Without one, the process is ended."""
        deadline = time.monotonic() + timeout_s
        process, fresh = self._started()
        if not fresh and (process.poll() is not None or self._left_over(process)):
            self.close()
            process, fresh = self._started()
        ran = self._exchange(process, line, is_answer, deadline)
        if not fresh and ran.silent:  # it ended after its last answer and never saw this request
            process, _ = self._started()
            ran = self._exchange(process, line, is_answer, deadline)
        return ran

    def kill(self) -> None:
        """End the process; whoever waits for its answer gets none."""
        with self._guard:
            if self._process is not None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)

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
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
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
                    [*_PYTHON, str(self._memory_bytes), str(MAX_FILE), *self._argv],
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

    def _lines(self, chunk: bytes, is_answer: Callable[[bytes], bool], ran: Ran) -> bool:
        """Look through the lines that are whole; at the end of the stream the last one need not be."""
        *lines, self._read = (self._read + (chunk or b"\n")).split(b"\n")
        for place, line in enumerate(lines):
            if not line or line.isspace():
                continue
            if is_answer(line):
                ran.answer = line
                self._read = b"\n".join([*lines[place + 1 :], self._read])
                return True
            ran.chatter = line.strip()[:200]
        return False


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
