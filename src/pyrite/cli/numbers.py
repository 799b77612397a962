"""Numbers: measure, report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import click

from pyrite.cli import common, examples

Rule = Literal["fixed_sequence", "neyman_pearson", "conformal"]
RULES: tuple[Rule, ...] = get_args(Rule)


def column_names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Names between commas. An empty one is an error: a column of verdicts must not get lost."""
    names = tuple(part.strip() for part in value.split(",")) if value is not None else ()
    if not all(names):
        raise click.BadParameter(f"{value!r} holds an empty name; expected column names between commas")
    return names


def _show(result: Mapping[str, Any], certificates: Sequence[Path], *, as_json: bool, no_color: bool) -> None:
    """The result, and where its certificates are."""
    from pyrite.cli import blocks, screen

    if as_json:
        screen.result_json(result)
        return
    blocks.print_measure(result, no_color=no_color)
    for path in certificates:
        screen.result(f"certificate  {path}")


def _check(
    bench: Path | None, table: Path | None, of_a_table: Sequence[object], target: float | None
) -> None:
    """Refuse options that do not go together, and a target that is no rate."""
    if (bench is None) == (table is None):
        raise click.UsageError("give either a BENCH or --table FILE")
    if bench is not None and any(of_a_table):
        raise click.UsageError(
            "--truth, --verdicts, --cluster, --where ... go with --table, not with a BENCH"
        )
    if target is not None and not 0 < target < 1:
        raise click.UsageError(f"--fpr-target {target:g}: expected a rate between 0 and 1, such as 0.05")


@click.command(
    epilog=examples(
        "pyrite measure pyrite-demo",
        "pyrite measure --table v.csv --truth human --verdicts gpt,o4 --cluster task_id",
        "pyrite measure --table v.parquet --truth 'reward>=0.5' --verdicts o4 --cluster task --json",
    )
)
@click.argument("bench", type=click.Path(path_type=Path), required=False)
@click.option("--table", "table", type=click.Path(path_type=Path), help="CSV, JSONL, JSON array or Parquet.")
@click.option("--truth", help="Truth column, or COL>=T to binarise a score.")
@click.option("--verdicts", callback=column_names, help="Verdict columns, one a judge; COL>=T binarises.")
@click.option("--scores", callback=column_names, help="Score columns: AUC and a threshold.")
@click.option("--fpr-target", type=float, help="FPR that thresholds of scores must keep. [default: 0.05]")
@click.option("--threshold-rule", type=click.Choice(RULES), default=RULES[0], help="How it is promised.")
@click.option("--certificates", type=click.Path(path_type=Path), help="Write the thresholds' certificates.")
@click.option("--force", is_flag=True, help="Overwrite other certificates.")
@click.option("--cluster", help="Column of what episodes share: the task.")
@click.option("--cluster-strip", help="Regular expression that is removed from the cluster's value.")
@click.option("--group", callback=column_names, help="Columns to break the figures down by.")
@click.option("--map", "mapping", multiple=True, metavar="VALUE=OUTCOME", help="What an unknown value means.")
@click.option("--where", help="Keep the rows where this column is not empty.")
@click.option(
    "--key", callback=column_names, help="Columns that name an episode; a repeated key is an error."
)
@click.option("--seed", type=int, help="Of the bootstrap. [default: as asked of run, else 0]")
@common
def measure(
    bench: Path | None,
    table: Path | None,
    truth: str | None,
    verdicts: tuple[str, ...],
    scores: tuple[str, ...],
    fpr_target: float | None,
    threshold_rule: Rule,
    certificates: Path | None,
    force: bool,
    cluster: str | None,
    cluster_strip: str | None,
    group: tuple[str, ...],
    mapping: tuple[str, ...],
    where: str | None,
    key: tuple[str, ...],
    seed: int | None,
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """Measure judges against truth: FPR, FDR, TPR, precision, inflation, kappa, clustered by task.

    Of BENCH, or of a --table in which a row is an episode. Values: 0/1, true/false, pass/fail,
    success/failure, uncertain, parse_error, indeterminate; empty is missing.
    """
    from pyrite import flow
    from pyrite.cli import blocks, screen
    from pyrite.measure.scores import Asked

    progress = screen.Progress(quiet=quiet, no_color=no_color)
    columns = (truth, verdicts, scores, cluster, cluster_strip, group, mapping, where, key)
    _check(bench, table, columns, fpr_target)
    with progress.stage("measure") as stage:
        if bench is not None:
            result = flow.measure(bench, seed=seed, fpr_target=fpr_target, threshold_rule=threshold_rule)
        else:
            assert table is not None
            result = flow.measure_table(
                table,
                truth=truth,
                verdicts=verdicts,
                scores=scores,
                cluster=cluster,
                cluster_strip=cluster_strip,
                group=group,
                mapping=mapping,
                where=where,
                key=key,
                seed=seed or 0,
                asked=Asked(target=fpr_target or Asked.target, policy=threshold_rule),
            )
        stage.summary = blocks.measured(result)
    written = flow.write_certificates(certificates, result, force=force) if certificates else ()
    _show(result, written, as_json=as_json, no_color=no_color)
    return 3 if flow.undecided(result) else 0


@click.command(
    epilog=examples(
        "pyrite report pyrite-demo",
        "pyrite report runs/first --force",
        "pyrite report runs/first --json",
    )
)
@click.argument("bench", type=click.Path(path_type=Path))
@click.option("--seed", type=int, help="Of the bootstrap. [default: as asked of run, else 0]")
@click.option("--force", is_flag=True, help="Overwrite a report that was made with other options.")
@common
def report(
    bench: Path, seed: int | None, force: bool, as_json: bool, quiet: bool, debug: bool, no_color: bool
) -> int:
    """Write report.json and report.html of BENCH: one page, opens from disk, no network."""
    from pyrite import flow
    from pyrite.cli import screen

    progress = screen.Progress(quiet=quiet, no_color=no_color)
    with progress.stage("report") as stage:
        written = flow.report(bench, seed=seed, force=force)
        stage.summary = str(written.html)
    if as_json:
        screen.result_json(written)
    else:
        screen.result(f"numbers  {written.json}\nreport   {written.html}   opens from disk")
    return 3 if written.undecided else 0
