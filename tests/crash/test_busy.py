"""Two processes on one bench: the second is refused and changes nothing."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyrite.cli import run

if TYPE_CHECKING:
    from tests.crash.conftest import Pyrite, Stages

TASK = "calc-set-cell-vehicle-costs-e9"
WRITING = {
    "record": ["record", "desk", "--agent", "idle", "--only", TASK, "-o", "BENCH"],
    "perturb": ["perturb", "BENCH"],
    "verify": ["verify", "BENCH"],
    "label": ["label", "EPISODE", "--category", "F-PARTIAL", "--annotator", "ana"],
    "pack": ["pack", "BENCH"],
    "judge": ["judge", "BENCH", "--judge", "accept-all"],
    "report": ["report", "BENCH", "--force"],
    "run": ["run", "BENCH"],
    "manifest": ["manifest", "BENCH"],
    "demo": ["demo", "-o", "BENCH"],
}


@pytest.fixture
def held(stages: Stages, tmp_path: Path) -> Iterator[Path]:
    """A bench that somebody writes to."""
    bench = tmp_path / "bench"
    shutil.copytree(stages.before("report"), bench)
    descriptor = os.open(bench, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    yield bench
    os.close(descriptor)


def command(words: list[str], bench: Path) -> list[str]:
    episode = next((bench / "episodes").iterdir())
    return [{"BENCH": str(bench), "EPISODE": str(episode)}.get(word, word) for word in words]


@pytest.mark.parametrize("verb", list(WRITING))
def test_the_second_writer_is_refused(
    verb: str, held: Path, stages: Stages, capsys: pytest.CaptureFixture[str]
) -> None:
    before = stages.content(held)
    assert run([*command(WRITING[verb], held), "--json"]) == 4
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == "busy"
    assert error["where"] == str(held)
    assert "same command again" in error["next"]
    assert stages.content(held) == before


@pytest.mark.parametrize(
    "words", [["measure", "BENCH"], ["outcomes", "BENCH"], ["list", "episodes", "BENCH"]]
)
def test_reading_does_not_wait(words: list[str], held: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command(words, held)) in {0, 3}
    assert "another process" not in capsys.readouterr().err


def test_of_two_that_start_together_one_does_the_work(pyrite: Pyrite, stages: Stages) -> None:
    bench = pyrite.folder / "bench"
    shutil.copytree(stages.before("judge"), bench)
    both = [pyrite.start(*stages.arguments("judge", bench)) for _ in range(2)]
    codes = [one.wait() for one in both]
    assert set(codes) <= {0, 4}, [one.err for one in both]
    assert 0 in codes
    if 4 in codes:
        assert "another process is writing to this bench" in both[codes.index(4)].err
    assert stages.content(bench) == stages.content(stages.after("judge"))
    assert stages.doubled(bench) == 0
