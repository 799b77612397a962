"""Suites by name: the tasks of the families that a package lists.

    suite = load_suite("desk")
    for task in suite.tasks(): ...
    suite.script(task_id)           # what a competent agent does

A suite is a list of module names, each of which defines `FAMILY`; an installed package adds one
through the entry-point group `pyrite.suites`.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pyrite.errors import UsageError
from pyrite.records import Action, Benchmark, Initial, InitialFile, Launch, Outcome, StateSpec, TaskSpec
from pyrite.registry import Registry
from pyrite.suites.family import Family, KnownState
from pyrite.tasks.task import Program

SUITES = Registry(
    "suite", {"desk": "pyrite.suites.desk:FAMILIES", "desk-active": "pyrite.suites.desk_active:FAMILIES"}
)
VERSION = "1"
_RUN = "pyrite.suites.run"


@dataclass(frozen=True)
class FamilyTask:
    """One task of a family; implements `Task`, and pickles."""

    module: str
    task_id: str
    suite: str = "desk"

    @property
    def family(self) -> Family:
        found: Family = import_module(self.module).FAMILY
        return found

    @property
    def spec(self) -> TaskSpec:
        return _spec(self)

    def builder(self, out: Path, names: Sequence[str]) -> Program:
        return self._program("build", (str(out.absolute()), *names))

    def verifier(self, home: Path) -> Program:
        home = home.absolute()
        return replace(self._program("verify", (str(home),), (home,)), imports=_loaded(self.module))

    def verifier_sha256(self) -> str:
        family, params = self.family, self.family.params[self.task_id]
        files = {*family.initial(params).values(), *family.compared(params)}
        return _digest((_RUN, self.module), tuple(str(family.files / name) for name in files), self.task_id)

    def _program(self, command: str, rest: tuple[str, ...], reads: tuple[Path, ...] = ()) -> Program:
        argv = (sys.executable, "-P", "-m", _RUN, command, self.module, self.task_id, *rest)
        return Program(argv, self.family.files, reads)


@dataclass(frozen=True)
class Suite:
    """A named list of families."""

    name: str
    modules: tuple[str, ...]

    def tasks(self) -> list[FamilyTask]:
        """Every task, in the order of the families and their parameters."""
        return [
            FamilyTask(module, task_id, self.name)
            for module in self.modules
            for task_id in import_module(module).FAMILY.params
        ]

    def task(self, task_id: str) -> FamilyTask:
        """One task; raises `UsageError` with the nearest ids for an unknown one."""
        tasks = {task.task_id: task for task in self.tasks()}
        if task_id not in tasks:
            near = difflib.get_close_matches(task_id, tasks, n=1)
            raise UsageError(
                f"suite {self.name!r} has no task {task_id!r}",
                expected=", ".join(tasks),
                next=f"did you mean {near[0]!r}?" if near else "use one of these ids",
            )
        return tasks[task_id]

    def script(self, task_id: str) -> list[Action]:
        """The actions of a competent agent, `done` last."""
        family = self.task(task_id).family
        return [Action.model_validate(action) for action in family.script(family.params[task_id])]

    def claim(self, task_id: str) -> str:
        """The honest final message of a competent agent."""
        family = self.task(task_id).family
        return family.claim(family.params[task_id])

    def digest(self) -> str:
        """sha256 over every task's verifier, instruction and states."""
        digest = hashlib.sha256()
        for task in self.tasks():
            for part in (task.verifier_sha256(), task.spec.model_dump_json(by_alias=True)):
                digest.update(part.encode() + b"\0")
        return digest.hexdigest()


def suite_names() -> list[str]:
    """Names of all suites, those of installed packages included."""
    return SUITES.names()


def load_suite(name: str) -> Suite:
    """The suite of that name; raises `UsageError` for an unknown one."""
    return Suite(name, tuple(SUITES.load(name)))


@cache
def _spec(task: FamilyTask) -> TaskSpec:
    family = task.family
    params = family.params[task.task_id]
    app, args = family.opened(params)
    files = tuple(
        InitialFile.model_validate({"path": path, "from": name})
        for path, name in family.initial(params).items()
    )
    acts: dict[str, Any] = {}
    if found := family.act(params):
        acts = {"act": found, "truth_from": family.truth_from}
    return TaskSpec(
        task_id=task.task_id,
        instruction=family.instruction(params),
        family=family.name,
        domain=family.domain,
        initial=Initial(files=files, open=Launch(app=app, args=args)),
        states=(
            *(_state(state, "good") for state in family.good(params)),
            *(_state(state, "harmless") for state in family.harmless(params)),
            *(_state(state, "bad") for state in family.bad(params)),
        ),
        reads=family.reads,
        equivalent_mutants=dict(family.equivalent(params)),
        clock_within_s=family.clock_within_s,
        licence="Apache-2.0",
        benchmark=Benchmark(name=f"pyrite/{task.suite}", version=VERSION),
        **acts,
    )


def _state(state: KnownState, kind: str) -> StateSpec:
    outcome = Outcome.FAIL if kind == "bad" else Outcome.PASS
    return StateSpec.model_validate(
        {"name": state.name, "kind": kind, "outcome": outcome, "category": state.category}
    )


@cache
def _digest(modules: tuple[str, ...], files: tuple[str, ...], task_id: str) -> str:
    """Everything of ours that decides: the modules, all of pyrite that they import, and the files."""
    digest = hashlib.sha256(task_id.encode())
    for name in sorted(_closure(modules)):
        digest.update(b"\0" + name.encode() + b"\0" + _source(name))
    for path in sorted(files):
        digest.update(b"\0" + Path(path).name.encode() + b"\0")
        digest.update(hashlib.sha256(Path(path).read_bytes()).digest())
    return digest.hexdigest()


@cache
def _loaded(module: str) -> tuple[str, ...]:
    """What a verifier's process imports sooner or later."""
    return tuple(sorted(_closure((_RUN, module))))


def _closure(modules: tuple[str, ...]) -> set[str]:
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(_imports(name))
    return found


@cache
def _imports(name: str) -> tuple[str, ...]:
    """Modules of pyrite.checks that a module imports anywhere in it, in either form of import.

    Of other modules of suites, those that it imports at its top: families share verifiers. What only
    builds states (a suite's `edits`) is imported where it is used, decides nothing and is left out.
    """
    tree = ast.parse(_source(name))
    top = [module for module in _imported(tree.body) if module.startswith("pyrite.suites.desk")]
    deciding = [module for module in _imported(ast.walk(tree)) if module.startswith("pyrite.checks.")]
    return tuple(module for module in (*top, *deciding) if _is_module(module))


def _imported(nodes: Iterable[ast.AST]) -> list[str]:
    """Every dotted name that import statements may stand for."""
    found: list[str] = []
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.append(node.module)
            found.extend(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            found.extend(alias.name for alias in node.names)
    return found


def _is_module(name: str) -> bool:
    """Whether a dotted name is a module, and not a function or class of one."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@cache
def _source(name: str) -> bytes:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise UsageError(f"module {name!r} of a suite cannot be found")
    return Path(spec.origin).read_bytes()
