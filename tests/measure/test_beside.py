"""A bench with repeated runs, scores, confidences, claims and unverified episodes, from file to text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pyrite import flow
from pyrite.cli import run
from pyrite.errors import UsageError
from pyrite.measure.bench import measure_bench
from pyrite.measure.scores import Asked
from pyrite.records import VerdictLine
from pyrite.store.jsonl import append_lines

Make = Callable[[], Any]
TASKS, EACH, RUNS = 160, 2, 3


def say(made: Any, judge: str, condition: str, rows: list[tuple[str, int, str, float | None]]) -> None:
    """(episode, run, verdict, score) lines; the confidence is .9 for success, .6 for failure."""
    sure = {"success": 0.9, "failure": 0.6}
    lines = [
        VerdictLine(
            episode_id=name,
            judge=judge,
            config="c",
            condition=condition,
            run=number,
            verdict=verdict,
            score=score,
            confidence=sure.get(verdict),
        )
        for name, number, verdict, score in rows
    ]
    append_lines(made.bench.paths.verdict_file(judge, condition), lines)


@pytest.fixture
def made(make_bench: Make) -> Any:
    """320 natural episodes, 20 of them unverified; a noisy judge, three runs, with the claim and without."""
    found = make_bench()
    rng = np.random.default_rng(0)
    bare: list[tuple[str, int, str, float | None]] = []
    claimed, claims = list(bare), list(bare)
    for k in range(TASKS * EACH):
        name, passed = f"e{k:03}", bool(rng.random() < 0.3)
        outcome = None if k >= 300 else "pass" if passed else "fail"
        category = (
            "F-UNCOMMITTED" if outcome == "fail" and k % 2 else "F-ABORT" if outcome == "fail" else None
        )
        found.episode(name, f"t{k // EACH:03}", outcome, category=category)
        score = 0.5 * passed + 0.5 * float(rng.random())
        for number in range(1, RUNS + 1):
            here = round(min(1.0, score + 0.05 * float(rng.random())), 4)
            bare.append((name, number, "success" if here > 0.5 else "failure", here))
            lenient = here > 0.5 or (k % 5 == 0)
            claimed.append((name, number, "success" if lenient else "failure", None))
        claims.append((name, 1, "success" if k % 10 else "failure", None))
    say(found, "noisy", "E2-last4", bare)
    say(found, "noisy", "E2+claim", claimed)
    say(found, "claim", "E2+claim", claims)
    return found


def cell(result: dict[str, Any], judge: str, condition: str) -> dict[str, Any]:
    found: dict[str, Any] = result["strata"]["natural"]["conditions"][condition]["judges"][judge]
    return found


def test_everything_that_stands_beside_the_figures(made: Any) -> None:
    result = measure_bench(made.bench, resamples=200)
    json.dumps(result, allow_nan=False)
    block = cell(result, "noisy", "E2-last4")
    assert block["consistency"]["runs"] == RUNS
    assert 0.5 < block["consistency"]["raw"]["pairwise"]["value"] < 1
    assert block["consistency"]["any_run_fpr"]["value"] >= block["fpr"]["value"]
    assert block["scores"]["n"] == 320
    assert block["scores"]["auc"]["value"] > 0.9
    certificate = block["scores"]["certificate"]
    assert certificate["judge"] == f"noisy>={certificate['threshold']!r}"
    assert 0 < certificate["hard_fpr"]["n"] < certificate["fpr"]["n"]
    assert block["confidence"]["brier"]["value"] is not None
    # success at .9 and failure at .6, averaged over the runs: probabilities .9, .4 and what lies between
    assert {round(one["low"], 3) for one in block["confidence"]["bins"]} <= {0.4, 0.567, 0.733, 0.9}
    assert block["corrected"]["unscored"] == 20
    assert block["corrected"]["ppi"]["low"] < block["corrected"]["ppi"]["value"]
    assert set(block["agreement"]) == {"ac1", "alpha", "pabak", "mcc"}
    assert block["selective"]["coverage"]["value"] == 1
    once = cell(result, "claim", "E2+claim")
    assert (once["consistency"], once["scores"]) == (None, None)


def test_the_claim_effect_of_a_bench(made: Any) -> None:
    (effect,) = measure_bench(made.bench, resamples=200)["strata"]["natural"]["claims"]
    assert (effect["judge"], effect["condition"], effect["base"]) == ("noisy", "E2+claim", "E2-last4")
    assert effect["fpr"]["flip_out"] == 0
    assert effect["fpr"]["value"] == pytest.approx(effect["fpr"]["flip_in"] / effect["fpr"]["n"])
    assert effect["fpr"]["p_signflip"] < 0.05
    assert effect["placebo"]["n"] > 0
    assert effect["noise"]["value"] == pytest.approx(0, abs=0.1)
    assert effect["with_words"]["criterion"] < effect["without"]["criterion"]  # more lenient


def test_the_target_of_the_configuration_is_kept(made: Any) -> None:
    made.bench.update_lock(metrics={"fpr_target": 0.2})

    def target(**options: Any) -> float:
        result = flow.measure(made.bench.root, **options)
        return float(cell(result, "noisy", "E2-last4")["scores"]["certificate"]["target"])

    assert target() == 0.2
    assert target(asked={"policy": "conformal"}) == 0.2
    assert target(asked={"target": 0.1}) == 0.1


def test_delta_and_sampling_of_the_configuration_are_kept(made: Any) -> None:
    made.bench.update_lock(metrics={"delta": 0.2, "sampling": "max_per_task"})

    def certificate(**options: Any) -> dict[str, Any]:
        result = flow.measure(made.bench.root, **options)
        found: dict[str, Any] = cell(result, "noisy", "E2-last4")["scores"]["certificate"]
        return found

    found = certificate()
    assert (found["delta"] * found["looks"], found["sampling"]) == (pytest.approx(0.2), "max_per_task")
    assert certificate(asked={"sampling": "one_per_task"})["sampling"] == "one_per_task"
    made.bench.update_lock(metrics={"sampling": "effective_size"})
    with pytest.raises(UsageError, match="effective size"):
        certificate(asked={"policy": "conformal"})


def test_the_rule_that_was_asked_for(made: Any) -> None:
    found = measure_bench(made.bench, resamples=200, asked=Asked(policy="conformal", target=0.1))
    certificate = cell(found, "noisy", "E2-last4")["scores"]["certificate"]
    assert (certificate["policy"], certificate["delta"]) == ("conformal", None)
    assert "weaker" in certificate["promise"]


def test_the_text_tells_it_in_lines_of_the_terminal(made: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["measure", str(made.bench.root), "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "noisy, E2-last4, 3 runs: pairs of runs agree on" in out
    assert "accepted by at least one run" in out
    assert "score noisy, E2-last4: 320 scores" in out
    assert "20 episodes without a truth" in out
    assert "noisy, E2+claim minus E2-last4: FPR +" in out
    assert "criterion" in out
    assert max(len(line) for line in out.splitlines()) <= 100


def test_certificates_of_a_bench_are_named_by_judge_condition_and_stratum(made: Any, tmp_path: Any) -> None:
    (path,) = flow.write_certificates(tmp_path / "certs", flow.measure(made.bench.root))
    assert path.name == "noisy__E2-last4__natural.threshold.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    assert (found["stratum"], found["condition"]) == ("natural", "E2-last4")


def test_the_order_of_lines_does_not_matter(made: Any) -> None:
    before = measure_bench(made.bench, resamples=200)
    for path in made.bench.paths.verdict_files():
        lines = path.read_text(encoding="utf-8").splitlines()
        path.write_text("\n".join(reversed(lines)) + "\n", encoding="utf-8")
    assert measure_bench(made.bench, resamples=200) == before
