"""The program that calls a foreign comparator; it runs confined, by its path, standard library only.

    python -P calling.py JOB

JOB is JSON: module, function, paths, options, timeout_s, work, cases [{name, file, result, expected}].
It imports the function once and forks once a case; each answer is a line of JSON on standard output,
where nothing else goes: what the foreign code prints goes to standard error.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import json
import math
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable
from numbers import Real
from typing import Any

_LIMIT = 1 << 16
_SHOWN = 300


def main() -> None:
    """Answer every case of the job, or say why there can be no answer."""
    with open(sys.argv[1], encoding="utf-8") as handle:
        job = json.load(handle)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        function = _function(job)
    except BaseException as exc:  # importing runs foreign code
        print(json.dumps({"refused": _text(f"{type(exc).__name__}: {exc}")}), file=answers, flush=True)
        return
    for number, case in enumerate(job["cases"]):
        home = os.path.join(job["work"], str(number))
        answer = _in_a_child(function, case, job, home, answers.fileno())
        shutil.rmtree(home, ignore_errors=True)
        print(json.dumps({"case": case["name"], **answer}), file=answers, flush=True)


def _function(job: dict[str, Any]) -> Callable[..., Any]:
    sys.path[:0] = job["paths"]
    found: Any = importlib.import_module(job["module"])
    for name in job["function"].split("."):
        found = getattr(found, name)
    if not callable(found):
        raise TypeError(f"{job['module']}:{job['function']} is a {type(found).__name__}, no function")
    function: Callable[..., Any] = found
    return function


def _in_a_child(
    function: Callable[..., Any], case: dict[str, Any], job: dict[str, Any], home: str, answers: int
) -> dict[str, Any]:
    """One call in a process of its own; it has copies of both files, which it may do anything to."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.close(reading)
        os.close(answers)
        code = 1
        try:
            answer = json.dumps(_call(function, case, job["options"], home)).encode()
            while answer:
                answer = answer[os.write(writing, answer) :]
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    answer, late = _read(reading, time.monotonic() + job["timeout_s"])
    os.close(reading)
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(OSError):
            kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if late:
        return {"got": "timeout", "text": f"no answer within {job['timeout_s']:g} s"}
    try:
        found: dict[str, Any] = json.loads(answer)
        return found
    except ValueError:
        code = os.waitstatus_to_exitcode(status)
        text = f"ended by signal {-code}" if code < 0 else f"left the process with {code}"
        return {"got": "died", "text": text}


def _read(descriptor: int, deadline: float) -> tuple[bytes, bool]:
    """What a child wrote until it closed its end, and whether it was late."""
    out = bytearray()
    while len(out) < _LIMIT:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([descriptor], [], [], left)[0]:
            return bytes(out), True
        chunk = os.read(descriptor, _LIMIT)
        if not chunk:
            break
        out += chunk
    return bytes(out), False


def _call(
    function: Callable[..., Any], case: dict[str, Any], options: dict[str, Any], home: str
) -> dict[str, Any]:
    paths = []
    for side in ("result", "expected"):
        folder = os.path.join(home, side)
        os.makedirs(folder)
        paths.append(os.path.join(folder, case["file"]))
        if case[side] is not None:
            shutil.copyfile(case[side], paths[-1])
    os.chdir(home)
    try:
        value = function(*paths, **options)
        if inspect.isawaitable(value):
            value = asyncio.run(_awaited(value))
        return _answer(value)
    except BaseException as exc:  # SystemExit too: nothing foreign ends this process
        return {"got": "raised", "text": _text(f"{type(exc).__name__}: {exc}".replace(home + os.sep, ""))}


async def _awaited(value: Any) -> Any:
    return await value


def _answer(value: Any) -> dict[str, Any]:
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()
    if value is None:
        return {"got": "none", "text": "None"}
    if not isinstance(value, Real):
        return {"got": "not_a_number", "text": _text(f"{type(value).__name__}: {value!r}")}
    number = float(value)
    if not math.isfinite(number):
        return {"got": "nan", "text": str(number)}
    return {"got": "number", "value": number, "text": _text(str(value))}


def _text(text: str) -> str:
    return text[:_SHOWN].encode("utf-8", "backslashreplace").decode("utf-8")


if __name__ == "__main__":
    main()
