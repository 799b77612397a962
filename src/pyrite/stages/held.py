"""Hold back what a check has found unfit: `pyrite record SUITE --skip-held check.json`.

A task is held where `pyrite check --json` said that it is not fit to ship. It is not recorded, and lock.json
says so, so that "never run" and "run, and the verifier broke" are two things. A check of another version
of a task holds nothing: it is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from pyrite.episodes.jobs import Recording
from pyrite.errors import InputError, UsageError
from pyrite.records import ForeignRecord, OpaqueId
from pyrite.store import held as store
from pyrite.store.bench import Bench
from pyrite.store.held import Held
from pyrite.store.jsonl import read_json
from pyrite.suites.lookup import Origin

LIMIT_BYTES = 256 << 20
Planned = list[tuple[Origin, str]]


class _Fault(ForeignRecord):
    observed: str = ""
    why: str = ""


class _Task(ForeignRecord):
    """What is read of one task of a check."""

    id: OpaqueId
    ok: bool | None
    verifier_sha256: str | None = None
    faults: tuple[_Fault, ...] = ()


class _Checked(ForeignRecord):
    at: str
    tasks: tuple[_Task, ...]


_CHECKED: TypeAdapter[_Checked] = TypeAdapter(_Checked)


@dataclass(frozen=True)
class Chosen:
    """What is recorded of a suite, and what is held back."""

    tasks: Planned
    held: tuple[Held, ...] = ()
    unchecked: tuple[str, ...] = ()
    """Tasks that the check does not know; they are recorded."""
    asked: bool = False
    """Whether a check was given."""

    def hold(self, bench: Bench) -> None:
        """Write it into lock.json; what is recorded is held no more."""
        if self.asked:
            store.write(bench, self.held, let_go=[task_id for _, task_id in self.tasks])

    def told(self, recording: Recording) -> Recording:
        """The recording, which says what was held back."""
        return replace(recording, held=self.held, unchecked=self.unchecked)


def split(tasks: Planned, check: Path | None) -> Chosen:
    """Hold back the tasks that a check has found unfit; none without one.

    Raises `InputError` for a file that is no result of a check, and `UsageError` where it checked
    another version of a task, or where nothing is left to record.
    """
    if check is None:
        return Chosen(tasks)
    found = _read(check)
    known = {one.id: one for one in found.tasks}
    kept: Planned = []
    held: list[Held] = []
    for origin, task_id in tasks:
        one = known.get(task_id)
        if one is not None:
            _same_version(origin, task_id, one, check)
        if one is None or one.ok is not False:
            kept.append((origin, task_id))
        else:
            held.append(_held(one, found.at))
    if not kept:
        raise UsageError(
            f"held at the check: {', '.join(one.task_id for one in held[:3])}"
            f"{f' and {len(held) - 3} more' if len(held) > 3 else ''}: nothing is left to record",
            where=str(check),
            expected="a task that is fit to ship",
            next="mend them, then pyrite check again",
        )
    unchecked = tuple(task_id for _, task_id in tasks if task_id not in known)
    return Chosen(kept, tuple(held), unchecked, asked=True)


def _held(one: _Task, at: str) -> Held:
    first = one.faults[0] if one.faults else _Fault(observed="not fit to ship")
    why = ": ".join(part for part in (first.observed, first.why) if part)
    return Held(
        task_id=one.id,
        why=why[:400],
        faults=len(one.faults),
        checked_at=at,
        verifier_sha256=one.verifier_sha256,
    )


def _read(path: Path) -> _Checked:
    try:
        return _CHECKED.validate_python(read_json(path, limit_bytes=LIMIT_BYTES))
    except ValidationError as exc:
        first: Any = exc.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "the document"
        raise InputError(
            f"{field}: {first['msg']}",
            where=str(path),
            expected="what `pyrite check SUITE --json` prints",
            next="pyrite check SUITE --json > check.json",
        ) from exc


def _same_version(origin: Origin, task_id: str, one: _Task, check: Path) -> None:
    if one.verifier_sha256 is None:
        return
    try:
        now = origin.task(task_id).verifier_sha256()
    except InputError:
        return  # it cannot be read now either: recording it says so
    if now != one.verifier_sha256:
        named = origin.suite or str(origin.folder)
        raise UsageError(
            f"task {task_id} was checked as another version ({one.verifier_sha256[:8]}, now {now[:8]})",
            where=str(check),
            expected="a check of the tasks as they are",
            next=f"pyrite check {named} --json > {check}",
        )
