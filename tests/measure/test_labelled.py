"""People as the truth of a bench, and both truths side by side."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.measure.conftest import MadeBench

from pyrite.cli import run
from pyrite.errors import UsageError
from pyrite.measure.bench import measure_bench
from pyrite.records import Label
from pyrite.store.jsonl import append_lines, write_json


def label(made: MadeBench, name: str, outcome: str, who: str = "ana", stage: str = "blind") -> None:
    said: dict[str, Any] = {"episode_id": name, "annotator": who, "stage": stage, "outcome": outcome}
    append_lines(made.bench.paths.labels, [Label.model_validate(said)])


@pytest.fixture
def made(make_bench: Callable[[], MadeBench]) -> MadeBench:
    """24 episodes of 12 tasks, half passed; the judge accepts what the verifier passes and one failure."""
    found = make_bench()
    for at in range(24):
        found.episode(f"e{at:02d}", f"t{at // 2:02d}", "pass" if at % 2 else "fail", category=None)
    found.verdicts(
        "j", "E1-final", [(f"e{at:02d}", "success" if at % 2 or not at else "failure") for at in range(24)]
    )
    return found


def measured(made: MadeBench, **options: Any) -> dict[str, Any]:
    found = measure_bench(made.bench, resamples=200, **options)
    json.dumps(found, allow_nan=False)
    return found


def judge(found: dict[str, Any]) -> dict[str, Any]:
    block: dict[str, Any] = found["strata"]["natural"]["conditions"]["E1-final"]["judges"]["j"]
    return block


def test_the_majority_counts_a_tie_is_indeterminate_and_an_adjudication_wins(made: MadeBench) -> None:
    for who, outcome in (("ana", "pass"), ("bo", "pass"), ("cy", "fail")):
        label(made, "e00", outcome, who)
    label(made, "e01", "pass")
    label(made, "e01", "fail", "bo")
    label(made, "e02", "pass")
    label(made, "e02", "pass", "bo")
    label(made, "e02", "fail", "x", "adjudication")
    label(made, "e03", "pass")
    found = measured(made, truth="labels")
    truth = found["strata"]["natural"]["truth"]
    assert (truth["attempted"], truth["pass"], truth["fail"], truth["indeterminate"]) == (24, 2, 1, 21)
    assert truth["causes"] == {
        "not_labelled": {"n": 20, "blame": "people"},
        "people_undecided": {"n": 1, "blame": "people"},
    }
    counts = judge(found)["counts"]
    assert (counts["tp"], counts["fp"], counts["tn"], counts["indeterminate"]) == (2, 0, 1, 21)
    assert found["truth_from"] == "labels"
    listed = {one["episode_id"]: one["cause"] for one in found["indeterminate"]}
    assert (len(listed), listed["e01"], listed["e04"]) == (21, "people_undecided", "not_labelled")
    assert any("20 episodes are not labelled" in text for text in found["warnings"])


def test_an_aborted_run_is_indeterminate_whatever_people_say(made: MadeBench) -> None:
    for at in range(8):
        label(made, f"e{at:02d}", "pass" if at % 2 else "fail")
    for name in ("e00", "e01", "e20"):
        path = made.bench.paths.episode(name).meta
        write_json(path, {**json.loads(path.read_text("utf-8")), "ended_by": "environment_lost"})
    found = measured(made, truth="labels")
    truth = found["strata"]["natural"]["truth"]
    assert (truth["attempted"], truth["pass"], truth["fail"], truth["indeterminate"]) == (24, 3, 3, 18)
    assert truth["causes"] == {
        "not_labelled": {"n": 15, "blame": "people"},
        "environment_lost": {"n": 3, "blame": "environment"},
    }
    counts = judge(found)["counts"]
    assert (counts["tp"], counts["fp"], counts["tn"], counts["indeterminate"]) == (3, 0, 3, 18)
    listed = {one["episode_id"]: (one["cause"], one["blame"]) for one in found["indeterminate"]}
    assert all(listed[name] == ("environment_lost", "environment") for name in ("e00", "e01", "e20"))
    assert any(text.startswith("3 aborted runs") for text in found["warnings"])
    people = found["people"]
    assert (people["episodes"], people["pass"], people["fail"], people["indeterminate"]) == (8, 3, 3, 2)
    assert found["both"]["natural"]["episodes"] == 6


def test_the_verifier_leads_and_both_are_shown_on_the_same_episodes(made: MadeBench) -> None:
    assert measured(made)["both"] is None
    for at in range(20):
        label(made, f"e{at:02d}", "pass" if at % 2 or not at else "fail")
    label(made, "e20", "indeterminate")
    found = measured(made)
    assert found["truth_from"] == "verifier"
    assert judge(found)["counts"]["fp"] == 1
    both = found["both"]["natural"]
    assert (both["episodes"], both["differ"]) == (20, 1)
    one = both["conditions"]["E1-final"]["j"]
    assert (one["verifier"]["counts"]["fp"], one["verifier"]["fpr"]["value"]) == (1, 0.1)
    assert (one["labels"]["counts"]["fp"], one["labels"]["fpr"]["value"]) == (0, 0)
    assert measured(made, truth="labels")["both"] == found["both"]


def test_labels_need_no_verifier(
    make_bench: Callable[[], MadeBench], capsys: pytest.CaptureFixture[str]
) -> None:
    made = make_bench()
    for at in range(12):
        made.episode(f"e{at:02d}", f"t{at:02d}", None)
        label(made, f"e{at:02d}", "pass" if at % 3 else "fail")
    made.verdicts("j", "E1-final", [(f"e{at:02d}", "success") for at in range(12)])
    counts = judge(measured(made, truth="labels"))["counts"]
    assert (counts["tp"], counts["fp"]) == (8, 4)
    assert run(["measure", str(made.bench.root), "-q"]) == 2
    assert "verified" in capsys.readouterr().err
    assert run(["measure", str(made.bench.root), "--truth", "labels", "-q"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "truth is what people say" in out
    assert "not verified" not in out


def test_without_an_outcome_in_a_label_it_is_refused(made: MadeBench) -> None:
    with pytest.raises(UsageError, match="no label says how an episode ended"):
        measured(made, truth="labels")
    label(made, "e00", "fail", stage="practice")
    with pytest.raises(UsageError, match="no label"):
        measured(made, truth="labels")


def test_both_in_the_terminal(made: MadeBench, capsys: pytest.CaptureFixture[str]) -> None:
    for at in range(24):
        label(made, f"e{at:02d}", "pass" if at % 2 or not at else "fail")
    assert run(["measure", str(made.bench.root), "-q"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 100
    out = " ".join(out.split()).replace("\u202f", " ")
    assert "both natural: 24 episodes with an outcome of verifier and people, 1 of them different" in out
    assert "j, E1-final: FPR 8.3 % [" in out
    assert "by the verifier, 0.0 % [" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--truth", "people"], "expected verifier or labels"),
        (["--truth", "labels", "--cluster", "x"], "go with --table"),
        (["--delta", "0"], "--delta 0"),
        (["--delta", "nan"], "--delta nan"),
        (["--delta", "0.1", "--threshold-rule", "conformal"], "with no confidence"),
        (["--sampling", "effective_size", "--threshold-rule", "neyman_pearson"], "fixed_sequence only"),
    ],
)
def test_what_does_not_go_together(
    made: MadeBench, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["measure", str(made.bench.root), *arguments]) == 2
    assert message in capsys.readouterr().err
