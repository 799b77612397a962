"""record --skip-held: what a check holds back is not run, and lock.json says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pyrite import flow
from pyrite.errors import InputError, UsageError
from pyrite.stages import held as holding
from pyrite.store import held
from pyrite.store.bench import Bench
from pyrite.suites.lookup import matching, open_origin
from pyrite.tasks import starter


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    for name in ("one", "two", "three"):
        starter.start(name, tmp_path / "tasks")
    return tmp_path / "tasks"


def checked(path: Path, **tasks: Any) -> Path:
    rows = [{"id": name, **body} for name, body in tasks.items()]
    path.write_text(json.dumps({"schema_version": "1", "at": "2026-01-02T00:00:00Z", "tasks": rows}))
    return path


def split(tasks: Path, check: Path) -> holding.Chosen:
    return holding.split(matching(open_origin(str(tasks)), "*"), check)


FAULT = {"kind": "state", "observed": "untouched state: passes", "why": "nobody did it"}
BAD = {"ok": False, "faults": [FAULT]}


def test_what_is_not_fit_is_not_run(tasks: Path, tmp_path: Path) -> None:
    check = checked(tmp_path / "c.json", one={"ok": True}, two=BAD)
    found = split(tasks, check)
    assert [name for _, name in found.tasks] == ["one", "three"]
    assert found.unchecked == ("three",)
    [one] = found.held
    assert (one.task_id, one.why, one.faults) == ("two", "untouched state: passes: nobody did it", 1)
    recording = flow.record(str(tasks), tmp_path / "b", agents="idle", dry_run=True, skip_held=check)
    assert {new.task_id for new in recording.new} == {"one", "three"}
    assert [one.task_id for one in recording.held] == ["two"]


def test_the_lock_keeps_it_until_the_task_is_run(tasks: Path, tmp_path: Path) -> None:
    bench = Bench.create(tmp_path / "b")
    split(tasks, checked(tmp_path / "c.json", two=BAD, one=BAD)).hold(bench)
    assert [one.task_id for one in held.read(bench)] == ["one", "two"]
    split(tasks, checked(tmp_path / "c.json", two={"ok": True}, one=BAD)).hold(bench)
    assert [one.task_id for one in held.read(bench)] == ["one"]
    holding.split(matching(open_origin(str(tasks)), "*"), None).hold(bench)
    assert [one.task_id for one in held.read(bench)] == ["one"]


def test_an_active_task_that_could_not_be_asked_is_not_held(tasks: Path, tmp_path: Path) -> None:
    assert split(tasks, checked(tmp_path / "c.json", two={"ok": None})).held == ()


def test_a_check_of_another_version_holds_nothing(tasks: Path, tmp_path: Path) -> None:
    check = checked(tmp_path / "c.json", two={**BAD, "verifier_sha256": "ab" * 32})
    with pytest.raises(UsageError, match="another version") as caught:
        split(tasks, check)
    assert caught.value.next.startswith("pyrite check ")


def test_nothing_left_and_no_check_at_all(tasks: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing is left"):
        split(tasks, checked(tmp_path / "c.json", one=BAD, two=BAD, three=BAD))
    other = tmp_path / "other.json"
    for text in ("{}", "[]", '{"at": "x", "tasks": [{"id": "../x", "ok": true}]}', "nonsense"):
        other.write_text(text)
        with pytest.raises(InputError):
            split(tasks, other)
    with pytest.raises(InputError):
        split(tasks, tmp_path / "nowhere.json")


def test_a_real_check_says_what_is_held(tasks: Path, tmp_path: Path) -> None:
    states = tasks / "two" / "states"
    (states / "good.sh").write_text("true\n")
    result = flow.check([str(tasks)], only="[ot][nw][eo]", states_only=True, jobs=1)
    check = tmp_path / "c.json"
    check.write_text(json.dumps(result))
    found = split(tasks, check)
    assert [one.task_id for one in found.held] == ["two"]
    assert found.unchecked == ("three",)
