"""Coverage of intervals, and how often a gate passes at the limit, when episodes of a task are alike."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from pyrite.metrics.clusters import cluster_size, rate
from pyrite.metrics.gate import Answer, Bound, at_most, clustered_bound
from pyrite.metrics.intervals import t_quantile, upper_bound, wilson
from pyrite.metrics.resample import resampled_sums

pytestmark = pytest.mark.slow
Counts = NDArray[np.float64]
PER_TASK = 4
REPEATS = 6000
BOOTSTRAPS = 2500
PUBLISHED = {
    (40, 0.20, 0.5): (0.765, 0.945, 0.951, 0.951, 0.941),
    (40, 0.05, 0.5): (0.802, 0.910, 0.913, 0.970, 0.888),
    (15, 0.20, 0.5): (0.816, 0.924, 0.939, 0.976, 0.912),
    (15, 0.05, 0.5): (0.890, 0.964, 0.970, 0.974, 0.793),
    (100, 0.05, 0.5): (0.783, 0.938, 0.943, 0.953, 0.931),
    (40, 0.20, 0.05): (0.922, 0.948, 0.958, 0.958, 0.946),
}
"""(tasks, FPR, ICC) -> coverage of Wilson iid, on n_eff, df-adjusted, with fallback, and of the bootstrap."""


def draw(generator: np.random.Generator, tasks: int, p: float, icc: float, sizes: Counts) -> Counts:
    """Beta-binomial counts of one sample."""
    spread = (1 - icc) / icc
    return generator.binomial(
        sizes.astype(np.int64), generator.beta(p * spread, (1 - p) * spread, tasks)
    ).astype(np.float64)


def four_intervals(f: Counts, n: Counts) -> list[tuple[float, float]]:
    size, total = cluster_size(f, n), float(n.sum())
    found = rate(f, n, estimand="FPR", empty="no_negatives")
    assert found.iid is not None
    assert found.low is not None
    assert found.high is not None
    n_eff = total if size.rate in {0.0, 1.0} else size.n_eff
    adjusted = n_eff * (t_quantile(total - 1) / t_quantile(len(n) - 1)) ** 2
    return [
        (found.iid.low, found.iid.high),
        wilson(size.rate, n_eff)[:2],
        wilson(size.rate, adjusted)[:2],
        (found.low, found.high),
    ]


@pytest.mark.parametrize(("setting", "printed"), PUBLISHED.items(), ids=lambda x: "-".join(map(str, x)))
def test_coverage_of_five_intervals(
    setting: tuple[int, float, float],
    printed: tuple[float, ...],
    record_property: Callable[[str, object], None],
) -> None:
    tasks, p, icc = setting
    generator = np.random.default_rng(20260)
    n = np.full(tasks, float(PER_TASK))
    covered = np.zeros(4)
    for _ in range(REPEATS):
        covered += [low <= p <= high for low, high in four_intervals(draw(generator, tasks, p, icc, n), n)]
    boot = 0
    for seed in range(BOOTSTRAPS):
        f = draw(generator, tasks, p, icc, n)
        sums = resampled_sums(np.stack([f, n], axis=1), resamples=1000, seed=seed)
        low, high = np.quantile(sums[:, 0] / sums[:, 1], [0.025, 0.975])
        boot += bool(low <= p <= high)
    found = [*(covered / REPEATS), boot / BOOTSTRAPS]
    shown = " ".join(f"{one:.3f}" for one in found)
    record_property("figure", f"coverage at {setting}: {shown}, printed {' '.join(map(str, printed))}")
    assert found == pytest.approx(printed, abs=0.02)


def test_unequal_tasks_stay_near_the_level_with_the_fallback() -> None:
    generator = np.random.default_rng(7)
    for tasks, p, icc in ((40, 0.20, 0.5), (40, 0.05, 0.5), (15, 0.20, 0.5)):
        hits = 0
        for _ in range(3000):
            n = generator.integers(1, 9, tasks).astype(np.float64)
            low, high = four_intervals(draw(generator, tasks, p, icc, n), n)[3]
            hits += low <= p <= high
        assert 0.92 <= hits / 3000 <= 0.99


@pytest.mark.parametrize("icc", [0.3, 0.5, 0.8])
def test_a_judge_at_the_limit_seldom_passes_the_gate(
    icc: float, record_property: Callable[[str, object], None]
) -> None:
    generator = np.random.default_rng(11)
    limit, tasks = 0.05, 100
    n = np.full(tasks, float(PER_TASK))
    passed = naive = 0
    for _ in range(6000):
        f = draw(generator, tasks, limit, icc, n)
        passed += at_most(clustered_bound(f, n, empty="no_negatives"), limit) is Answer.PASS
        p = float(f.sum() / n.sum())
        alone = Bound(p, 0.0, upper_bound(p, float(n.sum())), tasks)
        naive += at_most(alone, limit) is Answer.PASS
    record_property(
        "figure",
        f"gate at its limit, ICC {icc}: passes {passed / 6000:.3f}, {naive / 6000:.3f} if tasks are ignored",
    )
    assert passed / 6000 <= 0.08
    assert naive > passed
