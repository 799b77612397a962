"""tesserocr with the English data of the system: the fast engine, in a process of its own.

libtesseract may abort the process that it runs in. Here that is a worker: what it was reading becomes an
error with the reason, and the next image gets a new worker. Settings: `tesseract_worker.py`, whose source
is part of the digest, so that readings made under other settings are other readings.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from PIL import Image
from pydantic import TypeAdapter

from pyrite.judges.ocr.readings import MAX_BOXES, MAX_ENTRY_BYTES, Box, Engine, Mode

NEXT = "pip install 'pyrite[ocr]', and the Debian package tesseract-ocr-eng: make desktop"
LANGUAGE = "eng.traineddata"
TIME_LIMIT_S = 120.0
"""Longest time for one image; the largest that is decoded takes about 20 s."""
START_LIMIT_S = 30.0

_SOURCE = Path(__file__).with_name("tesseract_worker.py")
_BOXES = TypeAdapter(list[Box])


class Crashed(Exception):
    """The engine gave no answer: it died, took too long, or answered with an error."""


@lru_cache(maxsize=1)
def data_folder() -> Path | None:
    """The folder with the English data; None where it is not installed. TESSDATA_PREFIX goes first."""
    own = os.environ.get("TESSDATA_PREFIX")
    system = Path("/usr/share")
    found = sorted(system.glob("tesseract-ocr/*/tessdata"), reverse=True)
    folders = [*([Path(own), Path(own) / "tessdata"] if own else []), *found, system / "tessdata"]
    return next((folder for folder in folders if (folder / LANGUAGE).is_file()), None)


@lru_cache(maxsize=1)
def engine() -> Engine | None:
    """The installed engine, or None where tesserocr or the English data is not there, or does not start."""
    folder = data_folder()
    if find_spec("tesserocr") is None or folder is None:
        return None
    try:
        said = _worker(folder).hello
    except Crashed:
        return None
    digest = hashlib.sha256(hashlib.sha256((folder / LANGUAGE).read_bytes()).digest())
    digest.update(hashlib.sha256(_SOURCE.read_bytes()).digest())
    version = f"tesserocr {said.get('tesserocr')} (tesseract {said.get('tesseract')})"
    return Engine("tesserocr", version[:100], digest.hexdigest(), (folder / LANGUAGE,))


def recognise(installed: Engine, image: Image.Image, mode: Mode) -> tuple[Box, ...]:
    """Have the worker of this process read an image. Raises `Crashed` where it gives no answer."""
    with _LOCK:
        return _worker(installed.files[0].parent).read(image, mode)


class Worker:
    """A running worker; not for several threads at once."""

    def __init__(self, command: Sequence[str]) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the worker
        self.process: subprocess.Popen[bytes] = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env=_environment(),
            start_new_session=True,  # ctrl-C is for us to tell
        )
        self._left = b""
        try:
            self.hello: Mapping[str, Any] = self._answer(START_LIMIT_S)
        except Crashed:
            self.close()
            raise

    def read(self, image: Image.Image, mode: Mode) -> tuple[Box, ...]:
        """The lines of text of an image."""
        rgb = image if image.mode == "RGB" else image.convert("RGB")
        head = json.dumps({"mode": mode, "width": rgb.width, "height": rgb.height}).encode() + b"\n"
        try:
            self._input.write(head)
            self._input.write(rgb.tobytes())
            self._input.flush()
        except OSError as exc:
            raise self._failed() from exc
        answer = self._answer(TIME_LIMIT_S)
        if isinstance(answer, dict):
            raise Crashed(str(answer.get("error", "no reason given")))
        return tuple(_BOXES.validate_python(answer[:MAX_BOXES]))

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    @property
    def _input(self) -> IO[bytes]:
        assert self.process.stdin is not None
        return self.process.stdin

    def _answer(self, limit_s: float) -> Any:
        """The next line; `Crashed` where none comes."""
        assert self.process.stdout is not None
        descriptor, deadline = self.process.stdout.fileno(), time.monotonic() + limit_s
        while b"\n" not in self._left:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                self.close()
                raise Crashed(f"it gave no answer within {limit_s:g} s")
            data = os.read(descriptor, 1 << 16)
            self._left += data
            if not data or len(self._left) > MAX_ENTRY_BYTES:
                raise self._failed()
        line, self._left = self._left.split(b"\n", 1)
        try:
            return json.loads(line)
        except ValueError:
            raise self._failed() from None

    def _failed(self) -> Crashed:
        """What became of the worker; it is of no use any more."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(1.0)
        code, said = self.process.poll(), self._last_words()
        self.close()
        if code is None:
            how = "it gave something that is no answer"
        elif code < 0:
            how = f"it was ended by {signal.Signals(-code).name}"
        else:
            how = f"it ended with exit code {code}"
        return Crashed(f"{how}: {said}" if said else how)

    def _last_words(self) -> str:
        self._said.seek(max(0, self._said.seek(0, os.SEEK_END) - 2000))
        lines = self._said.read().decode("utf-8", "replace").strip().splitlines()
        return " ".join(lines[-1].split())[:160] if lines else ""

    def close(self) -> None:
        """End the worker."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self._said):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


# --- one worker a process

_LOCK = threading.RLock()
_RUNNING: dict[int, Worker] = {}
"""Worker by the id of the process that started it: after a fork the child starts one of its own."""


def _worker(folder: Path) -> Worker:
    """The worker of this process: started when first used, and anew once it has died."""
    with _LOCK:
        own = os.getpid()
        running = _RUNNING.get(own)
        if running is None or not running.alive:
            if running is not None:
                running.close()
            _RUNNING[own] = running = Worker([sys.executable, "-P", str(_SOURCE), str(folder)])
        return running


@atexit.register
def _end() -> None:
    running = _RUNNING.pop(os.getpid(), None)
    if running is not None:
        running.close()


def _environment() -> dict[str, str]:
    return {**os.environ, "OMP_THREAD_LIMIT": "1"}  # several threads cost CPU and save no time
