"""What replays say of a suite, for its list of faults: `suite_bugs.md` of a bench."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pyrite.errors import InputError
from pyrite.records import BLAME, Outcome
from pyrite.store import bugs
from pyrite.store.bench import Bench
from pyrite.store.bugs import Look, SuiteBug, SuiteBugs
from pyrite.suites.suite import FamilyTask
from pyrite.tasks.folder import FolderTask
from pyrite.tasks.task import Task
from pyrite.truth.replay import ReplayResult, StateCheck

MOST_OF_A_TASK = 20
"""Faults of one task that are listed; one mended verifier usually mends them all."""


def enter(bench: Bench, tasks: Mapping[str, Task], replays: Iterable[ReplayResult]) -> tuple[SuiteBugs, str]:
    """Enter what replays found into the list of a bench; the list, and what kept it from being written.

    The same fault is not entered twice; what was listed and is not found any more is marked as mended.
    The caller holds `bench.exclusive()`.
    """
    done = list(replays)
    found = [bug for result in done for bug in of_replay(bench.root, tasks[result.task_id], result)]
    looked_at = [_look(one) for one in done]
    try:
        before = bugs.read(bench)
    except InputError as exc:
        return SuiteBugs(), f"suite_bugs.json: {exc.what}; left alone"
    after = bugs.entered(before, found, looked_at)
    if after == before:
        return after, ""
    return after, bugs.write(bench, after)


def _look(result: ReplayResult) -> Look:
    sound = {check.name for check in result.checks if check.answer.outcome is check.expected}
    record = result.record
    return Look(result.task_id, record.image, record.at[:10], result.cause is None, frozenset(sound))


def of_replay(root: Path, task: Task, result: ReplayResult) -> Iterator[SuiteBug]:
    """The faults that one replay shows; none where the verifier may be believed."""
    if result.cause is None:
        return
    day = result.record.at[:10]
    common = {
        "number": 1,
        "task_id": result.task_id,
        "image": result.record.image,
        "verifier_sha256": task.verifier_sha256(),
        "reproduce": reproduce(root, task),
        "first_seen": day,
        "last_seen": day,
    }
    states = list(_shown(result))[:MOST_OF_A_TASK]
    for cause, check, observed in states:
        yield SuiteBug.model_validate(
            {
                **common,
                "cause": cause,
                "blame": BLAME[cause],
                "part": result.to_blame if cause == result.cause else "comparison",
                "state": check.name,
                "kind": check.kind,
                "expected": check.expected,
                "observed": observed[: bugs.TEXT_LIMIT],
                "detail": _words(result, check)[: bugs.DETAIL_LIMIT],
                "flake": result.flake.said() if result.flake and cause == "gold_unstable" else "",
            }
        )
    if not states:
        yield SuiteBug.model_validate(
            {
                **common,
                "cause": result.cause,
                "blame": BLAME[result.cause],
                "detail": result.detail[: bugs.DETAIL_LIMIT],
            }
        )


def _words(result: ReplayResult, check: StateCheck) -> str:
    """What is said of this state; empty where the other lines of the entry say it all."""
    if check.answer.problem:
        return check.answer.problem
    if result.live is not None and result.live.cause is not None:
        return result.detail
    of_it = f"state {check.name} " in result.detail.replace(":", " ")
    return result.detail if of_it and result.flake is None else ""


def _shown(result: ReplayResult) -> Iterator[tuple[str, StateCheck, str]]:
    """(cause, state, what was observed) of every known state that shows a fault."""
    if result.flake is not None:
        check = next(check for check in result.checks if check.name == result.flake.state)
        yield "gold_unstable", check, "several answers"
        return
    live = result.live
    if live is not None and live.cause is not None:
        for check in live.checks:
            if not check.ok or live.unstable:
                yield live.cause, check, "several answers" if live.unstable else _said(check)
                if live.unstable:
                    return
        return
    for check in result.checks:
        if check.answer.outcome is not check.expected and not check.answer.problem.startswith("not asked"):
            yield _cause(check), check, _said(check)


def _cause(check: StateCheck) -> str:
    if check.answer.cause is not None:
        return check.answer.cause
    if check.kind == "initial":
        return "task_invalid"
    return "gold_failed" if check.expected is Outcome.PASS else "bad_state_accepted"


def _said(check: StateCheck) -> str:
    codes = " ".join(check.answer.candidates)
    return f"{check.answer.outcome}{f' ({codes})' if codes else ''}"


def reproduce(root: Path, task: Task) -> str:
    """What to type in the bench's folder to see it."""
    if isinstance(task, FamilyTask):
        return shlex.join(["pyrite", "check", task.suite, "--only", task.task_id])
    if isinstance(task, FolderTask):
        place = os.path.realpath(task.folder)
        inside = os.path.realpath(root)
        known = os.path.relpath(place, inside) if Path(place).is_relative_to(inside) else place
        return shlex.join(["pyrite", "check", known])
    return shlex.join(["pyrite", "check", task.spec.task_id])
