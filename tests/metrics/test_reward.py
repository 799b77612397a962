"""Errors of a judge as errors of a reward."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.metrics import reward

RATE = st.floats(0, 1, allow_nan=False)


def test_examples() -> None:
    assert doctest.testmod(reward).failed == 0


@given(RATE, RATE)
def test_the_corrected_reward_is_unbiased(fpr: float, tpr: float) -> None:
    found = reward.corrected_rewards(fpr, tpr)
    if tpr - fpr <= 0:
        assert found is None
        return
    if tpr - fpr < 1e-6:
        return
    assert found is not None
    accepted, rejected = found
    scale = max(1.0, abs(accepted), abs(rejected))
    assert tpr * accepted + (1 - tpr) * rejected == pytest.approx(1.0, abs=1e-9 * scale)
    assert fpr * accepted + (1 - fpr) * rejected == pytest.approx(0.0, abs=1e-9 * scale)


@given(RATE, RATE)
def test_the_signal_scales_with_j(fpr: float, tpr: float) -> None:
    found = reward.expected_reward(fpr, tpr, True) - reward.expected_reward(fpr, tpr, False)
    assert found == pytest.approx(reward.youden(fpr, tpr))


def test_what_is_unknown_stays_unknown() -> None:
    assert reward.youden(None, 0.9) is None
    assert reward.corrected_rewards(0.1, None) is None
