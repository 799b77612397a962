"""An audit as text for a terminal of 100 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyrite.cli import screen
from pyrite.report import audited, numbers

WIDTH = 100
MOST_STEPS = 12
_LEVELS = {"verdict": "bold", "risk": "", "info": "dim"}


def summary(document: Mapping[str, Any], findings: int) -> str:
    """One line of an audit."""
    return f"{document['tasks']:,} tasks, {document['active']:,} active, {findings:,} findings"


def show(document: Mapping[str, Any], *, html: Path | None, no_color: bool) -> None:
    """Print tiers, the evaluation phase, hazards, gold classes and baselines."""
    _wrapped(f"{document['title']}: {audited.subject(document)}")
    _tiers(document, no_color=no_color)
    _steps(document, no_color=no_color)
    _hazards(document, no_color=no_color)
    _gold(document, no_color=no_color)
    for name, score, note in audited.baselines(document):
        text = f"{name}: {score}" + (f" ({note})" if note else "")
        _wrapped(text, hanging=True)
    screen.result("")
    screen.styled(f" {audited.headline(document)}", "bold", no_color=no_color)
    _wrapped(audited.basis(document))
    _listed(document)
    if html is not None:
        screen.result(f"page     {html}")
    screen.result(f"digest   {document['digest']}")
    screen.result(f"next     pyrite audit {_command(document)} --json")


def _command(document: Mapping[str, Any]) -> str:
    import shlex

    parts = [document["path"]]
    if document["list"]:
        parts += ["--list", document["list"]["file"]]
    return shlex.join(parts)


def _wrapped(text: str, *, hanging: bool = False) -> None:
    for line in textwrap.wrap(
        text,
        WIDTH - 2,
        initial_indent=" ",
        subsequent_indent="   " if hanging else " ",
        break_on_hyphens=False,
    ):
        screen.result(line)


def _tiers(document: Mapping[str, Any], *, no_color: bool) -> None:
    rows = [
        [(f" {name}", ""), (says, ""), (f"{count:,}", "bold"), (share, "dim")]
        for name, says, count, share in audited.tiers(document)
    ]
    columns = [(" tier", "left"), ("what its verifier does", "left"), ("tasks", "right"), ("share", "right")]
    screen.table(columns, rows, no_color=no_color)


def _steps(document: Mapping[str, Any], *, no_color: bool) -> None:
    found = list(audited.steps(document))
    if not found:
        _wrapped("no steps in the evaluation phase, none before it")
        screen.result("")
        return
    rows = [
        [(f" {name[:50]}", ""), (f"{config:,}", ""), (f"{post:,}", "bold"), (f"{both:,}", "dim")]
        for name, config, post, both in found[:MOST_STEPS]
    ]
    left = len(document["steps"]["both"]) - len(rows)
    if left > 0:
        rest = list(document["steps"]["both"])[MOST_STEPS:]
        config, post = (
            sum(document["steps"][phase].get(name, 0) for name in rest) for phase in ("config", "postconfig")
        )
        rows.append(
            [
                (f" {left} more types", "dim"),
                (f"{config:,}", ""),
                (f"{post:,}", ""),
                (f"{config + post:,}", "dim"),
            ]
        )
    columns = [(" step", "left"), ("setup", "right"), ("evaluation", "right"), ("both", "right")]
    screen.table(columns, rows, no_color=no_color)


def _hazards(document: Mapping[str, Any], *, no_color: bool) -> None:
    rows: list[list[tuple[str, str]]] = []
    for text, group in audited.hazards(document, ()):
        rows.append([(f" {text}", "dim"), ("", ""), ("", ""), ("", "")])
        for one in group:
            style = screen.LOOK_HERE if one.look else _LEVELS[one.level]
            rows.append(
                [
                    (f"   {one.name}", style),
                    (one.level, style),
                    (f"{one.tasks:,}", style),
                    (f"{one.places:,}", "dim"),
                ]
            )
    if not rows:
        _wrapped("no hazard of those that are looked for")
        screen.result("")
        return
    columns = [
        (" hazard, most important first", "left"),
        ("level", "left"),
        ("tasks", "right"),
        ("places", "right"),
    ]
    screen.table(columns, rows, no_color=no_color)


def _gold(document: Mapping[str, Any], *, no_color: bool) -> None:
    rows = [
        [(f" {name}", ""), (says, ""), (f"{count:,}", "bold"), (f"{stepped:,}", ""), (f"{saved:,}", "")]
        for name, says, count, stepped, saved in audited.gold(document)
    ]
    columns = [
        (" gold", "left"),
        ("where it comes from", "left"),
        ("tasks", "right"),
        ("with steps", "right"),
        ("with a save", "right"),
    ]
    screen.table(columns, rows, no_color=no_color)


def _listed(document: Mapping[str, Any]) -> None:
    found = document["list"]
    if found is None:
        return
    text = f"list: {numbers.count(found['tasks'], 'task')}, {found['without_file']:,} of them not there"
    if found["entries"] != found["tasks"]:
        text += f", {found['entries'] - found['tasks']:,} named again"
    if found["not_listed"]:
        text += f"; {found['not_listed']:,} tasks are there and not in the list"
    _wrapped(text + ".")
