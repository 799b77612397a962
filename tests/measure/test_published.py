"""Published figures from real verdicts: 1,106 web episodes with a human label and three judges.

The data are third-party and stay outside of the project: PYRITE_SHARED, or a folder `shared` beside it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pyrite.measure.finding import finding
from pyrite.measure.measure import measure_table, undecided

SHARED = Path(os.environ.get("PYRITE_SHARED") or Path(__file__).resolve().parents[2].parent / "shared")
JOINED = SHARED / "data" / "webjudge-on-agentrewardbench" / "joined_test.csv"
LABELS = SHARED / "data" / "online-mind2web" / "human_label.json"
JUDGES = ("webjudge_o4_mini", "webjudge_7B", "webjudge_gpt4o")
STRIP = r"\.(improved|resized)"


def measured(**options: Any) -> dict[str, Any]:
    if not JOINED.is_file():
        pytest.skip(f"no published verdicts at {JOINED}")
    chosen: dict[str, Any] = {"truth": "human_success", "cluster": "task_id", "verdicts": JUDGES, **options}
    return measure_table(JOINED, **chosen)


@pytest.mark.parametrize(
    ("judge", "precision", "recall", "fpr", "fdr", "kappa", "cells"),
    [
        ("webjudge_o4_mini", 82.0, 47.8, 3.8, 18.0, 0.507, (141, 31, 154, 780)),
        ("webjudge_7B", 75.7, 58.0, 6.8, 24.3, 0.553, (171, 55, 124, 756)),
        ("webjudge_gpt4o", 73.7, 71.2, 9.2, 26.3, 0.626, (210, 75, 85, 736)),
    ],
)
def test_published_figures(
    judge: str,
    precision: float,
    recall: float,
    fpr: float,
    fdr: float,
    kappa: float,
    cells: tuple[int, int, int, int],
) -> None:
    found = measured()["judges"][judge]
    percent = {name: round(100 * found[name]["value"], 1) for name in ("precision", "tpr", "fpr", "fdr")}
    assert percent == {"precision": precision, "tpr": recall, "fpr": fpr, "fdr": fdr}
    assert round(found["kappa"]["value"], 3) == kappa
    counts = found["counts"]
    assert tuple(counts[name] for name in ("tp", "fp", "fn", "tn")) == cells
    assert [counts[name] for name in ("uncertain", "parse_error", "missing", "indeterminate")] == [0] * 4


def test_tasks_and_truth() -> None:
    assert measured()["tasks"] == 392
    result = measured(cluster_strip=STRIP)
    assert result["tasks"] == 300
    truth = result["truth"]
    shown = [round(100 * truth[name], 1) for name in ("rate", "low", "high")]
    assert shown == [26.7, 22.9, 30.8]
    assert (truth["attempted"], truth["pass"], truth["fail"]) == (1106, 295, 811)
    assert truth["bounds"] == [truth["rate"], truth["rate"]]
    assert not undecided(result)


def test_clustered_intervals() -> None:
    judge = measured(cluster_strip=STRIP)["judges"]["webjudge_gpt4o"]
    shown = {
        name: [round(100 * judge[name][end], 1) for end in ("value", "low", "high")]
        for name in ("fpr", "tpr")
    }
    assert shown == {"fpr": [9.2, 7.2, 11.8], "tpr": [71.2, 63.8, 77.6]}
    assert [round(100 * judge["fpr"]["iid"][end], 1) for end in ("low", "high")] == [7.4, 11.4]
    assert (judge["fpr"]["n"], judge["fpr"]["clusters"], round(judge["fpr"]["n_eff"])) == (811, 271, 615)
    assert [100 * judge["fdr"][end] for end in ("low", "high")] == pytest.approx([20.8, 32.8], abs=0.1)
    assert [round(100 * judge["inflation"][end], 1) for end in ("value", "low", "high")] == [-0.9, -3.8, 2.0]


def test_against_the_rule_based_reward_on_the_same_rows() -> None:
    human = measured(where="rule_based_reward")
    rules = measured(where="rule_based_reward", truth="rule_based_reward>=0.5")
    assert human["rows"] == rules["rows"] == 805
    assert _fpr(human) == [4.1, 5.7, 8.4]
    assert _fpr(rules) == [7.8, 11.1, 14.5]
    own = measured(verdicts=["rule_based_reward>=0.5"])["judges"]["rule_based_reward>=0.5"]
    assert own["counts"] | {"missing": 301} == own["counts"]
    assert [round(100 * own[name]["value"], 1) for name in ("precision", "tpr", "fpr")] == [83.6, 64.8, 4.6]
    assert round(own["kappa"]["value"], 3) == 0.649


def test_truth_with_missing_outcomes() -> None:
    truth = measured(truth="rule_based_reward>=0.5", verdicts=(), cluster_strip=STRIP)["truth"]
    assert (truth["pass"], truth["fail"], truth["indeterminate"]) == (165, 640, 301)
    assert round(100 * truth["rate"], 1) == 20.5
    assert [100 * truth[end] for end in ("low", "high")] == pytest.approx([16.6, 25.1], abs=0.1)
    assert [round(100 * bound, 1) for bound in truth["bounds"]] == [14.9, 42.1]


def test_groups_and_the_sentence() -> None:
    result = measured(cluster_strip=STRIP, group=["agent", "benchmark"])
    of = {json.dumps(block["by"], sort_keys=True): block for block in result["groups"]}
    qwen = "GenericAgent-Qwen_Qwen2.5-VL-72B-Instruct"
    cell = of[json.dumps({"agent": qwen, "benchmark": "webarena"}, sort_keys=True)]
    assert round(100 * cell["truth"]["rate"], 1) == 33.3
    counts = cell["judges"]["webjudge_gpt4o"]["counts"]
    assert round(100 * (counts["tp"] + counts["fp"]) / cell["truth"]["scored"], 1) == 44.9
    assert of[json.dumps({"agent": qwen})]["truth"]["attempted"] == 300
    assert finding(result).startswith(
        "webjudge_gpt4o accepts 9.2 % [7.2, 11.8] of failed episodes, 75 of 811."
    )


@pytest.mark.parametrize(
    ("agent", "rate", "low"),
    [
        ("Operator", 63.4, 61.3),
        ("Claude_Computer_Use_3.7", 57.7, 56.3),
        ("SeeAct", 30.7, 30.7),
        ("Browser_Use", 30.1, 30.0),
        ("Claude_Computer_Use_3.5", 29.0, 29.0),
        ("Agent-E", 28.2, 28.0),
    ],
)
def test_labels_with_a_third_value(agent: str, rate: float, low: float) -> None:
    if not LABELS.is_file():
        pytest.skip(f"no published labels at {LABELS}")
    column = f"{agent}_human_label"
    truth = measure_table(LABELS, truth=column, cluster="task_id", mapping=["2=indeterminate"])["truth"]
    assert round(100 * truth["rate"], 1) == rate
    assert round(100 * truth["bounds"][0], 1) == low


def _fpr(result: dict[str, Any]) -> list[float]:
    return [round(100 * result["judges"][judge]["fpr"]["value"], 1) for judge in JUDGES]
