"""The steps of an active verifier in task.json: what is taken, and what a wrong one is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from pyrite.errors import InputError
from pyrite.records import TaskSpec
from pyrite.steps import MAX_STEPS, Step, as_line
from pyrite.tasks.folder import load_folder

FRONT = {"step": "activate_window", "title": "a.ods"}
EVERY: list[dict[str, Any]] = [
    FRONT,
    {"step": "key", "keys": "ctrl+s"},
    {"step": "key", "keys": "Return", "title": "Keep", "match": "exact"},
    {"step": "wait_for", "title": r"^a\.ods", "match": "regex", "gone": True},
    {"step": "wait_for", "window": "Mousepad"},
    {"step": "wait_for", "file": "Documents/a.ods", "is": "exists", "timeout_s": 3.0},
    {"step": "wait_for", "http": "http://127.0.0.1:8000/done?x=1", "status": 204},
    {"step": "wait_for", "command": ["git", "status"], "output": "clean", "expect_exit": 0},
    {"step": "execute", "argv": ["soffice", "--version"], "expect_exit": 3},
    {"step": "sleep", "seconds": 0.5},
]


def spec(act: list[dict[str, Any]], **more: Any) -> TaskSpec:
    body = {"task_id": "t", "instruction": "x", "act": act, "truth_from": "acted", **more}
    return TaskSpec.model_validate(body)


def test_every_step_is_read_and_written_the_same() -> None:
    task = spec(EVERY)
    assert len(task.act) == len(EVERY)
    assert TaskSpec.model_validate_json(task.model_dump_json(by_alias=True)) == task
    for step in task.act:
        assert TypeAdapter(Step).validate_python(as_line(step)) == step
        assert step.brief().startswith(step.step)
    assert TypeAdapter(Step).validate_python({"step": "sleep", "seconds": 2}).longest_s == 2


@pytest.mark.parametrize(
    ("act", "said"),
    [
        ([{"step": "press", "keys": "a"}], "activate_window"),
        ([{"step": "key", "keys": "ctrl+s"}], "nothing says which window it is for"),
        ([FRONT, {"step": "key"}], "Field required"),
        ([FRONT, {"step": "key", "keys": "a", "delay": 1}], "Extra inputs"),
        ([{"step": "wait_for"}], "exactly one of title, window, file, http, command; found none"),
        ([{"step": "wait_for", "title": "a", "file": "b"}], "found title and file"),
        ([{"step": "wait_for", "title": "a", "status": 201}], "status goes with http"),
        ([{"step": "wait_for", "file": "a", "gone": True}], "gone goes with title or window"),
        ([{"step": "wait_for", "title": "a", "is": "exists"}], "is goes with file"),
        ([{"step": "wait_for", "file": "../a"}], "not below the home"),
        ([{"step": "wait_for", "file": "/etc/passwd"}], "not below the home"),
        ([{"step": "wait_for", "http": "http://example.org/"}], "not on the sandbox's loopback"),
        ([{"step": "wait_for", "http": "https://127.0.0.1/"}], "not on the sandbox's loopback"),
        ([{"step": "wait_for", "http": "http://127.0.0.1:99999/"}], "Port"),
        ([{"step": "wait_for", "http": "http://u@127.0.0.1/"}], "user name"),
        ([{**FRONT, "title": "(", "match": "regex"}], "not a regular expression"),
        ([{**FRONT, "title": "(?=a)", "match": "regex"}], "RE2"),
        ([{**FRONT, "title": r"(a)\1", "match": "regex"}], "RE2"),
        ([{**FRONT, "title": "a" * 201, "match": "regex"}], "at most 200"),
        ([{**FRONT, "timeout_s": 0}], "greater than 0"),
        ([{**FRONT, "timeout_s": float("nan")}], "finite number"),
        ([{"step": "sleep", "seconds": 61}], "less than or equal to 60"),
        ([{"step": "execute", "argv": []}], "at least 1 item"),
        ([FRONT] * (MAX_STEPS + 1), f"at most {MAX_STEPS}"),
        ([{**FRONT, "timeout_s": 200}] * 2, "400 s together; at most 300"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_step_says_what_is_expected(act: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        spec(act)
    assert said in str(caught.value)


def test_act_and_truth_from_come_together() -> None:
    with pytest.raises(ValidationError, match="act needs truth_from: final or acted"):
        TaskSpec.model_validate({"task_id": "t", "instruction": "x", "act": [FRONT]})
    with pytest.raises(ValidationError, match="truth_from is acted, but there is no act"):
        TaskSpec.model_validate({"task_id": "t", "instruction": "x", "truth_from": "acted"})
    assert spec([FRONT], truth_from="final").truth_from == "final"
    passive = TaskSpec.model_validate({"task_id": "t", "instruction": "x"})
    assert (passive.act, passive.truth_from) == ((), "final")


def test_a_folder_task_is_refused_with_file_and_field(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "verify.py").write_text("")
    body = {"instruction": "x", "truth_from": "acted", "act": [FRONT, {"step": "wait_for", "file": "/a"}]}
    (folder / "task.json").write_text(json.dumps(body))
    with pytest.raises(InputError) as caught:
        load_folder(folder)
    assert "act.1" in str(caught.value.where)
    assert "not below the home" in str(caught.value.expected)
