"""The one line that a verifier prints."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.checks.verdict import Result, render


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (Result(True), {"pass": True, "category": None, "diagnostics": {}}),
        (
            Result(False, ("F-PARTIAL", "F-CLAIM"), {"found": float("nan"), "name": "a\udcff"}),
            {
                "pass": False,
                "category": ["F-PARTIAL", "F-CLAIM"],
                "diagnostics": {"found": "nan", "name": "a\\udcff"},
            },
        ),
        (
            Result(None, cause="state_missing"),
            {"pass": None, "category": None, "diagnostics": {}, "cause": "state_missing"},
        ),
    ],
)
def test_render(result: Result, expected: dict[str, Any]) -> None:
    assert json.loads(render(result)) == expected
    assert "\n" not in render(result)


@pytest.mark.parametrize(
    "result",
    [Result(True, ("F-CLAIM",)), Result(False, ("F-OTHER",)), Result(None), Result(True, (), {}, "why")],
)
def test_a_result_that_contradicts_itself_is_an_error(result: Result) -> None:
    with pytest.raises(ValueError, match=r"category|cause"):
        render(result)


@given(st.recursive(st.none() | st.text() | st.floats() | st.integers(), st.lists))
def test_any_diagnostics_are_strict_json(value: Any) -> None:
    def refuse(text: str) -> None:
        raise AssertionError(text)

    json.loads(render(Result(False, (), {"value": value})).encode(), parse_constant=refuse)


PROGRAM = """
import sys
from pyrite.checks.verdict import Result, main
def check(home):
    if (home / "crash").exists():
        raise RuntimeError("ours")
    return Result((home / "ok").exists())
main(check)
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=False
    )


def test_main_prints_one_object_and_an_exception_of_ours_is_no_answer(tmp_path: Path) -> None:
    assert json.loads(run(str(tmp_path)).stdout)["pass"] is False
    (tmp_path / "ok").touch()
    assert json.loads(run(str(tmp_path)).stdout)["pass"] is True
    (tmp_path / "crash").touch()
    crashed = run(str(tmp_path))
    assert crashed.returncode != 0
    assert crashed.stdout == ""
    assert run().returncode != 0
    assert run(str(tmp_path / "none")).returncode != 0
