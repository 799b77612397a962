"""What people say: label."""

from __future__ import annotations

from pathlib import Path

import click

from pyrite.cli import common, examples


@click.command(
    epilog=examples(
        "pyrite label runs/first/episodes/ep_026f7f94cf46 --category F-PARTIAL --annotator ana",
        "pyrite label runs/first/episodes/ep_026f7f94cf46 --outcome fail --annotator ben",
        "pyrite label runs/first/episodes/ep_026f7f94cf46 --category F-CLAIM --annotator eva"
        " --stage adjudication",
    )
)
@click.argument("episode", type=click.Path(path_type=Path))
@click.option(
    "--category", metavar="CODE", help="How it failed: F-ABORT F-CLAIM F-UNCOMMITTED F-WRONGTARGET …"
)
@click.option("--outcome", help="pass, fail or indeterminate, as this person sees it.")
@click.option("--process-score", type=float, help="How well it went about it, 0 to 1 (good from 0.8).")
@click.option(
    "--annotator", required=True, envvar="PYRITE_ANNOTATOR", help="Who says so. [env: PYRITE_ANNOTATOR]"
)
@click.option("--comment", default="", help="Why, in words.")
@click.option(
    "--stage",
    default="blind",
    show_default=True,
    help="blind, informed (outcome known), adjudication (settles a conflict), practice (never counts).",
)
@common
def label(
    episode: Path,
    category: str | None,
    outcome: str | None,
    process_score: float | None,
    annotator: str,
    comment: str,
    stage: str,
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """Add what a person says of EPISODE (a path <bench>/episodes/<id>) to <bench>/labels.jsonl.

    A category counts for a failure that has none in gt.json, which is never rewritten. The code that
    most annotators name wins, each by the last line; a tie leaves the failure unclassified until an
    adjudication. `pyrite list episodes BENCH --needs category` is the queue.
    """
    from pyrite.cli import screen, shown
    from pyrite.store import labels

    added = labels.label(
        episode,
        category=category,
        outcome=outcome,
        process_score=process_score,
        annotator=annotator,
        comment=comment,
        stage=stage,
    )
    if as_json:
        screen.result_json(added)
    else:
        screen.result(shown.label_text(added))
    return 0
