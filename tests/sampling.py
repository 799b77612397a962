"""One task of each family, or of each domain, in `make test`; the others in `make test-slow`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Protocol

import pytest


class _OfAFamily(Protocol):
    @property
    def task_id(self) -> str: ...

    @property
    def family(self) -> Any: ...


def one_a_family(tasks: Iterable[_OfAFamily]) -> list[Any]:
    """The tasks as parameters of a test: the first of each family as it is, the others marked slow."""
    known = list(tasks)
    return _marked(known, _first_of_families(known))


def two_a_domain(tasks: Iterable[_OfAFamily]) -> list[Any]:
    """The same for the first task of the first two families of each domain."""
    known = list(tasks)
    taken: Counter[str] = Counter()
    kept = []
    for task in _first_of_families(known):
        taken[task.family.domain] += 1
        kept += [task] if taken[task.family.domain] <= 2 else []
    return _marked(known, kept)


def _first_of_families(tasks: Iterable[_OfAFamily]) -> list[_OfAFamily]:
    return list({task.family.name: task for task in reversed(list(tasks))}.values())[::-1]


def _marked(tasks: Iterable[_OfAFamily], kept: Iterable[_OfAFamily]) -> list[Any]:
    fast = {task.task_id for task in kept}
    return [
        pytest.param(task, marks=[] if task.task_id in fast else [pytest.mark.slow], id=task.task_id)
        for task in tasks
    ]
