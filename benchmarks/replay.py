"""How fast known states are replayed, and what share of the recording of the same tasks that is.

    .venv/bin/python benchmarks/replay.py [--rounds 3] [--record]

Every declared state of every built-in task, as `verify` replays them before it believes a verifier: built,
asked, good ones twice. Then the near-misses of `check`. The recording time is read from the shipped
episodes of the demo (first to last line of actions.jsonl, so without the start of the desktop: the share
is overstated); with --record one episode a task is recorded now and its wall time counts. Aim: under 10 %.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

from pyrite import flow, pool
from pyrite.records import Outcome
from pyrite.sandbox import forkserver
from pyrite.store.bench import Bench
from pyrite.suites.suite import FamilyTask, load_suite
from pyrite.tasks.task import INITIAL, Task
from pyrite.truth.mutants import made as making
from pyrite.truth.replay import ReplayResult, build, replay
from pyrite.truth.verifier import ask

PRELOAD = ("pyrite.truth.check",)
AIM = 0.10


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--record", action="store_true", help="record one episode a task, on the real desktop"
    )
    asked = parser.parse_args()
    tasks = load_suite("desk").tasks()
    ways: dict[str, Callable[[], int]] = {
        "declared states, one at a time": partial(states, tasks, 1),
        "declared states, one worker a core": partial(states, tasks, None),
        "near-misses, one at a time": partial(near_misses, tasks, 1),
        "near-misses, one worker a core": partial(near_misses, tasks, None),
    }
    took: dict[str, list[float]] = {name: [] for name in ways}
    counts: dict[str, int] = {}
    for number in range(asked.rounds):
        for name, way in ways.items():
            started = time.perf_counter()
            counts[name] = way()
            took[name].append(time.perf_counter() - started)
            print(f"round {number + 1}: {name}: {took[name][-1]:.1f} s", file=sys.stderr, flush=True)
    seconds = {name: statistics.median(times) for name, times in took.items()}
    print(f"{len(tasks)} tasks, median of {asked.rounds} rounds, {os.cpu_count()} cores,", end=" ")
    print(f"load {os.getloadavg()[0]:.1f}; forked: {forkserver.unavailable() or 'yes'}")
    print(f"{'':42}{'states':>8}{'s':>8}{'per second':>12}")
    for name in ways:
        print(f"{name:42}{counts[name]:8}{seconds[name]:8.1f}{counts[name] / seconds[name]:12.1f}")
    _shares(seconds["declared states, one at a time"], tasks, record=asked.record)


def _shares(replaying: float, tasks: Sequence[FamilyTask], *, record: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="pyrite-benchmark-") as folder:
        bench = flow.demo(Path(folder) / "demo")
        episodes, recorded, covered = shipped(bench, {task.task_id for task in tasks})
        print(f"{episodes} shipped episodes of {covered} tasks took {recorded:.0f} s to act;", end=" ")
        _ratio(replaying * covered / len(tasks), recorded)
        if record:
            started = time.perf_counter()
            done = flow.record("desk", Path(folder) / "bench", agents="scripted", workers=1)
            fresh = time.perf_counter() - started
            print(f"{len(done.new)} episodes recorded now took {fresh:.0f} s;", end=" ")
            _ratio(replaying, fresh)


def _ratio(replaying: float, recording: float) -> None:
    share = replaying / recording
    print(f"replay is {share:.1%} of it (aim under {AIM:.0%}: {'met' if share < AIM else 'missed'})")


def states(tasks: Sequence[Task], jobs: int | None) -> int:
    """Replay every declared state of every task; each must get what is declared."""
    count = 0
    for task, found in pool.run(partial(replay, image="benchmark"), tasks, jobs=jobs, preload=PRELOAD):
        _require_sound(task, found)
        count += len(found.checks)
    return count


def _require_sound(task: Task, found: ReplayResult) -> None:
    if found.cause is not None or not all(check.ok for check in found.checks):
        raise SystemExit(f"{task.spec.task_id}: {found.detail or found.problems}")


def near_misses(tasks: Sequence[Task], jobs: int | None) -> int:
    """Make and verify the near-misses of every task; each must fail."""
    return sum(count for _, count in pool.run(_near_misses, tasks, jobs=jobs, preload=PRELOAD))


def _near_misses(task: Task) -> int:
    kinds = {state.name: state.kind for state in task.spec.states}
    good = next(name for name, kind in kinds.items() if kind == "good")
    harmless = [name for name, kind in kinds.items() if kind == "harmless"]
    with forkserver.scratch() as root:
        build(task, root / "states", [INITIAL, good, *harmless])
        out = root / "near"
        out.mkdir()
        spec = task.spec
        made = making.make(
            root / "states", out, good=good, harmless=harmless, reads=spec.reads, seed=spec.task_id
        )
        for mutant in made.mutants:
            if ask(task, mutant.home).outcome is not Outcome.FAIL:
                raise SystemExit(f"{spec.task_id}: {mutant.name} does not fail")
        return len(made.mutants)


def shipped(bench: Bench, wanted: set[str]) -> tuple[int, float, int]:
    """(episodes, seconds from their first to their last action, tasks) of the shipped episodes."""
    episodes, seconds, covered = 0, 0.0, set()
    for episode_id in bench.episode_ids():
        meta = bench.meta(episode_id)
        times = [line.at for line in bench.actions(episode_id) if line.at]
        if meta.task_id not in wanted or len(times) < 2:
            continue
        first, last = (datetime.fromisoformat(text) for text in (times[0], times[-1]))
        episodes, seconds = episodes + 1, seconds + (last - first).total_seconds()
        covered.add(meta.task_id)
    return episodes, seconds, len(covered)


if __name__ == "__main__":
    main()
