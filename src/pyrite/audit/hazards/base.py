"""What a hazard is, and the table of them: one function each, found by its name.

A hazard's name is a stable identifier: it stands in JSON and in people's own lists of exceptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from pyrite.audit.definition import Definition, Getter, Step

Level = Literal["verdict", "risk", "info"]
"""verdict: can give a wrong verdict and nobody hears of it; risk: the verdict hangs on something beside
the end state; info: legitimate, and worth knowing."""

PRIORITIES = {
    1: "acts, waits or fetches while it evaluates",
    2: "steps whose failure nobody hears of",
    3: "collisions and checks that cannot fail",
    4: "window titles against result files",
    5: "a fixed sleep before a saved file is read",
    6: "truth that is live, dated, or behind an account",
    7: "comparator traps",
    8: "limits, paths and bootstraps",
    9: "the definition itself",
}
"""1 to 7 in the order of importance for other people's verifiers; the gold class stands apart."""


@dataclass(frozen=True)
class Found:
    """One place in one task where a hazard is."""

    detail: str
    at: str = ""


Look = Callable[[Definition], Iterator[Found]]


@dataclass(frozen=True)
class Hazard:
    """One kind of hazard."""

    name: str
    priority: int
    level: Level
    says: str
    """What it means, in one sentence."""
    look: Look


HAZARDS: dict[str, Hazard] = {}


def hazard(priority: int, level: Level, says: str) -> Callable[[Look], Look]:
    """Register a function as the hazard of its name."""

    def add(look: Look) -> Look:
        HAZARDS[look.__name__] = Hazard(look.__name__, priority, level, says, look)
        return look

    return add


def of_problem(name: str, priority: int, level: Level, says: str, *, kind: str = "") -> None:
    """Register the hazard of a problem that readers note; `kind`: the problem's name where it differs."""

    def look(task: Definition) -> Iterator[Found]:
        for problem in task.problems:
            if problem.kind == (kind or name):
                yield Found(problem.detail, problem.at)

    HAZARDS[name] = Hazard(name, priority, level, says, look)


def step_found(step: Step, detail: str = "") -> Found:
    """A place that is a step."""
    return Found(detail or f"{step.type} {_short(step.text)}".strip(), step.at)


def getter_found(getter: Getter, detail: str = "") -> Found:
    """A place that is a getter."""
    return Found(detail or f"{getter.type} {_short(getter.text)}".strip(), getter.at)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 110 else line[:109] + "…"
