"""The three-outcome block as text for a terminal of 100 columns, and the health of the graders below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyrite.cli import screen
from pyrite.cli.blocks import not_scored_lines, note, truth_text, wrapped
from pyrite.measure.grader import alert_words
from pyrite.measure.reasons import words
from pyrite.report.numbers import THIN, count, few, interval, percent, points, points_interval, ratio

FEWER = 10
"""Tasks of one kind that are named."""
_REPLAYED = {"today": "today", "at_verify": "at verify", "never": "never"}


def show(result: Mapping[str, Any], *, no_color: bool) -> None:
    """Everything that `pyrite outcomes` says."""
    grader = result["grader"]
    for name, stratum in result["strata"].items():
        screen.result(truth_text(name, stratum, stratum) + "\n")
    for line in alerts(grader):
        for part in wrapped(screen.printable(line), indent=9).splitlines():
            screen.styled(part, screen.LOOK_HERE, no_color=no_color)
    lines = [*changes(grader), *broke(grader), *held(grader)]
    for line in lines:
        screen.result(wrapped(screen.printable(line), indent=9))
    if lines or grader["alerts"]:
        screen.result("")
    _hardest(grader, no_color=no_color)
    for line in not_scored_lines(result):
        screen.result(line)
    for warning in result["warnings"]:
        screen.result(note(warning))
    open_ = [bug for bug in grader["suite_bugs"] if bug["mended"] is None]
    if open_:
        screen.result(f"faults   {result['bench']}/suite_bugs.md: {count(len(open_), 'fault')} to mend")


def alerts(grader: Mapping[str, Any]) -> Iterator[str]:
    """A line an alert, with its figures."""
    for alert in grader["alerts"]:
        health = grader["strata"][alert["stratum"]]
        share = health["indeterminate"] if alert["kind"] == "limit" else health["change"]
        figures = _share(share) if alert["kind"] == "limit" else _moved(share)
        yield f"alert    {alert_words(alert, grader)}: {figures}"


def changes(grader: Mapping[str, Any]) -> Iterator[str]:
    """What is not shown to have risen against the earlier bench."""
    for name, health in grader["strata"].items():
        change = health["change"]
        if grader["against"] is not None and change is None:
            yield f"against  {name}: no episodes in {grader['against']}"
        elif change is not None and not change["rose"]:
            yield f"against  {name}: indeterminate {_moved(change)}, not shown to have risen"


def broke(grader: Mapping[str, Any]) -> Iterator[str]:
    """Tasks that were run and are not counted."""
    for one in grader["broke"][:FEWER]:
        bugs = ", ".join(f"S{number}" for number in one["suite_bugs"])
        more = f"; {one['flake']}" if one["flake"] else f"; {one['problem']}" if one["problem"] else ""
        yield (
            f"broke    {one['task_id']}: run, not counted: {one['cause']} (blame: {one['blame']}), "
            f"{count(one['episodes'], 'episode')}{more}{f' ({bugs})' if bugs else ''}"
        )
    if len(grader["broke"]) > FEWER:
        yield f"broke    and {len(grader['broke']) - FEWER:,} more: all of them in --json"


def held(grader: Mapping[str, Any]) -> Iterator[str]:
    """Tasks that were not run."""
    for one in grader["held"][:FEWER]:
        yield f"held     {one['task_id']}: held at check ({one['checked_at'][:10]}), never run: {one['why']}"
    if len(grader["held"]) > FEWER:
        yield f"held     and {len(grader['held']) - FEWER:,} more"


def _hardest(grader: Mapping[str, Any], *, no_color: bool) -> None:
    columns = [("fails most", "left"), ("failed", "right"), ("rate", "right"), ("good state passed", "left")]
    for name, tasks in grader["hardest"].items():
        rows = []
        for one in tasks:
            gold = one["gold"]
            never = gold["replayed"] == "never"
            when = _REPLAYED[gold["replayed"]] + (f", {gold['at'][:10]}" if gold["at"] else "")
            rows.append(
                [
                    (f"{screen.printable(one['task_id'])}, {name}", ""),
                    (ratio(one["fail"], one["scored"]), ""),
                    ("n < 10" if few(one["scored"]) else percent(one["failure_rate"]), ""),
                    (when, screen.LOOK_HERE if never else ""),
                ]
            )
        if rows:
            screen.table(columns, rows, no_color=no_color, fold=True)
            screen.result("")


def _share(share: Mapping[str, Any]) -> str:
    ends = interval(share["low"], share["high"]) or f"[no interval: {words(share['reason'])}]"
    method = f" ({share['method']})" if share["method"] else ""
    return f"{percent(share['value'])} {ends}{method}"


def _moved(change: Mapping[str, Any]) -> str:
    if change["value"] is None:
        return f"null: {words(change['reason'])}"
    ends = points_interval(change["low"], change["high"]) or f"[no interval: {words(change['reason'])}]"
    method = f" ({change['method']})" if change["method"] else ""
    return f"{points(change['value'])} {ends}{method}".replace(f"{THIN}pp", " pp")
