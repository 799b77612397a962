"""The cluster bootstrap against scipy's own on per-cluster counts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import bootstrap

from pyrite.metrics.resample import resampled_sums

N = np.array([4, 4, 4, 3, 4, 2, 4, 5], dtype=float)
B = np.array([4, 0, 3, 0, 0, 1, 0, 2], dtype=float)
C = np.array([0, 1, 0, 0, 0, 0, 0, 1], dtype=float)


def test_percentiles_agree_with_scipy() -> None:
    sums = resampled_sums(np.stack([B - C, N], axis=1), resamples=20_000, seed=1)
    ours = np.quantile(sums[:, 0] / sums[:, 1], [0.025, 0.975])
    theirs = bootstrap(
        (B - C, N),
        lambda d, n, axis: d.sum(axis) / n.sum(axis),
        paired=True,
        vectorized=True,
        method="percentile",
        n_resamples=20_000,
        rng=np.random.default_rng(2),
    ).confidence_interval
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.012)
    assert ours == pytest.approx((0, 0.5758), abs=0.012)  # the limit of all resamples


def test_a_cluster_drawn_twice_counts_twice() -> None:
    sums = resampled_sums(np.array([[1.0], [10.0]]), resamples=500)
    assert set(sums[:, 0]) == {2, 11, 20}


def test_many_clusters_go_through_in_batches() -> None:
    counts = np.random.default_rng(0).integers(0, 4, (50_000, 2)).astype(float)
    sums = resampled_sums(counts, resamples=100)
    assert sums.shape == (100, 2)
    assert sums.mean(axis=0) == pytest.approx(counts.sum(axis=0), rel=0.002)


def test_order_of_clusters_does_not_matter() -> None:
    counts = np.stack([B, N], axis=1)
    assert (resampled_sums(counts) == resampled_sums(counts[::-1])).all()
