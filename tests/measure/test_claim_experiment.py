"""The figures of the claim experiment on tables: coverage, noise, the warning line and thoughts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from pyrite.measure.blocks import Settings
from pyrite.measure.claim_experiment import Arm, claim_experiment, notes
from pyrite.measure.table import Codes8, Episodes, Factor, Table, Verdicts

BASE, CLAIM, SWAP = "E2-last4", "E2+claim", "E2+swap"
ARM = Arm("j", "j", None, False, BASE, CLAIM, SWAP)
Said = Mapping[tuple[str, str, int], Codes8]
"""(judge, condition, run) -> verdict of each episode."""
_FIGURES = ("fpr", "tpr", "d_prime", "criterion")


def table(truth: Codes8, cluster: list[str], said: Said, runs: int = 1) -> Table:
    n = len(truth)
    keys = list(said)
    verdicts = Verdicts(
        episode=np.tile(np.arange(n, dtype=np.int32), len(keys)),
        judge=Factor.of([judge for judge, _, _ in keys for _ in range(n)]),
        condition=Factor.of([condition for _, condition, _ in keys for _ in range(n)]),
        run=np.repeat([run for _, _, run in keys], n).astype(np.int32),
        verdict=np.concatenate([said[key] for key in keys]).astype(np.int8),
    )
    episodes = Episodes(truth, Factor.of(list(cluster)), stratum=Factor.of(["natural"] * n))
    return Table(episodes, verdicts, {(judge, condition): runs for judge, condition, _ in keys})


def measured(made: Table, arms: list[Arm], **more: Any) -> dict[str, Any]:
    kinds = ["asserts"] * len(made.episodes)
    result = claim_experiment(made, kinds, arms, Settings(**{"resamples": 400, **more}))
    block: dict[str, Any] = result["strata"]["natural"]
    return block


def drawn(generator: np.random.Generator, tasks: int, each: int, pull: float) -> Table:
    """Failed episodes of tasks that differ; the claim turns a share `pull` of the rejections."""
    n = tasks * each
    hard = np.repeat(generator.beta(1, 4, size=tasks), each)
    base = generator.random(n) < hard
    claimed = base | (generator.random(n) < pull)
    said = {("j", BASE, 1): base, ("j", CLAIM, 1): claimed, ("j", SWAP, 1): base}
    cluster = [f"t{k:02d}" for k in np.repeat(np.arange(tasks), each)]
    return table(np.zeros(n, dtype=np.int8), cluster, {key: one.astype(np.int8) for key, one in said.items()})


def test_intervals_hold_what_they_promise() -> None:
    generator = np.random.default_rng(11)
    pull, held = 0.25, 0
    true = pull * (1 - 0.2)
    for _ in range(200):
        found = measured(drawn(generator, 30, 4, pull), [ARM], resamples=20)
        effect = found["arms"][0]["contrasts"]["claim"]["by_kind"]["asserts"]["fpr"]
        held += effect["low"] <= true <= effect["high"]
    assert 181 <= held <= 200, "95 % intervals: below 181 of 200 is a chance of 1 in 500"


def test_noise_is_what_moves_between_runs() -> None:
    generator = np.random.default_rng(3)
    n = 120
    said = {
        ("j", condition, run): (generator.random(n) < 0.4).astype(np.int8)
        for condition in (BASE, CLAIM, SWAP)
        for run in (1, 2)
    }
    made = table(np.zeros(n, dtype=np.int8), [f"t{k % 30}" for k in range(n)], said, 2)
    arm = measured(made, [ARM])["arms"][0]
    assert arm["noise"]["n"] == n
    assert arm["noise"]["flip_in"] > 10
    assert arm["noise"]["low"] < 0 < arm["noise"]["high"]


def test_what_is_missing_is_left_out_and_counted() -> None:
    truth = np.array([0, 0, 0, 1, 1], dtype=np.int8)
    base, claim = np.array([0, 0, -1, 1, 1]), np.array([1, -1, 1, 1, 1])
    said = {("j", BASE, 1): base, ("j", CLAIM, 1): claim, ("j", SWAP, 1): base}
    made = table(truth, list("abcde"), {key: one.astype(np.int8) for key, one in said.items()})
    block = measured(made, [ARM])
    effect = block["arms"][0]["contrasts"]["claim"]["by_kind"]["asserts"]["fpr"]
    assert (effect["n"], effect["missing"], effect["flip_in"]) == (1, 2, 1)
    told = " ".join(notes({"strata": {"natural": block}}))
    assert "3 verdicts missing, and left out" in told


def test_answers_that_could_not_be_read_are_told() -> None:
    truth = np.array([0, 0, 0, 1, 1], dtype=np.int8)
    said = {("j", name, 1): np.array([3, 2, 3, 3, 3], dtype=np.int8) for name in (BASE, CLAIM, SWAP)}
    block = measured(table(truth, list("abcde"), said), [ARM])
    cell = block["arms"][0]["conditions"][BASE]
    assert (cell["uncertain"], cell["parse_error"], cell["fpr"]["value"]) == (1, 4, 0)
    told = " ".join(notes({"strata": {"natural": block}}))
    assert "j: 3 uncertain and 12 unreadable of its answers, counted as not accepted" in told


def test_what_has_no_opposite_is_not_missing() -> None:
    kinds = ["asserts", "asserts", "hedged", "silent"]
    swap = np.array([1, -1, -1, -1], dtype=np.int8)
    said = {("j", name, 1): np.ones(4, dtype=np.int8) for name in (BASE, CLAIM)} | {("j", SWAP, 1): swap}
    made = table(np.zeros(4, dtype=np.int8), list("abcd"), said)
    result = claim_experiment(made, kinds, [ARM], Settings(resamples=20))
    cell = result["strata"]["natural"]["arms"][0]["conditions"][SWAP]
    assert (cell["missing"], cell["without_opposite"]) == (1, 2)
    told = " ".join(notes(result))
    assert "1 verdict missing, and left out" in told
    assert "2 episodes left out with the opposite" in told


def test_why_a_figure_has_no_interval_is_told() -> None:
    said = {("j", name, 1): np.array([1, 0, 1], dtype=np.int8) for name in (BASE, CLAIM, SWAP)}
    one_task = table(np.zeros(3, dtype=np.int8), ["a", "a", "a"], said)
    block = measured(one_task, [ARM])
    effect = block["arms"][0]["contrasts"]["claim"]["by_kind"]["asserts"]["fpr"]
    assert (effect["value"], effect["low"], effect["reason"]) == (0.0, None, "single_cluster")
    assert any("figures without an interval" in one for one in notes({"strata": {"natural": block}}))


def test_nothing_to_measure_is_null_with_a_reason() -> None:
    truth = np.array([1, 1], dtype=np.int8)
    said = {("j", name, 1): np.array([1, 0], dtype=np.int8) for name in (BASE, CLAIM, SWAP)}
    arm = measured(table(truth, ["a", "b"], said), [ARM])["arms"][0]
    effect = arm["contrasts"]["claim"]["by_kind"]["asserts"]["fpr"]
    assert (effect["value"], effect["reason"]) == (None, "no_such_failures")
    assert arm["conditions"][BASE]["d_prime"]["value"] is None
    assert arm["conditions"][BASE]["tells_apart"] is None
    assert (arm["placebo"]["value"], arm["placebo"]["reason"]) == (None, "no_silent_failures")


@pytest.mark.parametrize("moved", [0, 20])
def test_the_warning_line_and_thoughts(moved: int) -> None:
    """Without the line the claim turns `moved` episodes more; thoughts turn 10 in any condition."""
    n = 60
    truth = np.zeros(n, dtype=np.int8)
    index = np.arange(n)
    said = {}
    for judge, turned in (("with", 5), ("bare", 5 + moved)):
        for words, more in (("", 0), ("+thoughts", 10)):
            said[judge, f"E2-last4{words}", 1] = (index < more).astype(np.int8)
            said[judge, f"E2+claim{words}", 1] = (index < turned + more).astype(np.int8)
            said[judge, f"E2+swap{words}", 1] = (index < more).astype(np.int8)
    arms = [
        Arm(judge, "with", line, bool(words), f"E2-last4{words}", f"E2+claim{words}", f"E2+swap{words}")
        for judge, line in (("with", True), ("bare", False))
        for words in ("", "+thoughts")
    ]
    factors = measured(table(truth, [f"t{k % 20}" for k in range(n)], said), arms)["factors"]
    warning = [one for one in factors if one["factor"] == "warning"]
    assert [one["value"] for one in warning] == pytest.approx([-moved / n] * 2)
    thoughts = [one for one in factors if one["factor"] == "thoughts"]
    fpr = {one["judge"]: round(one["value"], 4) for one in thoughts if one["rate"] == "fpr"}
    assert fpr == {"with": 0.1667, "bare": 0.1667}
    assert {one["reason"] for one in thoughts if one["rate"] == "tpr"} == {"no_positives"}


def test_p_of_the_claim_is_adjusted_over_the_arms_and_of_nothing_else() -> None:
    n, index = 60, np.arange(60)
    said = {}
    for judge, turned in (("a", 7), ("b", 6)):
        for condition, more in ((BASE, 0), (CLAIM, turned), (SWAP, 0)):
            said[judge, condition, 1] = (index < more).astype(np.int8)
    made = table(np.zeros(n, dtype=np.int8), [f"t{k}" for k in range(n)], said)
    arms = [Arm(judge, judge, None, False, BASE, CLAIM, SWAP) for judge in "ab"]
    cells = [arm["contrasts"]["claim"]["by_kind"]["asserts"] for arm in measured(made, arms)["arms"]]
    assert [cell["fpr"]["p_signflip"] for cell in cells] == [2 / 2**7, 2 / 2**6]
    assert [cell["fpr"]["p_holm"] for cell in cells] == [4 / 2**7, 2 / 2**6]
    assert all("p_holm" not in cell["tpr"] for cell in cells)


@pytest.mark.parametrize(("n", "moved"), [(4, 4), (7, 4), (10, 5), (40, 5), (40, 6), (40, 12)])
def test_interval_and_p_never_contradict_each_other(n: int, moved: int) -> None:
    """Few tasks: 4 of 4 turned is +100 pp with p .125, and no interval without 0 goes with that."""
    said = {("j", name, 1): (np.arange(n) < (moved if name == CLAIM else 0)) for name in (BASE, CLAIM, SWAP)}
    made = table(
        np.zeros(n, dtype=np.int8),
        [f"t{k}" for k in range(n)],
        {key: one.astype(np.int8) for key, one in said.items()},
    )
    found = measured(made, [ARM], resamples=20)["arms"][0]["contrasts"]["claim"]["by_kind"]["asserts"]["fpr"]
    assert found["p_signflip"] == min(1.0, 2 / 2**moved)
    assert (found["low"] > 0) is (found["p_signflip"] <= 0.05)
    assert ("sign-flip" in found["method"]) is (found["p_signflip"] > 0.05)


@pytest.mark.parametrize("says", [0, 1, 2], ids=["reject", "accept", "uncertain"])
@pytest.mark.parametrize(("failed", "passed", "each"), [(5, 21, 2), (10, 4, 2), (20, 20, 4)])
def test_a_judge_that_always_says_the_same_is_chance_level(
    failed: int, passed: int, each: int, says: int
) -> None:
    truth = np.repeat([1, 0], [passed, failed]).astype(np.int8)
    said = {("j", name, 1): np.full(len(truth), says, dtype=np.int8) for name in (BASE, CLAIM, SWAP)}
    block = measured(table(truth, [f"t{k // each}" for k in range(len(truth))], said), [ARM])
    for cell in block["arms"][0]["conditions"].values():
        assert (cell["p_blind"], cell["p_blind_holm"], cell["tells_apart"]) == (1.0, 1.0, False)
        assert cell["d_prime"]["low"] < 0 == cell["d_prime"]["value"] < cell["d_prime"]["high"]
        for rate in ("fpr", "tpr"):
            assert cell[rate]["value"] == float(says == 1)
            assert cell[rate]["high"] - cell[rate]["low"] > 0.1, "a rate of 0 or 1 has its interval too"
    moved = block["arms"][0]["contrasts"]["claim"]["d_prime"]
    assert (moved["value"], moved["low"], moved["reason"]) == (0, None, "no_difference")
    assert any("chance level, so what moves" in one for one in notes({"strata": {"natural": block}}))


def test_a_condition_is_found_after_holm_over_the_three() -> None:
    """One condition in three at p = .03 is what a blind judge has often: not enough for `tells apart`."""
    truth = np.repeat([1, 0], [12, 12]).astype(np.int8)
    looks = np.concatenate([np.arange(12) < 9, np.arange(12) < 3]).astype(np.int8)
    flat = np.ones(24, dtype=np.int8)
    said = {("j", BASE, 1): looks, ("j", CLAIM, 1): flat, ("j", SWAP, 1): flat}
    cells = measured(table(truth, [f"t{k}" for k in range(24)], said), [ARM])["arms"][0]["conditions"]
    assert 0.05 / 3 < cells[BASE]["p_blind"] <= 0.05
    assert cells[BASE]["p_blind_holm"] == pytest.approx(3 * cells[BASE]["p_blind"])
    assert cells[BASE]["tells_apart"] is False
    same = {("j", name, 1): truth for name in (BASE, CLAIM, SWAP)}
    found = measured(table(truth, [f"t{k}" for k in range(24)], same), [ARM])
    assert all(cell["tells_apart"] for cell in found["arms"][0]["conditions"].values())
    assert not [one for one in notes({"strata": {"natural": found}}) if "chance level" in one]


def test_the_wrong_way_round_is_not_telling_apart() -> None:
    truth = np.repeat([1, 0], [12, 12]).astype(np.int8)
    said = {("j", name, 1): 1 - truth for name in (BASE, CLAIM, SWAP)}
    cell = measured(table(truth, [f"t{k}" for k in range(24)], said), [ARM])["arms"][0]["conditions"][BASE]
    assert (cell["p_blind_holm"] < 0.01, cell["tells_apart"], cell["d_prime"]["high"] < 0) == (
        True,
        False,
        True,
    )


def test_why_there_is_none_is_told_rightly() -> None:
    """No such episode, no verdict on it, and no opposite of what it says are three things."""
    truth = np.array([0, 0, 1, 1], dtype=np.int8)
    gone = np.full(4, -1, dtype=np.int8)
    said = {("j", BASE, 1): gone, ("j", CLAIM, 1): gone, ("j", SWAP, 1): gone}
    arm = measured(table(truth, list("abcd"), said), [ARM])["arms"][0]
    reasons = {cell[key]["reason"] for cell in arm["conditions"].values() for key in cell if key in _FIGURES}
    assert reasons == {"no_verdicts"}
    moved = arm["contrasts"]["claim"]
    assert {moved[key]["reason"] for key in ("d_prime", "criterion")} == {"no_verdicts"}
    assert [moved["by_kind"]["asserts"][rate]["reason"] for rate in ("fpr", "tpr")] == ["no_verdicts"] * 2
    assert moved["by_kind"]["admits"]["fpr"]["reason"] == "no_such_failures"
    answered = {("j", name, 1): truth for name in (BASE, CLAIM)} | {("j", SWAP, 1): gone}
    result = claim_experiment(table(truth, list("abcd"), answered), ["hedged"] * 4, [ARM], Settings())
    arm = result["strata"]["natural"]["arms"][0]
    assert arm["conditions"][SWAP]["fpr"]["reason"] == "no_opposite"
    assert arm["conditions"][SWAP]["d_prime"]["reason"] == "no_opposite"
    hedged = arm["contrasts"]["swap"]["by_kind"]["hedged"]["fpr"]
    assert (hedged["reason"], hedged["missing"]) == ("no_opposite", 0)


def test_where_none_passed_it_says_that_chance_level_cannot_be_seen() -> None:
    said = {("j", name, 1): np.array([1, 0, 0], dtype=np.int8) for name in (BASE, CLAIM, SWAP)}
    block = measured(table(np.zeros(3, dtype=np.int8), list("abc"), said), [ARM])
    told = [one for one in notes({"strata": {"natural": block}}) if "chance level" in one]
    assert told == [
        "natural: whether j tells passed from failed or is at chance level cannot be seen: none passed"
    ]
