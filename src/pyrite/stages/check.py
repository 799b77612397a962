"""Check tasks: every task of suites and folders, then the rates of the verifiers over all of them.

    result = check(["desk"], only="*q3*")        # one document, as `pyrite check --json` prints it

The rates: of the states that must fail (the untouched and the bad ones, and near-misses that are not
declared equivalent), how many the verifier accepts; of those that must pass, how many it rejects. What
it gives no answer to is in neither.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pyrite import pool
from pyrite.errors import InputError, UsageError
from pyrite.metrics.clusters import cluster_size
from pyrite.metrics.intervals import LEVEL, clopper_pearson, upper_bound
from pyrite.pool import Silent, Watch
from pyrite.records import Estimate, Interval
from pyrite.sandbox import confine, forkserver
from pyrite.store.bench import now
from pyrite.suites.lookup import Origin, matching, open_origin
from pyrite.truth.check import TaskCheck
from pyrite.truth.check import check as check_task
from pyrite.truth.decide import host_image
from pyrite.truth.faults import Fault

_SILENT = Silent()
Row = dict[str, Any]


def check(
    suites: Sequence[str],
    *,
    only: str = "*",
    states_only: bool = False,
    jobs: int | None = None,
    keep: Path | None = None,
    watch: Watch = _SILENT,
) -> dict[str, Any]:
    """Check every task of `suites` (names, or folders) whose id matches `only`.

    `states_only` leaves out what needs the real application. A task that cannot be read is reported and
    costs the others nothing. Raises `UsageError` where there is no task; `SandboxError` where nothing can
    be run at all.
    """
    wanted = _wanted(suites, only)
    if keep is not None and keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise UsageError("it is there already", where=str(keep), expected="a new or empty folder for --keep")
    watch.total = len(wanted)
    image = host_image()
    work = partial(_one, image=image, live=not states_only, keep=keep)
    rows: dict[tuple[Origin, str], Row] = {}
    for item, row in pool.run(
        work, wanted, jobs=1 if len(wanted) == 1 else jobs, preload=("pyrite.truth.check",)
    ):
        rows[item] = row
        watch.tick(f"{item[1]}" + ("" if row["ok"] else f": {_word(row)}"))
    forkserver.close()
    tasks = [rows[item] for item in wanted]
    return {
        "schema_version": "1",
        "suites": list(suites),
        "only": only,
        "states_only": states_only,
        "image": image,
        "at": now(),
        "confinement": confine.what_holds(),
        "ok": _all_ok(tasks),
        "counts": _counts(tasks),
        "tasks": tasks,
        "operators": _operators(tasks),
        "false_accept": _rate(tasks, "false_accept"),
        "false_reject": _rate(tasks, "false_reject"),
    }


def _wanted(suites: Sequence[str], only: str) -> list[tuple[Origin, str]]:
    """Tasks in the order in which they were named, each once; a pattern may match in some suites only."""
    found: dict[tuple[str, str], tuple[Origin, str]] = {}
    refused: UsageError | None = None
    for origin in [open_origin(name) for name in suites]:
        place = origin.suite or str((origin.folder or Path()).resolve())
        try:
            for item in matching(origin, only):
                found.setdefault((place, item[1]), item)
        except UsageError as exc:
            refused = exc
    if not found and refused is not None:
        raise refused
    return list(found.values())


def _one(item: tuple[Origin, str], *, image: str, live: bool, keep: Path | None) -> Row:
    origin, task_id = item
    named = origin.suite or str((origin.folder or Path()) / task_id)
    sha = None
    try:
        task = origin.task(task_id)
        sha = task.verifier_sha256()
    except InputError as exc:
        fault = Fault("unreadable", task_id, "the task cannot be read", exc.what, exc.expected or "mend it")
        found = TaskCheck(task_id, "", None, (fault,))
    else:
        found = check_task(task, image=image, live=live, keep=keep)
    again = f"pyrite check {named}" + (f" --only {task_id}" if origin.suite else "")
    return {**found.as_json(), "verifier_sha256": sha, "reproduce": again}


def _word(row: Row) -> str:
    if row["ok"] is None:
        return "the active part was not run"
    faults = row["faults"]
    return f"{faults[0]['observed']}" + (f" and {len(faults) - 1} more" if len(faults) > 1 else "")


def _all_ok(tasks: Sequence[Row]) -> bool | None:
    said = {task["ok"] for task in tasks}
    return False if False in said else None if None in said else True


def _counts(tasks: Sequence[Row]) -> dict[str, int]:
    states = [state for task in tasks for state in task["states"]]
    names = ("killed", "survived", "equivalent", "not_applicable", "no_answer")
    near = {name: sum(task["mutants"][name] for task in tasks) for name in names}
    return {
        "tasks": len(tasks),
        "held": sum(1 for task in tasks if task["ok"] is False),
        "not_run": sum(1 for task in tasks if task["ok"] is None),
        "states": len(states),
        "mismatches": sum(1 for state in states if not state["ok"]),
        **near,
    }


def _operators(tasks: Sequence[Row]) -> dict[str, dict[str, int]]:
    """What became of the near-misses of each operator."""
    found: dict[str, Counter[str]] = {}
    for task in tasks:
        for near in task["mutants"]["each"]:
            found.setdefault(near["operator"], Counter())[near["found"]] += 1
        for operator in task["mutants"]["operators_not_applicable"]:
            found.setdefault(operator, Counter())["not_applicable"] += 1
    return {name: dict(counts) for name, counts in sorted(found.items())}


# --- rates ----------------------------------------------------------------------------------------


def _answers(task: Row, which: str) -> Iterator[bool]:
    """True for each wrong answer of one task, False for each right one."""
    must_pass = which == "false_reject"
    for state in task["states"]:
        if (state["kind"] in {"good", "harmless"}) == must_pass and state["observed"] != "indeterminate":
            yield state["observed"] == ("fail" if must_pass else "pass")
    if not must_pass:
        yield from [False] * task["mutants"]["killed"]
        yield from [True] * task["mutants"]["survived"]


def _rate(tasks: Sequence[Row], which: str) -> dict[str, Any]:
    """The rate with its exact interval: clustered by task leads, states on their own stand beside.

    `at_most` is the one-sided bound of independent states, 1 - 0.05^(1/n) where there is no error.
    """
    answers = [list(_answers(task, which)) for task in tasks]
    events = np.array([float(sum(one)) for one in answers])
    totals = np.array([float(len(one)) for one in answers])
    n, wrong = int(totals.sum()), int(events.sum())
    clusters = int((totals > 0).sum())
    if not n:
        empty = Estimate(value=None, level=LEVEL, n=0, clusters=0, estimand=which, reason="no_states")
        return {**empty.model_dump(mode="json"), "errors": 0, "at_most": None}
    alone = clopper_pearson(wrong / n, n)
    iid = Interval(alone.low, alone.high, "Clopper-Pearson, states pooled as if independent")
    found = Estimate(
        value=wrong / n,
        low=iid.low,
        high=iid.high,
        method=iid.method,
        level=LEVEL,
        n=n,
        clusters=clusters,
        estimand=which,
        reason="single_cluster",
        iid=iid,
    )
    if clusters > 1:
        size = cluster_size(events, totals)
        bounds = clopper_pearson(size.rate, size.size)
        method = f"Clopper-Pearson, clustered by task, {size.rule}"
        led = {"low": bounds.low, "high": bounds.high, "n_eff": size.size, "method": method, "reason": None}
        found = found.model_copy(update=led)
    body = found.model_dump(mode="json")
    body["iid"] = {"low": iid.low, "high": iid.high, "method": iid.method}
    return {**body, "errors": wrong, "at_most": upper_bound(wrong / n, n)}
