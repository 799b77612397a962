"""What a binary judge's errors do to a reward: Youden's J is the strength of the signal.

E[reward | truth] = FPR + J truth with J = TPR - FPR: at J = 0 there is no signal, below it is reversed.
The backward correction (r - FPR) / J makes the reward unbiased, as long as the errors do not depend on
the policy, which optimisation breaks. Source: Natarajan et al. 2013; arXiv 2510.00915 for verifiers.
"""

from __future__ import annotations


def youden(fpr: float | None, tpr: float | None) -> float | None:
    """TPR - FPR; None where either is.

    >>> youden(0.15, 0.9), youden(None, 0.9)
    (0.75, None)
    """
    return None if fpr is None or tpr is None else tpr - fpr


def expected_reward(fpr: float, tpr: float, truth: bool) -> float:
    """Mean reward of an episode that passed or failed, FPR + J truth.

    >>> expected_reward(0.15, 0.9, True), expected_reward(0.15, 0.9, False)
    (0.9, 0.15)
    """
    return tpr if truth else fpr


def corrected_rewards(fpr: float | None, tpr: float | None) -> tuple[float, float] | None:
    """The backward-corrected reward of an accepted and of a rejected episode; None where J is not above 0.

    >>> tuple(round(r, 4) for r in corrected_rewards(0.15, 0.9)), corrected_rewards(0.5, 0.5)
    ((1.1333, -0.2), None)
    """
    strength = youden(fpr, tpr)
    if strength is None or fpr is None or strength <= 0:
        return None
    return (1 - fpr) / strength, -fpr / strength
