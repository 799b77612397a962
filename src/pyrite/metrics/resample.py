"""The cluster bootstrap on per-cluster counts: draw clusters with replacement, carry all they hold."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from pyrite.metrics.clusters import Counts

MAX_SKIPPED = 0.05
"""Share of replicates with an undefined statistic above which an interval is refused."""
_BATCH = 2_000_000
"""Draws held at once: 16 MB of indices."""


def resampled_sums(counts: Counts, *, resamples: int = 2000, seed: int = 0) -> Counts:
    """Column sums of `resamples` cluster bootstrap replicates: (K, C) counts -> (resamples, C) sums.

    Clusters are sorted by their counts first, so neither the order of rows nor the names of clusters
    change a replicate; a cluster that is drawn twice counts twice. The same counts give the same
    array again, read-only, so several statistics of one table cost one resampling.
    """
    ordered = counts[np.lexsort(counts.T[::-1])].astype(np.float64)
    return _drawn(ordered.tobytes(), *counts.shape, resamples, seed)


@lru_cache(maxsize=8)
def _drawn(data: bytes, clusters: int, columns: int, resamples: int, seed: int) -> Counts:
    ordered = np.frombuffer(data, dtype=np.float64).reshape(clusters, columns)
    generator = np.random.default_rng(seed)
    sums = np.empty((resamples, columns))
    step = max(1, _BATCH // clusters)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = generator.integers(0, clusters, size=(rows, clusters))
        drawn += np.arange(rows)[:, None] * clusters
        times = np.bincount(drawn.ravel(), minlength=rows * clusters).reshape(rows, clusters)
        sums[start : start + rows] = times @ ordered
    sums.setflags(write=False)
    return sums
