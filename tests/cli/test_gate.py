"""`pyrite gate`: exit codes, one document, certificates, limits from the configuration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pyrite.cli import run

TABLE = ["--truth", "truth", "--verdicts", "judge", "--cluster", "task", "--quiet"]


def table(tmp_path: Path, accepted: int, failed: int = 60) -> Path:
    path = tmp_path / "v.csv"
    rows = [f"f{i},0,{int(i < accepted)},a" for i in range(failed)] + [f"p{i},1,1,a" for i in range(60)]
    path.write_text("task,truth,judge,agent\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def gate(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = run(["gate", *arguments, *TABLE, "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("accepted", "code", "first"), [(20, 1, "FAIL"), (0, 3, "INSUFFICIENT")])
def test_a_failed_line_is_exit_1_and_an_open_one_exit_3(
    accepted: int, code: int, first: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = gate(capsys, "--table", str(table(tmp_path, accepted)))
    assert found[0] == code
    assert found[1]["judges"][0]["lines"][0]["answer"] == first
    assert found[1]["schema_version"]


def test_text_names_every_line_and_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["gate", "--table", str(table(tmp_path, 20)), *TABLE]) == 1
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 100
    assert "May it be a reward?  No: " in text
    for title in ("False accepts", "Provenance", "No leaky corner"):
        assert title in text


def test_limits_come_from_the_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "limits.yaml"
    config.write_text("gate: {fpr: 0.6, fdr: 0.6, leaky_cell: 0.7}\n", encoding="utf-8")
    code, found = gate(capsys, "--table", str(table(tmp_path, 20)), "--config", str(config))
    assert code == 3
    assert found["limits"]["fpr"] == 0.6
    assert found["inputs"]["config"]
    config.write_text("gate: {fpr: 60}\n", encoding="utf-8")
    code, found = gate(capsys, "--table", str(table(tmp_path, 20)), "--config", str(config))
    assert code == 2
    assert "limits.yaml:1" in found["error"]["where"]


def test_a_certificate_is_not_replaced_by_one_of_other_inputs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "c.json"
    options = ("--table", str(table(tmp_path, 20)), "-o", str(out))
    assert gate(capsys, *options)[0] == 1
    first = out.read_bytes()
    assert json.loads(first)["kind"] == "gate"
    assert gate(capsys, *options)[0] == 1
    assert out.read_bytes() == first, "the same inputs give the same bytes"
    table(tmp_path, 0)
    code, found = gate(capsys, *options)
    assert code == 2
    assert "inputs" in found["error"]["what"]
    assert out.read_bytes() == first
    assert gate(capsys, *options, "--force")[0] == 3
    assert out.read_bytes() != first


@pytest.mark.parametrize("there", ["folder", "another file", "no folder"])
def test_a_place_that_is_no_certificate_is_refused(
    there: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "place"
    if there == "folder":
        out.mkdir()
    elif there == "another file":
        out.write_text('{"mine": 1}', encoding="utf-8")
    else:
        out = out / "c.json"
    code, found = gate(capsys, "--table", str(table(tmp_path, 0)), "-o", str(out))
    assert code == 2
    assert str(tmp_path) in found["error"]["where"]


def test_options_of_a_table_and_of_a_bench_do_not_mix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (
        ["gate"],
        ["gate", str(tmp_path), "--truth", "t"],
        ["gate", "--table", str(table(tmp_path, 0)), "--judge", "x"],
        ["gate", "--table", str(table(tmp_path, 0)), "--verdicts", "judge", "--cluster", "task"],
    ):
        assert run(arguments) == 2
        assert "Traceback" not in capsys.readouterr().err
