"""Ctrl-C and SIGTERM: what is finished stays, nothing runs on, and the same command goes on."""

from __future__ import annotations

import json
import shutil
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.crash.conftest import Pyrite, Running, Stages

FIRST = {"verify": "episodes/*/gt.json", "judge": "verdicts/*.jsonl"}
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


def begun(pyrite: Pyrite, stages: Stages, verb: str, *more: str) -> tuple[Running, Path]:
    """A command that has written the first part of its work."""
    bench = pyrite.folder / "bench"
    shutil.copytree(stages.before(verb), bench)
    running = pyrite.start(*stages.arguments(verb, bench), *more, sees_sigint=True)
    while not running.over and not list(bench.glob(FIRST[verb])):
        time.sleep(0.002)
    return running, bench


@pytest.mark.parametrize("number", list(CODES))
@pytest.mark.parametrize("verb", list(FIRST))
def test_an_interrupted_command_says_how_to_go_on_and_does(
    pyrite: Pyrite, stages: Stages, verb: str, number: signal.Signals
) -> None:
    running, bench = begun(pyrite, stages, verb)
    running.signal(number)
    assert running.wait(60) == CODES[number], running.err
    assert "interrupted: what was finished is on disk and safe" in running.err
    assert f"go on: pyrite {verb} {bench}" in running.err
    assert "Traceback" not in running.err
    assert "leaked" not in running.err
    assert running.out == ""
    assert running.none_left(), running.left()
    again = pyrite.run(*stages.arguments(verb, bench))
    assert again.code == 0, again.err
    assert not list(pyrite.scratch.glob("pyrite-*")), "what a killed worker left, the next run removes"
    assert stages.content(bench) == stages.content(stages.after(verb))
    assert stages.doubled(bench) == 0


def test_answers_of_an_interrupted_batch_are_kept(pyrite: Pyrite, stages: Stages) -> None:
    """Four are asked at a time and sixteen written together: what is answered may have cost money."""
    bench = pyrite.folder / "bench"
    shutil.copytree(stages.before("judge"), bench)
    log = pyrite.folder / "asked"
    command = ["judge", bench, "--judge", "slow_judge:Logged", "--condition", "E1-final"]
    running = pyrite.start(*command, sees_sigint=True, env={"SLOW_JUDGE_LOG": str(log)})
    while not running.over and not (log.is_file() and log.read_text().count("\n") >= 5):
        time.sleep(0.01)
    running.signal(signal.SIGINT)
    assert running.wait(30) == 130
    verdicts = bench / "verdicts"
    lines = [line for path in verdicts.glob("*Logged*.jsonl") for line in path.read_text().splitlines()]
    assert len(lines) == log.read_text().count("\n") == 5


def test_with_json_the_interruption_is_one_document(pyrite: Pyrite, stages: Stages) -> None:
    running, _ = begun(pyrite, stages, "judge", "--json")
    running.signal(signal.SIGTERM)
    assert running.wait(30) == 143
    document = json.loads(running.out)
    assert document["error"]["code"] == "interrupted"
    assert document["error"]["next"].startswith("pyrite judge ")
