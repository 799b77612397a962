"""Where a bench finds its tasks: <bench>/tasks, then the suites that lock.json names, then --tasks."""

from __future__ import annotations

import difflib
import fnmatch
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pyrite.errors import UsageError
from pyrite.records import Action
from pyrite.store.bench import Bench
from pyrite.suites.suite import Suite, load_suite, suite_names
from pyrite.tasks.folder import load_folder
from pyrite.tasks.harbor import is_harbor, load_harbor
from pyrite.tasks.task import Task

_SHOWN = 10


@dataclass(frozen=True)
class Origin:
    """A source of tasks, as plain data: a built-in suite's name, or a folder of task folders."""

    suite: str | None = None
    folder: Path | None = None
    only: str | None = None
    """The one task of the folder that was meant, where one was named."""

    def task_ids(self) -> list[str]:
        """Ids of all tasks here, sorted for a folder and in the suite's order for a suite."""
        if self.suite is not None:
            return [task.spec.task_id for task in _suite(self.suite).tasks()]
        if self.folder is None or not self.folder.is_dir():
            return []
        found = sorted(p.name for p in self.folder.iterdir() if is_task(p))
        return [name for name in found if not name.startswith(".") and self.only in {None, name}]

    def task(self, task_id: str) -> Task:
        """The task of that id; `InputError` where its folder cannot be read as one."""
        if self.suite is not None:
            return _suite(self.suite).task(task_id)
        if self.folder is None:
            raise UsageError(f"no task {task_id!r}")
        folder = self.folder / task_id
        return load_harbor(folder) if is_harbor(folder) else load_folder(folder)

    def resolved(self) -> dict[str, Any]:
        """What stands in lock.json about a suite: its name and the digest of what decides."""
        return {} if self.suite is None else {self.suite: {"digest": _suite(self.suite).digest()}}

    def digest(self, task_id: str) -> str:
        """sha256 of what an episode of a task comes from: its text, home, verifier, script and claim."""
        task, (script, claim) = self.task(task_id), self.script(task_id)
        acted = "\n".join(action.model_dump_json(exclude_none=True) for action in script)
        parts = (task.verifier_sha256(), task.spec.model_dump_json(by_alias=True), acted, claim)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def script(self, task_id: str) -> tuple[Sequence[Action], str]:
        """What a competent agent does, and what it would truthfully say at the end.

        A folder task has what `script` and `claim` in its task.json say, if anybody wrote them down.
        """
        if self.suite is None:
            spec = self.task(task_id).spec
            return spec.script, str((spec.model_extra or {}).get("claim") or "The task is done.")
        suite = _suite(self.suite)
        return suite.script(task_id), suite.claim(task_id)


class Lookup:
    """Find a bench's tasks by id."""

    def __init__(self, bench: Bench, extra: Sequence[Path] = ()) -> None:
        suites = bench.lock().get("suites", {})
        unknown = [name for name in suites if name not in suite_names()]
        if unknown:
            raise UsageError(
                f"this bench was recorded from the suite {unknown[0]!r}, which is not installed",
                where=str(bench.paths.lock),
                expected=", ".join(suite_names()),
            )
        for folder in extra:
            if not Origin(folder=folder).task_ids():
                what = "no task in it" if folder.is_dir() else "no such folder"
                raise UsageError(what, where=str(folder), expected="a folder that holds <task_id>/task.json")
        self.origins = [Origin(folder=bench.paths.tasks)]
        self.origins += [Origin(suite=name) for name in suites]
        self.origins += [Origin(folder=folder) for folder in extra]
        self._known: dict[str, Origin] = {}
        for origin in self.origins:
            for task_id in origin.task_ids():
                self._known.setdefault(task_id, origin)

    def __iter__(self) -> Iterator[tuple[Origin, str]]:
        """(origin, task_id) of every known task; the first origin of an id counts."""
        return ((origin, task_id) for task_id, origin in self._known.items())

    def task(self, task_id: str) -> Task | None:
        """The task of that id, or None where no origin has it."""
        origin = self._known.get(task_id)
        return None if origin is None else origin.task(task_id)

    def instruction(self, task_id: str) -> str | None:
        """The task text, or None where the task is not known."""
        task = self.task(task_id)
        return task.spec.instruction if task is not None else None


def open_origin(name: str) -> Origin:
    """Read SUITE as it is typed: the name of a suite, a folder of task folders, or one task folder."""
    if name in suite_names():
        return Origin(suite=name)
    folder = Path(name)
    if is_task(folder):
        return Origin(folder=folder.resolve().parent, only=folder.resolve().name)
    origin = Origin(folder=folder)
    if not origin.task_ids():
        raise UsageError(
            f"no suite and no folder of tasks: {name!r}",
            expected=", ".join(suite_names()) + ", or a folder that holds <task_id>/task.json",
            next="pyrite record desk -o runs/first",
        )
    return origin


def is_task(folder: Path) -> bool:
    """Whether a folder is a task: one of ours, or one of Harbor."""
    return (folder / "task.json").is_file() or is_harbor(folder)


def matching(origin: Origin, pattern: str) -> list[tuple[Origin, str]]:
    """The tasks whose id matches a glob pattern; `UsageError` where none does."""
    known = origin.task_ids()
    found = [task_id for task_id in known if fnmatch.fnmatchcase(task_id, pattern)]
    if not found:
        raise UsageError(f"no task matches {pattern!r}", expected=_nearest(pattern, known))
    return [(origin, task_id) for task_id in found]


def _nearest(pattern: str, known: Sequence[str]) -> str:
    """The ids that a pattern which none of them matches may have meant, and of how many they are."""
    if len(known) <= _SHOWN:
        return ", ".join(known)
    alike = difflib.get_close_matches(pattern, known, _SHOWN, cutoff=0.0)
    return f"one of {len(known)} tasks, such as {', '.join(alike)}"


@cache
def _suite(name: str) -> Suite:
    return load_suite(name)
