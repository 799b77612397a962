"""Verdicts from elsewhere: values, options, refusals, and figures that are None with a reason."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrite.cli import run
from pyrite.errors import InputError, UsageError
from pyrite.measure.measure import measure_table, undecided
from pyrite.measure.vote import Policy


def table(folder: Path, rows: list[dict[str, Any]], name: str = "t.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def simple(folder: Path, **columns: str) -> Path:
    """A CSV of one-letter columns: `simple(p, t="101", j="110")`; `task` counts up."""
    width = len(next(iter(columns.values())))
    lines = [",".join(["task", *columns])]
    lines += [",".join([f"t{i}", *(c[i].strip() for c in columns.values())]) for i in range(width)]
    path = folder / "s.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def sound(result: dict[str, Any]) -> dict[str, Any]:
    """No NaN, and no number without a reason for its absence."""
    json.dumps(result, allow_nan=False)
    for block in [result, *result["groups"]]:
        for judge in block["judges"].values():
            counts = judge["counts"]
            in_matrix = sum(counts[c] for c in ("tp", "fp", "fn", "tn"))
            dropped = counts["uncertain"] if judge["uncertain_policy"] == "drop" else 0
            outside = counts["missing"] + counts["indeterminate"] + dropped
            assert in_matrix + outside == block["truth"]["attempted"]
            for name in ("fpr", "fdr", "tpr", "precision", "kappa", "inflation"):
                figure = judge[name]
                assert (figure["value"] is None or figure["low"] is None) == (figure["reason"] is not None)
    return result


@pytest.mark.parametrize(
    ("word", "is_pass"),
    [
        *[(w, True) for w in ("1", "1.0", "true", "TRUE", " pass ", "Success", "1.")],
        *[(w, False) for w in ("0", "0.0", "false", "False", "fail", "FAILURE", "0.000")],
    ],
)
def test_words_for_pass_and_fail(tmp_path: Path, word: str, is_pass: bool) -> None:
    path = table(tmp_path, [{"t": word, "j": word, "c": "a"}, {"t": 1, "j": 0, "c": "b"}])
    result = measure_table(path, truth="t", cluster="c", verdicts=["j"])
    assert result["truth"]["pass"] == 1 + is_pass
    assert result["judges"]["j"]["counts"]["tp"] == is_pass


@pytest.mark.parametrize("value", [True, 1, 1.0, "1"])
def test_json_values_mean_what_they_mean_as_words(tmp_path: Path, value: object) -> None:
    path = table(tmp_path, [{"t": value, "c": 1}, {"t": None, "c": 2}, {"c": 3}, {"t": "", "c": 4}])
    truth = measure_table(path, truth="t", cluster="c")["truth"]
    assert (truth["pass"], truth["missing"], truth["indeterminate"], truth["attempted"]) == (1, 3, 3, 4)


def test_the_other_words(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"t": "fail", "j": "uncertain", "c": 1},
        {"t": "fail", "j": "parse_error", "c": 2},
        {"t": "fail", "j": "Indeterminate", "c": 3},
        {"t": "fail", "j": None, "c": 4},
        {"t": "fail", "j": "success", "c": 5},
        {"t": "indeterminate", "j": "success", "c": 6},
        {"t": "uncertain", "j": "failure", "c": 7},
        {"t": "pass", "j": "success", "c": 8},
    ]
    result = sound(measure_table(table(tmp_path, rows), truth="t", cluster="c", verdicts=["j"]))
    judge = result["judges"]["j"]
    assert judge["counts"] == {
        "tp": 1,
        "fp": 1,
        "fn": 0,
        "tn": 3,
        "uncertain": 2,
        "parse_error": 1,
        "missing": 1,
        "indeterminate": 2,
    }
    assert judge["uncertain_rate"] == pytest.approx(2 / 5)
    assert judge["fpr"]["value"] == 0.25
    assert judge["envelope"] == {"low": 0.25, "drop": 0.5, "high": 0.75, "uncertain": 2}
    assert result["truth"]["bounds"] == [1 / 8, 3 / 8]
    assert any("could not be parsed" in warning for warning in result["warnings"])
    assert any("1 scored episode has no verdict" in warning for warning in result["warnings"])


def test_missing_is_no_rejection(tmp_path: Path) -> None:
    judged = measure_table(simple(tmp_path, t="0000", j="11  "), truth="t", cluster="task", verdicts=["j"])
    assert judged["judges"]["j"]["fpr"]["value"] == 1
    assert judged["judges"]["j"]["fpr"]["n"] == 2
    assert judged["judges"]["j"]["counts"]["missing"] == 2


@pytest.mark.parametrize("word", ["2", "yes", "maybe", "-1", "0.5", "nan", "missing", "1e0", "passed"])
@pytest.mark.parametrize("column", ["t", "j"])
def test_an_unknown_word_is_never_guessed(tmp_path: Path, word: str, column: str) -> None:
    rows: list[dict[str, Any]] = [{"t": 1, "j": 1, "c": i} for i in range(5)]
    rows[2][column] = rows[4][column] = word
    path = table(tmp_path, rows)
    with pytest.raises(InputError) as caught:
        measure_table(path, truth="t", cluster="c", verdicts=["j"])
    assert caught.value.where == f"{path}:3 (row 3)"
    assert f"{column} is {word!r}" in caught.value.what
    assert "1 more such row" in caught.value.what
    for outcome in ("indeterminate", "missing"):
        mapped = measure_table(
            path, truth="t", cluster="c", verdicts=["j"], mapping=[f"{word.upper()}={outcome}"]
        )
        kept = mapped["truth"]["pass"] if column == "t" else mapped["judges"]["j"]["counts"]["tp"]
        assert kept == 3


def test_a_map_may_turn_a_known_word_and_says_when_it_matches_nothing(tmp_path: Path) -> None:
    path = simple(tmp_path, t="1100")
    assert measure_table(path, truth="t", cluster="task", mapping=["0=pass"])["truth"]["pass"] == 4
    result = measure_table(path, truth="t", cluster="task", mapping=["2=indeterminate"])
    assert any("'2'" in warning for warning in result["warnings"])


@pytest.mark.parametrize("pair", ["2", "2=perhaps", "2=", "=x"])
def test_a_map_without_an_outcome_is_refused(tmp_path: Path, pair: str) -> None:
    with pytest.raises(UsageError, match="cannot map"):
        measure_table(simple(tmp_path, t="10"), truth="t", cluster="task", mapping=[pair])


def test_one_value_mapped_to_two_outcomes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="twice"):
        measure_table(simple(tmp_path, t="10"), truth="t", cluster="task", mapping=["2=pass", "2=fail"])


def test_a_threshold_binarises(tmp_path: Path) -> None:
    rows = [
        {"r": r, "j": r, "c": i} for i, r in enumerate([0.5, 0.4999, None, "", "nan", 1, "1e0", "inf", -3])
    ]
    result = sound(measure_table(table(tmp_path, rows), truth="r>=0.5", cluster="c", verdicts=["j>=1"]))
    assert (result["truth"]["pass"], result["truth"]["fail"], result["truth"]["missing"]) == (4, 2, 3)
    counts = result["judges"]["j>=1"]["counts"]
    assert (counts["tp"], counts["missing"], counts["parse_error"]) == (3, 0, 0)
    ours = sound(measure_table(table(tmp_path, rows[:6]), truth="c>=2", cluster="c", verdicts=["j>=1"]))
    counts = ours["judges"]["j>=1"]["counts"]
    assert (counts["missing"], counts["parse_error"]) == (2, 1)  # an empty cell, and "nan"


def test_a_threshold_needs_numbers(tmp_path: Path) -> None:
    path = table(tmp_path, [{"r": "0.7", "c": 1}, {"r": "high", "c": 2}, {"r": "1_0", "c": 3}])
    with pytest.raises(InputError, match="r is 'high'"):
        measure_table(path, truth="r>=0.5", cluster="c")
    for spec in ("r>=", "r>=x", "r>=nan", ">=1"):
        with pytest.raises(UsageError, match="not a threshold"):
            measure_table(path, truth=spec, cluster="c")


def test_a_column_that_is_called_like_a_threshold_is_that_column(tmp_path: Path) -> None:
    path = table(
        tmp_path, [{"s>=1": 1, "s": 0, "c": 1}, {"s>=1": 0, "s": 5, "c": 2}, {"s>=1": 0, "s": 5, "c": 3}]
    )
    assert measure_table(path, truth="s>=1", cluster="c")["truth"]["pass"] == 1
    assert measure_table(path, truth="s>=2", cluster="c")["truth"]["pass"] == 2


def test_where_keeps_filled_rows_and_rows_keep_their_numbers(tmp_path: Path) -> None:
    path = simple(tmp_path, t="1010x", k="a b c")
    with pytest.raises(InputError) as caught:
        measure_table(path, truth="t", cluster="task", where="k")
    assert caught.value.where.endswith(":6 (row 5)")
    result = measure_table(path, truth="t", cluster="task", where="k", mapping=["x=missing"])
    assert (result["rows"], result["rows_read"], result["truth"]["pass"]) == (3, 5, 2)
    assert result["tasks"] == 3


def test_where_that_leaves_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no row is left"):
        measure_table(simple(tmp_path, t="10", k="  "), truth="t", cluster="task", where="k")


def test_key(tmp_path: Path) -> None:
    path = simple(tmp_path, t="1010", k="abca", m="xxxy")
    assert measure_table(path, truth="t", cluster="task")["rows"] == 4
    assert measure_table(path, truth="t", cluster="task", key=["k", "m"])["rows"] == 4
    with pytest.raises(InputError, match=r"row 1 stands again in row 4") as caught:
        measure_table(path, truth="t", cluster="task", key=["k"])
    assert "k='a'" in caught.value.what
    with pytest.raises(InputError, match="key column k is empty"):
        measure_table(simple(tmp_path, t="10", k="a "), truth="t", cluster="task", key=["k"])


def test_clusters(tmp_path: Path) -> None:
    rows = [{"t": i % 2, "c": c} for i, c in enumerate(["a.1", "a.2", " a.1 ", "b", "b.x"])]
    path = table(tmp_path, rows)
    assert measure_table(path, truth="t", cluster="c")["tasks"] == 4
    assert measure_table(path, truth="t", cluster="c", cluster_strip=r"\..*")["tasks"] == 2
    with pytest.raises(InputError, match="it was 'b'"):
        measure_table(path, truth="t", cluster="c", cluster_strip="b")
    with pytest.raises(UsageError, match="cluster-strip"):
        measure_table(path, truth="t", cluster="c", cluster_strip="(")
    with pytest.raises(InputError, match="no cluster") as caught:
        measure_table(table(tmp_path, [*rows, {"t": 1}]), truth="t", cluster="c")
    assert caught.value.where.endswith(":6 (row 6)")


def test_truth_and_cluster_are_needed(tmp_path: Path) -> None:
    path = simple(tmp_path, t="10")
    with pytest.raises(UsageError, match="no --truth") as caught:
        measure_table(path, truth=None, cluster="task")
    assert "task, t" in caught.value.expected
    with pytest.raises(UsageError, match="no --cluster"):
        measure_table(path, truth="t", cluster="")
    with pytest.raises(UsageError, match="twice"):
        measure_table(path, truth="t", cluster="task", verdicts=["t", "t"])


def test_groups_by_each_column_and_by_all(tmp_path: Path) -> None:
    rows = [
        {"t": i % 2, "j": 1, "a": a, "b": b, "c": i}
        for i, (a, b) in enumerate([("x", "1"), ("x", "2"), ("y", "1"), ("y", None), ("x", "1")])
    ]
    result = sound(
        measure_table(table(tmp_path, rows), truth="t", cluster="c", verdicts=["j"], group=["a", "b"])
    )
    by = [json.dumps(block["by"]) for block in result["groups"]]
    assert by == [
        json.dumps(b)
        for b in (
            {"a": "x"},
            {"a": "y"},
            {"b": None},
            {"b": "1"},
            {"b": "2"},
            {"a": "x", "b": "1"},
            {"a": "x", "b": "2"},
            {"a": "y", "b": None},
            {"a": "y", "b": "1"},
        )
    ]
    assert result["groups"][0]["truth"]["attempted"] == 3
    assert result["groups"][0]["judges"]["j"]["counts"]["fp"] == 2


def test_an_id_is_no_group(tmp_path: Path) -> None:
    path = table(tmp_path, [{"t": 1, "c": i} for i in range(1001)])
    with pytest.raises(UsageError, match="1001 groups"):
        measure_table(path, truth="t", cluster="c", group=["c"])


def test_scores_are_counted_and_decide_nothing(tmp_path: Path) -> None:
    path = table(tmp_path, [{"t": i % 2, "s": s, "c": i} for i, s in enumerate([0.1, "0.9", None, "nan"])])
    result = sound(measure_table(path, truth="t", cluster="c", scores=["s"]))
    found = result["scores"]["s"]
    counts = {name: found[name] for name in ("n", "missing", "unreadable", "low", "high")}
    assert counts == {"n": 2, "missing": 1, "unreadable": 1, "low": 0.1, "high": 0.9}
    assert found["certificate"]["threshold"] is None
    assert result["judges"] == {}
    with pytest.raises(InputError, match="s is 'high'"):
        measure_table(table(tmp_path, [{"t": 1, "s": "high", "c": 1}]), truth="t", cluster="c", scores=["s"])


@pytest.mark.parametrize(
    ("t", "j", "reasons", "is_undecided"),
    [
        ("1111", "1010", {"fpr": "no_negatives", "kappa": "no_negatives"}, False),
        ("0000", "1010", {"tpr": "no_positives", "kappa": "no_positives"}, False),
        ("0011", "0000", {"fdr": "nothing_accepted", "precision": "nothing_accepted"}, False),
        ("0011", "    ", {"fpr": "no_verdicts", "tpr": "no_verdicts", "inflation": "no_verdicts"}, True),
        ("    ", "1010", {"fpr": "no_scored_episodes", "kappa": "no_scored_episodes"}, True),
    ],
)
def test_figures_that_do_not_exist(
    tmp_path: Path, t: str, j: str, reasons: dict[str, str], is_undecided: bool
) -> None:
    result = sound(measure_table(simple(tmp_path, t=t, j=j), truth="t", cluster="task", verdicts=["j"]))
    found = {name: result["judges"]["j"][name]["reason"] for name in reasons}
    assert found == reasons
    assert all(result["judges"]["j"][name]["value"] is None for name in reasons)
    assert undecided(result) is is_undecided


def test_all_uncertain_is_zero_and_shown_with_its_rate(tmp_path: Path) -> None:
    path = table(tmp_path, [{"t": i % 2, "j": "uncertain", "c": i} for i in range(6)])
    judge = sound(measure_table(path, truth="t", cluster="c", verdicts=["j"]))["judges"]["j"]
    assert (judge["fpr"]["value"], judge["tpr"]["value"], judge["uncertain_rate"]) == (0, 0, 1)
    assert judge["fdr"]["reason"] == "nothing_accepted"
    assert judge["envelope"] == {"low": 0, "drop": None, "high": 1, "uncertain": 3}


def test_one_task_is_no_interval(tmp_path: Path) -> None:
    path = table(tmp_path, [{"t": i % 2, "j": 1, "c": "only"} for i in range(6)])
    result = sound(measure_table(path, truth="t", cluster="c", verdicts=["j"]))
    fpr = result["judges"]["j"]["fpr"]
    assert (fpr["value"], fpr["low"], fpr["reason"]) == (1, None, "single_cluster")
    assert fpr["iid"]["low"] > 0
    assert result["truth"]["reason"] == "single_cluster"
    assert not undecided(result)
    assert any("1 task" in warning for warning in result["warnings"])


def test_truth_alone(tmp_path: Path) -> None:
    result = measure_table(simple(tmp_path, t="1100 "), truth="t", cluster="task")
    assert result["truth"]["rate"] == 0.5
    assert result["truth"]["bounds"] == [0.4, 0.6]
    assert not undecided(result)
    assert undecided(measure_table(simple(tmp_path, t="  "), truth="t", cluster="task"))


def test_every_format_gives_the_same_result(tmp_path: Path) -> None:
    rows = [{"t": i % 3 == 0, "j": i % 2, "c": f"t{i % 12}", "g": "x" if i < 30 else "y"} for i in range(60)]
    lines = table(tmp_path, rows)
    array = tmp_path / "t.json"
    array.write_text(json.dumps(rows))
    duckdb.sql(f"copy (select * from read_json('{lines}')) to '{tmp_path / 't.parquet'}'")
    duckdb.sql(f"copy (select * from read_json('{lines}')) to '{tmp_path / 't.csv'}'")
    results = [
        measure_table(tmp_path / name, truth="t", cluster="c", verdicts=["j"], group=["g"])
        for name in ("t.jsonl", "t.json", "t.parquet", "t.csv")
    ]
    assert all(result == results[0] for result in results)


marks = st.sampled_from(["0", "1", "uncertain", "parse_error", "", "indeterminate"])


@given(st.lists(st.tuples(marks, marks, st.integers(0, 5)), min_size=1, max_size=30), st.randoms())
@settings(deadline=None, max_examples=20)
def test_order_changes_nothing_and_copies_change_no_rate(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, int]], shuffler: Any
) -> None:
    folder = tmp_path_factory.mktemp("m")
    shuffled = list(rows)
    shuffler.shuffle(shuffled)
    found, again, twice = (
        sound(
            measure_table(
                table(folder, [{"t": t, "j": j, "c": c} for t, j, c in chosen]),
                truth="t",
                cluster="c",
                verdicts=["j"],
                resamples=50,
            )
        )
        for chosen in (rows, shuffled, rows + rows)
    )
    assert found == again
    for name in ("fpr", "fdr", "tpr", "precision", "kappa", "inflation"):
        one, two = found["judges"]["j"][name], twice["judges"]["j"][name]
        assert two["value"] == (None if one["value"] is None else pytest.approx(one["value"]))
        assert two["clusters"] == one["clusters"]
    assert twice["truth"]["rate"] == (
        None if found["truth"]["rate"] is None else pytest.approx(found["truth"]["rate"])
    )


def test_uncertain_as_failure_dropped_and_as_success(tmp_path: Path) -> None:
    """Of 80 negatives 12 success, 8 uncertain, 60 failure."""
    said = ["success"] * 12 + ["uncertain"] * 8 + ["failure"] * 60
    rows = [{"t": "fail", "j": verdict, "c": i} for i, verdict in enumerate(said)]
    path = table(tmp_path, rows)
    judge = sound(measure_table(path, truth="t", cluster="c", verdicts=["j"]))["judges"]["j"]
    assert judge["fpr"]["value"] == 0.15
    envelope = {"low": 0.15, "drop": pytest.approx(12 / 72), "high": 0.25, "uncertain": 8}
    assert judge["envelope"] == envelope
    stress: dict[Policy, tuple[float, int]] = {}
    stress = {"failure": (0.15, 80), "drop": (12 / 72, 72), "success": (0.25, 80)}
    for policy, (rate, negatives) in stress.items():
        result = sound(measure_table(path, truth="t", cluster="c", verdicts=["j"], uncertain=policy))
        stressed = result["judges"]["j"]
        assert result["uncertain_policy"] == policy
        assert stressed["fpr"]["value"] == pytest.approx(rate)
        assert stressed["counts"]["fp"] + stressed["counts"]["tn"] == negatives
        assert (stressed["counts"]["uncertain"], stressed["counts"]["missing"]) == (8, 0)
        assert (stressed["envelope"], stressed["uncertain_rate"]) == (envelope, 0.1)
    assert judge["selective"]["fpr"]["value"] == pytest.approx(0.1667, abs=5e-5)


def test_a_few_large_tasks_are_warned_of(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"t": "fail", "j": "failure", "c": "huge"} for _ in range(200)]
    rows += [{"t": "fail", "j": "failure", "c": f"c{k}"} for k in range(20)]
    told = measure_table(table(tmp_path, rows), truth="t", cluster="c", verdicts=["j"])["warnings"]
    (failed,) = [text for text in told if "failed episodes" in text]
    assert failed.startswith("one task has 91 % of the failed episodes: its 21 tasks weigh like 1.2")
    even = [{"t": "fail", "j": "failure", "c": f"c{k // 4}"} for k in range(80)]
    assert not measure_table(table(tmp_path, even), truth="t", cluster="c", verdicts=["j"])["warnings"]


def test_a_group_has_its_judged_rate_and_scores_say_that_they_are_not_broken_down(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {
            "t": "pass" if k % 3 == 0 else "fail",
            "j": int(k % 2 == 0),
            "c": k // 2,
            "g": "ab"[k // 30],
            "s": 0.5,
        }
        for k in range(60)
    ]
    path = table(tmp_path, rows)
    result = measure_table(path, truth="t", cluster="c", verdicts=["j"], scores=["s"], group=["g"])
    judged = result["groups"][0]["judges"]["j"]["judged"]
    assert (judged["value"], judged["n"]) == (0.5, 30)
    assert judged["low"] < 0.5 < judged["high"]
    assert any("--group breaks down verdicts only" in text for text in result["warnings"])
    command = ["measure", "--table", str(path), "--truth", "t", "--cluster", "c", "--verdicts", "j"]
    assert run([*command, "--group", "g", "--base-rate", "0.03", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "true and judged success by group, j" in out
    assert re.search(r"^a +30 +33\.3.% +50\.0.%", out, re.MULTILINE)
    assert "chance that it orders as truth does, lowest: a and b" in " ".join(out.split())
    assert re.search(r"j as a reward: J \S+; FDR by success rate \S+.% at\s+3.%", out)
    for wrong in ("0", "1", "x", "0.1,", "nan", ""):
        assert run([*command, "--base-rate", wrong, "--quiet"]) == 2
        assert "shares between 0 and 1" in capsys.readouterr().err


def test_the_text_tells_uncertain_from_unreadable_and_what_it_counts_as(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = ["success"] * 12 + ["uncertain"] * 8 + ["failure"] * 57 + ["parse_error"] * 3
    path = table(tmp_path, [{"t": "fail", "j": one, "c": i} for i, one in enumerate(said)])
    command = [
        "measure",
        "--table",
        str(path),
        "--truth",
        "t",
        "--cluster",
        "c",
        "--verdicts",
        "j",
        "--quiet",
    ]
    assert run(command) == 0
    out = " ".join(capsys.readouterr().out.replace("\u202f", " ").split())
    assert "kappa unc err miss" in out
    assert "null 8 3 0" in out
    assert "FPR 15.0 % if uncertain counts as failure, 16.7 % if it is left out, 25.0 % if it counts" in out
    assert "stress test" not in out
    assert run([*command, "--uncertain", "success"]) == 0
    assert "uncertain counts as success: a stress test" in capsys.readouterr().out
