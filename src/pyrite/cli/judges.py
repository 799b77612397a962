"""Judges: pack, judge, train-orm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pyrite.cli import common, examples
from pyrite.cli.endpoints import calls, endpoint, tell_unasked
from pyrite.cli.options import BENCH, TASKS, Listed, column_names

_CONDITION = click.option(
    "--condition",
    "conditions",
    cls=Listed,
    default="E1-final,E2-last4,E2+claim,E3-full",
    show_default=True,
    help="What is shown, by name.",
)


@click.command(
    epilog=examples(
        "pyrite pack pyrite-demo",
        "pyrite pack runs/first --condition E1-final,E3-full",
        "pyrite pack my-bench --tasks my-tasks --json",
    )
)
@BENCH
@_CONDITION
@TASKS
@common
def pack(
    bench: Path,
    conditions: str,
    tasks: tuple[Path, ...],
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """Pack what a judge may see of each episode of BENCH, and scan the packages for leaks.

    E1-final: task text and last screen. E2-last4: the last four screens and their actions. E3-full:
    all of them, within a budget; E3-whole: however many. +claim: the agent's final message too;
    +swap: one that says the opposite; +thoughts: what it thought.
    """
    from pyrite import flow
    from pyrite.cli import blocks, screen

    progress = screen.Progress(quiet=quiet, no_color=no_color)
    with progress.stage("pack") as stage:
        packing = flow.pack(bench, conditions=conditions, tasks=tasks, watch=stage)
        stage.summary = blocks.packed(packing)
    if as_json:
        screen.result_json(packing)
    else:
        screen.result(blocks.packing_text(packing, bench))
    return 1 if packing.leaks else 0


@click.command(
    epilog=examples(
        "pyrite judge pyrite-demo --judge screen-rules --condition E1-final",
        "pyrite judge runs/first --judge accept-all,reject-all,claim,steps,screen-rules@ocr=tesserocr",
        "pyrite judge runs/first --judge mypackage.judge:Mine --runs 3",
    )
)
@BENCH
@click.option(
    "--judge", "labels", cls=Listed, required=True, help="Judges by label: name[@key=value,...], module:attr."
)
@_CONDITION
@click.option(
    "--runs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Repeats (deterministic: 1).",
)
@click.option("-j", "--jobs", type=click.IntRange(1), show_default="cores", help="Screens read at once.")
@endpoint
@click.option("--no-cache", is_flag=True, help="Ask and read anew what is cached.")
@click.option("--dry-run", is_flag=True, help="Price it: verdicts, calls, images, tokens.")
@click.option("--show-request", "shown", metavar="EPISODE", help="Print what would be sent (or: first).")
@click.option("--force", is_flag=True, help="Drop verdicts given under other settings.")
@TASKS
@common
def judge(
    bench: Path,
    labels: str,
    conditions: str,
    runs: int,
    jobs: int | None,
    no_cache: bool,
    dry_run: bool,
    shown: str | None,
    force: bool,
    tasks: tuple[Path, ...],
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """Ask judges about the packed evidence of BENCH, a line a verdict; resumable.

    `pyrite list judges` has their names: shortcuts that do not look, screen-rules (OCR and geometry), vlm,
    the published judges, reward models.
    """
    from pyrite import flow
    from pyrite.cli import judging_text, rejudge, screen

    asking = calls(cache=not no_cache, sends=not dry_run and shown is None)
    asked: dict[str, Any] = {
        "labels": labels,
        "conditions": conditions,
        "cache": not no_cache,
        "tasks": tasks,
        "calls": asking,
    }
    if shown is not None:
        requests = flow.show_requests(bench, episode=None if shown == "first" else shown, **asked)
        if as_json:
            screen.result_json({"schema_version": "1", "requests": requests})
        else:
            rejudge.show_requests(requests)
        return 0
    progress = screen.Progress(quiet=quiet, no_color=no_color)
    with progress.stage("judge") as stage:
        judging = flow.judge(
            bench, runs=runs, dry_run=dry_run, force=force, workers=jobs, watch=stage, **asked
        )
        stage.summary = judging_text.judged(judging, dry=dry_run)
    tell_unasked(asking)
    if as_json:
        screen.result_json(judging)
    else:
        screen.result(judging_text.judging_text(judging, bench, dry=dry_run))
        if asking.options.local is not None and asking.local_named:
            screen.result(f"model    {asking.options.local}")
    if judging.missing and not dry_run:
        return 4
    return 3 if judging.undecided else 0


@click.command(
    "train-orm",
    epilog=examples(
        "pyrite train-orm runs/full -o weights.json",
        "pyrite train-orm runs/first runs/second -o weights.json --ocr tesserocr -j 2",
        "pyrite train-orm runs/full -o weights.json --held-out calc_sort,git_refs,files_delete",
    ),
)
@click.argument("benches", metavar="BENCH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), help="The weights: a JSON file.")
@_CONDITION
@click.option(
    "--held-out", cls=Listed, callback=column_names, help="Families to hold out. [default: a third, by seed]"
)
@click.option("--ocr", default="rapidocr", show_default=True, help="What reads the screens; or tesserocr.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the split.")
@click.option("-j", "--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes.")
@click.option("--force", is_flag=True, help="Overwrite a file that is there.")
@common
def train_orm(
    benches: tuple[Path, ...],
    out: Path,
    conditions: str,
    held_out: tuple[str, ...],
    ocr: str,
    seed: int,
    jobs: int,
    force: bool,
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """Train orm-lite, a small reward model, on verified and packed episodes of BENCH...

    Whole families are held out; the card in the file has its figures there. Needs scikit-learn (the extra
    orm); judging with the weights does not: --judge orm-lite@weights=FILE.
    """
    from pyrite import flow
    from pyrite.cli import orm_text, screen

    progress = screen.Progress(quiet=quiet, no_color=no_color)
    with progress.stage("train") as stage:
        trained = flow.train_orm(
            benches,
            out,
            conditions=conditions,
            held_out=held_out,
            engine=ocr,
            seed=seed,
            workers=jobs,
            force=force,
            watch=stage,
        )
        stage.summary = orm_text.summary(trained.card)
    if as_json:
        screen.result_json({"schema_version": "1", "weights": str(trained.out), "card": trained.card})
    else:
        screen.result(orm_text.text(trained.card, trained.out, benches[0]))
    return 0
