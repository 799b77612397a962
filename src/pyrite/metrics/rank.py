"""Does a judge order agents as truth does? Rates by group, ranks, and the share of pairs kept in order.

All groups are measured on the same episodes for judge and truth. Ranks are descriptive: that two agents
change places says little where their rates are close, so each pair comes with the share of task
resamples in which judge and truth agree on its order.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrite.metrics.intervals import LEVEL
from pyrite.metrics.resample import MAX_SKIPPED, resampled_sums
from pyrite.records import Estimate

Codes = NDArray[np.integer]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
TIE = 1e-12
MAX_GROUPS = 200
"""Groups above which pairs are not listed: there are thousands of them."""


@dataclass(frozen=True)
class Pair:
    """Two groups, the first by name first."""

    first: int
    second: int
    true_difference: float
    """True rate of the first minus that of the second."""
    judged_difference: float
    same_order: bool | None
    """None where truth or judge has them level."""
    probability: float | None
    """Share of task resamples in which judge and truth order the two alike; a tie counts a half."""


@dataclass(frozen=True)
class Ranking:
    """Rates, ranks and pairs of G groups; arrays have one entry a group."""

    n: NDArray[np.int64]
    true: Floats
    judged: Floats
    true_rank: Floats
    """1 is the best; groups that are level share the mean of their ranks."""
    judged_rank: Floats
    pairs: tuple[Pair, ...]
    concordance: Estimate
    """Share of pairs in the same order, ties a half, with an interval by resampling tasks."""
    tau_b: float | None
    """Kendall's tau-b of true and judged rates; None where either has all groups level."""


def ranks(values: Floats) -> Floats:
    """Rank of each value, 1 for the highest, ties share the mean rank.

    >>> ranks(np.array([0.3, 0.5, 0.3, 0.1])).tolist()
    [2.5, 1.0, 2.5, 4.0]
    """
    above = (values[None, :] > values[:, None] + TIE).sum(axis=1)
    level = (np.abs(values[None, :] - values[:, None]) <= TIE).sum(axis=1)
    found: Floats = above + (level + 1) / 2
    return found


def kendall_tau_b(x: Floats, y: Floats) -> float | None:
    """(concordant - discordant) / sqrt((pairs - ties in x) (pairs - ties in y)); None if either is constant.

    Source: Kendall 1945, Biometrika 33:239.

    >>> round(kendall_tau_b(np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4])), 4)
    0.6667
    """
    upper = np.triu_indices(len(x), 1)
    first, second = _sign(x[:, None] - x[None, :])[upper], _sign(y[:, None] - y[None, :])[upper]
    informative = float((first != 0).sum()) * float((second != 0).sum())
    return float((first * second).sum()) / informative**0.5 if informative else None


def ranking(
    passed: Flags,
    accepted: Flags,
    cluster: Codes,
    group: Codes,
    *,
    level: float = LEVEL,
    resamples: int = 2000,
    seed: int = 0,
) -> Ranking:
    """True and judged success rate of each group and how far their order agrees; one entry an episode.

    `group` holds codes from 0, each of which occurs; clusters are resampled with all that they hold, so
    agents on the same tasks stay together. The concordance is None for fewer than two groups
    ("one_group"); its interval is refused for a single cluster, or where more than 5 % of resamples
    lose a group.

    >>> t = np.array([1, 1, 0, 1, 0, 0]) == 1; j = np.array([1, 1, 0, 0, 0, 0]) == 1
    >>> found = ranking(t, j, np.array([0, 1, 2, 0, 1, 2]), np.array([0, 0, 0, 1, 1, 1]), resamples=200)
    >>> found.true_rank.tolist(), found.judged_rank.tolist(), found.concordance.value
    ([1.0, 2.0], [1.0, 2.0], 1.0)
    """
    groups = int(group.max()) + 1 if len(group) else 0
    counts = _counts(passed, accepted, cluster, group, groups)
    true, judged = _rates(counts.sum(axis=0)[None, :], groups)
    true, judged = true[0], judged[0]
    one, two = np.array(list(combinations(range(groups), 2)), dtype=np.int64).reshape(-1, 2).T
    kept, pair_shares, defined = _resampled(counts, groups, one, two, resamples, seed)
    pairs = []
    for at, (i, j) in enumerate(zip(one.tolist(), two.tolist(), strict=True)):
        signs = (_sign(true[i] - true[j]), _sign(judged[i] - judged[j]))
        pairs.append(
            Pair(
                i,
                j,
                float(true[i] - true[j]),
                float(judged[i] - judged[j]),
                None if 0 in signs else bool(signs[0] == signs[1]),
                None if pair_shares is None else float(pair_shares[at]),
            )
        )
    return Ranking(
        n=np.bincount(group, minlength=groups),
        true=true,
        judged=judged,
        true_rank=ranks(true),
        judged_rank=ranks(judged),
        pairs=tuple(pairs),
        concordance=_concordance(pairs, kept, defined, len(counts), len(passed), level, resamples),
        tau_b=kendall_tau_b(true, judged) if groups > 1 else None,
    )


def _counts(passed: Flags, accepted: Flags, cluster: Codes, group: Codes, groups: int) -> Floats:
    """Episodes, passes and accepts of each group in each cluster: (K, 3 G)."""
    clusters = int(cluster.max()) + 1 if len(cluster) else 0
    flat = cluster.astype(np.int64) * groups + group
    size = clusters * groups
    parts = [np.bincount(flat[rows], minlength=size) for rows in (slice(None), passed, accepted)]
    return np.concatenate([one.reshape(clusters, groups) for one in parts], axis=1).astype(np.float64)


def _rates(sums: Floats, groups: int) -> tuple[Floats, Floats]:
    with np.errstate(invalid="ignore", divide="ignore"):
        n, passes, accepts = (sums[:, i * groups : (i + 1) * groups] for i in range(3))
        return passes / n, accepts / n


def _resampled(
    counts: Floats, groups: int, one: NDArray[np.int64], two: NDArray[np.int64], resamples: int, seed: int
) -> tuple[Floats | None, Floats | None, int]:
    """Share of pairs in order in each defined resample, share of resamples for each pair, how many."""
    if groups < 2 or len(counts) < 2:
        return None, None, 0
    true, judged = _rates(resampled_sums(counts, resamples=resamples, seed=seed), groups)
    whole = np.isfinite(true).all(axis=1)
    if int(whole.sum()) < (1 - MAX_SKIPPED) * resamples:
        return None, None, int(whole.sum())
    true, judged = true[whole], judged[whole]
    per_resample, per_pair = np.zeros(len(true)), np.empty(len(one))
    for at, (i, j) in enumerate(zip(one, two, strict=True)):
        agree = (1 + _sign(true[:, i] - true[:, j]) * _sign(judged[:, i] - judged[:, j])) / 2
        per_pair[at] = agree.mean()
        per_resample += agree
    return per_resample / len(one), per_pair, len(true)


def _concordance(
    pairs: list[Pair], kept: Floats | None, defined: int, clusters: int, n: int, level: float, resamples: int
) -> Estimate:
    estimand = "share of pairs that judge and truth order alike, ties a half"
    if not pairs:
        return Estimate(value=None, level=level, n=n, estimand=estimand, reason="one_group")
    value = float(np.mean([0.5 if one.same_order is None else float(one.same_order) for one in pairs]))
    common = {"value": value, "level": level, "n": n, "clusters": clusters, "estimand": estimand}
    if kept is None:
        return Estimate(**common, reason="single_cluster" if clusters < 2 else "unstable_resamples")
    tail = (1 - level) / 2
    low, high = (float(x) for x in np.quantile(kept, [tail, 1 - tail]))
    method = f"cluster bootstrap by task, percentile, {resamples} resamples"
    skipped = f", {resamples - defined} skipped" if defined < resamples else ""
    return Estimate(**common, low=min(low, value), high=max(high, value), method=method + skipped)


def _sign(differences: Floats | np.floating[Any] | float) -> Any:
    """-1, 0 or 1; differences of rounding are ties."""
    return np.where(np.abs(differences) <= TIE, 0, np.sign(differences)).astype(np.int64)
