"""Other harnesses' episodes in, and what graded verdicts say: import, diagnose."""

from __future__ import annotations

from pathlib import Path

import click

from pyrite.cli import common, examples
from pyrite.cli.options import BENCH


@click.command(
    "import",
    epilog=examples(
        "pyrite import traj -o runs/fara",
        "pyrite import traj/united_13 --from fara -o runs/one --agent fara-7b",
        "pyrite import traj -o runs/fara --tasks webtailbench.jsonl.gz --json",
    ),
)
@click.argument("source", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option("--from", "form", type=click.Choice(["fara"]), default="fara", help="Whose folders they are.")
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), help="The bench.")
@click.option("--agent", default="fara", show_default=True, help="Name of the agent that acted.")
@click.option("--tasks", type=click.Path(path_type=Path), help="Texts of tasks by id: WebTailBench's file.")
@common
def import_(
    source: Path,
    form: str,
    out: Path,
    agent: str,
    tasks: Path | None,
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """Read trajectories at or below FOLDER into a bench, an episode each; what is there is kept.

    fara: web_surfer.log, *_answer.json, screenshot_N.png. Terminated, over budget and aborted runs are
    all taken and told apart. What does not fit together in a folder is named; nothing is dropped unsaid.
    Folders that are no episode are named as broken, and the exit code is 3.
    """
    from pyrite import flow
    from pyrite.cli import screen
    from pyrite.report.numbers import count

    progress = screen.Progress(quiet=quiet, no_color=no_color)
    with progress.stage("import") as stage:
        done = flow.import_runs(source, out, agent=agent, tasks=tasks, watch=stage)
        stage.summary = f"{count(len(done.new), 'episode')} in {out}"
    if as_json:
        screen.result_json(done)
        return 3 if done.broken else 0
    lines = [f"imported {count(len(done.new), 'episode')}, {done.kept} were there"]
    lines += [f"  {n} {end}" for end, n in done.ends.items()]
    lines += [f"note     {name}: {'; '.join(said)}" for name, said in done.notes.items()]
    lines += [f"broken   {name}: {why}" for name, why in done.broken.items()]
    lines.append(
        f"next     pyrite judge {out} --judge universal@model=NAME --condition E3-whole+claim+thoughts"
    )
    screen.result("\n".join(lines))
    return 3 if done.broken else 0


@click.command(
    epilog=examples(
        "pyrite diagnose runs/fara",
        "pyrite diagnose runs/fara --judge universal@model=gpt-5 --truth labels",
        "pyrite diagnose runs/fara --json",
    )
)
@BENCH
@click.option("--judge", help="One judge, by its label. [default: all that grade the process]")
@click.option("--condition", help="One condition.")
@click.option(
    "--truth",
    type=click.Choice(["verifier", "labels"]),
    default="verifier",
    show_default=True,
    help="Whose outcomes the over-budget table has.",
)
@common
def diagnose(
    bench: Path,
    judge: str | None,
    condition: str | None,
    truth: str,
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """How agents went about it, as `universal` graded them: scores, kinds of failure, over budget.

    Standard deviations are over runs (judge --runs 3; with rubric=per-run, rubrics are drawn anew too).
    """
    from pyrite import flow
    from pyrite.cli import screen
    from pyrite.cli.process_text import process_text

    blocks = flow.diagnose(bench, judge=judge, condition=condition, truth=truth)
    if as_json:
        screen.result_json({"schema_version": "1", "process": blocks})
    else:
        screen.result(process_text(blocks, bench))
    return 0
