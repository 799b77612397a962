"""Ask a task's verifier about one end state: the only place that runs one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from pyrite.sandbox import confine, forkserver
from pyrite.tasks.task import Task
from pyrite.truth import verifier_output
from pyrite.truth.verifier_output import Answer


def ask(task: Task, home: Path, facts: Path | None = None) -> Answer:
    """What the verifier of `task` says of the end state in `home`, confined and within its limits.

    `facts` is the file that PYRITE_FACTS names; without one (a known state) the variable is unset.
    It is fast where both lie in a `forkserver.scratch()`, and answers the same elsewhere.
    """
    finished = forkserver.run(
        task.verifier(home),
        reads=[home] if facts is None else [home, facts],
        env={} if facts is None else {"PYRITE_FACTS": str(facts)},
        limits=task.spec.limits,
        output_limit=verifier_output.OUTPUT_LIMIT,
    )
    return replace(verifier_output.read(finished), forked=finished.forked)


def confinement(answer: Answer | None = None) -> dict[str, Any]:
    """What was enforced, for gt.json; `process` says how the verifier that answered was started."""
    out = confine.what_holds()
    if answer is not None:
        out["process"] = "forked" if answer.forked else "fresh"
        refused = forkserver.unavailable()
        if refused is not None:
            out["process_reason"] = refused
    return out
