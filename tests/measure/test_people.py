"""Labels of several people: who agrees with whom, and what they make of judges and verifier."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.measure.conftest import MadeBench

from pyrite.measure.bench import table_from_bench
from pyrite.measure.blocks import Settings
from pyrite.measure.people import Labelled, labels_block, read, with_truth
from pyrite.measure.table import FAIL, INDETERMINATE, MISSING, PASS
from pyrite.records import Label

IDS = ("e0", "e1", "e2", "e3", "e4", "e5")
SETTINGS = Settings(resamples=200)


def label(episode: str, who: str, outcome: str | None = None, stage: str = "blind", **more: Any) -> Label:
    said = {"episode_id": episode, "annotator": who, "outcome": outcome, "stage": stage, **more}
    return Label.model_validate(said)


def said(*lines: Label) -> Labelled:
    return read(lines, IDS)


def test_majority_tie_adjudication_and_practice() -> None:
    found = said(
        *(label("e0", who, outcome) for who, outcome in zip("abc", ("pass", "pass", "fail"), strict=True)),
        label("e1", "a", "pass"),
        label("e1", "b", "fail"),
        label("e2", "a", "pass"),
        label("e2", "b", "fail"),
        label("e2", "chief", "fail", "adjudication"),
        label("e3", "a", "pass", "practice"),
        label("e4", "a", "pass", "informed"),
        label("e5", "a", "indeterminate"),
    )
    assert found.truth().tolist() == [PASS, INDETERMINATE, FAIL, MISSING, PASS, INDETERMINATE]


def test_the_last_line_of_an_annotator_counts_and_blind_leads() -> None:
    found = said(
        label("e0", "a", "pass"),
        label("e0", "a", "fail"),
        label("e0", "a", "pass", "informed"),
        label("x", "a", "pass"),
    )
    assert found.truth()[0] == FAIL
    assert found.strangers == 1


@pytest.fixture
def bench(make_bench: Callable[[], MadeBench]) -> MadeBench:
    made = make_bench()
    for at, outcome in enumerate(["pass", "fail", "fail", "fail", "pass", "fail"]):
        made.episode(IDS[at], f"t{at}", outcome)
    made.verdicts(
        "j", "E1-final", [(name, "success" if at < 3 else "failure") for at, name in enumerate(IDS)]
    )
    return made


def test_judges_are_measured_against_people_too(bench: MadeBench) -> None:
    table = table_from_bench(bench.bench)
    outcomes = ["pass", "pass", "fail", "fail", "pass", "fail"]
    lines = [label(name, who, outcome) for who in "ab" for name, outcome in zip(IDS, outcomes, strict=True)]
    lines.append(label("e3", "b", "pass"))
    found = labels_block(table, read(lines, table.episodes.ids), SETTINGS)
    assert found is not None
    json.dumps(found, allow_nan=False)
    assert (found["pass"], found["fail"], found["indeterminate"]) == (3, 2, 1)
    judged = found["judges"]["E1-final"]["j"]["counts"]
    assert (judged["tp"], judged["fp"], judged["fn"], judged["tn"], judged["indeterminate"]) == (
        2,
        1,
        1,
        1,
        1,
    )
    assert found["agreement"]["pairwise"]["value"] == pytest.approx(5 / 6)
    assert found["agreement"]["pairs"][0]["b_pass_only"] == 1
    assert [one["annotator"] for one in found["ceiling"]] == ["a", "b"]
    assert found["verifier"]["people_pass_only"] == 1
    assert found["verifier"]["n"] == 5
    assert table.episodes.truth.tolist() == [PASS, FAIL, FAIL, FAIL, PASS, FAIL], (
        "the verifier's is untouched"
    )


def test_flips_and_process_scores(bench: MadeBench) -> None:
    table = table_from_bench(bench.bench)
    lines = [label(name, "a", "fail", process_score=0.1 * at) for at, name in enumerate(IDS, 5)]
    lines += [label(name, "b", process_score=0.2 * at) for at, name in enumerate(IDS)]
    lines += [label("e0", "a", "pass", "informed"), label("e1", "a", "fail", "informed")]
    found = labels_block(table, read(lines, table.episodes.ids), SETTINGS)
    assert found is not None
    assert (found["flips"]["changed"]["value"], found["flips"]["to_pass"], found["flips"]["to_fail"]) == (
        0.5,
        1,
        0,
    )
    process = found["process"]
    assert (process["n"], process["threshold"]) == (6, 0.8)
    assert process["correct"] + process["wrong"] == 6
    assert process["pairs"][0]["pearson"]["value"] == pytest.approx(1.0)
    assert process["pairs"][0]["spearman"]["value"] == pytest.approx(1.0)


def test_one_annotator_has_no_agreement_and_no_ceiling(bench: MadeBench) -> None:
    table = table_from_bench(bench.bench)
    found = labels_block(table, read([label("e0", "a", "pass")], table.episodes.ids), SETTINGS)
    assert found is not None
    assert found["agreement"]["pairwise"]["reason"] == "one_annotator_each"
    assert found["agreement"]["alpha"] is None
    assert found["ceiling"] == found["agreement"]["pairs"] == []
    assert found["process"]["median"] is None


def test_no_label_is_no_block(bench: MadeBench) -> None:
    table = table_from_bench(bench.bench)
    assert labels_block(table, read([], table.episodes.ids), SETTINGS) is None
    practice = read([label("e0", "a", "pass", "practice")], table.episodes.ids)
    assert labels_block(table, practice, SETTINGS) is None


def test_a_table_with_another_truth_keeps_everything_else(bench: MadeBench) -> None:
    table = table_from_bench(bench.bench)
    other = with_truth(table, np.full(6, PASS, dtype=np.int8))
    assert other.episodes.truth.tolist() == [PASS] * 6
    assert other.episodes.ids == table.episodes.ids
    assert other.verdicts is table.verdicts
