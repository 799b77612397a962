"""Judges against each other: only what both decided, one declared family, and nothing that is not shown."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pyrite.errors import InputError, UsageError
from pyrite.measure.compare import compare_bench, compare_table, untestable

Make = Callable[[], Any]
SHARED = Path(os.environ.get("PYRITE_SHARED") or Path(__file__).resolve().parents[2].parent / "shared")
JOINED = SHARED / "data" / "webjudge-on-agentrewardbench" / "joined_test.csv"
KEYS = {
    "metric",
    "condition",
    "a",
    "b",
    "n",
    "clusters",
    "both",
    "a_only",
    "b_only",
    "neither",
    "difference",
    "p_signflip",
    "p_mcnemar",
    "p_holm",
    "detectable_difference",
    "reason",
}
# the eight-task pair: (both, only a, only b, neither) of each task
EIGHT = [(0, 4, 0, 0), (0, 0, 1, 3), (1, 3, 0, 0), (0, 0, 0, 3), (1, 0, 0, 3), (0, 1, 0, 1), (0, 0, 0, 4)]
EIGHT = [*EIGHT, (0, 2, 1, 2)]


def written(path: Path, rows: Sequence[Sequence[object]], header: Sequence[str]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as handle:
        csv.writer(handle).writerows([header, *rows])
    return path


def eight_tasks(path: Path) -> Path:
    rows: list[tuple[object, ...]] = []
    for k, cells in enumerate(EIGHT):
        for n, (a, b) in zip(cells, ((1, 1), (1, 0), (0, 1), (0, 0)), strict=True):
            rows += [(f"t{k}", "fail", a, b)] * n
    return written(path, rows, ["task", "truth", "a", "b"])


def compared(path: Path, **options: Any) -> dict[str, Any]:
    chosen: dict[str, Any] = {"truth": "truth", "cluster": "task", "verdicts": ["a", "b"], **options}
    result = compare_table(path, **chosen)
    json.dumps(result, allow_nan=False)
    return result


def pair(result: dict[str, Any], metric: str, a: str, b: str) -> dict[str, Any]:
    found = [p for p in result["pairs"] if (p["metric"], p["a"], p["b"]) == (metric, a, b)]
    assert len(found) == 1
    one: dict[str, Any] = found[0]
    return one


def test_the_naive_test_does_not_decide(tmp_path: Path) -> None:
    result = compared(eight_tasks(tmp_path / "v.csv"))
    one = pair(result, "fpr", "a", "b")
    assert one.keys() >= KEYS
    assert [one[cell] for cell in ("n", "clusters", "both", "a_only", "b_only", "neither")] == [
        30,
        8,
        2,
        10,
        2,
        16,
    ]
    assert one["p_mcnemar"] == pytest.approx(0.0386, abs=5e-5)
    assert (one["p_signflip"], one["p_holm"], one["differs"]) == (0.25, 0.25, False)
    assert one["difference"]["value"] == pytest.approx(0.2667, abs=5e-5)
    assert one["difference"]["low"] == pytest.approx(-0.1088, abs=5e-5)
    assert one["difference"]["high"] == pytest.approx(0.6422, abs=5e-5)
    assert one["reference"]["signflip_task_weighted"]["p"] == 0.1875
    assert one["detectable_difference"] > one["difference"]["value"]
    assert one["reason"] is None
    # five tasks disagree: no p of theirs can be below .0625
    assert "too few tasks" in result["warnings"][0]
    # nothing passed: no TPR, and no family to correct for
    other = pair(result, "tpr", "a", "b")
    assert (other["p_signflip"], other["p_mcnemar"], other["p_holm"], other["differs"]) == (None,) * 4
    assert (other["n"], other["reason"], other["difference"]["value"]) == (0, "no_positives", None)
    assert not untestable(result)


def test_swapping_the_judges(tmp_path: Path) -> None:
    path = eight_tasks(tmp_path / "v.csv")
    one = pair(compared(path), "fpr", "a", "b")
    other = pair(compared(path, verdicts=["b", "a"]), "fpr", "b", "a")
    assert other["difference"]["value"] == -one["difference"]["value"]
    assert other["difference"]["low"] == pytest.approx(-one["difference"]["high"])
    for key in ("p_signflip", "p_mcnemar", "p_holm", "detectable_difference", "both", "neither"):
        assert other[key] == one[key]
    assert (other["a_only"], other["b_only"]) == (one["b_only"], one["a_only"])


def test_the_order_of_rows_and_the_names_of_tasks_change_nothing(tmp_path: Path) -> None:
    path = eight_tasks(tmp_path / "v.csv")
    lines = path.read_text().splitlines()
    other = tmp_path / "w.csv"
    renamed = [line.replace("t7,", "a,").replace("t0,", "z,") for line in reversed(lines[1:])]
    other.write_text("\n".join([lines[0], *renamed]) + "\n")
    one, two = pair(compared(other), "fpr", "a", "b"), pair(compared(path), "fpr", "a", "b")
    exact = ("n", "clusters", "a_only", "p_signflip", "p_holm", "p_mcnemar")
    assert [one[key] for key in exact] == [two[key] for key in exact]
    assert one["reference"]["signflip_task_weighted"] == two["reference"]["signflip_task_weighted"]
    for end in ("value", "low", "high"):
        assert one["difference"][end] == pytest.approx(two["difference"][end], abs=1e-12)


def test_only_episodes_that_both_decided(tmp_path: Path) -> None:
    rows: list[tuple[object, ...]] = [(f"t{k}", "fail", 1, 0) for k in range(8)]
    rows += [("t8", "fail", 1, ""), ("t9", "fail", "", 0), ("t9", "indeterminate", 1, 0)]
    rows += [("t9", "fail", "uncertain", "parse_error")]
    result = compared(written(tmp_path / "v.csv", rows, ["task", "truth", "a", "b"]))
    one = pair(result, "fpr", "a", "b")
    # uncertain and parse_error are decisions not to accept; missing is none
    assert (one["n"], one["lost"], one["a_only"], one["neither"]) == (9, 2, 8, 1)
    assert one["p_signflip"] == pytest.approx(2 / 2**8)
    assert one["differs"] is True


def test_what_cannot_be_tested_is_null_and_not_in_the_family(tmp_path: Path) -> None:
    rows: list[tuple[object, ...]] = [(f"t{k}", "fail", 1, 0, "") for k in range(8)]
    path = written(tmp_path / "v.csv", rows, ["task", "truth", "a", "b", "c"])
    result = compared(path, verdicts=["a", "b", "c"])
    dead = pair(result, "fpr", "a", "c")
    assert (dead["n"], dead["lost"], dead["reason"]) == (0, 8, "no_common_verdicts")
    assert [dead[k] for k in ("p_signflip", "p_holm", "p_mcnemar", "detectable_difference")] == [None] * 4
    live = pair(result, "fpr", "a", "b")
    assert live["p_holm"] == live["p_signflip"], "alone in its family"
    family = next(f for f in result["families"] if f["metric"] == "fpr")
    assert (family["pairs"], family["tested"]) == (3, 1)
    assert family["cochrans_q"]["reason"] == "no_common_verdicts"


def test_one_task_tests_nothing(tmp_path: Path) -> None:
    rows = [("t", "fail", 1, 0)] * 9
    result = compared(written(tmp_path / "v.csv", rows, ["task", "truth", "a", "b"]))
    one = pair(result, "fpr", "a", "b")
    assert (one["p_signflip"], one["reason"], one["difference"]["value"]) == (None, "single_cluster", 1.0)
    assert untestable(result)


def test_few_tasks_have_no_detectable_difference(tmp_path: Path) -> None:
    rows = [(f"t{k % 5}", "fail", 1, 0) for k in range(50)]
    one = pair(compared(written(tmp_path / "v.csv", rows, ["task", "truth", "a", "b"])), "fpr", "a", "b")
    assert one["p_signflip"] == 0.0625
    assert (one["detectable_difference"], one["reason"]) == (None, "too_few_clusters")
    assert one["difference"]["low"] < one["difference"]["high"], "never of no width"


def test_judges_that_agree_on_everything(tmp_path: Path) -> None:
    rows = [(f"t{k}", "fail", k % 2, k % 2) for k in range(40)]
    one = pair(compared(written(tmp_path / "v.csv", rows, ["task", "truth", "a", "b"])), "fpr", "a", "b")
    assert (one["p_signflip"], one["differs"], one["difference"]["value"]) == (1, False, 0)
    assert one["difference"]["low"] < 0 < one["difference"]["high"]
    assert 0 < one["detectable_difference"] < 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"truth": None}, "--truth"),
        ({"cluster": None}, "--cluster"),
        ({"verdicts": ["a"]}, "1 judge in --verdicts"),
        ({"verdicts": []}, "0 judges in --verdicts"),
        ({"verdicts": ["a", "a"]}, "twice"),
        ({"verdicts": ["a", "nope"]}, "nope"),
        ({"key": ["task"]}, "stands again"),
    ],
)
def test_wrong_options(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compared(eight_tasks(tmp_path / "v.csv"), **options)


def test_unknown_label_and_no_rows(tmp_path: Path) -> None:
    path = written(tmp_path / "v.csv", [("t", "fail", "yep", 0)], ["task", "truth", "a", "b"])
    with pytest.raises(InputError, match="yep"):
        compared(path)
    with pytest.raises(UsageError):
        compared(written(tmp_path / "w.csv", [], ["task", "truth", "a", "b"]))


def two_judges(make_bench: Make, families: int = 1) -> Any:
    made = make_bench()
    for t in range(12):
        family = f"f{t % families}"
        made.episode(f"n{t}", f"task-{t}", "fail", family=family)
        made.episode(f"p{t}", f"task-{t}", "pass", family=family)
        made.episode(f"u{t}", f"task-{t}", "fail", source="perturbed", family=family)
    ids = made.bench.episode_ids()
    made.verdicts("kind", "E1-final", [(i, "success") for i in ids])
    made.verdicts("strict", "E1-final", [(i, "success" if i[0] == "p" else "failure") for i in ids])
    made.verdicts("accept-all", "E1-final", [(i, "success") for i in ids])
    made.verdicts("kind", "E3-full", [(i, "success") for i in ids])
    return made


def test_a_bench_in_its_leading_stratum(make_bench: Make) -> None:
    bench = two_judges(make_bench).bench
    result = compare_bench(bench)
    json.dumps(result, allow_nan=False)
    assert (result["stratum"], result["episodes"]) == ("natural", 24)
    assert [(p["metric"], p["condition"], p["a"], p["b"]) for p in result["pairs"]] == [
        ("fpr", "E1-final", "kind", "strict"),
        ("tpr", "E1-final", "kind", "strict"),
    ]
    one, two = result["pairs"]
    assert (one["n"], one["a_only"], one["differs"]) == (12, 12, True)
    assert (two["p_signflip"], two["differs"]) == (1, False)
    assert compare_bench(bench, stratum="perturbed")["pairs"][0]["n"] == 12
    named = compare_bench(bench, judges=["kind", "accept-all"], conditions=["E1-final"])
    assert {p["b"] for p in named["pairs"]} | {p["a"] for p in named["pairs"]} == {"kind", "accept-all"}


def test_the_wider_of_task_and_family_leads(make_bench: Make) -> None:
    one = compare_bench(two_judges(make_bench, families=3).bench)["pairs"][0]
    assert one["unit"] == "family"
    assert one["clusters"] == 3
    assert one["p_signflip"] == 0.25
    assert one["difference"]["by_task"]["low"] > one["difference"]["low"]
    assert (one["detectable_difference"], one["reason"]) == (None, "too_few_clusters")


def test_an_incomplete_vote_is_no_decision(make_bench: Make) -> None:
    made = make_bench()
    for t in range(8):
        made.episode(f"n{t}", f"task-{t}", "fail")
    votes = [["success"] * 3] * 6 + [["success", "success", "absent"], ["success", "absent", "absent"]]
    made.verdicts("kind", "E1-final", [(f"n{t}", votes[t]) for t in range(8)])
    made.verdicts("strict", "E1-final", [(f"n{t}", "failure") for t in range(8)])
    one = compare_bench(made.bench)["pairs"][0]
    assert (one["n"], one["lost"], one["p_signflip"]) == (6, 2, 2 / 2**6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stratum": "scripted"}, "no --stratum scripted"),
        ({"judges": ["nobody"]}, "no --judge nobody"),
        ({"conditions": ["E9"]}, "no --condition E9"),
        ({"conditions": ["E3-full"]}, "two judges"),
        ({"judges": ["kind"]}, "two judges"),
    ],
)
def test_what_a_bench_does_not_have(make_bench: Make, options: dict[str, Any], message: str) -> None:
    bench = two_judges(make_bench).bench
    with pytest.raises(UsageError, match=message) as caught:
        compare_bench(bench, **options)
    assert caught.value.expected


# --- published verdicts

PUBLISHED = ("webjudge_gpt4o", "webjudge_7B", "webjudge_o4_mini")


@pytest.mark.parametrize(
    ("a", "b", "cells", "shown", "detectable", "tpr"),
    [
        ("webjudge_gpt4o", "webjudge_7B", (35, 40, 20, 716), [2.5, 0.4, 4.5], 2.9, 13.2),
        ("webjudge_gpt4o", "webjudge_o4_mini", (20, 55, 11, 725), [5.4, 3.4, 7.5], 2.9, 23.4),
        ("webjudge_7B", "webjudge_o4_mini", (14, 41, 17, 739), [3.0, 0.9, 5.0], 2.9, 10.2),
    ],
)
def test_published_pairs(
    a: str, b: str, cells: tuple[int, ...], shown: list[float], detectable: float, tpr: float
) -> None:
    if not JOINED.is_file():
        pytest.skip(f"no published verdicts at {JOINED}")
    result = compare_table(
        JOINED,
        truth="human_success",
        cluster="task_id",
        cluster_strip=r"\.(improved|resized)",
        verdicts=PUBLISHED,
    )
    one = pair(result, "fpr", a, b)
    assert (one["n"], one["clusters"], one["lost"]) == (811, 271, 0)
    assert tuple(one[cell] for cell in ("both", "a_only", "b_only", "neither")) == cells
    assert [round(100 * one["difference"][end], 1) for end in ("value", "low", "high")] == shown
    assert round(100 * one["detectable_difference"], 1) == detectable
    assert one["differs"] is True
    assert round(100 * pair(result, "tpr", a, b)["difference"]["value"], 1) == tpr
    # with ten pairs in the family, as drawn in the design, .0237 would become .07
    if (a, b) == PUBLISHED[:2]:
        assert one["p_signflip"] == pytest.approx(0.0237, abs=5e-5)


def test_all_answers_stand_against_all_truths(make_bench: Make) -> None:
    made = make_bench()
    for t in range(6):
        made.episode(f"f{t}", f"task-{t}", "fail")
    made.episode("i0", "task-0", "indeterminate", cause="gold_failed")
    made.episode("u0", "task-0", None)
    said = ["success", "failure", "uncertain", "parse_error", "absent", "failure"]
    lines = [*((f"f{t}", said[t]) for t in range(6)), ("i0", "success"), ("u0", "success")]
    made.verdicts("mixed", "E1-final", lines)
    made.verdicts("strict", "E1-final", [(f"f{t}", "failure") for t in range(6)])
    result = compare_bench(made.bench)
    found = result["confusion"]["E1-final"]["mixed"]
    assert found["fail"] == {"accepts": 1, "rejects": 2, "uncertain": 1, "parse_error": 1, "missing": 1}
    assert found["indeterminate"]["accepts"] == 2
    assert sum(n for row in found.values() for n in row.values()) == result["episodes"] == 8
    together = result["families"][0]["together"]
    assert together == {"n": 5, "sets": [{"judges": [], "n": 4}, {"judges": ["mixed"], "n": 1}]}
