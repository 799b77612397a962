"""What became of a judging, or would become of it, as text."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from pyrite.cli.blocks import broken_lines, unswappable_lines
from pyrite.report.numbers import count

if TYPE_CHECKING:
    from pyrite.judges.client.budget import Spent
    from pyrite.judges.pricing import Cost
    from pyrite.judges.runner import Judging

_INDENT = f"{'':<29} "


def judged(judging: Judging, *, dry: bool) -> str:
    """One line of a judging."""
    judges = len({one.judge for one in judging.asked})
    missing = f", {judging.missing} {'to ask' if dry else 'missing'}" if judging.missing else ""
    broken = f", {count(len(judging.broken), 'broken episode')}" if judging.broken else ""
    return f"{count(judges, 'judge')}, {count(judging.obtained, 'verdict')}{missing}{broken}"


def judging_text(judging: Judging, bench: Path, *, dry: bool) -> str:
    """A line for each judge and condition, and what it cost or would cost."""
    lines = []
    for one in judging.asked:
        name = f"{one.judge:<16} {one.condition:<12}"
        original = one.published_condition
        if not one.supported:
            lines.append(f"{name} not supported: this judge does not take this evidence")
            lines += [f"{_INDENT}as published: --condition {original}"] if original else []
            continue
        other = [f"{_INDENT}shown otherwise than as published: --condition {original}"] if original else []
        if dry:
            lines.append(f"{name} would ask for {count(one.missing, 'verdict')}, {one.kept} are there")
            lines += other
            lines += _cost(one.cost, f"{bench} --condition {one.condition}") if one.cost is not None else []
            continue
        lines.append(f"{name} {one.new} new, {one.kept} kept, {one.missing} missing")
        lines += other
        if one.old:
            lines.append(f"{_INDENT}{count(one.old, 'old verdict')} could not be had anew and stayed")
        if one.dropped:
            gone = count(one.dropped, "verdict")
            lines.append(f"{_INDENT}{gone} of other settings dropped, and not given anew (--force)")
        lines += [f"{_INDENT}{n} {_missing(reason)}" for reason, n in one.why_missing.items()]
        lines += [f"{_INDENT}{n} declined: {reason}" for reason, n in one.declined.items()]
        if one.undecided:
            lines.append(f"{_INDENT}{one.undecided} without an outcome: the lines say which step failed")
    lines += broken_lines(judging.broken) + unswappable_lines(judging.unswappable)
    if judging.spent is not None:
        lines.append(f"calls    {_spent(judging.spent)}")
        lines += _overrun(judging.spent)
    if not dry:
        verb = "diagnose" if grades_process(judging) else "measure"
        lines += [f"verdicts {bench}/verdicts/", f"next     pyrite {verb} {shlex.quote(str(bench))}"]
    return "\n".join(lines)


def grades_process(judging: Judging) -> bool:
    """Whether one of the judges grades the process: it owes every trajectory a line with its cause."""
    return any(one.supported and one.judge.partition("@")[0] == "universal" for one in judging.asked)


def _missing(reason: str) -> str:
    return reason if reason.startswith("missing") else f"missing: {reason}"


def _cost(cost: Cost, packed: str) -> list[str]:
    """What a dry run says of the calls: all of it is an estimate but the counts."""
    if cost.fewest is not None:
        few = f"{cost.fewest:,} to " if cost.fewest < cost.calls else ""
        known = "images and tokens depend on the answers; what is cached is not asked again"
        lines = [f"{_INDENT}{few}{count(cost.calls, 'call')}: {known}"] if cost.calls else []
        return [*lines, *(f"  {line}" for line in cost.table), *_unpriced(cost, packed)]
    calls = f"{count(cost.calls, 'call')} ({cost.cached} more are cached), {count(cost.images, 'image')}"
    tokens = f"about {cost.input_tokens:,} tokens in, at most {cost.output_tokens:,} out"
    dollars = f"; at most ${cost.dollars:,.2f}" if cost.dollars is not None else "; --price tells dollars"
    lines = [f"{_INDENT}{calls}", f"{_INDENT}{tokens}{dollars}"] if cost.calls or cost.cached else []
    return lines + _unpriced(cost, packed)


def _unpriced(cost: Cost, packed: str) -> list[str]:
    if not cost.unpriced:
        return []
    return [
        f"{_INDENT}{count(cost.unpriced, 'verdict')} not priced: not packed or not read yet",
        f"{_INDENT}pyrite pack {packed}",
    ]


def _overrun(spent: Spent) -> list[str]:
    """By how much a budget was overrun, where it was."""
    over = spent.over_budget
    if over is None:
        return []
    amount = f"{over:,.0f} tokens" if str(spent.budget).endswith("tokens") else f"${over:,.4f}"
    return [
        f"budget   {spent.budget}, overrun by {amount}: what was in flight took more than any call before"
    ]


def _spent(spent: Spent) -> str:
    """What the calls came to; what was not counted is said and not added."""
    parts = [f"{spent.calls:,} answered", f"{spent.cached:,} from the cache", f"{spent.failed:,} failed"]
    parts.append(f"{count(spent.requests, 'request')}")
    parts.append(f"{spent.input_tokens:,} tokens in, {spent.output_tokens:,} out")
    if spent.without_usage:
        parts[-1] += f" (not counted by the endpoint: {spent.without_usage:,})"
    if spent.calls > spent.without_cost:
        parts.append(f"${spent.dollars:,.4f}")
        if spent.without_cost:
            parts[-1] += f" (cost not known: {spent.without_cost:,})"
    return ", ".join(parts)
