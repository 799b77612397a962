"""One answer an episode from several runs: vote first, map second.

Success needs a strict majority of the runs that were configured, not of those that came back. No
majority among complete runs is uncertain, so a tie never resolves to success; no majority where runs
are missing is missing, because the missing run could decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from pyrite.errors import InputError
from pyrite.measure.table import MISSING, SUCCESS, UNCERTAIN, Codes8, Codes32, Factor, Flags, Table

Policy = Literal["failure", "drop", "success"]
"""What a voted uncertain counts as: not accepted (the headline), not asked, or accepted."""

_KINDS = 4


@dataclass(frozen=True)
class Votes:
    """The voted verdict of each episode and what stands behind it."""

    verdict: Codes8
    incomplete: Flags
    """A verdict was reached with runs missing."""
    runs: int
    """Configured runs."""


def vote(episode: Codes32, verdict: Codes8, *, episodes: int, runs: int) -> Votes:
    """Majority verdict of each of `episodes` episodes over `runs` configured runs.

    One entry a run in `episode` and `verdict` (a MISSING verdict is no vote). Raises `InputError`
    where an episode has more votes than runs were configured.
    """
    cast = verdict >= 0
    flat = episode[cast].astype(np.int64) * _KINDS + verdict[cast]
    counts = np.bincount(flat, minlength=episodes * _KINDS).reshape(episodes, _KINDS)
    present = counts.sum(axis=1)
    if len(present) and int(present.max()) > runs:
        raise InputError(
            f"an episode has {int(present.max())} verdicts of one judge and condition",
            expected=f"at most {runs}, as configured",
        )
    majority = runs // 2 + 1
    best = counts.argmax(axis=1)
    decided = counts.max(axis=1, initial=0) >= majority
    complete = present == runs
    result = np.where(decided, best, np.where(complete, UNCERTAIN, MISSING)).astype(np.int8)
    return Votes(result, decided & ~complete, runs)


def votes_of(table: Table, judge: str, condition: str) -> Votes:
    """The voted verdicts of one judge in one condition, one entry an episode of the table.

    Runs that are there count even where a later command asked for fewer. All are missing where no line
    names the judge or the condition: it was asked, and nothing came.
    """
    rows = table.verdicts
    chosen = coded(rows.judge, judge) & coded(rows.condition, condition)
    seen = int(rows.run[chosen].max(initial=1))
    runs = max(table.runs.get((judge, condition), seen), seen)
    return vote(rows.episode[chosen], rows.verdict[chosen], episodes=len(table.episodes), runs=runs)


def coded(column: Factor, name: str) -> Flags:
    """Which entries have this name; none where it is in none."""
    if name not in column.names:
        return np.zeros(len(column.codes), dtype=np.bool_)
    found: Flags = column.codes == column.names.index(name)
    return found


def mapped(verdict: Codes8, policy: Policy) -> Codes8:
    """Voted verdicts with uncertain as the policy has it; `failure` leaves it, as it is not accepted.

    >>> mapped(np.array([SUCCESS, UNCERTAIN], dtype=np.int8), "drop").tolist()
    [1, -1]
    """
    if policy == "failure":
        return verdict
    return np.where(verdict == UNCERTAIN, SUCCESS if policy == "success" else MISSING, verdict).astype(
        np.int8
    )
