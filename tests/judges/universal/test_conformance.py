"""A recorded run of the released verifier, replayed: its answers in, its score file out."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.judges.universal.brain import Brain, Script, View
from tests.judges.universal.recorded import Recorded

from pyrite.errors import InputError
from pyrite.evidence.conditions import parse_list
from pyrite.evidence.leaks import Secrets
from pyrite.evidence.packing import index, pack
from pyrite.formats.fara_bench import import_runs
from pyrite.formats.fara_scores import write_scores
from pyrite.judges.labels import make
from pyrite.judges.runner import ask
from pyrite.store.bench import Bench
from pyrite.suites.lookup import Lookup

NOT_KEPT = "outcome_reasoning"
"""The older build that was recorded leaves it empty, although its step 8 has a reasoning."""


Replay = tuple[Recorded, dict[str, Any], Script]
"""The recording, our score file, and what was asked."""


@pytest.fixture(scope="module")
def example() -> Path:
    shared = os.environ.get("PYRITE_SHARED") or Path(__file__).resolve().parents[3].parent / "shared"
    folder = Path(shared) / "data" / "fara-universal-verifier-example"
    if not folder.is_dir():
        pytest.skip(f"no recorded run at {folder} (set PYRITE_SHARED)")
    return folder


def replaying(recorded: Recorded) -> Brain:
    """A model that gives the recorded answers; a screen is known by its number."""

    def screen(view: View) -> int:
        head = view.text.rpartition("Screen ")[2]
        return int(head.partition(" ")[0]) - 1

    rules: dict[str, Callable[[View], Any]] = {
        "actions_only": lambda view: recorded.actions_only(),
        "relevance": lambda view: recorded.relevance(screen(view)),
        "evidence": lambda view: recorded.evidence(screen(view)),
        "reality": lambda view: recorded.reality(),
        "rescoring": lambda view: recorded.rescoring(),
        "side_effects": lambda view: recorded.side_effects(),
        "outcome": lambda view: recorded.outcome(),
    }
    return Brain(rules=rules)


@pytest.fixture(scope="module")
def replayed(example: Path, tmp_path_factory: pytest.TempPathFactory) -> Replay:
    folder = tmp_path_factory.mktemp("replay")
    recorded = Recorded(example)
    done = import_runs(example, folder / "bench")
    assert done.new == [example.name]
    assert done.ends == {"terminated": 1}
    bench = Bench(folder / "bench")
    instruction = Lookup(bench).instruction
    pack(bench, parse_list("E3-full+claim"), instruction, lambda meta: Secrets())
    calls = Script(replaying(recorded))
    rubrics = example / "task_data.json"
    judge = make(f"universal@rubrics={rubrics},frames=pre-action,diagnosis=off", calls=calls)
    judging = asyncio.run(ask(bench, [judge], list(index(bench).values())))
    assert (judging.missing, judging.undecided) == (0, 0)
    scores = write_scores(bench, judge.label, folder / "out")
    assert scores.written == [example.name]
    path = folder / "out" / example.name / "scores" / "mmrubric_0.8-5-3.json"
    return recorded, json.loads(path.read_text("utf-8")), calls


def test_a_scored_rubric_in_the_folder_is_graded_anew(
    replayed: Replay,
) -> None:
    """The released code takes it for the verdict, without a call."""
    _, _, calls = replayed
    assert dict(calls.steps()) == {
        **dict.fromkeys(("actions_only", "reality", "rescoring", "side_effects", "outcome"), 1),
        "relevance": 4,
        "evidence": 3,
    }


def checks(recorded: Recorded, ours: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Name of a check -> what we have, what was recorded."""
    payload = json.loads(ours["gpt_response_text"])
    steps, theirs = payload["rubric_intermediate_mm_rubric_steps"], recorded.steps
    pairs: dict[str, tuple[Any, Any]] = {
        "score": (ours["score"], recorded.score_file["score"]),
        "items with all their fields": (payload["rubric_items"], recorded.items),
        "cached rubric": (payload["rubric_items"], recorded.task_data["precomputed_rubric"]["items"]),
        "cached votes": (
            payload["rubric_majority_vote_metadata"],
            recorded.task_data["majority_vote_metadata"],
        ),
        "cached grouping": (
            steps["step3_grouped_screenshots"],
            recorded.task_data["intermediate_mm_rubric_steps"]["step3_grouped_screenshots"],
        ),
        "evidence order": (
            {key: [one["screenshot_idx"] for one in found] for key, found in _evidence(steps).items()},
            {key: [one["screenshot_idx"] for one in found] for key, found in _evidence(theirs).items()},
        ),
    }
    for key in (
        "is_success",
        "rubric_is_success",
        "rubric_total_max_points",
        "rubric_total_earned_points",
        "outcome_success",
        "outcome_primary_intent",
        NOT_KEPT,
        "rubric_outcome_verification",
        "rubric_majority_vote_metadata",
        "rubric_all_scores_list",
    ):
        pairs[key] = (payload[key], recorded.payload[key])
    for key in (
        "step1_num_screenshots",
        "step2_relevance_scores",
        "step3_grouped_screenshots",
        "step4_evidence_by_criterion",
        "step5_reality_check",
        "majority_vote_step8",
    ):
        pairs[key] = (steps[key], theirs[key])
    return pairs


def _evidence(steps: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = steps["step4_evidence_by_criterion"]
    return found


def test_all_checks_agree_but_the_one_that_cannot(
    replayed: Replay, record_property: Callable[[str, str], None]
) -> None:
    recorded, ours, _ = replayed
    found = checks(recorded, ours)
    agree = {name for name, (mine, theirs) in found.items() if mine == theirs}
    record_property(
        "figure", f"recorded run of the released verifier: {len(agree)} of {len(found)} checks agree"
    )
    assert set(found) - agree == {NOT_KEPT}
    assert len(found) == 22
    reasoning = found[NOT_KEPT][0]
    assert reasoning == recorded.steps["step8_outcome_verification"]["reasoning"]


def test_totals_are_sums_of_the_items(replayed: Replay) -> None:
    _, ours, _ = replayed
    payload = json.loads(ours["gpt_response_text"])
    items = payload["rubric_items"]
    assert sum(one["max_points"] for one in items) == payload["rubric_total_max_points"] == 10.0
    assert sum(one["post_image_earned_points"] for one in items) == 10.0
    summary = payload["rubric_intermediate_mm_rubric_steps"]["step6_rescoring_summary"]
    assert [one["post_image_earned_points"] for one in summary] == [6.0, 4.0]


def test_what_is_no_file_of_rubrics_is_said(tmp_path: Path) -> None:
    path = tmp_path / "rubrics.jsonl"
    path.write_text('{"ques": "a"}\n', encoding="utf-8")
    with pytest.raises(InputError, match="no rubric"):
        make(f"universal@rubrics={path}", calls=Script())
    with pytest.raises(InputError):
        make(f"universal@rubrics={tmp_path / 'none'}", calls=Script())
