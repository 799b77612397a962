"""Ensembles of verdicts: the rules, what is missing, published figures, and verdict files of their own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.measure.conftest import MadeBench

from pyrite.cli import run
from pyrite.errors import UsageError
from pyrite.measure.bench import table_from_bench
from pyrite.measure.ensemble import RULES, Ensemble, parse
from pyrite.measure.follows import unchecked
from pyrite.measure.gate import gate_bench
from pyrite.measure.measure import measure_table
from pyrite.measure.vote import votes_of
from pyrite.records import VerdictLine
from pyrite.store.jsonl import read_lines, write_json

SHARED = Path(os.environ.get("PYRITE_SHARED") or Path(__file__).resolve().parents[2].parent / "shared")
JOINED = SHARED / "data" / "webjudge-on-agentrewardbench" / "joined_test.csv"
BACKBONES = ("webjudge_o4_mini", "webjudge_7B", "webjudge_gpt4o")
CODES = (0, 1, 2, 3, -1)
"""Failure, success, uncertain, parse error, missing."""


def said(*verdicts: int, rule: str, weights: tuple[float, ...] = ()) -> int:
    names = tuple("abcd"[: len(verdicts)])
    one = Ensemble(rule, names, weights)
    columns = {name: np.array([code], dtype=np.int8) for name, code in zip(names, verdicts, strict=True)}
    return int(one.of(columns)[0])


@pytest.mark.parametrize(
    ("rule", "verdicts", "expected"),
    [
        ("majority", (1, 1, 0), 1),
        ("majority", (1, 0, 2), 2),
        ("majority", (1, 1, -1), 1),
        ("majority", (1, 0, -1), -1),
        ("majority", (2, 2, -1), 2),
        ("majority", (1, 0), 2),
        ("majority", (1, 3, 3), 2),
        ("unanimous", (1, 1, 1), 1),
        ("unanimous", (1, 0, -1), 0),
        ("unanimous", (1, 1, -1), -1),
        ("unanimous", (1, 1, 3), 2),
        ("any", (0, 1, -1), 1),
        ("any", (0, 0, 0), 0),
        ("any", (0, 0, -1), -1),
        ("any", (0, 0, 2), 2),
        ("cascade", (0, -1), 0),
        ("cascade", (1, -1), -1),
        ("cascade", (1, 0), 0),
        ("cascade", (2, 1), 2),
        ("cascade", (1, 3), 2),
        ("cascade", (1, 1, 0), 0),
    ],
)
def test_rules(rule: str, verdicts: tuple[int, ...], expected: int) -> None:
    assert said(*verdicts, rule=rule) == expected


def test_weights_decide() -> None:
    assert said(1, 0, 0, rule="weighted", weights=(3, 1, 1)) == 1
    assert said(1, 0, 0, rule="weighted", weights=(2, 1, 1)) == 2
    assert said(1, 0, 0, rule="weighted", weights=(0.3, 0.1, 0.2)) == 2


@settings(deadline=None)
@given(st.lists(st.sampled_from(CODES), min_size=2, max_size=4))
def test_a_missing_word_is_never_taken_for_one(verdicts: list[int]) -> None:
    """Where a verdict stands although some are missing, no word of theirs would have turned it."""
    for rule in ("majority", "unanimous", "any", "cascade"):
        found = said(*verdicts, rule=rule)
        gone = [k for k, code in enumerate(verdicts) if code == -1]
        filled = []
        for words in product((0, 1), repeat=len(gone)):
            whole = list(verdicts)
            for place, word in zip(gone, words, strict=True):
                whole[place] = word
            filled.append(said(*whole, rule=rule))
        assert found in {-1, *filled}
        assert found == -1 or set(filled) == {found}


@settings(deadline=None)
@given(st.lists(st.sampled_from(CODES), min_size=3, max_size=3))
def test_unanimous_accepts_less_than_majority_and_any_more(verdicts: list[int]) -> None:
    accepted = {rule: said(*verdicts, rule=rule) == 1 for rule in ("unanimous", "majority", "any")}
    assert accepted["unanimous"] <= accepted["majority"] <= accepted["any"]


@pytest.mark.parametrize(
    ("rules", "members", "weights", "what"),
    [
        (["most"], ["a", "b"], (), "no rule 'most'"),
        ([], ["a", "b"], (), "no rule"),
        (["any"], ["a"], (), "an ensemble of a"),
        (["any"], ["a", "a"], (), "an ensemble of a, a"),
        (["weighted"], ["a", "b"], (1,), "1 weights for 2 judges"),
        (["weighted"], ["a", "b"], (0, 0), "all weights are 0"),
        (["weighted"], ["a", "b"], (-1, 3), "a weight of -1"),
        (["weighted"], ["a", "b"], (1e308, 1e308), "too large"),
        (["weighted"], ["a", "b"], (1, float("nan")), "a weight of nan"),
        (["weighted"], ["a", "b"], (float("inf"), 1), "a weight of inf"),
        (["weighted"], ["a", "b"], (), "weighted without weights"),
        (["any"], ["a", "b"], (1, 2), "weights without the rule"),
    ],
)
def test_what_is_refused(rules: list[str], members: list[str], weights: tuple[float, ...], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        parse(rules, members, weights)


def test_published_majority_and_unanimous(record_property: Callable[[str, str], None]) -> None:
    if not JOINED.is_file():
        pytest.skip(f"no published verdicts at {JOINED}")
    made = parse(["majority", "unanimous"], BACKBONES)
    found = measure_table(
        JOINED, truth="human_success", cluster="task_id", verdicts=BACKBONES, ensembles=made, resamples=20
    )["judges"]
    expected = {
        made[0].label: (80.5, 63.1, 5.5, 19.5, 0.618, (186, 45, 109, 766)),
        made[1].label: (90.2, 37.3, 1.5, 9.8, 0.440, (110, 12, 185, 799)),
    }
    for label, figures in expected.items():
        block = found[label]
        rates = [round(100 * block[name]["value"], 1) for name in ("precision", "tpr", "fpr", "fdr")]
        cells = tuple(block["counts"][name] for name in ("tp", "fp", "fn", "tn"))
        assert (*rates, round(block["kappa"]["value"], 3), cells) == figures
    fpr = [f"{100 * found[one.label]['fpr']['value']:.1f}" for one in made]
    record_property("figure", f"WebJudge, three backbones: majority FPR {fpr[0]} %, unanimous {fpr[1]} %")


def verdicts_of(made: MadeBench, label: str) -> dict[str, Any]:
    lines = read_lines(made.bench.paths.verdict_file(label, "E3-full"), VerdictLine)
    return {line.episode_id: line.verdict for line in lines}


def test_a_bench_gets_verdict_files_that_measure_takes_for_judges(
    make_bench: Callable[[], MadeBench], capsys: pytest.CaptureFixture[str]
) -> None:
    made = make_bench()
    for number in range(6):
        made.episode(f"e{number}", f"t{number}", "pass" if number < 3 else "fail")
    cheap = [(f"e{n}", ["success" if n < 5 else "failure"] * 3) for n in range(6)]
    made.verdicts("cheap", "E3-full", cheap)
    made.verdicts("strong", "E3-full", [(f"e{n}", "success" if n < 3 else "failure") for n in range(4)])
    made.verdicts("strong", "E1-final", [("e0", "success")])
    bench = str(made.bench.root)
    both = ["--judge", "cheap", "--judge", "strong"]
    assert run(["experiment", "ensemble", bench, *both, "--rule", "cascade,any", "--json", "-q"]) == 0
    told = json.loads(capsys.readouterr().out)["ensembles"]
    assert [(one["judge"], one["condition"]) for one in told] == [
        ("cascade(cheap>strong)", "E3-full"),
        ("any(cheap+strong)", "E3-full"),
    ]
    assert (told[0]["consulted"], told[0]["missing"]) == ({"cheap": 6, "strong": 5}, 1)
    cascade = verdicts_of(made, "cascade(cheap>strong)")
    assert cascade == {"e0": "success", "e1": "success", "e2": "success", "e3": "failure", "e5": "failure"}
    assert run(["measure", bench, "--json", "-q"]) in {0, 3}
    judges = json.loads(capsys.readouterr().out)["strata"]["natural"]["conditions"]["E3-full"]["judges"]
    assert judges["cascade(cheap>strong)"]["counts"]["fp"] == 0
    assert judges["cascade(cheap>strong)"]["counts"]["missing"] == 1
    assert judges["any(cheap+strong)"]["counts"]["fp"] == 2
    lines = list(read_lines(made.bench.paths.verdict_file("any(cheap+strong)", "E3-full"), VerdictLine))
    assert lines[3].reason == "cheap: success; strong: failure"


def test_made_again_they_follow_their_members(make_bench: Callable[[], MadeBench]) -> None:
    made = make_bench()
    made.episode("e0", "t0", "fail")
    made.verdicts("a", "E3-full", [("e0", "success")])
    path = made.verdicts("b", "E3-full", [("e0", "failure")])
    command = [
        "experiment",
        "ensemble",
        str(made.bench.root),
        "--judge",
        "a",
        "--judge",
        "b",
        "--rule",
        "any",
    ]
    assert run([*command, "-q"]) == 0
    first = verdicts_of(made, "any(a+b)")
    path.unlink()
    made.verdicts("b", "E3-full", [("e0", "success")], config="other")
    assert run([*command[:-1], "unanimous,any", "-q"]) == 0
    assert (first, verdicts_of(made, "unanimous(a+b)")) == ({"e0": "success"}, {"e0": "success"})


def test_what_no_longer_follows_from_the_members_is_missing(
    make_bench: Callable[[], MadeBench], capsys: pytest.CaptureFixture[str]
) -> None:
    made = make_bench()
    for n in range(3):
        made.episode(f"e{n}", f"t{n}", "fail")
    made.verdicts("a", "E3-full", [(f"e{n}", "success") for n in range(3)])
    path = made.verdicts("b", "E3-full", [(f"e{n}", "success") for n in range(3)])
    root = str(made.bench.root)
    command = ["experiment", "ensemble", root, "-q", "--rule"]
    assert run([*command, "unanimous", "--judge", "a", "--judge", "b"]) == 0
    assert run([*command, "any", "--judge", "unanimous(a+b)", "--judge", "b"]) == 0
    nested = "any(unanimous(a+b)+b)"
    before = table_from_bench(made.bench)
    assert votes_of(before, nested, "E3-full").verdict.tolist() == [1, 1, 1]
    assert not any("no longer" in one for one in before.warnings)
    path.unlink()
    made.verdicts("b", "E3-full", [("e0", "failure"), ("e1", "success")], config="other")
    after = table_from_bench(made.bench)
    assert votes_of(after, "unanimous(a+b)", "E3-full").verdict.tolist() == [-1, 1, -1]
    assert votes_of(after, nested, "E3-full").verdict.tolist() == [-1, 1, -1]
    assert any("unanimous(a+b): 2 verdicts no longer what its members say" in one for one in after.warnings)
    capsys.readouterr()
    run(["measure", root, "-q"])
    assert "no longer what its members say" in " ".join(capsys.readouterr().out.split())
    assert run([*command, "unanimous", "--judge", "a", "--judge", "b"]) == 0
    again = table_from_bench(made.bench)
    assert votes_of(again, "unanimous(a+b)", "E3-full").verdict.tolist() == [0, 1, -1]


@pytest.mark.parametrize("lost", ["order", "all"])
def test_an_ensemble_without_a_record_of_its_members_is_measured_with_a_warning_and_not_certified(
    lost: str, make_bench: Callable[[], MadeBench]
) -> None:
    made = make_bench()
    for n in range(3):
        made.episode(f"e{n}", f"t{n}", "fail")
    for name in "ab":
        made.verdicts(name, "E3-full", [(f"e{n}", "success") for n in range(3)])
    command = ["experiment", "ensemble", str(made.bench.root), "-q", "--rule"]
    assert run([*command, "unanimous", "--judge", "a", "--judge", "b"]) == 0
    assert run([*command, "any", "--judge", "unanimous(a+b)", "--judge", "b"]) == 0
    labels = ["unanimous(a+b)", "any(unanimous(a+b)+b)"]
    assert unchecked(made.bench.lock(), labels) == []
    judges = dict(made.bench.lock()["judges"])
    if lost == "all":
        judges.pop("unanimous(a+b)")
    else:
        judges["unanimous(a+b)"] = {k: v for k, v in judges["unanimous(a+b)"].items() if k != "order"}
    write_json(made.bench.paths.lock, {**made.bench.lock(), "judges": judges})
    table = table_from_bench(made.bench)
    assert votes_of(table, "unanimous(a+b)", "E3-full").verdict.tolist() == [1, 1, 1]
    assert sum("without a record of its members" in one for one in table.warnings) == 2
    blocks = gate_bench(made.bench, judges=labels)["judges"]
    for block in blocks:
        provenance = block["lines"][-1]
        assert (provenance["line"], provenance["answer"] == "PASS") == (10, False)
        assert provenance["parts"][-1]["name"] == "members of the ensemble"
        assert provenance["parts"][-1]["answer"] == "INSUFFICIENT"


def test_weights_that_differ_in_the_seventh_digit_have_labels_that_do() -> None:
    labels = {Ensemble("weighted", ("a", "b"), pair).label for pair in ((1.0000001, 1), (1, 1.0000001))}
    assert labels == {"weighted(1.0000001*a+1*b)", "weighted(1*a+1.0000001*b)"}


@pytest.mark.parametrize(
    ("more", "said_of_it"),
    [
        (["--judge", "a", "--judge", "z"], "z has no verdict here"),
        (["--judge", "a", "--judge", "b"], "not all of them have verdicts in one condition"),
        (
            ["--judge", "a", "--judge", "b", "--condition", "E3-full"],
            "not all of them have verdicts in E3-full",
        ),
        (["--judge", "a", "--judge", "a"], "an ensemble of a, a"),
    ],
)
def test_a_bench_without_them_says_what_there_is(
    make_bench: Callable[[], MadeBench], capsys: pytest.CaptureFixture[str], more: list[str], said_of_it: str
) -> None:
    made = make_bench()
    made.episode("e0", "t0", "fail")
    made.verdicts("a", "E3-full", [("e0", "success")])
    made.verdicts("b", "E1-final", [("e0", "success")])
    assert run(["experiment", "ensemble", str(made.bench.root), "--rule", "any", *more]) == 2
    assert said_of_it in capsys.readouterr().err


def test_every_rule_is_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["experiment", "ensemble", "--help"]) == 0
    text = capsys.readouterr().out
    assert all(rule in text for rule in RULES)


def test_members_stand_between_commas_or_one_each(
    make_bench: Callable[[], MadeBench], capsys: pytest.CaptureFixture[str]
) -> None:
    """Options keep their commas, in any order, and so does an ensemble that is a member."""
    made = make_bench()
    made.episode("e0", "t0", "fail")
    for name in ("a", "b@x=1,y=2", "c"):
        made.verdicts(name, "E3-full", [("e0", "success")])
    command = ["experiment", "ensemble", str(made.bench.root), "--rule", "any", "--json", "-q"]

    def made_of(*more: str) -> str:
        assert run([*command, *more]) == 0, capsys.readouterr().err
        [one] = json.loads(capsys.readouterr().out)["ensembles"]
        return str(one["judge"])

    apart = made_of("--judge", "a", "--judge", "b@x=1,y=2", "--judge", "c")
    assert apart == "any(a+b@x=1,y=2+c)"
    assert made_of("--judge", "a,b@y=2,x=1,c") == apart
    assert made_of("--judge", "a", "--judge", "b@x=1,y=2,c") == apart
    assert made_of("--judge", "any(a+b@x=1,y=2+c)", "--judge", "c") == f"any({apart}+c)"
    for wrong in ("a,zz", "a,a", "a", ","):
        assert run([*command, "--judge", wrong]) == 2
