"""Hostile definitions: findings or a clear error, never a wrong total, never a way out of the folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyrite.audit.audit import Audit, audit
from pyrite.audit.hostile import MAX_DEPTH, MAX_TASK_BYTES, Parser, Unreadable
from pyrite.errors import InputError, UsageError
from pyrite.report import audited


def whole(found: Audit) -> dict[str, Any]:
    """The document, once its sums were held against each other and both lists can be written."""
    document = found.document
    assert sum(document["tiers"].values()) + document["unknown"] == document["tasks"]
    gold = sum(document["gold_classes"].values())
    assert gold + document["infeasible"] + sum(document["unknown_why"].values()) >= document["tasks"]
    assert (
        len(found.per_task)
        == document["tasks"]
        == sum(sum(counts.values()) for counts in document["domains"].values())
    )
    for phase in ("config", "postconfig"):
        assert all(number > 0 for number in document["steps"][phase].values())
    assert sum(document["places"].values()) >= len(found.findings)
    json.dumps([document, list(found.findings), list(found.per_task)], allow_nan=False).encode()
    audited.render(document, found.findings, found.per_task).encode()
    return document


BROKEN = {
    "not JSON": b"{",
    "empty": b"",
    "binary": b"\xff\xfe\x00{",
    "a list": b"[1, 2]",
    "a number": b"7",
    "null": b"null",
    "NaN": b'{"evaluator": NaN}',
    "deep": b"[" * 100_000 + b"]" * 100_000,
    "deep object": b'{"a":' * 3000 + b"1" + b"}" * 3000,
    "a long number": b'{"evaluator": ' + b"9" * 5000 + b"}",
    "trailing": b'{"evaluator": {"func": "infeasible"}} {}',
    "too large": b'{"evaluator": "' + b"x" * MAX_TASK_BYTES + b'"}',
    "too many values": b'{"a": [' + b"1," * 100_001 + b"1]}",
    "surrogate": b'{"evaluator": "\\ud800", "instruction": "\\udfff"}',
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_is_no_task_stays_in_the_total(name: str, made: Any) -> None:
    made.task("good")
    made.text("bad", BROKEN[name])
    found = audit(made.root)
    document = whole(found)
    assert (document["tasks"], document["unknown"], document["tiers"]["1a"]) == (2, 1, 1)
    kinds = {row["kind"] for row in found.findings if row["task"] == "bad"}
    assert kinds & {"unreadable_task", "schema_invalid"}


WRONG: list[dict[str, Any]] = [
    {"evaluator": None},
    {"evaluator": []},
    {"evaluator": "x"},
    {"evaluator__func": None},
    {"evaluator__func": []},
    {"evaluator__func": [1]},
    {"evaluator__func": {"a": 1}},
    {"evaluator__result": "vm_file"},
    {"evaluator__result": [[]]},
    {"evaluator__result": {"type": 7}},
    {"evaluator__expected": 3},
    {"evaluator__postconfig": {}},
    {"evaluator__postconfig": "sleep"},
    {"evaluator__postconfig": [None]},
    {"evaluator__postconfig": [{"type": None}]},
    {"evaluator__postconfig": [{"type": "sleep"}]},
    {"evaluator__postconfig": [{"type": "sleep", "parameters": {"seconds": "long"}}]},
    {"evaluator__postconfig": [{"type": "sleep", "parameters": {"seconds": 1e400}}]},
    {"evaluator__postconfig": [{"type": "execute", "parameters": {"command": {"a": 1}}}]},
    {"evaluator__postconfig": [{"type": "execute", "parameters": []}]},
    {"evaluator__options": 7},
    {"evaluator__options": {"rules": 7}},
    {"evaluator__options": {"rules": [None, {"type": []}]}},
    {"evaluator__conj": []},
    {"config": 7},
    {"config": [7]},
    {"id": 7},
    {"id": ...},
    {"instruction": ...},
    {"instruction": "   "},
    {"possibility_of_env_change": []},
    {"proxy": "yes"},
]


@pytest.mark.parametrize("changes", WRONG, ids=str)
def test_wrong_types_and_missing_keys_are_findings_or_harmless(changes: dict[str, Any], made: Any) -> None:
    made.task("good")
    made.task("odd", **changes) if "1e" not in str(changes) and "inf" not in str(changes) else made.text(
        "odd", json.dumps({"evaluator": changes["evaluator__postconfig"]})
    )
    document = whole(audit(made.root))
    assert document["tasks"] == 2


def test_unknown_step_types_are_counted_under_their_own_name(made: Any) -> None:
    steps = [{"type": "frobnicate", "parameters": {}}] * 3 + [{"type": "sleep", "parameters": {"seconds": 1}}]
    made.task("a", config=steps, evaluator__postconfig=steps[2:])
    found = audit(made.root)
    document = whole(found)
    assert document["steps"]["config"] == {"frobnicate": 3, "sleep": 1}
    assert document["steps"]["both"] == {"frobnicate": 4, "sleep": 2}
    assert document["places"]["unknown_step_type"] == 4
    assert document["tiers"]["3"] == 1


def test_more_names_than_are_kept_still_sum_up(made: Any) -> None:
    steps = [{"type": f"x{number}", "parameters": {}} for number in range(1500)]
    made.task("a", config=steps)
    document = whole(audit(made.root))
    assert sum(document["steps"]["config"].values()) == 1500
    assert document["steps"]["config"]["(other names)"] == 500


def test_a_repeated_key_is_a_finding(made: Any) -> None:
    made.text(
        "a", '{"id": "a", "instruction": "x", "evaluator": {"func": "infeasible", "func": "infeasible"}}'
    )
    found = audit(made.root)
    assert whole(found)["infeasible"] == 1
    assert any("there twice" in row["detail"] for row in found.findings)


def test_links_out_of_the_folder_fifos_and_odd_names(made: Any, tmp_path: Path) -> None:
    made.task("good")
    secret = tmp_path / "secret.json"
    secret.write_text('{"evaluator": {"func": "infeasible"}, "instruction": "SECRET"}', encoding="utf-8")
    folder = made.root / "examples" / "calc"
    (folder / "out.json").symlink_to(secret)
    (folder / "loop.json").symlink_to("loop.json")
    (folder / "gone.json").symlink_to("nothing")
    (folder / "dir.json").mkdir()
    (folder / "elsewhere").symlink_to(tmp_path, target_is_directory=True)
    os.mkfifo(folder / "pipe.json")
    (folder / "inside.json").symlink_to("good.json")
    (Path(os.fsdecode(os.fsencode(folder) + b"/\xff\x1b[31m.json"))).write_text("{}", encoding="utf-8")
    found = audit(made.root)
    document = whole(found)
    assert "SECRET" not in json.dumps(list(found.per_task))
    assert document["infeasible"] == 0
    assert document["tasks"] == 7, "good, inside, out, loop, gone, pipe and the odd name"
    assert document["tiers"]["1a"] == 2
    assert "\x1b" not in audited.render(document, found.findings, found.per_task)


def test_what_is_no_bench_says_what_was_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        audit(tmp_path / "missing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no task definitions") as caught:
        audit(tmp_path / "empty")
    assert "it holds nothing" in caught.value.expected
    with pytest.raises(UsageError, match="no task of OSWorld"):
        audit(tmp_path / "empty", form="osworld")


def test_a_dataset_that_breaks_off_is_an_error_and_no_smaller_total(tmp_path: Path) -> None:
    path = tmp_path / "test.raw.json"
    item = {"task_id": 1, "intent": "x", "eval": {"eval_types": ["string_match"]}}
    path.write_text(json.dumps([item, item])[:-10], encoding="utf-8")
    with pytest.raises(InputError, match="not JSON") as caught:
        audit(path)
    assert "can be counted" in caught.value.expected


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
        lambda below: (
            st.lists(below, max_size=4)
            | st.dictionaries(
                st.sampled_from(
                    ["type", "parameters", "command", "path", "dest", "rules", "files", "url", "seconds"]
                ),
                below,
                max_size=4,
            )
        ),
        max_leaves=12,
    ),
    st.sampled_from(["func", "result", "expected", "postconfig", "options", "conj"]),
)
def test_whatever_stands_in_an_evaluator_the_sums_hold(tmp_path: Path, value: Any, field: str) -> None:
    path = tmp_path / "bench" / "examples" / "d" / "a.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    evaluator = {"func": "exact_match", "result": {"type": "vm_file", "path": "x"}, field: value}
    path.write_text(json.dumps({"id": "a", "instruction": "i", "evaluator": evaluator}), encoding="utf-8")
    assert whole(audit(tmp_path / "bench"))["tasks"] == 1


@given(st.text(alphabet='[]{},:"1 ntrue\\', max_size=60))
def test_items_of_a_list_are_what_json_says_or_it_is_refused(text: str) -> None:
    text = "[" + text + "]"
    try:
        expected = json.loads(text)
    except ValueError:
        expected = None
    try:
        found = list(Parser().items(text))
    except Unreadable:
        found = None
    if expected is not None:
        assert found == expected
    elif found is not None:
        pytest.fail(f"{text!r} was read as {found!r}")


def test_depth_is_bounded_after_parsing_too() -> None:
    text = "[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2)
    with pytest.raises(Unreadable, match="deeper"):
        Parser().document(text)
