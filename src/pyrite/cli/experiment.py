"""Experiments on judges: the pull of the claim, and ensembles of judges that have judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pyrite.cli import common, examples
from pyrite.cli.endpoints import calls, endpoint, tell_unasked
from pyrite.cli.options import BENCH, TASKS, Listed, Once, bench_or_table, columns, one_source


def _weights(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[float, ...]:
    """Numbers between commas."""
    try:
        return tuple(float(part) for part in value.split(",")) if value else ()
    except ValueError:
        raise click.BadParameter(f"{value!r}; expected numbers between commas: 2,1,1") from None


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "pyrite experiment claim runs/first --judge vlm@model=o4-mini --runs 3",
        "pyrite experiment ensemble runs/first --judge a --judge b --judge c --rule majority",
        "pyrite experiment ensemble --table v.csv --truth t --verdicts a,b,c --cluster task --rule any",
    ),
)
def experiment() -> None:
    """Experiments on judges: what the agent's claim does to one, and what several are worth together."""


@experiment.command(
    epilog=examples(
        "pyrite experiment claim runs/first --judge vlm@model=o4-mini --runs 3",
        "pyrite experiment claim runs/first --judge vlm@model=o4-mini --base E3-full --thoughts",
        "pyrite experiment claim runs/first --judge mypackage.judge:Mine --json",
    ),
)
@BENCH
@click.option("--judge", "labels", cls=Listed, required=True, help="Judges by label.")
@click.option(
    "--base", cls=Once, default="E2-last4", show_default=True, help="The condition without the words."
)
@click.option("--thoughts", is_flag=True, help="All of it with the agent's thoughts too.")
@click.option("--no-warning-arm", is_flag=True, help="Leave out the prompt without its warning line.")
@click.option("--runs", type=click.IntRange(1), default=1, show_default=True, help="Repeats; 2 tell noise.")
@click.option("--seed", type=int, help="Of the bootstrap.")
@endpoint
@click.option("--no-cache", is_flag=True, help="Ask and read anew what is cached.")
@click.option("--dry-run", is_flag=True, help="Price it: verdicts, calls, images, tokens.")
@click.option("--force", is_flag=True, help="Drop verdicts given under other settings.")
@TASKS
@common
def claim(
    bench: Path,
    labels: str,
    base: str,
    thoughts: bool,
    no_warning_arm: bool,
    runs: int,
    seed: int | None,
    no_cache: bool,
    dry_run: bool,
    force: bool,
    tasks: tuple[Path, ...],
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """Ask judges of BENCH without the agent's words, with them, and with the opposite: what moves?

    By what the words say, on failed and on passed episodes; beside it what moves where nothing is said,
    and between runs of one condition. The verdicts are kept as those of `judge` are; it resumes.
    """
    from pyrite import flow
    from pyrite.cli import experiment_text, judging_text, screen

    asking = calls(cache=not no_cache, sends=not dry_run)
    progress = screen.Progress(quiet=quiet, no_color=no_color)
    with progress.stage("experiment") as stage:
        done = flow.claim_pull(
            bench,
            labels=labels,
            base=base,
            thoughts=thoughts,
            warning=not no_warning_arm,
            runs=runs,
            seed=seed,
            cache=not no_cache,
            dry_run=dry_run,
            force=force,
            tasks=tasks,
            calls=asking,
            watch=stage,
        )
        stage.summary = judging_text.judged(done.judging, dry=dry_run)
    if done.result is None:
        if as_json:
            screen.result_json(done.judging)
        else:
            screen.result(judging_text.judging_text(done.judging, bench, dry=True))
        return 0
    tell_unasked(asking)
    local = asking.options.local if asking.local_named else None
    result: dict[str, Any] = {**done.result, "model": None if local is None else str(local)}
    if as_json:
        screen.result_json(result)
    else:
        experiment_text.print_claim(result, no_color=no_color)
    if done.judging.missing:
        return 4
    return 3 if experiment_text.undecided(result) else 0


@experiment.command(
    epilog=examples(
        "pyrite experiment ensemble runs/first --judge a --judge b --judge c --rule majority,unanimous",
        "pyrite experiment ensemble runs/first --judge cheap --judge strong --rule cascade",
        "pyrite experiment ensemble --table v.csv --truth t --verdicts a,b,c --cluster task --rule any",
    ),
)
@bench_or_table
@click.option(
    "--judge", "members", multiple=True, help="Judges with verdicts, two or more: a,b or once each."
)
@click.option(
    "--rule", "rules", cls=Listed, required=True, help="majority, unanimous, any, weighted, cascade."
)
@click.option(
    "--weights", cls=Once, callback=_weights, help="For weighted: a number a judge, between commas."
)
@click.option("--condition", "conditions", cls=Listed, help="Conditions. [default: all that all judged]")
@common
def ensemble(
    bench: Path | None,
    table: Path | None,
    members: tuple[str, ...],
    rules: str,
    weights: tuple[float, ...],
    conditions: str | None,
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """Make one verdict of several judges' stored ones, by rule; nobody is asked anew.

    Of BENCH: a verdict file is written for each rule and condition, and `measure`, `compare`, `gate` and
    `report` take it for a judge. Of a --table: measured at once, beside its columns.
    """
    from pyrite import flow
    from pyrite.cli import blocks, experiment_text, screen

    of_a_table = columns()
    one_source(
        bench,
        table,
        of_a_table=any(of_a_table.values()),
        of_a_bench=members or conditions,
        names="--judge and --condition",
    )
    chosen = [part.strip() for part in rules.split(",") if part.strip()]
    if bench is not None:
        combined = flow.ensemble(bench, rules=chosen, members=members, weights=weights, conditions=conditions)
        if as_json:
            screen.result_json({"schema_version": "1", "ensembles": [vars(one) for one in combined]})
        else:
            experiment_text.print_ensembles(combined, bench, no_color=no_color)
        return 0
    assert table is not None
    made = flow.ensembles_of(chosen, of_a_table["verdicts"], weights)
    result = flow.measure_table(table, **of_a_table, ensembles=made)
    if as_json:
        screen.result_json(result)
    else:
        blocks.print_measure(result, no_color=no_color)
    return 3 if flow.undecided(result) else 0
