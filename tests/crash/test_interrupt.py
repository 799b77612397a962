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


def test_what_is_in_flight_at_ctrl_c_is_finished_and_kept(pyrite: Pyrite, stages: Stages) -> None:
    """Four are asked at a time: what they answer may have cost money."""
    bench = pyrite.folder / "bench"
    shutil.copytree(stages.before("judge"), bench)
    log = pyrite.folder / "asked"
    command = ["judge", bench, "--judge", "slow_judge:Logged", "--condition", "E1-final,E3-full"]
    running = pyrite.start(*command, sees_sigint=True, env={"SLOW_JUDGE_LOG": str(log)})
    while not running.over and not (log.is_file() and log.read_text().count("\n") >= 5):
        time.sleep(0.01)
    running.signal(signal.SIGINT)
    assert running.wait(30) == 130
    assert "finishing what is in flight; ctrl-C again stops at once" in running.err
    lines = answered(bench)
    assert len(lines) == log.read_text().count("\n")
    assert 6 <= len(lines) <= 9, "of sixteen"


def test_a_second_ctrl_c_stops_at_once_and_keeps_what_is_answered(pyrite: Pyrite, stages: Stages) -> None:
    bench = pyrite.folder / "bench"
    shutil.copytree(stages.before("judge"), bench)
    log = pyrite.folder / "asked"
    command = ["judge", bench, "--judge", "slow_judge:Logged", "--condition", "E1-final,E3-full"]
    env = {"SLOW_JUDGE_LOG": str(log), "SLOW_JUDGE_S": "60"}
    running = pyrite.start(*command, sees_sigint=True, env=env)
    while not running.over and not (log.is_file() and log.read_text().count("\n") >= 5):
        time.sleep(0.01)
    running.signal(signal.SIGINT)
    while "finishing what is in flight" not in running.err:
        time.sleep(0.01)
    running.signal(signal.SIGINT)
    assert running.wait(10) == 130
    assert len(answered(bench)) == log.read_text().count("\n") == 5


def answered(bench: Path) -> list[str]:
    """The lines of the judge that says when it has answered."""
    files = (bench / "verdicts").glob("*Logged*.jsonl")
    return [line for path in files for line in path.read_text().splitlines()]


def test_with_json_the_interruption_is_one_document(pyrite: Pyrite, stages: Stages) -> None:
    running, _ = begun(pyrite, stages, "judge", "--json")
    running.signal(signal.SIGTERM)
    assert running.wait(30) == 143
    document = json.loads(running.out)
    assert document["error"]["code"] == "interrupted"
    assert document["error"]["next"].startswith("pyrite judge ")
