"""Truth: check, is a task fit to ship?"""

from __future__ import annotations

from pathlib import Path

import click

from pyrite.cli import common, examples


@click.command(
    epilog=examples(
        "pyrite check desk",
        "pyrite check my-tasks other-tasks/one --states-only",
        "pyrite check desk --only '*q3*' --html check.html",
    )
)
@click.argument("suites", metavar="SUITE|FOLDER...", nargs=-1, required=True)
@click.option("--only", default="*", show_default=True, help="Tasks whose id matches this pattern.")
@click.option("--states-only", is_flag=True, help="Leave out what needs the real application.")
@click.option("-j", "--jobs", type=click.IntRange(1), help="Tasks at once.  [default: one a core]")
@click.option("-o", "--html", type=click.Path(path_type=Path), help="Write a page too.")
@click.option("--keep", type=click.Path(path_type=Path), help="A new folder for near-misses that pass.")
@click.option("--force", is_flag=True, help="Overwrite a file that is no page of a check.")
@common
def check(
    suites: tuple[str, ...],
    only: str,
    states_only: bool,
    jobs: int | None,
    html: Path | None,
    keep: Path | None,
    force: bool,
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """Are my tasks fit to ship? Replays every known state, and near-misses of the good one.

    Exit 1: a state or near-miss has another outcome than it should. Exit 4: all is well, but an active
    task could not be asked in the real application.
    """
    from pyrite import flow
    from pyrite.cli import check_text, screen
    from pyrite.report import checked, single

    if html is not None:
        single.require_page(html, checked.KIND, force=force)
    progress = screen.Progress(quiet=quiet, no_color=no_color)
    with progress.stage("check") as stage:
        result = flow.check(suites, only=only, states_only=states_only, jobs=jobs, keep=keep, watch=stage)
        stage.summary = check_text.summary(result)
    if html is not None:
        checked.write_page(html, result, force=force)
    if as_json:
        screen.result_json(result)
    else:
        check_text.show(result, html=html, keep=keep, no_color=no_color)
    return {True: 0, False: 1, None: 4}[result["ok"]]
