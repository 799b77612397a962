"""Agreement of annotators, ceilings, flips, process scores and correlations."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import cohen_kappa_score

from pyrite.metrics import correlation, labels
from pyrite.metrics.correlation import pearson, spearman

LABELS = hnp.arrays(np.int8, st.tuples(st.integers(1, 20), st.integers(1, 4)), elements=st.integers(-1, 1))
SCORES = st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=4, max_size=30)


@pytest.mark.parametrize("module", [labels, correlation])
def test_examples(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


@given(LABELS)
def test_agreement_of_a_pair_is_that_of_scikit_learn(given_labels: np.ndarray) -> None:
    one, two = given_labels[:, 0], given_labels[:, -1]
    found = labels.agreement(one, two, np.arange(len(one)), resamples=100)
    both = (one >= 0) & (two >= 0)
    assert found.agreement.n == both.sum() == sum(found[2:])
    if not both.any():
        assert found.agreement.value is None
        assert found.kappa.value is None
        return
    assert found.agreement.value == pytest.approx(float((one[both] == two[both]).mean()))
    if found.kappa.value is not None and len(np.unique(np.concatenate([one[both], two[both]]))) > 1:
        assert found.kappa.value == pytest.approx(cohen_kappa_score(one[both], two[both]))


def test_the_ceiling_leaves_the_annotator_out_of_the_majority() -> None:
    said = np.array([[1, 1, 1], [0, 1, 1], [0, 0, 1], [1, -1, 0]], dtype=np.int8)
    found = labels.ceiling(said, 0, np.arange(4), resamples=100)
    assert found.agreement.n == 3, "the others are split on the third; on the fourth one is left"
    assert found.agreement.value == pytest.approx(1 / 3)


@given(LABELS)
def test_pairwise_agreement_is_the_mean_over_episodes(given_labels: np.ndarray) -> None:
    shares = []
    for row in given_labels:
        said = row[row >= 0]
        pairs = [(a, b) for i, a in enumerate(said) for j, b in enumerate(said) if i != j]
        if pairs:
            shares.append(np.mean([a == b for a, b in pairs]))
    found = labels.pairwise_agreement(given_labels, np.arange(len(given_labels)))
    if shares:
        assert found.value == pytest.approx(float(np.mean(shares)))
    else:
        assert (found.value, found.reason) == (None, "one_annotator_each")


def test_flips_count_only_labels_given_twice() -> None:
    before = np.array([1, 1, 0, 0, -1, 1], dtype=np.int8)
    after = np.array([1, 0, 1, 0, 1, -1], dtype=np.int8)
    changed, to_pass, to_fail = labels.flips(before, after, np.arange(6))
    assert (changed.value, changed.n, to_pass, to_fail) == (0.5, 4, 1, 1)
    assert labels.flips(before, np.full(6, -1, dtype=np.int8), np.arange(6))[0].reason == "no_informed_labels"


def test_process_is_correct_from_a_median_of_0_8_on() -> None:
    scores = np.array([[0.7, 0.9], [0.79, 0.8], [0.8, np.nan], [np.nan, np.nan]], dtype=np.float32)
    median = labels.medians(scores.astype(np.float64))
    assert labels.process_outcome(median).tolist() == [1, 0, 1, -1]


@given(SCORES)
def test_correlations_are_those_of_scipy(pairs: list[tuple[int, int]]) -> None:
    x, y = (np.array(side, dtype=np.float64) / 10 for side in zip(*pairs, strict=True))
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert pearson(x, y).reason == spearman(x, y).reason == "no_variation"
        return
    assert pearson(x, y).value == pytest.approx(float(pearsonr(x, y).statistic))
    assert spearman(x, y).value == pytest.approx(float(spearmanr(x, y).statistic))
    found = pearson(x, y)
    if found.low is not None and found.high is not None and found.value is not None:
        theirs = pearsonr(x, y).confidence_interval(0.95)
        assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high))
        assert found.low <= found.value <= found.high


def test_correlations_without_numbers() -> None:
    nothing = np.full(5, np.nan)
    assert pearson(nothing, nothing).reason == "too_few"
    three = np.array([1.0, 2, 4])
    found = spearman(three, three[::-1])
    assert (found.value, found.low, found.reason) == (-1.0, None, "too_few")
    with pytest.raises(ValueError, match="no pairs"):
        pearson(three, nothing)
    huge = np.array([1e300, -1e300, 5e299, 0.0])
    assert pearson(huge, huge).value == pytest.approx(1.0)
