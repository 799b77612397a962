"""True against judged success by group."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyrite.measure.blocks import Settings
from pyrite.measure.foreign import CONDITION, Columns, table_from_file
from pyrite.measure.rank import rank_block
from pyrite.measure.vote import votes_of

SHARED = Path(os.environ.get("PYRITE_SHARED") or Path(__file__).resolve().parents[2].parent / "shared")
JOINED = SHARED / "data" / "webjudge-on-agentrewardbench" / "joined_test.csv"
AGENT = "GenericAgent-"


def ranked(
    path: Path, judge: str, truth: str, by: str, cluster: str, strip: str | None = None
) -> dict[str, Any]:
    columns = Columns(truth=truth, cluster=cluster, verdicts=(judge,), groups=(by,), cluster_strip=strip)
    table = table_from_file(path, columns).table
    rows = np.ones(len(table.episodes), dtype=np.bool_)
    said = votes_of(table, judge, CONDITION).verdict
    found = rank_block(table.episodes, rows, said, by, table.episodes.groups[by], Settings(resamples=400))
    json.dumps(found, allow_nan=False)
    return found


def published(judge: str) -> dict[str, Any]:
    if not JOINED.is_file():
        pytest.skip(f"no published verdicts at {JOINED}")
    return ranked(JOINED, judge, "human_success", "agent", "task_id", r"\.(improved|resized)")


@pytest.mark.parametrize(
    ("judge", "judged"),
    [
        ("webjudge_gpt4o", {"anthropic": 30.7, "gpt-4o": 27.0, "Qwen": 25.7, "meta-llama": 17.0}),
        ("webjudge_7B", {"anthropic": 25.0, "gpt-4o": 23.3, "Qwen": 19.3, "meta-llama": 11.2}),
        ("webjudge_o4_mini", {"anthropic": 17.0, "gpt-4o": 18.0, "Qwen": 16.7, "meta-llama": 8.3}),
    ],
)
def test_true_and_judged_success_of_four_agents(judge: str, judged: dict[str, float]) -> None:
    true = {"anthropic": 33.0, "gpt-4o": 31.3, "Qwen": 22.3, "meta-llama": 17.0}
    groups = published(judge)["groups"]
    for start, rate in judged.items():
        name = next(one for one in groups if one.startswith(AGENT + start))
        found = groups[name]
        assert round(100 * found["true"]["value"], 1) == true[start]
        assert round(100 * found["judged"]["value"], 1) == rate
        assert found["inflation"]["value"] == pytest.approx((found["fp"] - found["fn"]) / found["n"])
        assert found["inflation"]["low"] < found["inflation"]["value"] < found["inflation"]["high"]


def test_only_the_strictest_judge_swaps_the_two_best() -> None:
    assert published("webjudge_gpt4o")["rank_changes"] == []
    assert published("webjudge_7B")["rank_changes"] == []
    found = published("webjudge_o4_mini")
    first, second = found["rank_changes"]
    assert (first.startswith(AGENT + "anthropic"), second.startswith(AGENT + "gpt-4o")) == (True, True)
    assert [found["groups"][name]["judged_rank"] for name in (first, second)] == [2, 1]
    swapped = [one for one in found["pairs"] if not one["same_order"]]
    assert len(swapped) == 1
    assert 0.3 < swapped[0]["probability"] < 0.7, "both are so close that the order means little"
    assert found["concordance"]["value"] == pytest.approx(5 / 6)


def test_qwen_on_webarena_is_inflated() -> None:
    if not JOINED.is_file():
        pytest.skip(f"no published verdicts at {JOINED}")
    columns = Columns(
        truth="human_success",
        cluster="task_id",
        verdicts=("webjudge_gpt4o",),
        groups=("agent", "benchmark"),
        cluster_strip=r"\.(improved|resized)",
    )
    episodes = (table := table_from_file(JOINED, columns).table).episodes
    site = episodes.groups["benchmark"]
    rows = site.codes == site.names.index("webarena")
    said = votes_of(table, "webjudge_gpt4o", CONDITION).verdict
    groups = rank_block(episodes, rows, said, "agent", episodes.groups["agent"], Settings(resamples=200))[
        "groups"
    ]
    found = next(block for name, block in groups.items() if "Qwen" in name)
    assert [round(100 * found[side]["value"], 1) for side in ("true", "judged")] == [33.3, 44.9]


def written(tmp_path: Path, rows: list[str]) -> Path:
    path = tmp_path / "v.csv"
    path.write_text("task,truth,judge,agent\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_few_episodes_get_no_rank(tmp_path: Path) -> None:
    rows = [f"t{i},{i % 2},{i % 3 % 2},{agent}" for agent in ("a", "b") for i in range(12)]
    rows += [f"t{i},1,1,c" for i in range(9)]
    found = ranked(written(tmp_path, rows), "judge", "truth", "agent", "task")
    assert found["groups"]["c"]["n"] == 9
    assert found["groups"]["c"]["true_rank"] is None
    assert [(one["a"], one["b"]) for one in found["pairs"]] == [("a", "b")]


def test_one_group_and_no_verdict_say_why(tmp_path: Path) -> None:
    one = ranked(written(tmp_path, [f"t{i},1,1,a" for i in range(12)]), "judge", "truth", "agent", "task")
    assert "fewer than two groups" in one["reason"]
    assert one["concordance"] is None
    none = ranked(written(tmp_path, [f"t{i},1,,a" for i in range(12)]), "judge", "truth", "agent", "task")
    assert none["groups"] == {}


def test_episodes_without_truth_or_verdict_are_on_neither_side(tmp_path: Path) -> None:
    rows = [f"t{i},1,1,{agent}" for agent in ("a", "b") for i in range(10)]
    rows += ["u1,indeterminate,1,a", "u2,1,,a"]
    found = ranked(written(tmp_path, rows), "judge", "truth", "agent", "task")
    assert found["groups"]["a"]["n"] == 10
