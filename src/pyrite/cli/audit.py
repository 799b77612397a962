"""Truth: audit, what do somebody else's verifiers do?"""

from __future__ import annotations

from pathlib import Path

import click

from pyrite.cli import common, examples

FORMATS = ("osworld", "webarena", "webarena-verified", "harbor", "cua-bench", "opencomputer", "pyrite")


@click.command(
    epilog=examples(
        "pyrite audit OSWorld/evaluation_examples --list test_all.json",
        "pyrite audit terminal-bench/tasks --html audit.html",
        "pyrite audit webarena-verified --json > audit.json",
    )
)
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--list",
    "only",
    type=click.Path(path_type=Path),
    help="Only tasks of this list: as given, else below PATH.",
)
@click.option("--html", type=click.Path(path_type=Path), help="Write a page too.")
@click.option("--format", "form", type=click.Choice(FORMATS), help="Do not guess whose tasks these are.")
@click.option("--force", is_flag=True, help="Overwrite a file that is no page of an audit.")
@common
def audit(
    path: Path,
    only: Path | None,
    html: Path | None,
    form: str | None,
    force: bool,
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """What do somebody else's verifiers do, and what can go wrong? Reads task definitions; runs nothing.

    PATH holds tasks of OSWorld, WindowsAgentArena, WebArena, WebArena-Verified, Harbor or
    terminal-bench, cua-bench, OpenComputer, or is a suite of pyrite. Findings alone are exit 0; exit 3
    where of no task it can be told what its verifier does.
    """
    from pyrite.audit.audit import audit as read
    from pyrite.cli import audit_text, screen
    from pyrite.report import audited, single

    if html is not None:
        single.require_page(html, audited.KIND, force=force)
    progress = screen.Progress(quiet=quiet, no_color=no_color)
    with progress.stage("audit") as stage:
        found = read(path, only=only, form=form, watch=stage)
        stage.summary = audit_text.summary(found.document, len(found.findings))
    if html is not None:
        audited.write_page(html, found.document, found.findings, found.per_task, force=force)
    if as_json:
        screen.result_json_long(found.document, per_task=found.per_task, findings=found.findings)
    else:
        audit_text.show(found.document, html=html, no_color=no_color)
    return 3 if found.undecided else 0
