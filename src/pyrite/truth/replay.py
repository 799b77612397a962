"""Replay known states: is this verifier to be believed, here and now?

Every task has states whose outcome is known: the untouched initial home must fail, a good or
harmless state must pass, a bad one must fail with the candidates that it declares. A verifier that
answers otherwise makes its task's episodes INDETERMINATE, for every agent. Good states are asked three times,
from two paths and with files of two ages: an answer that depends on where a state lies, on when its files
were written or on chance is none, and how often it changes is measured (`truth.flake`). An answer that
came too late is asked for once more before it is believed: a busy machine alone can make it late.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pyrite.checks.homes import TooManyFiles, snapshot
from pyrite.errors import InputError
from pyrite.records import Outcome, Replay, StateSpec
from pyrite.sandbox import confine, forkserver
from pyrite.store.bench import now
from pyrite.store.scratch import require_room
from pyrite.tasks.task import BUILD_LIMITS, INITIAL, Task
from pyrite.truth.flake import Flake, measured
from pyrite.truth.verifier import ask
from pyrite.truth.verifier_output import Answer

if TYPE_CHECKING:
    from pyrite.truth.live import Live

_LONG_AGO = 1_000_000_000
"""2001: the time of the files of the second copy of a good state."""
MOST_LATE = 2
"""Known states that may come too late, each twice; after that no more are asked about."""

Kind = Literal["initial", "good", "harmless", "bad"]


@dataclass(frozen=True)
class StateCheck:
    """One known state: what was declared and what the verifier said."""

    name: str
    kind: Kind
    expected: Outcome
    expected_candidates: tuple[str, ...] | None
    """None where none were declared."""
    answer: Answer

    @property
    def ok(self) -> bool:
        return self.answer.outcome == self.expected and self.candidates_ok

    @property
    def candidates_ok(self) -> bool:
        declared = self.expected_candidates
        return declared is None or set(declared) == set(self.answer.candidates)


@dataclass(frozen=True)
class ReplayResult:
    """What a replay found; `cause` is None where the verifier may be believed."""

    task_id: str
    record: Replay
    cause: str | None
    detail: str
    """The cause in words; empty without one."""
    checks: tuple[StateCheck, ...] = ()
    problems: tuple[str, ...] = ()
    """What is wrong without touching an outcome: other candidates than declared, no good state."""
    live: Live | None = None
    """What the real application showed, for tasks whose verifier acts; None for others, or where the
    archived states have settled it."""

    flake: Flake | None = None
    """How often a good state is not accepted, where its answers have differed."""

    @property
    def to_blame(self) -> Literal["", "comparison", "active part"]:
        """Which part of the verifier the cause comes from."""
        if self.cause is None:
            return ""
        return "active part" if self.live is not None and self.live.cause == self.cause else "comparison"

    def as_json(self) -> dict[str, Any]:
        states = [
            {
                "name": check.name,
                "kind": check.kind,
                "expected": check.expected,
                "observed": check.answer.outcome,
                "candidates": list(check.answer.candidates),
                "cause": check.answer.cause,
                "ok": check.ok,
            }
            for check in self.checks
        ]
        return {
            "task_id": self.task_id,
            "at": self.record.at,
            "image": self.record.image,
            "cause": self.cause,
            "detail": self.detail,
            "problems": list(self.problems),
            "states": states,
            "to_blame": self.to_blame,
            "live": None if self.live is None else self.live.as_json(),
            "flake": None if self.flake is None else self.flake.as_json(),
        }


def replay(task: Task, *, image: str, live: bool = True) -> ReplayResult:
    """Build the initial and all declared states of a task, confined, and ask its verifier about each.

    Where its verifier acts and this holds, three of them are then opened in the real application
    (`truth.live`); `live=False` leaves that out, and so does a machine without a desktop.

    `image` names what the states were replayed on, as it shall stand in gt.json. Never raises for
    what the task does; `SandboxError` where nothing can be run at all.
    """
    started = now()

    def result(
        cause: str | None,
        detail: str,
        checks: Sequence[StateCheck] = (),
        opened: Live | None = None,
        flake: Flake | None = None,
    ) -> ReplayResult:
        outcomes = {check.name: str(check.answer.outcome) for check in checks}
        record = Replay(at=started, image=image, outcomes=outcomes)
        problems = (*_problems(checks), *_live_problems(opened))
        return ReplayResult(task.spec.task_id, record, cause, detail, tuple(checks), problems, opened, flake)

    contradiction = _contradiction(task.spec.states)
    if contradiction:
        return result("task_invalid", contradiction)
    with forkserver.scratch() as root:
        try:
            build(task, root / "states", [INITIAL, *(state.name for state in task.spec.states)])
            checks = _checks(task, root / "states")
            flake = _unstable(task, root, checks)
            idle = _left_untouched(root / "states", checks)
            opened = None
            if live and task.spec.act and flake is None and cause_of(checks)[0] is None:
                opened = _opened(task, root / "states", checks)
        except InputError as exc:
            require_room(root)
            return result(_whose_fault(task, root), exc.what)
    if flake is not None:
        return result("gold_unstable", flake.said(), checks, flake=flake)
    cause, detail = cause_of(checks)
    if idle and detail.startswith(f"{idle.kind} state {idle.name}:"):
        detail += "; it is the untouched initial state: what builds it produced nothing"
    if opened is not None and opened.cause is not None:
        cause, detail = opened.cause, opened.detail
    return result(cause, detail, checks, opened)


def _opened(task: Task, states: Path, checks: Sequence[StateCheck]) -> Live:
    from pyrite.truth.live import replay_live

    return replay_live(task, {check.name: states / check.name for check in checks})


def _live_problems(opened: Live | None) -> list[str]:
    if opened is None:
        return []
    if not opened.ran:
        return [f"active part not replayed here: {opened.why_not}"]
    return list(opened.problems)


def _contradiction(states: Sequence[StateSpec]) -> str:
    """What makes the declared states contradict themselves; empty where nothing does."""
    names = [state.name for state in states]
    for name in names:
        if name == INITIAL or names.count(name) > 1:
            return f"the state name {name!r:.80} is taken"
        if name in {"", ".", ".."} or "/" in name or "\0" in name:
            return f"the state name {name!r:.80} is not a file name"
    for state in states:
        if (state.kind == "bad") == (state.outcome is Outcome.PASS):
            return f"state {state.name} is {state.kind} and declared {state.outcome}"
    return ""


def _whose_fault(task: Task, root: Path) -> str:
    """Why states could not be built: where the initial one can, the task's own state scripts fail."""
    try:
        build(task, root / "initial alone", [INITIAL])
    except InputError:
        return "setup_failed"
    return "task_invalid"


def build(task: Task, out: Path, names: Sequence[str]) -> None:
    """Make `out/<name>` for every name; `InputError` where one could not be made."""
    out.mkdir()
    finished = confine.run(task.builder(out, names), writes=[out], limits=BUILD_LIMITS)
    if finished.timed_out:
        raise InputError(f"the states were not built within {BUILD_LIMITS.timeout_s:g} s")
    if finished.returncode != 0:
        text = finished.stderr.decode("utf-8", "replace").strip()[-600:]
        raise InputError(f"building the states exited with {finished.returncode}: {text or 'no message'}")
    for name in names:
        home = out / name
        if home.is_symlink() or not home.is_dir():
            raise InputError(f"building the states made no folder for state {name}")


def _checks(task: Task, states: Path) -> list[StateCheck]:
    """Ask about the initial and every declared state; none any more after some that came too late."""
    initial = StateCheck(INITIAL, "initial", Outcome.FAIL, None, _not_asked(0))
    found: list[StateCheck] = []
    late = 0
    for check in (*(_declared(state) for state in task.spec.states), initial):
        answer = _not_asked(late) if late >= MOST_LATE else _asked(task, states / check.name)
        late += answer.cause == "verifier_timeout"
        found.append(replace(check, answer=answer))
    return [found[-1], *found[:-1]]


def _declared(state: StateSpec) -> StateCheck:
    declared = state.category if state.kind == "bad" and "category" in state.model_fields_set else None
    return StateCheck(state.name, state.kind, state.outcome, declared, _not_asked(0))


def _not_asked(late: int) -> Answer:
    problem = f"not asked: {late} states came too late before, each of them twice"
    return Answer(Outcome.INDETERMINATE, cause="verifier_timeout", problem=problem)


def _asked(task: Task, home: Path) -> Answer:
    """An answer; once more where it came too late."""
    answer = ask(task, home)
    return ask(task, home) if answer.cause == "verifier_timeout" else answer


def _unstable(task: Task, root: Path, checks: Sequence[StateCheck]) -> Flake | None:
    """Ask again about each good state, from another path with older files, and where it was built.

    An answer that comes too late now, as it did not before, says nothing.
    """
    for number, check in enumerate(checks):
        if check.kind != "good" or check.answer.cause == "verifier_timeout":
            continue
        here, elsewhere = root / "states" / check.name, root / "elsewhere" / f"home-{number}"
        try:
            shutil.copytree(here, elsewhere, symlinks=True)
            _age(elsewhere)
        except OSError as exc:
            raise InputError(f"state {check.name} cannot be copied: {exc!s:.200}") from exc
        for place, where in ((elsewhere, " from another path"), (here, " on the same path")):
            again = _asked(task, place)
            if again.said == check.answer.said or again.cause == "verifier_timeout":
                continue
            then = _said(again) + where
            return measured(
                check.name, _said(check.answer), then, (here, elsewhere), lambda home: ask(task, home)
            )
    return None


def _left_untouched(states: Path, checks: Sequence[StateCheck]) -> StateCheck | None:
    """The first state that should pass, does not, and is the initial one: its script did nothing."""
    for check in checks:
        if check.kind in {"good", "harmless"} and check.answer.outcome is not Outcome.PASS:
            try:
                same = snapshot(states / check.name, ignore=()) == snapshot(states / INITIAL, ignore=())
            except (TooManyFiles, OSError):
                same = False
            return check if same else None
    return None


def _age(folder: Path) -> None:
    """Give every file another time: end states are unpacked without theirs, so none may matter."""
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.utime(os.path.join(parent, name), (_LONG_AGO, _LONG_AGO), follow_symlinks=False)


def cause_of(checks: Sequence[StateCheck]) -> tuple[str | None, str]:
    """Why the verifier is not to be believed: golds first, then the untouched state, then bad ones."""
    for check in checks:
        if check.kind in {"good", "harmless"} and check.answer.outcome is not Outcome.PASS:
            cause = check.answer.cause or "gold_failed"
            return cause, f"{check.kind} state {check.name}: {_said(check.answer)}"
    for check in checks:
        if check.kind == "initial" and check.answer.outcome is not Outcome.FAIL:
            return check.answer.cause or "task_invalid", f"untouched initial state: {_said(check.answer)}"
    for check in checks:
        if check.kind == "bad" and check.answer.outcome is Outcome.PASS:
            return "bad_state_accepted", f"bad state {check.name}: pass"
    for check in checks:
        if check.kind == "bad" and check.answer.outcome is not check.expected and check.answer.cause:
            return check.answer.cause, f"bad state {check.name}: {_said(check.answer)}"
    return None, ""


def _said(answer: Answer) -> str:
    return str(answer.outcome) if answer.cause is None else f"{answer.cause} ({answer.problem})"


def _problems(checks: Sequence[StateCheck]) -> list[str]:
    found = [
        f"state {check.name}: candidates {sorted(check.answer.candidates)}, "
        f"declared {sorted(check.expected_candidates or ())}"
        for check in checks
        if check.answer.outcome is Outcome.FAIL and not check.candidates_ok
    ]
    if checks and not any(check.kind == "good" for check in checks):
        found.append("no known-good state is declared: nothing shows that the verifier accepts one")
    for check in checks:
        declared_indeterminate = check.expected is Outcome.INDETERMINATE
        if declared_indeterminate and check.answer.outcome is not Outcome.INDETERMINATE:
            found.append(f"state {check.name}: {check.answer.outcome}, declared indeterminate")
    return found
