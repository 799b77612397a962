"""The one typed table that every source becomes, and the only shape that figures are made from.

An `Episodes` side table holds what is known of each episode: truth, cluster, family, stratum, agent,
category, groups. `Verdicts` is long: one row an episode x judge x condition x run. Both are numpy
columns, so a million episodes with three judges take about 80 MB.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes8 = NDArray[np.int8]
Codes32 = NDArray[np.int32]
Flags = NDArray[np.bool_]

FAIL, PASS, INDETERMINATE, MISSING = 0, 1, 2, -1
"""Truth of an episode; MISSING where the source says nothing."""
FAILURE, SUCCESS, UNCERTAIN, PARSE_ERROR = 0, 1, 2, 3
"""Verdict of a judge; MISSING (-1) where there is none."""


@dataclass(frozen=True)
class Factor:
    """A column of names: `codes[i]` indexes `names`, -1 where nothing is known."""

    codes: Codes32
    names: tuple[str, ...]

    @classmethod
    def of(cls, values: list[str | None]) -> Factor:
        """Names are sorted, so equal columns give equal codes whatever the order of rows."""
        names = sorted({value for value in values if value is not None})
        index = {name: code for code, name in enumerate(names)}
        codes = np.array([-1 if v is None else index[v] for v in values], dtype=np.int32)
        return cls(codes, tuple(names))


@dataclass(frozen=True)
class Episodes:
    """One row an episode."""

    truth: Codes8
    cluster: Factor
    ids: tuple[str, ...] = ()
    """Empty where the source names none: then the row number is the name."""
    family: Factor | None = None
    stratum: Factor | None = None
    agent: Factor | None = None
    category: Factor | None = None
    cause: Factor | None = None
    """Why the truth is indeterminate."""
    groups: dict[str, Factor] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def scored(self) -> Flags:
        """Episodes whose truth is pass or fail."""
        known: Flags = (self.truth == PASS) | (self.truth == FAIL)
        return known


@dataclass(frozen=True)
class Verdicts:
    """One row an episode x judge x condition x run; all arrays have one length."""

    episode: Codes32
    """Row of `Episodes`."""
    judge: Factor
    condition: Factor
    run: Codes32
    verdict: Codes8
    score: NDArray[np.float64] | None = None
    """NaN where there is none; it never leaves the table."""
    confidence: NDArray[np.float64] | None = None
    """Of the judge in its own verdict, in [0, 1]; NaN where there is none."""

    def __len__(self) -> int:
        return len(self.episode)


@dataclass(frozen=True)
class Table:
    """Episodes, what judges said of them, and how many runs each judge was asked for."""

    episodes: Episodes
    verdicts: Verdicts
    runs: dict[tuple[str, str], int] = field(default_factory=dict)
    """(judge, condition) -> configured runs; the highest run seen where that is more or it is not here."""
    warnings: tuple[str, ...] = ()
    labels: dict[str, Any] = field(default_factory=dict)
    """`classified`: episode -> the category that people gave it; `conflicting`: episodes with a tie."""

    def asked(self) -> list[tuple[str, str]]:
        """The (judge, condition) pairs that have a verdict row, in order of name."""
        if not len(self.verdicts):
            return []
        width = len(self.verdicts.condition.names)
        pairs = np.unique(self.verdicts.judge.codes.astype(np.int64) * width + self.verdicts.condition.codes)
        judges, conditions = self.verdicts.judge.names, self.verdicts.condition.names
        return [(judges[pair // width], conditions[pair % width]) for pair in pairs]
