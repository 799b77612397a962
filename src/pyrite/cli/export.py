"""Files: export, tasks of a suite for somebody without pyrite, trajectories and score files of fara."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pyrite.cli import common, examples
from pyrite.errors import UsageError

if TYPE_CHECKING:
    from pyrite.cli.screen import Progress
    from pyrite.formats.fara_scores import Scores


@click.command(
    epilog=examples(
        "pyrite export desk --to folders -o desk-tasks",
        "pyrite export desk --to harbor --only 'calc-*' -o harbor-tasks",
        "pyrite export runs/first --to fara -o traj   # with --judge LABEL: its score files",
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
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="The folder to write.")
@click.option("--only", default="*", show_default=True, help="Tasks whose id matches this pattern.")
@click.option("--judge", help="fara: write this judge's score files.")
@click.option("--condition", help="fara: of its verdicts those of this condition. [default: with the most]")
@click.option(
    "--run", type=click.IntRange(1), help="fara: of its verdicts those of this run. [default: with the most]"
)
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
    condition: str | None,
    run: int | None,
    success: str,
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """Write the tasks of SUITE into OUT, a folder each, with everything that they need.

    folders: task.json, a verify.py that imports nothing of pyrite, and every declared state; `check` says
    of them what it says of the suite. harbor: instruction.md, task.toml, environment/, solution/, tests/.
    fara: the episodes of BENCH as trajectories, web_surfer.log and screenshots; with --judge, its graded
    verdicts as OUT/<trajectory>/scores/mmrubric_….json, none without an outcome. What is there stays: a
    score file that says otherwise is named, exit code 1.
    """
    from pyrite import flow
    from pyrite.cli import screen
    from pyrite.report.numbers import count

    if judge is None and (condition or run):
        raise UsageError("--condition and --run go with --to fara --judge LABEL")
    progress = screen.Progress(quiet=quiet, no_color=no_color)
    if form == "fara":
        if judge is None:
            return _runs(Path(suite), out, progress, as_json=as_json)
        asked: dict[str, Any] = {"condition": condition, "run": run, "success": success}
        return _scores(flow.export_scores(Path(suite), judge, out, **asked), as_json=as_json)
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


def _runs(bench: Path, out: Path, progress: Progress, *, as_json: bool) -> int:
    """Trajectories; exit 3 where an episode is none."""
    from pyrite import flow
    from pyrite.cli import screen
    from pyrite.report.numbers import count

    with progress.stage("export") as stage:
        done = flow.export_runs(bench, out, watch=stage)
        stage.summary = f"{count(len(done.new), 'folder')} in {out}"
    if as_json:
        screen.result_json(done)
        return 3 if done.broken else 0
    screen.result(f"exported {count(len(done.new), 'folder')} to {out}, {done.kept} were there")
    for name, why in done.broken.items():
        screen.result(f"broken   {name}: {why}")
    screen.result(f"next     pyrite export {bench} --to fara --judge LABEL -o {out}")
    return 3 if done.broken else 0


def _scores(done: Scores, *, as_json: bool) -> int:
    """Score files; exit 1 where one is there that says otherwise, 3 where a trajectory has no outcome."""
    from pyrite.cli import screen
    from pyrite.report.numbers import count

    code = 1 if done.stays else 3 if done.undecided else 0
    if as_json:
        screen.result_json(done)
        return code
    there = f", {len(done.kept)} were there" if done.kept else ""
    screen.result(f"exported {count(len(done.written), 'score file')} to {done.out}{there}")
    left = f"; {count(done.left_out, 'verdict')} of others left out (--condition, --run)"
    screen.result(f"verdicts {done.condition}, run {done.run}{left if done.left_out else ''}")
    for path in done.stays:
        screen.result(f"stays    {path}: it says otherwise; remove it, or another -o")
    for folder, why in done.undecided.items():
        screen.result(f"no file  {folder}: {why}")
    for folder in done.aborted:
        screen.result(f"no file  {folder}: the run was aborted")
    return code
