"""A check as text for a terminal of 100 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyrite.cli import screen
from pyrite.report import checked, numbers

WIDTH = 100
MOST = 40
"""Faults and findings that are listed."""
_HEADINGS = {
    "good": "good",
    "harmless": "alike",
    "initial": "start",
    "not done": "none",
    "wrong target": "target",
    "wrong file": "file",
    "partial": "part",
    "side effect": "side",
    "other": "other",
    "near-miss": "near",
}
_MEANINGS = (
    "alike: harmless variants · start: untouched · none: nothing done · target, file: done elsewhere ·",
    "part: half or wrong form · side: damage beside it · near: near-misses made from the good state",
)
_GLYPH = {"passes": "●", "fails": "■", "no answer": "◇", "other code": "◇"}
_WORD = {"passes": "pass", "fails": "fail", "no answer": "no ans", "other code": "code"}
_LOUD = "bold red"
_LEGEND = "●4 pass, ■4 fail: as declared · not declared · in words: what should not be (no ans: no answer)"
_NARROW = 16
_ENDS = 13
"""Columns of `twice` and `ships`."""


def summary(result: Mapping[str, Any]) -> str:
    """One line of a check."""
    counts = result["counts"]
    near = counts["killed"] + counts["survived"]
    states = f"{counts['states']} states, {counts['mismatches']} wrong"
    return (
        f"{counts['tasks']} tasks, {counts['held']} held; {states}; "
        f"{near} near-misses, {counts['survived']} pass"
    )


def show(result: Mapping[str, Any], *, html: Path | None, keep: Path | None, no_color: bool) -> None:
    """Print the matrix, the rates, and what to mend."""
    _matrix(result, no_color=no_color)
    for line in (_LEGEND, *_MEANINGS):
        screen.styled(f" {line}", "dim", no_color=no_color)
    for key, what in (("false_accept", "false accepts"), ("false_reject", "false rejects")):
        _wrapped(checked.rate_words(result[key], what))
    _faults(result, no_color=no_color)
    found = checked.findings(result)
    for name, text in found[:MOST]:
        _wrapped(f"look at  {name}: {text}")
    if len(found) > MOST:
        screen.result(f"and {len(found) - MOST} more in --json")
    if keep is not None and result["counts"]["survived"]:
        screen.result(f"kept     {keep}   the home of each near-miss that passes")
    if html is not None:
        screen.result(f"page     {html}   opens from disk")
    screen.result(_verdict(result))


def _matrix(result: Mapping[str, Any], *, no_color: bool) -> None:
    shown = checked.columns(result)
    tasks = sorted(result["tasks"], key=lambda task: task["ok"] is not False)
    found = [checked.cells(task) for task in tasks]
    widths = _widths(shown, found, spelled=True)
    spelled = sum(widths) + _ENDS + _NARROW <= WIDTH
    if not spelled:
        widths = _widths(shown, found, spelled=False)
    named = min(max([4, *(len(task["id"]) for task in tasks)]), max(WIDTH - 2 - sum(widths) - _ENDS, _NARROW))
    passing = sum(width for width, name in zip(widths, shown, strict=True) if name in checked.MUST_PASS)
    over = " " * (named + 2) + _span("must pass", passing) + _span("must fail", sum(widths) - passing)
    heads = "".join(_HEADINGS[name].ljust(width) for name, width in zip(shown, widths, strict=True))
    screen.styled(over.rstrip(), "dim", no_color=no_color)
    screen.styled(f" {'task'.ljust(named)} {heads}twice   ships", "dim", no_color=no_color)
    for task, row in zip(tasks, found, strict=True):
        held = task["ok"] is False
        name = task["id"] if len(task["id"]) <= named else task["id"][: named - 1] + "…"
        screen.styled(f" {name.ljust(named)} ", "bold" if held else "", no_color=no_color, end="")
        for column, width in zip(shown, widths, strict=True):
            text, style = _cell(row[column], spelled=spelled)
            screen.styled(text.ljust(width), style, no_color=no_color, end="")
        same = checked.steady(task)
        screen.styled(f"{same:<8}", "" if same == "same" else _LOUD, no_color=no_color, end="")
        screen.styled(checked.ships(task), _LOUD if held else "", no_color=no_color)


def _widths(shown: list[str], found: list[dict[str, checked.Cell]], *, spelled: bool) -> list[int]:
    widths = [
        max(len(_HEADINGS[name]), *(len(_cell(row[name], spelled=spelled)[0]) for row in found)) + 1
        for name in shown
    ]
    for group, title in ((checked.MUST_PASS, "must pass"), (checked.MUST_FAIL, "must fail")):
        own = [at for at, name in enumerate(shown) if name in group]
        if own:  # the group's title needs room
            widths[own[-1]] += max(0, len(title) + 1 - sum(widths[at] for at in own))
    return widths


def _span(text: str, width: int) -> str:
    return f"{text} ".ljust(width - 1, "─") + " " if width > len(text) + 1 else text[:width].ljust(width)


def _cell(found: checked.Cell, *, spelled: bool) -> tuple[str, str]:
    """A cell and its style: pale as declared, else in words, or as `!●2/4` where there is no room."""
    if not found.states:
        return "·", "dim"
    if not found.wrong:
        count = str(found.states) if found.states > 1 else ""
        return ("●" if found.must_pass else "■") + count, "dim"
    first, number = found.wrong[0]
    if spelled:
        count = f"{number}" if found.states > 1 else ""
        return f"{_GLYPH[first]}{count} {_WORD[first]}", _LOUD
    return f"!{_GLYPH[first]}{sum(count for _, count in found.wrong)}/{found.states}", _LOUD


def _faults(result: Mapping[str, Any], *, no_color: bool) -> None:
    found = list(checked.faults(result))
    if not found:
        return
    screen.result("")
    screen.styled(f"faults to mend ({len(found)})", "bold", no_color=no_color)
    last = ""
    for number, (task, fault) in enumerate(found[:MOST], start=1):
        if task["id"] != last:
            screen.styled(f" {task['id']}", "bold", no_color=no_color, end="")
            screen.result(f"   {task['reproduce']}")
            last = task["id"]
        screen.styled(f"  S{number:<3} {fault['observed'][:60]}", _LOUD, no_color=no_color)
        _wrapped(f"why     {fault['why'][:300]}", 7)
        _wrapped(f"change  {fault['change'][:300]}", 7)
        for name in fault["names"][:3]:
            _wrapped(f"named   {name}", 7)
    if len(found) > MOST:
        screen.result(f" and {len(found) - MOST} more in --json")
    screen.result("")


def _wrapped(text: str, indent: int = 1) -> None:
    before = " " * indent
    screen.result(
        textwrap.fill(
            text,
            WIDTH - 1,
            initial_indent=before,
            subsequent_indent=before + " " * 8,
            break_on_hyphens=False,
        )
    )


def _verdict(result: Mapping[str, Any]) -> str:
    counts = result["counts"]
    if result["ok"]:
        skipped = ", archived states only" if result["states_only"] else ""
        live = sum(1 for task in result["tasks"] if (task["live"] or {}).get("run") == "ran")
        asked = f", {live} of them in the real application too" if live else ""
        return f"fit to ship{skipped}: {numbers.count(counts['tasks'], 'task')}, all of them{asked}"
    if result["ok"] is None:
        number = numbers.count(counts["not_run"], "active task")
        why = next((task["live"]["why"] for task in result["tasks"] if task["ok"] is None), "")
        return f"not decided: {number} not asked in the real application{f': {why}' if why else ''}"
    return f"held back: {counts['held']} of {counts['tasks']} tasks"
