"""Plans: what is given, seen or assumed, and what follows."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyrite.errors import UsageError
from pyrite.measure.plan import NAMES, plan, plan_table

Make = Callable[[], Any]


def questions(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    json.dumps(result, allow_nan=False)
    return {one["name"]: one for one in result["questions"]}


def test_the_printed_sizes() -> None:
    found = questions(
        plan(None, {"fpr": 0.15, "difference": 0.05, "discordant": 0.15, "per_task": 4, "icc": 0.3})
    )
    assert (found["pair"]["independent"], found["pair"]["failed"], found["pair"]["tasks"]) == (469, 891, 223)
    assert found["independent"]["independent"] == 906
    assert found["gate_none"]["independent"] == 59
    assert found["pair"]["episodes"] is None
    assert found["pair"]["reason"] == "no success rate is known"
    single = questions(plan(None, {"fpr": 0.2, "half_width": 0.05}))["precision"]
    assert single["independent"] == 246


def test_a_success_rate_says_how_many_episodes() -> None:
    found = questions(plan(None, {"success_rate": 0.6, "fpr": 0.02, "limit": 0.05}))
    for one in found.values():
        assert one["episodes"] == math.ceil(one["failed"] / 0.4 - 1e-6)
        assert one["tasks"] == max(6, math.ceil(one["failed"] / 4))
        assert one["reason"] is None


def test_what_failed_episodes_can_show() -> None:
    given = {"discordant": 0.15, "difference": 0.05, "icc": 0.3, "per_task": 4, "failed": 150}
    found = plan(None, given)["detectable"]
    assert (round(found["independent"], 3), round(found["value"], 3)) == (0.088, 0.120)
    few = plan(None, {**given, "failed": 20})["detectable"]
    assert (few["value"], few["reason"]) == (None, "too_few_clusters")
    assert plan(None, {})["detectable"] is None


def test_nothing_is_known() -> None:
    result = plan(None, {})
    assert {one["from"] for one in result["assumptions"].values()} == {"default", "independent errors", None}
    assert result["assumptions"]["discordant"]["value"] == pytest.approx(0.10 * 0.85 + 0.15 * 0.90)
    assert set(result["assumptions"]) == {*NAMES, "icc_difference"}


def test_a_judge_too_near_to_the_limit() -> None:
    one = questions(plan(None, {"fpr": 0.0499999, "limit": 0.05}))["gate"]
    assert (one["failed"], one["tasks"], one["independent"]) == (None, None, None)
    assert "too near" in one["reason"]


def test_less_disagreement_than_difference_is_not_taken_at_its_word() -> None:
    result = plan(None, {"difference": 0.2, "discordant": 0.1})
    assert questions(result)["pair"]["independent"] > 0
    assert any("--discordant" in text for text in result["warnings"])


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"fpr": 0.0}, "--fpr"),
        ({"fpr": math.nan}, "--fpr"),
        ({"icc": -0.1}, "--icc"),
        ({"success_rate": 1.0}, "--success-rate"),
        ({"half_width": 1.0}, "--half-width"),
        ({"per_task": 0}, "--per-task"),
        ({"per_task": math.inf}, "--per-task"),
        ({"failed": -1}, "--failed"),
    ],
)
def test_out_of_range(given: dict[str, float | None], option: str) -> None:
    with pytest.raises(UsageError, match=option) as caught:
        plan(None, given)
    assert caught.value.expected
    with pytest.raises(UsageError, match="--power"):
        plan(None, {}, power=1.0)


def test_a_bench_says_what_it_saw(make_bench: Make) -> None:
    made = make_bench()
    for t in range(10):
        for repeat in range(4):
            made.episode(f"n{t}-{repeat}", f"task-{t}", "fail" if repeat else "pass")
    ids = made.bench.episode_ids()
    made.verdicts("accept-all", "E1-final", [(i, "success") for i in ids])
    # alike within a task: the ICC is 1
    made.verdicts("kind", "E1-final", [(i, "success" if i[1] in "01" else "failure") for i in ids])
    made.verdicts("strict", "E1-final", [(i, "failure") for i in ids])
    result = plan(made.bench, {"icc": None})
    assumed = {name: (one["value"], one["from"]) for name, one in result["assumptions"].items()}
    assert assumed["fpr"] == (0.2, "bench")
    assert assumed["icc"] == (pytest.approx(1.0), "bench")
    assert assumed["icc_difference"] == (pytest.approx(1.0), "bench")
    assert assumed["discordant"] == (pytest.approx(0.2), "bench")
    assert assumed["per_task"] == (3, "bench")
    assert assumed["success_rate"] == (0.25, "bench")
    assert assumed["failed"] == (30, "bench")
    assert questions(result)["gate_none"]["design_effect"] == pytest.approx(3)
    given = plan(made.bench, {"icc": 0.5})["assumptions"]["icc"]
    assert given == {"value": 0.5, "from": "given"}


def test_a_table_says_the_same_as_a_bench(make_bench: Make, tmp_path: Path) -> None:
    made = make_bench()
    rows: list[str] = []
    said: dict[str, list[tuple[str, str]]] = {"kind": [], "strict": []}
    for t in range(10):
        for repeat in range(4):
            name, kind = f"n{t}-{repeat}", "success" if t < 2 else "failure"
            made.episode(name, f"task-{t}", "fail" if repeat else "pass")
            said["kind"].append((name, kind))
            said["strict"].append((name, "failure"))
            rows.append(f"task-{t},{'fail' if repeat else 'pass'},{kind},failure\n")
    for judge, lines in said.items():
        made.verdicts(judge, "E1-final", lines)
    path = tmp_path / "v.csv"
    path.write_text("task,truth,kind,strict\n" + "".join(rows), encoding="utf-8")
    columns: dict[str, Any] = {"truth": "truth", "cluster": "task", "verdicts": ["kind", "strict"]}
    of_table, of_bench = plan_table(path, {}, **columns), plan(made.bench, {})
    assert of_table["questions"] == of_bench["questions"]
    assert of_table["detectable"] == of_bench["detectable"]
    assert of_table["assumptions"]["icc"] == {"value": pytest.approx(1.0), "from": "table", "of": "kind"}
    alone = plan_table(path, {}, truth="truth", cluster="task")["assumptions"]
    assert (alone["fpr"]["from"], alone["per_task"]) == ("default", {"value": 3, "from": "table"})
    with pytest.raises(UsageError, match="--cluster"):
        plan_table(path, {}, truth="truth", cluster=None)


def test_a_judge_that_decided_nothing_has_no_rate(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text(
        "task,truth,silent,strict\n" + "".join(f"t{k},fail,,0\n" for k in range(12)), encoding="utf-8"
    )
    found = plan_table(path, {}, truth="truth", cluster="task", verdicts=["silent", "strict"])["assumptions"]
    assert found["fpr"] == {"value": 0.1, "from": "default"}
    assert found["discordant"]["from"] == "independent errors"


def test_a_bench_without_failures_says_nothing(make_bench: Make) -> None:
    made = make_bench()
    made.episode("n0", "task-0", "pass")
    assumed = plan(made.bench, {})["assumptions"]
    assert assumed["fpr"]["from"] == assumed["per_task"]["from"] == "default"


def test_a_gate_is_planned_by_tasks_and_not_by_episodes() -> None:
    for icc in (0.0, 0.3):
        none = questions(plan(None, {"icc": icc, "per_task": 4}))["gate_none"]
        assert (none["independent"], none["failed"], none["tasks"]) == (59, 236, 59)
    rare = questions(plan(None, {"per_task": 0.5}))["gate_none"]
    assert (rare["failed"], rare["tasks"]) == (59, 118)


def test_an_icc_of_nearly_nothing_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    rows = "".join(f"t{k // 4},fail,{int(k % 4 == 0)}\n" for k in range(80))
    path.write_text("task,truth,judge\n" + rows, encoding="utf-8")
    found = plan_table(path, {}, truth="truth", cluster="task", verdicts=["judge"])
    assert found["assumptions"]["icc"] == {"value": 0.1, "from": "table", "of": "judge", "seen": 0.0}
    assert any("an ICC below 0.1 was seen" in text for text in found["warnings"])
    said = plan_table(path, {"icc": 0.0}, truth="truth", cluster="task", verdicts=["judge"])
    assert said["assumptions"]["icc"] == {"value": 0.0, "from": "given"}
