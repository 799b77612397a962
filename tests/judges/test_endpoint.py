"""A bench with a fault in every episode, judged by `pyrite judge`: nothing is lost, and nothing invented."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.conftest import Episodes
from tests.judges.client.fault_server import FaultServer

from pyrite.cli import run
from pyrite.records import VerdictLine
from pyrite.store.bench import Bench
from pyrite.store.jsonl import read_lines

KEY = "sk-a-secret-of-this-test"
STATUS = {
    "malformed": "malformed",
    "prose": "malformed",
    "fenced": "ok",
    "two-objects": "malformed",
    "empty": "malformed",
    "null": "malformed",
    "refusal": "refused",
    "filtered": "refused",
    "tool-call": "malformed",
    "truncated": "truncated",
    "language": "off_schema",
    "score-string": "off_schema",
    "nan": "off_schema",
    "invalid-utf8": "malformed",
    "500-once": "ok",
    "cut-once": "ok",
    "429-seconds": "ok",
    "429-date": "ok",
}
"""Fault -> status of the verdict that comes of it."""
NO_VERDICT = {
    "500": (3, "server"),
    "401": (1, "auth"),
    "400": (1, "rejected"),
    "429-long": (1, "rate_limited"),
    "hang": (3, "timeout"),
    "trickle": (3, "timeout"),
    "cut": (3, "connection"),
    "huge": (1, "too_large"),
    "redirect": (1, "redirect"),
}
"""Fault -> requests, and why there is no verdict."""


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYRITE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("STUB_KEY", KEY)


def lay(episodes: Episodes, faults: Iterable[str]) -> None:
    """One task and one episode a fault: the instruction names it, so the endpoint knows."""
    for number, fault in enumerate(faults):
        folder = episodes.bench.paths.tasks / f"t-{number}"
        (folder / "states").mkdir(parents=True)
        (folder / "verify.py").write_text("print('{}')")
        (folder / "states" / "good.sh").write_text("true")
        states = [{"name": "good", "kind": "good", "outcome": "pass"}]
        body = {"instruction": f"Set D14 to {number}. fault:{fault} ", "states": states}
        (folder / "task.json").write_text(json.dumps(body))
        episodes.add(f"ep_{number:02d}", [{"action": "done"}], task_id=f"t-{number}", colours=[1, number])


def arguments(bench: Bench, server: FaultServer, *more: str) -> list[str]:
    return [
        *("judge", str(bench.root), "--judge", "vlm", "--condition", "E1-final", "--model", "stub"),
        *("--base-url", server.url, "--api-key-env", "STUB_KEY", "--timeout", "1", "--retries", "2"),
        *more,
    ]


def verdicts(bench: Bench) -> dict[str, VerdictLine]:
    path = bench.paths.verdict_file("vlm@model=stub", "E1-final")
    return {line.episode_id: line for line in read_lines(path, VerdictLine)} if path.is_file() else {}


def test_every_fault_of_an_endpoint_in_one_run(
    episodes: Episodes,
    endpoint: FaultServer,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    faults = [*STATUS, *NO_VERDICT]
    lay(episodes, [name for fault in faults for name in (fault, "none")])
    started = time.monotonic()
    assert run(arguments(episodes.bench, endpoint, "--json")) == 4
    took = time.monotonic() - started
    judged = json.loads(capsys.readouterr().out)["asked"][0]
    lines = verdicts(episodes.bench)
    of = {f"ep_{2 * number:02d}": fault for number, fault in enumerate(faults)}
    good = {f"ep_{2 * number + 1:02d}" for number in range(len(faults))}
    assert {of[e]: line.status for e, line in lines.items() if e in of} == STATUS
    assert {lines[e].verdict for e in good} == {"success"}, "an episode after a fault is unharmed by it"
    assert (judged["new"], judged["missing"]) == (len(STATUS) + len(good), len(NO_VERDICT))
    assert {why.partition(":")[0] for why in judged["why_missing"]} == {
        kind for _, kind in NO_VERDICT.values()
    }
    for fault in STATUS:
        again = 2 if fault.endswith("-once") or fault.startswith("429") else 1
        assert endpoint.count[fault] == again, fault
    assert {fault: endpoint.count[fault] for fault in NO_VERDICT} == {
        f: n for f, (n, _) in NO_VERDICT.items()
    }
    assert endpoint.count["none"] == len(good)
    assert took < 20
    assert all(line.raw and (episodes.bench.root / line.raw).is_file() for line in lines.values())
    for path in filter(Path.is_file, tmp_path.rglob("*")):
        assert KEY.encode() not in path.read_bytes(), path

    before = endpoint.count.copy()
    assert run(arguments(episodes.bench, endpoint)) == 4, (
        "the same command asks what is missing, and only that"
    )
    assert {fault: n - before[fault] for fault, n in endpoint.count.items() if n > before[fault]} == {
        fault: n for fault, (n, _) in NO_VERDICT.items()
    }
    assert len(verdicts(episodes.bench)) == len(lines)
    seen = capsys.readouterr()
    assert KEY not in seen.out + seen.err


def test_all_answered_is_exit_0_and_a_second_run_asks_nothing(
    episodes: Episodes, endpoint: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    lay(episodes, ["none", "prose", "none"])
    assert run(arguments(episodes.bench, endpoint)) == 0
    assert run(arguments(episodes.bench, endpoint)) == 0
    assert sum(endpoint.count.values()) == 3
    assert "2 new" not in capsys.readouterr().out
