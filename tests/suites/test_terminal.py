"""The families of the terminal: known states, hostile repositories and databases, git itself where it is."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from tests.suites.homes import LEFT, Task, each_state, initial, name_of, tasks, verified

from pyrite.checks.gitrepo import Repository
from pyrite.checks.verdict import NOTHING_PERSISTED
from pyrite.suites.desk.git_site import GIT, SITE

FAMILIES = ("git_commit", "git_refs", "git_stash", "sqlite_change", "text_process", "text_settings")
TASKS = tasks(*FAMILIES)
GIT_TASKS = tasks("git_commit", "git_refs", "git_stash")
DATABASES = tasks("sqlite_change")


@pytest.mark.parametrize("task", TASKS, ids=name_of)
def test_every_known_state_is_as_declared(task: Task, tmp_path: Path) -> None:
    bad = 0
    for kind, state, found in each_state(task, tmp_path):
        assert found.passed is (kind != "bad"), (state.name, found)
        assert set(found.category) == set(state.category), (state.name, found)
        bad += kind == "bad"
    assert bad >= 6


def _done(task: Task, folder: Path) -> Path:
    family, task_id = task
    home = initial(task, folder)
    assert verified(task, home).category == NOTHING_PERSISTED
    family.good(family.params[task_id])[0].make(home)
    return home


@pytest.mark.parametrize("task", tasks("text_process", "text_settings", "sqlite_change"), ids=name_of)
def test_what_an_agent_may_leave_of_a_file_fails_and_is_said(task: Task, tmp_path: Path) -> None:
    home = _done(task, tmp_path)
    target = home / task[0].params[task[1]].path
    for name, leave in LEFT.items():
        if name == "odd name beside":
            continue
        leave(target)
        assert verified(task, home).passed is False, name


def test_what_an_agent_may_leave_of_a_repository_fails_and_is_said(tmp_path: Path) -> None:
    task = GIT_TASKS[0]
    home = _done(task, tmp_path)
    kept = tmp_path / "kept"
    shutil.copytree(home, kept)
    inside = ["HEAD", "index", "packed-refs", "refs/heads/main", "objects", "refs", "."]
    inside += [str(path.relative_to(home / GIT)) for path in sorted((home / GIT / "objects").rglob("*.*"))]
    for part in inside:
        for name, leave in LEFT.items():
            if name == "odd name beside":
                continue
            shutil.rmtree(home)
            shutil.copytree(kept, home)
            leave(home / GIT / part if part != "." else home / GIT)
            assert verified(task, home).passed is False, (part, name)


def test_hooks_and_settings_of_a_repository_run_nothing(tmp_path: Path) -> None:
    task = GIT_TASKS[0]
    home = _done(task, tmp_path)
    mark = tmp_path / "ran"
    config = (
        f'[core]\n\tfsmonitor = "touch {mark}"\n\tpager = "touch {mark}"\n[alias]\n\tx = "!touch {mark}"\n'
    )
    (home / GIT / "config").write_text(config)
    hook = home / GIT / "hooks/post-index-change"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
    hook.chmod(0o755)
    found = verified(task, home)
    assert (found.passed, found.category) == (False, ("F-SIDEEFFECT",))
    assert any("post-index-change" in line for line in found.diagnostics["repository"])
    assert any("core.fsmonitor" in line for line in found.diagnostics["repository"])
    assert not mark.exists()


def test_what_git_is_not_to_see_and_links_in_a_repository_are_told(tmp_path: Path) -> None:
    task = GIT_TASKS[0]
    home = _done(task, tmp_path)
    (home / SITE / "styles/.gitattributes").write_text("*.css binary\n")
    found = verified(task, home)
    assert (found.passed, found.category) == (False, ("F-SIDEEFFECT",))
    assert found.diagnostics["repository"] == ["styles/.gitattributes is new"]
    (home / SITE / "styles/.gitattributes").unlink()
    (home / GIT / "hooks").symlink_to(tmp_path)
    assert verified(task, home).category == ("F-SIDEEFFECT",)
    (home / GIT / "hooks").unlink()
    (home / GIT / "config").unlink()
    assert verified(task, home).category == ("F-SIDEEFFECT",)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("task", GIT_TASKS, ids=name_of)
def test_git_itself_agrees(task: Task, tmp_path: Path) -> None:
    """The script's commands, run by git, pass; so do they after everything was packed anew."""
    family, task_id = task
    home = initial(task, tmp_path)
    typed = [action["text"] for action in family.script(family.params[task_id]) if action["action"] == "type"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["sh", "-e"],
        input="".join(typed),
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert verified(task, home).passed is True
    for words in (
        ["gc", "-q"], ["multi-pack-index", "write"], ["commit-graph", "write", "--reachable"], ["init", "-q"],
        ["update-server-info"], ["update-index", "--force-write-index", "--index-version", "4"],
    ):  # fmt: skip
        subprocess.run(["git", *words], cwd=home / SITE, env=environment, check=True)
        assert verified(task, home).passed is True, words
    found = Repository(home / GIT)
    listed = subprocess.run(
        ["git", "rev-parse", "HEAD"],
        cwd=home / SITE,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.resolved() == listed.stdout.strip()


@pytest.mark.parametrize("task", DATABASES, ids=name_of)
def test_an_open_transaction_of_a_killed_program_is_told_from_a_commit(task: Task, tmp_path: Path) -> None:
    """Both after the same statements, in a real process of SQLite that is killed."""
    family, task_id = task
    params = family.params[task_id]
    statements = [one for one in params.statements if one not in {"BEGIN;", "COMMIT;"}]
    for ending, passed in (("ROLLBACK;", False), ("COMMIT;", True), ("", False)):
        home = initial(task, tmp_path / (ending or "open"))
        with closing(sqlite3.connect(home / params.path, isolation_level=None)) as connection:
            connection.execute("BEGIN")
            for statement in statements:
                connection.execute(statement)
            if ending:
                connection.execute(ending)
            found = verified(task, home)
        assert found.passed is passed, ending
        if not ending:
            assert found.category == ("F-UNCOMMITTED",)
            assert found.diagnostics["open_transaction"] is True


@pytest.mark.parametrize("ending", ["-wal", "-journal", "-shm"])
@pytest.mark.parametrize("name", [name for name in LEFT if name not in {"nothing", "odd name beside"}])
def test_hostile_files_beside_a_database_are_never_an_error(name: str, ending: str, tmp_path: Path) -> None:
    task = DATABASES[0]
    home = _done(task, tmp_path)
    path = task[0].params[task[1]].path
    LEFT[name](home / f"{path}{ending}")
    assert verified(task, home).passed in {True, False}


def test_no_family_has_more_than_eight_tasks() -> None:
    sizes = {name: len(tasks(name)) for name in FAMILIES}
    assert all(4 <= size <= 8 for size in sizes.values()), sizes
    assert sum(sizes.values()) >= 20
