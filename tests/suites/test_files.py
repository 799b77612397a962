"""The families of files: every known state as declared, and nothing left that a verifier trips over."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.suites.homes import LEFT, Task, each_state, initial, name_of, tasks, verified

from pyrite.checks.verdict import NOTHING_PERSISTED
from pyrite.suites.desk import files_archive, files_mode, goals, operations

FAMILIES = ("files_rename", "files_transfer", "files_delete", "files_archive", "files_mode", "text_edit")
TASKS = tasks(*FAMILIES)


@pytest.mark.parametrize("task", TASKS, ids=name_of)
def test_every_known_state_is_as_declared(task: Task, tmp_path: Path) -> None:
    bad = 0
    for kind, state, found in each_state(task, tmp_path):
        assert found.passed is (kind != "bad"), (state.name, found)
        assert set(found.category) == set(state.category), (state.name, found)
        bad += kind == "bad"
    assert bad >= 6


@pytest.mark.parametrize("task", TASKS, ids=name_of)
def test_what_an_agent_may_leave_fails_and_is_said(task: Task, tmp_path: Path) -> None:
    family, task_id = task
    home = initial(task, tmp_path)
    assert verified(task, home).category == NOTHING_PERSISTED
    params = family.params[task_id]
    family.good(params)[0].make(home)
    before = family.initial(params)
    still_there = [path for path in before if (home / path).is_file()]
    target = [*_targets(home, before), *still_there][0]
    for name, leave in LEFT.items():
        leave(home / target)
        assert verified(task, home).passed is False, name


def _targets(home: Path, before: object) -> list[str]:
    """What the good state made or changed."""
    assert isinstance(before, dict)
    return [
        str(path.relative_to(home))
        for path in sorted(home.rglob("*"))
        if path.is_file()
        and (
            str(path.relative_to(home)) not in before
            or path.read_bytes() != (goals.FILES / before[str(path.relative_to(home))]).read_bytes()
        )
    ]


def test_too_many_files_are_a_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyrite.checks.homes.MAX_FILES", 50)
    task = TASKS[0]
    home = initial(task, tmp_path)
    task[0].good(task[0].params[task[1]])[0].make(home)
    for number in range(60):
        (home / f"{number}.txt").touch()
    found = verified(task, home)
    assert found.passed is False
    assert "50" in found.diagnostics["damage"][0]


def test_an_emptied_folder_that_was_to_go_is_not_gone(tmp_path: Path) -> None:
    task = next(one for one in TASKS if one[1] == "files-delete-garden-old")
    home = initial(task, tmp_path)
    for path in (home / "Projects/garden-old").iterdir():
        path.unlink()
    assert verified(task, home).category == ("F-PARTIAL",)


def test_folders_that_were_there_may_stay_empty(tmp_path: Path) -> None:
    """Moving the only file out of a folder leaves it or removes it: both are right."""
    before = {"Box/a.txt": "texts/report_2022.txt"}
    home = tmp_path / "home"
    goals.write(home, "Desk/a.txt", goals.content(before, "Box/a.txt"))
    wanted = [goals.gone("Box/a.txt"), goals.holds("Desk/a.txt", goals.content(before, "Box/a.txt"))]
    assert goals.judge(home, before, wanted, expected="a.txt").passed
    (home / "Box").mkdir()
    assert goals.judge(home, before, wanted, expected="a.txt").passed


def test_instructions_name_what_they_move_and_where_to() -> None:
    for family, task_id in TASKS:
        params = family.params[task_id]
        words = family.instruction(params)
        if isinstance(params, operations.Params):
            assert all(one.name in words for one in params.operations)
            assert params.bystander not in words
        elif isinstance(params, files_archive.Params | files_mode.Params):
            assert (getattr(params, "archive", "") or getattr(params, "path", "")) in words


def test_no_family_has_more_than_eight_tasks() -> None:
    sizes = {name: len(tasks(name)) for name in FAMILIES}
    assert all(4 <= size <= 8 for size in sizes.values()), sizes
    assert sum(sizes.values()) >= 20
