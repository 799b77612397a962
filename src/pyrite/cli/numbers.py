"""Numbers: measure, report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import click

from pyrite.cli import common, examples
from pyrite.cli.options import Listed, base_rates, bench_or_table, column_names, columns, one_source

Rule = Literal["fixed_sequence", "neyman_pearson", "conformal"]
RULES: tuple[Rule, ...] = get_args(Rule)
Sampling = Literal["one_per_task", "max_per_task", "effective_size"]
SAMPLINGS: tuple[Sampling, ...] = get_args(Sampling)
Policy = Literal["failure", "drop", "success"]
POLICIES: tuple[Policy, ...] = get_args(Policy)
TRUTHS = ("verifier", "labels")
"""Whose word on an episode of a bench counts."""


def _show(result: Mapping[str, Any], certificates: Sequence[Path], *, as_json: bool, no_color: bool) -> None:
    """The result, and where its certificates are."""
    from pyrite.cli import blocks, screen

    if as_json:
        screen.result_json(result)
        return
    blocks.print_measure(result, no_color=no_color)
    for path in certificates:
        screen.result(f"certificate  {path}")


def _check(bench: Path | None, table: Path | None, of_a_table: dict[str, Any]) -> str | None:
    """Refuse options that do not go together; whose truth a bench is measured against, None of a table."""
    truth = of_a_table["truth"]
    if bench is not None and table is None and truth is not None and truth not in TRUTHS:
        raise click.UsageError(f"--truth {truth[:80]!r} of a BENCH: expected {' or '.join(TRUTHS)}")
    ours = bench is not None and truth in TRUTHS
    one_source(bench, table, of_a_table=any(v for k, v in of_a_table.items() if k != "truth" or not ours))
    return None if bench is None else (truth or TRUTHS[0])


def _asked(
    target: float | None, delta: float | None, rule: Rule | None, sampling: Sampling | None
) -> dict[str, Any]:
    """What is asked of thresholds of scores, as far as it was said; refuses what is no rate."""
    for option, value in (("--fpr-target", target), ("--delta", delta)):
        if value is not None and not 0 < value < 1:
            raise click.UsageError(f"{option} {value:g}: expected a rate between 0 and 1, such as 0.05")
    if rule == "conformal" and delta is not None:
        raise click.UsageError("--delta: conformal promises an average, with no confidence")
    if rule not in {None, RULES[0]} and sampling == "effective_size":
        raise click.UsageError(f"--sampling effective_size goes with --threshold-rule {RULES[0]} only")
    said = {"target": target, "delta": delta, "policy": rule, "sampling": sampling}
    return {name: value for name, value in said.items() if value is not None}


@click.command(
    epilog=examples(
        "pyrite measure pyrite-demo   # --truth labels: against what people say",
        "pyrite measure --table v.csv --truth human --verdicts gpt,o4 --cluster task_id",
        "pyrite measure --table v.parquet --truth 'reward>=0.5' --verdicts o4 --cluster task --json",
    )
)
@bench_or_table
@click.option("--scores", cls=Listed, callback=column_names, help="Score columns: AUC and a threshold.")
@click.option(
    "--group", cls=Listed, callback=column_names, help="Columns (BENCH: domain …) to break down by."
)
@click.option("--fpr-target", type=float, help="FPR that thresholds of scores must keep. [default: 0.05]")
@click.option("--delta", type=float, help="Chance that a threshold breaks its promise. [default: 0.05]")
@click.option("--threshold-rule", type=click.Choice(RULES), help=f"How it is promised. [default: {RULES[0]}]")
@click.option("--sampling", type=click.Choice(SAMPLINGS), help=f"What of a task. [default: {SAMPLINGS[0]}]")
@click.option("--certificates", type=click.Path(path_type=Path), help="Write the thresholds' certificates.")
@click.option("--force", is_flag=True, help="Overwrite other certificates.")
@click.option("--uncertain", type=click.Choice(POLICIES), help="Counts as this. [default: failure]")
@click.option("--base-rate", callback=base_rates, help="Success rates of projected FDRs.")
@click.option("--seed", type=int, help="Of the bootstrap. [default: as asked of run, else 0]")
@common
def measure(
    bench: Path | None,
    table: Path | None,
    scores: tuple[str, ...],
    group: tuple[str, ...],
    fpr_target: float | None,
    delta: float | None,
    threshold_rule: Rule | None,
    sampling: Sampling | None,
    certificates: Path | None,
    force: bool,
    uncertain: Policy | None,
    base_rate: tuple[float, ...],
    seed: int | None,
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """Measure judges against truth: FPR, FDR, TPR, precision, inflation, kappa, clustered by task.

    Of BENCH (--truth labels: against what people say, not the verifier), or of a --table in which a row
    is an episode. Values: 0/1, true/false, pass/fail, success/failure, uncertain, parse_error,
    indeterminate; empty is missing.
    """
    from pyrite import flow
    from pyrite.cli import blocks, screen

    progress = screen.Progress(quiet=quiet, no_color=no_color)
    of_a_table = {**columns(), "scores": scores}
    truth = _check(bench, table, of_a_table)
    asked = _asked(fpr_target, delta, threshold_rule, sampling)
    with progress.stage("measure") as stage:
        if bench is not None:
            how: dict[str, Any] = {"truth": truth or TRUTHS[0], "uncertain": uncertain}
            result = flow.measure(bench, seed=seed, asked=asked, base_rates=base_rate, group=group, **how)
        else:
            assert table is not None
            how = {"asked": flow.threshold(asked), "uncertain": uncertain or POLICIES[0], "group": group}
            result = flow.measure_table(table, **of_a_table, seed=seed or 0, base_rates=base_rate, **how)
        stage.summary = blocks.measured(result)
    written = flow.write_certificates(certificates, result, force=force) if certificates else ()
    _show(result, written, as_json=as_json, no_color=no_color)
    return 3 if flow.undecided(result) else 0


@click.command(
    epilog=examples(
        "pyrite report pyrite-demo",
        "pyrite report runs/fara --truth labels",
        "pyrite report runs/first --json",
    )
)
@click.argument("bench", type=click.Path(path_type=Path))
@click.option("--seed", type=int, help="Of the bootstrap. [default: as asked of run, else 0]")
@click.option(
    "--truth", type=click.Choice(TRUTHS), default=TRUTHS[0], show_default=True, help="Whose outcomes count."
)
@click.option("--force", is_flag=True, help="Overwrite a report that was made with other options.")
@common
def report(
    bench: Path,
    seed: int | None,
    truth: str,
    force: bool,
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """Write report.json and report.html of BENCH: one page, opens from disk, no network."""
    from pyrite import flow
    from pyrite.cli import screen

    progress = screen.Progress(quiet=quiet, no_color=no_color)
    with progress.stage("report") as stage:
        written = flow.report(bench, seed=seed, truth=truth, force=force)
        stage.summary = str(written.html)
    if as_json:
        screen.result_json(written)
    else:
        screen.result(f"numbers  {written.json}\nreport   {written.html}   opens from disk")
    return 3 if written.undecided else 0
