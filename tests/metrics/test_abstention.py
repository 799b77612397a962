"""Selective risk and the risk-coverage curve against printed values and enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrite.metrics.abstention import risk_at_coverage, risk_coverage, selective

P = np.array([0.95, 0.95, 0.90, 0.85, 0.80, 0.60, 0.55, 0.30, 0.20, 0.05])
LOSS = 1.0 - np.array([1, 0, 1, 0, 1, 1, 0, 0, 0, 0])


def areas(p: np.ndarray, loss: np.ndarray) -> tuple[float, float]:
    found = risk_coverage(p, loss)
    assert found.aurc is not None
    assert found.augrc is not None
    return found.aurc, found.augrc


def test_the_worked_example_and_its_tie() -> None:
    first, second = P.copy(), P.copy()
    first[0] += 1e-9  # the passed episode of the two at .95 comes first
    second[1] += 1e-9
    assert areas(first, LOSS) == pytest.approx((0.4151, 0.26), abs=5e-5)
    assert areas(second, LOSS)[0] == pytest.approx(0.5151, abs=5e-5)
    assert areas(P, LOSS)[0] == pytest.approx(0.4651, abs=5e-5)
    assert areas(P, LOSS) == pytest.approx(np.mean([areas(first, LOSS), areas(second, LOSS)], axis=0))


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=6))
@settings(deadline=None, max_examples=60)
def test_areas_are_means_over_all_orders_of_ties(rows: list[tuple[int, bool]]) -> None:
    score, loss = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    seen = []
    for order in itertools.permutations(range(len(rows))):
        if all(score[a] >= score[b] for a, b in itertools.pairwise(order)):
            running = np.cumsum(loss[list(order)])
            seen.append(((running / np.arange(1, len(rows) + 1)).mean(), (running / len(rows)).mean()))
    assert areas(score, loss) == pytest.approx(np.mean(seen, axis=0))


def test_undecided_episodes_stay_in_the_denominator() -> None:
    p = np.concatenate([P, np.full(10, np.nan)])
    found = risk_coverage(p, np.concatenate([LOSS, np.zeros(10)]))
    assert found.points[-1].coverage == 0.5
    assert found.points[-1].generalised == pytest.approx(0.3)
    assert found.points[-1].risk == pytest.approx(0.6)


def test_all_abstain() -> None:
    found = risk_coverage(np.full(5, np.nan), np.zeros(5))
    assert (found.aurc, found.augrc, found.points, found.reason) == (None, None, (), "nothing_decided")
    assert risk_coverage(np.zeros(0), np.zeros(0)).reason == "no_episodes"
    none: np.ndarray = np.zeros(5, dtype=bool)
    passed = np.array([True, False, False, True, False])
    rates = selective(passed, none, none, np.arange(5))
    assert rates["coverage"].value == 0
    assert {name: (one.value, one.reason) for name, one in rates.items() if name != "coverage"} == {
        "fpr": (None, "nothing_decided"),
        "fdr": (None, "nothing_accepted"),
        "generalised_risk": (None, "nothing_decided"),
    }


def test_abstention_does_not_change_the_fdr() -> None:
    # 80 failed episodes: 12 accepted, 8 uncertain; 20 passed, 18 accepted
    passed = np.arange(100) < 20
    accepted = (np.arange(100) < 18) | ((np.arange(100) >= 20) & (np.arange(100) < 32))
    decided = ~((np.arange(100) >= 32) & (np.arange(100) < 40))
    found = selective(passed, accepted, decided, np.arange(100) % 25)
    assert found["coverage"].value == 0.92
    assert found["fpr"].value == pytest.approx(12 / 72)
    assert found["fdr"].value == pytest.approx(0.4)
    assert found["generalised_risk"].value == pytest.approx(0.12)


def test_equal_coverage() -> None:
    found = risk_coverage(P, LOSS)
    assert risk_at_coverage(found, 0.5) == pytest.approx(2 / 5)
    assert risk_at_coverage(found, 0.1) is None  # the tie at .95 is two of ten


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=300), st.integers(0, 99))
@settings(deadline=None, max_examples=50)
def test_properties(rows: list[tuple[float, bool]], seed: int) -> None:
    score, loss = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    found = risk_coverage(score, loss, limit=20)
    order = np.random.default_rng(seed).permutation(len(rows))
    again = risk_coverage(score[order], loss[order], limit=20)
    assert again.aurc == pytest.approx(found.aurc)
    assert found.augrc is not None
    assert found.aurc is not None
    assert 0 <= found.augrc <= found.aurc <= 1
    assert len(found.points) <= 20
    assert found.points[-1].risk == pytest.approx(loss.mean())
    assert found.points[-1].coverage == 1
