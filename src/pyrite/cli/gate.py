"""Numbers: gate."""

from __future__ import annotations

from pathlib import Path

import click

from pyrite.cli import common, examples
from pyrite.cli.options import Listed, bench_or_table, column_names, columns, one_source


@click.command(
    epilog=examples(
        "pyrite gate pyrite-demo --judge screen-rules -o certificate.json",
        "pyrite gate runs/first --judge screen-rules --condition E3-full --config limits.yaml",
        "pyrite gate --table v.csv --truth human --verdicts gpt --cluster task --group agent,site",
    )
)
@bench_or_table
@click.option(
    "--judge", cls=Listed, callback=column_names, help="Judges of BENCH. [default: all but the shortcuts]"
)
@click.option("--condition", cls=Listed, callback=column_names, help="Conditions of BENCH. [default: all]")
@click.option("--group", cls=Listed, callback=column_names, help="Columns whose combinations must not leak.")
@click.option("--agent", help="Column of the agent. [default: `agent`, if in --group]")
@click.option("--category", help="Column of failure codes: F-UNCOMMITTED, F-WRONGTARGET ...")
@click.option("--config", type=click.Path(path_type=Path), help="Limits: a YAML file with `gate:`.")
@click.option("--certificate", type=click.Path(path_type=Path), help="Of the threshold, if there is one.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write the gate's certificate here.")
@click.option("--force", is_flag=True, help="Overwrite a certificate of another gate.")
@common
def gate(
    bench: Path | None,
    table: Path | None,
    judge: tuple[str, ...],
    condition: tuple[str, ...],
    group: tuple[str, ...],
    agent: str | None,
    category: str | None,
    config: Path | None,
    certificate: Path | None,
    out: Path | None,
    force: bool,
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """May this judge be a reward? Ten lines, each PASS, FAIL or INSUFFICIENT by one-sided bounds.

    Exit 0 only if all ten pass, 1 if one fails, 3 if there is not enough data to tell.
    """
    from pyrite import flow
    from pyrite.cli import gate_text, screen

    of_a_table = {**columns(), "group": group, "agent": agent, "category": category}
    one_source(
        bench,
        table,
        of_a_table=any(of_a_table.values()),
        of_a_bench=judge or condition,
        names="--judge and --condition (of a --table name --verdicts)",
    )
    progress = screen.Progress(quiet=quiet, no_color=no_color)
    with progress.stage("gate") as stage:
        if table is not None:
            result = flow.gate_table(table, **of_a_table, config=config, certificate=certificate)
        else:
            assert bench is not None
            result = flow.gate(
                bench, judges=judge, conditions=condition, config=config, certificate=certificate
            )
        if out is not None:
            flow.write_certificate(out, result, force=force)
        stage.summary = gate_text.summary(result)
    if as_json:
        screen.result_json(result)
    else:
        gate_text.show(result, out, no_color=no_color)
    return {"PASS": 0, "FAIL": 1}.get(result["answer"], 3)
