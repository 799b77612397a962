"""Files: export, tasks of a suite for somebody without pyrite, and score files of fara."""

from __future__ import annotations

from pathlib import Path

import click

from pyrite.cli import common, examples


@click.command(
    epilog=examples(
        "pyrite export desk --to folders -o desk-tasks",
        "pyrite export desk --to harbor --only 'calc-*' -o harbor-tasks",
        "pyrite export runs/fara --to fara --judge universal@model=gpt-5 -o traj",
    )
)
@click.argument("suite", metavar="SUITE|FOLDER|BENCH")
@click.option(
    "--to",
    "form",
    type=click.Choice(["folders", "harbor", "fara"]),
    required=True,
    help="What is written.",
)
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="The folder of tasks.")
@click.option("--only", default="*", show_default=True, help="Tasks whose id matches this pattern.")
@click.option("--judge", help="fara: whose verdicts, by label.")
@click.option(
    "--success",
    type=click.Choice(["outcome", "process", "both"]),
    default="outcome",
    show_default=True,
    help="fara: what the score says.",
)
@common
def export(
    suite: str,
    form: str,
    out: Path,
    only: str,
    judge: str | None,
    success: str,
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """Write the tasks of SUITE into OUT, a folder each, with everything that they need.

    folders: task.json, a verify.py that imports nothing of pyrite, and every declared state; `check` says
    of them what it says of the suite. harbor: instruction.md, task.toml, environment/, solution/, tests/.
    A task's folder that is there already is never written to. fara: of BENCH, a judge's graded verdicts as
    OUT/<trajectory>/scores/mmrubric_….json; without an outcome there is no file, never a 0.
    """
    from pyrite import flow
    from pyrite.cli import screen
    from pyrite.report.numbers import count

    if form == "fara":
        return _scores(Path(suite), judge, out, success, as_json=as_json)
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


def _scores(bench: Path, judge: str | None, out: Path, success: str, *, as_json: bool) -> int:
    """Score files; exit 3 where a trajectory has no outcome."""
    from pyrite import flow
    from pyrite.cli import screen
    from pyrite.errors import UsageError
    from pyrite.report.numbers import count

    if judge is None:
        raise UsageError("--to fara needs --judge", expected="the label of a judge that grades the process")
    done = flow.export_scores(bench, judge, out, success=success)
    if as_json:
        screen.result_json(done)
    else:
        screen.result(f"exported {count(len(done.written), 'score file')} to {out}")
        for folder, why in done.undecided.items():
            screen.result(f"no file  {folder}: {why}")
        for folder in done.aborted:
            screen.result(f"no file  {folder}: the run was aborted")
    return 3 if done.undecided else 0
