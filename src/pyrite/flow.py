"""The whole pipeline. Start reading here.

    suite ──record──▶ episodes ──verify──▶ truth ───────────────┐
                         │                                      ├─measure──▶ report
                         └─pack──▶ evidence ──judge──▶ verdicts ┘

Each stage reads a bench directory, writes its part of it, and can be killed and run again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyrite.episodes import agents as agent_names
from pyrite.episodes import jobs, shipped
from pyrite.episodes.jobs import Recording
from pyrite.errors import InputError, PyriteError, UsageError
from pyrite.evidence.packing import Packing
from pyrite.formats.fara_bench import import_runs
from pyrite.formats.fara_runs import Trajectories, write_runs
from pyrite.formats.fara_scores import Scores, write_scores
from pyrite.judges.runner import Judging
from pyrite.measure import bench as measuring
from pyrite.measure import compare as comparing
from pyrite.measure.compare import compare_table, untestable
from pyrite.measure.ensemble import parse as ensembles_of
from pyrite.measure.finding import finding
from pyrite.measure.measure import measure_table, undecided
from pyrite.measure.plan import plan as plan_sizes
from pyrite.measure.plan import plan_table
from pyrite.measure.process import process_of_bench
from pyrite.measure.vote import Policy
from pyrite.metrics.intervals import LEVEL
from pyrite.metrics.plan import POWER
from pyrite.pool import Silent, Watch
from pyrite.report import episode as episode_page
from pyrite.report import write as reporting
from pyrite.report.episode import Viewed
from pyrite.report.write import Written
from pyrite.sandbox import backends
from pyrite.stages import figures, recording
from pyrite.stages import gate as gating
from pyrite.stages import held as holding
from pyrite.stages import plan as planning
from pyrite.stages import price as pricing
from pyrite.stages.certificates import write_certificates
from pyrite.stages.check import check
from pyrite.stages.ensemble import ensemble
from pyrite.stages.experiment import claim_pull
from pyrite.stages.figures import bench_threshold, threshold
from pyrite.stages.gate import of_table as gate_table
from pyrite.stages.gate import write_certificate
from pyrite.stages.judge import DEMO_CONDITIONS, judge, pack, rejudge, show_requests
from pyrite.stages.outcomes import compare_benches, outcomes
from pyrite.stages.plan import Plan, new_bench
from pyrite.stages.price import Price
from pyrite.stages.recording import Each, record_plan, silently
from pyrite.stages.secrecy import refuse_leaks
from pyrite.stages.train_orm import Trained, train_orm
from pyrite.store.bench import Bench
from pyrite.suites.export import export
from pyrite.suites.lookup import Lookup, matching, open_origin
from pyrite.truth import verify as truth_verify
from pyrite.truth.settled import undecided as undecided_episodes
from pyrite.truth.verify_report import VerifyReport

__all__ = [
    "DEMO_CONDITIONS",
    "Trained",
    "check",
    "claim_pull",
    "compare",
    "compare_benches",
    "compare_table",
    "demo",
    "diagnose",
    "ensemble",
    "ensembles_of",
    "export",
    "export_scores",
    "gate",
    "gate_table",
    "import_runs",
    "judge",
    "measure",
    "measure_table",
    "new_bench",
    "outcomes",
    "pack",
    "perturb",
    "plan",
    "plan_table",
    "price",
    "record",
    "record_plan",
    "rejudge",
    "report",
    "run",
    "show_requests",
    "threshold",
    "train_orm",
    "undecided",
    "untestable",
    "verify",
    "view",
    "write_certificate",
    "write_certificates",
]

DEMO_JUDGES = "accept-all,reject-all,claim,steps,screen-rules,orm-lite@cut=prior"


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
    backend: str = backends.LOCAL,
    dry_run: bool = False,
    force: bool = False,
    skip_held: Path | None = None,
    watch: Watch | None = None,
) -> Recording:
    """Record episodes of a suite on the real desktop; what is recorded already is kept.

    `backend`: what encloses the desktop, local or docker; a bench is recorded with one of them.
    `skip_held`: the result of a check; what it holds back is not recorded, and lock.json says so.
    """
    origin = open_origin(suite)
    chosen = holding.split(matching(origin, only), skip_held)
    names = agent_names.known(agents)
    root = out or new_bench(suite)
    planned = jobs.plan(root, chosen.tasks, names, seed=seed, repeats=repeats)[:limit]
    if dry_run:
        if root.is_dir():
            recording.refuse_others(Bench(root), seed=seed, backend=backend, force=force)
        return chosen.told(jobs.dry(root, planned))
    return recording.record(
        origin,
        chosen,
        root,
        planned,
        seed=seed,
        backend=backend,
        workers=workers,
        force=force,
        watch=watch,
    )


def perturb(
    root: Path,
    *,
    kinds: str = "all",
    limit: int | None = None,
    workers: int = 1,
    backend: str | None = None,
    dry_run: bool = False,
    tasks: Sequence[Path] = (),
    watch: Watch | None = None,
) -> Recording:
    """Replay recorded episodes on the desktop, each with one injected defect.

    With the backend that the bench was recorded with, unless `backend` says another.
    """
    bench = Bench(root)
    bench.require_episodes()
    chosen = backend or str(bench.lock().get("backend", backends.LOCAL))
    planned, skipped = jobs.plan_perturbed(bench, Lookup(bench, tasks), kinds)
    if dry_run:
        return jobs.dry(root, planned[:limit], skipped)
    with bench.exclusive():
        return jobs.carry_out(bench, planned[:limit], skipped, workers=workers, backend=chosen, watch=watch)


def verify(
    root: Path,
    *,
    tasks: Sequence[Path] = (),
    workers: int | None = None,
    force: bool = False,
    watch: Watch | None = None,
) -> VerifyReport:
    """Replay every task's known states, then decide each episode from its end state."""
    bench = Bench(root)
    with bench.exclusive():
        return truth_verify.verify(
            bench, Lookup(bench, tasks).task, jobs=workers, force=force, watch=watch or Silent()
        )


def measure(
    root: Path,
    *,
    seed: int | None = None,
    truth: str = "verifier",
    asked: Mapping[str, Any] | None = None,
    uncertain: Policy | None = None,
    base_rates: Sequence[float] = (),
    group: Sequence[str] = (),
) -> dict[str, Any]:
    """Figures of every judge, condition and stratum of a bench; strata are never pooled.

    `truth` is verifier, or labels for what people say. Level, resamples and (without `seed`) the seed are
    those that `run` was asked for, if it was. `group` breaks strata down, by domain or family for instance.
    Judges with scores get the threshold that is `asked` for
    (target, delta, policy, sampling), else that of the configuration, else FPR 5 % with 95 % confidence.
    """
    bench = Bench(root)
    options = figures.options(bench, seed) | ({"uncertain": uncertain} if uncertain else {})
    wanted = bench_threshold(bench, asked)
    result = measuring.measure_bench(
        bench, **options, asked=wanted, truth=truth, base_rates=base_rates, group=group
    )
    return {**result, "finding": finding(result)}


def compare(
    root: Path,
    *,
    stratum: str | None = None,
    judges: Sequence[str] = (),
    conditions: Sequence[str] = (),
    seed: int | None = None,
) -> dict[str, Any]:
    """Every pair of judges in every condition, on the episodes of one stratum that both decided."""
    bench = Bench(root)
    options = figures.options(bench, seed)
    return comparing.compare_bench(
        bench,
        stratum=stratum,
        judges=judges,
        conditions=conditions,
        level=options["level"],
        seed=options["seed"],
    )


def plan(
    root: Path | None = None,
    *,
    assumed: Mapping[str, float | None],
    power: float = POWER,
    level: float = LEVEL,
) -> dict[str, Any]:
    """Failed episodes, tasks and episodes that questions about judges need; see `measure.plan`."""
    bench = None if root is None else Bench(root)
    return plan_sizes(bench, assumed, power=power, level=level)


def gate(
    root: Path,
    *,
    judges: Sequence[str] = (),
    conditions: Sequence[str] = (),
    config: Path | None = None,
    certificate: Path | None = None,
    tasks: Sequence[Path] = (),
) -> dict[str, Any]:
    """Whether judges may be a reward: ten lines, each PASS, FAIL or INSUFFICIENT; writes nothing."""
    return gating.of_bench(
        Bench(root),
        judges=judges,
        conditions=conditions,
        config=config,
        certificate=certificate,
        tasks=tasks,
    )


def report(root: Path, *, seed: int | None = None, truth: str = "verifier", force: bool = False) -> Written:
    """Measure, and write report.json and one self-contained report.html.

    `truth` is verifier, or labels for what people say.
    """
    bench = Bench(root)
    result = measure(root, seed=seed, truth=truth)
    with bench.exclusive():
        order = [task_id for _, task_id in Lookup(bench)]
        options = figures.unusual(bench, seed) | ({"truth": truth} if truth != "verifier" else {})
        of_people = "the gate holds judges against the verifier, and this report is of what people say"
        gated, no_gate = _gated(root) if truth == "verifier" else (None, of_people)
        return reporting.write(
            bench, result, options=options, order=order, gated=gated, no_gate=no_gate, force=force
        )


def _gated(root: Path) -> tuple[dict[str, Any] | None, str]:
    """The gate of a bench for its report; None and why where there is nothing to gate."""
    try:
        return gate(root), ""
    except UsageError as exc:
        return None, f"{exc.where}: {exc.what}" if isinstance(exc, InputError) else exc.what


def view(
    episode: Path,
    *,
    out: Path | None = None,
    step: int | None = None,
    tasks: Sequence[Path] = (),
    force: bool = False,
) -> Viewed:
    """Write one self-contained page of one episode folder, in a bench or outside of one."""
    place = episode_page.locate(episode)
    text, why = None, "the folder does not lie in a bench"
    if place.bench is not None:
        why = f"no task {place.meta.task_id} in this bench, in its suites or below --tasks"
        try:
            text = Lookup(place.bench, tasks).instruction(place.meta.task_id)
        except PyriteError as exc:
            why = exc.what
    return episode_page.view(place, instruction=text, no_instruction=why, out=out, step=step, force=force)


@dataclass
class Ran:
    """What became of a run; None for a stage that had nothing to do."""

    plan: Plan
    recorded: Recording | None = None
    perturbed: Recording | None = None
    verified: VerifyReport | None = None
    """None where every outcome stood already."""
    packed: Packing | None = None
    judged: list[Judging] = field(default_factory=list)
    result: dict[str, Any] = field(default_factory=dict)
    written: Written | None = None

    @property
    def lost(self) -> int:
        """Episodes whose sandbox was lost on the way."""
        return sum(one.lost for one in (self.recorded, self.perturbed) if one is not None)


def price(root: Path | None, *, config: Path | None = None) -> Price:
    """What `run` would do, and what is there already; writes nothing."""
    return pricing.price(planning.make(root, config))


def run(
    root: Path | None,
    *,
    config: Path | None = None,
    workers: int | None = None,
    force: bool = False,
    each: Each = silently,
) -> Ran:
    """All stages of a bench from one configuration: what is done already stays, the rest is done.

    Raises `UsageError` where the bench was made with other options (unless `force`), and what the
    stages raise: `SandboxError` where episodes are asked for and there is no desktop.
    """
    plan = planning.make(root, config)
    bench = planning.settle(plan, force=force)
    root, asked, done = bench.root, plan.config.asked, Ran(plan)
    conditions = ",".join(plan.conditions)
    if plan.agents and asked.suite is not None:
        suite, agents = asked.suite, ",".join(plan.agents)
        done.recorded = each(
            "record",
            lambda watch: record(
                suite,
                root,
                agents=agents,
                only=asked.only,
                repeats=asked.episodes_per_task,
                seed=asked.seed,
                workers=workers or 1,
                watch=watch,
            ),
        )
    if plan.kinds:
        done.perturbed = each("perturb", lambda watch: _perturb_planned(plan, root, workers or 1, watch))
    if undecided_episodes(bench, Lookup(bench, plan.tasks).task):
        done.verified = each(
            "verify", lambda watch: verify(root, tasks=plan.tasks, workers=workers, watch=watch)
        )
    done.packed = each("pack", lambda watch: pack(root, conditions=conditions, tasks=plan.tasks, watch=watch))
    refuse_leaks(root, done.packed)
    done.judged = each("judge", lambda watch: _judge_planned(plan, root, force, workers, watch))
    done.result = each("measure", lambda watch: measure(root))
    done.written = each("report", lambda watch: report(root, force=force))
    return done


def _perturb_planned(plan: Plan, root: Path, workers: int, watch: Watch) -> Recording:
    return perturb(root, kinds=",".join(plan.kinds), workers=workers, tasks=plan.tasks, watch=watch)


def _judge_planned(plan: Plan, root: Path, force: bool, workers: int | None, watch: Watch) -> list[Judging]:
    """Ask all judges of a plan, those with the same repeats together."""
    return [
        judge(
            root,
            labels=",".join(labels),
            conditions=",".join(plan.conditions),
            runs=runs,
            force=force,
            tasks=plan.tasks,
            workers=workers,
            watch=watch,
        )
        for runs, labels in plan.by_runs().items()
    ]


def demo(root: Path) -> Bench:
    """Lay out the shipped episodes, without their outcomes. The other stages do the rest."""
    return shipped.unpack(root)


def diagnose(
    root: Path, *, judge: str | None = None, condition: str | None = None, truth: str = "verifier"
) -> list[dict[str, Any]]:
    """What verdicts with a process say: scores, their spread over runs, kinds of failure, over budget."""
    bench = Bench(root)
    bench.require_episodes()
    return process_of_bench(bench, judge=judge, condition=condition, truth=truth)


def export_runs(
    root: Path, out: Path, *, tasks: Sequence[Path] = (), watch: Watch | None = None
) -> Trajectories:
    """Write episodes as trajectory folders of fara."""
    return write_runs(Bench(root), out, tasks=tasks, watch=watch)


def export_scores(
    root: Path,
    label: str,
    out: Path,
    *,
    condition: str | None = None,
    run: int | None = None,
    success: str = "outcome",
) -> Scores:
    """Write a judge's graded verdicts as score files of fara, a folder a trajectory; what is there stays."""
    bench = Bench(root)
    bench.require_episodes()
    return write_scores(bench, label, out, condition=condition, run=run, success=success)
