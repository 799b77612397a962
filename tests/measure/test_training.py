"""What a trainer would get from a judge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pyrite.measure.measure import measure_table


def block(tmp_path: Path, rows: list[str]) -> dict[str, Any]:
    path = tmp_path / "v.csv"
    path.write_text("task,truth,judge\n" + "\n".join(rows) + "\n", encoding="utf-8")
    result = measure_table(path, truth="truth", cluster="task", verdicts=["judge"], resamples=200)
    json.dumps(result, allow_nan=False)
    found: dict[str, Any] = result["judges"]["judge"]["training"]
    return found


def m1(tmp_path: Path) -> list[str]:
    cells = [("1", "1", 18), ("1", "0", 2), ("0", "1", 12), ("0", "0", 68)]
    kinds = [(truth, said) for truth, said, n in cells for _ in range(n)]
    return [f"t{at},{truth},{said}" for at, (truth, said) in enumerate(kinds)]


def test_m1(tmp_path: Path) -> None:
    found = block(tmp_path, m1(tmp_path))
    assert found["youden"] == pytest.approx(0.75)
    assert found["corrected_rewards"]["accepted"] == pytest.approx(1.1333, abs=5e-5)
    assert found["corrected_rewards"]["rejected"] == pytest.approx(-0.2)
    printed = {"0.2": (0.40, 0.275, 0.531), "0.5": (0.1429, 0.086, 0.220), "0.8": (0.04, 0.023, 0.066)}
    for name, (value, low, high) in printed.items():
        one = found["fdr_at"][name]
        assert one["value"] == pytest.approx(value, abs=5e-5)
        assert (one["low"], one["high"]) == pytest.approx((low, high), abs=0.003)
    assert found["fdr_one_per_task"]["value"] == pytest.approx(0.4), "one episode a task: the pooled FDR"


def test_tasks_that_nobody_solves_weigh_more_with_one_episode_a_task(tmp_path: Path) -> None:
    rows = [f"u{t},0,1" for t in range(10)] + [f"s{t},1,1" for t in range(10) for _ in range(9)]
    found = block(tmp_path, rows)
    assert found["fdr_one_per_task"]["value"] == 0.5
    assert found["fdr_one_per_task"]["n"] == 20
    assert found["fdr_one_per_task"]["low"] < 0.5 < found["fdr_one_per_task"]["high"]


@pytest.mark.parametrize(
    ("rows", "projected", "balanced"),
    [
        (["a,0,0", "b,0,0"], "no_positives", "nothing_accepted"),
        (["a,1,1", "b,1,1"], "no_negatives", None),
        (["a,0,0", "a,1,1", "a,1,1"], "single_cluster", "single_cluster"),
        (["a,0,0", "b,0,0", "a,1,0", "b,1,0"], "nothing_accepted", "nothing_accepted"),
    ],
)
def test_what_is_unknown_is_null_with_its_reason(
    rows: list[str], projected: str, balanced: str | None, tmp_path: Path
) -> None:
    found = block(tmp_path, rows)
    assert {one["reason"] for one in found["fdr_at"].values()} == {projected}
    assert all(one["value"] is None for one in found["fdr_at"].values())
    assert found["fdr_one_per_task"]["reason"] == balanced


def test_a_judge_that_knows_nothing_has_no_corrected_reward(tmp_path: Path) -> None:
    found = block(tmp_path, ["a,0,1", "b,0,0", "a,1,1", "b,1,0"])
    assert found["youden"] == 0
    assert found["corrected_rewards"] is None
