"""Can a known-good end state be built from what is published? The gold class of a task.

A  every expected value is a published file and every result is a file, or a solution is shipped
B  some expected values are published files
C  the values are known, in rules; no end state
D  nothing is expected: the criterion is inside the metric, or in a model that is asked
E  what is expected comes from the live web or from the machine itself
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pyrite.audit import commands
from pyrite.audit.definition import Definition

Class = Literal["A", "B", "C", "D", "E"]

CLASSES: dict[Class, str] = {
    "A": "published files, or a shipped solution",
    "B": "some published files",
    "C": "values in rules, no end state",
    "D": "nothing expected: the metric decides alone",
    "E": "from the live web or the machine",
}


@dataclass(frozen=True)
class Gold:
    """The class of a task, and what replaying its gold state would take."""

    name: Class
    l1: str
    """The comparator alone, without a machine."""
    l2: str
    """The whole verifier, on a machine."""
    l1_possible: bool
    l2_trap: str = ""


def gold_of(task: Definition) -> Gold | None:
    """The gold class; None for infeasible tasks and where the verifier cannot be told."""
    if task.unreadable or task.infeasible:
        return None
    if task.oracle is not None:
        return Gold(
            "A",
            "nothing: the shipped solution makes a state, not a file to compare",
            f"run {task.oracle}, then the verifier; and the verifier on the untouched state",
            l1_possible=False,
        )
    expected = {getter.reach for getter in task.expected}
    if not expected:
        return Gold(
            "D",
            "a hand-made result that the metric must accept, and one that it must not",
            "the same, laid in place on a machine",
            l1_possible=False,
        )
    results = {getter.reach for getter in task.results}
    if expected == {"published"}:
        if results == {"file"}:
            return _class_a(task)
        return Gold("B", "the published files, and results in their form", _L2_FILES, l1_possible=False)
    if "published" in expected:
        return Gold(
            "B",
            "the published files for some metrics; for the rest results made from the rules",
            _L2_FILES,
            l1_possible=False,
        )
    if expected <= {"rule", "relative"}:
        clock = " on a fixed date" if "relative" in expected else ""
        return Gold(
            "C",
            f"a result made by hand from the rules{clock}",
            f"a state made by hand from the rules{clock}, then steps and getters",
            l1_possible=False,
        )
    return Gold(
        "E",
        "a recording of what the expected getters gave",
        "the same machine or site at the same time: the expected value is read there",
        l1_possible=False,
    )


_L2_FILES = "the published files at the result paths, the rest by hand, then steps and getters"


def _class_a(task: Definition) -> Gold:
    saves = any(step.saves or commands.saves(step.text) for step in task.evaluation)
    steps = (
        "then the steps of the evaluation phase and the getters" if task.evaluation else "then the getters"
    )
    return Gold(
        "A",
        "metric(gold, gold) must pass and metric(initial, gold) must fail: the files alone",
        f"the gold file at the result path, {steps}",
        l1_possible=True,
        l2_trap=(
            "the application still holds the old document: reopen the gold in it under the original name "
            "before Ctrl+S, or the save undoes it"
            if saves
            else ""
        ),
    )
