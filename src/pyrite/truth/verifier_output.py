"""Read what a verifier printed: one line is its answer, all the others are its log.

What breaks the contract is never a fail: it is INDETERMINATE, with the cause and the verifier to
blame. Text that comes from an end state (a cell, a file name) ends up in `diagnostics`, so that is
bounded and made safe to write; it never decides.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any, Protocol

from pyrite.records import BLAME, Outcome

OUTPUT_LIMIT = 1 << 20
"""Bytes of output above which an answer is not read any more."""

LOG_LIMIT = 4000
MAX_CANDIDATES = 20
MAX_ITEMS = 100
MAX_DEPTH = 6
MAX_TEXT = 1000
MAX_DIAGNOSTICS = 20_000


class Finished(Protocol):
    """What is asked of a finished program (see `sandbox.confine.Finished`)."""

    @property
    def returncode(self) -> int | None: ...
    @property
    def stdout(self) -> bytes: ...
    @property
    def stderr(self) -> bytes: ...
    @property
    def timed_out(self) -> bool: ...
    @property
    def truncated(self) -> bool: ...


@dataclass(frozen=True)
class Answer:
    """What a verifier said of one end state."""

    outcome: Outcome
    candidates: tuple[str, ...] = ()
    """The codes that the state allows, as the verifier spelled them; empty unless it is a fail."""
    diagnostics: dict[str, Any] = field(default_factory=dict)
    cause: str | None = None
    """Why the outcome is indeterminate; None for pass and fail."""
    problem: str = ""
    """The cause in words."""
    log: str = ""
    """The other lines of stdout, then stderr; bounded."""
    forked: bool = False
    """How it was run: forked from a server, or a process of its own."""

    @property
    def said(self) -> tuple[Outcome, frozenset[str], str | None]:
        """What two runs on one state must agree in."""
        return self.outcome, frozenset(self.candidates), self.cause


class _Invalid(ValueError):
    """The answer breaks the contract."""


def read(finished: Finished) -> Answer:
    """The answer of a finished verifier; whatever is wrong with it becomes a cause, never an exception."""
    lines, found = _split(finished.stdout[:OUTPUT_LIMIT])
    log = _log(lines, finished.stderr)
    if finished.timed_out:
        return _indeterminate("verifier_timeout", "it did not finish in time", log)
    if finished.truncated or len(finished.stdout) > OUTPUT_LIMIT:
        return _indeterminate("verifier_output_invalid", f"it printed more than {OUTPUT_LIMIT} bytes", log)
    if finished.returncode != 0:
        return _indeterminate("verifier_error", _exit_text(finished.returncode), log)
    if len(found) != 1:
        return _indeterminate("verifier_output_invalid", _count_text(len(found)), log)
    try:
        return _answer(found[0], log)
    except _Invalid as exc:
        return _indeterminate("verifier_output_invalid", str(exc), log)


def _indeterminate(cause: str, problem: str, log: str) -> Answer:
    return Answer(Outcome.INDETERMINATE, cause=cause, problem=problem, log=log)


def _exit_text(returncode: int | None) -> str:
    if returncode is None:
        return "it did not end by itself"
    signal = returncode - 128 if returncode > 128 else 0
    return f"it exited with {returncode}" + (f" (signal {signal})" if signal else "")


def _count_text(found: int) -> str:
    if found:
        return f"{found} lines are an answer; exactly one must be"
    return 'no line is a JSON object with the key "pass"'


@dataclass(frozen=True)
class _Found:
    """A line that is an object with the key `pass`."""

    body: dict[str, Any]
    flaws: tuple[str, ...]


def _split(stdout: bytes) -> tuple[list[bytes], list[_Found]]:
    log: list[bytes] = []
    found: list[_Found] = []
    for line in stdout.split(b"\n"):
        answer = _parse(line)
        if answer is not None:
            found.append(answer)
        elif line.strip():
            log.append(line)
    return log, found


def _parse(line: bytes) -> _Found | None:
    if not line.strip().startswith(b"{"):
        return None
    flaws: list[str] = []

    def constant(name: str) -> float:
        flaws.append(f"{name} is not JSON")
        return 0.0

    def number(text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            flaws.append(f"the number {text[:40]} is too large")
        return value

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        body = dict(items)
        if len(body) != len(items):
            flaws.append("a key stands twice in one object")
        return body

    try:
        body = json.loads(
            line.decode("utf-8"), parse_constant=constant, parse_float=number, object_pairs_hook=pairs
        )
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict) or "pass" not in body:
        return None
    return _Found(body, tuple(flaws))


def _answer(found: _Found, log: str) -> Answer:
    if found.flaws:
        raise _Invalid(found.flaws[0])
    passed = found.body["pass"]
    if passed is not None and not isinstance(passed, bool):
        raise _Invalid(f'"pass" is {passed!r:.60}; expected true, false or null')
    candidates = _candidates(found.body.get("category"))
    diagnostics = bounded(found.body.get("diagnostics"))
    if passed is None:
        named = found.body.get("cause")
        cause = named if isinstance(named, str) and named in BLAME else "verifier_says_unknown"
        if named is not None and cause != named:
            diagnostics["cause"] = _text(str(named))
        return Answer(Outcome.INDETERMINATE, (), diagnostics, cause, "it said null", log)
    if passed:
        return Answer(Outcome.PASS, (), diagnostics, log=log)
    return Answer(Outcome.FAIL, candidates, diagnostics, log=log)


def _candidates(category: Any) -> tuple[str, ...]:
    """The codes in their order, each once. Known or not is asked later (`categories.narrow`)."""
    codes = [] if category is None else category if isinstance(category, list) else [category]
    if not all(isinstance(code, str) for code in codes):
        raise _Invalid(f'"category" is {category!r:.60}; expected a code, a list of codes or null')
    return tuple(dict.fromkeys(_text(code)[:200] for code in codes if code))[:MAX_CANDIDATES]


def bounded(diagnostics: Any) -> dict[str, Any]:
    """Diagnostics as an object of bounded depth, width and size, safe to write as JSON."""
    if diagnostics is None:
        return {}
    if not isinstance(diagnostics, dict):
        diagnostics = {"value": diagnostics}
    small = _shrink(diagnostics, 0)
    size = len(json.dumps(small, ensure_ascii=False))
    if size > MAX_DIAGNOSTICS:
        scalars = {k: v for k, v in small.items() if not isinstance(v, dict | list)}
        head = dict(list(scalars.items())[:12])
        return {**head, "truncated": f"{size} characters of diagnostics"}
    return dict(small)


def _shrink(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict | list) and depth >= MAX_DEPTH:
        return _text(json.dumps(value)[:MAX_TEXT])
    if isinstance(value, dict):
        kept = list(value.items())[:MAX_ITEMS]
        return {_text(str(k))[:200]: _shrink(v, depth + 1) for k, v in kept}
    if isinstance(value, list):
        return [_shrink(v, depth + 1) for v in value[:MAX_ITEMS]]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 1 << 63:
        return str(value)[:MAX_TEXT]
    return value


def _text(text: str) -> str:
    """At most MAX_TEXT characters, without the lone surrogates that no file can hold."""
    return text[:MAX_TEXT].encode("utf-8", "replace").decode("utf-8")


def _log(lines: list[bytes], stderr: bytes) -> str:
    parts = (b"\n".join(lines), stderr)
    return "\n".join(p[-LOG_LIMIT:].decode("utf-8", "replace").strip() for p in parts if p.strip())
