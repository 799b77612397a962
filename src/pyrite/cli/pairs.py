"""Numbers: compare, plan."""

from __future__ import annotations

from pathlib import Path

import click

from pyrite.cli import common, examples
from pyrite.cli.options import Listed, bench_or_table, column_names, columns, one_source

SHARE = click.FLOAT


@click.command(
    epilog=examples(
        "pyrite compare runs/first --judge webjudge,screen-rules --condition E2-last4",
        "pyrite compare runs/first runs/second   # agents, on the tasks determinate in both",
        "pyrite compare --table v.csv --truth human --verdicts gpt,o4 --cluster task_id --json",
    )
)
@bench_or_table
@click.argument("other", type=click.Path(path_type=Path), required=False)
@click.option(
    "--agent",
    "agents",
    cls=Listed,
    callback=column_names,
    help="Of two benches: one of both, or one of each.",
)
@click.option(
    "--judge", "judges", cls=Listed, callback=column_names, help="Judges to compare: they are the family."
)
@click.option(
    "--condition", "conditions", cls=Listed, callback=column_names, help="Conditions. [default: all]"
)
@click.option("--stratum", help="natural, weakened, perturbed or scripted. [default: the leading one]")
@click.option("--seed", type=int, help="Of Monte Carlo draws. [default: as asked of run, else 0]")
@common
def compare(
    bench: Path | None,
    table: Path | None,
    other: Path | None,
    agents: tuple[str, ...],
    judges: tuple[str, ...],
    conditions: tuple[str, ...],
    stratum: str | None,
    seed: int | None,
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """Compare judges on the episodes that both decided, or agents of BENCH and OTHER.

    Signs are flipped by task, p is Holm's over all pairs of a condition, and what is not shown to differ
    has the difference beside it that would have been seen. Exit 3: no pair can be tested.
    """
    from pyrite import flow
    from pyrite.cli import benches_text, pairs_text, screen

    progress = screen.Progress(quiet=quiet, no_color=no_color)
    if other is not None:
        assert bench is not None
        if table is not None or judges or conditions or any(columns().values()):
            raise click.UsageError("two benches go with --agent, --stratum and --seed alone")
        with progress.stage("compare") as stage:
            result = flow.compare_benches(bench, other, agents=agents, stratum=stratum, seed=seed)
            stage.summary = benches_text.compared(result)
        if as_json:
            screen.result_json(result)
        else:
            benches_text.show(result, no_color=no_color)
        return 3 if flow.untestable(result) else 0
    if agents:
        raise click.UsageError("--agent goes with two benches")
    one_source(
        bench,
        table,
        of_a_table=any(columns().values()),
        of_a_bench=judges or conditions or stratum,
        names="--judge, --condition and --stratum",
    )
    with progress.stage("compare") as stage:
        if bench is not None:
            result = flow.compare(bench, stratum=stratum, judges=judges, conditions=conditions, seed=seed)
        else:
            assert table is not None
            result = flow.compare_table(table, **columns(), seed=seed or 0)
        stage.summary = pairs_text.compared(result)
    if as_json:
        screen.result_json(result)
    else:
        pairs_text.print_compare(result, no_color=no_color)
    return 3 if flow.untestable(result) else 0


@click.command(
    epilog=examples(
        "pyrite plan --fpr 0.15 --difference 0.05 --discordant 0.15 --per-task 4 --icc 0.3",
        "pyrite plan pyrite-demo   # ICC, failures a task and success rate as seen there",
        "pyrite plan --table v.csv --truth human --verdicts gpt,o4 --cluster task_id",
    )
)
@bench_or_table
@click.option("--fpr", type=SHARE, help="FPR that the judge is thought to have. [default: 0.10]")
@click.option("--difference", type=SHARE, help="Difference of two judges to tell. [default: 0.05]")
@click.option("--discordant", type=SHARE, help="Share on which two disagree. [default: independent errors]")
@click.option("--half-width", type=SHARE, help="Half the width of an interval. [default: 0.05]")
@click.option("--limit", type=SHARE, help="FPR that a gate allows. [default: 0.05]")
@click.option("--per-task", type=SHARE, help="Failed episodes that a task gives. [default: 4]")
@click.option("--icc", type=SHARE, help="Correlation of episodes of one task. [default: 0.3]")
@click.option("--success-rate", type=SHARE, help="Of the agent, for the number of all episodes.")
@click.option("--failed", type=int, help="Failed episodes that there are: what could they show?")
@click.option("--power", type=SHARE, default=0.8, show_default=True, help="Chance to see what is there.")
@click.option(
    "--level", type=SHARE, default=0.95, show_default=True, help="Of intervals; 1 - alpha of tests."
)
@common
def plan(
    bench: Path | None,
    table: Path | None,
    fpr: float | None,
    difference: float | None,
    discordant: float | None,
    half_width: float | None,
    limit: float | None,
    per_task: float | None,
    icc: float | None,
    success_rate: float | None,
    failed: int | None,
    power: float,
    level: float,
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """Plan how many tasks and episodes a question needs, episodes of one task being alike.

    What is not given is taken from the leading stratum of BENCH or from a --table, where there is one,
    else from defaults.
    """
    from pyrite import flow
    from pyrite.cli import pairs_text, screen

    assumed = {
        "fpr": fpr,
        "difference": difference,
        "discordant": discordant,
        "half_width": half_width,
        "limit": limit,
        "per_task": per_task,
        "icc": icc,
        "success_rate": success_rate,
        "failed": failed,
    }
    if bench is not None or table is not None or any(columns().values()):
        one_source(bench, table, of_a_table=any(columns().values()))
    if table is not None:
        found = flow.plan_table(table, **columns(), assumed=assumed, power=power, level=level)
    else:
        found = flow.plan(bench, assumed=assumed, power=power, level=level)
    if as_json:
        screen.result_json(found)
    else:
        pairs_text.print_plan(found, no_color=no_color)
    return 0
