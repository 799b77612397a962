from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from pyrite.errors import InputError
from pyrite.records import ActionLine, Meta, TaskSpec, Truth
from pyrite.store.jsonl import (
    SCHEMAS,
    Appender,
    append_lines,
    is_half,
    read_lines,
    read_record,
    replace_quickly,
    write_json,
)
from pyrite.store.schemas import DESCRIBED


def line(step: int) -> ActionLine:
    return ActionLine(step=step, action="key", keys="ctrl+s")


def test_lines_come_back(tmp_path: Path) -> None:
    path = tmp_path / "actions.jsonl"
    assert append_lines(path, [line(1), line(2)]) == 2
    assert [x.step for x in read_lines(path, ActionLine)] == [1, 2]


@given(cut=st.integers(2, 40))
def test_a_torn_last_line_is_skipped_and_then_repaired(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("torn") / "actions.jsonl"
    append_lines(path, [line(1), line(2)])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - cut])
    assert [x.step for x in read_lines(path, ActionLine)] == [1]
    append_lines(path, [line(3)])
    assert [x.step for x in read_lines(path, ActionLine)] == [1, 3]


def test_a_whole_last_line_without_newline_counts_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "actions.jsonl"
    append_lines(path, [line(1), line(2)])
    path.write_bytes(path.read_bytes()[:-1])
    assert [x.step for x in read_lines(path, ActionLine)] == [1, 2]
    append_lines(path, [line(3)])
    assert [x.step for x in read_lines(path, ActionLine)] == [1, 2, 3]


def test_a_bad_line_in_the_middle_is_an_error_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "actions.jsonl"
    path.write_text('{"step": 1, "action": "key"}\n{"step": "x", "action": "key"}\n', encoding="utf-8")
    with pytest.raises(InputError, match="step") as caught:
        list(read_lines(path, ActionLine))
    assert caught.value.where.endswith("actions.jsonl:2")


def test_unknown_keys_are_kept(tmp_path: Path) -> None:
    meta = {
        "schema_version": "1",
        "episode_id": "ep_1",
        "task_id": "t",
        "source": "natural",
        "agent": {"name": "a", "version": "1", "seed": 0, "host": "x"},
        "n_steps": 0,
        "created_at": "2026-01-01T00:00:00Z",
        "theirs": {"deep": [1, 2]},
    }
    write_json(tmp_path / "meta.json", meta)
    kept = read_record(tmp_path / "meta.json", Meta).model_dump()
    assert kept["theirs"] == {"deep": [1, 2]}
    assert kept["agent"]["host"] == "x"


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_no_nan_is_ever_written(tmp_path: Path, value: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(tmp_path / "x.json", {"value": value})
    assert not (tmp_path / "x.json").exists()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "field"),
    [("{}", "schema_version"), ("[]", "the document"), ("{", "the document"), ("", "the document")],
)
def test_an_error_names_field_and_file(tmp_path: Path, text: str, field: str) -> None:
    path = tmp_path / "meta.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=field) as caught:
        read_record(path, Meta)
    assert caught.value.where == str(path)
    assert caught.value.exit_code == 2


def test_a_missing_file_and_a_huge_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_record(tmp_path / "none.json", Meta)
    (tmp_path / "big.json").write_bytes(b" " * 100)
    with pytest.raises(InputError, match="more than 50 bytes"):
        read_record(tmp_path / "big.json", Meta, limit_bytes=50)


@pytest.mark.parametrize(
    ("model", "document", "says", "accepted"),
    [
        (TaskSpec, {"limits": {"seconds": 5}}, "limits.seconds", "one of timeout_s, memory_mb"),
        (
            TaskSpec,
            {"states": [{"name": "good", "kind": "good", "outcome": "pass", "why": ""}]},
            "states.0.why",
            "one of name, kind, outcome, category",
        ),
        (TaskSpec, {"initial": {"files": [{"path": "a", "from": "b", "to": 1}]}}, "to", "one of path, from"),
        (Truth, {"outcome": "pass", "pass": True, "odd": 1}, "odd", "one of episode_id, outcome, pass"),
    ],
)
def test_a_key_that_is_not_known_is_answered_with_those_that_are(
    tmp_path: Path, model: type[BaseModel], document: dict[str, Any], says: str, accepted: str
) -> None:
    path = tmp_path / "x.json"
    whole = {"episode_id": "e"} if model is Truth else {"task_id": "t", "instruction": "i"}
    write_json(path, {**whole, **document})
    with pytest.raises(InputError, match=says) as caught:
        read_record(path, model)
    assert caught.value.expected.startswith(accepted)
    assert caught.value.next.startswith("pyrite schema ")


def test_every_record_on_disk_names_its_schema() -> None:
    known = {one.model.__name__: one.name for one in DESCRIBED}
    assert {name: known[name] for name in SCHEMAS} == SCHEMAS
    assert set(known) - set(SCHEMAS) == {"Report", "Asked"}, "read by readers of their own"


def test_an_appender_hands_on_each_line_at_once_and_mends_what_was_torn(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "actions.jsonl"
    opened = Appender(path, sync_every=2)
    opened.close()
    assert not path.exists(), "the file is made with its first line"
    opened.append(line(1))
    assert [x.step for x in read_lines(path, ActionLine)] == [1]
    opened.append(line(2))
    opened.close()
    path.write_bytes(path.read_bytes()[:-5])
    again = Appender(path)
    again.append(line(3))
    again.close()
    again.append(line(4))
    again.close()
    assert [x.step for x in read_lines(path, ActionLine)] == [1, 3, 4]


def test_a_quick_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "x.json"
    replace_quickly(str(path), b"one")
    replace_quickly(str(path), b"two")
    assert path.read_bytes() == b"two"
    path.unlink()
    path.mkdir()
    with pytest.raises(OSError, match="directory"):
        replace_quickly(str(path), b"three")
    assert [one.name for one in path.parent.iterdir()] == ["x.json"]
    assert is_half(".x.json.12-34.partial")
