"""Thresholds against printed values, brute force, scipy and MAPIE; and their properties."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pyrite.metrics.thresholds import (
    PROMISE,
    allowed_false_positives,
    binomial_tail,
    conformal,
    fixed_sequence,
    negatives_needed,
    neyman_pearson,
    neyman_pearson_rank,
)

WORKED = np.repeat([0.05, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.97], [30, 20, 20, 15, 8, 4, 2, 1])
CANDIDATES = np.array([0.98, 0.95, 0.85, 0.75, 0.65, 0.5])


@pytest.mark.parametrize(
    ("target", "delta", "needed"),
    [
        (0.05, 0.05, 59),
        (0.05, 0.10, 45),
        (0.10, 0.05, 29),
        (0.10, 0.10, 22),
        (0.02, 0.05, 149),
        (0.01, 0.05, 299),
    ],
)
def test_the_fewest_negatives(target: float, delta: float, needed: int) -> None:
    assert negatives_needed(target, delta) == needed
    assert neyman_pearson_rank(needed - 1, target, delta) is None
    assert neyman_pearson_rank(needed, target, delta) == needed


@pytest.mark.parametrize(
    ("n", "allowed"),
    [(58, None), (59, 0), (93, 1), (100, 1), (124, 2), (153, 3), (181, 4), (200, 4), (300, 8), (500, 16)],
)
def test_allowed_false_positives(n: int, allowed: int | None) -> None:
    assert allowed_false_positives(n, 0.05, 0.05) == allowed
    assert neyman_pearson_rank(n, 0.05, 0.05) == (None if allowed is None else n - allowed)


def test_how_often_the_empirical_quantile_fails() -> None:
    assert binomial_tail(5, 100, 0.05) == pytest.approx(0.616, abs=5e-4)
    assert binomial_tail(4, 100, 0.05) == pytest.approx(0.436, abs=5e-4)
    assert binomial_tail(1, 100, 0.05) == pytest.approx(0.0371, abs=5e-5)


def test_the_worked_example() -> None:
    found = fixed_sequence(WORKED, 0.10, 0.05, candidates=CANDIDATES)
    assert (found.value, found.accept, found.false_positives, found.reason) == (0.85, ">=", 3, None)
    assert found.upper == pytest.approx(0.0757, abs=5e-5)
    counts = [int((t <= WORKED).sum()) for t in CANDIDATES]
    assert counts == [0, 1, 3, 7, 15, 30]
    p = [binomial_tail(k, 100, 0.10) for k in counts]
    assert p == pytest.approx([2.7e-5, 0.00032, 0.00784, 0.20605, 0.96, 1], abs=5e-3)
    assert p[:4] == pytest.approx([2.656e-5, 3.217e-4, 0.00784, 0.20605], rel=1e-3)
    upper = [scipy.stats.beta.ppf(0.95, k + 1, 100 - k) for k in counts]
    assert upper == pytest.approx([0.0295, 0.0466, 0.0757, 0.1275, 0.2215, 0.3842], abs=5e-5)
    unique = fixed_sequence(WORKED, 0.10, 0.05)
    assert (unique.value, unique.false_positives) == (0.9, 3)


def test_mapie_chooses_the_same() -> None:
    from mapie.risk_control import BinaryClassificationController

    def predict(x: np.ndarray) -> np.ndarray:
        return np.column_stack([1 - x[:, 0], x[:, 0]])

    control = BinaryClassificationController(
        predict,
        risk="fpr",
        target_level=0.10,
        confidence_level=0.95,
        list_predict_params=CANDIDATES,
        fwer_method="fixed_sequence",
    )
    control.calibrate(WORKED[:, None], np.zeros(100, dtype=int))
    assert list(control.valid_predict_params) == [0.98, 0.95, 0.85]
    assert control.best_predict_param == fixed_sequence(WORKED, 0.10, 0.05, candidates=CANDIDATES).value
    # MAPIE rounds 7/100 up to 8 in floating point: .3209 where the binomial says .2061; both refuse it
    assert control.p_values[3][0] == pytest.approx(0.3209, abs=5e-5)
    assert binomial_tail(7, 100, 0.10) == pytest.approx(0.2061, abs=5e-5)


def test_the_conformal_rule_allows_more_and_says_that_it_promises_less() -> None:
    def allowed(n: int) -> int | None:
        return conformal(np.arange(n) / n, 0.05).false_positives

    assert [allowed(59), allowed(100)] == [2, 4]
    assert "weaker" in PROMISE["conformal"]
    few = conformal(np.arange(18) / 18, 0.05)
    assert (few.value, few.needed, few.delta) == (None, 19, None)
    assert conformal(np.arange(19) / 19, 0.05).reason == "no_candidate_passes"
    assert conformal(np.arange(19) / 19, 0.05, candidates=np.array([1.0])).false_positives == 0


def test_too_few_negatives_are_refused_with_the_number_needed() -> None:
    for found in (neyman_pearson(np.arange(58.0), 0.05, 0.05), fixed_sequence(np.arange(58.0), 0.05, 0.05)):
        assert (found.value, found.needed, found.upper) == (None, 59, None)
        assert found.reason == "too_few_negatives: 58 of at least 59"
    assert fixed_sequence(np.zeros(0), 0.05, 0.05).reason == "no_negatives"


def test_equal_scores_leave_accept_none_only() -> None:
    same = np.full(100, 0.7)
    assert fixed_sequence(same, 0.05, 0.05).reason == "no_candidate_passes"
    assert neyman_pearson(same, 0.05, 0.05).false_positives == 0  # strictly above .7
    # a candidate above all negatives, as the score of a passed episode may be
    above = fixed_sequence(same, 0.05, 0.05, candidates=np.array([0.7, 0.8]))
    assert (above.value, above.false_positives) == (0.8, 0)


def test_a_tie_is_not_split() -> None:
    # 93 negatives allow one; two share the highest score
    scores = np.array([0.9] * 2 + [0.5] * 91)
    assert fixed_sequence(scores, 0.05, 0.05).value is None
    scores[0] = 0.95
    assert fixed_sequence(scores, 0.05, 0.05).value == 0.95


def test_unreadable_answers_are_negatives_that_nothing_accepts() -> None:
    scores = np.concatenate([np.full(60, np.nan), np.array([0.9, 0.8, 0.2])])
    assert fixed_sequence(scores, 0.05, 0.05).reason == "no_candidate_passes"  # 63 allow none
    more = fixed_sequence(np.concatenate([scores, np.full(61, np.nan)]), 0.05, 0.05)
    assert (more.n, more.value, more.false_positives) == (124, 0.8, 2)
    assert neyman_pearson(np.full(80, np.nan), 0.05, 0.05).reason == "unreadable_scores"


@pytest.mark.parametrize(("target", "delta"), [(0, 0.05), (1, 0.05), (0.05, 0), (0.05, 1.5), (-1, 0.05)])
def test_bad_targets_are_refused(target: float, delta: float) -> None:
    with pytest.raises(ValueError, match="in \\(0, 1\\)"):
        fixed_sequence(np.arange(100.0), target, delta)


rates = st.sampled_from([0.01, 0.05, 0.1, 0.2, 0.3, 0.45])


@given(st.integers(1, 400), rates, rates)
@settings(deadline=None, max_examples=80)
def test_allowed_is_what_the_binomial_allows(n: int, target: float, delta: float) -> None:
    passing = scipy.stats.binom.cdf(np.arange(n + 1), n, target) <= delta
    expected = int(passing.sum()) - 1 if passing.any() else None
    assert allowed_false_positives(n, target, delta) == expected
    assert (expected is None) == (n < negatives_needed(target, delta))


@given(st.integers(0, 20), rates, rates)
@settings(deadline=None, max_examples=60)
def test_needed_is_the_least(false_positives: int, target: float, delta: float) -> None:
    n = negatives_needed(target, delta, false_positives=false_positives)
    assert scipy.stats.binom.cdf(false_positives, n, target) <= delta * (1 + 1e-9)
    assert n == false_positives + 1 or scipy.stats.binom.cdf(false_positives, n - 1, target) > delta


scores_of_negatives = st.lists(st.integers(0, 12).map(lambda k: k / 12), min_size=0, max_size=150).map(
    lambda xs: np.array(xs, dtype=float)
)


@given(scores_of_negatives, rates, rates)
@settings(deadline=None, max_examples=150)
def test_a_certified_threshold_never_accepts_more_than_the_bound_allows(
    scores: np.ndarray, target: float, delta: float
) -> None:
    for found in (fixed_sequence(scores, target, delta), neyman_pearson(scores, target, delta)):
        if found.value is None:
            assert found.reason
            continue
        over = scores >= found.value if found.accept == ">=" else scores > found.value
        assert int(over.sum()) == found.false_positives
        assert found.false_positives <= (allowed_false_positives(len(scores), target, delta) or 0)
        assert found.upper is not None
        assert found.upper <= target + 1e-9
        assert found.p_value is not None
        assert found.p_value <= delta


@given(scores_of_negatives, rates)
@settings(deadline=None, max_examples=150)
def test_brute_force_walk(scores: np.ndarray, delta: float) -> None:
    target, last = 0.1, None
    for t in sorted(set(scores.tolist()), reverse=True):
        if scipy.stats.binom.cdf((scores >= t).sum(), len(scores), target) > delta:
            break
        last = t
    assert fixed_sequence(scores, target, delta).value == last


@given(scores_of_negatives, rates)
@settings(deadline=None, max_examples=100)
def test_raising_the_target_never_raises_the_threshold(scores: np.ndarray, delta: float) -> None:
    for rule in (fixed_sequence, neyman_pearson):
        chosen = [rule(scores, target, delta).value for target in (0.01, 0.05, 0.1, 0.2, 0.4)]
        finite = [np.inf if value is None else value for value in chosen]
        assert all(later <= earlier for earlier, later in itertools.pairwise(finite))


@given(scores_of_negatives, st.integers(0, 149), st.floats(0.01, 2))
@settings(deadline=None, max_examples=100)
def test_raising_a_negative_never_lowers_the_threshold_of_a_fixed_list(
    scores: np.ndarray, at: int, by: float
) -> None:
    assume(len(scores))
    raised = scores.copy()
    raised[at % len(scores)] += by
    listed = np.linspace(0, 1, 11)
    for before, after in (
        (
            fixed_sequence(scores, 0.2, 0.1, candidates=listed),
            fixed_sequence(raised, 0.2, 0.1, candidates=listed),
        ),
        (neyman_pearson(scores, 0.2, 0.1), neyman_pearson(raised, 0.2, 0.1)),
    ):
        low = np.inf if before.value is None else before.value
        high = np.inf if after.value is None else after.value
        assert high >= low


@given(scores_of_negatives, st.integers(0, 1000))
@settings(deadline=None, max_examples=30)
def test_the_order_of_rows_does_not_matter(scores: np.ndarray, seed: int) -> None:
    mixed = np.random.default_rng(seed).permutation(scores)
    assert fixed_sequence(mixed, 0.1, 0.1) == fixed_sequence(scores, 0.1, 0.1)
    assert neyman_pearson(mixed, 0.1, 0.1) == neyman_pearson(scores, 0.1, 0.1)
    assert conformal(mixed, 0.1) == conformal(scores, 0.1)
