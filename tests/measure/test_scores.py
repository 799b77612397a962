"""Scores, certificates, runs, claims and corrections of a table."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyrite.cli import run
from pyrite.measure.blocks import Settings
from pyrite.measure.claim_effect import claim_effects
from pyrite.measure.corrected import corrected_block
from pyrite.measure.scores import Asked, Scores, at_least, score_block, scores_of
from pyrite.measure.steadiness import consistency_block
from pyrite.measure.table import (
    FAIL,
    FAILURE,
    INDETERMINATE,
    MISSING,
    PARSE_ERROR,
    PASS,
    SUCCESS,
    UNCERTAIN,
    Episodes,
    Factor,
    Table,
    Verdicts,
)

S, F, U, P, NONE = SUCCESS, FAILURE, UNCERTAIN, PARSE_ERROR, MISSING
SETTINGS = Settings(resamples=200)


def episodes_of(truth: list[int], tasks: list[str]) -> Episodes:
    return Episodes(truth=np.array(truth, dtype=np.int8), cluster=Factor.of(list(tasks)))


def table_of(
    episodes: Episodes,
    said: dict[tuple[str, str], list[list[int]]],
    scores: dict[tuple[str, str], list[list[float]]] | None = None,
) -> Table:
    """Verdicts of (judge, condition) as one list of runs an episode."""
    rows = [
        (at, judge, condition, run, code, (scores or {}).get((judge, condition), [[]])[at][run - 1])
        if scores
        else (at, judge, condition, run, code, math.nan)
        for (judge, condition), runs in said.items()
        for at, codes in enumerate(runs)
        for run, code in enumerate(codes, start=1)
    ]
    at, judge, condition, run, code, score = zip(*rows, strict=True)
    return Table(
        episodes,
        Verdicts(
            episode=np.array(at, dtype=np.int32),
            judge=Factor.of(list(judge)),
            condition=Factor.of(list(condition)),
            run=np.array(run, dtype=np.int32),
            verdict=np.array(code, dtype=np.int8),
            score=np.array(score, dtype=np.float64),
        ),
    )


def drawn(tasks: int, each: int, *, seed: int = 0) -> tuple[Episodes, np.ndarray]:
    rng = np.random.default_rng(seed)
    n = tasks * each
    passed = rng.random(n) < 0.4
    scores = np.round(np.clip(0.35 * passed + 0.65 * rng.random(n), 0, 1), 3)
    truth = [PASS if one else FAIL for one in passed]
    return episodes_of(truth, [f"t{k:03}" for k in np.repeat(np.arange(tasks), each)]), scores


def block_of(episodes: Episodes, values: np.ndarray, **options: Any) -> dict[str, Any]:
    rows = np.ones(len(episodes), dtype=bool)
    found = score_block(
        episodes, rows, Scores(values, np.ones(len(values), bool)), SETTINGS, judge="s", **options
    )
    json.dumps(found, allow_nan=False)
    return found


def test_a_score_gets_an_auc_a_certificate_and_a_calibration() -> None:
    episodes, scores = drawn(200, 4)
    found = block_of(episodes, scores)
    assert 0.5 < found["auc"]["low"] < found["auc"]["value"] < found["auc"]["high"] < 1
    certificate = found["certificate"]
    assert certificate["judge"] == f"s>={certificate['threshold']!r}"
    assert certificate["upper"] <= 0.05
    assert certificate["calibration_tasks"] <= 100
    assert certificate["fpr"]["n"] + certificate["tpr"]["n"] == 400
    assert found["calibration"]["bins"]
    assert sum(one["n"] for one in found["calibration"]["bins"]) == 800
    assert found["det"][0] == {"threshold": None, "fpr": 0.0, "fnr": 1.0}


def test_the_digest_is_of_the_data_and_not_of_its_order() -> None:
    episodes, scores = drawn(40, 3)
    digest = block_of(episodes, scores)["certificate"]["data_sha256"]
    order = np.random.default_rng(1).permutation(120)
    names = [episodes.cluster.names[code] for code in episodes.cluster.codes]
    mixed = episodes_of([int(episodes.truth[k]) for k in order], [names[k] for k in order])
    assert block_of(mixed, scores[order])["certificate"]["data_sha256"] == digest
    assert block_of(mixed, scores[order]) == block_of(episodes, scores)
    scores[7] += 0.001
    assert block_of(episodes, scores)["certificate"]["data_sha256"] != digest


def test_too_few_tasks_certify_nothing_and_say_how_many_are_needed() -> None:
    episodes, scores = drawn(60, 20)
    certificate = block_of(episodes, scores)["certificate"]
    assert (certificate["threshold"], certificate["needed"], certificate["fpr"]) == (None, 59, None)
    assert certificate["reason"] == certificate["fpr_reason"] == "too_few_negatives: 30 of at least 59"
    assert certificate["judge"] == "s"


def test_several_scores_share_delta() -> None:
    episodes, scores = drawn(300, 2)
    asked = Asked(target=0.1, delta=0.1)
    one, two = (block_of(episodes, scores, asked=asked, looks=n)["certificate"] for n in (1, 2))
    assert (one["delta"], two["delta"], two["looks"]) == (0.1, 0.05, 2)


def test_missing_and_unreadable_scores_are_told_apart() -> None:
    episodes = episodes_of([PASS, FAIL, FAIL, FAIL, INDETERMINATE], ["a", "b", "c", "d", "e"])
    values = np.array([0.9, 0.2, math.nan, math.nan, 0.5])
    present = np.array([True, True, True, False, True])
    found = score_block(episodes, np.ones(5, dtype=bool), Scores(values, present), SETTINGS, judge="s")
    assert (found["n"], found["missing"], found["unreadable"]) == (3, 1, 1)
    assert found["auc"]["n"] == 3  # scored and present
    assert found["calibration"]["excluded"] == 1


@pytest.mark.parametrize(
    ("truth", "reason"),
    [([FAIL, FAIL], "no_positives"), ([PASS, PASS], "no_negatives"), ([INDETERMINATE] * 2, None)],
)
def test_nothing_to_rank(truth: list[int], reason: str | None) -> None:
    found = block_of(episodes_of(truth, ["a", "b"]), np.array([0.1, 0.2]))
    assert found["auc"]["value"] is None
    assert found["auc"]["reason"] == (reason or "no_episodes")
    assert found["det"] == []


def test_scores_that_are_no_probabilities_are_ranked_and_not_calibrated() -> None:
    found = block_of(episodes_of([PASS, FAIL, PASS, FAIL], list("abcd")), np.array([3.5, -2.0, 1.0, 2.0]))
    assert found["auc"]["value"] == 0.75
    assert found["calibration"]["reason"] == "not_probabilities"


def test_a_strictly_above_threshold_as_one_that_is_at_least() -> None:
    assert at_least(0.5, ">=") == 0.5
    assert 0.5 < at_least(0.5, ">") < 0.5 + 1e-15


def test_scores_are_averaged_over_runs_before_any_threshold() -> None:
    nan = math.nan
    episodes = episodes_of([PASS, FAIL, FAIL, FAIL], list("abcd"))
    said = {("j", "c"): [[S, F, S], [S, P, P], [NONE, NONE, F], [S, NONE, F]]}
    scores = {("j", "c"): [[0.9, 0.3, 0.6], [0.9, nan, nan], [nan, nan, 0.1], [0.8, nan, 0.4]]}
    found = scores_of(table_of(episodes, said, scores), "j", "c")
    assert found is not None
    assert found.values[[0, 3]] == pytest.approx([0.6, 0.6])
    assert np.isnan(found.values[[1, 2]]).all()  # read in one of three runs: no majority
    assert found.present.tolist() == [True, True, False, True]


def test_a_judge_without_scores_has_none() -> None:
    episodes = episodes_of([PASS, FAIL], list("ab"))
    assert scores_of(table_of(episodes, {("j", "c"): [[S], [P]]}), "j", "c") is None


def test_consistency_of_runs() -> None:
    episodes = episodes_of([FAIL] * 5, list("abcde"))
    said = {("j", "c"): [[S, S, S], [S, S, U], [S, F, U], [F, F, F], [U, U, S]], ("one", "c"): [[S]] * 5}
    table = table_of(episodes, said)
    rows = np.ones(5, dtype=bool)
    assert consistency_block(table, rows, "one", "c", SETTINGS) is None
    found = consistency_block(table, rows, "j", "c", SETTINGS)
    assert found is not None
    json.dumps(found, allow_nan=False)
    assert found["raw"]["pairwise"]["value"] == pytest.approx(8 / 15)
    assert found["mapped"]["pairwise"]["value"] == pytest.approx(0.6)
    assert found["raw"]["fleiss"] == pytest.approx(0.2708, abs=5e-5)
    assert found["any_run_fpr"]["value"] == pytest.approx(4 / 5)


def claim_table() -> Table:
    """80 failed episodes that assert success, 14 flip in and 4 out; 10 that assert nothing, alike in both."""
    n = 90
    hidden = [[S if 14 <= k < 18 else F] for k in range(n)]
    shown = [[S if k < 14 else F] for k in range(n)]
    claim = [[S if k < 80 else F] for k in range(n)]
    return table_of(
        episodes_of([FAIL] * n, [f"t{k:02}" for k in range(n)]),
        {("j", "E2-last4"): hidden, ("j", "E2+claim"): shown, ("claim", "E2+claim"): claim},
    )


def test_the_claim_effect_is_of_episodes_that_claim() -> None:
    effects = claim_effects(claim_table(), np.ones(90, dtype=bool), SETTINGS)
    assert [(one["judge"], one["condition"], one["base"]) for one in effects] == [
        ("j", "E2+claim", "E2-last4")
    ]
    found = effects[0]
    json.dumps(found, allow_nan=False)
    assert (found["fpr"]["value"], found["fpr"]["n"]) == (pytest.approx(0.125), 80)
    assert (found["fpr"]["flip_in"], found["fpr"]["flip_out"]) == (14, 4)
    assert found["fpr"]["p_mcnemar"] == pytest.approx(0.0309, abs=5e-5)
    assert (found["placebo"]["value"], found["placebo"]["n"]) == (0, 10)
    assert found["noise"] is None
    assert (found["tpr"]["value"], found["tpr"]["reason"]) == (None, "no_positives")
    assert (found["with_words"]["d_prime"], found["with_words"]["reason"]) == (None, "no_positives")


def test_runs_of_one_condition_are_the_noise_floor() -> None:
    n = 40
    rng = np.random.default_rng(0)
    runs = rng.integers(0, 2, (n, 4)).tolist()
    table = table_of(
        episodes_of([FAIL] * n, [f"t{k:02}" for k in range(n)]),
        {("j", "E2-last4"): runs, ("j", "E2+claim"): runs},
    )
    found = claim_effects(table, np.ones(n, dtype=bool), SETTINGS)[0]
    assert found["fpr"]["value"] == 0
    assert found["placebo"] is None
    assert found["noise"]["n"] == n
    odd = (np.array(runs)[:, 0::2] == S).sum(axis=1) > 1
    even = (np.array(runs)[:, 1::2] == S).sum(axis=1) > 1
    assert found["noise"]["value"] == pytest.approx((odd.sum() - even.sum()) / n)


def test_judges_without_a_pair_of_conditions_have_no_claim_effect() -> None:
    table = table_of(episodes_of([FAIL] * 2, list("ab")), {("j", "E2+claim"): [[S], [F]]})
    assert claim_effects(table, np.ones(2, dtype=bool), SETTINGS) == []


def test_unscored_episodes_get_a_corrected_rate() -> None:
    # 18, 2, 12, 68 scored and 900 others of which 300 are accepted; one episode a task
    truth = [PASS] * 20 + [FAIL] * 80 + [MISSING] * 900
    verdict = [S] * 18 + [F] * 2 + [S] * 12 + [F] * 68 + [S] * 300 + [F] * 600
    episodes = episodes_of(truth, [f"t{k:04}" for k in range(1000)])
    rows = np.ones(1000, dtype=bool)
    found = corrected_block(episodes, rows, np.array(verdict, dtype=np.int8), SETTINGS)
    assert found is not None
    json.dumps(found, allow_nan=False)
    assert found["unscored"] == 900
    assert found["rogan_gladen"]["value"] == pytest.approx(0.2444, abs=5e-5)
    assert found["ppi"]["value"] == pytest.approx(0.2163, abs=5e-5)
    assert found["ppi"]["low"] == pytest.approx(0.1547, abs=2e-3)
    scored = corrected_block(
        episodes, rows & (episodes.truth != MISSING), np.array(verdict, dtype=np.int8), SETTINGS
    )
    assert scored is None


def test_a_judge_no_better_than_chance_corrects_nothing() -> None:
    truth = [PASS] * 10 + [FAIL] * 10 + [MISSING] * 5
    episodes = episodes_of(truth, [f"t{k}" for k in range(25)])
    found = corrected_block(episodes, np.ones(25, dtype=bool), np.full(25, S, dtype=np.int8), SETTINGS)
    assert found is not None
    assert found["rogan_gladen"]["value"] is None
    assert found["rogan_gladen"]["reason"] == "judge_no_better_than_chance"
    assert found["ppi"]["weight"] == 0
    assert found["ppi"]["value"] == 0.5


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    episodes, scores = drawn(300, 3)
    names = [episodes.cluster.names[code] for code in episodes.cluster.codes]
    rows = (
        f"{task},{int(true)},{score}\n"
        for task, true, score in zip(names, episodes.truth, scores, strict=True)
    )
    path = tmp_path / "v.csv"
    path.write_text("task,truth,s\n" + "".join(rows), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("options", "delta", "sampling", "policy"),
    [
        ([], 0.05, "one_per_task", "fixed_sequence"),
        (["--delta", "0.2"], 0.2, "one_per_task", "fixed_sequence"),
        (["--sampling", "max_per_task"], 0.05, "max_per_task", "fixed_sequence"),
        (["--sampling", "effective_size", "--delta", "0.1"], 0.1, "effective_size", "fixed_sequence"),
        (["--threshold-rule", "neyman_pearson"], 0.05, "one_per_task", "neyman_pearson"),
        (["--threshold-rule", "conformal"], None, "one_per_task", "conformal"),
    ],
)
def test_the_command_line_says_how_a_threshold_is_promised(
    scored: Path,
    options: list[str],
    delta: float | None,
    sampling: str,
    policy: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = ["--table", str(scored), "--truth", "truth", "--scores", "s", "--cluster", "task"]
    assert run(["measure", *table, "--fpr-target", "0.2", *options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["scores"]["s"]["certificate"]
    assert (found["delta"], found["sampling"], found["policy"]) == (delta, sampling, policy)
    assert found["target"] == 0.2
    assert found["threshold"] is not None
