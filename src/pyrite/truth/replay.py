"""Replay known states: is this verifier to be believed, here and now?

Every task has states whose outcome is known: the untouched initial home must fail, a good or
harmless state must pass, a bad one must fail with the candidates that it declares. A verifier that
answers otherwise makes its task's episodes INDETERMINATE, for every agent. Good states are asked
twice, from two paths and with files of two ages: an answer that depends on where a state lies, on when
its files were written or on chance is none.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pyrite.errors import InputError
from pyrite.records import Outcome, Replay, StateSpec
from pyrite.sandbox import confine, forkserver
from pyrite.store.bench import now
from pyrite.store.scratch import require_room
from pyrite.tasks.task import BUILD_LIMITS, INITIAL, Task
from pyrite.truth.verifier import ask
from pyrite.truth.verifier_output import Answer

if TYPE_CHECKING:
    from pyrite.truth.live import Live

_LONG_AGO = 1_000_000_000
"""2001: the time of the files of the second copy of a good state."""

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
        cause: str | None, detail: str, checks: Sequence[StateCheck] = (), opened: Live | None = None
    ) -> ReplayResult:
        outcomes = {check.name: str(check.answer.outcome) for check in checks}
        record = Replay(at=started, image=image, outcomes=outcomes)
        problems = (*_problems(checks), *_live_problems(opened))
        return ReplayResult(task.spec.task_id, record, cause, detail, tuple(checks), problems, opened)

    contradiction = _contradiction(task.spec.states)
    if contradiction:
        return result("task_invalid", contradiction)
    with forkserver.scratch() as root:
        try:
            build(task, root / "states", [INITIAL, *(state.name for state in task.spec.states)])
            checks = [_check(task, root / "states", state) for state in task.spec.states]
            checks.insert(0, _check_initial(task, root / "states"))
            unstable = _unstable(task, root, checks)
            opened = None
            if live and task.spec.act and not unstable and _cause(checks)[0] is None:
                opened = _opened(task, root / "states", checks)
        except InputError as exc:
            require_room(root)
            return result(_whose_fault(task, root), exc.what)
    if unstable:
        return result("gold_unstable", unstable, checks)
    cause, detail = _cause(checks)
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


def _check_initial(task: Task, states: Path) -> StateCheck:
    return StateCheck(INITIAL, "initial", Outcome.FAIL, None, ask(task, states / INITIAL))


def _check(task: Task, states: Path, state: StateSpec) -> StateCheck:
    declared = state.category if state.kind == "bad" and "category" in state.model_fields_set else None
    return StateCheck(state.name, state.kind, state.outcome, declared, ask(task, states / state.name))


def _unstable(task: Task, root: Path, checks: Sequence[StateCheck]) -> str:
    """Ask again about each good state, from another path and with older files."""
    for number, check in enumerate(checks):
        if check.kind != "good":
            continue
        elsewhere = root / "elsewhere" / f"home-{number}"
        try:
            shutil.copytree(root / "states" / check.name, elsewhere, symlinks=True)
            _age(elsewhere)
        except OSError as exc:
            raise InputError(f"state {check.name} cannot be copied: {exc!s:.200}") from exc
        again = ask(task, elsewhere)
        if again.said != check.answer.said:
            return f"state {check.name} was {_said(check.answer)}, then {_said(again)} from another path"
    return ""


def _age(folder: Path) -> None:
    """Give every file another time: end states are unpacked without theirs, so none may matter."""
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.utime(os.path.join(parent, name), (_LONG_AGO, _LONG_AGO), follow_symlinks=False)


def _cause(checks: Sequence[StateCheck]) -> tuple[str | None, str]:
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
