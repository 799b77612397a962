"""Homes of family tasks, built in this process, and what a hostile agent may leave in place of a file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from pyrite.checks.verdict import Result, render
from pyrite.suites.family import Family, KnownState
from pyrite.suites.run import build

Task = tuple[Family, str]


def tasks(*modules: str) -> list[Task]:
    """(family, task id) of every task of these modules of the suite."""
    families = [import_module(f"pyrite.suites.desk.{module}").FAMILY for module in modules]
    return [(family, task_id) for family in families for task_id in family.params]


def name_of(task: Task) -> str:
    return task[1]


def initial(task: Task, folder: Path) -> Path:
    family, task_id = task
    build(family, task_id, folder, ["initial"])
    return folder / "initial"


def verified(task: Task, home: Path) -> Result:
    """What the verifier says, once it is known that it can be said."""
    family, task_id = task
    found = family.verify(family.params[task_id], home)
    render(found)
    return found


def each_state(task: Task, folder: Path) -> Iterator[tuple[str, KnownState, Result]]:
    """(kind, state, what the verifier says) of every known state."""
    family, task_id = task
    params = family.params[task_id]
    home = initial(task, folder)
    for kind, states in (("good", family.good), ("harmless", family.harmless), ("bad", family.bad)):
        for number, state in enumerate(states(params)):
            place = folder / f"{kind}{number}"
            shutil.copytree(home, place)
            state.make(place)
            yield kind, state, verified(task, place)
            shutil.rmtree(place)


def _replaced(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def leave(path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        make(path)

    return leave


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 26)


def _deep(path: Path) -> None:
    path.mkdir()
    for _ in range(30):
        path = path / ("d" * 100)
    os.makedirs(path)


def _odd(path: Path) -> None:
    path.with_name("\udcff\n").write_bytes(b"x")


LEFT: dict[str, Callable[[Path], None]] = {
    "nothing": _replaced(lambda path: None),
    "empty file": _replaced(lambda path: path.write_bytes(b"")),
    "noise": _replaced(lambda path: path.write_bytes(bytes(range(256)) * 99)),
    "no text": _replaced(lambda path: path.write_bytes(b"\xff\xfe\0" * 9)),
    "many lines": _replaced(lambda path: path.write_bytes(b"\n" * 300_000)),
    "sparse": _replaced(_sparse),
    "folder": _replaced(lambda path: path.mkdir()),
    "deep folder": _replaced(_deep),
    "link out": _replaced(lambda path: path.symlink_to("/etc/passwd")),
    "link to itself": _replaced(lambda path: path.symlink_to(path.name)),
    "pipe": _replaced(os.mkfifo),
    "odd name beside": _odd,
}
"""What may be left at a path: name -> how."""
