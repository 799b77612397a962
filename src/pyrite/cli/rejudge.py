"""Judges: rejudge, and what would be sent to a model."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from pyrite.cli import common, examples
from pyrite.cli.endpoints import calls, endpoint, tell_unasked
from pyrite.cli.options import BENCH, TASKS, Listed, Once

WIDTH, LISTED = 100, 20
_TESTS = {"acceptance": "accepted, of all", "fpr": "FPR, of failed", "tpr": "TPR, of passed"}


@click.command(
    epilog=examples(
        "pyrite rejudge runs/first --against vlm@model=a --judge vlm@model=b",
        "pyrite rejudge runs/first --against vlm@model=a --judge vlm@model=a,prompt=lenient",
        "pyrite rejudge runs/first --against vlm@model=a --judge screen-rules --condition E1-final --json",
    )
)
@BENCH
@click.option("--judge", "label", cls=Once, required=True, help="The judge to ask.")
@click.option("--against", cls=Once, required=True, help="The judge whose verdicts are there.")
@click.option("--condition", "conditions", cls=Listed, help="Conditions. [default: all that --against has]")
@click.option("--runs", type=click.IntRange(1), help="Repeats. [default: as --against has]")
@click.option("--seed", type=int, help="Of Monte Carlo draws.")
@endpoint
@click.option("--no-cache", is_flag=True, help="Ask and read anew what is cached.")
@click.option("--dry-run", is_flag=True, help="Price it: verdicts, calls, images, tokens.")
@click.option("--force", is_flag=True, help="Drop verdicts given under other settings.")
@TASKS
@common
def rejudge(
    bench: Path,
    label: str,
    against: str,
    conditions: str | None,
    runs: int | None,
    seed: int | None,
    no_cache: bool,
    dry_run: bool,
    force: bool,
    tasks: tuple[Path, ...],
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """Ask another judge about the episodes that one has judged: what flips, both ways, and is it noise?

    The answers become verdicts like any other. Sign flips by task; exit 3: no difference can be tested.
    """
    from pyrite import flow
    from pyrite.cli import judging_text, screen
    from pyrite.measure.rejudged import untested

    asking = calls(cache=not no_cache, sends=not dry_run)
    progress = screen.Progress(quiet=quiet, no_color=no_color)
    with progress.stage("rejudge") as stage:
        judging, result = flow.rejudge(
            bench,
            label=label,
            against=against,
            conditions=conditions,
            runs=runs,
            seed=seed,
            cache=not no_cache,
            dry_run=dry_run,
            force=force,
            tasks=tasks,
            calls=asking,
            watch=stage,
        )
        stage.summary = judging_text.judged(judging, dry=dry_run)
    tell_unasked(asking)
    if result is None:
        if as_json:
            screen.result_json(judging)
        else:
            screen.result(judging_text.judging_text(judging, bench, dry=True))
        return 0
    if as_json:
        screen.result_json({**result, "missing": judging.missing})
    else:
        _show(result, no_color=no_color)
        if judging.missing:
            screen.result(judging_text.judging_text(judging, bench, dry=False))
    return 4 if judging.missing else 3 if untested(result) else 0


def _show(result: Mapping[str, Any], *, no_color: bool) -> None:
    from pyrite.cli import screen

    screen.result(f"new: {result['new']}\nold: {result['old']}\n")
    for block in result["blocks"]:
        screen.result("\n".join(_wrapped(line) for line in _counts(block)))
        _tests(block, no_color=no_color)
        for line, style in _flips(block["flips"]):
            screen.styled(line, style, no_color=no_color)
        screen.result("")
    level = f"{100 * result['level']:.0f} %"
    screen.result(
        _wrapped(
            "new minus old, on episodes that both decided. Test: sign flips by task, or by family where "
            f"those say less; {level} intervals; detectable: the smallest difference found with "
            f"{100 * result['power']:.0f} % power on these episodes."
        )
    )
    for warning in result["warnings"]:
        screen.result(_wrapped(f"note: {warning}"))


def _counts(block: Mapping[str, Any]) -> Iterator[str]:
    from pyrite.report.numbers import count

    stratum = block["stratum"] or "of an unknown stratum"
    same = block["decided"] - len(block["flips"])
    yield (
        f"{block['condition']}, {stratum}: {count(block['decided'], 'episode')} that both decided"
        f" ({block['episodes'] - block['decided']} not), {same} as before, {block['gained']} now accepted, "
        f"{block['lost_accepts']} no longer"
    )
    moved = [
        f"{n} {then} -> {now}"
        for then, others in block["answers"].items()
        for now, n in others.items()
        if n and then != now
    ]
    if moved:
        yield f"  {', '.join(moved)}"


def _tests(block: Mapping[str, Any], *, no_color: bool) -> None:
    from pyrite.cli import screen
    from pyrite.cli.pairs_text import verdict
    from pyrite.report import numbers

    rows = []
    for name, title in _TESTS.items():
        pair = block["tests"][name]
        found = pair["difference"]
        ends = numbers.points_interval(found["low"], found["high"])
        shown = (
            "null" if found["value"] is None else f"{numbers.signed(100 * found['value'])} {ends}".rstrip()
        )
        cells = [
            title,
            shown,
            numbers.p_value(pair["p_signflip"]),
            f"{pair['a_only']:,}/{pair['b_only']:,}",
            f"{pair['n']:,}",
            f"{pair['clusters']:,}",
            numbers.distance(pair["detectable_difference"]),
            verdict(pair),
        ]
        look = screen.LOOK_HERE if pair["differs"] else ""
        rows.append([(cell, look) for cell in cells])
    heads = ("", "difference pp", "p", "gained/lost", "n", "clusters", "detectable", "")
    columns = [(head, "left" if number in {0, 7} else "right") for number, head in enumerate(heads)]
    screen.table(columns, rows, no_color=no_color, fold=True)


def _flips(flips: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """The episodes that flipped, false accepts that are new first; purple marks those."""
    from pyrite.cli import screen

    def worst(flip: Mapping[str, Any]) -> bool:
        return bool(flip["new"] == "success" and flip["truth"] == "fail")

    for flip in sorted(flips, key=lambda flip: not worst(flip))[:LISTED]:
        truth = flip["truth"] or "not verified"
        kind = f", {flip['category']}" if flip["category"] else ""
        said = f": {flip['new_reason']}" if flip["new_reason"] else ""
        line = f"{flip['episode_id']}  {flip['old']} -> {flip['new']}  ({truth}{kind}){said}"
        yield textwrap.shorten(line, WIDTH, placeholder=" …"), screen.LOOK_HERE if worst(flip) else ""
    if len(flips) > LISTED:
        yield f"  and {len(flips) - LISTED} more: --json lists all of them", ""


def show_requests(requests: Sequence[Mapping[str, Any]]) -> None:
    """Requests as people read them: every word that is sent, images by size and pixels."""
    from pyrite.cli import screen

    for request in requests:
        screen.result(f"=== {request['judge']}, {request['condition']}, {request['episode_id']}")
        sampling = {key: value for key, value in request["params"].items() if value is not None}
        constrained = "constrained to a schema" if request["schema"] else "free"
        fewest, most = request["calls"]
        if most > 1:
            screen.result(f"=== the first of {fewest if fewest == most else f'{fewest} to {most}'} calls")
        screen.result(f"=== model {request['model']}, {sampling}, answer {constrained}")
        screen.result(f"=== system\n{request['system']}")
        screen.result("=== user")
        for part in request["user"]:
            if "text" in part:
                screen.result(part["text"])
            else:
                size = f"{part['width']} x {part['height']}, {part['bytes']:,} bytes"
                screen.result(f"<image {part['image'][:12]}, {size}>")
        screen.result("")


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
