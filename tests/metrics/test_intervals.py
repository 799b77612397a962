"""Intervals of one proportion, against printed values and statsmodels."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from pyrite.metrics.intervals import (
    clopper_pearson,
    jeffreys,
    lower_bound,
    normal_quantile,
    t_quantile,
    upper_bound,
    wilson,
)

PRINTED = [
    # k, n, Wilson, Clopper-Pearson, Jeffreys: Brown, Cai and DasGupta's three, to four digits
    (12, 80, (0.0879, 0.2441), (0.0800, 0.2474), (0.0847, 0.2401)),
    (0, 40, (0.0, 0.0876), (0.0, 0.0881), (0.0, 0.0605)),
    (40, 40, (0.9124, 1.0), (0.9119, 1.0), (0.9395, 1.0)),
    (1, 7, (0.0257, 0.5131), (0.0036, 0.5787), (0.0159, 0.5008)),
]


@pytest.mark.parametrize(("k", "n", "by_score", "exact", "posterior"), PRINTED)
def test_the_three_intervals_have_their_printed_values(
    k: int, n: int, by_score: tuple[float, float], exact: tuple[float, float], posterior: tuple[float, float]
) -> None:
    assert wilson(k / n, n) == pytest.approx(by_score, abs=5e-5)
    assert clopper_pearson(k / n, n) == pytest.approx(exact, abs=5e-5)
    assert jeffreys(k / n, n) == pytest.approx(posterior, abs=5e-5)


@pytest.mark.parametrize(
    ("k", "n", "printed"),
    [(12, 30, (0.2459, 0.5768)), (18, 20, (0.6990, 0.9721)), (134, 351, (0.3325, 0.4336))],
)
def test_wilson_has_its_other_printed_values(k: int, n: int, printed: tuple[float, float]) -> None:
    assert wilson(k / n, n) == pytest.approx(printed, abs=5e-5)


def test_the_verifier_articles_interval_is_clopper_pearson() -> None:
    assert clopper_pearson(134 / 351, 351) == pytest.approx((0.3307, 0.4348), abs=5e-5)


@pytest.mark.parametrize(
    ("k", "n", "printed"),
    [
        (0, 59, 0.04951),
        (0, 58, 0.05034),
        (1, 93, 0.04999),
        (1, 92, 0.05053),
        (2, 124, 0.04990),
        (12, 80, 0.23168),
    ],
)
def test_one_sided_upper_bounds(k: int, n: int, printed: float) -> None:
    assert upper_bound(k / n, n) == pytest.approx(printed, abs=5e-6)


def test_one_sided_lower_bound_and_its_ends() -> None:
    assert lower_bound(8 / 60, 60) == pytest.approx(0.0681, abs=5e-5)
    assert lower_bound(0.0, 10) == 0.0
    assert upper_bound(1.0, 10) == 1.0
    assert upper_bound(0.0, 30) == pytest.approx(1 - 0.05 ** (1 / 30))


def test_quantiles() -> None:
    assert normal_quantile() == pytest.approx(1.959964, abs=5e-7)
    assert t_quantile(7) == pytest.approx(2.364624, abs=5e-7)
    assert t_quantile(1e9) == pytest.approx(normal_quantile(), abs=1e-6)


@pytest.mark.parametrize(("p", "n"), [(-0.1, 10), (1.1, 10), (0.5, 0), (math.nan, 10), (0.5, math.inf)])
def test_no_interval_of_nothing(p: float, n: float) -> None:
    for interval in (wilson, clopper_pearson, jeffreys):
        with pytest.raises(ValueError, match="proportion in"):
            interval(p, n)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_agree_with_statsmodels(counts: tuple[int, int]) -> None:
    k, n = counts
    assert wilson(k / n, n) == pytest.approx(proportion_confint(k, n, method="wilson"), abs=1e-9)
    assert clopper_pearson(k / n, n) == pytest.approx(proportion_confint(k, n, method="beta"), abs=1e-9)
    if 0 < k < n:  # statsmodels keeps the posterior's own end at 0 and 1 where the interval touches it
        assert jeffreys(k / n, n) == pytest.approx(proportion_confint(k, n, method="jeffreys"), abs=1e-9)


@given(
    st.one_of(st.sampled_from([0.0, 1.0]), st.floats(1e-7, 1 - 1e-7)),
    st.floats(0.5, 1e6),
    st.sampled_from([0.8, 0.9, 0.95, 0.99]),
)
def test_inside_zero_and_one_and_around_the_rate(p: float, n: float, level: float) -> None:
    for interval in (wilson, clopper_pearson, jeffreys):
        low, high = interval(p, n, level=level)
        assert 0 <= low <= p <= high <= 1


@given(st.floats(0.01, 0.99), st.floats(2, 1e4))
def test_more_data_is_never_wider(p: float, n: float) -> None:
    small, large = wilson(p, n), wilson(p, 2 * n)
    assert large.high - large.low <= small.high - small.low + 1e-12
