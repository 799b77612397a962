"""What a task definition says about its verifier, in one form for every benchmark.

A reader fills it in; ledger, tier, gold and hazards read it and know no benchmark's file format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Phase = Literal["config", "postconfig"]
"""Before the agent acts, and after it, before its result is read."""

Role = Literal["result", "expected"]

Reach = Literal["file", "read", "app", "acts", "published", "rule", "relative", "derived", "unknown"]
"""How a getter comes by its value.

file: a file of the end state; read: configuration or a command that only reads; app: asked of a running
application; acts: drives or starts something, or uses an account; published: a file that is published
with the task; rule: values written in the definition; relative: values computed from the clock;
derived: taken from the live web or the machine; unknown: a getter that the reader does not know.
"""


@dataclass(frozen=True)
class Step:
    """One thing that the harness does, in the order of the definition."""

    type: str
    """The benchmark's own name of it."""
    phase: Phase
    at: str
    """Where it stands: `postconfig[0]`."""
    text: str = ""
    """What it does, as text: the command, the window title, the URL."""
    known: bool = True
    """Whether the benchmark's harness has a step of this name."""
    silent: bool = False
    """Its failure is logged at most: nothing that decides hears of it."""
    argv: tuple[str, ...] | None = None
    """The command where it is a list and no shell reads it."""
    seconds: float | None = None
    """How long it waits."""
    title: str | None = None
    strict: bool = False
    urls: tuple[str, ...] = ()
    keys: bool = False
    """The harness itself presses keys or clicks here; a command that does is told from its text."""
    saves: bool = False
    """The harness itself saves here."""


@dataclass(frozen=True)
class Getter:
    """One value that the verifier reads: a result, or what it is compared with."""

    type: str
    role: Role
    at: str
    pair: int
    """The metric that it belongs to, from 0."""
    reach: Reach
    text: str = ""
    argv: tuple[str, ...] | None = None
    paths: tuple[str, ...] = ()
    """Files that it reads, as the definition writes them."""
    dests: tuple[str, ...] = ()
    """Names under which they are cached beside each other."""
    urls: tuple[str, ...] = ()
    sleeps: float = 0.0
    """Seconds that the harness itself waits for it."""
    cdp: bool = False
    """It drives a browser over its debugging port."""
    account: bool = False
    """It needs an external account."""
    clock: bool = False
    """What it gives depends on the day."""
    live: bool = False
    """It reads a website that nobody froze."""


@dataclass(frozen=True)
class Problem:
    """What is wrong with a definition itself; `fatal` where its verifier cannot be told."""

    kind: str
    detail: str
    at: str = ""
    fatal: bool = False


@dataclass(frozen=True)
class Limits:
    """Bounds of the agent beside what the oracle needs; None where the definition does not say."""

    agent_s: float | None = None
    oracle_s: float | None = None
    verifier_s: float | None = None
    agent_steps: int | None = None
    oracle_steps: int | None = None


@dataclass(frozen=True)
class Definition:
    """One task of a benchmark."""

    task: str
    """Its id, as the benchmark names it."""
    domain: str
    where: str
    """The file below the audited path."""
    instruction: str = ""
    steps: tuple[Step, ...] = ()
    getters: tuple[Getter, ...] = ()
    metrics: tuple[str, ...] = ()
    conj: str = "and"
    options: Mapping[str, Any] = field(default_factory=dict)
    rules: tuple[tuple[str, str], ...] = ()
    """(where, name) of comparison rules inside metrics: `sheet_data`, `must_include`."""
    infeasible: bool = False
    proxy: bool = False
    may_change: bool = False
    """The benchmark itself says that its environment drifts."""
    limits: Limits = Limits()
    scripts: tuple[tuple[str, str], ...] = ()
    """(file, text) of programs that the verifier runs, bounded."""
    oracle: str | None = None
    """The shipped solution, where there is one."""
    problems: tuple[Problem, ...] = ()

    @property
    def evaluation(self) -> tuple[Step, ...]:
        """The steps of the evaluation phase."""
        return tuple(step for step in self.steps if step.phase == "postconfig")

    @property
    def results(self) -> tuple[Getter, ...]:
        return tuple(getter for getter in self.getters if getter.role == "result")

    @property
    def expected(self) -> tuple[Getter, ...]:
        return tuple(getter for getter in self.getters if getter.role == "expected")

    @property
    def unreadable(self) -> bool:
        """Whether the definition does not say how the task is verified."""
        return any(problem.fatal for problem in self.problems)


def unreadable(task: str, domain: str, where: str, kind: str, detail: str) -> Definition:
    """A task that is there, or asked for, and whose definition cannot be read."""
    return Definition(task, domain, where, problems=(Problem(kind, detail, fatal=True),))
