"""A list that restricts an audit: what it names, what is not there, and what it leaves out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pyrite.audit.audit import audit
from pyrite.errors import InputError, UsageError


def write(path: Path, data: Any) -> Path:
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def test_ids_without_a_file_are_counted_and_named_and_never_dropped(made: Any) -> None:
    made.task("a")
    made.task("b")
    made.task("c", domain="os")
    listed = write(made.root / "l.json", {"calc": ["a", "gone", "a"], "os": ["b"]})
    found = audit(made.root, only=listed)
    document = found.document
    assert document["tasks"] == 3
    assert document["list"] == {
        "file": str(listed),
        "entries": 4,
        "tasks": 3,
        "without_file": 2,
        "not_listed": 2,
        "not_listed_examples": ["calc/b", "os/c"],
    }
    assert document["unknown_why"] == {"listed_without_file": 2}
    assert sum(document["tiers"].values()) + document["unknown"] == document["tasks"]
    assert {row["task"] for row in found.findings if row["kind"] == "listed_without_file"} == {"gone", "b"}
    assert document["hazards"]["listed_twice"] == 1


def test_the_file_is_taken_as_given_and_else_below_the_path(
    made: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.task("a")
    made.task("b")
    write(made.root / "l.json", ["a"])
    monkeypatch.chdir(tmp_path)
    assert audit(made.root, only=Path("l.json")).document["tasks"] == 1
    write(tmp_path / "l.json", ["a", "b"])
    assert audit(made.root, only=Path("l.json")).document["tasks"] == 2, "the one that was given"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("{", "not JSON"),
        ([], "names no task"),
        ({"calc": "a"}, "names no task"),
        ({"calc": [{}]}, "names no task"),
        ([True], "names no task"),
        (7, "names no task"),
    ],
)
def test_a_list_that_is_none_is_refused_with_its_field(data: Any, message: str, made: Any) -> None:
    made.task("a")
    listed = write(made.root / "l.json", data)
    with pytest.raises(InputError, match=message) as caught:
        audit(made.root, only=listed)
    assert str(listed) in caught.value.where


def test_a_list_that_matches_nothing_is_a_usage_error(made: Any) -> None:
    made.task("a")
    with pytest.raises(UsageError, match="none of the 1 listed") as caught:
        audit(made.root, only=write(made.root / "l.json", ["zzz"]))
    assert "calc/a" in caught.value.expected
    with pytest.raises(InputError, match="no such list"):
        audit(made.root, only=Path("nowhere.json"))


def test_two_tasks_of_one_id_are_both_counted(made: Any) -> None:
    made.task("a")
    other = made.root / "examples_windows" / "calc" / "a.json"
    other.parent.mkdir(parents=True)
    other.write_bytes((made.root / "examples" / "calc" / "a.json").read_bytes())
    document = audit(made.root).document
    assert (document["tasks"], document["hazards"]["duplicate_id"]) == (2, 1)
