"""The sentence: its subject, its scope, and what it says where there is nothing to say."""

from __future__ import annotations

from typing import Any

from pyrite.measure.finding import finding, is_shortcut, subject


def judge(fp: int, tn: int, *, tp: int = 1, fn: int = 1, low: float | None = 0.1) -> dict[str, Any]:
    negatives, accepted = fp + tn, fp + tp
    fpr = {
        "value": fp / negatives if negatives else None,
        "low": low,
        "high": None if low is None else 0.9,
        "reason": "no_negatives" if not negatives else "single_cluster" if low is None else None,
    }
    fdr = {"value": fp / accepted if accepted else None, "low": 0.2, "high": 0.8, "reason": None}
    return {"fpr": fpr, "fdr": fdr, "counts": {"tp": tp, "fp": fp, "fn": fn, "tn": tn}}


def bench(lead: str | None, **conditions: dict[str, Any]) -> dict[str, Any]:
    truth = {"rate": 0.5, "low": 0.3, "high": 0.7, "pass": 5, "scored": 10}
    made = {name.replace("_", "-"): {"judges": judges} for name, judges in conditions.items()}
    return {"lead": lead, "strata": {lead: {"truth": truth, "conditions": made}}}


def test_the_worst_judge_of_the_final_screen_is_the_subject() -> None:
    said = finding(
        bench(
            "natural",
            E0_other={"c": judge(9, 1)},
            E1_final={"a": judge(2, 8), "b": judge(4, 6), "accept-all": judge(10, 0)},
        )
    )
    assert said == (
        "b accepts 40.0 % [10.0, 90.0] of failed episodes, 4 of 10 (E1-final, natural). "
        "Of what it accepts, 80.0 % [20.0, 80.0] has failed, 4 of 5."
    )


def test_a_shortcut_with_options_is_a_shortcut_too() -> None:
    said = finding(bench("natural", E1_final={"steps@limit=3": judge(10, 0), "a": judge(1, 9)}))
    assert said.startswith("a accepts 10.0 %")


def test_another_condition_where_nobody_was_asked_about_the_final_screen() -> None:
    said = finding(bench("natural", E1_final={"claim": judge(9, 1)}, E3_full={"a": judge(1, 9)}))
    assert "(E3-full, natural)" in said


def test_strata_that_are_no_headline_say_so_first() -> None:
    for lead, word in (("scripted", "scripted"), ("perturbed", "perturbed"), ("weakened", "taken away")):
        said = finding(bench(lead, E1_final={"a": judge(1, 9)}))
        assert word in said.split(":")[0]
        assert "not of " in said.split(":")[0]
    assert not finding(bench("natural", E1_final={"a": judge(1, 9)})).startswith("These")


def test_a_false_discovery_rate_without_passes_says_nothing() -> None:
    assert "Of what it accepts" not in finding(bench("natural", E1_final={"a": judge(1, 9, tp=0, fn=0)}))


def test_no_interval_is_said_with_the_reason() -> None:
    said = finding(bench("natural", E1_final={"a": judge(1, 9, low=None)}))
    assert "10.0 % (no interval: all of one task)" in said


def test_only_shortcuts() -> None:
    said = finding(bench("scripted", E1_final={"accept-all": judge(9, 1)}))
    assert said.startswith("These episodes are scripted")
    assert "50.0 % [30.0, 70.0] of the scripted episodes passed, 5 of 10" in said


def test_the_subject_is_who_the_sentence_is_of() -> None:
    made = bench("natural", E3_full={"a": judge(9, 1)}, E1_final={"b": judge(1, 9), "claim": judge(9, 1)})
    assert subject(made) == ("E1-final", "b")
    assert finding(made).startswith("b accepts")
    assert subject(bench("natural", E1_final={"claim": judge(9, 1)})) is None
    assert subject({"lead": None, "strata": {}}) is None
    assert is_shortcut("steps@limit=3")
    assert not is_shortcut("stepsy")
