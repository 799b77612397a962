"""The suite whose verifiers act: known states, near-misses, steps, and a machine without a desktop."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from pyrite.suites import suite as suites
from pyrite.suites.suite import FamilyTask, load_suite
from pyrite.truth.check import check
from pyrite.truth.live import script_of
from pyrite.truth.mutants.model import FEWEST

SUITE = load_suite("desk-active")
TASKS = SUITE.tasks()


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.task_id)
def test_every_task_is_fit_to_ship_as_far_as_archived_states_show(task: FamilyTask) -> None:
    found = check(task, image="here", live=False)
    assert found.faults == ()
    assert len(found.near) >= FEWEST
    assert found.live == "skipped"
    assert found.ok is not False


def test_the_kinds_of_acts_that_there_are() -> None:
    assert len(TASKS) >= 4
    acts = {task.task_id: task.spec.act for task in TASKS}
    assert all(task.spec.truth_from == "acted" for task in TASKS)
    assert {"calc", "kontor", "mousepad"} == {
        task.spec.initial.open.app for task in TASKS if task.spec.initial.open
    }
    assert not any(step.step == "sleep" for act in acts.values() for step in act)
    for act in acts.values():
        assert act[0].step == "activate_window"
        assert act[-1].step == "wait_for", "nothing is read before something was seen to have happened"


def test_no_script_saves_the_work_that_the_verifier_is_to_save() -> None:
    for task in TASKS:
        keys = [action.keys for action in script_of(task)]
        assert "ctrl+s" not in keys
        assert keys, task.task_id


def test_the_digest_covers_the_verifier_that_families_share(monkeypatch: pytest.MonkeyPatch) -> None:
    task = SUITE.task("calc-left-open-price-list-d4")
    modules = suites._closure(("pyrite.suites.run", task.module))
    assert {"pyrite.suites.desk.calc_set_cell", "pyrite.checks.cells"} <= modules
    first = task.verifier_sha256()
    real = suites._source
    shared = "pyrite.suites.desk.calc_set_cell"
    monkeypatch.setattr(suites, "_source", lambda one: real(one) + (b"#" if one == shared else b""))
    suites._digest.cache_clear()
    assert task.verifier_sha256() != first
    suites._digest.cache_clear()


def test_without_a_desktop_the_active_part_is_not_run_and_nobody_claims_it_was() -> None:
    words = ["check", "desk-active", "--only", "text-left-open-minutes", "-j", "1", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "pyrite", *words],
        env={**os.environ, "PYRITE_NO_BWRAP": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4, done.stderr
    task = json.loads(done.stdout)["tasks"][0]
    assert task["ok"] is None
    assert task["live"]["run"] == "not run"
    assert "PYRITE_NO_BWRAP" in task["live"]["why"]
    assert all(state["ok"] for state in task["states"])
