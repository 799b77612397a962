"""Truth: record, perturb, verify, outcomes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pyrite.cli import RESUME, common, examples
from pyrite.cli.all import stages
from pyrite.cli.options import BENCH, TASKS, Listed
from pyrite.errors import UsageError

if TYPE_CHECKING:
    from pyrite.episodes.jobs import Recording
    from pyrite.stages.recording import Filmed

PLANS = ("full",)

_BACKENDS = click.Choice(["local", "docker"])


@click.command(
    epilog=examples(
        "pyrite record desk -o runs/first",
        "pyrite record desk --agent scripted,idle -j 2 -o runs/first   # resumes",
        "pyrite record desk --plan full -j 3 -o runs/full",
    )
)
@click.argument("suite")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="The bench to make or to go on with.")
@click.option(
    "--agent",
    "agents",
    cls=Listed,
    default="scripted,hasty,idle,quitter",
    show_default=True,
    help="Who acts.",
)
@click.option("--plan", type=click.Choice(PLANS), help="A whole set: agents and injected defects.")
@click.option("--per-family", type=click.IntRange(1), help="With --plan: tasks of each family.  [default: 3]")
@click.option("--only", default="*", show_default=True, help="Tasks whose id matches this pattern.")
@click.option("-n", "--limit", type=click.IntRange(1), help="At most this many episodes.")
@click.option("--repeats", type=click.IntRange(1), default=1, show_default=True, help="Episodes per task.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("-j", "--jobs", type=click.IntRange(1), default=1, show_default=True, help="Episodes at once.")
@click.option(
    "--backend", type=_BACKENDS, default="local", show_default=True, help="What encloses the desktop."
)
@click.option("--dry-run", is_flag=True, help="Say what would be recorded.")
@click.option("--force", is_flag=True, help="Go on although it was recorded with another seed or backend.")
@click.option(
    "--skip-held", type=click.Path(path_type=Path), help="Do not run what this `check --json` holds back."
)
@common
def record(
    suite: str,
    out: Path | None,
    agents: str,
    plan: str | None,
    per_family: int | None,
    only: str,
    limit: int | None,
    repeats: int,
    seed: int,
    jobs: int,
    backend: str,
    dry_run: bool,
    force: bool,
    skip_held: Path | None,
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """Record episodes of SUITE (a built-in suite or a folder of tasks) on the real desktop.

    With --plan full nobody names agents: on three tasks of each family the scripted and the hasty one act,
    a weakened one, on a third of them idle or quitter; four injected defects follow, verify, and CARD.md. An
    episode of a task that was changed since is recorded anew, the old one goes into superseded/.
    """
    from pyrite import flow
    from pyrite.cli import blocks, screen

    _refuse_beside_plan(plan, per_family)
    progress = screen.Progress(quiet=quiet, no_color=no_color)
    if out is None and not dry_run:
        out = flow.new_bench(suite)
        RESUME[:] = ["-o", str(out)]
        progress.line(f"bench    {out}")
    asked: dict[str, Any] = {
        "only": only,
        "limit": limit,
        "seed": seed,
        "workers": jobs,
        "backend": backend,
        "dry_run": dry_run,
        "force": force,
        "skip_held": skip_held,
    }
    if plan is not None:
        found = flow.record_plan(suite, out, plan=plan, per_family=per_family, each=stages(progress), **asked)
        return _print_filmed(found, as_json=as_json, dry_run=dry_run)
    with progress.stage("record") as stage:
        recording = flow.record(suite, out, agents=agents, repeats=repeats, watch=stage, **asked)
        stage.summary = blocks.recorded(recording)
    then = "pyrite perturb" if "scripted" in agents.split(",") else "pyrite verify"
    return _print(recording, then, as_json=as_json, dry_run=dry_run)


@click.command(
    epilog=examples(
        "pyrite perturb runs/first",
        "pyrite perturb runs/first --kind drop-save,save-copy",
        "pyrite perturb runs/first --dry-run",
    )
)
@BENCH
@click.option("--kind", "kinds", default="all", show_default=True, help="Defects, by name.")
@click.option("-n", "--limit", type=click.IntRange(1), help="At most this many episodes.")
@click.option("-j", "--jobs", type=click.IntRange(1), default=1, show_default=True, help="Episodes at once.")
@click.option("--backend", type=_BACKENDS, help="What encloses the desktop. [default: as recorded]")
@click.option("--dry-run", is_flag=True, help="Say what would be recorded.")
@TASKS
@common
def perturb(
    bench: Path,
    kinds: str,
    limit: int | None,
    jobs: int,
    backend: str | None,
    dry_run: bool,
    tasks: tuple[Path, ...],
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """Replay the passing episodes of BENCH on the desktop, each with one injected defect.

    Defects: drop-save, shift-row, shift-column, save-copy, cancel-dialog, cancel-ok, not-submitted,
    sibling-file, sibling-folder, sibling-record, wrong-profile, partial, side-effect, claim-only. A replay
    that leaves the recorded course before its defect is dropped and counted.
    """
    from pyrite import flow
    from pyrite.cli import blocks, screen

    progress = screen.Progress(quiet=quiet, no_color=no_color)
    with progress.stage("perturb") as stage:
        recording = flow.perturb(
            bench,
            kinds=kinds,
            limit=limit,
            workers=jobs,
            backend=backend,
            dry_run=dry_run,
            tasks=tasks,
            watch=stage,
        )
        stage.summary = blocks.recorded(recording)
    return _print(recording, "pyrite verify", as_json=as_json, dry_run=dry_run)


@click.command(
    epilog=examples(
        "pyrite verify runs/first",
        "pyrite verify pyrite-demo -j 2",
        "pyrite verify my-bench --tasks my-tasks",
    )
)
@BENCH
@TASKS
@click.option("-j", "--jobs", type=click.IntRange(1), help="Tasks and episodes at once. [default: cores]")
@click.option("--force", is_flag=True, help="Verify again what has an outcome already.")
@common
def verify(
    bench: Path,
    tasks: tuple[Path, ...],
    jobs: int | None,
    force: bool,
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """Replay each task's known states, then decide every episode of BENCH from its end state.

    Writes gt.json beside each episode: pass, fail or indeterminate, with cause, blame and category.
    Imported episodes have no end state: indeterminate, until people label them.
    """
    from pyrite import flow
    from pyrite.cli import screen

    progress = screen.Progress(quiet=quiet, no_color=no_color)
    with progress.stage("verify") as stage:
        report = flow.verify(bench, tasks=tasks, workers=jobs, force=force, watch=stage)
        stage.summary = report.summary()
    if as_json:
        screen.result_json(report.as_json())
    else:
        screen.result(report.text())
        screen.result(f"truth    {bench}/episodes/*/gt.json")
        screen.result(_imported(bench) if report.without_truth else f"next     pyrite outcomes {bench}")
    return 0 if report.outcomes["pass"] + report.outcomes["fail"] else 3


@click.command(
    epilog=examples(
        "pyrite outcomes pyrite-demo",
        "pyrite outcomes runs/first --json",
        "pyrite outcomes runs/second --against runs/first",
    )
)
@BENCH
@click.option("--against", type=click.Path(path_type=Path), help="Alert where more is open than there.")
@click.option(
    "--limit",
    type=click.FloatRange(0, 1, max_open=True),
    help="Alert above this share without an outcome.  [default: outcomes.indeterminate, else 0.05]",
)
@common
def outcomes(
    bench: Path,
    against: Path | None,
    limit: float | None,
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """Print what truth says of BENCH: attempted, indeterminate, scored, pass, fail, rate and bounds.

    A block a stratum (natural, weakened, perturbed, scripted): they are never pooled. Then what keeps
    episodes from counting, and the ten tasks that fail most, with when their good state was replayed.
    """
    from pyrite import flow
    from pyrite.cli import blocks, outcomes_text, screen

    block = flow.outcomes(bench, against=against, limit=limit)
    if as_json:
        screen.result_json(block)
    else:
        outcomes_text.show(block, no_color=no_color)
        screen.result(f"truth    {bench}/episodes/*/gt.json")
    return 3 if blocks.nothing_scored(block) else 0


def _imported(bench: Path) -> str:
    """What can be done with episodes that have no truth."""
    universal = "universal@model=NAME --condition E3-whole+claim"
    return "\n".join(
        [
            f"next     pyrite judge {bench} --judge {universal}; pyrite diagnose {bench}",
            f"         pyrite label {bench}/episodes/EPISODE --outcome pass|fail --annotator NAME",
            f"         pyrite measure {bench} --truth labels",
        ]
    )


def _refuse_beside_plan(plan: str | None, per_family: int | None) -> None:
    """A plan says itself who acts; an option that it would not heed is refused."""
    given = click.get_current_context().get_parameter_source
    named = {"agents": "--agent", "repeats": "--repeats"}
    for name, option in named.items():
        if plan is not None and given(name) is ParameterSource.COMMANDLINE:
            raise UsageError(f"{option} beside --plan", expected="one of them", next="a plan says who acts")
    if plan is None and per_family is not None:
        raise UsageError("--per-family without --plan", next="add --plan full")


def _print_filmed(found: Filmed, *, as_json: bool, dry_run: bool) -> int:
    from pyrite.cli import blocks, screen

    if as_json:
        screen.result_json(found.as_json())
    elif dry_run:
        screen.result(blocks.recording_text(found.recorded, dry=True))
        screen.result("then up to four injected defects a task, of those that apply; verify; CARD.md")
    else:
        for recording in filter(None, (found.recorded, found.perturbed)):
            screen.result(blocks.recording_text(recording, dry=False))
        bench = found.recorded.bench
        screen.result(f"card     {found.card}\nnext     pyrite run {bench}")
    return 4 if found.lost else 0


def _print(recording: Recording, next_verb: str, *, as_json: bool, dry_run: bool) -> int:
    from pyrite.cli import blocks, screen

    if as_json:
        screen.result_json(recording)
    else:
        screen.result(blocks.recording_text(recording, dry=dry_run))
        if not dry_run:
            screen.result(f"episodes {recording.bench}/episodes/\nnext     {next_verb} {recording.bench}")
    return 4 if recording.lost else 0
