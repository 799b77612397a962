"""compare and plan on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pyrite.cli import run

LABELS = "task,truth,kind judge,strict,silent\n"


def table(path: Path, tasks: int = 9) -> Path:
    rows = [f"t{k},fail,1,0,\nt{k},fail,0,0,\nt{k},pass,1,{k % 2},\n" for k in range(tasks)]
    path.write_text(LABELS + "".join(rows), encoding="utf-8")
    return path


def arguments(path: Path, verdicts: str = "kind judge,strict") -> list[str]:
    return ["compare", "--table", str(path), "--truth", "truth", "--verdicts", verdicts, "--cluster", "task"]


def test_compare_prints_a_table_of_100_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments(table(tmp_path / "v.csv"), "kind judge,strict,silent")) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 100
    assert "+50.0" in out
    assert "0.004" in out
    assert "differs" in out
    assert "null: no common verdicts" in out
    assert "18 episodes left out" in out
    assert "equal" not in out


def test_compare_json_is_one_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*arguments(table(tmp_path / "v.csv")), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema_version"]
    assert [(p["metric"], p["n"], p["a_only"]) for p in document["pairs"]] == [("fpr", 18, 9), ("tpr", 9, 5)]


def test_compare_where_nothing_can_be_tested_is_exit_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments(table(tmp_path / "v.csv", tasks=1))) == 3
    assert "null: all of one task" in capsys.readouterr().out
    assert run(arguments(table(tmp_path / "v.csv"), "strict,silent")) == 3


def test_compare_refuses_what_it_cannot_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments(table(tmp_path / "v.csv"), "strict")) == 2
    assert "at least two columns" in capsys.readouterr().err
    path = tmp_path / "bad.csv"
    path.write_text(LABELS + "t,fail,perhaps,1,\n", encoding="utf-8")
    assert run(arguments(path)) == 2
    assert "perhaps" in capsys.readouterr().err


def test_plan_prints_its_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--fpr", "0.15", "--discordant", "0.15", "--per-task", "4", "--icc", "0.3", "--failed", "150"]
    assert run(["plan", *given]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 100
    assert "469" in out
    assert "891" in out
    assert "12.0\N{NARROW NO-BREAK SPACE}pp" in out
    assert "episodes null: give --success-rate" in out
    assert run(["plan", *given, "--success-rate", "0.5", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {one["name"]: one["episodes"] for one in document["questions"]}["pair"] == 1782


def test_plan_takes_what_is_not_given_from_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = table(tmp_path / "v.csv")
    assert run(["plan", *arguments(path)[1:], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["assumptions"]
    assert (found["per_task"]["value"], found["fpr"], found["success_rate"]["from"]) == (
        2,
        {"value": 0.5, "from": "table", "of": "kind judge"},
        "table",
    )
    assert run(["plan", *arguments(path)[1:]]) == 0
    assert "(seen)" in capsys.readouterr().out
    assert run(["plan", "--truth", "truth"]) == 2
    assert "either a BENCH or --table" in capsys.readouterr().err
    assert run(["plan", str(tmp_path), *arguments(path)[1:]]) == 2
