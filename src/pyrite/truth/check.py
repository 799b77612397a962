"""Is a task fit to ship? Its states replayed, again and from another path, and near-misses of the good one.

    found = check(task, image="debian-12-…")
    found.ok, found.faults

On `truth.replay`. Every declared state is built anew and asked again, once where it was built and once from
another path with older files; its home is compared before and after. Near-misses are made from the first
good state (`truth.mutants`); a sound verifier rejects each.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pyrite.checks.homes import digest_file
from pyrite.errors import InputError
from pyrite.records import Outcome
from pyrite.sandbox import forkserver
from pyrite.store.scratch import require_room
from pyrite.tasks.task import INITIAL, Task
from pyrite.truth import faults
from pyrite.truth.faults import Fault
from pyrite.truth.mutants import made as making
from pyrite.truth.mutants.model import FEWEST
from pyrite.truth.named import made_by_verifier, unnamed_paths, unnamed_values
from pyrite.truth.replay import ReplayResult, build, replay
from pyrite.truth.verifier import ask
from pyrite.truth.verifier_output import Answer

MOST_EQUIVALENT = 0.1
"""Share of a task's near-misses that may be declared equivalent."""
MOST_LATE = 3
"""Near-misses of one task that may take too long; after that no more are asked about."""
_LONG_AGO = 1_000_000_000
Class = Literal["killed", "survived", "no_answer", "equivalent"]


@dataclass(frozen=True)
class Near:
    """One near-miss and what the verifier made of it."""

    name: str
    operator: str
    what: str
    found: Class
    reason: str = ""
    """Why there is no answer, or why it is declared equivalent."""


@dataclass(frozen=True)
class TaskCheck:
    """What a check found of one task."""

    task_id: str
    family: str
    replayed: ReplayResult | None
    faults: tuple[Fault, ...]
    findings: tuple[str, ...] = ()
    """What a person should look at, without holding the task back."""
    near: tuple[Near, ...] = ()
    not_applicable: Mapping[str, str] = field(default_factory=dict)
    live: Literal["", "skipped", "not run", "ran"] = ""
    """Whether the states of an active task were asked in the real application; empty for a passive one."""
    live_why: str = ""

    @property
    def ok(self) -> bool | None:
        """None where nothing is wrong and the active part was not run."""
        if self.faults:
            return False
        return None if self.live == "not run" else True

    def as_json(self) -> dict[str, Any]:
        counts = Counter(near.found for near in self.near)
        return {
            "id": self.task_id,
            "family": self.family,
            "ok": self.ok,
            "states": [_state(check) for check in (self.replayed.checks if self.replayed else ())],
            "mutants": {
                "killed": counts["killed"],
                "survived": counts["survived"],
                "equivalent": counts["equivalent"],
                "not_applicable": len(self.not_applicable),
                "no_answer": counts["no_answer"],
                "each": [vars(near) for near in self.near],
                "operators_not_applicable": dict(self.not_applicable),
            },
            "live": {"run": self.live, "why": self.live_why} if self.live else None,
            "faults": [vars(fault) for fault in self.faults],
            "findings": list(self.findings),
        }


def _state(check: Any) -> dict[str, Any]:
    return {
        "name": check.name,
        "kind": check.kind,
        "expected": str(check.expected),
        "observed": str(check.answer.outcome),
        "category": list(check.answer.candidates),
        "expected_category": None if check.expected_candidates is None else list(check.expected_candidates),
        "cause": check.answer.cause,
        "ok": check.ok,
    }


def check(task: Task, *, image: str, live: bool = True, keep: Path | None = None) -> TaskCheck:
    """Check one task; `live=False` leaves out what needs the real application.

    `keep`: a folder for the homes of near-misses that pass. Never raises for what the task does;
    `SandboxError` where nothing can be run at all.
    """
    replayed = replay(task, image=image, live=live)
    spec = task.spec
    look = _Look(task, keep)
    look.faults += faults.of_replay(replayed)
    if replayed.checks:
        with forkserver.scratch() as root:
            try:
                look.at_states(replayed, root)
            except (InputError, OSError) as exc:
                require_room(root)
                why = exc.what if isinstance(exc, InputError) else str(exc)
                change = "have the states build the same every time"
                look.faults.append(Fault("build", "states", "they were not built again", why, change))
    live_part, why = _active_part(task, replayed, look.faults, asked=live)
    return TaskCheck(
        spec.task_id,
        spec.family,
        replayed,
        tuple(look.faults),
        tuple(look.findings),
        tuple(look.near),
        look.not_applicable,
        live_part,
        why,
    )


def _active_part(
    task: Task, replayed: ReplayResult, found: list[Fault], *, asked: bool
) -> tuple[Literal["", "skipped", "not run", "ran"], str]:
    """What the real application showed of a task whose verifier acts; its faults go into `found`.

    Where the archived states are as declared and the acted ones are not, the active part is to blame.
    """
    if not getattr(task.spec, "act", None):
        return "", ""
    if not asked:
        return "skipped", "only the archived states were asked about"
    live = getattr(replayed, "live", None)
    if live is None or not live.ran:
        return "not run", str(getattr(live, "why_not", "")) or "no state was opened in the real application"
    archived = {check.name: check.ok for check in replayed.checks}
    for check in live.checks:
        if check.answer.outcome is not check.expected:
            found.append(faults.acted(check, archived_ok=archived.get(check.name, False)))
    return "ran", ""


class _Look:
    """What is found of one task, part by part."""

    def __init__(self, task: Task, keep: Path | None) -> None:
        self.task = task
        self.keep = keep
        self.faults: list[Fault] = []
        self.findings: list[str] = []
        self.near: list[Near] = []
        self.not_applicable: dict[str, str] = {}

    def at_states(self, replayed: ReplayResult, root: Path) -> None:
        """Ask again about every state, then about near-misses of the first good one."""
        states = root / "states"
        build(self.task, states, [check.name for check in replayed.checks])
        for number, check in enumerate(replayed.checks):
            again = self._twice(states / check.name, root / "elsewhere" / f"home-{number}", check.name)
            answers = [check.answer, *again]
            if len({answer.said for answer in answers}) > 1:
                self.faults.append(faults.unstable(check.name, answers))
        good = next((check for check in replayed.checks if check.kind == "good"), None)
        if good is None:
            return
        instruction = self.task.spec.instruction
        own = made_by_verifier(self.task.spec)
        unnamed = unnamed_paths(instruction, states / INITIAL, states / good.name, own)
        self.faults += map(faults.unnamed, unnamed)
        self.findings += [
            f"the instruction does not say what the verifier expects, {value}: is it to be worked out?"
            for value in unnamed_values(instruction, good.answer.diagnostics)
        ]
        if good.answer.outcome is Outcome.PASS:
            kinds = {check.name: check.kind for check in replayed.checks if check is not good}
            also_right = [name for name, kind in kinds.items() if kind in {"good", "harmless"}]
            self._near_misses(states, good.name, also_right, root / "near")
        else:
            self.findings.append("no near-misses: the verifier does not accept the good state")

    def _twice(self, home: Path, elsewhere: Path, name: str) -> Iterator[Answer]:
        """The answer where it was built, then from another path with older files."""
        shutil.copytree(home, elsewhere, symlinks=True)
        _age(elsewhere)
        for place in (home, elsewhere):
            before = tree_sha256(place)
            yield _ask(self.task, place)
            if tree_sha256(place) != before:
                self.faults.append(faults.wrote(name))

    def _near_misses(self, states: Path, good: str, harmless: Sequence[str], out: Path) -> None:
        out.mkdir()
        spec = self.task.spec
        try:
            made = making.make(states, out, good=good, harmless=harmless, reads=spec.reads, seed=spec.task_id)
        except InputError as exc:
            require_room(out)
            self.findings.append(f"no near-misses: {exc.what}")
            return
        declared = spec.equivalent_mutants
        self.not_applicable = made.not_applicable
        late = 0
        for mutant in made.mutants:
            if late >= MOST_LATE:
                reason = f"not asked: {late} came too late"
                self.near.append(Near(mutant.name, mutant.operator, mutant.what, "no_answer", reason))
                continue
            before = tree_sha256(mutant.home)
            answer = _ask(self.task, mutant.home)
            if tree_sha256(mutant.home) != before:
                self.faults.append(faults.wrote(mutant.name))
            late += answer.cause == "verifier_timeout"
            self._class(mutant, answer, declared.get(mutant.name))
        if late >= MOST_LATE:
            self.findings.append(
                f"near-misses after the first {late} that came too late were not asked about"
            )
        self._judge(declared)

    def _class(self, mutant: making.MadeMutant, answer: Answer, declared: str | None) -> None:
        found: Class = "killed"
        reason = ""
        if answer.outcome is Outcome.INDETERMINATE:
            found, reason = "no_answer", f"{answer.cause}: {answer.problem}"
            self.findings.append(f"no answer to near-miss {mutant.name}: {reason}")
        elif declared is not None:
            found, reason = "equivalent", declared
            if answer.outcome is Outcome.FAIL:
                found = "killed"
                self.findings.append(f"declared equivalent, yet it is rejected: {mutant.name}")
        elif answer.outcome is Outcome.PASS:
            found = "survived"
            self.faults.append(faults.accepted(mutant.name, mutant.what))
        if found == "survived" and self.keep is not None:
            place = self.keep / self.task.spec.task_id / f"{mutant.operator}-{mutant.home.name}"
            shutil.copytree(mutant.home, place, symlinks=True, dirs_exist_ok=True)
        self.near.append(Near(mutant.name, mutant.operator, mutant.what, found, reason))

    def _judge(self, declared: Mapping[str, str]) -> None:
        """Enough of them, and not too many explained away."""
        total = len(self.near)
        if total < FEWEST:
            self.findings.append(f"only {total} near-misses could be made, fewer than {FEWEST}")
        names = {near.name for near in self.near}
        self.findings += [
            f"declared equivalent, but not made: {name}" for name in declared if name not in names
        ]
        silent = [name for name, reason in declared.items() if not reason.strip()]
        used = sum(1 for near in self.near if near.found == "equivalent")
        if silent or used > MOST_EQUIVALENT * total:
            why = (
                f"{used} of {total} near-misses are declared equivalent, at most {MOST_EQUIVALENT:.0%} may be"
            )
            if silent:
                why = f"{silent[0]} is declared equivalent without a reason"
            change = "mend the verifier instead, or give the reason"
            self.faults.append(Fault("equivalents", "near-misses", "explained away", why, change))


def _ask(task: Task, home: Path) -> Answer:
    """An answer that came too late is asked for once more: a busy machine alone can make it late."""
    answer = ask(task, home)
    return ask(task, home) if answer.cause == "verifier_timeout" else answer


def _age(folder: Path) -> None:
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.utime(os.path.join(parent, name), (_LONG_AGO, _LONG_AGO), follow_symlinks=False)


def tree_sha256(home: Path) -> str:
    """Digest of everything in a home: names, kinds, modes, times of change and content; links by target."""
    digest = hashlib.sha256()
    for parent, folders, files in os.walk(home):
        folders.sort()
        for name in sorted([*folders, *files]):
            path = Path(parent) / name
            status = path.lstat()
            content = os.readlink(path) if path.is_symlink() else ""
            if not path.is_symlink() and path.is_file():
                content = digest_file(path)
            told = (os.path.relpath(path, home), status.st_mode, status.st_mtime_ns, status.st_size, content)
            digest.update(repr(told).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
