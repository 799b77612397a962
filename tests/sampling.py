"""One task of each family in `make test`; the others in `make test-slow`."""

from __future__ import annotations

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
    seen: set[str] = set()
    found = []
    for task in tasks:
        marks = [pytest.mark.slow] if task.family.name in seen else []
        seen.add(task.family.name)
        found.append(pytest.param(task, marks=marks, id=task.task_id))
    return found
