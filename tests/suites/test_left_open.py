"""The suite whose verifiers act: known states, near-misses, steps, and a machine without a desktop."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.sampling import one_a_family
from tests.suites.homes import LEFT, initial, verified

from pyrite.checks.verdict import NOTHING_PERSISTED
from pyrite.steps import Execute, Key, WaitFor
from pyrite.suites import suite as suites
from pyrite.suites.desk import writer_common
from pyrite.suites.desk.bookmarks import BOOKMARKS
from pyrite.suites.desk_active import bookmark_left_open, writer_left_open
from pyrite.suites.family import Family
from pyrite.suites.suite import FamilyTask, load_suite
from pyrite.truth.check import check
from pyrite.truth.live import script_of
from pyrite.truth.mutants.model import FEWEST

SUITE = load_suite("desk-active")
TASKS = SUITE.tasks()


@pytest.mark.parametrize("task", one_a_family(TASKS))
def test_every_task_is_fit_to_ship_as_far_as_archived_states_show(task: FamilyTask) -> None:
    found = check(task, image="here", live=False)
    assert found.faults == ()
    assert len(found.near) >= FEWEST
    assert found.live == "skipped"
    assert found.ok is not False


def test_the_kinds_of_acts_that_there_are() -> None:
    assert len(TASKS) >= 14
    assert all(task.spec.domain for task in TASKS)
    acts = {task.task_id: task.spec.act for task in TASKS}
    assert all(task.spec.truth_from == "acted" for task in TASKS)
    assert {"calc", "chromium", "kontor", "mousepad", "writer"} == {
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


WRITER = [(writer_left_open.FAMILY, task_id) for task_id in writer_left_open.PARAMS]


@pytest.mark.parametrize("task", WRITER, ids=lambda task: task[1])
def test_the_export_decides_and_not_what_is_on_disk_under_the_agent_s_name(
    task: tuple[Family, str], tmp_path: Path
) -> None:
    family, params = task[0], task[0].params[task[1]]
    states = {state.name: state for state in (*family.good(params), *family.harmless(params))}
    home = initial(task, tmp_path)
    assert verified(task, home)[:2] == (False, NOTHING_PERSISTED)
    states["saved_only"].make(home)
    assert verified(task, home).passed, "saved by the agent, and the verifier's steps could not be done"
    export = home / writer_left_open.exported(params)
    export.write_bytes((writer_common.FILES / params.file).read_bytes())
    found = verified(task, home)
    assert found[:2] == (False, NOTHING_PERSISTED), "saved, and undone in the document that is open"
    assert found.diagnostics["file"] == params.path
    assert params.path in family.instruction(params)
    assert export.name not in family.instruction(params), "nobody is told of the verifier's own file"


@pytest.mark.parametrize("left", LEFT)
def test_whatever_is_left_in_place_of_an_export_or_a_document_is_a_fail(left: str, tmp_path: Path) -> None:
    task = WRITER[0]
    params = task[0].params[task[1]]
    for number, path in enumerate((writer_left_open.exported(params), params.path)):
        home = initial(task, tmp_path / str(number))
        task[0].good(params)[0].make(home)
        LEFT[left](home / path)
        assert verified(task, home).passed is False, path


def test_the_steps_write_to_no_file_that_the_agent_has(tmp_path: Path) -> None:
    """Their own file starts like none that is there, so no name is completed to one in the dialog."""
    for family, task_id in WRITER:
        params = family.params[task_id]
        own = Path(writer_left_open.exported(params)).name
        there = [Path(path).name for path in family.initial(params)]
        assert not any(name.startswith(own[0]) for name in there)
        act = SUITE.task(task_id).spec.act
        assert "ctrl+s" not in [getattr(step, "keys", "") for step in act]
        typed = [step.keys for step in act if isinstance(step, Key) and step.title == "Save"]
        assert "".join(typed[1:-2]) == writer_left_open.STEM
        removed = [step.argv[-1] for step in act if isinstance(step, Execute)]
        assert removed == [f"Documents/{own}"]


def test_a_bookmark_is_not_waited_for_where_nothing_may_come() -> None:
    """An agent that did nothing leaves the file as it is: to wait for a change would not end in a fail."""
    for task_id, params in bookmark_left_open.FAMILY.params.items():
        waits = [step for step in SUITE.task(task_id).spec.act if isinstance(step, WaitFor)]
        assert [step.thing for step in waits] == ["window", "command"]
        assert all(step.file != BOOKMARKS for step in waits)
        assert "Return" not in [action.keys for action in SUITE.script(task_id)], "Done is not pressed"
        assert params.added[0].name in params.text


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
