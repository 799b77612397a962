"""The whole pipeline. Start reading here.

    suite ──record──▶ episodes ──verify──▶ truth ───────────────┐
                         │                                      ├─measure──▶ report
                         └─pack──▶ evidence ──judge──▶ verdicts ┘

Each stage reads a bench directory, writes its part of it, and can be killed and run again.
"""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyrite
from pyrite.episodes import agents as agent_names
from pyrite.episodes import jobs, shipped
from pyrite.episodes.jobs import Recording
from pyrite.errors import UsageError
from pyrite.evidence import conditions as evidence_conditions
from pyrite.evidence import leaks, packing
from pyrite.evidence.leaks import Secrets
from pyrite.evidence.packing import Packing
from pyrite.judges import labels as judge_labels
from pyrite.judges import runner
from pyrite.judges.runner import Judging
from pyrite.measure import bench as measuring
from pyrite.measure.finding import finding
from pyrite.measure.measure import measure_table, undecided
from pyrite.pool import Silent, Watch
from pyrite.records import Category, Meta
from pyrite.report import write as reporting
from pyrite.report.write import Written
from pyrite.store.bench import Bench
from pyrite.suites.lookup import Lookup, matching, open_origin
from pyrite.truth import outcomes as truth_outcomes
from pyrite.truth import verify as truth_verify

__all__ = [
    "demo",
    "judge",
    "measure",
    "measure_table",
    "outcomes",
    "pack",
    "perturb",
    "record",
    "report",
    "undecided",
    "verify",
]

DEMO_JUDGES = "accept-all,reject-all,claim,steps,screen-rules"
DEMO_CONDITIONS = "E1-final,E2+claim,E3-full"


def record(
    suite: str,
    out: Path | None = None,
    *,
    agents: str = "scripted,hasty,idle,quitter",
    only: str = "*",
    limit: int | None = None,
    repeats: int = 1,
    seed: int = 0,
    workers: int = 1,
    dry_run: bool = False,
    watch: Watch | None = None,
) -> Recording:
    """Record episodes of a suite on the real desktop; what is recorded already is kept."""
    origin = open_origin(suite)
    tasks = matching(origin, only)
    names = agent_names.known(agents)
    root = out or Path("runs") / f"{datetime.now():%Y-%m-%d_%H%M%S}_{Path(suite).name}"
    planned = jobs.plan(root, tasks, names, seed=seed, repeats=repeats)[:limit]
    if dry_run:
        return jobs.dry(root, planned)
    bench = Bench.create(root)
    with bench.exclusive():
        bench.update_lock(pyrite=pyrite.__version__, python=platform.python_version(), seed=seed)
        bench.update_lock(suites=origin.resolved())
        return jobs.carry_out(bench, planned, workers=workers, watch=watch)


def perturb(
    root: Path,
    *,
    kinds: str = "all",
    limit: int | None = None,
    workers: int = 1,
    dry_run: bool = False,
    tasks: Sequence[Path] = (),
    watch: Watch | None = None,
) -> Recording:
    """Replay recorded episodes on the desktop, each with one injected defect."""
    bench = Bench(root)
    bench.require_episodes()
    planned, skipped = jobs.plan_perturbed(bench, Lookup(bench, tasks), kinds)
    if dry_run:
        return jobs.dry(root, planned[:limit], skipped)
    with bench.exclusive():
        return jobs.carry_out(bench, planned[:limit], skipped, workers=workers, watch=watch)


def verify(
    root: Path,
    *,
    tasks: Sequence[Path] = (),
    workers: int | None = None,
    force: bool = False,
    watch: Watch | None = None,
) -> truth_verify.VerifyReport:
    """Replay every task's known states, then decide each episode from its end state."""
    bench = Bench(root)
    with bench.exclusive():
        return truth_verify.verify(
            bench, Lookup(bench, tasks).task, jobs=workers, force=force, watch=watch or Silent()
        )


def outcomes(root: Path) -> dict[str, Any]:
    """The three-outcome block, a block a stratum."""
    bench = Bench(root)
    bench.require_episodes()
    return truth_outcomes.outcomes(bench)


def pack(
    root: Path,
    *,
    conditions: str = DEMO_CONDITIONS,
    tasks: Sequence[Path] = (),
    watch: Watch | None = None,
) -> Packing:
    """Pack what a judge may see, the same for all judges, and scan the packages for leaks."""
    bench = Bench(root)
    wanted = evidence_conditions.parse_list(conditions)
    with bench.exclusive():
        return packing.pack(
            bench, wanted, Lookup(bench, tasks).instruction, lambda meta: _secrets(bench, meta), watch=watch
        )


def _secrets(bench: Bench, meta: Meta) -> Secrets:
    """What no package may tell: who made the episode, and what the verifier saw of it."""
    truth = bench.truth(meta.episode_id)
    seed = "" if meta.agent.seed is None else str(meta.agent.seed)
    names = (meta.source, meta.perturbation or "", meta.agent.name, seed, meta.parent or "", meta.episode_id)
    values = leaks.leaves(truth.diagnostics) if truth is not None else ()
    return Secrets(tuple(filter(None, names)), tuple(Category), tuple(values))


def judge(
    root: Path,
    *,
    labels: str,
    conditions: str = DEMO_CONDITIONS,
    runs: int = 1,
    cache: bool = True,
    dry_run: bool = False,
    force: bool = False,
    tasks: Sequence[Path] = (),
    watch: Watch | None = None,
) -> Judging:
    """Ask judges about the packed evidence; what is answered already is kept."""
    bench = Bench(root)
    judges = judge_labels.make_list(labels, cache=cache)
    wanted = {condition.name for condition in evidence_conditions.parse_list(conditions)}
    if {(e, c) for e in bench.require_episodes() for c in wanted} - packing.index(bench).keys():
        found = pack(root, conditions=conditions, tasks=tasks).leaks
        if found:
            raise UsageError(
                f"{len(found)} places in the evidence tell a judge what it must not know",
                expected="no leak before the first judge call",
                next=f"pyrite pack {root}",
            )
    entries = [entry for entry in packing.index(bench).values() if entry.condition in wanted]
    if dry_run:
        return runner.dry(bench, judges, entries, runs=runs)
    with bench.exclusive():
        judging = asyncio.run(runner.ask(bench, judges, entries, runs=runs, force=force, watch=watch))
        bench.update_lock(
            judges={one.label: one.settings for one in judges},
            judge_runs={one.label: 1 if one.judge.deterministic else runs for one in judges},
        )
    return judging


def measure(root: Path, *, seed: int = 0) -> dict[str, Any]:
    """Figures of every judge, condition and stratum of a bench; strata are never pooled."""
    bench = Bench(root)
    bench.require_episodes()
    result = measuring.measure_bench(bench, seed=seed)
    return {**result, "finding": finding(result)}


def report(root: Path, *, seed: int = 0, force: bool = False) -> Written:
    """Measure, and write report.json and one self-contained report.html."""
    bench = Bench(root)
    result = measure(root, seed=seed)
    with bench.exclusive():
        return reporting.write(bench, result, options={"seed": seed}, force=force)


def demo(root: Path) -> Bench:
    """Lay out the shipped episodes, without their outcomes. The other stages do the rest."""
    return shipped.unpack(root)
