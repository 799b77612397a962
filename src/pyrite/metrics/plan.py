"""How many episodes and tasks a question needs, and what difference a set of episodes can show.

All sizes count episodes of one truth: failed ones for an FPR, passed ones for a TPR. With m of them a
task, a size for independent episodes is multiplied by 1 + (m - 1) ICC, and rounded up after that.
"""

from __future__ import annotations

import math

import numpy as np

from pyrite.metrics.clusters import FEW, Counts
from pyrite.metrics.gate import within
from pyrite.metrics.intervals import LEVEL, normal_quantile, special, upper_bound, wilson

POWER = 0.8
MAX_SIZE = 10_000_000
"""Above so many episodes a question is answered with None: it cannot be asked in practice."""
MOST_TASKS = 20_000
"""Above so many tasks a gate is not planned."""
SIMULATED = 1000
"""Sets of episodes by which the power of a gate is told, where tasks are no more than that."""
MIN_CLUSTERS = 6
"""With fewer clusters no two-sided sign-flip p can be below 0.05."""


def design_effect(per_task: float, icc: float) -> float:
    """What clustering multiplies a size by: 1 + (m - 1) ICC, at least 1.

    `per_task` counts the episodes of one truth a task gives (a mean, so it may be below 1); `icc` is
    their intraclass correlation, of the verdicts for one rate and of the differences for two judges.

    >>> round(design_effect(4, 0.3), 1)
    1.9
    """
    if not (per_task > 0 and 0 <= icc <= 1):
        raise ValueError(f"episodes above 0 and an ICC in [0, 1] are needed, not {per_task} and {icc}")
    return max(1.0, 1 + (per_task - 1) * icc)


def anova_icc(sums: Counts, squares: Counts, totals: Counts) -> float | None:
    """One-way ANOVA intraclass correlation from each cluster's sum, sum of squares and size.

    For 0/1 values the squares are the sums. (MSB - MSW) / (MSB + (n0 - 1) MSW) with
    n0 = (N - sum n^2 / N) / (K - 1); below 0 where episodes of a task are less alike than those of
    different ones. None with fewer than two clusters, no repeats within any, or no variation at all.

    >>> import numpy as np
    >>> n = np.array([4.0, 4, 4, 3, 4, 2, 4, 5]); f = np.array([4.0, 0, 4, 0, 1, 1, 0, 2])
    >>> round(anova_icc(f, f, n), 3)
    0.578
    """
    kept = totals > 0
    s, q, n = (x[kept].astype(np.float64) for x in (sums, squares, totals))
    clusters, total = len(n), float(n.sum())
    if clusters < 2 or total <= clusters:
        return None
    mean = float(s.sum()) / total
    between = float((n * np.square(s / n - mean)).sum()) / (clusters - 1)
    within = max(0.0, float((q - np.square(s) / n).sum())) / (total - clusters)
    common = (total - float(np.square(n).sum()) / total) / (clusters - 1)
    below = between + (common - 1) * within
    return (between - within) / below if below > 0 else None


def paired_size(
    difference: float,
    discordant: float,
    *,
    deff: float = 1.0,
    power: float = POWER,
    level: float = LEVEL,
) -> int:
    """Episodes for which two judges on the same episodes are told apart by a McNemar test.

    n = (z_a sqrt(pd) + z_b sqrt(pd - d^2))^2 / d^2 (Connor 1987) times the design effect of the
    differences, rounded up after the product. `discordant` is the share on which they disagree; it
    cannot be below the difference.

    >>> paired_size(0.05, 0.15), paired_size(0.05, 0.15, deff=1.9)
    (469, 891)
    """
    _share("difference", difference)
    if not difference <= discordant <= 1:
        raise ValueError(f"two judges that differ by {difference} disagree on at least that share")
    return _up(_paired(difference, discordant, power, level) * deff)


def independent_size(
    one: float, two: float, *, deff: float = 1.0, power: float = POWER, level: float = LEVEL
) -> int:
    """Episodes of each judge where the two are asked about different episodes (Fleiss 1981).

    >>> independent_size(0.20, 0.15)
    906
    """
    _share("rate", one)
    _share("rate", two)
    if one == two:
        raise ValueError("two equal rates are never told apart")
    mean = (one + two) / 2
    root = normal_quantile(level) * math.sqrt(2 * mean * (1 - mean))
    root += _z(power) * math.sqrt(one * (1 - one) + two * (1 - two))
    return _up(root**2 / (one - two) ** 2 * deff)


def detectable_difference(
    discordant: float, size: float, *, power: float = POWER, level: float = LEVEL
) -> float | None:
    """The smallest difference that `size` episodes show with the given power: `paired_size` solved for d.

    `size` is effective: episodes over the design effect of the differences. Where d would exceed the
    share of disagreement seen, a disagreement of d itself is assumed (nothing seen is not nothing
    there). None where not even a difference of 1 is shown.

    >>> round(detectable_difference(0.15, 150), 3), round(detectable_difference(0.15, 150 / 1.9), 3)
    (0.088, 0.12)
    """
    if size <= 0 or _paired(1.0, 1.0, power, level) > size:
        return None
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if _paired(middle, max(discordant, middle), power, level) > size:
            low = middle
        else:
            high = middle
    return high


def precision_size(rate: float, half_width: float, *, deff: float = 1.0, level: float = LEVEL) -> int:
    """Episodes for which the interval of one rate has this half-width: z^2 p (1 - p) / h^2.

    >>> precision_size(0.2, 0.05)
    246
    """
    _share("rate", rate)
    _share("half-width", half_width)
    return _up(normal_quantile(level) ** 2 * rate * (1 - rate) / half_width**2 * deff)


def precision_tasks(
    rate: float, half_width: float, per_task: float, *, icc: float, level: float = LEVEL
) -> int:
    """Tasks with failures for which the clustered Wilson interval of a rate is expected to be so narrow.

    At `per_task` failed episodes (at least 1) a task. Where fewer than five tasks are expected to have an
    event, the interval counts tasks instead of episodes, as `clusters.cluster_size` does.

    >>> precision_tasks(0.2, 0.05, 1.0, icc=0.0), precision_tasks(0.02, 0.05, 4.0, icc=0.3)
    (245, 52)
    """
    _share("rate", rate)
    _share("half-width", half_width)
    each = max(1.0, per_task)
    deff = design_effect(each, icc)

    def narrow(tasks: int) -> bool:
        free = tasks * each / deff
        few = rate * free < FEW or (1 - rate) * free < FEW
        found = wilson(rate, min(free, tasks) if few else free, level=level)
        return (found.high - found.low) / 2 <= half_width

    low, high = 1, 2
    while not narrow(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if narrow(middle) else (middle, high)
    return high


def gate_size(
    limit: float, rate: float, *, deff: float = 1.0, power: float = POWER, confidence: float = LEVEL
) -> int | None:
    """Episodes for which a judge of this true rate passes `upper bound <= limit` with the given power.

    The bound is the one-sided Clopper-Pearson one. With rate 0 this is the size that no false accept
    at all needs. None where the rate is not below the limit, or so near that it takes more than
    `MAX_SIZE` episodes.

    >>> gate_size(0.05, 0.0), gate_size(0.05, 0.05)
    (59, None)
    """
    _share("limit", limit)
    if rate >= limit:
        return None
    events, size = 0, 1
    while size <= MAX_SIZE:
        size = _first_size(events, size, limit, confidence)
        if float(special().bdtr(events, size, rate)) >= power:
            return _up(size * deff)
        events += max(1, events // 200)
    return None


def gate_tasks(
    limit: float,
    rate: float,
    sizes: Counts,
    *,
    icc: float,
    power: float = POWER,
    confidence: float = LEVEL,
    seed: int = 0,
) -> int | None:
    """Tasks with failures for which a judge of this true rate passes the gate with the given power.

    `sizes` holds the failed episodes of some tasks; more tasks are taken to be like them. With rate 0
    nothing is accepted, and the gate counts tasks whatever the ICC. Else by simulation of the gate's own
    clustered bound: the rates of tasks are beta distributed around `rate` with the intraclass correlation
    `icc` (1,000 sets of episodes drawn by `seed`, of over 1,000 tasks fewer: the power is known to about
    .013). None where the rate is not below the limit, or so near that it takes more than `MOST_TASKS`.

    >>> gate_tasks(0.05, 0.0, np.array([4.0]), icc=0.3)
    59
    """
    _share("limit", limit)
    _share("power", power)
    if rate >= limit:
        return None

    def enough(tasks: int) -> bool:
        totals = np.resize(sizes, tasks).astype(np.float64)
        if rate == 0:
            return bool(within(np.zeros((1, tasks)), totals, limit, confidence=confidence)[0])
        return _gate_power(limit, rate, totals, icc, confidence, seed) >= power

    free = gate_size(limit, rate, power=power, confidence=confidence)
    if free is None:
        return None
    low, high = 1, max(2, math.ceil(free / float(sizes.mean()) / 2))
    while not enough(high):
        low, high = high, math.ceil(high * 1.4)
        if high > MOST_TASKS:
            return None
    while high - low > max(1, high // 50 if rate else 1):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _gate_power(limit: float, rate: float, totals: Counts, icc: float, confidence: float, seed: int) -> float:
    """How often a gate passes on tasks of these sizes."""
    generator = np.random.default_rng(seed)
    drawn = max(100, min(SIMULATED, SIMULATED * SIMULATED // len(totals)))
    shape = (drawn, len(totals))
    if icc <= 0:
        rates = np.full(shape, rate)
    elif icc >= 1:
        rates = (generator.random(shape) < rate).astype(np.float64)
    else:
        spread = (1 - icc) / icc
        rates = generator.beta(rate * spread, (1 - rate) * spread, shape)
    events = generator.binomial(totals.astype(np.int64), rates).astype(np.float64)
    return float(within(events, totals, limit, confidence=confidence).mean())


def tasks_needed(size: int, per_task: float) -> int:
    """Tasks that give `size` episodes of one truth, at `per_task` of them each."""
    return _up(size / per_task)


def _first_size(events: int, start: int, limit: float, confidence: float) -> int:
    """The smallest n from `start` on for which so many events have an upper bound within the limit."""

    def fits(n: int) -> bool:
        return n > events and upper_bound(events / n, n, confidence=confidence) <= limit

    low, high = start, max(start, events + 1)
    while not fits(high):
        low, high = high, high * 2
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle + 1, high)
    return high


def _paired(difference: float, discordant: float, power: float, level: float) -> float:
    root = normal_quantile(level) * math.sqrt(discordant)
    root += _z(power) * math.sqrt(max(0.0, discordant - difference**2))
    return root**2 / difference**2


def _z(power: float) -> float:
    _share("power", power)
    return float(special().ndtri(power))


def _up(size: float) -> int:
    """Rounded up, but not for the last bit of a product: 59 * 1.0000000000000002 is 59."""
    return math.ceil(size - 1e-9 * max(1.0, size))


def _share(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise ValueError(f"a {name} between 0 and 1 is needed, not {value}")
