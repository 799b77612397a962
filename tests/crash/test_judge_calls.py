"""SIGKILL at random moments while an endpoint is asked: nothing lost, nothing doubled, little asked again."""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.judges.client.fault_server import FaultServer

if TYPE_CHECKING:
    from tests.conftest import Episodes
    from tests.crash.conftest import Pyrite

EPISODES, RUNS = 40, 50
IN_FLIGHT = 8


@pytest.fixture
def bench(episodes: Episodes) -> Path:
    folder = episodes.bench.paths.tasks / "a-task"
    (folder / "states").mkdir(parents=True)
    (folder / "verify.py").write_text("print('{}')")
    (folder / "states" / "good.sh").write_text("true")
    states = [{"name": "good", "kind": "good", "outcome": "pass"}]
    (folder / "task.json").write_text(json.dumps({"instruction": "Set D14 to 4500.", "states": states}))
    for number in range(EPISODES):
        episodes.add(f"ep_{number:03d}", [{"action": "done"}], colours=[1, number])
    return episodes.bench.root


@pytest.mark.parametrize("kills", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_a_killed_run_of_2000_verdicts_completes(
    pyrite: Pyrite, bench: Path, kills: int, record_property: Any
) -> None:
    seed = int(os.environ.get("CRASH_SEED") or random.randrange(10_000))
    print("seed", seed)
    chosen = random.Random(seed)
    whole, midway, in_time = EPISODES * RUNS, 0, 0
    with FaultServer(latency_s=0.005, keep=False) as server:
        command = [
            *("judge", bench, "--judge", "vlm", "--condition", "E1-final", "--runs", RUNS),
            *("--model", "stub", "--base-url", server.url, "--concurrency", IN_FLIGHT),
        ]
        for number in range(kills):  # each with an empty cache: it is the verdict file that is tested
            before = sum(server.count.values())
            span = max(1, (whole - before) // (kills - number))
            moment = before + chosen.randint(1, max(1, span - 2 * IN_FLIGHT))
            running = pyrite.start(*command, env={"PYRITE_CACHE": str(pyrite.folder / f"cache{number}")})
            while not running.over and sum(server.count.values()) < moment:
                time.sleep(0.001)
            midway += running.kill(group=True)
            _whole_lines(bench)
            in_time += sum(server.count.values()) >= moment
        last = pyrite.run(*command, env={"PYRITE_CACHE": str(pyrite.folder / "cache")})
        assert last.code == 0, last.err
        repeated = sum(server.count.values()) - whole
    keys = Counter((line["episode_id"], line["run"]) for line in _whole_lines(bench))
    assert len(keys) == whole
    assert set(keys.values()) == {1}
    assert 0 <= repeated <= IN_FLIGHT * kills
    assert midway == in_time == kills
    raw = {path.name for path in (bench / "raw").glob("*.json")}
    assert {Path(line["raw"]).name for line in _whole_lines(bench)} <= raw
    record_property(
        "figure",
        f"crash: {kills} kills in {whole} verdicts, {repeated} requests repeated "
        f"(at most {IN_FLIGHT * kills}), lost 0, doubled 0 (seed {seed})",
    )


def _whole_lines(bench: Path) -> list[dict[str, Any]]:
    """The finished lines of the one verdict file."""
    files = list((bench / "verdicts").glob("*.jsonl"))
    text = files[0].read_text(encoding="utf-8") if files else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
