"""A bench becomes a result: strata apart, truth joined once, contradictions refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pyrite.errors import InputError, UsageError
from pyrite.measure.bench import measure_bench, table_from_bench
from pyrite.measure.finding import finding
from pyrite.measure.measure import undecided
from pyrite.store import labels
from pyrite.store.jsonl import read_json, write_json

Make = Callable[[], Any]


def two_strata(make_bench: Make) -> Any:
    """Ten tasks, each with a scripted pass, an idle fail and two perturbed fails."""
    made = make_bench()
    for t in range(10):
        task = f"task-{t}"
        made.episode(f"s{t}", task, "pass", source="scripted", agent="scripted", family="f")
        made.episode(f"i{t}", task, "fail", source="scripted", agent="idle", family="f", category="F-CLAIM")
        made.episode(f"u{t}", task, "fail", source="perturbed", family="f", category="F-UNCOMMITTED")
        made.episode(f"w{t}", task, "fail", source="perturbed", family="f", category="F-WRONGTARGET")
    made.episode("x0", "task-0", "fail", source="perturbed", family="f")
    made.episode("z0", "task-0", "indeterminate", source="perturbed", family="f", cause="gold_failed")
    ids = made.bench.episode_ids()
    made.verdicts("accept-all", "E1-final", [(i, "success") for i in ids])
    made.verdicts("looker", "E1-final", [(i, "success" if i[0] in "suz" else "failure") for i in ids])
    made.verdicts("claim", "E2+claim", [(i, "success") for i in ids])
    return made


def test_strata_stand_apart(make_bench: Make) -> None:
    result = measure_bench(two_strata(make_bench).bench)
    json.dumps(result, allow_nan=False)
    assert (result["episodes"], result["tasks"], result["families"]) == (42, 10, 1)
    assert list(result["strata"]) == ["perturbed", "scripted"]
    assert result["lead"] == "perturbed"
    perturbed, scripted = result["strata"]["perturbed"], result["strata"]["scripted"]
    assert (perturbed["truth"]["attempted"], perturbed["truth"]["fail"]) == (22, 21)
    assert perturbed["truth"]["bounds"] == [0, 1 / 22]
    assert (scripted["truth"]["pass"], scripted["truth"]["fail"]) == (10, 10)
    assert list(perturbed["conditions"]) == ["E1-final", "E2+claim"]
    assert list(perturbed["conditions"]["E2+claim"]["judges"]) == ["claim"]
    assert scripted["by_agent"]["idle"]["rate"] == 0
    assert scripted["by_agent"]["scripted"]["rate"] == 1
    assert result["indeterminate"] == [{"episode_id": "z0", "cause": "gold_failed", "blame": "verifier"}]


def test_hard_negatives_stand_apart_from_other_failures(make_bench: Make) -> None:
    result = measure_bench(two_strata(make_bench).bench)
    looker = result["strata"]["perturbed"]["conditions"]["E1-final"]["judges"]["looker"]
    assert result["strata"]["perturbed"]["categories"] == {
        "F-UNCOMMITTED": 10,
        "F-WRONGTARGET": 10,
        "unclassified": 1,
    }
    assert (looker["hard"]["value"], looker["hard"]["n"]) == (0.5, 20)
    assert (looker["other"]["value"], looker["other"]["n"], looker["unclassified"]) == (0, 1, 1)
    assert looker["by_category"]["F-UNCOMMITTED"] == {"accepted": 10, "n": 10}
    assert looker["by_category"]["unclassified"] == {"accepted": 0, "n": 1}
    assert looker["false_accepts"] == [f"u{t}" for t in range(10)]
    assert looker["counts"] == {
        **{"tp": 0, "fp": 10, "fn": 0, "tn": 11, "uncertain": 0, "parse_error": 0},
        **{"missing": 0, "indeterminate": 1},
    }
    assert looker["fpr"]["method"].endswith("(one family)")
    scripted = result["strata"]["scripted"]["conditions"]["E1-final"]["judges"]["looker"]
    assert scripted["hard"]["reason"] == "no_such_failures"
    assert (scripted["tpr"]["value"], scripted["fpr"]["value"]) == (1, 0)


def test_the_sentence_names_the_stratum_and_no_shortcut(make_bench: Make) -> None:
    result = measure_bench(two_strata(make_bench).bench)
    sentence = finding(result)
    assert sentence.startswith(
        "These episodes are perturbed, not of an agent under test: looker accepts 47.6 %"
    )
    assert "10 of 21 (E1-final, perturbed)" in sentence
    assert "accept-all" not in sentence
    assert not undecided(result)


def test_natural_leads_where_it_has_failures(make_bench: Make) -> None:
    made = two_strata(make_bench)
    made.episode("n0", "task-0", "pass")
    assert measure_bench(made.bench)["lead"] == "perturbed"
    made.episode("n1", "task-1", "fail")
    made.episode("n2", "task-2", "fail")
    made.verdicts("looker", "E1-final", [("n0", "success"), ("n1", "success"), ("n2", "failure")])
    result = measure_bench(made.bench)
    assert result["lead"] == "natural"
    assert next(iter(result["strata"])) == "natural"
    assert finding(result).startswith("looker accepts 50.0 %")


def test_runs_are_voted_not_counted(make_bench: Make) -> None:
    made = make_bench()
    for t in range(8):
        made.episode(f"e{t}", f"t{t}", "fail" if t < 6 else "pass")
    made.verdicts(
        "vlm",
        "E1-final",
        [
            ("e0", ["success", "success", "failure"]),
            ("e1", ["success", "uncertain", "uncertain"]),
            ("e2", ["success", "parse_error", "parse_error"]),
            ("e3", ["success", "success"]),
            ("e4", ["success"]),
            ("e5", ["success", "failure"]),
            ("e6", ["success", "failure", "success"]),
            ("e7", ["failure", "failure", "failure"]),
        ],
    )
    block = measure_bench(made.bench)["strata"]["natural"]["conditions"]["E1-final"]["judges"]["vlm"]
    assert block["counts"] == {
        **{"tp": 1, "fp": 2, "fn": 1, "tn": 2, "uncertain": 1, "parse_error": 1},
        **{"missing": 2, "indeterminate": 0},
    }
    assert (block["runs"], block["incomplete"], block["fpr"]["n"]) == (3, 1, 4)


def test_configured_runs_come_from_the_lock(make_bench: Make) -> None:
    made = make_bench()
    made.episode("e0", "t0", "fail")
    made.episode("e1", "t1", "fail")
    made.verdicts("vlm", "E1-final", [("e0", ["success"]), ("e1", ["success", "success"])])
    write_json(made.bench.paths.lock, {"judge_runs": {"vlm": {"E1-final": 3, "E3-full": 9}}})
    result = measure_bench(made.bench)
    block = result["strata"]["natural"]["conditions"]["E1-final"]["judges"]["vlm"]
    assert (block["runs"], block["counts"]["missing"], block["counts"]["fp"]) == (3, 1, 1)
    assert len(result["lock_sha256"]) == 64
    write_json(made.bench.paths.lock, {"judge_runs": {"vlm": {"E1-final": 1}}})
    block = measure_bench(made.bench)["strata"]["natural"]["conditions"]["E1-final"]["judges"]["vlm"]
    assert (block["runs"], block["counts"]["missing"], block["counts"]["fp"]) == (2, 1, 1)


def test_missing_verdicts_are_out_of_the_matrix(make_bench: Make) -> None:
    made = two_strata(make_bench)
    made.verdicts("some", "E1-final", [("u0", "success"), ("w0", "failure")])
    made.verdicts("none", "E1-final", [("s0", "success")])
    judges = measure_bench(made.bench)["strata"]["perturbed"]["conditions"]["E1-final"]["judges"]
    assert (judges["some"]["fpr"]["value"], judges["some"]["fpr"]["n"]) == (0.5, 2)
    assert judges["some"]["counts"]["missing"] == 19
    assert judges["none"]["status"].startswith("missing")
    assert judges["none"]["fpr"]["reason"] == "no_verdicts"


def test_families_widen_where_they_are_known(make_bench: Make) -> None:
    made = make_bench()
    for t in range(24):
        made.episode(f"e{t:02}", f"t{t:02}", "fail")
    made.verdicts("j", "E1-final", [(f"e{t:02}", "success" if t % 8 < 4 else "failure") for t in range(24)])

    def fpr(families: dict[str, str] | None) -> dict[str, Any]:
        strata = measure_bench(made.bench, families=families)["strata"]
        found: dict[str, Any] = strata["natural"]["conditions"]["E1-final"]["judges"]["j"]["fpr"]
        return found

    alone = fpr(None)
    kin = fpr({f"t{t:02}": f"family-{t // 4}" for t in range(24)})
    assert "by family" in kin["method"]
    assert kin["by_task"]["low"] == pytest.approx(alone["low"])
    assert kin["high"] - kin["low"] > alone["high"] - alone["low"]
    assert "by_task" not in alone
    part = fpr({"t00": "family-0", "t01": "family-1"})
    assert "by task" in part["method"], "families that are known of a part are not used"


def test_an_unverified_episode_says_what_to_run(make_bench: Make) -> None:
    made = two_strata(make_bench)
    made.episode("new", "task-1", None)
    with pytest.raises(UsageError, match="1 of 43 episodes are not verified") as caught:
        measure_bench(made.bench)
    assert caught.value.next == f"pyrite verify {made.bench.root}"


def test_a_bench_without_episodes_is_refused(make_bench: Make) -> None:
    with pytest.raises(UsageError, match="no finished episode"):
        measure_bench(make_bench().bench)


def test_a_repeated_verdict_is_refused(make_bench: Make) -> None:
    made = two_strata(make_bench)
    path = made.verdicts("looker", "E1-final", [("s0", "failure")])
    with pytest.raises(InputError, match="run 1 of s0 stands already") as caught:
        measure_bench(made.bench)
    assert caught.value.where == f"{path}:43"


def test_two_configurations_under_one_label_are_refused(make_bench: Make) -> None:
    made = two_strata(make_bench)
    made.episode("late", "task-3", "fail")
    made.verdicts("looker", "E1-final", [("late", "failure")], config="other")
    with pytest.raises(InputError, match="config"):
        measure_bench(made.bench)


@pytest.mark.parametrize(
    "change", [{"pass": True}, {"outcome": "indeterminate"}, {"episode_id": "other"}, {"outcome": "maybe"}]
)
def test_truth_that_contradicts_itself_is_refused(make_bench: Make, change: dict[str, Any]) -> None:
    made = two_strata(make_bench)
    path = made.bench.paths.episode("u0").truth
    write_json(path, {**read_json(path), **change})
    with pytest.raises(InputError) as caught:
        measure_bench(made.bench)
    assert str(path) in caught.value.where


def test_verdicts_of_strangers_are_said_and_left_out(make_bench: Make) -> None:
    made = two_strata(make_bench)
    before = measure_bench(made.bench)
    made.verdicts("looker", "E1-final", [("stranger", "success")])
    after = measure_bench(made.bench)
    assert any("1 verdict line" in warning for warning in after["warnings"])
    assert after["strata"] == before["strata"]


def test_a_status_that_is_not_ok_is_a_parse_error_and_a_score_alone_no_verdict(make_bench: Make) -> None:
    made = make_bench()
    made.episode("e0", "t0", "fail")
    made.episode("e1", "t1", "fail")
    made.verdicts("orm", "E1-final", [("e0", "parse_error"), ("e1", None)])
    block = measure_bench(made.bench)["strata"]["natural"]["conditions"]["E1-final"]["judges"]["orm"]
    assert (block["counts"]["parse_error"], block["counts"]["missing"], block["counts"]["tn"]) == (1, 1, 1)


def test_nothing_that_fails_is_undecided(make_bench: Make) -> None:
    made = make_bench()
    made.episode("e0", "t0", "pass")
    made.episode("e1", "t1", "indeterminate", cause="state_missing")
    made.verdicts("j", "E1-final", [("e0", "success")])
    result = measure_bench(made.bench)
    assert (result["lead"], undecided(result)) == (None, True)
    assert "no false-positive rate" in finding(result)


def test_a_bench_that_was_never_judged_gives_the_truth(make_bench: Make) -> None:
    made = make_bench()
    for t in range(4):
        made.episode(f"e{t}", f"t{t}", "fail" if t else "pass")
    result = measure_bench(made.bench)
    assert not undecided(result)
    assert finding(result).startswith("No judge was asked; 25.0 %")


def test_the_table_has_a_row_a_verdict(make_bench: Make) -> None:
    table = table_from_bench(two_strata(make_bench).bench)
    assert (len(table.episodes), len(table.verdicts)) == (42, 126)
    assert table.asked() == [("accept-all", "E1-final"), ("claim", "E2+claim"), ("looker", "E1-final")]


def test_a_category_from_people_moves_a_failure_and_no_rate(make_bench: Make) -> None:
    made = two_strata(make_bench)
    before = measure_bench(made.bench)
    folder = made.bench.paths.episode("x0").root
    labels.label(folder, category="F-WRONGTARGET", outcome=None, annotator="ana")
    after = measure_bench(made.bench)
    assert after["labels"] == {"classified": {"x0": "F-WRONGTARGET"}, "conflicting": []}
    assert after["strata"]["perturbed"]["categories"] == {"F-UNCOMMITTED": 10, "F-WRONGTARGET": 11}
    looker = after["strata"]["perturbed"]["conditions"]["E1-final"]["judges"]["looker"]
    assert (looker["hard"]["n"], looker["unclassified"]) == (21, 0)
    assert after["strata"]["perturbed"]["truth"] == before["strata"]["perturbed"]["truth"]
    labels.label(folder, category="F-CLAIM", outcome=None, annotator="ben")
    tied = measure_bench(made.bench)
    assert tied["labels"] == {"classified": {}, "conflicting": ["x0"]}
    assert tied["strata"]["perturbed"]["categories"] == before["strata"]["perturbed"]["categories"]
    assert any("labels conflict" in text for text in tied["warnings"])
