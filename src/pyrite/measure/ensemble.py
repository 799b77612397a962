"""Ensembles after the fact: what judges said of an episode, made into one verdict. Nobody is asked anew.

    majority(a+b+c)      more than half of the judges say it
    weighted(2*a+b+c)    more than half of the weights do
    unanimous(a+b+c)     a success only where all say so; one failure is enough for a failure
    any(a+b+c)           a success where one says so; a failure only where all do
    cascade(a>b)         b is asked about what a accepts, and its word counts there; what a rejects stays so

A judge that is not there has no vote, and where that vote could decide the ensemble has no verdict either.
Uncertain and unreadable answers are votes for neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyrite.errors import UsageError
from pyrite.measure.table import FAILURE, MISSING, PARSE_ERROR, SUCCESS, UNCERTAIN, Codes8, Flags

RULES = ("majority", "unanimous", "any", "weighted", "cascade")
MEMBERS = 2
"""Judges that an ensemble has at least."""


@dataclass(frozen=True)
class Ensemble:
    """A rule and its members, in the order in which a cascade asks them."""

    rule: str
    members: tuple[str, ...]
    weights: tuple[float, ...] = ()
    """One a member, for `weighted` only."""

    @property
    def label(self) -> str:
        """The name that it goes by, as a judge does.

        >>> Ensemble("cascade", ("a", "b")).label, Ensemble("weighted", ("a", "b"), (2, 1)).label
        ('cascade(a>b)', 'weighted(2*a+1*b)')
        """
        names = list(self.members)
        if self.weights:
            names = [f"{_shortest(weight)}*{name}" for weight, name in zip(self.weights, names, strict=True)]
        return f"{self.rule}({('>' if self.rule == 'cascade' else '+').join(names)})"

    def of(self, said: Mapping[str, Codes8]) -> Codes8:
        """The verdict of each episode from those of the members, by name.

        >>> said = {"a": np.array([1, 1, 0, -1]), "b": np.array([1, 0, 0, 1]), "c": np.array([0, 2, -1, 1])}
        >>> Ensemble("majority", ("a", "b", "c")).of(said).tolist()
        [1, 2, 0, 1]
        >>> Ensemble("cascade", ("a", "b")).of(said).tolist()
        [1, 0, 0, -1]
        """
        matrix = np.stack([said[name] for name in self.members]).astype(np.int8)
        if self.rule == "cascade":
            return _cascade(matrix)
        if self.rule == "unanimous":
            return _decided(matrix, (matrix == SUCCESS).all(axis=0), (matrix == FAILURE).any(axis=0))
        if self.rule == "any":
            return _decided(matrix, (matrix == SUCCESS).any(axis=0), (matrix == FAILURE).all(axis=0))
        weights = np.array(self.weights or (1.0,) * len(self.members))
        half = weights.sum() / 2 + _SLACK
        accept, reject, gone = (weights @ (matrix == code) for code in (SUCCESS, FAILURE, MISSING))
        could = (np.maximum(accept, reject) + gone) > half
        return _decided(matrix, accept > half, reject > half, could)

    def consulted(self, said: Mapping[str, Codes8]) -> dict[str, int]:
        """How many episodes each member is needed for: in a cascade, those that all before it accept."""
        reached: Flags = np.ones(len(said[self.members[0]]), dtype=np.bool_)
        found = {}
        for name in self.members:
            found[name] = int(reached.sum())
            if self.rule == "cascade":
                reached = reached & (said[name] == SUCCESS)
        return found


def _shortest(weight: float) -> str:
    """A number in the fewest digits that are it and no other.

    >>> _shortest(2.0), _shortest(1.0000001)
    ('2', '1.0000001')
    """
    short = f"{weight:g}"
    return short if float(short) == weight else repr(float(weight))


_SLACK = 1e-9
"""Of a sum of weights: half of 0.1 + 0.2 is not exceeded by 0.15."""


def parse(rules: Sequence[str], members: Sequence[str], weights: Sequence[float] = ()) -> list[Ensemble]:
    """The ensembles of these rules. `UsageError` for an unknown rule, one judge, weights that do not fit."""
    if len(set(members)) != len(members) or len(members) < MEMBERS:
        raise UsageError(
            f"an ensemble of {', '.join(members) or 'nobody'}", expected="two judges or more, each once"
        )
    unknown = [rule for rule in rules if rule not in RULES]
    if unknown or not rules:
        raise UsageError(f"no rule {', '.join(unknown)!r}", expected=", ".join(RULES))
    wanted = "weighted" in rules
    if wanted and (fault := _fault(members, weights)):
        raise UsageError(
            fault,
            expected="weighted takes --weights, a number of 0 or more a judge, with a finite sum above 0",
        )
    if weights and not wanted:
        raise UsageError("weights without the rule weighted", expected="--rule weighted")
    own = {"weighted": tuple(weights)}
    return [Ensemble(rule, tuple(members), own.get(rule, ())) for rule in dict.fromkeys(rules)]


def _fault(members: Sequence[str], weights: Sequence[float]) -> str | None:
    """What is wrong with the weights, or None.

    >>> _fault("ab", (-1, 2)), _fault("ab", (0, 0)), _fault("ab", (2, 1))
    ('a weight of -1', 'all weights are 0', None)
    """
    if not weights:
        return "weighted without weights"
    if len(weights) != len(members):
        return f"{len(weights)} weights for {len(members)} judges"
    wrong = [one for one in weights if not 0 <= one < float("inf")]
    if wrong:
        return f"a weight of {wrong[0]:g}"
    if sum(weights) == 0:
        return "all weights are 0"
    return None if sum(weights) < float("inf") else "weights whose sum is too large for a number"


def _decided(matrix: Codes8, success: Flags, failure: Flags, could: Flags | None = None) -> Codes8:
    """`could`: whether those that are missing could decide; without it, they always could."""
    missing: Flags = (matrix == MISSING).any(axis=0)
    if could is not None:
        missing = missing & could
    neither: NDArray[np.int64] = np.where(missing, MISSING, UNCERTAIN)
    found: Codes8 = np.where(success, SUCCESS, np.where(failure, FAILURE, neither)).astype(np.int8)
    return found


def _cascade(matrix: Codes8) -> Codes8:
    found: Codes8 = matrix[0].copy()
    for stronger in matrix[1:]:
        found = np.where(found == SUCCESS, stronger, found).astype(np.int8)
    return np.where(found == PARSE_ERROR, UNCERTAIN, found).astype(np.int8)
