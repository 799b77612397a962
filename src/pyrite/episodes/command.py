"""The agent `command`: any program, in any language, that reads and writes JSON lines.

    pyrite record desk --agent 'command@run=./my-harness.sh' -o runs/first

One line a step is written to its stdin:

    {"step": 0, "instruction": "…", "screen": "/tmp/…/screen.png", "width": 1024, "error": null, …}

and one line is read from its stdout: an action, `{"action": "key", "keys": "ctrl+s"}`, or the end,
`{"action": "done", "message": "…"}`. The screen is a PNG file that the next step overwrites. stderr is
passed through. One process acts in one episode; when the episode ends its stdin is closed and, if it
does not go, it is killed with everything that it started. It runs as you, outside of the sandbox.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shlex
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import IO

from pyrite.episodes import answers
from pyrite.episodes.agents import Observation, Stopped, not_performed
from pyrite.errors import RunError, UsageError
from pyrite.records import Action

MOST_LINE = 1 << 20
GRACE_S = 2.0
VARIABLE = "PYRITE_AGENT_COMMAND"


class CommandAgent:
    """An external harness over JSON lines."""

    def __init__(self, run: str = "", timeout: str = "300", steps: str = "100") -> None:
        """`run`: the command line. `timeout`: seconds for one answer. `steps`: its budget."""
        self.name = "command"
        self.version = "1"
        self.waits = True
        self._argv = _split(run or os.environ.get(VARIABLE, ""))
        self._timeout_s = _number("timeout", timeout, 86_400)
        self.step_limit = _number("steps", steps, 10_000)
        self.settings = {"run": os.path.basename(self._argv[0]), "steps": self.step_limit}
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._waiting = b""
        self._malformed = 0
        self._message: str | None = None

    def act(self, instruction: str, observation: Observation) -> Action:
        process = self._started()
        self._tell(process, instruction, observation)
        line = self._line(process)
        answer = answers.parse(line)
        if answer.action is None:
            self._malformed += 1
            if self._malformed >= answers.MALFORMED_LIMIT:
                raise Stopped("malformed", f"{self._malformed} lines in a row are no action: {answer.why}")
            return not_performed(line, answer.why)
        self._malformed = 0
        self._message = answer.message
        return answer.action

    def final_message(self) -> str | None:
        return self._message

    def close(self) -> None:
        """Close its stdin, give it two seconds, then kill its whole process group."""
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None
            assert process.stdout is not None
            with contextlib.suppress(OSError):
                process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_S)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stdout.close()
        folder, self._folder = self._folder, None
        if folder is not None:
            folder.cleanup()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            try:
                self._process = subprocess.Popen(
                    self._argv,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    start_new_session=True,
                    bufsize=0,
                )
            except OSError as exc:
                raise RunError(
                    f"the command of the agent cannot be started: {exc.strerror}",
                    where=self._argv[0],
                    expected="a program that can be run",
                ) from None
            assert self._process.stdin is not None
            os.set_blocking(self._process.stdin.fileno(), False)
            self._folder = tempfile.TemporaryDirectory(prefix="pyrite-agent-")
        return self._process

    def _tell(self, process: subprocess.Popen[bytes], instruction: str, observation: Observation) -> None:
        assert self._folder is not None
        assert process.stdin is not None
        screen = Path(self._folder.name) / "screen.png"
        partial = screen.with_suffix(".partial")
        observation.screen.save(partial, "PNG")
        os.replace(partial, screen)
        told = {
            "step": observation.step,
            "instruction": instruction,
            "screen": str(screen),
            "width": observation.screen.width,
            "height": observation.screen.height,
            "error": observation.error,
        }
        line = json.dumps(told).encode() + b"\n"
        try:
            written = process.stdin.write(line)
        except (BrokenPipeError, ConnectionError):
            raise Stopped("malformed", _gone(process)) from None
        if written != len(line):
            raise Stopped("malformed", "the command does not read its stdin")

    def _line(self, process: subprocess.Popen[bytes]) -> str:
        """The next line of its stdout that is not empty."""
        assert process.stdout is not None
        deadline = time.monotonic() + self._timeout_s
        while True:
            line, found, rest = self._waiting.partition(b"\n")
            if found:
                self._waiting = rest
                if line.strip():
                    return line.decode("utf-8", "replace")
                continue
            if len(self._waiting) > MOST_LINE:
                raise Stopped("malformed", f"a line of more than {MOST_LINE} bytes")
            chunk = _read(process.stdout, deadline)
            if chunk is None:
                raise Stopped("time_limit", f"no answer within {self._timeout_s} s")
            if not chunk:
                raise Stopped("malformed", _gone(process))
            self._waiting += chunk


def _read(stream: IO[bytes], deadline: float) -> bytes | None:
    """What there is to read, empty at the end of the stream, None when the time is over."""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        if not selector.select(max(0.0, deadline - time.monotonic())):
            return None
    return os.read(stream.fileno(), 1 << 16)


def _gone(process: subprocess.Popen[bytes]) -> str:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_S)
    code = process.returncode
    return "the command closed its stdout" if code is None else f"the command ended with exit code {code}"


def _split(text: str) -> list[str]:
    try:
        argv = shlex.split(text)
    except ValueError as exc:
        raise UsageError(f"command: {exc}", expected="a command line as a shell reads it") from None
    if not argv:
        raise UsageError(
            "the agent command has no command",
            expected=f"command@run=… or the environment variable {VARIABLE}",
            next="pyrite record desk --agent 'command@run=./my-harness.sh'",
        )
    return argv


def _number(option: str, text: str, high: int) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 6 or not 1 <= int(text) <= high:
        raise UsageError(f"command: {option} is {text[:40]!r}", expected=f"a whole number from 1 to {high}")
    return int(text)
