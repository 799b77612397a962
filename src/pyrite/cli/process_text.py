"""What verdicts with a process say, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyrite.report.numbers import count, null, percent


def process_text(blocks: Sequence[Mapping[str, Any]], bench: Path) -> str:
    """A block for each judge and condition."""
    lines: list[str] = []
    for one in blocks:
        lines += [*_block(one), ""]
    return "\n".join([*lines, f"next     pyrite diagnose {bench} --json"])


def _block(one: Mapping[str, Any]) -> list[str]:
    undecided = f", {one['undecided']} without an outcome" if one["undecided"] else ""
    if one["aborted"]:
        undecided += f"; {count(one['aborted'], 'verdict')} on aborted runs not counted"
    lines = [f"{one['judge']} {one['condition']}: {count(one['verdicts'], 'verdict')}{undecided}", ""]
    lines.append(f"{'agent':<20} {'verdicts':>8} {'process score':>14} {'process':>8} {'outcome':>8}")
    for name, figures in one["agents"].items():
        score = "null" if figures["process_score"] is None else f"{figures['process_score']:.3f}"
        lines.append(
            f"{name[:20]:<20} {figures['verdicts']:>8} {score:>14} "
            f"{percent(figures['process_success']):>8} {percent(figures['outcome_success']):>8}"
        )
    lines += ["", _spread(one["runs"]), "", "kinds of failure (points, and verdicts that have one)"]
    for name, codes in one["codes"].items():
        told = [f"{code} {n}/{codes['verdicts'][code]}" for code, n in codes["points"].items()]
        lines.append(f"  {name[:20]:<18} {', '.join(told) or 'none'}")
        if codes["without_diagnosis"]:
            lines.append(f"  {'':<18} {count(codes['without_diagnosis'], 'verdict')} without a diagnosis")
    counted = ", ".join(f"{points}: {n}" for points, n in one["failure_points"].items())
    lines.append(f"  points a verdict   {counted}")
    return [*lines, "", *_over(one["over_budget"], one["truth_from"])]


def _spread(runs: Mapping[str, Any]) -> str:
    names = {"process_score": "score", "process_success": "process", "outcome_success": "outcome"}
    if runs["n"] < 2:
        return f"SD over runs: {null('one run; --runs 3 gives three')}"
    told = [
        f"{names[key]} {null('not known') if value is None else f'{value:.3f}'}"
        for key, value in runs["sd"].items()
    ]
    return f"SD over {runs['n']} runs: {', '.join(told)}"


def _over(table: Mapping[str, Any], truth: str) -> list[str]:
    lines = [f"{'budget':<10} {'truth':<8} {'success':>8} {'failure':>8} {'no outcome':>11}   ({truth})"]
    for place, rows in table.items():
        for name, said in rows.items():
            if any(said.values()):
                row = f"{said['success']:>8} {said['failure']:>8} {said['none']:>11}"
                lines.append(f"{place:<10} {name:<8} {row}")
    return lines
