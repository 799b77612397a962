"""Start: demo, doctor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pyrite.cli import common, examples

if TYPE_CHECKING:
    from pyrite.cli.screen import Progress


@click.command(epilog=examples("pyrite demo", "pyrite demo -o /tmp/look", "pyrite demo --json"))
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    default=Path("pyrite-demo"),
    show_default=True,
    help="The bench to make, or an earlier demo.",
)
@click.option("-j", "--jobs", type=click.IntRange(1), help="Verifiers at once. [default: cores]")
@click.option("--no-cache", is_flag=True, help="Read every screen anew (needs the ocr extra).")
@common
def demo(
    out: Path,
    jobs: int | None,
    no_cache: bool,
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """Measure the shipped episodes: replay, verify, pack, judge, measure, report.

    Real LibreOffice episodes of scripted agents; no desktop, network or key is needed. Run it again
    after changing an episode below pyrite-demo/ and only that is done anew.
    """
    from pyrite import flow
    from pyrite.cli import screen

    progress = screen.Progress(quiet=quiet, no_color=no_color)
    result, written = _run_demo(out, jobs, progress, cache=not no_cache)
    if as_json:
        screen.result_json(result)
    else:
        _print_demo(result, written, out, no_color=no_color)
    return 3 if flow.undecided(result) else 0


def _run_demo(out: Path, jobs: int | None, progress: Progress, *, cache: bool) -> tuple[dict[str, Any], Path]:
    from pyrite import flow
    from pyrite.cli import blocks, judging_text

    bench = flow.demo(out)
    with progress.stage("verify") as stage:
        stage.total = len(bench.episode_ids())
        verified = flow.verify(out, workers=jobs, watch=stage)
        stage.summary = verified.summary()
    unconfined = blocks.unconfined(verified.confinement)
    if unconfined:
        progress.line(f"   {unconfined}", style="yellow")
    with progress.stage("pack") as stage:
        stage.summary = blocks.packed(flow.pack(out, conditions=flow.DEMO_CONDITIONS, watch=stage))
    with progress.stage("judge") as stage:
        judging = flow.judge(
            out,
            labels=flow.DEMO_JUDGES,
            conditions=flow.DEMO_CONDITIONS,
            cache=cache,
            force=True,
            watch=stage,
        )
        stage.summary = judging_text.judged(judging, dry=False) + ", no model called"
    for reason in dict.fromkeys(reason for one in judging.asked for reason in one.why_missing):
        progress.line(f"   {reason}", style="yellow")
    with progress.stage("measure") as stage:
        result = flow.measure(out)
        stage.summary = blocks.measured(result)
    with progress.stage("report") as stage:
        written = flow.report(out, force=True)
        stage.summary = str(written.html)
    return result, written.html


def _print_demo(result: dict[str, Any], html: Path, out: Path, *, no_color: bool) -> None:
    from pyrite.cli import blocks, screen

    screen.result("")
    blocks.print_finding(result["finding"], no_color=no_color)
    blocks.demo_tables(result, no_color=no_color)
    screen.result("")
    screen.styled(
        "The agents here are scripted. This shows how pyrite measures, not how good an agent or a judge is.",
        "dim",
        no_color=no_color,
    )
    size = html.stat().st_size / 1e6
    screen.result(f"\nreport   {html}   {size:.1f} MB, opens from disk")
    screen.result(f"next     pyrite measure {out} --json    pyrite outcomes {out}    pyrite doctor")


@click.command(epilog=examples("pyrite doctor", "pyrite doctor --json", "pyrite doctor --no-color"))
@common
def doctor(as_json: bool, quiet: bool, debug: bool, no_color: bool) -> int:
    """Say what this machine can do, what is missing, how to install it, and what would be enforced."""
    from pyrite.cli import blocks, screen
    from pyrite.sandbox import probe

    found = probe.capabilities()
    if as_json:
        screen.result_json({"schema_version": "1", "capabilities": found})
    else:
        screen.result(blocks.doctor_text(found))
    return 0
