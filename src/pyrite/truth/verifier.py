"""Ask a task's verifier about one end state: the only place that runs one."""

from __future__ import annotations

from pathlib import Path

from pyrite.sandbox import confine
from pyrite.tasks.task import Task
from pyrite.truth import verifier_output
from pyrite.truth.verifier_output import Answer


def ask(task: Task, home: Path, facts: Path | None = None) -> Answer:
    """What the verifier of `task` says of the end state in `home`, confined and within its limits.

    `facts` is the file that PYRITE_FACTS names; without one (a known state) the variable is unset.
    """
    finished = confine.run(
        task.verifier(home),
        reads=[home] if facts is None else [home, facts],
        env={} if facts is None else {"PYRITE_FACTS": str(facts)},
        limits=task.spec.limits,
        output_limit=verifier_output.OUTPUT_LIMIT,
    )
    return verifier_output.read(finished)
