"""Two judges on the same episodes: who flipped, both ways, and whether it is more than noise."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pytest

from pyrite.measure.rejudged import rejudged, untested
from pyrite.metrics.compare import mcnemar_exact
from pyrite.store.jsonl import write_bytes

if TYPE_CHECKING:
    from tests.measure.conftest import MadeBench


@pytest.fixture
def made(make_bench: Callable[[], MadeBench]) -> MadeBench:
    return make_bench()


OLD, NEW, C = "vlm@model=a", "vlm@model=b", "E1-final"
S, F, U = "success", "failure", "uncertain"


def lay(made: MadeBench, said: Sequence[tuple[str, str | None, str | None]], **more: str) -> None:
    """(truth, old, new) of one episode a task each; None: no verdict."""
    lines: dict[str, list[tuple[str, str]]] = {OLD: [], NEW: []}
    for number, (truth, old, new) in enumerate(said):
        made.episode(f"ep_{number:02d}", f"t-{number:02d}", truth or None, **more)
        for label, verdict in ((OLD, old), (NEW, new)):
            if verdict is not None:
                lines[label].append((f"ep_{number:02d}", verdict))
    for label, found in lines.items():
        made.verdicts(label, C, found)


def test_flips_both_ways_with_their_episodes_and_a_paired_test(made: MadeBench) -> None:
    lay(
        made,
        [
            *[("fail", F, S)] * 7,
            *[("pass", F, S)] * 2,
            ("pass", S, F),
            ("fail", S, U),
            *[("pass", S, S)] * 4,
            ("fail", None, S),
        ],
    )
    result = rejudged(made.bench, old=OLD, new=NEW, conditions=[C])
    json.dumps(result, allow_nan=False)
    (block,) = result["blocks"]
    assert (block["stratum"], block["condition"]) == ("natural", C)
    assert (block["episodes"], block["decided"]) == (16, 15)
    assert (block["gained"], block["lost_accepts"]) == (9, 2)
    assert block["answers"][F] == {S: 9, F: 0, U: 0, "parse_error": 0}
    assert block["answers"][S] == {S: 4, F: 1, U: 1, "parse_error": 0}
    flips = {flip["episode_id"]: (flip["truth"], flip["old"], flip["new"]) for flip in block["flips"]}
    assert flips == {
        **{f"ep_{n:02d}": ("fail", F, S) for n in range(7)},
        **{f"ep_{n:02d}": ("pass", F, S) for n in (7, 8)},
        "ep_09": ("pass", S, F),
        "ep_10": ("fail", S, U),
    }
    tests = block["tests"]
    # one episode a task: the sign-flip test is McNemar's exact test
    assert tests["acceptance"]["p_signflip"] == pytest.approx(mcnemar_exact(9, 2))
    assert tests["fpr"]["p_signflip"] == pytest.approx(mcnemar_exact(7, 1))
    assert tests["acceptance"]["difference"]["value"] == pytest.approx(7 / 15)
    assert (tests["fpr"]["n"], tests["tpr"]["n"]) == (8, 7)
    assert tests["fpr"]["lost"] == 1
    assert tests["acceptance"]["differs"] is False
    assert not untested(result)


def test_the_same_the_other_way_round_is_the_negative(made: MadeBench) -> None:
    lay(made, [*[("fail", F, S)] * 8, ("pass", S, F), *[("pass", S, S)] * 3])
    (one,) = rejudged(made.bench, old=OLD, new=NEW, conditions=[C])["blocks"]
    (other,) = rejudged(made.bench, old=NEW, new=OLD, conditions=[C])["blocks"]
    for metric in ("acceptance", "fpr", "tpr"):
        a, b = one["tests"][metric], other["tests"][metric]
        assert a["difference"]["value"] == pytest.approx(-b["difference"]["value"])
        assert a["p_signflip"] == b["p_signflip"]
    assert (one["gained"], one["lost_accepts"]) == (other["lost_accepts"], other["gained"])
    assert one["tests"]["fpr"]["differs"] is True


def test_acceptance_needs_no_truth(made: MadeBench) -> None:
    lay(made, [("", F, S)] * 7 + [("indeterminate", S, S)])
    (block,) = rejudged(made.bench, old=OLD, new=NEW, conditions=[C])["blocks"]
    assert {flip["truth"] for flip in block["flips"]} == {None}
    assert block["tests"]["acceptance"]["p_signflip"] == pytest.approx(2 / 2**7)
    for metric in ("fpr", "tpr"):
        assert block["tests"][metric]["difference"]["value"] is None
        assert block["tests"][metric]["differs"] is None


def test_strata_are_never_pooled(made: MadeBench) -> None:
    for source in ("natural", "perturbed"):
        for number in range(3):
            made.episode(f"{source}_{number}", f"t-{number}", "fail", source=source)
    ids = [f"{source}_{number}" for source in ("natural", "perturbed") for number in range(3)]
    made.verdicts(OLD, C, [(name, F) for name in ids])
    made.verdicts(NEW, C, [(name, S if name.startswith("natural") else F) for name in ids])
    blocks = rejudged(made.bench, old=OLD, new=NEW, conditions=[C])["blocks"]
    assert [(b["stratum"], b["decided"], b["gained"]) for b in blocks] == [
        ("natural", 3, 3),
        ("perturbed", 3, 0),
    ]


def test_runs_are_voted_and_a_vote_that_misses_a_run_is_no_decision(made: MadeBench) -> None:
    for number in range(2):
        made.episode(f"ep_{number}", f"t-{number}", "fail")
    made.verdicts(OLD, C, [("ep_0", [F, F, S]), ("ep_1", [F, F, F])])
    made.verdicts(NEW, C, [("ep_0", [S, S, F]), ("ep_1", [S, S])])
    (block,) = rejudged(made.bench, old=OLD, new=NEW, conditions=[C])["blocks"]
    assert (block["episodes"], block["decided"]) == (2, 1)
    assert [flip["episode_id"] for flip in block["flips"]] == ["ep_0"]


def test_one_task_cannot_be_tested(made: MadeBench) -> None:
    for number in range(3):
        made.episode(f"ep_{number}", "t-0", "fail")
    made.verdicts(OLD, C, [(f"ep_{n}", F) for n in range(3)])
    made.verdicts(NEW, C, [(f"ep_{n}", S) for n in range(3)])
    result = rejudged(made.bench, old=OLD, new=NEW, conditions=[C])
    assert result["blocks"][0]["gained"] == 3
    assert untested(result)
    assert untested(rejudged(made.bench, old=OLD, new=NEW, conditions=["E3-full"]))


def test_reasons_stand_beside_a_flip(made: MadeBench) -> None:
    lay(made, [("fail", F, S), ("fail", F, F)])
    path = made.bench.paths.verdict_file(NEW, C)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    lines[0]["reason"] = "the title has no star"
    write_bytes(path, "".join(json.dumps(line) + "\n" for line in lines).encode())
    (block,) = rejudged(made.bench, old=OLD, new=NEW, conditions=[C])["blocks"]
    (flip,) = block["flips"]
    assert (flip["old_reason"], flip["new_reason"]) == (None, "the title has no star")
