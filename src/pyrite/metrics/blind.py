"""Could a judge that looks at nothing have told passed from failed this well: a permutation test by task.

The null: what it says of an episode has nothing to do with whether that passed. It may still say yes to
one task more readily than to another; so the verdicts of a task move together, to another task with as
many episodes, and change places within the task. Exact for any numbers of passed and failed, and at
acceptance rates of 0 and 1, where it finds nothing by itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

DRAWS, LEAST = 9_999, 999
"""Permutations; fewer, down to LEAST, where tasks are so many that they would take more than COST numbers."""
COST = 5_000_000
_BATCH = 2_000_000
"""Numbers drawn at once."""
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Blind(NamedTuple):
    """Two-sided p of the null, which side the judge errs to, and how p was made."""

    p: float
    ahead: bool
    """It accepts more of what passed than the permutations do."""
    method: str


def blind(accepted: Flags, passed: Flags, cluster: NDArray[np.integer], *, seed: int = 0) -> Blind | None:
    """The test of one entry an episode; `cluster` holds codes of its task from 0.

    p is twice the smaller tail, (1 + hits) / (1 + draws) each (Phipson and Smyth 2010). None where all
    or none passed, and where nothing can change places: no two tasks of a size, each with one outcome.

    >>> passed = np.repeat([True, False], [21, 5])
    >>> blind(np.ones(26, dtype=bool), passed, np.arange(26)).p
    1.0
    >>> blind(passed, passed, np.arange(26)).p < 0.001
    True
    >>> blind(*np.array([[1, 0, 0, 1, 1, 1]] * 2, dtype=bool), np.array([0, 1, 1, 2, 2, 2])) is None
    True
    """
    if not passed.any() or passed.all():
        return None
    said, truth, size = (
        np.bincount(cluster[chosen], minlength=int(cluster.max()) + 1)
        for chosen in (accepted, passed, np.ones(len(cluster), dtype=np.bool_))
    )
    order = np.lexsort((said, truth, size))  # neither rows nor names of tasks change a draw
    order = order[size[order] > 0]
    said, truth, size = said[order], truth[order], size[order]
    seen = int((accepted & passed).sum())
    draws = min(DRAWS, max(LEAST, COST // len(size)))
    generator = np.random.default_rng(seed)
    step, above, below, total = max(1, _BATCH // len(size)), 0, 0, 0.0
    for start in range(0, draws, step):
        hits = _permuted(generator, said, truth, size, min(step, draws - start))
        above += int((hits >= seen).sum())
        below += int((hits <= seen).sum())
        total += float(hits.sum())
    if above == below == draws and 0 < int(said.sum()) < len(cluster):
        return None
    tail = (1 + min(above, below)) / (1 + draws)
    method = f"permutation of tasks of one size and of episodes within a task, {draws:,} draws"
    return Blind(min(1.0, 2 * tail), seen > total / draws, method)


def _permuted(generator: np.random.Generator, said: Whole, truth: Whole, size: Whole, rows: int) -> Whole:
    """Accepted and passed episodes of each permutation, over all tasks."""
    hits = np.zeros(rows, dtype=np.int64)
    for m in np.unique(size).tolist():
        alike = size == m
        moved, fixed = said[alike], truth[alike]
        if m == 1:  # whole tasks alone: one draw for all of them
            hits += generator.hypergeometric(
                int(fixed.sum()), int(len(fixed) - fixed.sum()), int(moved.sum()), rows
            )
            continue
        drawn = generator.permuted(np.broadcast_to(moved, (rows, len(moved))), axis=1)
        hits += generator.hypergeometric(fixed, m - fixed, drawn).sum(axis=1)
    return hits
