"""Replay on the real desktop: does what an active verifier does before it looks work, here and now?

The archived states (`truth.replay`) show that the comparison is right. This shows that the steps are: the
same task, its application, its document, its steps in the sandbox. Where the first holds and this does
not, the active part is to blame, and the difference is the diagnosis.

The known good state of a verifier that saves is not a file: it is the application with the work in it,
unsaved. A finished file laid over an open document would be overwritten by the very save that is tried,
so nothing is ever laid over one. Every run starts a desktop of its own, and

- `good` is made by doing the task: the untouched home is opened and the script of a competent agent is
  carried out (a family's script, or `script` in task.json). Every step must be seen to work, and the
  verifier must accept what is there afterwards. Without a script the finished file is what the application
  opens, under its own name; then only harm shows, because nothing is left to save, and that is said.
- the untouched home is opened and nothing is done: after the steps it must not pass, or they do the task.
- one bad state is what the application opens: after the steps it must still not pass.

In the last two there is nothing to wait for, so waits end early; a step that fails there is no fault.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pyrite.checks.verdict import NOTHING_PERSISTED
from pyrite.errors import InputError, RunError, SandboxError
from pyrite.records import Action, Outcome, StateSpec
from pyrite.sandbox import forkserver, image
from pyrite.sandbox.backend import Act, SessionSpec
from pyrite.sandbox.local import LocalBackend
from pyrite.steps import ActLine, Sleep, Step
from pyrite.store.jsonl import append_lines
from pyrite.store.paths import EpisodePaths
from pyrite.store.scratch import scratch
from pyrite.suites.suite import FamilyTask
from pyrite.tasks import archive
from pyrite.tasks.task import INITIAL, Task
from pyrite.truth import active
from pyrite.truth.replay import StateCheck
from pyrite.truth.verifier import ask
from pyrite.truth.verifier_output import Answer

NOTHING_TO_WAIT_FOR_S = 4.0
"""Longest wait of a step where the work is not there."""
ENDS = frozenset({"done", "fail", "answer"})
Start = Literal["done", "opened"]


@dataclass(frozen=True)
class LiveRun:
    """One desktop: a known state, the steps on it, and what was observed."""

    name: str
    """Of the state."""
    start: Start
    """done: the task was done by a script; opened: the application opened this state."""
    act: active.Acted
    lines: tuple[ActLine, ...]
    before: Answer
    after: Answer | None
    """What the verifier said of the home after the steps; None where there is none to look at."""


@dataclass(frozen=True)
class Live:
    """What the real application showed of a task whose verifier acts."""

    ran: bool
    why_not: str = ""
    checks: tuple[StateCheck, ...] = ()
    runs: tuple[LiveRun, ...] = ()
    """Every desktop, the repeated ones too."""
    image: str = ""
    problems: tuple[str, ...] = ()
    """What could not be shown, and steps that observe nothing."""
    unstable: str = ""
    """Where a state that failed did not when it was tried again: how often of how many."""

    @property
    def cause(self) -> str | None:
        """Why the active part is not to be believed; None where it may, or where it was not run."""
        if self.unstable:
            return "gold_unstable"
        for check in self.checks:
            if not check.ok:
                return "gold_failed" if check.expected is Outcome.PASS else "bad_state_accepted"
        return None

    @property
    def detail(self) -> str:
        """The cause in words, naming the step."""
        if self.unstable:
            return f"active part: {self.unstable}"
        for check in self.checks:
            if not check.ok and check.expected is Outcome.PASS:
                return check.answer.problem or f"active part: {check.kind} state {check.name} fails after it"
            if not check.ok:
                return f"active part: {check.kind} state {check.name} passes after it"
        return ""

    def as_json(self) -> dict[str, Any]:
        return {
            "ran": self.ran,
            "why_not": self.why_not,
            "image": self.image,
            "cause": self.cause,
            "detail": self.detail,
            "problems": list(self.problems),
            "runs": [
                {
                    "state": run.name,
                    "start": run.start,
                    "result": run.act.result,
                    "problem": run.act.problem,
                    "before": str(run.before.outcome),
                    "after": None if run.after is None else str(run.after.outcome),
                    "steps": [line.model_dump(mode="json", exclude_none=True) for line in run.lines],
                }
                for run in self.runs
            ],
        }


def replay_live(task: Task, homes: Mapping[str, Path]) -> Live:
    """Open the initial, a good and a bad state of a task in its application, and act on each.

    `homes` holds the built states by name. Where there is no desktop, or the application does not start,
    nothing was run and `why_not` says so: that is no fault of the task. Never raises for what it does.
    """
    if task.spec.initial.open is None:
        return Live(False, "the task opens no application, so there is nothing to act on")
    try:
        return _Stage(LocalBackend(), task, homes).all()
    except SandboxError as exc:
        return Live(False, exc.what)


class _Stage:
    """The desktops of one replay."""

    def __init__(self, backend: LocalBackend, task: Task, homes: Mapping[str, Path]) -> None:
        self._backend = backend
        self._task = task
        self._homes = homes
        self._runs: list[LiveRun] = []
        self._problems: list[str] = []

    def all(self) -> Live:
        states = self._task.spec.states
        good = next((state for state in states if state.kind == "good"), None)
        checks: list[StateCheck] = []
        unstable = ""
        if good is None:
            self._problems.append("no known-good state is declared: nothing shows that the steps work")
        else:
            check, unstable = self._good(good)
            checks.append(check)
        checks.append(self._must_not_pass(INITIAL, "initial"))
        bad = self._worth_opening(states)
        if bad is not None:
            checks.append(self._must_not_pass(bad.name, "bad"))
        sleeping = [step.brief() for step in self._task.spec.act if isinstance(step, Sleep)]
        self._problems += [
            f"step {text} observes nothing: wait for what it is there for" for text in sleeping
        ]
        return Live(
            True,
            "",
            tuple(checks),
            tuple(self._runs),
            image.name(),
            tuple(self._problems),
            unstable,
        )

    def _good(self, good: StateSpec) -> tuple[StateCheck, str]:
        """The good state, once more where it failed: a machine that is busy is told from a broken step."""
        script = script_of(self._task)
        first = self._tried(good, script)
        if first.outcome is Outcome.PASS:
            return _check(good.name, "good", Outcome.PASS, first), ""
        again = self._tried(good, script)
        unstable = ""
        if again.outcome is Outcome.PASS:
            unstable = f"good state {good.name} passed 1 of 2 times; first: {first.problem}"
        return _check(good.name, "good", Outcome.PASS, first), unstable

    def _tried(self, good: StateSpec, script: Sequence[Action]) -> Answer:
        if not script:
            run = self._run(good.name, "opened", (), self._task.spec.act)
            if not run.act.done:
                self._problems.append(
                    "not shown: without a script the good state leaves nothing to save, and "
                    f"{run.act.said()}; write a competent agent's actions as `script` into task.json"
                )
            return run.after or run.before
        run = self._run(good.name, "done", script, self._task.spec.act)
        if not run.act.done:
            return replace(
                run.before, outcome=Outcome.INDETERMINATE, candidates=(), cause="act_failed",
                problem=run.act.said(),
            )  # fmt: skip
        if self._task.spec.truth_from == "final":
            return run.before
        after = run.after or Answer(Outcome.INDETERMINATE, cause="state_missing", problem="no acted state")
        if after.outcome is Outcome.FAIL:
            codes = ", ".join(after.candidates) or "no code"
            why = f"active part: all steps were seen to work, and the state after them fails ({codes})"
            return replace(after, problem=why)
        return after

    def _must_not_pass(self, name: str, kind: Literal["initial", "bad"]) -> StateCheck:
        steps = tuple(_cut_short(step) for step in self._task.spec.act)
        run = self._run(name, "opened", (), steps)
        return _check(name, kind, Outcome.FAIL, run.after or run.before)

    def _worth_opening(self, states: Sequence[StateSpec]) -> StateSpec | None:
        """The first bad state that changed something and still holds the files that are opened."""
        opened = self._task.spec.initial.open
        names = opened.args if opened is not None else ()
        for state in states:
            home = self._homes.get(state.name)
            if state.kind != "bad" or home is None or set(state.category) <= set(NOTHING_PERSISTED):
                continue
            if all((home / name).is_file() for name in names if not name.startswith("-")):
                return state
        return None

    def _run(self, name: str, start: Start, script: Sequence[Action], steps: Sequence[Step]) -> LiveRun:
        lines: list[ActLine] = []
        home = self._homes[INITIAL if start == "done" else name]
        with scratch("live") as folder:
            paths = EpisodePaths(folder)
            paths.acts.touch()

            def note(line: ActLine) -> None:
                lines.append(line)
                append_lines(paths.acts, [line], sparse=True)

            spec = SessionSpec(open=self._task.spec.initial.open)
            with self._backend.start(home, spec) as session:
                for action in script:
                    if action.action not in ENDS:
                        session.act(action)
                session.screenshot()
                session.finish(paths.final_state, Act(steps, paths.acted_state, note))
            run = LiveRun(
                name,
                start,
                active.read(paths.acts, steps),
                tuple(lines),
                self._ask(paths.final_state),
                self._ask(paths.acted_state) if paths.acted_state.is_file() else None,
            )
        self._runs.append(run)
        return run

    def _ask(self, state: Path) -> Answer:
        with forkserver.scratch() as root:
            home = root / "home"
            home.mkdir()
            try:
                archive.extract(state, home, reads=self._task.spec.reads)
            except (archive.StateUnreadable, InputError, RunError) as exc:
                return Answer(Outcome.INDETERMINATE, cause="state_unreadable", problem=exc.what)
            return ask(self._task, home)


def script_of(task: Task) -> Sequence[Action]:
    """What a competent agent does before the verifier acts; empty where nobody wrote it down."""
    if isinstance(task, FamilyTask):
        family = task.family
        return [Action.model_validate(action) for action in family.script(family.params[task.task_id])]
    return task.spec.script


def _cut_short(step: Step) -> Step:
    if isinstance(step, Sleep):
        return step
    return step.model_copy(update={"timeout_s": min(step.timeout_s, NOTHING_TO_WAIT_FOR_S)})


def _check(
    name: str, kind: Literal["initial", "good", "bad"], expected: Outcome, answer: Answer
) -> StateCheck:
    return StateCheck(name, kind, expected, None, answer)
