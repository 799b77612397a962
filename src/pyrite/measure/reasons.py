"""Why a number or an interval is null: the reason codes of an estimate, in words."""

from __future__ import annotations

REASONS = {
    "no_negatives": "none failed",
    "no_positives": "none passed",
    "no_such_failures": "no such failures",
    "no_such_passes": "no such passes",
    "no_silent_failures": "no failure without a message",
    "no_complete_runs": "no runs to compare",
    "no_verdicts": "no verdicts",
    "no_exchange": "no two tasks of one size, and one outcome in each task",
    "no_opposite": "no message that can be turned round",
    "no_scored_episodes": "no determinate outcome",
    "nothing_accepted": "nothing accepted",
    "no_episodes": "no episodes",
    "single_cluster": "all of one task",
    "no_variation": "no variation between tasks",
    "no_difference": "not one verdict differs",
    "unstable_resamples": "too few tasks to resample",
}


def words(reason: str | None) -> str:
    """A reason code in words; a reason that is words already stays as it is.

    >>> words("single_cluster"), words("some_other"), words(None)
    ('all of one task', 'some other', 'unknown')
    """
    return REASONS.get(reason, reason.replace("_", " ")) if reason else "unknown"
