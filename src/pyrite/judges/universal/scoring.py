"""Sums, medians and majorities; what is not known stays null and never counts as 0 or as a failure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pyrite.judges.universal.records import Baseline, Grade, Instance, Penalty, Rubric, Seen


@dataclass(frozen=True)
class Score:
    """Points of a rubric. `value` is null where a criterion that counts, or may count, has no grade."""

    earned: float | None
    most: float | None
    value: float | None
    low: float | None
    """What it comes to where everything ungraded earns nothing, and where it earns all; the same if known."""
    high: float | None


NOTHING = Score(None, None, None, None, None)


def score(
    rubric: Rubric,
    points: Sequence[float | None],
    met: Sequence[bool | None],
    penalties: Sequence[Penalty] | None = (),
    ungraded: Collection[int] = (),
) -> Score:
    """Earned over possible points of the criteria that apply; penalties add to what was possible.

    A criterion whose condition does not hold counts in neither. Null where nothing applies.
    """
    earned = most = unknown = 0.0
    maybe = False
    for index, one in enumerate(rubric.criteria):
        if met[index] is False:
            continue
        value = points[index]
        if met[index] is None or value is None or index in ungraded:
            unknown += one.max_points
            maybe = True
            continue
        earned += value
        most += one.max_points
    penalty = sum(one.max_points for one in penalties) if penalties is not None else 0.0
    low_most = most + unknown + penalty
    if low_most <= 0:
        return NOTHING
    low, high = earned / low_most, (earned + unknown) / low_most
    if maybe or penalties is None:
        return Score(None, None, None, low if penalties is not None else None, high)
    return Score(earned, low_most, earned / low_most, low, high)


def median(scores: Sequence[float | None]) -> int | None:
    """The instance at the middle of the sorted scores, ties in order; null without a majority of scores.

    >>> median([0.5, 0.9, 0.7]), median([0.5, None, 0.7]), median([None, None, 0.7])
    (2, 2, None)
    """
    known = [index for index, value in enumerate(scores) if value is not None]
    if len(known) < len(scores) // 2 + 1:
        return None
    ordered = sorted(known, key=lambda index: scores[index] or 0.0)
    return ordered[len(ordered) // 2]


def majority(votes: Sequence[bool | None]) -> bool | None:
    """What holds whatever the votes that are missing would have said; else null.

    >>> majority([True, None, True]), majority([True, None, False]), majority([False])
    (True, None, False)
    """
    enough = len(votes) // 2 + 1
    if sum(vote is True for vote in votes) >= enough:
        return True
    return False if sum(vote is False for vote in votes) >= enough else None


def two_passes(
    rubric: Rubric,
    baseline: Sequence[Baseline],
    grades: Sequence[Grade],
    met: Sequence[bool | None],
    seen: Sequence[Sequence[Seen]],
) -> list[dict[str, Any]]:
    """Where the grade from actions and words differs from the one with the screens.

    Less with the screens: the agent is suspected to have claimed what is not so; the notes of the
    screens that were looked at for it stand beside.
    """
    found = []
    for index, (first, then) in enumerate(zip(baseline, grades, strict=True)):
        if met[index] is False or first.points == then.points:
            continue
        kind: Literal["suspected hallucination", "not told"]
        kind = "suspected hallucination" if then.points < first.points else "not told"
        notes = [one for one in seen[index] if one.discrepancies.strip().rstrip(".").casefold() != "none"]
        found.append(
            {
                "criterion": index,
                "kind": kind,
                "action_only": first.points,
                "with_screens": then.points,
                "difference": then.points - first.points,
                "claimed": first.justification,
                "seen": then.justification,
                "discrepancies": [{"screen": one.screen, "text": one.discrepancies} for one in notes],
            }
        )
    return found


def instance_score(
    instance: Instance, rubric: Rubric, met: Sequence[bool | None], ungraded: Collection[int]
) -> Score:
    """The score of one instance; null where it failed."""
    if instance.grades is None:
        return NOTHING
    points = [None if one.open else one.points for one in instance.grades]
    return score(rubric, points, met, instance.penalties, ungraded)
