"""Files: export, tasks of a suite for somebody without pyrite."""

from __future__ import annotations

from pathlib import Path

import click

from pyrite.cli import common, examples


@click.command(
    epilog=examples(
        "pyrite export desk --to folders -o desk-tasks",
        "pyrite export desk --to harbor --only 'calc-*' -o harbor-tasks",
        "pyrite export my-tasks --to harbor -o harbor-tasks",
    )
)
@click.argument("suite", metavar="SUITE|FOLDER")
@click.option(
    "--to", "form", type=click.Choice(["folders", "harbor"]), required=True, help="What is written."
)
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="The folder of tasks.")
@click.option("--only", default="*", show_default=True, help="Tasks whose id matches this pattern.")
@common
def export(
    suite: str,
    form: str,
    out: Path,
    only: str,
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """Write the tasks of SUITE into OUT, a folder each, with everything that they need.

    folders: task.json, a verify.py that imports nothing of pyrite, and every declared state; `check` says
    of them what it says of the suite. harbor: instruction.md, task.toml, environment/, solution/, tests/.
    A task's folder that is there already is never written to.
    """
    from pyrite import flow
    from pyrite.cli import screen
    from pyrite.report.numbers import count

    progress = screen.Progress(quiet=quiet, no_color=no_color)
    with progress.stage("export") as stage:
        done = flow.export(
            suite, out, form="harbor" if form == "harbor" else "folders", only=only, watch=stage
        )
        stage.summary = f"{count(len(done.tasks), 'task')} in {out}"
    if as_json:
        screen.result_json(done)
    else:
        screen.result(f"exported {count(len(done.tasks), 'task')} to {out}")
        screen.result(f"next     pyrite check {out}")
    return 0
