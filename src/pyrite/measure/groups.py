"""Figures broken down: every value of a column, then every combination of the columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np

from pyrite.errors import UsageError
from pyrite.measure.table import Factor, Flags

MAX_GROUPS = 1000


def group_blocks(
    columns: Mapping[str, Factor], rows: Flags, block: Callable[[Flags], Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """`block` of the chosen rows of each value of each column, then of each combination of all columns.

    Raises `UsageError` where that would be too many to read.
    """
    names = list(columns)
    choices = [(name,) for name in names] + list(combinations(names, len(names)) if len(names) > 1 else [])
    return [
        {"by": dict(zip(chosen, values, strict=True)), **block(inside)}
        for chosen in choices
        for values, inside in _cells([columns[name] for name in chosen], chosen, rows)
    ]


def _cells(
    factors: list[Factor], names: tuple[str, ...], rows: Flags
) -> Iterator[tuple[list[str | None], Flags]]:
    """(a value of each column, its rows); values in the order in which the columns hold them."""
    stacked = np.stack([factor.codes for factor in factors], axis=1)
    distinct, member = np.unique(stacked[rows], axis=0, return_inverse=True)
    if len(distinct) > MAX_GROUPS:
        raise UsageError(
            f"--group {','.join(names)} makes {len(distinct)} groups",
            expected=f"at most {MAX_GROUPS}: a column of few values, such as agent or benchmark",
        )
    places = np.flatnonzero(rows)
    for cell, codes in enumerate(distinct):
        values = [f.names[c] if c >= 0 else None for f, c in zip(factors, codes, strict=True)]
        inside: Flags = np.zeros(len(rows), dtype=np.bool_)
        inside[places[member.ravel() == cell]] = True
        yield values, inside
