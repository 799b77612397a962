"""One task of each family, or of each domain, in `make test`; the others in `make test-slow`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import pytest


class _OfAFamily(Protocol):
    @property
    def task_id(self) -> str: ...

    @property
    def family(self) -> Any: ...


def one_a_family(tasks: Iterable[_OfAFamily]) -> list[Any]:
    """The tasks as parameters of a test: the first of each family as it is, the others marked slow."""
    return _first_of_each(tasks, lambda task: str(task.family.name))


def two_a_domain(tasks: Iterable[_OfAFamily]) -> list[Any]:
    """The same for the first task of the first two families of each domain."""
    families: dict[str, list[str]] = {}
    kept = []
    for task in tasks:
        own = families.setdefault(task.family.domain, [])
        if task.family.name not in own:
            own.append(task.family.name)
            kept += [task.task_id] if len(own) <= 2 else []
    return _first_of_each(tasks, lambda task: "" if task.task_id not in kept else task.task_id, {""})


def _first_of_each(
    tasks: Iterable[_OfAFamily], name: Callable[[_OfAFamily], str], seen: Iterable[str] = ()
) -> list[Any]:
    known = set(seen)
    found = []
    for task in tasks:
        marks = [pytest.mark.slow] if name(task) in known else []
        known.add(name(task))
        found.append(pytest.param(task, marks=marks, id=task.task_id))
    return found
