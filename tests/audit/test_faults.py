"""Public fault reports that an audit must see before anything runs: one test a report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pyrite.audit.audit import Audit, audit


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def details(found: Audit, kind: str) -> list[str]:
    return [row["detail"] for row in found.findings if row["kind"] == kind]


@pytest.mark.parametrize(
    ("locator", "unknown"),
    [
        ("document.title", False),
        ("[...document.links]", False),
        ("func:get_it(__page__)", False),
        ("", False),
        ("xpath://h1", True),
        ("lambda: 1", True),
    ],
)
def test_a_locator_of_unknown_form(locator: str, unknown: bool, tmp_path: Path) -> None:
    """github.com/web-arena-x/webarena/issues/53: it raises in the middle of a run."""
    target: dict[str, Any] = {"url": "last", "locator": locator, "required_contents": {"exact_match": "x"}}
    item = {
        "task_id": 1,
        "intent": "x",
        "eval": {"eval_types": ["program_html"], "reference_answers": None, "program_html": [target]},
    }
    put(tmp_path / "test.raw.json", json.dumps([item]))
    assert bool(details(audit(tmp_path), "unknown_locator")) == unknown


@pytest.mark.parametrize(("budget", "flagged"), [(3, True), (5, False), (9, False)])
def test_a_step_budget_smaller_than_the_oracle_needs(budget: int, flagged: bool, tmp_path: Path) -> None:
    """github.com/google-research/android_world/issues/272."""
    clicks = "\n".join(f"    await session.click({n}, {n})" for n in range(5))
    variant = f"cb.Task(description='x', metadata={{'max_steps': {budget}}})"
    put(
        tmp_path / "t" / "main.py",
        "import cua_bench as cb\n"
        f"@cb.tasks_config\ndef load():\n    return [{variant}]\n"
        "@cb.evaluate_task\nasync def evaluate(task_cfg, session):\n    return [1.0]\n"
        f"@cb.solve_task\nasync def solve(task_cfg, session):\n{clicks}\n",
    )
    found = details(audit(tmp_path), "steps_below_oracle")
    assert found == ([f"{budget} steps allowed, the oracle needs 5"] if flagged else [])


def folder(root: Path, test: str, *, limit: int = 900, metadata: str = "", solve: str = "true\n") -> None:
    put(root / "t" / "task.toml", f"[metadata]\n{metadata}\n[agent]\ntimeout_sec = {limit}\n")
    put(root / "t" / "instruction.md", "Do it.")
    put(root / "t" / "tests" / "test.sh", test)
    put(root / "t" / "solution" / "solve.sh", solve)


def test_a_time_limit_below_what_the_oracle_takes(tmp_path: Path) -> None:
    """github.com/harbor-framework/terminal-bench-2/pull/53: the oracle needs 20 min, the limit is 15."""
    folder(tmp_path, "true\n", metadata="oracle_duration_sec = 1200")
    assert details(audit(tmp_path), "limit_below_oracle") == ["limit 900 s, the oracle takes 1200 s"]
    folder(tmp_path, "true\n", metadata="oracle_duration_sec = 1200", limit=1300)
    assert not details(audit(tmp_path), "limit_below_oracle")
    folder(tmp_path, "true\n", solve="make\nsleep 1000\n")
    assert details(audit(tmp_path), "limit_below_oracle") == ["limit 900 s, the oracle takes 1000 s"]
    folder(tmp_path, "true\n")
    span = {"started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:20:00Z"}
    put(tmp_path / "t" / "oracle" / "result.json", json.dumps({"agent_execution": span}))
    assert details(audit(tmp_path), "limit_below_oracle") == ["limit 900 s, the oracle takes 1200 s"]
    put(tmp_path / "t" / "oracle" / "result.json", json.dumps({"agent_execution": {**span, "started_at": 7}}))
    assert not details(audit(tmp_path), "limit_below_oracle"), "what is not known is no zero and no finding"


def test_hard_coded_paths_and_remote_downloads(tmp_path: Path) -> None:
    """The same update removed both from verifiers."""
    folder(tmp_path, "cp /home/alice/gold.txt /tmp\nwget https://x.example/gold.tar\n# curl not this\n")
    found = audit(tmp_path)
    assert details(found, "hard_coded_path") == ["/home/alice"]
    assert details(found, "remote_download") == ["wget https://x.example/gold.tar"]
    folder(tmp_path, "cp /tests/gold.txt /tmp\ndiff /home/user/a /tests/gold.txt\n")
    found = audit(tmp_path)
    assert not details(found, "hard_coded_path")
    assert not details(found, "remote_download")


def test_an_installer_that_fails_and_a_script_that_goes_on(tmp_path: Path) -> None:
    """github.com/Minions-Land/MagentaBenchmark/issues/37."""
    body = "curl -LsSf https://x.example/uv.sh | sh\nuvx pytest\necho 0 > /logs/verifier/reward.txt\n"
    folder(tmp_path, body)
    assert details(audit(tmp_path), "bootstrap_goes_on")
    folder(tmp_path, "set -euo pipefail\n" + body)
    assert not details(audit(tmp_path), "bootstrap_goes_on")


def test_a_text_where_an_object_is_expected_is_refused_at_load(tmp_path: Path) -> None:
    """github.com/web-arena-x/webarena/pull/51."""
    item = {"task_id": 1, "intent": "x", "eval": {"eval_types": ["string_match"], "reference_answers": "12"}}
    put(tmp_path / "test.raw.json", json.dumps([item]))
    found = audit(tmp_path)
    assert details(found, "schema_invalid")
    assert found.document["unknown"] == 1


@pytest.mark.parametrize(
    ("evaluator", "fractional"),
    [
        ({"func": "compare_pdfs"}, True),
        ({"func": ["exact_match", "exact_match"]}, True),
        ({"func": ["exact_match", "exact_match"], "conj": "or"}, False),
        ({"func": "exact_match"}, False),
    ],
)
def test_a_partial_score_that_a_threshold_would_turn(
    evaluator: dict[str, Any], fractional: bool, tmp_path: Path
) -> None:
    """github.com/ServiceNow/BrowserGym/issues/392: any reward above 0 becomes a success."""
    task = {"id": "a", "instruction": "x", "evaluator": evaluator}
    put(tmp_path / "examples" / "d" / "a.json", json.dumps(task))
    assert bool(details(audit(tmp_path), "fractional_score")) == fractional
