"""The families of the web application and the browser: known states, and what an agent may leave instead."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from pyrite.checks.verdict import NOTHING_PERSISTED, render
from pyrite.records import Action
from pyrite.suites.desk import bookmarks, kontor
from pyrite.suites.family import Family, KnownState
from pyrite.suites.run import build
from pyrite.suites.suite import FamilyTask, load_suite

WEB = [task for task in load_suite("desk").tasks() if task.task_id.startswith(("web-", "browser-"))]
WEB += [task for task in load_suite("desk-active").tasks() if task.task_id.startswith("web-")]
IDS = [task.task_id for task in WEB]
every_task = pytest.mark.parametrize("task", WEB, ids=IDS)


def home_of(task: FamilyTask, name: str, tmp_path: Path) -> Path:
    build(task.family, task.task_id, tmp_path, [name])
    return tmp_path / name


def states(task: FamilyTask) -> tuple[Family, tuple[KnownState, ...], tuple[KnownState, ...]]:
    family, params = task.family, task.family.params[task.task_id]
    return family, (*family.good(params), *family.harmless(params)), family.bad(params)


def test_there_are_enough_of_them() -> None:
    families = {task.family.name for task in WEB}
    for prefix, least, tasks in (("web_", 4, 20), ("browser_", 3, 12)):
        named = [name for name in families if name.startswith(prefix)]
        assert len(named) >= least
        assert sum(task.family.name in named for task in WEB) >= tasks
    for name in families:
        assert 2 < sum(task.family.name == name for task in WEB) <= 8


@every_task
def test_known_states_are_told_apart_and_say_why(task: FamilyTask, tmp_path: Path) -> None:
    family, right, bad = states(task)
    params = family.params[task.task_id]
    assert len(bad) >= 6
    for state in (*right, *bad):
        result = family.verify(params, home_of(task, state.name, tmp_path))
        assert result.passed is (state in right), f"{state.name}: {result}"
        assert result.category == state.category, f"{state.name}: {result}"
        assert render(result)
    untouched = family.verify(params, home_of(task, "initial", tmp_path))
    assert untouched[:2] == (False, NOTHING_PERSISTED)


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def _large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 26)


LEFTOVERS: dict[str, Callable[[Path], object]] = {
    "gone": lambda path: None,
    "empty": lambda path: path.touch(),
    "noise": lambda path: path.write_bytes(os.urandom(9000)),
    "half a database": lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 20),
    "deep": lambda path: path.write_text('{"roots": ' + "[" * 90_000),
    "numbers": lambda path: path.write_text('{"roots": 3, "session": 4}'),
    "lists": lambda path: path.write_text(
        '{"roots": {"bookmark_bar": {"children": [[1], {}]}}, "session": []}'
    ),
    "folder": lambda path: path.mkdir(),
    "pipe": _pipe,
    "link": _link,
    "large": _large,
}


@pytest.mark.parametrize("leftover", LEFTOVERS)
@pytest.mark.parametrize("prefix", sorted({task.family.name for task in WEB}))
def test_whatever_is_left_is_a_fail(prefix: str, leftover: str, tmp_path: Path) -> None:
    task = next(task for task in WEB if task.family.name == prefix)
    family, params = task.family, task.family.params[task.task_id]
    for number, path in enumerate(family.initial(params)):
        home = home_of(task, "good", tmp_path / str(number))
        if path == bookmarks.PREFERENCES and family.name.startswith("browser_bookmark"):
            continue  # nothing of that task
        (home / path).unlink()
        LEFTOVERS[leftover](home / path)
        result = family.verify(params, home)
        assert result.passed is False, f"{path}: {result}"
        assert render(result)


def test_hostile_names_and_values_reach_the_diagnostics_as_text(tmp_path: Path) -> None:
    task = next(task for task in WEB if task.family.name == "web_order_create")
    params = task.family.params[task.task_id]
    home = home_of(task, "good", tmp_path)
    (home / os.fsdecode(b"\xff\xfe\n<script>")).write_text("x")
    with closing(sqlite3.connect(home / kontor.DATABASE, isolation_level=None)) as connection:
        connection.execute("UPDATE customers SET name = CAST(x'ff00fe' AS TEXT) WHERE id = 1")
    result = task.family.verify(params, home)
    assert result[:2] == (False, ("F-SIDEEFFECT",))
    render(result).encode("ascii")


def test_a_trigger_is_never_mistaken_for_the_application(tmp_path: Path) -> None:
    task = next(task for task in WEB if task.family.name == "web_ticket_edit")
    home = home_of(task, "good", tmp_path)
    with closing(sqlite3.connect(home / kontor.DATABASE, isolation_level=None)) as connection:
        connection.execute("CREATE TRIGGER t AFTER INSERT ON orders BEGIN DELETE FROM orders; END")
    assert task.family.verify(task.family.params[task.task_id], home).passed is False


def test_a_log_that_is_noise_does_not_count(tmp_path: Path) -> None:
    task = next(task for task in WEB if task.family.name == "web_order_create")
    home = home_of(task, "initial", tmp_path)
    (home / f"{kontor.DATABASE}-wal").write_bytes(os.urandom(5000))
    result = task.family.verify(task.family.params[task.task_id], home)
    assert result[:2] == (False, NOTHING_PERSISTED)


@every_task
def test_scripts_are_actions_and_texts_name_what_is_typed(task: FamilyTask) -> None:
    suite = load_suite("desk-active" if task.suite == "desk-active" else "desk")
    actions = suite.script(task.task_id)
    assert actions[-1] == Action(action="done")
    assert len(actions) >= 4
    assert suite.claim(task.task_id)
    opened = task.spec.initial.open
    assert opened is not None
    assert opened.app in ("kontor", "chromium")
    result = task.family.verify(task.family.params[task.task_id], task.family.files)
    for text in result.diagnostics["expected"]:
        assert text in task.spec.instruction


def test_instructions_differ_and_are_whole_sentences() -> None:
    texts = [task.spec.instruction for task in WEB]
    assert len(set(texts)) == len(texts)
    assert all(text[0].isupper() and text.endswith(".") and "  " not in text for text in texts)
