"""The sign-flip test and the sizes around it, by simulation: what is promised, and what is not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from pyrite.metrics.compare import durkalski, mcnemar_exact, sign_flip
from pyrite.metrics.plan import paired_size

pytestmark = pytest.mark.slow
REPEATS = 2000
TASKS = 40
Array = NDArray[np.float64]


def discordant(generator: np.random.Generator, per_task: int) -> tuple[Array, Array]:
    """Two judges with one FPR; which of them a task favours is a matter of the task."""
    disagree = generator.binomial(per_task, 0.4, size=TASKS)
    first = generator.binomial(disagree, generator.beta(0.5, 0.5, size=TASKS))
    return first.astype(np.float64), (disagree - first).astype(np.float64)


@pytest.mark.parametrize(("per_task", "naive"), [(4, 0.08), (8, 0.13)])
def test_type_one_error_when_episodes_of_a_task_share_a_preference(per_task: int, naive: float) -> None:
    generator = np.random.default_rng(11)
    rejected = np.zeros(3)
    for _ in range(REPEATS):
        first, second = discordant(generator, per_task)
        d = first - second
        other = durkalski(d, np.full(TASKS, float(per_task))).p
        p = (
            sign_flip(d).p,
            other if other is not None else 1.0,
            mcnemar_exact(int(first.sum()), int(second.sum())),
        )
        rejected += np.array(p) <= 0.05
    flip, ratio, ignoring = rejected / REPEATS
    assert flip <= 0.05 + 2 * (0.05 * 0.95 / REPEATS) ** 0.5
    assert ratio <= 0.065
    assert ignoring > naive, "the test that ignores tasks finds what is not there"
    assert ignoring > 1.5 * flip


@pytest.mark.parametrize(("tasks", "rate"), [(10, 0.30), (40, 0.06), (100, 0.07)])
def test_equal_rates_with_skewed_tasks_are_not_its_null(tasks: int, rate: float) -> None:
    # each task +1 with probability 8/9, else -8: equal FPR, yet the judges are not exchangeable
    generator = np.random.default_rng(12)
    drawn = np.where(generator.random((REPEATS, tasks)) < 8 / 9, 1.0, -8.0)
    rejected = np.mean([sign_flip(d).p <= 0.05 for d in drawn])
    assert rejected == pytest.approx(rate, abs=0.03)


@pytest.mark.parametrize(("difference", "share"), [(0.05, 0.15), (0.10, 0.20)])
def test_the_planned_size_has_the_planned_power(difference: float, share: float) -> None:
    generator = np.random.default_rng(13)
    n = paired_size(difference, share)
    first, second = (share + difference) / 2, (share - difference) / 2
    cells = generator.multinomial(n, [first, second, 1 - share], size=REPEATS)
    power = np.mean([mcnemar_exact(int(a), int(b)) <= 0.05 for a, b, _ in cells])
    # the exact test is a little conservative; the formula is of the one without a correction
    assert 0.74 <= power <= 0.83
