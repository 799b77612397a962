"""What `measure` and `outcomes` print: the sentence first, each figure once, 100 columns, no broken count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pyrite.cli import blocks, run, screen
from pyrite.measure.bench import measure_bench
from pyrite.records import Meta, Truth, VerdictLine
from pyrite.store.bench import Bench
from pyrite.store.jsonl import append_lines, write_record

CONDITIONS = ("E1-final", "E2+claim", "E3-full")
LONG = "vlm@model=" + "a-model-with-a-long-name-" * 3


def add(bench: Bench, name: str, task: str, outcome: str | None, **more: str) -> None:
    """One finished episode; `category` goes to the truth, the rest to the meta."""
    category = more.pop("category", None)
    meta = {
        **{"schema_version": "1", "episode_id": name, "task_id": task, "n_steps": 1},
        **{"created_at": "2026-01-01T00:00:00Z", "source": more.get("source", "natural")},
        "agent": {"name": more.get("agent", "a")},
    }
    write_record(bench.paths.episode(name).meta, Meta.model_validate(meta))
    if outcome is not None:
        truth = {"episode_id": name, "outcome": outcome, "pass": outcome == "pass", "category": category}
        write_record(bench.paths.episode(name).truth, Truth.model_validate(truth))


def say(bench: Bench, judge: str, condition: str, verdicts: dict[str, str]) -> None:
    key = {"judge": judge, "config": "c", "condition": condition, "run": 1}
    lines = [VerdictLine.model_validate({**key, "episode_id": e, "verdict": v}) for e, v in verdicts.items()]
    append_lines(bench.paths.verdict_file(judge, condition), lines)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Six tasks with a pass, a hard failure and another failure each; three judges in three conditions."""
    made = Bench.create(tmp_path / "b")
    said: dict[str, str] = {}
    for t in range(6):
        add(made, f"p{t}", f"t{t}", "pass")
        add(made, f"u{t}", f"t{t}", "fail", category="F-UNCOMMITTED")
        add(made, f"c{t}", f"t{t}", "fail", category="F-CLAIM")
        said |= {f"p{t}": "success", f"u{t}": "success", f"c{t}": "failure"}
    for condition in CONDITIONS:
        say(made, "accept-all", condition, dict.fromkeys(said, "success"))
        say(made, LONG, condition, said)
        say(made, "looker", condition, said if condition == "E3-full" else dict.fromkeys(said, "failure"))
    return made


def text(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run([*arguments, "--quiet"]) == code
    return capsys.readouterr().out


def test_the_finding_comes_first_and_all_fits(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    out = text(capsys, "measure", str(bench.root))
    assert out.startswith("vlm@model=a-model")
    assert "natural (leads): 18 attempted" in out.split("\n\n")[1]
    wide = [line for line in out.splitlines() if len(line) > 100 and "report" not in line]
    assert wide == []
    assert all(line == line.rstrip() for line in out.split("\n\n")[0].splitlines())


def test_a_judge_with_the_same_figures_in_all_conditions_stands_once(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    out = text(capsys, "measure", str(bench.root))
    first = out[out.index("acc/failed") : out.index("inflation")]
    assert first.count("accept-all") == 1
    assert first.count("looker") == 2
    assert [line.strip() for line in first.splitlines() if line.startswith(("all", "E"))] == [
        "all conditions",
        "E1-final, E2+claim",
        "E3-full",
    ]
    one = json.loads(text(capsys, "measure", str(bench.root), "--json"))
    assert list(one["strata"]["natural"]["conditions"]) == list(CONDITIONS), "the document keeps them all"


def test_no_number_is_cut_for_a_long_label(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    out = text(capsys, "measure", str(bench.root))
    assert "…" not in out
    row = next(line for line in out.splitlines() if "6/12" in line)
    assert "[" in row.split("6/12")[1]


def test_hard_negatives_stand_apart_only_where_there_are_others(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "FPR on hard negatives" in text(capsys, "measure", str(bench.root))
    for t in range(6):
        bench.paths.episode(f"c{t}").truth.unlink()
    out = text(capsys, "measure", str(bench.root))
    assert "all failures here are hard negatives" in out
    assert "FPR on other failures" not in out


def test_what_is_not_scored_is_named_once_with_the_right_file(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.paths.episode("p0").meta.write_text("{")
    bench.paths.episode("p1").truth.write_text("{")
    bench.paths.episode("p2").truth.unlink()
    for verb in ("outcomes", "measure"):
        out = " ".join(text(capsys, verb, str(bench.root)).split())
        assert "natural" in out
        assert "17 attempted, 2 indeterminate, 15 scored (3 pass, 12 fail)" in out
        assert "indeterminate: 2 not verified, or not readable" in out
        assert out.count("indeterminate episodes/p0/meta.json: ") == 1
        assert out.count("indeterminate episodes/p1/gt.json: ") == 1
        assert out.count("p1/meta.json") == 0
        assert "indeterminate p2: not verified" in out
        assert "1 of 18 episodes is not verified" in out
        assert "1 episode without a readable meta.json" in out
        for wrong in ("1 episodes", "1 tasks", "1 verdict lines", "1 verdicts"):
            assert f" {wrong}" not in out


def test_a_broken_episode_stops_no_report(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.paths.episode("p0").meta.write_text("{")
    bench.paths.episode("p1").truth.write_text("{")
    text(capsys, "report", str(bench.root))
    document: dict[str, Any] = json.loads(bench.paths.report_json.read_text(encoding="utf-8"))
    assert [one["episode_id"] for one in document["broken"]] == ["p0", "p1"]
    assert document["unattributed"] == 1


def test_one_task_says_why_there_is_no_interval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = Bench.create(tmp_path / "b")
    for name, outcome in (("a", "pass"), ("b", "fail"), ("c", "fail")):
        add(made, name, "t", outcome)
    assert "33.3\u202f% [no interval: all of one task] over" in text(capsys, "outcomes", str(made.root))
    say(made, "j", "E1-final", {"a": "success", "b": "success", "c": "failure"})
    out = text(capsys, "measure", str(made.root))
    assert "success rate 33.3\u202f% [no interval: all of one task] over scored" in out
    assert "FPR without an interval: all of one task" in out
    assert "j accepts 50.0 % (no interval: all of one task)" in " ".join(out.split())


def test_a_bench_where_all_passes_is_decided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = Bench.create(tmp_path / "b")
    for t in range(3):
        add(made, f"e{t}", f"t{t}", "pass")
    text(capsys, "measure", str(made.root), code=0)
    say(made, "j", "E1-final", {f"e{t}": "success" for t in range(3)})
    text(capsys, "measure", str(made.root), code=0)


@pytest.mark.parametrize("option", ["--verdicts", "--scores", "--group", "--key"])
@pytest.mark.parametrize("value", [",", "j,", "", " , "])
def test_an_empty_column_name_is_a_usage_error(
    option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["measure", "--table", "v.csv", "--truth", "t", option, value]) == 2
    assert "empty name" in capsys.readouterr().err


def test_a_row_without_truth_is_said_in_the_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "v.csv"
    path.write_text("t,j,c\n1,1,a\n0,1,b\n,1,c\n", encoding="utf-8")
    out = text(capsys, "measure", "--table", str(path), "--truth", "t", "--verdicts", "j", "--cluster", "c")
    assert "3 attempted, 1 indeterminate" in out
    assert "indeterminate: 1 no value in the truth column" in out


def test_a_long_or_empty_group_value_is_cut_or_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "v.csv"
    path.write_text(f"t,c,g\n1,a,{'x' * 300}\n0,b,\n", encoding="utf-8")
    out = text(capsys, "measure", "--table", str(path), "--truth", "t", "--cluster", "c", "--group", "g")
    assert "g = (empty): 1 attempted" in out
    assert "(300 characters): 1 attempted" in out


def test_a_shortcut_is_dim_and_a_judge_that_accepts_failures_is_marked(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    styles: dict[str, str] = {}

    def seen(columns: Any, rows: list[list[tuple[str, str]]], **options: bool) -> None:
        styles.update({row[0][0]: row[0][1] for row in rows})

    judges = measure_bench(bench)["strata"]["natural"]["conditions"]["E1-final"]["judges"]
    every = {f"{label}, E1-final": judges["accept-all"] for label in ("claim@x=1", "claim", "claims")}
    monkeypatch.setattr(screen, "table", seen)
    blocks.judge_table([("", {**every, "looker": judges["looker"]})], no_color=True)
    assert styles == {
        "claim@x=1, E1-final": "dim",
        "claim, E1-final": "dim",
        "claims, E1-final": screen.LOOK_HERE,
        "looker": "bold",
    }
