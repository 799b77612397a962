"""Truth: audit, what do somebody else's verifiers do?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from pyrite.cli import common, examples

FORMATS = ("osworld", "webarena", "webarena-verified", "harbor", "cua-bench", "opencomputer", "pyrite")
_REPLAY = "pyrite.replay"
_FILE = click.Path(path_type=Path)


def _replayed(*names: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An option of --replay, kept aside: `audit` itself has enough parameters."""

    def keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
        if value not in (None, ()):
            ctx.meta.setdefault(_REPLAY, {})[param.name] = value

    return click.option(*names, callback=keep, expose_value=False, **options)


@click.command(
    epilog=examples(
        "pyrite audit OSWorld/evaluation_examples --list test_all.json",
        "pyrite audit terminal-bench/tasks --html audit.html",
        "pyrite audit --replay metrics:compare --expected gold.xlsx --initial start.xlsx",
    )
)
@click.argument("path", type=_FILE, required=False)
@click.option("--list", "only", type=_FILE, help="Only tasks of this list: as given, else below PATH.")
@click.option("--html", type=_FILE, help="Write a page too.")
@click.option("--format", "form", type=click.Choice(FORMATS), help="Do not guess whose tasks these are.")
@click.option("--force", is_flag=True, help="Overwrite a file that is no page of an audit.")
@click.option("--replay", metavar="MODULE:FUNCTION", help="Call a comparator, confined, on known files.")
@_replayed("--expected", type=_FILE, help="The right file: to be accepted.")
@_replayed("--initial", type=_FILE, help="The file before the task: to be rejected.")
@_replayed("--result", type=_FILE, help="A file whose answer to show.")
@_replayed("--path", "paths", multiple=True, type=_FILE, help="A folder to import from; repeatable.")
@_replayed("--options", metavar="JSON", help="Keyword arguments of the comparator, an object.")
@_replayed("--accept", metavar="RULE", help="From where on a number passes: '>=1.0', '>0.5'.")
@_replayed("--timeout", type=float, metavar="S", help="Seconds for one call (20).")
@_replayed("--equivalent", multiple=True, metavar="GLOB", help="Near-misses that are right; repeatable.")
@_replayed("--keep", type=_FILE, help="Leave the file of every case in this new folder.")
@common
@click.pass_context
def audit(
    ctx: click.Context,
    path: Path | None,
    only: Path | None,
    html: Path | None,
    form: str | None,
    force: bool,
    replay: str | None,
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """What do somebody else's verifiers do, and what can go wrong? Reads task definitions; runs nothing.

    PATH holds tasks of OSWorld, WindowsAgentArena, WebArena, WebArena-Verified, Harbor or
    terminal-bench, cua-bench, OpenComputer, or is a suite of pyrite. Findings alone are exit 0; exit 3
    where nothing can be told. --replay runs a comparator of two files instead of reading PATH; exit 1
    where it accepts a wrong file or rejects a right one.
    """
    given = ctx.meta.get(_REPLAY, {})
    if replay is not None:
        if path or only or html or form or force:
            raise click.UsageError("PATH, --list, --html, --format and --force do not go with --replay")
        return _replay(replay, given, as_json=as_json, quiet=quiet, no_color=no_color)
    if given:
        raise click.UsageError(f"--{next(iter(given)).replace('paths', 'path')} goes with --replay")
    if path is None:
        raise click.UsageError("give a PATH with tasks, or --replay MODULE:FUNCTION")
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


def _replay(function: str, given: dict[str, Any], *, as_json: bool, quiet: bool, no_color: bool) -> int:
    from pyrite.audit.answers import parse_accept
    from pyrite.audit.comparator import Ask, parse_options, replay
    from pyrite.cli import replay_text, screen

    if "expected" not in given:
        raise click.UsageError("--replay needs --expected FILE")
    asked: dict[str, Any] = {
        name: given[name]
        for name in ("expected", "initial", "result", "paths", "equivalent", "keep")
        if name in given
    }
    if "accept" in given:
        asked["accept"] = parse_accept(given["accept"])
    if "options" in given:
        asked["options"] = parse_options(given["options"])
    if "timeout" in given:
        asked["timeout_s"] = given["timeout"]
    progress = screen.Progress(quiet=quiet, no_color=no_color)
    with progress.stage("replay") as stage:
        found = replay(Ask(function, **asked), watch=stage)
        stage.summary = replay_text.summary(found.document)
    if as_json:
        screen.result_json(found.document)
    else:
        replay_text.show(found.document, no_color=no_color)
    return found.exit_code
