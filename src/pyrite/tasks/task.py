"""What a task is to the stages that use it: a spec, a way to build its states, and a verifier.

A folder task (anybody's `tasks/<id>/`) and a family task of a suite (code on `checks/`) are both
this. What they run, they describe as a `Program`; only `sandbox.confine` runs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pyrite.records import Limits, TaskSpec

INITIAL = "initial"
"""The name of the untouched initial state; every task has it and it must fail."""

BUILD_LIMITS = Limits(timeout_s=300.0, memory_mb=4096)
"""Bounds of one run of a builder: it may make all states of a task, with office libraries."""


@dataclass(frozen=True)
class Program:
    """A command of a task, to be run confined."""

    argv: tuple[str, ...]
    """Absolute paths throughout; `argv[0]` is usually `sys.executable`."""
    cwd: Path
    """Working directory: the task folder, or the package folder of a suite's files."""
    reads: tuple[Path, ...] = ()
    """What it may read besides the interpreter, its libraries, pyrite itself and `cwd`."""
    imports: tuple[str, ...] | None = None
    """Modules that it imports and a server may import before (`sandbox.forkserver`); None: it must
    be a process of its own."""


class Task(Protocol):
    """A task that can be replayed and verified."""

    @property
    def spec(self) -> TaskSpec: ...

    def builder(self, out: Path, names: Sequence[str]) -> Program:
        """A program that makes `out/<name>/` (a home) for each of `names`, which may hold `initial`.

        `out` exists, is empty and is the only place that the program may write to.
        """
        ...

    def verifier(self, home: Path) -> Program:
        """A program that prints what verify.py prints for the end state whose home is `home`.

        `home` is read-only then; the path of final_facts.json is in the environment, PYRITE_FACTS.
        """
        ...

    def verifier_sha256(self) -> str:
        """Digest of everything of ours that decides the outcome."""
        ...
