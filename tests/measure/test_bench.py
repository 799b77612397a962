"""A bench becomes a result: strata apart, truth joined once, contradictions refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyrite.errors import InputError, UsageError
from pyrite.measure.bench import measure_bench, outcomes, table_from_bench, votes_of_episode
from pyrite.measure.finding import finding
from pyrite.measure.measure import undecided
from pyrite.records import EvidenceEntry, VerdictLine
from pyrite.store import labels
from pyrite.store.jsonl import append_lines, read_json, write_json

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
    assert result["indeterminate"] == [
        {"episode_id": "z0", "cause": "gold_failed", "blame": "verifier", "problem": None}
    ]


def test_a_stratum_is_broken_down_by_domain_and_family(make_bench: Make) -> None:
    made = make_bench()
    for t, domain in enumerate(["web", "web", "files", "files", None]):
        task, family = f"task-{t}", f"f{t}"
        kin: dict[str, Any] = {"family": family, "domain": domain, "source": "scripted"}
        made.episode(f"s{t}", task, "pass", agent="scripted", **kin)
        made.episode(f"i{t}", task, "fail", agent="idle", category="F-UNCOMMITTED", **kin)
        made.episode(f"q{t}", task, "fail", agent="idle", category="F-ABORT", **kin)
    made.verdicts("looker", "E1-final", [(i, "success") for i in made.bench.episode_ids() if i[0] in "si"])
    made.verdicts("looker", "E1-final", [(i, "failure") for i in made.bench.episode_ids() if i[0] == "q"])

    whole = measure_bench(made.bench, group=("domain", "family"))
    plain = measure_bench(made.bench)
    assert plain["strata"]["scripted"]["groups"] == []
    assert whole["strata"]["scripted"] == {
        **plain["strata"]["scripted"],
        "groups": whole["strata"]["scripted"]["groups"],
    }
    groups = {json.dumps(block["by"]): block for block in whole["strata"]["scripted"]["groups"]}
    assert len(groups) == 3 + 5 + 5  # each domain, each family, each of both
    for name, tasks in (("web", 2), ("files", 2), (None, 1)):
        block = groups[json.dumps({"domain": name})]
        judge = block["conditions"]["E1-final"]["judges"]["looker"]
        assert (block["truth"]["pass"], block["truth"]["fail"]) == (tasks, 2 * tasks)
        assert (judge["hard"]["value"], judge["other"]["value"], judge["fpr"]["value"]) == (1, 0, 0.5)
        assert judge["fpr"]["clusters"] == tasks
    with pytest.raises(UsageError, match="colour") as refused:
        measure_bench(made.bench, group=("colour",))
    assert "domain, family" in str(refused.value)


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
    def fpr(families: dict[int, str]) -> dict[str, Any]:
        made = make_bench()
        for t in range(24):
            made.episode(f"e{t:02}", f"t{t:02}", "fail", family=families.get(t))
        path = made.bench.paths.verdict_file("j", "E1-final")
        path.unlink(missing_ok=True)
        said = [(f"e{t:02}", "success" if t % 8 < 4 else "failure") for t in range(24)]
        made.verdicts("j", "E1-final", said)
        strata = measure_bench(made.bench)["strata"]
        found: dict[str, Any] = strata["natural"]["conditions"]["E1-final"]["judges"]["j"]["fpr"]
        return found

    alone = fpr({})
    kin = fpr({t: f"family-{t // 4}" for t in range(24)})
    assert "by family" in kin["method"]
    assert kin["by_task"]["low"] == pytest.approx(alone["low"])
    assert kin["high"] - kin["low"] > alone["high"] - alone["low"]
    assert "by_task" not in alone
    part = fpr({0: "family-0", 1: "family-1"})
    assert "by task" in part["method"], "families that are known of a part are not used"


def test_an_unverified_episode_is_attempted_and_indeterminate(make_bench: Make) -> None:
    made = two_strata(make_bench)
    before = measure_bench(made.bench)["strata"]["perturbed"]["truth"]
    made.episode("new", "task-1", None, source="perturbed")
    result = measure_bench(made.bench)
    after = result["strata"]["perturbed"]["truth"]
    assert (after["attempted"], after["indeterminate"]) == (
        before["attempted"] + 1,
        before["indeterminate"] + 1,
    )
    assert (after["unverified"], after["scored"], after["rate"]) == (1, before["scored"], before["rate"])
    assert after["bounds"][1] == pytest.approx(2 / 23)
    assert result["unverified"] == ["new"]
    assert result["indeterminate"] == measure_bench(made.bench)["indeterminate"]
    assert (
        f"1 of 43 episodes is not verified and counts as indeterminate: pyrite verify {made.bench.root}"
        in (result["warnings"])
    )


def test_a_bench_that_was_never_verified_says_what_to_run(make_bench: Make) -> None:
    made = make_bench()
    made.episode("new", "task-1", None)
    for read in (measure_bench, outcomes):
        with pytest.raises(UsageError, match="the one episode here has not been verified") as caught:
            read(made.bench)
        assert caught.value.next == f"pyrite verify {made.bench.root}"


BREAKS: dict[str, Callable[[Path], object]] = {
    "torn meta": lambda folder: (folder / "meta.json").write_text("{"),
    "meta that is not UTF-8": lambda folder: (folder / "meta.json").write_bytes(b"\xff\xfe"),
    "meta of another": lambda folder: write_json(
        folder / "meta.json", {**read_json(folder / "meta.json"), "episode_id": "other"}
    ),
    "meta of an unknown source": lambda folder: write_json(
        folder / "meta.json", {**read_json(folder / "meta.json"), "source": "fresh"}
    ),
    "torn truth": lambda folder: (folder / "gt.json").write_text("{"),
    "truth that is a link": lambda folder: _link(folder / "gt.json"),
    "truth of another": lambda folder: write_json(
        folder / "gt.json", {**read_json(folder / "gt.json"), "episode_id": "other"}
    ),
    "truth that contradicts itself": lambda folder: write_json(
        folder / "gt.json", {**read_json(folder / "gt.json"), "pass": True}
    ),
}


def _link(path: Path) -> None:
    kept = path.rename(path.with_name("elsewhere.json"))
    path.symlink_to(kept)


@pytest.mark.parametrize("kind", BREAKS)
def test_one_broken_episode_stops_nothing_and_leaves_no_denominator(make_bench: Make, kind: str) -> None:
    made = two_strata(make_bench)
    whole = measure_bench(made.bench)
    BREAKS[kind](made.bench.paths.episode("u0").root)
    result, block = measure_bench(made.bench), outcomes(made.bench)
    json.dumps([result, block], allow_nan=False)
    assert [one["episode_id"] for one in result["broken"]] == ["u0"]
    assert "u0" in result["broken"][0]["problem"]
    assert (result["episodes"], block["attempted"]) == (42, 42)
    perturbed = result["strata"]["perturbed"]
    hidden = kind.startswith("meta") or kind == "torn meta"
    assert (result["unattributed"], block["unattributed"]) == ((1, 1) if hidden else (0, 0))
    assert perturbed["truth"]["attempted"] == (21 if hidden else 22)
    assert perturbed["truth"]["indeterminate"] == (1 if hidden else 2)
    assert perturbed["truth"]["bounds"] == [0, (1 / 21) if hidden else (2 / 22)]
    looker = perturbed["conditions"]["E1-final"]["judges"]["looker"]
    assert looker["counts"]["fp"] == 9, "its verdict is of no known outcome"
    assert result["strata"]["scripted"] == whole["strata"]["scripted"]
    assert any("without a readable" in text for text in result["warnings"])
    assert not any("not here" in text for text in result["warnings"])
    assert sum(one["truth"]["attempted"] for one in result["strata"].values()) + result["unattributed"] == 42


def test_outcomes_are_the_truth_part_of_measure(make_bench: Make) -> None:
    made = two_strata(make_bench)
    made.episode("new", "task-1", None, source="scripted", agent="idle")
    made.bench.paths.episode("s1").truth.write_text("[]")
    made.bench.paths.episode("s2").meta.write_text("[]")
    result, block = measure_bench(made.bench), outcomes(made.bench)
    for name, stratum in result["strata"].items():
        same = {**stratum["truth"], "categories": stratum["categories"], "by_agent": stratum["by_agent"]}
        assert block["strata"][name] == same
    for key in ("lead", "indeterminate", "unverified", "broken", "unattributed", "labels", "level"):
        assert block[key] == result[key]


def packed(made: Any, **digests: str) -> None:
    """Say which evidence is there now."""
    entries = [
        EvidenceEntry(package_id=f"p_{name}", episode_id=name, condition="E1-final", evidence_sha256=digest)
        for name, digest in digests.items()
    ]
    append_lines(made.bench.paths.evidence_index, entries)


def seen(made: Any, judge: str, *lines: tuple[str, str, str]) -> None:
    """Verdicts on evidence of a digest; an empty one is not stated."""
    append_lines(
        made.bench.paths.verdict_file(judge, "E1-final"),
        [
            VerdictLine.model_validate(
                {
                    **{"episode_id": name, "judge": judge, "config": "c", "condition": "E1-final", "run": 1},
                    **{"verdict": verdict, "evidence_sha256": digest},
                }
            )
            for name, verdict, digest in lines
        ],
    )


def test_a_verdict_on_evidence_that_has_changed_since_is_missing(make_bench: Make) -> None:
    made = make_bench()
    for t in range(4):
        made.episode(f"e{t}", f"t{t}", "fail")
    packed(made, e0="a", e1="b", e2="c", e3="d")
    seen(
        made,
        "j",
        ("e0", "success", "a"),
        ("e1", "success", "b"),
        ("e2", "success", ""),
        ("e3", "failure", "d"),
    )

    def judge() -> tuple[dict[str, int], list[str]]:
        result = measure_bench(made.bench)
        counts = result["strata"]["natural"]["conditions"]["E1-final"]["judges"]["j"]["counts"]
        return counts, [text for text in result["warnings"] if "changed since" in text]

    counts, told = judge()
    assert (counts["fp"], counts["tn"], counts["missing"], told) == (3, 1, 0, [])
    packed(made, e1="b2", e2="c2")
    counts, told = judge()
    assert (counts["fp"], counts["tn"], counts["missing"]) == (2, 1, 1), "what states no digest stands"
    assert told == [
        "1 verdict is on evidence that has changed since and counted as missing: "
        f"pyrite judge {made.bench.root} --judge LABEL"
    ]
    assert votes_of_episode(made.bench, "e1") == [("j", "E1-final", -1, 1)]
    seen(made, "j", ("e1", "failure", "b2"))
    counts, told = judge()
    assert (counts["fp"], counts["tn"], counts["missing"], told) == (2, 2, 0, [])


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


def test_where_nothing_fails_the_other_figures_decide(make_bench: Make) -> None:
    made = make_bench()
    made.episode("e0", "t0", "pass")
    made.episode("e1", "t1", "indeterminate", cause="state_missing")
    assert not undecided(measure_bench(made.bench)), "the rate"
    made.verdicts("j", "E1-final", [("e0", "success")])
    result = measure_bench(made.bench)
    assert (result["lead"], undecided(result)) == (None, False), "the TPR"
    assert "no false-positive rate" in finding(result)


def test_what_decides_nothing_is_undecided(make_bench: Make) -> None:
    made = make_bench()
    made.episode("e0", "t0", "indeterminate", cause="state_missing")
    assert undecided(measure_bench(made.bench))
    made.episode("e1", "t1", "fail")
    assert not undecided(measure_bench(made.bench))
    made.verdicts("j", "E1-final", [("e0", "success")])
    assert undecided(measure_bench(made.bench)), "a judge was asked and has no verdict that counts"
    made.episode("s0", "t0", "pass", source="scripted")
    made.verdicts("j", "E1-final", [("s0", "success")])
    assert undecided(measure_bench(made.bench)), "the leading stratum decides, not another"


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
