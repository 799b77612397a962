"""The clustered mean against statsmodels' cluster-robust regression."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pyrite.metrics.means import cluster_sums, clustered_mean

rows_of = st.lists(st.tuples(st.integers(-4, 4), st.integers(0, 9)), min_size=2, max_size=60)


@given(rows_of, st.integers(0, 99))
@settings(deadline=None, max_examples=60)
def test_agrees_with_a_cluster_robust_regression(rows: list[tuple[int, int]], seed: int) -> None:
    values, task = (np.array(column) for column in zip(*rows, strict=True))
    x = values / 4
    found = clustered_mean(x, task, estimand="x", empty="no_episodes", bounds=(-100, 100))
    assert found.value == pytest.approx(x.mean())
    order = np.random.default_rng(seed).permutation(len(x))
    assert clustered_mean(x[order], task[order], estimand="x", empty="e", bounds=(-100, 100)) == found
    assume(found.low is not None)
    # statsmodels scales by K/(K-1) * (n-1)/(n-1) for one regressor, as here
    fit = sm.OLS(x, np.ones(len(x))).fit(cov_type="cluster", cov_kwds={"groups": task}, use_t=True)
    assert (found.low, found.high) == pytest.approx(tuple(fit.conf_int()[0]), abs=1e-9)


def test_the_ends_stay_inside_what_a_value_can_be() -> None:
    found = clustered_mean(
        np.array([1.0, 1, 1, 0]), np.arange(4), estimand="x", empty="no_episodes", bounds=(0, 1)
    )
    assert (found.high, found.value) == (1, 0.75)
    assert found.low is not None
    assert found.low >= 0


def test_nothing_one_cluster_and_no_variation() -> None:
    none, codes = np.zeros(0), np.zeros(0, dtype=int)
    assert clustered_mean(none, codes, estimand="x", empty="why", bounds=(0, 1)).reason == "why"
    assert [len(part) for part in cluster_sums(none, codes)] == [0, 0]
    one = clustered_mean(np.array([0.0, 1]), np.zeros(2, dtype=int), estimand="x", empty="e", bounds=(0, 1))
    assert (one.value, one.low, one.reason) == (0.5, None, "single_cluster")
    flat = clustered_mean(np.ones(5), np.arange(5), estimand="x", empty="e", bounds=(0, 1))
    assert (flat.value, flat.low, flat.reason, flat.iid) == (1, None, "no_variation", None)
