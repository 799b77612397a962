"""Two judges on the same episodes: the eight-task pair, printed values, oracles, and what must not matter."""

from __future__ import annotations

import doctest
import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pyrite.metrics import compare
from pyrite.metrics.compare import (
    cochrans_q,
    discordance,
    durkalski,
    holm,
    mcnemar_exact,
    mcnemar_mid,
    obuchowski,
    sign_flip,
    sign_flip_limits,
    smallest_p,
    yang,
)
from pyrite.metrics.intervals import clopper_pearson
from pyrite.metrics.paired import difference
from pyrite.records import Estimate

N = np.array([4, 4, 4, 3, 4, 2, 4, 5], dtype=float)
ONLY_A = np.array([4, 0, 3, 0, 0, 1, 0, 2], dtype=float)
ONLY_B = np.array([0, 1, 0, 0, 0, 0, 0, 1], dtype=float)
BOTH = np.array([0, 0, 1, 0, 1, 0, 0, 0], dtype=float)
NEITHER = N - ONLY_A - ONLY_B - BOTH
D = ONLY_A - ONLY_B
Array = NDArray[np.float64]


def apart(both: Array, first: Array, second: Array, neither: Array) -> Estimate:
    return difference(both, first, second, neither, estimand="FPR of a minus b", empty="no_negatives")


def rows() -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int64]]:
    """The eight-task pair, one entry an episode."""
    cells = [(BOTH, True, True), (ONLY_A, True, False), (ONLY_B, False, True), (NEITHER, False, False)]
    found = [(a, b, k) for n, a, b in cells for k in range(8) for _ in range(int(n[k]))]
    first, second, task = (np.array(column) for column in zip(*found, strict=True))
    return first, second, task


def test_eight_tasks_where_the_naive_test_flips_the_conclusion() -> None:
    assert mcnemar_exact(10, 2) == pytest.approx(0.0386, abs=5e-5)
    flip = sign_flip(D)
    assert flip == (0.25, "exact", 5)
    assert sign_flip(D / N).p == 0.1875
    assert list(obuchowski(D)) == pytest.approx([2.000, 1, 0.1573], abs=5e-5)
    assert list(durkalski(D, N)) == pytest.approx([2.5274, 1, 0.1119], abs=5e-5)
    assert list(yang(D, N)) == pytest.approx([2.3403, 1, 0.1261], abs=5e-5)
    found = apart(BOTH, ONLY_A, ONLY_B, NEITHER)
    assert found.value == pytest.approx(0.2667, abs=5e-5)
    assert (found.low, found.high) == pytest.approx((-0.1088, 0.6422), abs=5e-5)
    assert found.iid is not None
    assert found.iid[:2] == pytest.approx((0.0420, 0.4608), abs=5e-5)
    assert found.n_eff is not None
    assert 30 / found.n_eff == pytest.approx(2.300, abs=5e-4)
    assert math.sqrt((12 / 30 - (8 / 30) ** 2) / 30) == pytest.approx(0.10470, abs=5e-6)


def test_rows_become_the_cells() -> None:
    first, second, task = rows()
    found = discordance(first, second, task)
    assert found.totals() == (2, 10, 2, 16)
    assert found.first.tolist() == ONLY_A.tolist()
    assert found.n.tolist() == N.tolist()
    nothing = np.zeros(0, dtype=bool)
    assert discordance(nothing, nothing, np.zeros(0, dtype=int)).totals() == (0, 0, 0, 0)


def test_the_interval_is_that_of_a_clustered_regression() -> None:
    api = pytest.importorskip("statsmodels.api")
    first, second, task = rows()
    model = api.OLS(first.astype(float) - second.astype(float), np.ones(30))
    fit = model.fit(cov_type="cluster", cov_kwds={"groups": task, "use_correction": True}, use_t=True)
    found = apart(BOTH, ONLY_A, ONLY_B, NEITHER)
    assert fit.params[0] == pytest.approx(found.value)
    # its correction has (N - 1) / (N - 1) = 1 for one parameter, so the standard errors are equal
    assert fit.bse[0] == pytest.approx(0.15880, abs=5e-6)
    assert fit.conf_int()[0] == pytest.approx((found.low, found.high), abs=1e-9)
    assert fit.pvalues[0] == pytest.approx(0.1370, abs=5e-5)


def test_resampling_the_tasks_has_its_printed_range() -> None:
    from pyrite.metrics.resample import resampled_sums

    sums = resampled_sums(np.stack([D, N], axis=1), resamples=20_000, seed=1)
    low, high = np.quantile(sums[:, 0] / sums[:, 1], [0.025, 0.975])
    assert low == pytest.approx(0, abs=0.01)
    assert 0.567 <= high <= 0.586


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [
        (10, 2, 0.038574),
        (5, 0, 0.0625),
        (6, 0, 0.03125),
        (12, 2, 0.012939),
        (9, 3, 0.145996),
        (5, 5, 1),
        (0, 0, 1),
    ],
)
def test_mcnemar_has_its_printed_values(first: int, second: int, p: float) -> None:
    assert mcnemar_exact(first, second) == pytest.approx(p, abs=5e-7)
    assert mcnemar_exact(second, first) == mcnemar_exact(first, second)


def test_mid_p() -> None:
    assert mcnemar_mid(10, 2) == pytest.approx(0.022461, abs=5e-7)
    # exactly 1 where both are equal; the capped exact p minus the mass would be .7539
    assert mcnemar_mid(5, 5) == mcnemar_mid(0, 0) == 1
    assert mcnemar_mid(0, 6) == pytest.approx(1 / 64)


@given(st.integers(0, 200), st.integers(0, 200))
def test_mcnemar_against_statsmodels(first: int, second: int) -> None:
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    table = [[3, first], [second, 4]]
    oracle = float(tables.mcnemar(table, exact=True).pvalue) if first + second else 1.0
    assert mcnemar_exact(first, second) == pytest.approx(oracle, abs=1e-12)
    assert 0 < mcnemar_mid(first, second) <= mcnemar_exact(first, second) <= 1


@pytest.mark.parametrize(("m", "p"), [(5, 0.0625), (6, 0.03125), (8, 0.0078125)])
def test_smallest_p(m: int, p: float) -> None:
    assert sign_flip(np.ones(m)).p == smallest_p(m) == p
    assert smallest_p(0) == smallest_p(1) == 1
    assert smallest_p(9) == pytest.approx(0.0039, abs=5e-5)


@given(st.lists(st.integers(-6, 6), min_size=0, max_size=9), st.booleans())
def test_sign_flip_is_the_share_of_all_patterns(values: list[int], weighted: bool) -> None:
    d = np.array(values, dtype=float) / (3 if weighted else 1)
    seen = abs(d.sum())
    patterns = [
        abs(sum(s * x for s, x in zip(signs, d, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(d))
    ]
    share = sum(total >= seen - 1e-9 for total in patterns) / len(patterns)
    found = sign_flip(d)
    assert found.p == pytest.approx(share, abs=1e-12)
    assert found.discordant == int((d != 0).sum())


def test_sign_flip_against_scipy() -> None:
    from scipy.stats import permutation_test

    oracle = permutation_test(
        (ONLY_A, ONLY_B),
        lambda x, y, axis: (x - y).sum(axis),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
    )
    assert oracle.pvalue == pytest.approx(sign_flip(D).p) == 0.25


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 20))
def test_one_episode_a_task_is_mcnemar(first: int, second: int, same: int) -> None:
    d = np.array([1.0] * first + [-1.0] * second + [0.0] * same)
    assert sign_flip(d).p == pytest.approx(mcnemar_exact(first, second), rel=1e-9)


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=40), st.integers(0, 2**32 - 1))
def test_what_changes_no_p(values: list[int], seed: int) -> None:
    d = np.array(values, dtype=float)
    p = sign_flip(d).p
    assert 0 < p <= 1
    assert sign_flip(-d).p == p
    assert sign_flip(np.random.default_rng(seed).permutation(d)).p == p
    # every episode twice in its task
    assert sign_flip(2 * d).p == pytest.approx(p, rel=1e-9)


def test_drawn_signs_agree_with_the_exact_law(monkeypatch: pytest.MonkeyPatch) -> None:
    d = np.random.default_rng(3).integers(-4, 6, size=60).astype(float)
    exact = sign_flip(d)
    assert exact.method == "exact"
    monkeypatch.setattr(compare, "EXACT_COST", 0)
    drawn = sign_flip(d, draws=40_000, seed=5)
    assert drawn.method == "Monte Carlo, 40000 draws"
    assert drawn.p == pytest.approx(exact.p, abs=4 * math.sqrt(exact.p / 40_000))
    assert drawn == sign_flip(-d[::-1], draws=40_000, seed=5)
    assert sign_flip(np.array([9.0] * 399 + [-9.0]), draws=99).p == 0.01, "never 0"


def test_a_law_that_underflows_is_never_zero() -> None:
    assert 0 < sign_flip(np.ones(3000)).p < 1e-300


def test_huge_tables_are_quick_and_right() -> None:
    d = np.random.default_rng(0).integers(-3, 4, size=5_000).astype(float)
    found = sign_flip(d)
    z = abs(d.sum()) / math.sqrt(np.square(d).sum())
    normal = math.erfc(z / math.sqrt(2))
    assert found.method == "exact"
    assert found.p == pytest.approx(normal, abs=0.01)


def test_nothing_to_test() -> None:
    assert sign_flip(np.zeros(7)) == (1.0, "exact", 0)
    assert sign_flip(np.zeros(0)).p == 1
    assert sign_flip(np.array([3.0, -3.0])).p == 1
    zero = np.zeros(4)
    for found in (obuchowski(zero), durkalski(zero, zero + 1), yang(zero, zero + 1)):
        assert found == (None, 1, None)
    one = np.ones(1)
    assert obuchowski(one) == yang(one, one) == (None, 1, None)


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)),
        min_size=2,
        max_size=20,
    )
)
def test_swapping_judges_negates_the_difference_and_keeps_p(table: list[tuple[int, int, int, int]]) -> None:
    both, first, second, neither = np.array(table, dtype=float).T
    n = both + first + second + neither
    found, swapped = apart(both, first, second, neither), apart(both, second, first, neither)
    assert sign_flip(first - second).p == sign_flip(second - first).p
    for one, other in (
        (obuchowski(first - second), obuchowski(second - first)),
        (durkalski(first - second, n), durkalski(second - first, n)),
        (yang(first - second, n), yang(second - first, n)),
    ):
        assert one == other
    if found.value is None:
        assert swapped.value is None
        return
    assert swapped.value == -found.value
    if found.low is not None and found.high is not None:
        assert (swapped.low, swapped.high) == pytest.approx((-found.high, -found.low), abs=1e-9)
        assert found.low < found.high


def test_cochrans_q_against_statsmodels() -> None:
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    said = np.random.default_rng(2).random((60, 4)) < [0.2, 0.3, 0.35, 0.5]
    oracle = tables.cochrans_q(said.astype(int))
    found = cochrans_q(said)
    assert list(found) == pytest.approx([oracle.statistic, 3, oracle.pvalue])
    # of two judges it is McNemar's chi-square without the correction
    two = cochrans_q(np.array([[1, 0]] * 10 + [[0, 1]] * 2 + [[1, 1]] * 5, dtype=bool))
    assert two.statistic == pytest.approx(64 / 12)
    assert two.p == pytest.approx(0.020921, abs=5e-7)
    assert cochrans_q(np.ones((5, 3), dtype=bool)).p is None
    assert cochrans_q(np.zeros((0, 3), dtype=bool)).p is None


def test_holm_has_its_printed_values() -> None:
    p = [0.001, 0.010, 0.015, 0.020, 0.040, 0.300]
    assert holm(p) == pytest.approx([0.006, 0.05, 0.06, 0.06, 0.08, 0.30])
    assert [x is not None and x <= 0.05 + 1e-12 for x in holm(p)] == [True, True, False, False, False, False]


def test_what_is_not_testable_is_not_in_the_family() -> None:
    assert holm([None, 0.02, None, 0.03]) == [None, pytest.approx(0.04), None, pytest.approx(0.04)]
    assert holm([]) == []
    assert holm([None]) == [None]
    with pytest.raises(ValueError, match="p-value"):
        holm([math.nan])


@example([0.2, 0.2, 0.01, 0.01, 0.01])
@example([0.0, 1.0, 0.0, 1.0])
@example([0.5])
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_against_statsmodels(p: list[float]) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gc.collect", lambda: 0)  # half a second of each call, late in a run
        oracle = multitest.multipletests(p, method="holm")[1]
    assert holm(p) == pytest.approx(list(oracle))


def test_the_examples_hold() -> None:
    assert doctest.testmod(compare).failed == 0


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=14))
@settings(deadline=None, max_examples=80)
def test_the_test_turned_round_holds_0_where_it_does_not_reject_it(sums: list[int]) -> None:
    apart = np.array(sums, dtype=float)
    limits = sign_flip_limits(apart, level=0.95)
    assert limits is not None
    low, high = limits
    assert low - 1e-9 <= apart.sum() <= high + 1e-9
    assert (low <= 0 <= high) is (sign_flip(apart).p > 0.05)
    turned = sign_flip_limits(-apart, level=0.95)
    assert turned == pytest.approx((-high, -low), abs=1e-6)


def test_the_limits_are_clopper_pearson_of_the_discordant_tasks() -> None:
    limits = sign_flip_limits(np.repeat([1.0, -1.0, 0.0], [10, 2, 30]), level=0.95)
    low, high = clopper_pearson(10 / 12, 12)[:2]
    assert limits == pytest.approx((12 * (2 * low - 1), 12 * (2 * high - 1)), abs=1e-6)
    assert sign_flip_limits(np.array([0.5, 0.25]), level=0.95) is None
    assert sign_flip_limits(np.full(400, 900.0), level=0.95) is None
