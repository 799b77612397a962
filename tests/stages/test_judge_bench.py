"""A judge-bench folder is a bench in place: no lock.json, other file names, lines without optional fields."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from pyrite import flow
from pyrite.cli import run as pyrite
from pyrite.records import Outcome
from pyrite.store.bench import Bench


def given(root: Path) -> dict[str, str]:
    """Digest of every file that the other harness wrote."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for folder in ("tasks", "episodes", "verdicts", "config")
        for path in sorted((root / folder).rglob("*"))
        if path.is_file() and path.name != "gt.json" and "__" not in path.name
    }


def test_verify_believes_the_odfpy_verifier_and_queues_its_unknown_category(verified: Any) -> None:
    bench = Bench(verified.root)
    assert not bench.paths.lock.exists()
    for episode_id, passed in verified.truth.items():
        truth = bench.truth(episode_id)
        assert truth is not None
        assert truth.outcome is (Outcome.PASS if passed else Outcome.FAIL), truth
        assert truth.replay is not None
        assert truth.replay.outcomes == {"initial": "fail", "good": "pass", "row_below": "fail"}
        assert truth.category is None
        assert truth.candidates == (() if passed else ("F-UNCOMMITTED_OR_WRONGTARGET",))
        assert ("unclassified" in truth.diagnostics) is not passed


def test_outcomes_puts_them_into_the_stratum_unclassified(verified: Any) -> None:
    natural = flow.outcomes(verified.root)["strata"]["natural"]
    assert (natural["pass"], natural["fail"], natural["indeterminate"]) == (2, 4, 0)
    assert natural["categories"] == {"unclassified": 4}


def test_measure_reads_foreign_lines_as_they_are(verified: Any) -> None:
    result = flow.measure(verified.root)
    conditions = result["strata"]["natural"]["conditions"]
    prompted = conditions["E2-last4"]["judges"]["vlm:model-x"]
    assert prompted["counts"] | {"tp": 2, "fp": 4, "tn": 0, "fn": 0} == prompted["counts"]
    assert prompted["runs"] == 3
    reward = conditions["E1-final"]["judges"]["rm"]
    assert (reward["fpr"]["value"], reward["tpr"]["value"]) == (0.0, 1.0)
    assert "condition E2-lastk is read as E2-last4" in result["warnings"]
    assert "condition final is read as E1-final" in result["warnings"]


def test_every_verb_works_on_the_folder_and_writes_to_none_of_its_files(
    verified: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    before = given(verified.root)
    root = str(verified.root)
    for arguments in (
        ["verify", root],
        ["outcomes", root],
        ["pack", root, "--condition", "E1-final,E3-full"],
        ["judge", root, "--judge", "accept-all,steps", "--condition", "E1-final,E3-full"],
        ["measure", root],
        ["report", root],
    ):
        assert pyrite([*arguments, "--json"]) == 0, capsys.readouterr()
        assert json.loads(capsys.readouterr().out)["schema_version"] == "1"
    assert given(verified.root) == before
    assert "vlm:model-x" in (verified.root / "report.html").read_text(encoding="utf-8")


def test_a_verdict_line_without_its_run_or_with_an_unknown_verdict_is_not_guessed(
    verified: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = verified.root / "verdicts" / "more.jsonl"
    line = {"episode_id": "rent-row-1", "judge": "j", "condition": "final", "verdict": "success"}
    for broken, said in (({}, "run"), ({"run": 1, "verdict": "yes"}, "'yes'"), ({"run": 0}, "run")):
        path.write_text(json.dumps({**line, **broken}) + "\n", encoding="utf-8")
        assert pyrite(["measure", str(verified.root)]) == 2
        told = capsys.readouterr().err
        assert f"{path}:1" in told
        assert said in told


def test_a_foreign_file_of_the_name_that_pyrite_would_use_is_not_overwritten(
    verified: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Bench(verified.root).paths.verdict_file("accept-all", "E1-final")
    line = {"episode_id": "rent-row-1", "judge": "accept-all", "condition": "E1-final", "run": 1}
    path.write_text(json.dumps({**line, "verdict": "success"}) + "\n", encoding="utf-8")
    before = path.read_bytes()
    asked = ["judge", str(verified.root), "--judge", "accept-all", "--condition", "E1-final"]
    assert pyrite(asked) == 2
    assert "another harness" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_an_outcome_that_another_harness_wrote_is_kept_beside_ours(verified: Any) -> None:
    path = verified.root / "episodes" / "rent-row-1" / "gt.json"
    theirs = b'{"pass": false, "category": "F-OTHER", "diagnostics": {}}'
    path.write_bytes(theirs)
    report = flow.verify(verified.root, workers=1)
    assert (report.written, report.superseded) == (1, 1)
    truth = Bench(verified.root).truth("rent-row-1")
    assert truth is not None
    assert truth.passed is True
    assert [one.read_bytes() for one in path.parent.glob("gt.*.json")] == [theirs]
