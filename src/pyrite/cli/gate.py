"""Numbers: gate."""

from __future__ import annotations

from pathlib import Path

import click

from pyrite.cli import common, examples
from pyrite.cli.numbers import column_names as columns

OF_A_TABLE = (
    "truth",
    "verdicts",
    "cluster",
    "cluster_strip",
    "group",
    "agent",
    "category",
    "mapping",
    "where",
    "key",
)
"""The options that go with --table, as `flow.gate_table` names them."""


@click.command(
    epilog=examples(
        "pyrite gate pyrite-demo --judge screen-rules -o certificate.json",
        "pyrite gate runs/first --judge screen-rules --condition E3-full --config limits.yaml",
        "pyrite gate --table v.csv --truth human --verdicts gpt --cluster task --group agent,site",
    )
)
@click.argument("bench", type=click.Path(path_type=Path), required=False)
@click.option("--judge", callback=columns, help="Judges of BENCH. [default: all but the shortcuts]")
@click.option("--condition", callback=columns, help="Conditions of BENCH. [default: all]")
@click.option("--table", "table", type=click.Path(path_type=Path), help="CSV, JSONL, JSON array or Parquet.")
@click.option("--truth", help="Truth column, or COL>=T to binarise a score.")
@click.option("--verdicts", callback=columns, help="Verdict columns, one a judge; COL>=T binarises.")
@click.option("--cluster", help="Column of what episodes share: the task.")
@click.option("--cluster-strip", help="Regular expression that is removed from the cluster's value.")
@click.option("--group", callback=columns, help="Columns whose combinations must not leak.")
@click.option("--agent", help="Column of the agent. [default: `agent`, if in --group]")
@click.option("--category", help="Column of failure codes: F-UNCOMMITTED, F-WRONGTARGET ...")
@click.option("--map", "mapping", multiple=True, metavar="VALUE=OUTCOME", help="What an unknown value means.")
@click.option("--where", help="Keep the rows where this column is not empty.")
@click.option("--key", callback=columns, help="Columns that name an episode; a repeated key is an error.")
@click.option("--config", type=click.Path(path_type=Path), help="Limits: a YAML file with `gate:`.")
@click.option("--certificate", type=click.Path(path_type=Path), help="Of the threshold, if there is one.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write the gate's certificate here.")
@click.option("--force", is_flag=True, help="Overwrite a certificate of another gate.")
@common
def gate(
    bench: Path | None,
    judge: tuple[str, ...],
    condition: tuple[str, ...],
    table: Path | None,
    truth: str | None,
    verdicts: tuple[str, ...],
    cluster: str | None,
    cluster_strip: str | None,
    group: tuple[str, ...],
    agent: str | None,
    category: str | None,
    mapping: tuple[str, ...],
    where: str | None,
    key: tuple[str, ...],
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

    of_a_table = {name: click.get_current_context().params[name] for name in OF_A_TABLE}
    _refuse_a_mix(bench, table, tuple(of_a_table.values()), (*judge, *condition))
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


def _refuse_a_mix(
    bench: Path | None, table: Path | None, of_a_table: tuple[object, ...], of_a_bench: tuple[str, ...]
) -> None:
    if (bench is None) == (table is None):
        raise click.UsageError("give either a BENCH or --table FILE")
    if bench is not None and any(of_a_table):
        raise click.UsageError(
            "--truth, --verdicts, --cluster, --group ... go with --table, not with a BENCH"
        )
    if table is not None and of_a_bench:
        raise click.UsageError("--judge and --condition go with a BENCH; of a --table name --verdicts")
