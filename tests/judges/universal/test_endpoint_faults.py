"""Every fault of an endpoint on the command line: bounded, told, resumable, and the others unharmed."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.formats.folders import fara
from tests.judges.client.fault_server import STREAMED, completion, error, response
from tests.judges.universal.brain import Brain
from tests.judges.universal.endpoint import BrainServer, Fault

from pyrite.cli import run
from pyrite.formats.fara_bench import import_runs
from pyrite.records import VerdictLine
from pyrite.store.bench import Bench
from pyrite.store.jsonl import read_lines

STEPS = 13
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


def text(body: str) -> bytes:
    return response(completion(body))


async def _hang() -> AsyncIterator[bytes]:

    await asyncio.sleep(30)
    yield b""


def _cut() -> AsyncIterator[bytes]:
    return STREAMED["cut"](True)


def always(what: bytes | Callable[[], AsyncIterator[bytes]]) -> Fault:
    return lambda number: what if isinstance(what, bytes) else what()


MALFORMED = {
    "2 always": ("relevance", text("well"), 15),
    "4 always": ("evidence", text("well"), 90),
    "6 always": ("rescoring", text("well"), 5),
    "7 always": ("side_effects", text("well"), 5),
    "8 malformed": ("outcome", text("well"), 5),
    "8 truncated": ("outcome", response(completion('{"prim', finish="length")), 5),
    "8 refused": ("outcome", response(completion(None, refusal="no")), 5),
    "0a always": ("rubric", text("well"), 5),
    "0c always": ("actions_only", text("well"), 5),
}


@pytest.mark.parametrize("row", MALFORMED)
def test_answers_that_are_never_good_are_a_null_with_its_cause(
    bench: Bench, row: str, capsys: pytest.CaptureFixture[str]
) -> None:
    step, bad, most = MALFORMED[row]
    with BrainServer(faults={step: always(bad)}) as server:
        started = time.monotonic()
        code = judge(bench, server)
        asked = server.count.total()
        kept_code = judge(bench, server)
        assert server.count.total() == asked
    found = lines(bench)
    assert (code, kept_code) == (3, 0)
    assert [line.verdict for line in found] == ["parse_error"] * 3
    assert {line.status for line in found} <= {"malformed", "truncated", "refused"}
    for line, process in zip(found, processes(bench), strict=True):
        assert process["outcome"] is None
        assert f"no outcome; {step}" in line.reason
        assert line.score is None
    assert server.count[step] <= 3 * most
    assert time.monotonic() - started < 60
    assert "3 without an outcome" in capsys.readouterr().out


@pytest.mark.parametrize("step", ["relevance", "evidence", "outcome"])
def test_an_answer_that_is_bad_once_costs_one_call_more(bench: Bench, step: str) -> None:
    def first(number: int) -> bytes | None:
        return text("well") if number == 1 else None

    with BrainServer(faults={step: first}) as server:
        assert judge(bench, server) == 0
    assert [line.verdict for line in lines(bench)] == ["success"] * 3
    assert sum("attempt 2 of 5" in body.decode() for body in server.keys) == 1


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (error("500 Internal Server Error", "oops"), "server"),
        (error("401 Unauthorized", "bad key"), "auth"),
        (error("429 Too Many Requests", "slow down", "Retry-After: 0"), "rate_limited"),
        (error("429 Too Many Requests", "tomorrow", "Retry-After: 86400"), "rate_limited"),
        (_cut, "connection"),
        (_hang, "timeout"),
    ],
    ids=["500", "401", "429", "429-long", "cut", "hang"],
)
def test_an_endpoint_that_fails_at_the_last_step_is_no_verdict_and_what_was_answered_is_kept(
    bench: Bench, fault: Any, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with BrainServer(faults={"outcome": always(fault)}) as server:
        started = time.monotonic()
        assert judge(bench, server) == 4
        assert time.monotonic() - started < 40
        assert server.count["outcome"] <= 3 * 2
        assert lines(bench) == []
        assert f"3 missing: {kind}" in capsys.readouterr().out
        before = dict(server.count)
        server.faults.clear()
        assert judge(bench, server) == 0
    assert {step: n for step, n in server.count.items() if n != before.get(step)} == {
        "outcome": before["outcome"] + 3,
        "failures": 3,
    }
    assert [line.verdict for line in lines(bench)] == ["success"] * 3


def test_six_times_429_with_a_wait_is_waited_for(bench: Bench) -> None:
    slow = error("429 Too Many Requests", "slow down", "Retry-After: 0")
    with BrainServer(faults={"outcome": lambda number: slow if number <= 6 else None}) as server:
        assert judge(bench, server, "", "--retries", "8") == 0
    assert [line.verdict for line in lines(bench)] == ["success"] * 3


def test_one_trajectory_that_is_lost_harms_none_after_it(bench: Bench) -> None:
    """Connections are dropped while one is judged; the others get their verdicts in the same process."""

    def first(number: int) -> AsyncIterator[bytes] | None:
        return _cut() if number <= 2 else None

    with BrainServer(faults={"reality": first}) as server:
        code = judge(bench, server, "", "--concurrency", "1")
        assert code == 4
        assert [line.verdict for line in lines(bench)] == ["success"] * 2
        assert judge(bench, server, "", "--concurrency", "1") == 0
    assert [line.verdict for line in lines(bench)] == ["success"] * 3


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


def test_at_most_the_requests_that_are_allowed_are_in_flight(bench: Bench) -> None:
    with BrainServer(Brain(), latency_s=0.05) as server:
        assert judge(bench, server, "same=each", "--concurrency", "3") == 0
    assert server.most_at_once <= 3


def test_json_of_a_judging_that_is_undecided(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    with BrainServer(faults={"outcome": always(text("well"))}) as server:
        assert judge(bench, server, "", "--json") == 3
    assert json.loads(capsys.readouterr().out)["asked"][0]["undecided"] == 3
