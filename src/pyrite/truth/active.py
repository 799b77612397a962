"""What an active verifier's act comes to: two states, the steps between them, one outcome.

An episode of a task with `act` has the state that the agent left (`final`), the steps that the verifier did
then (`act.jsonl`), and the state after them (`acted`). Both states are verified; `truth_from` says which
one decides. The rule behind the table: a correct agent never fails by what the verifier did or could not
do, and an agent never escapes a fail by what it did itself.

truth_from `final`: the untouched state decides; what the act came to is noted and changes nothing.

truth_from `acted`:

| final         | act                              | acted         | outcome                                 |
|---------------|----------------------------------|---------------|-----------------------------------------|
| pass          | any                              | any           | pass: the work was there before the act |
| indeterminate | any, final not deterministic     | any           | indeterminate, cause of final           |
| fail, indet.  | every step seen to work          | pass          | pass                                    |
| fail, indet.  | every step seen to work          | fail          | fail                                    |
| fail, indet.  | every step seen to work          | indeterminate | indeterminate, cause of acted           |
| fail, indet.  | every step seen to work          | missing       | indeterminate, state_missing            |
| fail, indet.  | every step seen to work          | unreadable    | indeterminate, state_unreadable         |
| fail          | not, and by the agent's doing    | any           | fail                                    |
| indeterminate | not, and by the agent's doing    | any           | indeterminate, cause of final           |
| fail, indet.  | not, for any other reason        | any           | indeterminate, act_failed               |

"Not" covers a step that failed, steps that were not come to, no act.jsonl, one that cannot be read, and one
of other steps than the task has now. Then the acted state is verified and noted, and never decides, not
even where it passes: nobody saw what made it so. "By the agent's doing" is what the facts show that were
taken from outside before the first step, and that no correct agent brings about: the application with the
work in it is not running any more, no window of it is left, or the agent ran into its limits. A dialog that
was left open or a document that was renamed is none of these. `act_failed` blames the environment.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import TypeAdapter, ValidationError

from pyrite.errors import InputError
from pyrite.records import Facts, Launch, Outcome
from pyrite.sandbox import apps
from pyrite.steps import MAX_STEPS, ActLine, Sleep, Step
from pyrite.store.jsonl import read_lines
from pyrite.store.paths import EpisodePaths
from pyrite.truth.verifier_output import Answer, bounded

LINE_LIMIT = 1 << 18
_STEP: TypeAdapter[Step] = TypeAdapter(Step)
_TAKEN = "verifier_not_deterministic"

State = Literal["pass", "fail", "indeterminate", "missing", "unreadable"]


@dataclass(frozen=True)
class Acted:
    """How the steps of one episode went."""

    result: Literal["done", "failed", "missing", "unreadable", "other_steps"]
    problem: str = ""
    """What kept it from being done, in words."""
    step: int | None = None
    """The step that failed, from 1."""
    by_agent: str = ""
    """Where it was the agent's doing: what the facts show."""
    sleeps: int = 0
    """Steps that observe nothing."""

    @property
    def done(self) -> bool:
        return self.result == "done"

    def said(self) -> str:
        """The problem, naming the part that is to blame."""
        return f"active part: {self.problem}"


class Ruling(NamedTuple):
    """The outcome of an episode whose verifier acts."""

    outcome: Outcome
    cause: str | None
    decided_by: Literal["final", "acted", "act"]


def rule(
    truth_from: str,
    final: Outcome,
    act: Acted,
    acted: State,
    *,
    final_cause: str | None,
    acted_cause: str | None,
) -> Ruling:
    """The table above, cell by cell. A cause is given for exactly the indeterminate states."""
    if truth_from == "final" or final is Outcome.PASS or final_cause == _TAKEN:
        return Ruling(final, final_cause, "final")
    if not act.done:
        if act.by_agent:
            return Ruling(final, final_cause, "final")
        return Ruling(Outcome.INDETERMINATE, "act_failed", "act")
    if acted in {"missing", "unreadable"}:
        return Ruling(Outcome.INDETERMINATE, f"state_{acted}", "acted")
    return Ruling(Outcome(acted), acted_cause, "acted")


def read(path: Path, steps: Sequence[Step]) -> Acted:
    """What act.jsonl says of the steps of a task. Whatever is wrong with it becomes a result."""
    sleeps = sum(isinstance(step, Sleep) for step in steps)
    if not path.exists() and not path.is_symlink():
        return Acted("missing", "no act.jsonl: the verifier's steps were not carried out", sleeps=sleeps)
    lines: list[ActLine] = []
    try:
        for line in read_lines(path, ActLine, line_limit_bytes=LINE_LIMIT):
            lines.append(line)
            if len(lines) > MAX_STEPS:
                raise InputError(f"more than {MAX_STEPS} lines", where=str(path))
    except InputError as exc:
        return Acted("unreadable", f"act.jsonl cannot be read: {exc.what}", sleeps=sleeps)
    result, problem, step = _result(lines, steps)
    return Acted(result, problem, step, sleeps=sleeps)


def _result(
    lines: Sequence[ActLine], steps: Sequence[Step]
) -> tuple[Literal["done", "failed", "unreadable", "other_steps"], str, int | None]:
    for number, line in enumerate(lines, start=1):
        if line.n != number or number > len(steps):
            return "other_steps", f"act.jsonl has step {line.n} where the task has {len(steps)}", number
        step = steps[number - 1]
        if not _same(line.step, step):
            return "other_steps", f"step {number} was another one than {step.brief()}", number
        if not line.ok:
            if len(lines) > number:
                return "unreadable", f"act.jsonl goes on after step {number}, which failed", number
            return "failed", f"step {number} {step.brief()}: {line.seen[:400] or 'failed'}", number
    if len(lines) < len(steps):
        step = steps[len(lines)]
        return "failed", f"step {len(lines) + 1} {step.brief()}: it was not come to", len(lines) + 1
    return "done", "", None


def _same(found: dict[str, Any], step: Step) -> bool:
    try:
        return _STEP.validate_python(found) == step
    except ValidationError:
        return False


def agents_doing(opened: Launch | None, facts: Facts | None) -> str:
    """What the facts show, taken before the first step, that no correct agent brings about; or nothing.

    Facts that a harness did not take say nothing.
    """
    if facts is None:
        return ""
    hits = (facts.model_extra or {}).get("limits_hit")
    if isinstance(hits, list) and hits:
        return f"the agent ran into its limits: {', '.join(map(str, hits[:4]))[:80]}"
    app = apps.APPS.get(opened.app) if opened is not None else None
    if app is None or opened is None:
        return ""
    if "processes" in facts.model_fields_set:
        running = {process.exe.rsplit("/", 1)[-1].removesuffix(" (deleted)") for process in facts.processes}
        if app.executable not in running:
            return f"{opened.app} was not running any more before the first step"
    known = "windows" in facts.model_fields_set
    if known and app.window_class and not any(w.wm_class == app.window_class for w in facts.windows):
        return f"no window of {opened.app} with a document was left before the first step"
    return ""


def digest(paths: EpisodePaths) -> str | None:
    """Digest of act.jsonl and of the state after it; None where there is neither."""
    found = [_sha256(path) for path in (paths.acts, paths.acted_state)]
    if found == [None, None]:
        return None
    return hashlib.sha256("\n".join(one or "-" for one in found).encode()).hexdigest()


def _sha256(path: Path) -> str | None:
    try:
        if path.is_symlink() or not path.is_file():
            return None
        with path.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError:
        return None


def noted(
    truth_from: str, act: Acted, final: Answer, acted: Answer | State, ruling: Ruling
) -> dict[str, Any]:
    """For gt.json: how the act went, and what the verifier said of both states."""
    note: dict[str, Any] = {
        "truth_from": truth_from,
        "decided_by": ruling.decided_by,
        "result": act.result,
        "step": act.step,
        "problem": act.problem,
        "by_agent": act.by_agent,
        "sleeps": act.sleeps,
        "final": _answer(final),
        "acted": _answer(acted) if isinstance(acted, Answer) else {"outcome": None, "why": f"state {acted}"},
    }
    return bounded(note)


def _answer(answer: Answer) -> dict[str, Any]:
    return {
        "outcome": str(answer.outcome),
        "candidates": list(answer.candidates),
        "cause": answer.cause,
        "diagnostics": answer.diagnostics,
    }
