"""Agreement coefficients against printed values, statsmodels and scikit-learn."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, matthews_corrcoef
from statsmodels.stats.inter_rater import cohens_kappa

from pyrite.metrics.agreement import (
    COEFFICIENTS,
    ac1_of,
    alpha_of,
    coefficient,
    kappa,
    kappa_of,
    krippendorff_alpha,
    mcc_of,
    pabak_of,
)


def spread(tp: int, fp: int, fn: int, tn: int, tasks: int, seed: int = 0) -> list[np.ndarray]:
    """The four cells over `tasks` tasks, episodes dealt at random."""
    codes = np.repeat(np.arange(4), (tp, fp, fn, tn))
    task = np.random.default_rng(seed).integers(0, tasks, len(codes))
    return [np.bincount(task[codes == c], minlength=tasks).astype(float) for c in range(4)]


def test_the_worked_example() -> None:
    found = kappa(*spread(18, 12, 2, 68, 30))
    assert found.value == pytest.approx(0.6316, abs=5e-5)
    assert found.iid is not None
    assert found.iid[:2] == pytest.approx((0.4606, 0.8025), abs=5e-5)


def test_the_prevalence_paradox() -> None:
    assert kappa(*spread(85, 5, 5, 5, 20)).value == pytest.approx(0.444, abs=5e-4)


def test_a_judge_that_accepts_everything_has_kappa_zero() -> None:
    found = kappa(*spread(20, 80, 0, 0, 30))
    assert found.value == 0
    assert (found.low, found.reason) == (None, "no_variation")


def test_a_perfect_judge_has_no_zero_width_interval() -> None:
    found = kappa(*spread(50, 0, 0, 50, 20))
    assert (found.value, found.low, found.high, found.reason) == (1, None, None, "no_variation")


@pytest.mark.parametrize(
    ("cells", "reason"),
    [((0, 5, 0, 5), "no_positives"), ((5, 0, 5, 0), "no_negatives"), ((0, 0, 0, 0), "no_episodes")],
)
def test_one_sided_truth_has_none(cells: tuple[int, int, int, int], reason: str) -> None:
    found = kappa(*spread(*cells, 4))
    assert (found.value, found.low, found.reason) == (None, None, reason)


def test_replicates_without_a_class_refuse_the_interval() -> None:
    # one task holds the only passes: about 0.9^10 of the replicates have no pass and no accepted episode
    tp = np.array([2.0] + [0.0] * 9)
    found = kappa(tp, np.zeros(10), np.zeros(10), np.full(10, 3.0))
    assert (found.value, found.low, found.reason) == (1, None, "unstable_resamples")


def test_one_task_is_refused() -> None:
    found = kappa(*(np.array([x]) for x in (5.0, 2.0, 1.0, 9.0)))
    assert (found.low, found.reason) == (None, "single_cluster")
    assert found.iid is not None


def test_the_interval_is_wider_when_the_episodes_of_a_task_are_alike() -> None:
    alike = kappa(*(np.repeat(x, 1) for x in (np.array([8.0] * 5 + [0.0] * 15), *_blocks())))
    assert alike.low is not None
    assert alike.high is not None
    assert alike.iid is not None
    assert alike.high - alike.low > 1.3 * (alike.iid.high - alike.iid.low)


def _blocks() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    fp, fn, tn = np.zeros(20), np.zeros(20), np.zeros(20)
    fp[5:8], fn[8:10], tn[10:] = 8, 8, 8
    return fp, fn, tn


counts = st.tuples(*[st.integers(0, 30)] * 4).filter(lambda c: c[0] + c[2] > 0 and c[1] + c[3] > 0)


@given(counts)
@settings(deadline=None, max_examples=60)
def test_agrees_with_both_oracles(cells: tuple[int, int, int, int]) -> None:
    tp, fp, fn, tn = cells
    value = kappa_of(*(np.array([float(c)]) for c in cells))[0]
    truth = [1] * tp + [0] * fp + [1] * fn + [0] * tn
    judge = [1] * (tp + fp) + [0] * (fn + tn)
    assert value == pytest.approx(cohen_kappa_score(truth, judge), abs=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        oracle = cohens_kappa(np.array([[tp, fp], [fn, tn]]))
    found = kappa(*spread(*cells, 12), resamples=200)
    assert found.value == pytest.approx(oracle.kappa, abs=1e-12)
    if found.iid is not None:
        expected = (max(-1, oracle.kappa_low), min(1, oracle.kappa_upp))
        assert found.iid[:2] == pytest.approx(expected, abs=1e-9)
    if found.low is not None and found.high is not None and found.value is not None:
        assert -1 <= found.low <= found.value <= found.high <= 1


def test_the_seed_and_nothing_else_decides_the_interval() -> None:
    cells = spread(30, 12, 9, 60, 25)
    order = np.random.default_rng(5).permutation(25)
    assert kappa(*cells) == kappa(*(c[order] for c in cells))
    assert kappa(*cells, seed=1).low != kappa(*cells, seed=2).low


def test_every_coefficient_of_the_worked_example() -> None:
    found = {name: coefficient(name, *spread(18, 12, 2, 68, 30), resamples=200) for name in COEFFICIENTS}
    values = {name: one.value for name, one in found.items()}
    expected = {"kappa": 0.6316, "ac1": 0.7760, "alpha": 0.6285, "pabak": 0.72, "mcc": 0.6547}
    assert values == pytest.approx(expected, abs=5e-5)
    for one in found.values():
        assert one.low is not None
        assert one.high is not None
        assert one.value is not None
        assert one.low < one.value < one.high
    gwet = found["ac1"].iid
    assert gwet is not None
    assert gwet[:2] == pytest.approx((0.6550, 0.8970), abs=5e-5)
    half = (gwet.high - gwet.low) / 2 / 1.984217
    assert half == pytest.approx(0.0610, abs=5e-5)
    normal = (0.7760 - 1.959964 * half, 0.7760 + 1.959964 * half)
    assert normal == pytest.approx((0.6565, 0.8955), abs=1e-4)
    kappa_iid = found["kappa"].iid
    assert kappa_iid is not None
    assert (kappa_iid.high - kappa_iid.low) / 2 / 1.959964 == pytest.approx(0.0872, abs=5e-5)


def test_the_prevalence_paradox_in_every_coefficient() -> None:
    cells = spread(85, 5, 5, 5, 20)
    values = {name: coefficient(name, *cells, resamples=100).value for name in ("kappa", "ac1", "pabak")}
    assert values == pytest.approx({"kappa": 0.444, "ac1": 0.878, "pabak": 0.80}, abs=5e-4)


def test_constants_are_none_where_libraries_give_nan_zero_or_raise() -> None:
    both = spread(10, 0, 0, 0, 4)
    reasons = {name: coefficient(name, *both).reason for name in COEFFICIENTS}
    assert reasons == {
        "kappa": "no_negatives",
        "mcc": "no_negatives",
        "ac1": "one_category",
        "alpha": "one_category",
        "pabak": "no_variation",  # 1, without an interval
    }
    accepts_all = spread(20, 80, 0, 0, 30)
    assert coefficient("kappa", *accepts_all).value == 0
    assert coefficient("mcc", *accepts_all).reason == "constant_judge"
    for name in COEFFICIENTS:
        assert coefficient(name, *spread(0, 0, 0, 0, 3)).reason == "no_episodes"
        perfect = coefficient(name, *spread(30, 0, 0, 50, 20), resamples=100)
        assert perfect.value == pytest.approx(1)
        assert perfect.reason == "no_variation"


@given(st.tuples(*[st.integers(0, 30)] * 4))
@settings(deadline=None, max_examples=80)
def test_coefficients_by_definition(cells: tuple[int, int, int, int]) -> None:
    tp, fp, fn, tn = cells
    n = sum(cells)
    at = [np.array([float(c)]) for c in cells]
    if n and (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn):
        truth = [1] * tp + [0] * fp + [1] * fn + [0] * tn
        judge = [1] * (tp + fp) + [0] * (fn + tn)
        assert mcc_of(*at)[0] == pytest.approx(matthews_corrcoef(truth, judge))
    if n and 0 < 2 * tp + fp + fn < 2 * n:
        codes = np.array([[1, 1]] * tp + [[1, 0]] * fp + [[0, 1]] * fn + [[0, 0]] * tn)
        assert krippendorff_alpha(codes) == pytest.approx(alpha_of(*at)[0])
        q = (2 * tp + fp + fn) / (2 * n)
        assert ac1_of(*at)[0] == pytest.approx(((tp + tn) / n - 2 * q * (1 - q)) / (1 - 2 * q * (1 - q)))
    if n:
        assert pabak_of(*at)[0] == pytest.approx(2 * (tp + tn) / n - 1)


def test_alpha_of_several_raters_with_missing_ratings() -> None:
    # Krippendorff's own nominal example (2011, section C): four observers, twelve units, alpha .743
    rows = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, -1, -1, -1],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, -1, 3],
        [-1, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, -1],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, -1],
    ]
    assert krippendorff_alpha(np.array(rows).T) == pytest.approx(0.743, abs=5e-4)


@pytest.mark.parametrize("ratings", [[[1, 1], [1, 1]], [[1, -1], [-1, 0]], [[-1, -1]], np.zeros((0, 2))])
def test_alpha_of_nothing_is_none(ratings: object) -> None:
    assert krippendorff_alpha(np.array(ratings, dtype=int)) is None
