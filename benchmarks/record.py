"""Episodes an hour by application, one at a time and several at once, and where the time goes.

    .venv/bin/python benchmarks/record.py [--apps calc,mousepad,…] [--jobs 1,2,3,4] [--tasks 6] [--repeats 2]

Every configuration records the same episodes (the scripted agent on `tasks` tasks that begin in the
application, spread over its families, `repeats` times), from a fresh bench. Most of an episode is waiting
until the screen is still, so more than one a core pay. Outcomes of every configuration are verified and
must equal those recorded one at a time.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pyrite.episodes import jobs
from pyrite.episodes import record as episodes_record
from pyrite.errors import SandboxError
from pyrite.sandbox.local import LocalBackend, LocalSession
from pyrite.store.bench import Bench
from pyrite.suites.lookup import open_origin
from pyrite.suites.suite import FamilyTask, load_suite
from pyrite.truth.verify import verify

AGENT = "scripted"
PARTS = {
    "initial home": (episodes_record, "build_initial"),
    "start": (LocalBackend, "start"),
    "waiting until still": (LocalSession, "_settle"),
    "waiting for a window": (LocalSession, "_await"),
    "actions": (LocalSession, "act"),
    "finish": (LocalSession, "finish"),
    "close": (LocalSession, "close"),
    "frames": (episodes_record, "save_webp"),
}


@dataclass
class Clock:
    """Seconds spent in each part, without what the parts inside of it took."""

    spent: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    inner: list[float] = field(default_factory=lambda: [0.0])

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, timed as part `name`."""

        @wraps(function)
        def run(*arguments: Any, **named: Any) -> Any:
            started = time.perf_counter()
            self.inner.append(0.0)
            try:
                return function(*arguments, **named)
            finally:
                took = time.perf_counter() - started
                self.spent[name] += took - self.inner.pop()
                self.inner[-1] += took

        return run

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Time the parts meanwhile, in this process."""
        plain = {name: vars(owner)[attribute] for name, (owner, attribute) in PARTS.items()}
        for name, (owner, attribute) in PARTS.items():
            found = plain[name]
            static = isinstance(found, staticmethod)
            timed = self.timed(name, found.__func__ if static else found)
            setattr(owner, attribute, staticmethod(timed) if static else timed)
        try:
            yield
        finally:
            for name, (owner, attribute) in PARTS.items():
                setattr(owner, attribute, plain[name])


@dataclass(frozen=True)
class Took:
    """One configuration, recorded and verified."""

    workers: int
    seconds: float
    each: list[float]
    outcomes: dict[str, tuple[str, str | None]]
    cpu: float | None

    @property
    def per_hour(self) -> float:
        return len(self.each) / self.seconds * 3600


def main() -> None:
    """Measure and print one table an application."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--apps", help="applications, comma-separated; default: all of the suite")
    parser.add_argument("--jobs", default="1,2,3,4")
    parser.add_argument("--tasks", type=int, default=6)
    parser.add_argument("--repeats", type=int, default=2)
    asked = parser.parse_args()
    counts = [int(part) for part in asked.jobs.split(",")]
    if counts[0] != 1:
        raise SystemExit("--jobs starts with 1: the others are compared with it")
    known = _by_application(asked.tasks)
    apps = asked.apps.split(",") if asked.apps else list(known)
    if missing := [app for app in apps if app not in known]:
        raise SystemExit(f"no task begins in {missing[0]}; applications: {', '.join(known)}")
    with tempfile.TemporaryDirectory(prefix="pyrite-benchmark-") as folder:
        try:
            for app in apps:
                _application(app, known[app], Path(folder) / app, counts, asked.repeats)
        except SandboxError as exc:
            raise SystemExit(f"{exc.what}: {exc.next or exc.expected}") from exc


def _by_application(most: int) -> dict[str, list[FamilyTask]]:
    """Application that is open at the start -> at most so many tasks, one of each family in turn."""
    families: dict[str, dict[str, list[FamilyTask]]] = {}
    for task in load_suite("desk").tasks():
        opened = task.spec.initial.open
        if opened is not None:
            families.setdefault(opened.app, {}).setdefault(task.spec.family, []).append(task)
    found = {}
    for app, own in families.items():
        turns = [task for turn in zip_longest(*own.values()) for task in turn if task is not None]
        found[app] = turns[:most]
    return found


def _application(app: str, tasks: list[FamilyTask], root: Path, counts: list[int], repeats: int) -> None:
    root.mkdir()
    _record(root / "warm", tasks[:1], 1, 1)  # the first desktop of a machine makes profiles, once
    clock = Clock()
    with clock.watching():
        took = [_record(root / f"j{workers}", tasks, workers, repeats) for workers in counts]
    _table(app, took)
    _parts(clock, took[0])


def _record(root: Path, tasks: list[FamilyTask], workers: int, repeats: int) -> Took:
    origin, bench = open_origin("desk"), Bench.create(root)
    planned = jobs.plan(root, [(origin, t.task_id) for t in tasks], [AGENT], seed=0, repeats=repeats)
    before = _busy()
    started = time.perf_counter()
    made = jobs.carry_out(bench, planned, workers=workers)
    seconds = time.perf_counter() - started
    after = _busy()
    each = [one.seconds for one in made.new if one.seconds is not None]
    verify(bench, {task.task_id: task for task in tasks}.get)
    outcomes: dict[str, tuple[str, str | None]] = {}
    for job in planned:
        truth = bench.truth(job.order.episode_id)
        ended = bench.meta(job.order.episode_id).ended_by
        said = "none" if truth is None else str(truth.cause or truth.category or truth.outcome)
        outcomes[job.order.episode_id] = said, ended
    cpu = None if before is None or after is None else (after - before) / len(planned)
    print(f"-j {workers}: {len(each)} episodes in {seconds:.0f} s", file=sys.stderr, flush=True)
    return Took(workers, seconds, each, outcomes, cpu)


def _busy() -> float | None:
    """CPU seconds of the whole machine so far; None where that cannot be read."""
    try:
        user, nice, system = Path("/proc/stat").read_text().split(maxsplit=4)[1:4]
    except (OSError, ValueError):
        return None
    return (int(user) + int(nice) + int(system)) / os.sysconf("SC_CLK_TCK")


def _table(app: str, took: list[Took]) -> None:
    serial = took[0]
    print(f"{app}: {len(serial.each)} episodes, scripted agent, {os.cpu_count()} cores, ", end="")
    print(f"load at the end {os.getloadavg()[0]:.1f}")
    print(
        f"{'':6}{'episodes/h':>12}{'s an episode':>14}{'longest':>9}{'x serial':>10}{'CPU s':>8}   outcomes"
    )
    for one in took:
        other = [e for e, outcome in one.outcomes.items() if outcome != serial.outcomes[e]]
        same = "as one at a time" if not other else f"{len(other)} OTHER: {other[0]} {one.outcomes[other[0]]}"
        cpu = "" if one.cpu is None else f"{one.cpu:.1f}"
        print(
            f"-j {one.workers:<3}{one.per_hour:12.0f}{statistics.median(one.each):14.1f}{max(one.each):9.1f}"
            f"{serial.seconds / one.seconds:10.2f}{cpu:>8}   {same}"
        )
    best = max(took, key=lambda one: one.per_hour)
    passed = sum(said == "pass" for said, _ in best.outcomes.values())
    print(f"best -j {best.workers}: {best.per_hour:.0f}/h, {passed} of {len(best.outcomes)} pass")
    print("CPU s: of the whole machine, an episode")


def _parts(clock: Clock, serial: Took) -> None:
    total = sum(serial.each)
    print(f"one at a time, {total / len(serial.each):.1f} s an episode, of which:")
    parts = sorted(clock.spent.items(), key=lambda part: -part[1])
    for name, seconds in [*parts, ("the rest", total - sum(clock.spent.values()))]:
        print(f"  {name:22}{seconds / len(serial.each):6.2f} s{seconds / total:6.0%}")


if __name__ == "__main__":
    main()
