"""Serve a GGUF file with xllamacpp (llama.cpp) in a process of its own, on loopback, with a key.

    with serve(read(Path("model.gguf"))) as served:
        served.base_url, served.api_key        # an OpenAI-compatible endpoint, until the block ends

The engine is native code that reads somebody's file: where it crashes, it takes no verdict with it. The
key is made anew for every run, goes through a pipe, and stands in no file, argument list or environment.
"""

from __future__ import annotations

import json
import os
import resource
import secrets
import selectors
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from pyrite.errors import RunError
from pyrite.judges.local.gguf import Gguf

CONTEXT = 16_384
"""Most tokens of prompt and answer, if the model was trained for as many."""
START_S = 600.0
STOP_S = 5.0
NEXT = "pip install 'pyrite[local-llm]'"
_PASSED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "OMP_NUM_THREADS")


@dataclass(frozen=True)
class Served:
    """An endpoint of this machine, and what answers there."""

    base_url: str
    api_key: str = field(repr=False)
    process: subprocess.Popen[bytes] = field(repr=False)

    @property
    def alive(self) -> bool:
        return self.process.poll() is None


def context_of(model: Gguf) -> int:
    """Tokens of prompt and answer together."""
    return min(CONTEXT, model.context or CONTEXT)


def idle_cores() -> int:
    """Threads to compute with: they wait for each other by spinning, so one too many costs minutes."""
    cores = len(os.sched_getaffinity(0))
    return min(cores, max(1, round(cores - os.getloadavg()[0])))


def identity(model: Gguf, mmproj: Gguf | None) -> dict[str, Any]:
    """Everything that can change its answers, for a judge's settings: no address and no key."""
    return {
        **model.as_json(),
        "mmproj_sha256": None if mmproj is None else mmproj.sha256,
        "context": context_of(model),
        "engine": f"xllamacpp {engine_version()}",
    }


@contextmanager
def serve(model: Gguf, mmproj: Gguf | None = None, *, start_s: float = START_S) -> Iterator[Served]:
    """Start the server, give its endpoint, and stop it.

    Raises `RunError` where xllamacpp is not installed, or the engine cannot load
    the file or does not start within `start_s` seconds.
    """
    if find_spec("xllamacpp") is None:
        raise RunError("xllamacpp is not installed: a GGUF file cannot be served", next=NEXT)
    key = secrets.token_urlsafe(24)
    asked = {
        "model": str(model.path.resolve()),
        "mmproj": None if mmproj is None else str(mmproj.path.resolve()),
        "name": model.name,
        "key": key,
        "context": context_of(model),
        "threads": idle_cores(),
    }
    process = _start(asked)
    heard: deque[str] = deque(maxlen=50)
    drain = threading.Thread(target=_drain, args=(process, heard), daemon=True)
    drain.start()
    try:
        address = _address(process, time.monotonic() + start_s)
        if address is None:
            _stop(process)
            drain.join(STOP_S)
            raise RunError(
                "the engine could not load this model" + _why(list(heard)),
                where=str(model.path),
                expected="a language model that llama.cpp knows"
                + (", with the mmproj file made for it" if mmproj is not None else ""),
            )
        yield Served(f"{address}/v1", key, process)
    finally:
        _stop(process)
        drain.join(STOP_S)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def engine_version() -> str | None:
    """The installed xllamacpp, or None."""
    try:
        return version("xllamacpp")
    except PackageNotFoundError:
        return None


def _start(asked: dict[str, Any]) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "pyrite.judges.local.child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={name: os.environ[name] for name in _PASSED if name in os.environ},
    )
    with suppress(ProcessLookupError, PermissionError):
        resource.prlimit(process.pid, resource.RLIMIT_CORE, (0, 0))
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.flush()
    return process


def _address(process: subprocess.Popen[bytes], deadline: float) -> str | None:
    """What the child says once it listens; None where it ends or the time is over."""
    assert process.stdout is not None
    line = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while not line.endswith(b"\n"):
            if not selector.select(max(0.0, deadline - time.monotonic())):
                return None
            chunk = os.read(process.stdout.fileno(), 4096)
            line += chunk
            if not chunk or len(line) > 4096:
                return None
    return str(json.loads(line)["address"])


def _drain(process: subprocess.Popen[bytes], heard: deque[str]) -> None:
    assert process.stderr is not None
    for line in iter(partial(process.stderr.readline, 4096), b""):
        if text := line.decode("utf-8", "replace").strip()[:300]:
            heard.append(text)


def _why(heard: Sequence[str]) -> str:
    """The first error that the engine told, without its clock."""
    errors = [line.split(" E ", 1)[1] for line in heard if " E " in line]
    said = " ".join((errors or list(heard[-1:]) or [""])[0].split())
    return f": {''.join(c for c in said if c.isprintable())}" if said else ""


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End its stdin, give it a moment, then kill it."""
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(STOP_S)
    if process.poll() is None:
        process.kill()
        process.wait()
