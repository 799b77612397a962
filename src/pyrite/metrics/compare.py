"""Two judges on the same episodes: is one more generous, tested with tasks as the unit.

Only episodes of one truth go in (failed ones for the FPR, passed ones for the TPR) that both judges
decided. b counts episodes that only the first accepts, c those that only the second accepts; D = b - c
of each cluster. The sign-flip test of the D leads, because a test that takes the episodes of one task
for independent finds differences that are not there. Its null is that the two judges are exchangeable
within each task; how large a difference is stands in the interval. An interval that would exclude 0 where
the test does not reject it is widened by the test (`paired.agreeing`): the test decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyrite.metrics.clusters import Counts
from pyrite.metrics.intervals import special

EXACT_CLUSTERS = 20
"""Up to so many discordant clusters all sign patterns are enumerated where differences are not whole."""
EXACT_COST = 200_000_000
"""Additions that the exact law of whole differences may take; above, signs are drawn."""
DRAWS = 100_000
_TOLERANCE = 1e-9
_BATCH = 4_000_000


class SignFlip(NamedTuple):
    """Two-sided p of the sign-flip test, how it was made, and how many clusters speak."""

    p: float
    method: str
    discordant: int


class Chi2(NamedTuple):
    """A test statistic with its degrees of freedom and p; all None where it is 0/0."""

    statistic: float | None
    df: int
    p: float | None


@dataclass(frozen=True)
class Discordance:
    """How often two judges agree on the same episodes; four arrays with one entry a cluster."""

    both: Counts
    first: Counts
    second: Counts
    neither: Counts

    @property
    def n(self) -> Counts:
        """Episodes of each cluster."""
        return self.both + self.first + self.second + self.neither

    def totals(self) -> tuple[int, int, int, int]:
        """both, first only, second only, neither over all clusters."""
        cells = (self.both, self.first, self.second, self.neither)
        return tuple(round(float(cell.sum())) for cell in cells)  # type: ignore[return-value]


def discordance(
    first: NDArray[np.bool_], second: NDArray[np.bool_], cluster: NDArray[np.integer]
) -> Discordance:
    """Count the four cells of each cluster from what two judges accept; `cluster` holds codes from 0."""
    size = int(cluster.max()) + 1 if len(cluster) else 0

    def count(chosen: NDArray[np.bool_]) -> Counts:
        return np.bincount(cluster[chosen], minlength=size).astype(np.float64)

    return Discordance(
        both=count(first & second),
        first=count(first & ~second),
        second=count(~first & second),
        neither=count(~first & ~second),
    )


def sign_flip(differences: Counts, *, draws: int = DRAWS, seed: int = 0) -> SignFlip:
    """Sign-flip permutation test of the sum of the differences; one entry a cluster.

    p is the share of the 2^m patterns of signs of the m differences that are not 0 whose sum is at
    least as far from 0 as the sum seen. Whole differences (episode-weighted) have it exactly for any m,
    by convolving the m two-point laws (Monte Carlo only where that would take more than
    `EXACT_COST` additions). Others (D / n, task-weighted) have it exactly up to 20 clusters; above,
    (1 + hits) / (1 + draws). With one episode a cluster it is the exact McNemar test. No difference: p = 1.

    >>> import numpy as np
    >>> sign_flip(np.array([4.0, -1, 3, 0, 0, 1, 0, 1]))
    SignFlip(p=0.25, method='exact', discordant=5)
    """
    size = np.sort(np.abs(differences[differences != 0]))
    m, seen = len(size), abs(float(differences.sum()))
    if m == 0 or seen <= _TOLERANCE * float(size.sum()):
        return SignFlip(1.0, "exact", m)
    whole = bool((size == np.rint(size)).all())
    if whole and m * (float(size.sum()) - seen) / 2 <= EXACT_COST:
        return SignFlip(_whole(size.astype(np.int64), round(seen)), "exact", m)
    if m <= EXACT_CLUSTERS:
        return SignFlip(_enumerated(size, seen), "exact", m)
    return SignFlip(_drawn(size, seen, draws, seed), f"Monte Carlo, {draws} draws", m)


def sign_flip_limits(differences: Counts, *, level: float) -> tuple[float, float] | None:
    """The sums of whole differences that the sign-flip test does not reject, one entry a cluster.

    The test is turned round: a cluster that moved keeps its size and moves up with a chance q, and the
    limits are the sums at the q at which the sum seen, or one further off, has a chance of half of
    1 - `level`. At q = 1/2 that is the sign-flip test, so 0 lies inside exactly where its p is above
    1 - `level`. With one episode a cluster these are Clopper-Pearson limits of the discordant ones. None
    where a difference is not whole, or where there are too many to lay out.

    >>> import numpy as np
    >>> [round(end, 3) for end in sign_flip_limits(np.ones(4), level=0.95)]
    [-0.819, 4.0]
    """
    size = np.abs(differences[differences != 0])
    total = float(size.sum())
    if not (size == np.rint(size)).all() or len(size) * (total + 1) * 2 * _HALVINGS > EXACT_COST:
        return None
    whole, seen = np.sort(size).astype(np.int64), round(float(differences.sum()))
    tail = (1 - level) / 2
    up = _chance(whole, seen, tail)
    down = _chance(whole, -seen, tail)
    return (2 * up - 1) * total, (1 - 2 * down) * total


_HALVINGS = 50


def _chance(size: NDArray[np.int64], seen: int, tail: float) -> float:
    """The q at which P(sum >= seen) is `tail`: that chance grows with q."""
    low, high = 0.0, 1.0
    if seen <= -int(size.sum()):  # every sum is as large
        return 0.0
    need = (int(size.sum()) + seen) // 2
    for _ in range(_HALVINGS):
        q = (low + high) / 2
        law = np.zeros(int(size.sum()) + 1)
        law[0] = 1.0
        for d in size.tolist():
            law[d:] = (1 - q) * law[d:] + q * law[:-d]
            law[:d] *= 1 - q
        low, high = (q, high) if float(law[need:].sum()) < tail else (low, q)
    return (low + high) / 2


def mcnemar_exact(first: int, second: int) -> float:
    """Exact McNemar test of the discordant counts, episodes taken for independent. For reference only.

    >>> round(mcnemar_exact(10, 2), 6), mcnemar_exact(5, 0), mcnemar_exact(0, 0)
    (0.038574, 0.0625, 1.0)
    """
    return min(1.0, 2 * _half_binomial(min(first, second), first + second))


def mcnemar_mid(first: int, second: int) -> float:
    """Mid-p McNemar test: 2 P(X <= min) - P(X = min), which is 1 where both counts are equal.

    >>> round(mcnemar_mid(10, 2), 6), mcnemar_mid(5, 5)
    (0.022461, 1.0)
    """
    n, low = first + second, min(first, second)
    if first == second:
        return 1.0
    below = _half_binomial(low - 1, n) if low else 0.0
    return min(1.0, _half_binomial(low, n) + below)


def obuchowski(differences: Counts) -> Chi2:
    """Obuchowski 1998: (K - 1) / K (sum D)^2 / sum D^2 on 1 df; one entry a cluster that has episodes.

    >>> import numpy as np
    >>> round(obuchowski(np.array([4.0, -1, 3, 0, 0, 1, 0, 1])).statistic, 3)
    2.0
    """
    clusters = len(differences)
    if clusters < 2:
        return Chi2(None, 1, None)
    shrink = (clusters - 1) / clusters
    return _chi2(shrink * float(differences.sum()) ** 2, float(np.square(differences).sum()))


def durkalski(differences: Counts, totals: Counts) -> Chi2:
    """Durkalski et al. 2003: (sum D / n)^2 / sum (D / n)^2 on 1 df, n the episodes of each cluster."""
    kept = totals > 0
    share = differences[kept] / totals[kept]
    return _chi2(float(share.sum()) ** 2, float(np.square(share).sum()))


def yang(differences: Counts, totals: Counts) -> Chi2:
    """Yang et al. 2010, modified Obuchowski, on 1 df.

    (K - 1) / K (sum D)^2 / (1/2 sum[(D - n dbar)^2 + D^2]) with dbar = sum D / N.
    """
    kept = totals > 0
    d, n = differences[kept], totals[kept]
    if len(d) < 2:
        return Chi2(None, 1, None)
    mean = float(d.sum()) / float(n.sum())
    spread = 0.5 * float((np.square(d - n * mean) + np.square(d)).sum())
    return _chi2((len(d) - 1) / len(d) * float(d.sum()) ** 2, spread)


def cochrans_q(accepted: NDArray[np.bool_]) -> Chi2:
    """Cochran's Q of k judges on the same n episodes, an (n, k) array; episodes taken for independent.

    Q = (k - 1) (k sum C^2 - T^2) / (k T - sum R^2), C the column, R the row sums, T their total. None
    where no episode divides the judges.
    """
    judges = accepted.shape[1]
    columns, rows = accepted.sum(axis=0, dtype=np.float64), accepted.sum(axis=1, dtype=np.float64)
    total = float(rows.sum())
    below = judges * total - float(np.square(rows).sum())
    if judges < 2 or below <= 0:
        return Chi2(None, max(0, judges - 1), None)
    q = (judges - 1) * (judges * float(np.square(columns).sum()) - total**2) / below
    return Chi2(q, judges - 1, float(special().chdtrc(judges - 1, max(0.0, q))))


def holm(p: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down p-values of a family declared before looking.

    A None was not testable: it stays None and is not counted in the family.

    >>> [round(x, 3) for x in holm([0.001, 0.010, 0.015, 0.020, 0.040, 0.300])]
    [0.006, 0.05, 0.06, 0.06, 0.08, 0.3]
    """
    tested = sorted((value, at) for at, value in enumerate(p) if value is not None)
    adjusted: list[float | None] = [None] * len(p)
    reached = 0.0
    for rank, (value, at) in enumerate(tested):
        if not 0 <= value <= 1:
            raise ValueError(f"a p-value in [0, 1] is needed, not {value}")
        reached = max(reached, min(1.0, (len(tested) - rank) * value))
        adjusted[at] = reached
    return adjusted


def smallest_p(discordant: int) -> float:
    """The smallest two-sided p that so many discordant clusters can reach: 2 / 2^m, at most 1."""
    return min(1.0, 2.0 ** (1 - discordant))


def _whole(size: NDArray[np.int64], seen: int) -> float:
    """2 P(sum of d x coin <= (S - T) / 2): both tails are alike, and only this one is laid out."""
    end = (int(size.sum()) - seen) // 2
    law = np.zeros(end + 1)
    law[0] = 1.0
    reach = 0
    for d in size.tolist():
        reach = min(end, reach + d)
        if d <= end:
            law[d : reach + 1] += law[: reach + 1 - d].copy()
        law[: reach + 1] *= 0.5
    return min(1.0, max(2 * float(law.sum()), float(np.finfo(np.float64).tiny)))


def _enumerated(size: Counts, seen: float) -> float:
    sums = np.zeros(1)
    for d in size:
        sums = np.concatenate([sums + d, sums - d])
    return float((np.abs(sums) >= seen * (1 - _TOLERANCE)).mean())


def _drawn(size: Counts, seen: float, draws: int, seed: int) -> float:
    generator = np.random.default_rng(seed)
    step, hits = max(1, _BATCH // len(size)), 0
    for start in range(0, draws, step):
        rows = min(step, draws - start)
        signs = generator.integers(0, 2, size=(rows, len(size)), dtype=np.int8)
        sums = 2 * (signs @ size) - size.sum()
        hits += int((np.abs(sums) >= seen * (1 - _TOLERANCE)).sum())
    return (1 + hits) / (1 + draws)


def _chi2(above: float, below: float) -> Chi2:
    if below <= 0:
        return Chi2(None, 1, None)
    return Chi2(above / below, 1, float(special().chdtrc(1, above / below)))


def _half_binomial(k: int, n: int) -> float:
    """P(X <= k) of n fair coins."""
    return 1.0 if n == 0 else float(special().bdtr(k, n, 0.5))
