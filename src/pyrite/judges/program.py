"""`exec:CMD`: a judge that is any program, in any language, over JSON lines.

    pyrite judge BENCH --judge 'exec:python3 my_judge.py'
    pyrite judge BENCH --judge 'exec:./judge.sh@conditions=E1-final,timeout_s=30,env=MY_API_KEY'

For each package one line is written to its stdin (`pyrite.judges.wire` has both sides), with images as
paths of PNG files that are there until it has answered. It writes one line to stdout: a JSON object that
repeats the request's id. It may go on to the next line of stdin, or end: then it is started again.

It runs as you, and bounded: seconds an answer, bytes of stdout, memory, size of files, no core dump, and
of the environment only what a program needs and what `env=` names. A line that is no JSON object, or one
with neither id nor score nor verdict, is its chatter and passed over. Two answers are none; what it prints
later goes to no other episode: the id would not match. With a program ends all that it started.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shlex
import shutil
import weakref
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyrite.errors import UsageError
from pyrite.judges.base import Package, Reply, Unavailable
from pyrite.judges.client.secrets import redact, redact_bytes
from pyrite.judges.pipe import Pipe, Ran
from pyrite.judges.wire import (
    ERRORS,
    Conditions,
    Said,
    document,
    error_in,
    identifier,
    number,
    read,
    unreadable,
)
from pyrite.store.images import read_image
from pyrite.store.scratch import scratch

PREFIX = "exec:"
MAX_HASHED = 64 << 20
_ELF = b"\x7fELF"


class Program:
    """An external program as a judge."""

    deterministic = False

    def __init__(
        self,
        command: str,
        conditions: str = "",
        timeout_s: str = "120",
        memory_gb: str = "8",
        processes: str = "1",
        env: str = "",
    ) -> None:
        """`command`: as a shell would read it, without a shell. `env`: names, with a + between."""
        self.name = PREFIX + command
        self._argv = _argv(command)
        self._conditions = Conditions(conditions)
        self._timeout_s = number("timeout_s", timeout_s, 0.1, 86_400)
        self._memory_bytes = int(number("memory_gb", memory_gb, 0.05, 4096) * 2**30)
        self._env = [name for name in env.split("+") if name]
        missing = [name for name in self._env if name not in os.environ]
        if missing:
            raise UsageError(f"{missing[0]} is not in the environment", expected="a variable that is set")
        self._free = [self._pipe() for _ in range(int(number("processes", processes, 1, 256)))]
        self._all = tuple(self._free)
        self._turn: tuple[asyncio.AbstractEventLoop, asyncio.Semaphore] | None = None
        weakref.finalize(self, _close_all, self._all)

    def supports(self, condition: str) -> bool:
        return condition in self._conditions

    def config(self) -> dict[str, Any]:
        return {
            "command": self._argv,
            "files_sha256": _digests(self._argv),
            "conditions": list(self._conditions.names),
            "timeout_s": self._timeout_s,
            "env": self._env,
        }

    async def judge(self, package: Package, run: int) -> Reply:
        async with self._gate():
            pipe = self._free.pop()
            asked = asyncio.ensure_future(asyncio.to_thread(self._ask, pipe, package, run))
            try:
                return await asyncio.shield(asked)
            except asyncio.CancelledError:
                pipe.kill()
                with suppress(Exception):
                    await asked
                raise
            finally:
                self._free.append(pipe)

    async def aclose(self) -> None:
        """End its processes."""
        await asyncio.to_thread(_close_all, self._all)

    def _redact(self, data: bytes) -> bytes:
        """Without what the variables hold that it was given: most are keys."""
        return redact_bytes(data, [os.environ.get(name) for name in self._env])

    def _clean(self, said: Said) -> Said:
        reason = redact(said.reply.reason, [os.environ.get(name) for name in self._env])
        return Said(replace(said.reply, reason=reason), said.id)

    def _gate(self) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        if self._turn is None or self._turn[0] is not loop:
            self._turn = (loop, asyncio.Semaphore(len(self._all)))
        return self._turn[1]

    def _pipe(self) -> Pipe:
        return Pipe(self._argv, env=self._env, memory_bytes=self._memory_bytes)

    def _ask(self, pipe: Pipe, package: Package, run: int) -> Reply:
        with scratch("judge") as folder:
            asked = document(package, run, lambda digest: {"path": _laid(package, digest, folder)})
            name = identifier(package, run)
            line = json.dumps(asked, allow_nan=False).encode() + b"\n"
            ran = pipe.exchange(line, lambda line: _is_answer(line, name), self._timeout_s)
        if ran.answer is None:
            ran.chatter, ran.stderr = self._redact(ran.chatter), self._redact(ran.stderr)
            return _without_answer(ran, self._argv[0], self._timeout_s)
        if ran.exit_code:
            raise Unavailable(
                f"the program answered and ended with exit code {ran.exit_code}", where=self._argv[0]
            )
        if ran.twice:
            pipe.close()
            return unreadable("malformed", "there are two answers to one request")
        if (error := error_in(ran.answer)) is not None:
            raise Unavailable(
                f"the program answered with an error: {self._redact(error.encode()).decode()}",
                where=self._argv[0],
            )
        said = self._clean(read(ran.answer))
        if said.id == name:
            return said.reply
        pipe.close()  # whatever comes next may be out of step
        if said.reply.status != "ok":
            return said.reply
        return unreadable("off_schema", "it does not repeat the id of the request")


def _is_answer(line: bytes, name: str) -> bool:
    """Whether a line answers this request: an object with its id, or none, and a verdict or a score.

    An error with its id is one too.
    What is no JSON is one where it speaks of them; logs, progress and the request itself are chatter.
    """
    if not line.lstrip().startswith(b"{"):
        return False
    try:
        body = json.loads(line)
    except (ValueError, RecursionError):
        return any(key in line for key in (b'"score"', b'"verdict"'))
    if body.get("id") == name:
        return any(key in body for key in ("score", "verdict", *ERRORS)) and "instruction" not in body
    return body.get("id") is None and ("score" in body or "verdict" in body)


def _without_answer(ran: Ran, program: str, timeout_s: float) -> Reply:
    """It ended well and printed what cannot be read: that is its answer. Else it did not run."""
    said = ran.chatter.decode("utf-8", "replace").strip()[:80]
    if ran.too_long:
        return unreadable("malformed", "a line, or lines without an answer, of more than a megabyte")
    if ran.exit_code == 0 and said:
        return unreadable("malformed", f"there is no JSON object in it: {said!r}")
    if ran.timed_out:
        what = f"no answer within {timeout_s:g} s" + (f"; it printed {said!r}" if said else "")
    else:
        what = f"the program ended with exit code {ran.exit_code} and no answer"
    last = ran.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
    told = "".join(c if c.isprintable() else " " for c in last[0])[:200] if last else ""
    raise Unavailable(
        what + (f"; on stderr: {told}" if told else ""),
        where=program,
        expected="one line with a JSON object on stdout for each line of stdin",
    )


def _laid(package: Package, digest: str, folder: Path) -> str:
    """A copy of an image: the program learns nothing of the bench from its path."""
    path = folder / f"{digest[:16]}.png"
    if not path.exists():
        path.write_bytes(read_image(package.locate(digest)))
    return str(path)


def _argv(command: str) -> list[str]:
    try:
        argv = shlex.split(command)
    except ValueError as exc:
        raise UsageError(f"exec: {exc}", expected="a command line as a shell reads it") from None
    if not argv:
        raise UsageError("exec: has no command", expected="exec:COMMAND", next="--judge 'exec:./my_judge.sh'")
    if shutil.which(argv[0]) is None:
        raise UsageError(f"exec: {argv[0]!r} cannot be run", expected="a program on the path, or its path")
    return argv


def _digests(argv: list[str]) -> dict[str, str]:
    """sha256 of the files that the command names: another script is another judge."""
    found = {}
    for index, argument in enumerate(argv):
        path = Path(shutil.which(argument) or argument) if index == 0 else Path(argument)
        try:
            if not path.is_file() or path.stat().st_size > MAX_HASHED:
                continue
            data = path.read_bytes()
        except (OSError, ValueError):
            continue
        if not (index == 0 and data.startswith(_ELF)):
            found[argument] = hashlib.sha256(data).hexdigest()
    return found


def _close_all(pipes: tuple[Pipe, ...]) -> None:
    for pipe in pipes:
        pipe.close()
