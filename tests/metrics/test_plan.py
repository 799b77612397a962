"""Sample sizes and detectable differences, against printed values and oracles."""

from __future__ import annotations

import doctest
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.metrics import plan
from pyrite.metrics.gate import within
from pyrite.metrics.intervals import special, upper_bound

N = np.array([4, 4, 4, 3, 4, 2, 4, 5], dtype=float)
A = np.array([4, 0, 4, 0, 1, 1, 0, 2], dtype=float)


def test_design_effect() -> None:
    assert plan.design_effect(4, 0.3) == pytest.approx(1.9)
    assert plan.design_effect(1, 0.9) == plan.design_effect(0.4, 0.9) == 1
    for bad in ((0, 0.3), (4, 1.1), (4, math.nan)):
        with pytest.raises(ValueError, match="ICC"):
            plan.design_effect(*bad)


def test_icc_of_the_eight_tasks() -> None:
    assert plan.anova_icc(A, A, N) == pytest.approx(0.578, abs=5e-4)
    n0 = (30 - np.square(N).sum() / 30) / 7
    assert n0 == pytest.approx(3.724, abs=5e-4)


def test_icc_where_there_is_none() -> None:
    ones = np.ones(5)
    assert plan.anova_icc(ones, ones, ones) is None, "no task has two episodes"
    assert plan.anova_icc(A[:1], A[:1], N[:1]) is None
    assert plan.anova_icc(np.zeros(8), np.zeros(8), N) is None, "nothing varies"
    extreme = np.where(np.arange(8) % 2, N, 0)
    assert plan.anova_icc(extreme, extreme, N) == 1, "all or nothing in each task"


@pytest.mark.parametrize(
    ("difference", "discordant", "deff", "n"),
    [
        (0.05, 0.15, 1, 469),
        (0.05, 0.10, 1, 312),
        (0.05, 0.29, 1, 909),
        (0.05, 0.15, 1.9, 891),
        (0.05, 0.09, 1, 281),
        (0.05, 0.09, 1.9, 533),
        (0.10, 0.20, 1, 155),
        (0.10, 0.20, 1.9, 294),
    ],
)
def test_paired_sizes(difference: float, discordant: float, deff: float, n: int) -> None:
    assert plan.paired_size(difference, discordant, deff=deff) == n


def test_other_sizes() -> None:
    assert plan.independent_size(0.20, 0.15) == plan.independent_size(0.15, 0.20) == 906
    assert plan.precision_size(0.2, 0.05) == 246
    assert plan.tasks_needed(891, 4) == 223


def test_precision_against_statsmodels() -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    assert proportion.samplesize_confint_proportion(0.2, 0.05) == pytest.approx(245.85, abs=5e-3)


@pytest.mark.parametrize(
    ("n", "deff", "found"),
    [
        (150, 1, 0.088),
        (150, 1.9, 0.120),
        (400, 1, 0.054),
        (400, 1.9, 0.074),
        (600, 1, 0.044),
        (600, 1.9, 0.061),
    ],
)
def test_detectable_differences(n: int, deff: float, found: float) -> None:
    assert plan.detectable_difference(0.15, n / deff) == pytest.approx(found, abs=5e-4)


@given(st.floats(0.01, 0.5), st.floats(0.0, 1.0))
def test_the_detectable_difference_needs_that_many(difference: float, more: float) -> None:
    discordant = difference + more * (1 - difference)
    n = plan.paired_size(difference, discordant)
    found = plan.detectable_difference(discordant, n)
    assert found is not None
    assert found <= difference + 1e-9
    smaller = plan.detectable_difference(discordant, n - 1)
    assert smaller is None or smaller >= difference - 1e-9


def test_no_disagreement_seen_still_has_a_detectable_difference() -> None:
    found = plan.detectable_difference(0.0, 100)
    assert found is not None
    assert 0.03 < found < 0.1
    assert plan.detectable_difference(0.1, 3) is None
    assert plan.detectable_difference(0.1, 0) is None


def test_gate_sizes_against_the_exact_power() -> None:
    assert plan.gate_size(0.05, 0.0) == 59
    assert plan.gate_size(0.05, 0.0, deff=1.9) == math.ceil(59 * 1.9)
    n = plan.gate_size(0.05, 0.02)
    assert n is not None

    def power(size: int) -> float:
        most = max(k for k in range(size) if k == 0 or upper_bound(k / size, size) <= 0.05)
        passes = upper_bound(most / size, size) <= 0.05
        return float(special().bdtr(most, size, 0.02)) if passes else 0.0

    assert power(n) >= 0.8
    assert all(power(size) < 0.8 for size in range(59, n))


def test_gate_sizes_that_do_not_exist() -> None:
    assert plan.gate_size(0.05, 0.05) is None
    assert plan.gate_size(0.05, 0.2) is None
    assert plan.gate_size(0.05, 0.049999) is None


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: plan.paired_size(0, 0.2),
        lambda: plan.paired_size(0.2, 0.1),
        lambda: plan.independent_size(0.1, 0.1),
        lambda: plan.precision_size(0.2, math.nan),
        lambda: plan.gate_size(1.0, 0.2),
        lambda: plan.paired_size(0.1, 0.2, power=1.0),
    ],
)
def test_what_cannot_be_asked(wrong: object) -> None:
    assert callable(wrong)
    with pytest.raises(ValueError, match=r"needed|differ|told"):
        wrong()


def test_the_examples_hold() -> None:
    assert doctest.testmod(plan).failed == 0


@pytest.mark.parametrize(("per_task", "icc"), [(4.0, 0.0), (4.0, 0.3), (8.0, 0.1)])
def test_what_a_gate_needs_is_what_the_gate_grants(per_task: float, icc: float) -> None:
    tasks = plan.gate_tasks(0.05, 0.025, np.array([per_task]), icc=icc)
    assert tasks is not None
    generator = np.random.default_rng(99)
    shape, spread = (1500, tasks), (1 - icc) / icc if icc else 0.0
    rates = generator.beta(0.025 * spread, 0.975 * spread, shape) if icc else np.full(shape, 0.025)
    events = generator.binomial(int(per_task), rates).astype(np.float64)
    power = within(events, np.full(tasks, per_task), 0.05).mean()
    assert 0.75 < power < 0.86


def test_a_gate_counts_tasks_where_nothing_is_accepted() -> None:
    for each in (1.0, 4.0, 40.0):
        for icc in (0.0, 0.3, 1.0):
            assert plan.gate_tasks(0.05, 0.0, np.array([each]), icc=icc) == 59
    uneven = plan.gate_tasks(0.05, 0.0, np.array([1.0, 1, 1, 9]), icc=0.3)
    assert uneven == 137  # the first number of such tasks that weighs like 59 of one size
    sizes = np.resize([1.0, 1, 1, 9], 137)
    assert sizes.sum() ** 2 / np.square(sizes).sum() > 58.4


def test_a_gate_that_nothing_can_pass() -> None:
    assert plan.gate_tasks(0.05, 0.05, np.array([4.0]), icc=0.3) is None
    assert plan.gate_tasks(0.05, 0.0499, np.array([4.0]), icc=0.3) is None
