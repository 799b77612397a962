"""Judges that look at nothing are not said to tell passed from failed; judges that look are."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaincinv, ndtri
from scipy.stats import binom, hypergeom

from pyrite.metrics.blind import DRAWS, blind
from pyrite.metrics.claims import signal
from pyrite.metrics.compare import holm

SIZES = ((5, 21, 2), (10, 4, 2), (20, 20, 4), (12, 60, 3))
"""Failed, passed, episodes of a task."""
CONDITIONS = 3


@pytest.mark.parametrize(("failed", "passed", "each"), SIZES)
@pytest.mark.parametrize("says", [True, False])
def test_a_judge_that_says_one_thing_finds_nothing(failed: int, passed: int, each: int, says: bool) -> None:
    truth = np.repeat([True, False], [passed, failed])
    cluster = np.arange(len(truth)) // each
    found = blind(np.full(len(truth), says), truth, cluster)
    assert found is not None
    assert (found.p, found.ahead) == (1.0, False)
    shown = signal(np.full(len(truth), says), truth, cluster, p=found.p).d_prime
    assert shown.value == 0
    assert shown.low is not None
    assert shown.high is not None
    assert shown.low < -1 < 1 < shown.high, "rates of 0 and 1 say little about d'"


@pytest.mark.parametrize(("failed", "passed", "each"), SIZES)
def test_a_judge_that_is_right_is_found(failed: int, passed: int, each: int) -> None:
    truth = np.random.default_rng(0).permutation(np.repeat([True, False], [passed, failed]))
    cluster = np.arange(len(truth)) // each
    right, wrong = blind(truth, truth, cluster), blind(~truth, truth, cluster)
    assert right is not None
    assert wrong is not None
    assert right.p < 0.05 / CONDITIONS
    assert right.ahead
    assert wrong.p < 0.05 / CONDITIONS
    assert not wrong.ahead


def test_with_one_episode_a_task_it_is_fishers_test() -> None:
    truth = np.repeat([True, False], [21, 9])
    accepted = np.concatenate([np.arange(21) < 15, np.arange(9) < 3])
    found = blind(accepted, truth, np.arange(30))
    law = hypergeom(30, 18, 21)
    assert found is not None
    assert found.p == pytest.approx(2 * min(law.sf(14), law.cdf(15)), abs=4 / np.sqrt(DRAWS))


def test_tasks_move_whole_and_episodes_within_them() -> None:
    """Against all permutations of four tasks, three of two episodes and one of three."""
    truth = [[1, 1], [1, 0], [0, 0], [1, 0, 0]]
    said = [[1, 1], [1, 0], [0, 0], [1, 1, 0]]
    hits = []
    for order in permutations(range(3)):
        tasks = [said[k] for k in order] + [said[3]]
        for inner in product(*(list(permutations(task)) for task in tasks)):
            hits.append(
                sum(
                    a * b
                    for one, other in zip(inner, truth, strict=True)
                    for a, b in zip(one, other, strict=True)
                )
            )
    seen = sum(a * b for one, other in zip(said, truth, strict=True) for a, b in zip(one, other, strict=True))
    tail = min(np.mean(np.array(hits) >= seen), np.mean(np.array(hits) <= seen))
    flat, cluster = np.concatenate(said).astype(bool), np.repeat(range(4), [2, 2, 2, 3])
    found = blind(flat, np.concatenate(truth).astype(bool), cluster)
    assert found is not None
    assert found.p == pytest.approx(min(1, 2 * tail), abs=0.02)


def test_tasks_of_one_outcome_are_one_observation_each() -> None:
    """Two tasks of twenty: accepted whole and rejected whole is a chance of a half, not of 1 in millions."""
    truth = np.repeat([True, False], 20)
    found = blind(truth, truth, np.repeat([0, 1], 20))
    assert found is not None
    assert found.p > 0.95


def test_without_passed_or_failed_there_is_no_test() -> None:
    three = np.arange(3)
    assert blind(np.ones(3, dtype=bool), np.ones(3, dtype=bool), three) is None
    assert blind(np.ones(3, dtype=bool), np.zeros(3, dtype=bool), three) is None
    assert blind(np.zeros(0, dtype=bool), np.zeros(0, dtype=bool), np.zeros(0, dtype=int)) is None


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 5)), min_size=1, max_size=30))
def test_neither_rows_nor_names_of_tasks_matter(rows: list[tuple[bool, bool, int]]) -> None:
    said, truth, cluster = (np.array(column) for column in zip(*rows, strict=True))
    order = np.random.default_rng(len(rows)).permutation(len(rows))
    found = blind(said, truth, cluster)
    assert blind(said[order], truth[order], 7 - cluster[order]) == found
    turned = blind(~said, truth, cluster)
    if found is not None:
        assert turned is not None
        assert 0 < found.p <= 1
        assert turned.p == pytest.approx(found.p, abs=0.03), "accepting is rejecting turned round"


def false_finds(
    generator: np.random.Generator, size: tuple[int, int, int], rate: float, icc: float, by_task: bool, n: int
) -> tuple[int, int]:
    """Of `n` blind judges: found to tell apart in one condition, and in any of three after Holm."""
    failed, passed, each = size
    total = failed + passed
    cluster = np.arange(total) // each
    one = any_of = 0
    for _ in range(n):
        truth = np.arange(total) < passed
        if not by_task:
            truth = generator.permutation(truth)
        ps = []
        for _ in range(CONDITIONS):
            share = np.full(total, rate)
            if icc and rate < 1:
                spread = (1 - icc) / icc
                share = generator.beta(rate * spread, (1 - rate) * spread, total)[cluster]
            found = blind(generator.random(total) < share, truth, cluster)
            assert found is not None
            ps.append(found.p if found.ahead else 1.0)
        one += ps[0] <= 0.05
        any_of += min(p for p in holm(ps) if p is not None) <= 0.05
    return one, any_of


FAST = [((5, 21, 2), 0.9, 0.0, False), ((10, 4, 2), 0.5, 0.5, False), ((20, 20, 4), 0.5, 0.5, True)]
SLOW = list(product(SIZES[:3], (0.5, 0.9, 1.0), (0.0, 0.5), (False, True)))


@pytest.mark.parametrize(
    ("settings_of", "n"),
    [(FAST, 60), pytest.param(SLOW, 250, marks=pytest.mark.slow)],
    ids=["few", "many"],
)
def test_blind_judges_are_found_no_more_often_than_promised(
    settings_of: list[tuple[tuple[int, int, int], float, float, bool]],
    n: int,
    record_property: Callable[[str, str], None],
) -> None:
    """2.5 % each (two-sided 5 %, ahead only); a bound that such a rate passes once in 10,000."""
    generator, worst, most = np.random.default_rng(5), [0.0, 0.0], binom.isf(1e-4, n, 0.025)
    for size, rate, icc, by_task in settings_of:
        counts = false_finds(generator, size, rate, icc, by_task, n)
        assert max(counts) <= most, (size, rate, icc, by_task, counts)
        assert rate < 1 or counts == (0, 0)
        worst = [max(old, count / n) for old, count in zip(worst, counts, strict=True)]
    record_property(
        "figure",
        f"blind judges said to tell passed from failed, worst of {len(settings_of)} settings of {n}: "
        f"{worst[0]:.1%} in one condition, {worst[1]:.1%} in any of three (promised 2.5 %)",
    )


@pytest.mark.parametrize(
    ("tasks", "n"),
    [((30,), 80), pytest.param((10, 30, 60), 250, marks=pytest.mark.slow)],
    ids=["few", "many"],
)
def test_intervals_of_d_prime_and_criterion_hold_what_they_promise(
    tasks: tuple[int, ...], n: int, record_property: Callable[[str, str], None]
) -> None:
    """Rates that differ between tasks, together, apart or against each other; also near 0 and 1."""
    generator, least = np.random.default_rng(2), 1.0
    for number, (hit, alarm), side in product(tasks, ((0.9, 0.2), (0.98, 0.05), (0.6, 0.4)), (1, 0, -1)):
        true = (ndtri(hit) - ndtri(alarm), -(ndtri(hit) + ndtri(alarm)) / 2)
        held, made = np.zeros(2), 0
        for _ in range(n):
            hard = generator.random(number)
            against = {1: hard, 0: generator.random(number), -1: 1 - hard}[side]
            shares = [
                betaincinv(p * 7 / 3, (1 - p) * 7 / 3, u) for p, u in ((hit, hard), (alarm, against))
            ]  # an intra-task correlation of .3
            cluster = np.repeat(np.arange(number), 4)
            passed = generator.random(4 * number) < 0.6
            accepted = generator.random(4 * number) < np.where(passed, shares[0][cluster], shares[1][cluster])
            found = signal(accepted, passed, cluster, resamples=600)
            for k, (one, value) in enumerate(zip((found.d_prime, found.criterion), true, strict=True)):
                assert one.low is not None
                assert one.high is not None
                held[k] += one.low <= value <= one.high
            made += 1
        least = min(least, float(held.min()) / made)
        assert held.min() >= binom.isf(1 - 1e-3, n, 0.93), (number, hit, alarm, side, held / n)
    record_property("figure", f"d' and criterion: 95 % intervals hold the true value in {least:.1%} at least")
