"""The families of files: every known state as declared, and nothing left that a verifier trips over."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest
from tests.suites.homes import LEFT, Task, each_state, initial, name_of, tasks, verified

from pyrite.checks.verdict import NOTHING_PERSISTED
from pyrite.suites.desk import files_archive, files_archive_states, files_mode, goals, operations
from pyrite.tasks import archive

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


@pytest.mark.parametrize(
    "task", tasks("files_rename", "files_transfer", "files_mode", "text_edit"), ids=name_of
)
def test_permissions_of_other_files_are_to_stay(task: Task, tmp_path: Path) -> None:
    family, task_id = task
    mask = os.umask(0o077)
    try:
        home = initial(task, tmp_path)
    finally:
        os.umask(mask)
    params = family.params[task_id]
    family.good(params)[0].make(home)
    assert verified(task, home).passed is True, "the initial home has its permissions whatever the umask"
    for mode, passed in ((0o600, False), (0o755, False), (0o640, False), (0o664, True), (0o644, True)):
        (home / params.bystander).chmod(mode)
        found = verified(task, home)
        assert found.passed is passed, f"{mode:o}"
        assert passed or (found.category, found.diagnostics["damage_count"]) == (("F-SIDEEFFECT",), 1)


def test_permissions_are_the_same_from_an_archive(tmp_path: Path) -> None:
    task = tasks("files_mode")[0]
    home = initial(task, tmp_path)
    params = task[0].params[task[1]]
    task[0].good(params)[0].make(home)
    for mode, passed in ((0o600, False), (0o664, True), (0o000, False)):
        (home / params.bystander).chmod(mode)
        archive.write(home, tmp_path / "state.tar.zst")
        (tmp_path / f"{mode:o}").mkdir()
        archive.extract(tmp_path / "state.tar.zst", tmp_path / f"{mode:o}")
        assert verified(task, tmp_path / f"{mode:o}").passed is passed is verified(task, home).passed


def test_archives_of_states_do_not_tell_when_they_were_made() -> None:
    files = {"a/b.txt": b"x"}
    with zipfile.ZipFile(io.BytesIO(files_archive_states.make_zip(files))) as made:
        assert [info.date_time for info in made.infolist()] == [(2024, 1, 1, 0, 0, 0)]
    for params in files_archive.PARAMS.values():
        if params.archive.endswith(".gz"):
            assert files_archive_states._packed(params, files)[4:8] == bytes(4)
