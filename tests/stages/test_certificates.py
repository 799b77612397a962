"""Certificates of thresholds as files: from a table, from a bench, to the gate; never overwritten unasked."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyrite import flow
from pyrite.cli import run
from pyrite.errors import UsageError
from pyrite.measure.gate_threshold import read_certificate, sealed
from pyrite.measure.measure import measure_table
from pyrite.measure.scores import Asked


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    """800 episodes of 200 tasks with a score that knows something."""
    rng = np.random.default_rng(0)
    path = tmp_path / "scores.csv"
    with path.open("w", newline="", encoding="utf-8") as handle:
        out = csv.writer(handle)
        out.writerow(["task", "ok", "s"])
        for k in range(800):
            passed = rng.random() < 0.4
            out.writerow([f"t{k // 4}", int(passed), round(0.4 * passed + 0.6 * rng.random(), 4)])
    return path


def measured(path: Path, **options: Any) -> dict[str, Any]:
    return measure_table(path, truth="ok", cluster="task", scores=["s"], **options)


def test_a_certificate_is_what_the_gate_reads(scored: Path, tmp_path: Path) -> None:
    result = measured(scored)
    (path,) = flow.write_certificates(tmp_path / "new" / "certs", result)
    found = read_certificate(path)
    written = json.loads(path.read_text(encoding="utf-8"))
    assert written == sealed({"schema_version": "1", **result["scores"]["s"]["certificate"]})
    assert found.threshold is not None
    gated = flow.gate_table(scored, truth="ok", cluster="task", verdicts=[found.judge], certificate=path)
    (judge,) = gated["judges"]
    seventh = next(one for one in judge["lines"] if one["line"] == 7)
    assert seventh["answer"] == "PASS"


def test_another_certificate_is_not_overwritten_unasked(scored: Path, tmp_path: Path) -> None:
    folder = tmp_path / "certs"
    (path,) = flow.write_certificates(folder, measured(scored))
    before = path.read_bytes()
    assert flow.write_certificates(folder, measured(scored)) == [path]  # the same again is no other
    other = measured(scored, asked=Asked(target=0.2))
    with pytest.raises(UsageError, match="another certificate"):
        flow.write_certificates(folder, other)
    assert path.read_bytes() == before
    flow.write_certificates(folder, other, force=True)
    assert read_certificate(path).target == 0.2


def test_no_score_no_certificate(scored: Path, tmp_path: Path) -> None:
    result = measure_table(scored, truth="ok", cluster="task", verdicts=["s>=0.5"])
    with pytest.raises(UsageError, match="no score"):
        flow.write_certificates(tmp_path / "certs", result)
    assert not (tmp_path / "certs").exists()
    with pytest.raises(UsageError, match="not a folder"):
        flow.write_certificates(scored, measured(scored))
    with pytest.raises(UsageError, match="the name of a file"):
        flow.write_certificates(tmp_path / "cert.json", measured(scored))


def test_the_command_writes_them_and_says_where(
    scored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "certs"
    command = ["measure", "--table", str(scored), "--truth", "ok", "--cluster", "task", "--scores", "s"]
    assert run([*command, "--certificates", str(folder), "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "AUC 0." in out
    assert "promises FPR <= 5.0" in out
    assert "other tasks: FPR" in out
    assert str(folder / "s.threshold.json") in out
    assert max(len(line) for line in out.splitlines() if "certificate" not in line) <= 100
    again = [*command, "--certificates", str(folder), "--quiet", "--threshold-rule", "conformal"]
    assert run(again) == 2
    assert "another certificate" in capsys.readouterr().err
    assert run([*again, "--force"]) == 0
    assert "on average only" in capsys.readouterr().out
    assert run([*command, "--fpr-target", "5"]) == 2


def test_scores_that_cannot_be_read_decide_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "nan.csv"
    path.write_text("task,ok,s\n" + "".join(f"t{k},{k % 2},\n" for k in range(20)), encoding="utf-8")
    command = ["measure", "--table", str(path), "--truth", "ok", "--cluster", "task", "--scores", "s"]
    assert run([*command, "--quiet"]) == 3
    assert "20 missing" in capsys.readouterr().out
    path.write_text("task,ok,s\n" + "".join(f"t{k},{k % 2},nan\n" for k in range(20)), encoding="utf-8")
    assert run([*command, "--json", "--quiet"]) == 3
    found = json.loads(capsys.readouterr().out)["scores"]["s"]
    assert (found["n"], found["unreadable"], found["auc"]["value"]) == (0, 20, None)
    assert found["auc"]["reason"] == "no_readable_scores"
    assert found["certificate"]["threshold"] is None


def test_too_few_tasks_are_told_with_the_number_needed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "few.csv"
    path.write_text("task,ok,s\n" + "".join(f"t{k},{k % 2},0.{k}\n" for k in range(9)), encoding="utf-8")
    command = ["measure", "--table", str(path), "--truth", "ok", "--cluster", "task", "--scores", "s"]
    assert run([*command, "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "no threshold certifies FPR <= 5.0\u202f%: 3 tasks with failures in the half that" in out
