"""Lines 1, 2, 3 and 6 of the gate: rates of one judge on the natural episodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyrite.measure.gate_lines import Part, Subject, fact, figures, line, lower, some, unknown, upper
from pyrite.measure.table import FAIL, MISSING, PASS, Factor, Flags
from pyrite.measure.training import accepted_by_task, effective_rate
from pyrite.metrics.fdr import projected_fdr, task_shares
from pyrite.metrics.gate import Answer, Bound, at_most, mean_bound

EVERYBODY = "all episodes"
"""Whose success rate it is where no agent is known."""
OTHERS = "agents unknown or of few episodes"


def false_accepts(subject: Subject) -> dict[str, Any]:
    """Line 1: FPR of the natural failures, and of those that look like successes."""
    limit = subject.limits.fpr
    failed = subject.decided & (subject.episodes.truth == FAIL)
    parts = [upper("natural failures", subject.bound(failed, subject.accepted, "no_negatives"), limit)]
    if subject.hard is not None and some(failed & subject.hard):
        found = subject.bound(failed & subject.hard, subject.accepted, "no_such_failures")
        parts.append(upper("hard negatives", found, limit))
    elif subject.hard_elsewhere is not None:
        stratum, rows = subject.hard_elsewhere
        chosen = rows & (subject.verdict >= 0)
        found = subject.bound(chosen, subject.accepted, "no_verdicts")
        parts.append(upper(f"hard negatives, {stratum}", found, limit))
    else:
        reason = "no category is known" if subject.hard is None else "no such failures"
        parts.append(unknown("hard negatives", reason, value=None))
    return line(1, parts)


def training_set(subject: Subject) -> dict[str, Any]:
    """Line 2: the failed share of what a trainer would take, where the agent succeeds least."""
    limit = subject.limits.fdr
    if subject.limits.sampling == "one-per-task":
        shares = task_shares(*accepted_by_task(subject.episodes, subject.decided & subject.accepted))
        balanced = mean_bound(shares, confidence=subject.confidence, empty="nothing_accepted")
        return line(2, [upper("FDR with one accepted episode a task", balanced, limit)])
    success, whose = lowest_success(subject)
    level = 2 * subject.confidence - 1
    there = [subject.decided & (subject.episodes.truth == truth) for truth in (FAIL, PASS)]
    fpr, tpr = (effective_rate(subject.episodes, rows, subject.accepted, level) for rows in there)
    found = projected_fdr(fpr, tpr, success, level=level)
    reason = found.reason
    if found.value is None and all(some(rows) for rows in there) and success is not None:
        reason = "single_cluster" if None in (fpr, tpr) else reason
    bounds = Bound(found.value, found.low, found.high, found.n, size=None, method=found.method, reason=reason)
    part = upper("FDR at the lowest success rate", bounds, limit, success_rate=success, of=whose)
    if whose == EVERYBODY and part["answer"] == Answer.PASS:
        reason = "who acted is not known, so a weaker agent may be among them: name the agent or success_rate"
        part |= {"answer": Answer.INSUFFICIENT.value, "reason": reason}
    return line(2, [part])


def lowest_success(subject: Subject) -> tuple[float | None, str | None]:
    """The lowest success rate that is to be expected, and whose it is.

    As configured, else of the weakest agent with enough scored episodes, else of all of them. Episodes of
    unknown agents and of those with few episodes are together one agent more.
    """
    if subject.limits.success_rate is not None:
        return subject.limits.success_rate, "as configured"
    scored = subject.natural & subject.episodes.scored
    passed = subject.episodes.truth == PASS
    rates = []
    members = _members(subject.agents)
    rest = np.ones(len(scored), dtype=np.bool_)
    large = [(name, rows) for name, rows in members if int((scored & rows).sum()) >= subject.limits.min_cell]
    for _, rows in large:
        rest &= ~rows
    for name, rows in [*large, *([(OTHERS, rest)] if large else [])]:
        n = int((scored & rows).sum())
        if n >= subject.limits.min_cell:
            rates.append((float((scored & rows & passed).sum()) / n, name))
    if rates:
        return min(rates)
    n = int(scored.sum())
    return (float((scored & passed).sum()) / n, EVERYBODY) if n else (None, None)


def recognised(subject: Subject, *, tells_unusable: bool) -> dict[str, Any]:
    """Line 3: TPR, else a judge wins by refusing; the answers that cannot be used, and those missing."""
    passed = subject.decided & (subject.episodes.truth == PASS)
    found = subject.bound(passed, subject.accepted, "no_positives")
    parts = [lower("TPR", found, subject.limits.tpr)]
    if tells_unusable:
        rate = subject.bound(subject.decided, subject.unusable, "no_verdicts")
        parts.append(upper("unusable answers", rate, subject.limits.unusable))
    else:
        parts.append(unknown("unusable answers", "the source has accept or reject only", value=None))
    return line(3, [*parts, _asked(subject)])


def _asked(subject: Subject) -> Part:
    """Whether the judge answered for nearly every episode: what it did not answer may be what is hard."""
    name, scored = "episodes without a verdict", subject.natural & subject.episodes.scored
    n, missing = int(scored.sum()), int((scored & (subject.verdict == MISSING)).sum())
    if not missing:
        return fact(name, Answer.PASS, "there is none", missing=0)
    reason = f"{missing:,} of {n:,} scored episodes"
    if missing / n <= subject.limits.unusable:
        return fact(name, Answer.PASS, reason, missing=missing)
    return unknown(name, reason, missing=missing)


def leaky_corner(subject: Subject) -> dict[str, Any]:
    """Line 6: FAIL if one cell leaks at level a / C, PASS only if every cell is within the limit."""
    limit, failed = subject.limits.leaky_cell, subject.decided & (subject.episodes.truth == FAIL)
    cells = {name: failed & rows for name, rows in subject.cells.items() if some(failed & rows)}
    if not cells:
        reason = "no_negatives" if not some(failed) else "no category and no group is known"
        return line(6, [unknown("categories", reason, value=None)])
    rated = [name for name, rows in cells.items() if int(rows.sum()) >= subject.limits.min_cell]
    strict = 1 - (1 - subject.confidence) / max(1, len(rated))
    parts = []
    for name, rows in cells.items():
        found = subject.bound(rows, subject.accepted, "no_negatives")
        if name not in rated:
            counts = figures(found._replace(low=None, high=None), limit, "at most")
            parts.append(unknown(name, "too few failed episodes to be rated", **counts))
            continue
        alone = subject.bound(rows, subject.accepted, "no_negatives", confidence=strict)
        parts.append(_cell(name, found, alone, limit))
    order = {Answer.FAIL: 0, Answer.INSUFFICIENT: 1, Answer.PASS: 2}
    parts.sort(key=lambda one: (order[Answer(one["answer"])], *_worst_first(one["low"], one["value"])))
    return line(6, parts) | {"cells": len(cells), "rated": len(rated), "lower_bound_level": 1 - strict}


def _worst_first(*values: float | None) -> list[tuple[bool, float]]:
    """A key that puts the highest first and what is not known last."""
    return [(value is None, 0.0 if value is None else -value) for value in values]


def _cell(name: str, found: Bound, strict: Bound, limit: float) -> Part:
    """One cell: its lower bound shares the error with all other cells, its upper bound does not."""
    both = found._replace(low=strict.low)
    answer = at_most(both, limit)
    reasons = {
        Answer.PASS: "the upper bound is within the limit",
        Answer.FAIL: "even the lower bound is beyond the limit",
        Answer.INSUFFICIENT: found.reason or "the limit lies between the bounds",
    }
    return fact(name, answer, reasons[answer], **figures(both, limit, "at most"))


def breakdown(factors: dict[str, Factor], rows: Flags) -> dict[str, Flags]:
    """Every combination of values of the columns that occurs in the chosen rows, by name."""
    if not factors:
        return {}
    stacked = np.stack([one.codes for one in factors.values()], axis=1)
    found = {}
    for cell in np.unique(stacked[rows], axis=0):
        names = [
            one.names[code] if code >= 0 else "unknown"
            for one, code in zip(factors.values(), cell, strict=True)
        ]
        found[", ".join(names)] = (stacked == cell).all(axis=1)
    return found


def _members(found: Factor | None) -> list[tuple[str, Flags]]:
    if found is None:
        return []
    return [(name, found.codes == code) for code, name in enumerate(found.names)]
