"""All stages at once: run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pyrite.cli import common, examples

if TYPE_CHECKING:
    from pyrite.cli.screen import Progress
    from pyrite.flow import Ran
    from pyrite.judges.runner import Judging
    from pyrite.pool import Watch
    from pyrite.stages.plan import LeftOut
    from pyrite.stages.price import Price, Work


@click.command(
    epilog=examples(
        "pyrite run pyrite-demo",
        "pyrite run -c config/bench.yaml my-bench --dry-run",
        "pyrite run -c pyrite.yaml   # makes runs/<time>_<suite>",
    )
)
@click.argument("bench", type=click.Path(path_type=Path), required=False)
@click.option(
    "-c",
    "--config",
    type=click.Path(path_type=Path),
    help="What is asked. [default: BENCH/config/bench.yaml, BENCH/pyrite.yaml]",
)
@click.option("-j", "--jobs", type=click.IntRange(1), help="Episodes and verifiers at once.")
@click.option("--dry-run", is_flag=True, help="Price it: episodes, packages, images, verdicts.")
@click.option("--force", is_flag=True, help="Go on although the bench was made with other options.")
@common
def run(
    bench: Path | None,
    config: Path | None,
    jobs: int | None,
    dry_run: bool,
    force: bool,
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """Record, perturb, verify, pack, judge, measure and report BENCH, as one configuration asks.

    What is done already stays; the same command resumes. Without `suite:` nothing is recorded and the
    episodes that are there are taken. Writes pyrite.yaml (what was asked) and lock.json.
    """
    from pyrite import flow
    from pyrite.cli import screen

    progress = screen.Progress(quiet=quiet, no_color=no_color)
    if dry_run:
        with progress.stage("price") as stage:
            priced = flow.price(bench, config=config)
            stage.summary = priced.bench
        screen.result_json(priced) if as_json else screen.result(_price_text(priced))
        return 0
    ran = flow.run(bench, config=config, workers=jobs, force=force, each=stages(progress))
    if as_json:
        screen.result_json(_document(ran))
    else:
        _print(ran, no_color=no_color)
    return _exit_code(ran)


def stages(progress: Progress) -> Callable[[str, Callable[[Watch], Any]], Any]:
    """Show each stage, and end it with one line."""

    def each(name: str, work: Callable[[Watch], Any], /) -> Any:
        with progress.stage(name) as stage:
            found = work(stage)
            stage.summary = _summary(name, found)
            return found

    return each


def _summary(name: str, found: Any) -> str:
    from pyrite.cli import blocks

    lines: dict[str, Callable[[Any], str]] = {
        "record": blocks.recorded,
        "perturb": blocks.recorded,
        "verify": lambda report: str(report.summary()),
        "pack": blocks.packed,
        "judge": _judged,
        "measure": blocks.measured,
        "report": lambda written: str(written.html),
        "card": str,
    }
    return lines[name](found)


def _judged(judgings: list[Judging]) -> str:
    from pyrite.report.numbers import count

    asked = [one for judging in judgings for one in judging.asked]
    new, kept, missing = (sum(getattr(one, name) for one in asked) for name in ("new", "kept", "missing"))
    judges = count(len({one.judge for one in asked}), "judge")
    return f"{judges}, {count(new, 'new verdict')}, {kept:,} were there" + (
        f", {missing:,} missing" if missing else ""
    )


def _print(ran: Ran, *, no_color: bool) -> None:
    from pyrite.cli import blocks, screen

    blocks.print_finding(ran.result["finding"], no_color=no_color)
    blocks.demo_tables(ran.result, no_color=no_color)
    screen.result("")
    for line in [*_left_out(ran.plan.left_out), *_broken(ran), *_missing(ran)]:
        screen.result(line)
    for warning in ran.result["warnings"]:
        screen.result(f"note     {warning}")
    root = ran.plan.root
    if ran.written is not None:
        screen.result(f"report   {ran.written.html}   opens from disk")
    screen.result(f"next     pyrite measure {root}    pyrite outcomes {root}")


def _left_out(found: tuple[LeftOut, ...]) -> list[str]:
    return [f"left out {one.key}{f' ({one.where})' if one.where else ''}: {one.reason}" for one in found]


def _broken(ran: Ran) -> list[str]:
    broken = {} if ran.packed is None else ran.packed.broken
    return [f"broken   {episode_id}: {reason}" for episode_id, reason in broken.items()]


def _missing(ran: Ran) -> list[str]:
    return [
        f"missing  {one.judge}, {one.condition}: {n}: {reason}"
        for judging in ran.judged
        for one in judging.asked
        for reason, n in one.why_missing.items()
    ]


def _exit_code(ran: Ran) -> int:
    if ran.lost or any(judging.missing for judging in ran.judged):
        return 4
    return 3 if ran.written is None or ran.written.undecided else 0


def _document(ran: Ran) -> dict[str, Any]:
    """The run as one document; the figures stand in report.json."""
    from dataclasses import asdict

    asked = [asdict(one) for judging in ran.judged for one in judging.asked]
    return {
        "schema_version": "1",
        "bench": str(ran.plan.root),
        "left_out": [asdict(one) for one in ran.plan.left_out],
        "recorded": None if ran.recorded is None else asdict(ran.recorded),
        "perturbed": None if ran.perturbed is None else asdict(ran.perturbed),
        "verified": None if ran.verified is None else ran.verified.as_json(),
        "packages": None if ran.packed is None else len(ran.packed.entries),
        "broken": {} if ran.packed is None else ran.packed.broken,
        "judges": asked,
        "finding": ran.result["finding"],
        "lead": ran.result["lead"],
        "undecided": None if ran.written is None else ran.written.undecided,
        "report": None if ran.written is None else {"json": ran.written.json, "html": ran.written.html},
        "warnings": ran.result["warnings"],
    }


def _price_text(price: Price) -> str:
    lines = [
        _work("record", "episode", price.record),
        _work("perturb", "episode", price.perturb),
        _work("verify", "episode", price.verify),
        _work("pack", "package", price.pack),
        f"images   {'not known yet' if price.images is None else f'{price.images:,} shown to each judge'}",
        _work("judge", "verdict", price.judge),
        *(f"         {_work(label, 'verdict', one, width=14)}" for label, one in price.judges.items()),
    ]
    if price.readings is not None:
        lines.append(_work("readings", "screen", price.readings))
    lines += _left_out(price.left_out)
    lines += [f"other    {text}: refused without --force" for text in price.changes]
    return "\n".join([*lines, f"bench    {price.bench}"])


def _work(name: str, noun: str, work: Work, *, width: int = 8) -> str:
    from pyrite.report.numbers import count

    todo = f"{noun}s not known yet" if work.todo is None else f"{count(work.todo, noun)} to do"
    return f"{name:<{width}} {todo}, {work.done:,} there" + (f"; {work.note}" if work.note else "")
