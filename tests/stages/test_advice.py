"""What an error advises is a command that the shell and pyrite take as it stands."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.measure.conftest import MadeBench

from pyrite.cli import run
from pyrite.measure.bench import table_from_bench
from pyrite.stages.advice import to_have
from pyrite.store.bench import Bench

ROOT = Path("runs/it's first")


@pytest.fixture
def make_bench(tmp_path: Path) -> Callable[[], MadeBench]:
    return lambda: MadeBench(Bench.create(tmp_path / "bench"))


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (["screen-rules"], ["pyrite", "judge", str(ROOT), "--judge", "screen-rules"]),
        (
            ["vlm@model=a b,prompt=lenient"],
            ["pyrite", "judge", str(ROOT), "--judge", "vlm@model=a b,prompt=lenient"],
        ),
        (["webjudge"], ["pyrite", "judge", str(ROOT), "--judge", "webjudge", "--model", "NAME"]),
        (["mine.mod:judge"], ["pyrite", "judge", str(ROOT), "--judge", "mine.mod:judge"]),
        (["exec:./a.sh --x (y)"], ["pyrite", "judge", str(ROOT), "--judge", "exec:./a.sh --x (y)"]),
        (["nosuch"], ["pyrite", "list", "judges"]),
        ([], ["pyrite", "list", "judges"]),
    ],
)
def test_a_label_is_one_word_of_the_shell(labels: list[str], told: list[str]) -> None:
    assert shlex.split(to_have(ROOT, labels)) == told


def test_an_ensemble_is_made_and_not_asked() -> None:
    told = shlex.split(to_have(ROOT, ["majority(a+b)"]))
    assert told[:4] == ["pyrite", "experiment", "ensemble", str(ROOT)]


def test_the_command_that_makes_an_outdated_ensemble_anew_works(
    make_bench: Callable[[], MadeBench], capsys: pytest.CaptureFixture[str]
) -> None:
    made = make_bench()
    made.episode("e0", "t0", "fail")
    made.verdicts("a", "E3-full", [("e0", "success")])
    path = made.verdicts("b", "E3-full", [("e0", "success")])
    root = str(made.bench.root)
    both = ["--judge", "a", "--judge", "b"]
    assert run(["experiment", "ensemble", root, "-q", "--rule", "weighted", "--weights", "2,1", *both]) == 0
    nested = ["--judge", "weighted(2*a+1*b)", "--judge", "b", "--rule", "unanimous"]
    assert run(["experiment", "ensemble", root, "-q", *nested]) == 0
    path.unlink()
    made.verdicts("b", "E3-full", [("e0", "failure")], config="other")
    notes = table_from_bench(made.bench).warnings
    commands = [note.partition(": pyrite ")[2] for note in notes if "no longer what" in note]
    assert len(commands) == 1
    assert "'weighted(2*a+1*b)'" in commands[0]
    assert run([*shlex.split(commands[0]), "-q"]) == 0
    assert not any("no longer what" in note for note in table_from_bench(made.bench).warnings)
    capsys.readouterr()


def test_without_verdicts_in_one_condition_the_judge_that_lacks_them_is_advised(
    make_bench: Callable[[], MadeBench], capsys: pytest.CaptureFixture[str]
) -> None:
    made = make_bench()
    made.episode("e0", "t0", "fail")
    made.verdicts("accept-all", "E3-full", [("e0", "success")])
    made.verdicts("screen-rules", "E1-final", [("e0", "success")])
    root = str(made.bench.root)
    command = ["experiment", "ensemble", root, "--rule", "any", "-q"]
    assert run([*command, "--judge", "accept-all", "--judge", "screen-rules"]) == 2
    said = capsys.readouterr().err
    assert f"next: pyrite judge {root} --judge screen-rules --condition E3-full" in said
    assert run(["rejudge", root, "--against", "any(a+b)", "--judge", "accept-all", "-q"]) == 2
    assert "next: pyrite experiment ensemble" in capsys.readouterr().err
