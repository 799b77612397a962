"""Public reports of rates over the wrong denominator: what has no outcome is counted and is no failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.faults.conftest import GOOD, INITIAL, Ground

from pyrite.errors import InputError
from pyrite.measure.bench import measure_bench, outcomes
from pyrite.measure.foreign import Columns, table_from_file
from pyrite.measure.measure import measure_table
from pyrite.records import Label, Truth, VerdictLine
from pyrite.store.jsonl import append_lines, write_record


def recorded(ground: Ground, *what: str | None) -> None:
    """Episodes of tasks of their own, with an outcome or a cause; None: not verified."""
    for n, said in enumerate(what):
        name = f"e{n}"
        ground.episode(name, f"t{n}", None)
        if said is not None:
            known = said in {"pass", "fail"}
            body = {
                "outcome": said if known else "indeterminate",
                "pass": {"pass": True, "fail": False}.get(said),
            }
            truth = Truth.model_validate({"episode_id": name, **body, "cause": None if known else said})
            write_record(ground.bench.paths.episode(name).truth, truth)


def rows(path: Path, *found: dict[str, Any]) -> Path:
    file = path / "results.jsonl"
    file.write_text("".join(json.dumps({"task": f"t{n}", **row}) + "\n" for n, row in enumerate(found)))
    return file


def test_errored_samples_stay_in_the_denominator(tmp_path: Path) -> None:
    """github.com/UKGovernmentBEIS/inspect_ai/issues/2914: 2 pass, 4 fail, 2 errors; 2 of 6, in [2/8, 4/8]."""
    ground = Ground(tmp_path)
    recorded(ground, *["pass"] * 2, *["fail"] * 4, *["verifier_error"] * 2)
    found = outcomes(ground.bench)["strata"]["natural"]
    assert (found["attempted"], found["indeterminate"], found["scored"]) == (8, 2, 6)
    assert found["rate"] == pytest.approx(2 / 6)
    assert found["bounds"] == [2 / 8, 4 / 8]
    assert found["causes"] == {"verifier_error": {"n": 2, "blame": "verifier"}}


def test_timeouts_that_were_graded_count(tmp_path: Path) -> None:
    """github.com/marin-community/marin/pull/8947: one with a valid reward, one with none."""
    ground = Ground(tmp_path)
    ground.task("note")
    ground.episode("graded", "note", GOOD, ended_by="time_limit")
    ground.episode("wrong", "note", INITIAL, ended_by="time_limit")
    ground.episode("ungraded", "note", None, ended_by="time_limit")
    assert ground.report.episodes == 3
    found = outcomes(ground.bench)["strata"]["natural"]
    assert (found["pass"], found["fail"], found["indeterminate"], found["rate"]) == (1, 1, 1, 0.5)
    assert found["causes"] == {"state_missing": {"n": 1, "blame": "environment"}}


def test_a_log_without_a_score(tmp_path: Path) -> None:
    """github.com/promptfoo/promptfoo/pull/8932: a missing score is mapped to a fail."""
    path = rows(tmp_path, {"score": 1, "j": 1}, {"score": 0, "j": 0}, {"score": None, "j": 1}, {"j": 1})
    found = measure_table(path, truth="score", cluster="task", verdicts=["j"])
    assert (found["truth"]["pass"], found["truth"]["fail"]) == (1, 1)
    assert (found["truth"]["attempted"], found["truth"]["missing"]) == (4, 2)
    assert found["judges"]["j"]["fpr"]["value"] == 0, "what has no truth is no failure that was accepted"


def test_a_verdict_without_a_score_is_missing(tmp_path: Path) -> None:
    """The same of a judge: a verdict that is not there rejects nothing."""
    ground = Ground(tmp_path)
    recorded(ground, "pass", "pass", "fail", "fail")
    path = ground.bench.paths.verdict_file("j", "E1-final")
    for name in ("e0", "e2"):
        line = {"episode_id": name, "judge": "j", "condition": "E1-final", "run": 1, "verdict": "success"}
        append_lines(path, [VerdictLine.model_validate(line)])
    judge = measure_bench(ground.bench, resamples=200)["strata"]["natural"]["conditions"]["E1-final"]
    counts = judge["judges"]["j"]["counts"]
    assert (counts["tp"], counts["fp"], counts["fn"], counts["tn"], counts["missing"]) == (1, 1, 0, 0, 2)


def test_labels_that_disagree(tmp_path: Path) -> None:
    """github.com/McGill-NLP/agent-reward-bench/issues/9: told, and not averaged away."""
    ground = Ground(tmp_path)
    recorded(ground, "pass", "fail")
    said = [("e0", "ana", "pass"), ("e0", "bo", "fail"), ("e1", "ana", "fail"), ("e1", "bo", "fail")]
    for name, who, outcome in said:
        body = {"episode_id": name, "annotator": who, "outcome": outcome}
        append_lines(ground.bench.paths.labels, [Label.model_validate(body)])
    found = measure_bench(ground.bench, resamples=200, truth="labels")
    truth = found["strata"]["natural"]["truth"]
    assert (truth["pass"], truth["fail"], truth["indeterminate"]) == (0, 1, 1)
    assert truth["causes"] == {"people_undecided": {"n": 1, "blame": "people"}}
    assert [one["episode_id"] for one in found["indeterminate"]] == ["e0"]
    agreement = found["people"]["agreement"]["pairwise"]
    assert (agreement["value"], agreement["n"]) == (0.5, 2)


def test_a_network_failure_is_no_accuracy_of_zero(tmp_path: Path) -> None:
    """github.com/modelscope/evalscope/issues/1608: exceptions and null rewards."""
    broken = {"reward": None, "exception": "docker: connection refused", "j": 1}
    found = measure_table(rows(tmp_path, broken, broken), truth="reward>=1", cluster="task", verdicts=["j"])
    truth, judge = found["truth"], found["judges"]["j"]
    assert (truth["rate"], truth["reason"], truth["scored"]) == (None, "no_scored_episodes", 0)
    assert truth["bounds"] == [0.0, 1.0]
    assert (judge["fpr"]["value"], judge["inflation"]["value"]) == (None, None)
    ground = Ground(tmp_path / "bench")
    recorded(ground, "environment_lost", "environment_lost")
    assert outcomes(ground.bench)["strata"]["natural"]["rate"] is None


def test_a_partial_reward_is_no_success_until_that_is_said(tmp_path: Path) -> None:
    """github.com/ServiceNow/BrowserGym/issues/392: any reward above 0 becomes a success; here 0.1 of 1."""
    path = rows(tmp_path, {"reward": 0.1}, {"reward": 1.0})
    with pytest.raises(InputError, match=r"reward is '0\.1'"):
        measure_table(path, truth="reward", cluster="task", verdicts=["reward"])
    cut = table_from_file(path, Columns("reward>=1", "task", scores=("reward",)))
    assert cut.table.episodes.truth.tolist() == [0, 1]
    assert cut.scores["reward"].values.tolist() == [0.1, 1.0], "the score itself is kept"


def test_bounds_hold_whatever_the_unknown_are(tmp_path: Path) -> None:
    """Evidence pass, fail and unknown: the true rate is between all unknown failing and all passing."""
    ground = Ground(tmp_path)
    recorded(ground, "pass", "fail", "gold_failed", None)
    found = outcomes(ground.bench)["strata"]["natural"]
    assert (found["rate"], found["bounds"], found["unverified"]) == (0.5, [0.25, 0.75], 1)
