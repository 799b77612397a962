"""Line 7 of the gate: of which judge a certificate is, which tasks chose it, and whether it was changed."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyrite import flow
from pyrite.errors import InputError
from pyrite.measure.gate import gate_bench, gate_table
from pyrite.measure.gate_threshold import read_certificate, sealed
from pyrite.measure.measure import measure_table
from pyrite.measure.scores import Asked, score_marks, task_mark
from pyrite.records import VerdictLine
from pyrite.store.config import Gate
from pyrite.store.jsonl import append_lines

Make = Callable[[], Any]
TASKS, EACH = 260, 3


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    """Episodes of 260 tasks with a score that tells passes from failures nearly always."""
    rng = np.random.default_rng(0)
    path = tmp_path / "scores.csv"
    with path.open("w", newline="", encoding="utf-8") as handle:
        out = csv.writer(handle)
        out.writerow(["task", "ok", "s", "other"])
        for k in range(TASKS * EACH):
            passed = rng.random() < 0.4
            score = round(0.7 * passed + 0.6 * rng.random(), 4)
            out.writerow([f"t{k // EACH}.v{k % 2}", int(passed), score, round(rng.random(), 3)])
    return path


STRIP = r"\.v\d"


def certificate(path: Path, folder: Path, **options: Any) -> Path:
    result = measure_table(
        path, truth="ok", cluster="task", cluster_strip=STRIP, scores=["s"], asked=Asked(**options)
    )
    (found,) = flow.write_certificates(folder, result)
    return found


def gated(path: Path, judge: str, promise: Path | None, **options: Any) -> dict[str, Any]:
    chosen = {"cluster_strip": STRIP, "truth": "ok", "cluster": "task", "verdicts": [judge], **options}
    return gate_table(path, certificate=promise, **chosen)


def lines(found: dict[str, Any]) -> dict[int, dict[str, Any]]:
    json.dumps(found, allow_nan=False)
    return {one["line"]: one for one in found["judges"][0]["lines"]}


def test_the_tasks_that_chose_the_threshold_are_counted_in_no_line(scored: Path, tmp_path: Path) -> None:
    promise = certificate(scored, tmp_path / "c")
    read = read_certificate(promise)
    found = lines(gated(scored, read.judge, promise))
    assert found[7]["answer"] == "PASS"
    assert found[7]["reason"] == "chosen on 130 tasks, the 130 of them here are counted in no line"
    held = json.loads(promise.read_text(encoding="utf-8"))["fpr"]
    first = found[1]["parts"][0]
    assert (first["n"], first["value"]) == (held["n"], held["value"])  # the held-out tasks, and no other
    assert found[7]["parts"][0]["held_out_fpr"]["value"] == held["value"]
    everything = lines(gated(scored, read.judge, None))[1]["parts"][0]
    assert everything["n"] > 1.5 * first["n"]


def test_fresh_tasks_are_all_counted(scored: Path, tmp_path: Path) -> None:
    promise = certificate(scored, tmp_path / "c")
    fresh = tmp_path / "fresh.csv"
    head, *rows = scored.read_text(encoding="utf-8").splitlines()
    cells = [row.split(",") for row in rows]
    moved = [[f"new{task}", ok, f"{float(score) + 1e-5:.6f}", rest] for task, ok, score, rest in cells]
    fresh.write_text("\n".join([head, *map(",".join, moved), ""]), encoding="utf-8")
    judge = read_certificate(promise).judge
    found = lines(gated(fresh, judge, promise))
    assert (found[7]["answer"], found[7]["reason"]) == ("PASS", "chosen on 130 tasks, none of them here")
    assert found[1]["parts"][0]["n"] == lines(gated(fresh, judge, None))[1]["parts"][0]["n"]


@pytest.mark.parametrize(
    ("option", "value"), [("cluster_strip", None), ("cluster", "episode"), ("truth", "other_truth")]
)
def test_truth_and_tasks_must_be_told_as_they_were(
    option: str, value: str | None, scored: Path, tmp_path: Path
) -> None:
    promise = certificate(scored, tmp_path / "c")
    path = tmp_path / "more.csv"
    head, *rows = scored.read_text(encoding="utf-8").splitlines()
    more = [f"{row},e{at},{at % 2}" for at, row in enumerate(rows)]
    path.write_text("\n".join([f"{head},episode,other_truth", *more, ""]), encoding="utf-8")
    found = lines(gated(path, read_certificate(promise).judge, promise, **{option: value}))[7]
    assert found["answer"] == "INSUFFICIENT"
    assert f"made with --{option.replace('_', '-')} " in found["reason"]


def test_the_same_scores_under_other_task_names_are_noticed(scored: Path, tmp_path: Path) -> None:
    promise = certificate(scored, tmp_path / "c")
    renamed = tmp_path / "renamed.csv"
    head, *rows = scored.read_text(encoding="utf-8").splitlines()
    renamed.write_text("\n".join([head, *(f"new{row}" for row in rows[7:]), ""]), encoding="utf-8")
    found = lines(gated(renamed, read_certificate(promise).judge, promise))[7]
    assert found["answer"] == "INSUFFICIENT"
    assert "under other task names" in found["reason"]


def test_other_scores_of_the_same_tasks_are_noticed(scored: Path, tmp_path: Path) -> None:
    promise = certificate(scored, tmp_path / "c")
    other = tmp_path / "other.csv"
    other.write_text(scored.read_text().replace("task,ok,s,other", "task,ok,old,s"), encoding="utf-8")
    found = lines(gated(other, read_certificate(promise).judge, promise))[7]
    assert found["answer"] == "INSUFFICIENT"
    assert "with other scores" in found["reason"]


def test_scores_that_repeat_tell_nothing() -> None:
    assert score_marks(np.tile([0.0, 0.5, 1.0], 100)) == []
    some = np.linspace(0, 1, 500)
    assert len(score_marks(some)) == 64
    assert score_marks(np.append(some, np.nan)[::-1]) == score_marks(some)


@pytest.mark.parametrize("judge", ["s>=0.5", "other>=0.62", "other", "s"])
def test_a_certificate_of_another_judge_or_threshold(judge: str, scored: Path, tmp_path: Path) -> None:
    promise = certificate(scored, tmp_path / "c")
    path = scored
    if ">=" not in judge:  # a column of verdicts
        path = tmp_path / "v.csv"
        rows = list(csv.DictReader(scored.read_text(encoding="utf-8").splitlines()))
        with path.open("w", newline="", encoding="utf-8") as handle:
            out = csv.writer(handle)
            out.writerow(["task", "ok", judge])
            out.writerows([row["task"], row["ok"], int(float(row["s"]) > 0.6)] for row in rows)
    found = lines(gated(path, judge, promise))[7]
    assert found["answer"] == "INSUFFICIENT"
    assert "another judge or threshold" in found["reason"]


@pytest.mark.parametrize(
    ("options", "limits", "answer", "reason"),
    [
        ({"target": 0.06}, Gate(), "INSUFFICIENT", "target is above"),
        ({"policy": "conformal"}, Gate(), "INSUFFICIENT", "on average only"),
        ({"delta": 0.2}, Gate(), "INSUFFICIENT", "confidence is 80 %, less than the gate's 95 %"),
        ({"delta": 0.2}, Gate(confidence=0.8), "PASS", "chosen on"),
        ({"target": 0.001}, Gate(), "FAIL", "certifies no threshold"),
    ],
)
def test_what_a_certificate_must_promise(
    options: dict[str, Any], limits: Gate, answer: str, reason: str, scored: Path, tmp_path: Path
) -> None:
    promise = certificate(scored, tmp_path / "c", **options)
    judge = read_certificate(promise).judge
    found = lines(gated(scored, judge if ">=" in judge else "s>=0.5", promise, limits=limits))[7]
    assert (found["answer"], reason in found["reason"]) == (answer, True), found["reason"]


def test_a_certificate_that_its_own_held_out_tasks_contradict_fails(scored: Path, tmp_path: Path) -> None:
    promise = certificate(scored, tmp_path / "c")
    changed = json.loads(promise.read_text(encoding="utf-8"))
    changed["fpr"] |= {"value": 0.9, "low": 0.8, "high": 0.95}
    promise.write_text(json.dumps(sealed(changed)), encoding="utf-8")
    found = lines(gated(scored, changed["judge"], promise))[7]
    assert (found["answer"], "lower bound" in found["reason"]) == ("FAIL", True)


@pytest.mark.parametrize(
    "change",
    [
        {"threshold": 0.0, "judge": "s>=0.0"},
        {"fpr": {"value": 0.0, "low": 0.0, "high": 0.01}},
        {"delta": 0.9},
        {"data_sha256": "0" * 64},
        {"calibration": []},
        {"judge": None},
        {"extra": 1},
        {"sha256": "0" * 64},
    ],
)
def test_a_changed_certificate_is_refused(change: dict[str, Any], scored: Path, tmp_path: Path) -> None:
    promise = certificate(scored, tmp_path / "c")
    before = json.loads(promise.read_text(encoding="utf-8"))
    promise.write_text(json.dumps({**before, **change}), encoding="utf-8")
    with pytest.raises(InputError, match=r"json"):
        gated(scored, before["judge"], promise)


@pytest.mark.parametrize(
    "field",
    ["judge", "score", "threshold", "target", "delta", "split_seed", "data_sha256", "calibration", "fpr"],
)
def test_a_certificate_without_a_field_is_refused(field: str, scored: Path, tmp_path: Path) -> None:
    promise = certificate(scored, tmp_path / "c")
    document = json.loads(promise.read_text(encoding="utf-8"))
    judge = document["judge"]
    del document[field]
    promise.write_text(json.dumps(sealed(document)), encoding="utf-8")
    with pytest.raises(InputError, match=field):
        gated(scored, judge, promise)


@pytest.mark.parametrize("text", ["", "[1]", "{}", "\x00", "[" * 100_000, '{"kind": "threshold"}'])
def test_what_is_no_certificate_is_refused(text: str, scored: Path, tmp_path: Path) -> None:
    promise = tmp_path / "c.json"
    promise.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"c\.json"):
        gated(scored, "s>=0.5", promise)
    with pytest.raises(InputError, match="a folder"):
        gated(scored, "s>=0.5", tmp_path)


def test_a_cut_score_without_a_certificate_is_open(scored: Path) -> None:
    assert lines(gated(scored, "s>=0.5", None))[7]["answer"] == "INSUFFICIENT"


# --- benches


@pytest.fixture
def bench(make_bench: Make) -> Any:
    """A judge that gives scores only (`rm`), and one whose verdicts stand beside scores, cut at 0.6."""
    found = make_bench()
    rng = np.random.default_rng(1)
    bare, cut = [], []
    for k in range(TASKS * EACH):
        name, passed = f"e{k:03}", bool(rng.random() < 0.4)
        found.episode(name, f"t{k // EACH:03}", "pass" if passed else "fail")
        score = round(0.7 * passed + 0.6 * float(rng.random()), 4)
        known = {"episode_id": name, "config": "c", "condition": "E1-final", "run": 1, "score": score}
        bare.append(VerdictLine(judge="rm", verdict=None, **known))
        said = "success" if score >= 0.6 else "failure"
        cut.append(VerdictLine(judge="cut", verdict=said, **known))
    append_lines(found.bench.paths.verdict_file("rm", "E1-final"), bare)
    append_lines(found.bench.paths.verdict_file("cut", "E1-final"), cut)
    return found.bench


def of(bench: Any, judge: str, promise: Path | None) -> dict[int, dict[str, Any]]:
    return lines(gate_bench(bench, judges=[judge], certificate=promise))


def test_scores_alone_have_figures_and_a_certificate(bench: Any, tmp_path: Path) -> None:
    result = flow.measure(bench.root)
    cell = result["strata"]["natural"]["conditions"]["E1-final"]["judges"]["rm"]
    assert cell["counts"]["missing"] == TASKS * EACH  # a score is no verdict
    assert cell["scores"]["auc"]["value"] > 0.9
    paths = {path.name for path in flow.write_certificates(tmp_path / "c", result)}
    assert paths == {f"{judge}__E1-final__natural.threshold.json" for judge in ("rm", "cut")}


def test_a_score_judge_of_a_bench_is_gated_at_its_certified_threshold(bench: Any, tmp_path: Path) -> None:
    flow.write_certificates(tmp_path, flow.measure(bench.root))
    assert of(bench, "rm", None)[7]["answer"] == "INSUFFICIENT"
    promise = tmp_path / "rm__E1-final__natural.threshold.json"
    found = of(bench, "rm", promise)
    held = json.loads(promise.read_text(encoding="utf-8"))["fpr"]
    assert found[7]["answer"] == "PASS"
    assert (found[1]["parts"][0]["n"], found[1]["parts"][0]["value"]) == (held["n"], held["value"])
    assert found[3]["parts"][0]["value"] > 0.8


def test_verdicts_beside_scores_must_be_of_the_certified_threshold(bench: Any, tmp_path: Path) -> None:
    flow.write_certificates(tmp_path, flow.measure(bench.root))
    without = of(bench, "cut", None)[7]
    assert (without["answer"], "no certificate" in without["reason"]) == ("INSUFFICIENT", True)
    found = of(bench, "cut", tmp_path / "cut__E1-final__natural.threshold.json")[7]
    assert found["answer"] == "INSUFFICIENT"
    assert "verdicts are not those of this threshold" in found["reason"]
    assert f"of {TASKS * EACH}" in found["reason"]


def test_scores_in_another_condition_leave_the_line_open(bench: Any) -> None:
    same: dict[str, Any] = {"judge": "cut", "config": "c", "condition": "E3-full", "run": 1}
    said = [VerdictLine(episode_id=name, verdict="failure", **same) for name in bench.episode_ids()]
    append_lines(bench.paths.verdict_file("cut", "E3-full"), said)
    found = gate_bench(bench, judges=["cut"], conditions=["E3-full"])
    assert "in another condition" in lines(found)[7]["reason"]


def test_a_certificate_of_another_judge_or_condition_of_a_bench(bench: Any, tmp_path: Path) -> None:
    flow.write_certificates(tmp_path, flow.measure(bench.root))
    promise = tmp_path / "rm__E1-final__natural.threshold.json"
    assert "another judge" in of(bench, "cut", promise)[7]["reason"]
    document = json.loads(promise.read_text(encoding="utf-8"))
    for change in ({"condition": "E3-full"}, {"condition": None}, {"stratum": "perturbed"}):
        promise.write_text(json.dumps(sealed({**document, **change})), encoding="utf-8")
        assert "another judge" in of(bench, "rm", promise)[7]["reason"]


def test_a_task_is_named_by_its_digest() -> None:
    assert task_mark("t1") != task_mark("t2")
    assert len(task_mark("\udc80")) == 16
