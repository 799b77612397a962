"""Priorities 8 and 9: limits against the oracle, scripts that verify, and the definition itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyrite.audit import commands
from pyrite.audit.definition import Definition
from pyrite.audit.hazards.base import Found, getter_found, hazard, of_problem, step_found

_HARD_PATH = re.compile(
    r"/home/(?!user\b|\$)[A-Za-z0-9_.-]+|/Users/[A-Za-z0-9_.-]+|C:\\Users\\[A-Za-z0-9_.-]+"
)
_REWARD = re.compile(r"reward\.(?:txt|json)\b")
_STOPS = re.compile(
    r"(?:^|\n)[ \t]*set[ \t]+-\S*e|(?:^|\n)[ \t]*set[ \t]+-o[ \t]+errexit|\|\|[ \t]*(?:exit|fail)\b"
)


@hazard(8, "verdict", "the agent may take fewer steps than the shortest solution needs")
def steps_below_oracle(task: Definition) -> Iterator[Found]:
    limit, needed = task.limits.agent_steps, task.limits.oracle_steps
    if limit is not None and needed is not None and limit < needed:
        yield Found(f"{limit} steps allowed, the oracle needs {needed}", "limits")


@hazard(8, "verdict", "the time limit is shorter than the oracle needs: a right solution is cut off")
def limit_below_oracle(task: Definition) -> Iterator[Found]:
    needed = task.limits.oracle_s
    if needed is None:
        return
    limit = task.limits.agent_s
    if limit is not None and limit < needed:
        yield Found(f"limit {limit:g} s, the oracle takes {needed:g} s", "limits")


@hazard(8, "risk", "a path of one machine or user stands in the verifier")
def hard_coded_path(task: Definition) -> Iterator[Found]:
    for name, text in task.scripts:
        for match in list(_HARD_PATH.finditer(text))[:20]:
            yield Found(match.group()[:140], name)


@hazard(8, "verdict", "the verifier downloads something: where that fails, it may go on and write 0")
def remote_download(task: Definition) -> Iterator[Found]:
    for name, text in task.scripts:
        for line in text.splitlines():
            if commands.fetches(line) and not line.lstrip().startswith("#"):
                yield Found(" ".join(line.split())[:140], name)


@hazard(8, "verdict", "its installer may fail and the script goes on to write a reward: INF counted as FAIL")
def bootstrap_goes_on(task: Definition) -> Iterator[Found]:
    for name, text in task.scripts:
        lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
        code = "\n".join(lines)
        if not (commands.installs(code) or commands.fetches(code)):
            continue
        if _REWARD.search(code) and not _STOPS.search(code):
            yield Found("installs or fetches without `set -e`, then writes a reward", name)


of_problem(
    "verifier_in_agent_container",
    8,
    "risk",
    "the verifier runs where the agent was: it can have changed what verifies it",
    kind="shared_environment",
)
of_problem(
    "no_oracle",
    8,
    "risk",
    "no solution is shipped: nothing shows that the task can be solved and is accepted",
)


@hazard(
    9, "verdict", "a locator of a form that the evaluator does not know: it raises in the middle of a run"
)
def unknown_locator(task: Definition) -> Iterator[Found]:
    for problem in task.problems:
        if problem.kind == "unknown_locator":
            yield Found(problem.detail, problem.at)


@hazard(9, "verdict", "the harness has no step of this name")
def unknown_step_type(task: Definition) -> Iterator[Found]:
    for step in task.steps:
        if not step.known:
            yield step_found(step)


@hazard(9, "verdict", "the harness has no getter of this name, as far as this reader knows")
def unknown_getter(task: Definition) -> Iterator[Found]:
    for getter in task.getters:
        if getter.reach == "unknown":
            yield getter_found(getter)


@hazard(9, "verdict", "the definition has another shape than the harness reads")
def schema_invalid(task: Definition) -> Iterator[Found]:
    for problem in task.problems:
        if problem.kind in {"schema_invalid", "repeated_key", "id_mismatch", "no_evaluator"}:
            yield Found(problem.detail, problem.at)


@hazard(9, "verdict", "the definition cannot be read at all")
def unreadable_task(task: Definition) -> Iterator[Found]:
    for problem in task.problems:
        if problem.fatal and problem.kind not in {"schema_invalid", "no_evaluator", "listed_without_file"}:
            yield Found(f"{problem.kind}: {problem.detail}", problem.at)


of_problem("listed_without_file", 9, "verdict", "the list names a task that is not there")
of_problem("duplicate_id", 9, "risk", "two definitions have one id")
of_problem("listed_twice", 9, "info", "the list names it more than once; it is counted once")
of_problem(
    "network_forbidden",
    8,
    "verdict",
    "its script needs a network that the task forbids: the check cannot start",
)
of_problem(
    "harness_not_there",
    9,
    "risk",
    "what the harness does first stands in a file that is not there: its tier is unknown",
)
