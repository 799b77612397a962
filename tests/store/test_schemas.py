"""The schemas accept what the records accept, under the names on disk, and refuse what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import pyrite
from pyrite.errors import UsageError
from pyrite.records import Truth
from pyrite.store.schemas import DESCRIBED, described

PACKAGE = Path(pyrite.__file__).parent


def validate(name: str, document: Any) -> None:
    jsonschema.Draft202012Validator(described(name).schema()).validate(document)


@pytest.mark.parametrize("one", DESCRIBED, ids=lambda one: one.name)
def test_each_is_a_schema(one: Any) -> None:
    schema = one.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert json.loads(json.dumps(schema, allow_nan=False)) == schema


def test_names_are_those_on_disk() -> None:
    assert "pass" in described("truth").schema()["properties"]
    assert "passed" not in described("truth").schema()["properties"]
    assert "from" in described("task").schema()["$defs"]["InitialFile"]["properties"]
    assert "class" in described("facts").schema()["$defs"]["Window"]["properties"]


def test_a_written_record_is_valid_and_a_broken_one_is_not() -> None:
    truth = Truth.model_validate({"episode_id": "e", "outcome": "fail", "pass": False, "category": "F-CLAIM"})
    body = truth.model_dump(mode="json", by_alias=True)
    validate("truth", body)
    for broken in ({"outcome": "failed"}, {"category": "F-X"}, {"passed": False}, {"episode_id": "../x"}):
        with pytest.raises(jsonschema.ValidationError):
            validate("truth", {**body, **broken})


def test_a_shipped_task_folder_is_valid_though_its_name_says_the_id() -> None:
    body = json.loads((PACKAGE / "tasks" / "template" / "task.json").read_text(encoding="utf-8"))
    assert "task_id" not in body
    validate("task", body)
    with pytest.raises(jsonschema.ValidationError):
        validate("task", {**body, "network": "internet"})


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "agents: scripted,hasty\njudges: [claim]",
        "judges: {claim: null, vlm: {model: m, runs: 3}}\nseed: 1",
    ],
)
def test_what_is_asked_may_be_written_short(text: str) -> None:
    validate("config", yaml.safe_load(text))


@pytest.mark.parametrize("text", ["sede: 1", "judges: {claim: {rums: 1}}", "metrics: {alpha: 2}"])
def test_what_is_asked_wrongly_is_refused(text: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        validate("config", yaml.safe_load(text))


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="lable") as caught:
        described("lable")
    assert caught.value.next == "pyrite schema label"
    assert "verdict" in caught.value.expected
