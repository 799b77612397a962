"""`universal` on the command line: what a task shares, votes, and what is said of a null."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.formats.folders import fara
from tests.judges.client.fault_server import completion, response
from tests.judges.universal.endpoint import BrainServer

from pyrite.cli import run
from pyrite.formats.fara_bench import import_runs
from pyrite.records import VerdictLine
from pyrite.store.bench import Bench
from pyrite.store.jsonl import read_lines

QUICK = ("--retries", "1", "--timeout", "2")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Three trajectories of one task, and a cache of their own."""
    monkeypatch.setenv("PYRITE_CACHE", str(tmp_path / "cache"))
    for number, frames in enumerate(((1, 2, 3), (1, 4, 5), (1, 6, 7)), 1):
        fara(tmp_path / "runs", f"t{number}", frames)
    import_runs(tmp_path / "runs", tmp_path / "bench")
    return Bench(tmp_path / "bench")


def judge(bench: Bench, server: BrainServer, options: str = "", *more: str) -> int:
    label = f"universal@{options}" if options else "universal"
    return run(
        [
            *("judge", str(bench.paths.root), "--judge", label, "--condition", "E3-full+claim"),
            *("--model", "stub-1", "--base-url", server.url, "--concurrency", "4", *QUICK, *more),
        ]
    )


def lines(bench: Bench) -> list[VerdictLine]:
    folder = bench.paths.verdicts
    return [line for path in sorted(folder.glob("*.jsonl")) for line in read_lines(path, VerdictLine)]


def processes(bench: Bench) -> list[dict[str, Any]]:
    return [(line.model_extra or {})["process"] for line in lines(bench)]


def test_one_rubric_for_all_agents_and_runs_of_a_task(bench: Bench) -> None:
    with BrainServer() as server:
        assert judge(bench, server, "", "--runs", "2") == 0
        assert (server.count["rubric"], server.count["dependencies"], server.count["task_alone"]) == (1, 1, 1)
        assert server.count["actions_only"] == 6
        assert judge(bench, server, "redo=1") == 0
        assert server.count["rubric"] == 2
        assert judge(bench, server, "rubric=per-run", "--runs", "2") == 0
    assert server.count["rubric"] == 2 + 1, "the first run is graded by the drawing that redo=1 asked for"


def test_votes_are_calls_of_their_own(bench: Bench) -> None:
    with BrainServer() as server:
        assert judge(bench, server, "votes=3,diagnosis=off") == 0
    assert [server.count[step] for step in ("rescoring", "side_effects", "outcome", "failures")] == [
        9,
        9,
        9,
        0,
    ]


def test_json_of_a_judging_that_is_undecided(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    with BrainServer(faults={"outcome": lambda number: response(completion("well"))}) as server:
        assert judge(bench, server, "", "--json") == 3
    assert json.loads(capsys.readouterr().out)["asked"][0]["undecided"] == 3
