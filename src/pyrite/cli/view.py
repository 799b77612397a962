"""Start: view, the page of one episode."""

from __future__ import annotations

from pathlib import Path

import click

from pyrite.cli import common, examples


@click.command(
    epilog=examples(
        "pyrite view pyrite-demo/episodes/EPISODE_ID",
        "pyrite view pyrite-demo/episodes/EPISODE_ID --step 3 -o /tmp/look.html",
        "pyrite view elsewhere/my-episode --json",
    )
)
@click.argument("episode", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    help="The page, or a folder for it.  [default: BENCH/view/EPISODE_ID.html]",
)
@click.option("--step", type=click.IntRange(1), help="Draw this step's action.  [default: the last one]")
@click.option(
    "--tasks", multiple=True, type=click.Path(path_type=Path), help="Also look here for the task's text."
)
@click.option("--force", is_flag=True, help="Overwrite a file that is not this page.")
@common
def view(
    episode: Path,
    out: Path | None,
    step: int | None,
    tasks: tuple[Path, ...],
    force: bool,
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> None:
    """Write one page of one EPISODE, a folder: screens, actions, truth, end state, verdicts.

    The page opens from disk without a network. An episode that lies in no bench has no verdicts, and
    its page is written here. Nothing is ever written into an episode.
    """
    from pyrite import flow
    from pyrite.cli import screen

    progress = screen.Progress(quiet=quiet, no_color=no_color)
    with progress.stage("view") as stage:
        viewed = flow.view(episode, out=out, step=step, tasks=tasks, force=force)
        stage.summary = viewed.summary
    if as_json:
        screen.result_json(viewed)
        return
    for part, why in viewed.problems.items():
        progress.line(f"   {part}: {why}")
    screen.result(f"page     {viewed.html}   {viewed.html_bytes / 1e6:.1f} MB, opens from disk")
