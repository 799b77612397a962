"""Killed at every step, or interrupted, and run again: what was answered is not asked for again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.formats.folders import fara
from tests.judges.universal.brain import Brain, item
from tests.judges.universal.endpoint import BrainServer

from pyrite.cli import run
from pyrite.formats.fara_bench import import_runs
from pyrite.records import VerdictLine
from pyrite.store.jsonl import read_lines

RUBRIC = [
    item("Find it", "Find a blue kettle", 3),
    item("Into the cart", "put it into the cart", 2, "there is a cart"),
    item("Tell the price", "tell me its price", 1, "there is no cart"),
]
STEPS = (
    *("rubric", "dependencies", "actions_only", "relevance", "evidence", "conditions", "reality"),
    *("rescoring", "side_effects", "outcome", "failures"),
    *("task_with_record", "task_alone"),
)
WHOLE = 2 + 1 + 3 + 3 + 1 + 1 + 1 + 1 + 1 + 1 + 2
"""Calls of one trajectory of three frames: rubric 2, relevance 3, evidence 3, task 2, the rest one each."""


def command(bench: Path, server: BrainServer) -> list[str]:
    return [
        *("judge", str(bench), "--judge", "universal", "--condition", "E3-full+claim", "--quiet"),
        *("--model", "stub-1", "--base-url", server.url, "--concurrency", "2"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_killed_when_a_step_is_asked_for(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("PYRITE_CACHE", str(cache))
    fara(tmp_path / "runs", "t1", (1, 2, 3))
    bench = tmp_path / "bench"
    import_runs(tmp_path / "runs", bench)
    child: list[int] = []

    def kill(number: int) -> None:
        if number == 1 and child:
            os.kill(child.pop(), signal.SIGKILL)

    with BrainServer(Brain(RUBRIC), {step: kill}) as server:
        started = subprocess.Popen(
            [sys.executable, "-m", "pyrite", *command(bench, server)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        child.append(started.pid)
        assert started.wait(60) == -signal.SIGKILL
        stored = len(list((cache / "answers").rglob("*.json")))
        server.count.clear()
        assert run(command(bench, server)) == 0
        assert server.count.total() == WHOLE - stored
        server.count.clear()
        assert run(command(bench, server)) == 0
        assert server.count.total() == 0
    found = [line for path in (bench / "verdicts").glob("*.jsonl") for line in read_lines(path, VerdictLine)]
    assert [line.verdict for line in found] == ["success"]


SEES_SIGINT = (
    "import signal, sys\n"
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a background job ignores it
    "from pyrite.cli import main\nmain()\n"
)


@pytest.mark.parametrize("step", ["relevance", "evidence", "rescoring"])
def test_one_ctrl_c_finishes_what_is_in_flight_and_nothing_more(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long trajectory is not asked about to its end; its steps are kept, and the next run pays the rest."""
    monkeypatch.setenv("PYRITE_CACHE", str(tmp_path / "cache"))
    fara(tmp_path / "runs", "t1", tuple(range(1, 13)))
    bench = tmp_path / "bench"
    import_runs(tmp_path / "runs", bench)
    child: list[int] = []
    before: list[int] = []

    def interrupt(number: int) -> None:
        if number == 1 and child:
            before.append(server.count.total())
            os.kill(child.pop(), signal.SIGINT)

    with BrainServer(Brain(RUBRIC), {step: interrupt}, latency_s=0.03) as server:
        started = subprocess.Popen(
            [sys.executable, "-c", SEES_SIGINT, *command(bench, server)[:-1], "2"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        child.append(started.pid)
        out, err = started.communicate(timeout=60)
        assert (started.returncode, out) == (130, ""), err
        assert "go on: pyrite judge" in err
        assert "Traceback" not in err
        sent = server.count.total()
        assert sent <= before[0] + 2, "two at a time: what was in flight, and one that was on its way"
        stored = len(list((tmp_path / "cache" / "answers").rglob("*.json")))
        assert stored == sent, "every answer that was paid for is kept"
        assert not list((bench / "verdicts").glob("*.jsonl")), "nothing is half written"
        assert not (bench / "log.txt").exists(), "what was not sent is no failure"
        assert run(command(bench, server)) == 0
        assert run(command(bench, server)) == 0
        whole = server.count.total()
        bodies = set(server.keys)
    assert len(bodies) == whole, "no request was sent twice"
