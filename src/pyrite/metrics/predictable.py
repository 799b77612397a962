"""Can a label be told from columns? A small tree, tried on groups it has not seen, against shuffled labels.

The AUC of a tree on other groups has no known distribution, so what it would be by chance is found by
shuffling the labels and doing all of it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyrite.errors import RunError

Floats = NDArray[np.float64]
Codes = NDArray[np.integer]
Split = tuple[NDArray[np.intp], NDArray[np.intp]]

FOLDS = 5
DEPTH, LEAF = 5, 5
FEWEST = 5
"""Episodes of a class below which it is not asked for."""


@dataclass(frozen=True)
class Predicted:
    """How well a label is told, and what chance would give."""

    auc: float | None
    """On groups not seen; of several classes the mean of each against the others. None where undecidable."""
    baseline: float | None
    """Mean of the same over shuffled labels."""
    high: float | None
    """What 95 % of them do not exceed."""
    p: float | None
    """(1 + shuffles that do at least as well) / (1 + shuffles)."""
    n: int
    reason: str | None = None


def predictable(x: Floats, label: Codes, group: Codes, *, shuffles: int = 299, seed: int = 0) -> Predicted:
    """Whether `label` can be told from the columns of x on groups that were not seen; one row an episode.

    Columns that differ by group, as labels do, look a little better than shuffled labels: a leak that is
    found in them is to be looked at. None with a reason for columns that are all constant, for one class,
    and for fewer than two groups.
    Raises `RunError` without scikit-learn.
    """
    counts = np.bincount(label)
    asked = np.flatnonzero(counts >= FEWEST)
    moving = (x != x[:1]).any(axis=0) if len(x) else np.zeros(0, dtype=bool)
    reason = (
        "one_class"
        if len(asked) < 2
        else "one_group"
        if len(np.unique(group)) < 2
        else "constant"
        if not moving.any()
        else None
    )
    if reason:
        return Predicted(None, None, None, None, len(x), reason)
    kept = np.isin(label, asked)
    columns, codes, groups = _ranked(x[kept][:, moving]), label[kept], group[kept]
    splits = _splits(groups)
    found = _auc(columns, codes, splits)
    generator = np.random.default_rng([seed, 11])
    chance = np.array([_auc(columns, generator.permutation(codes), splits) for _ in range(shuffles)])
    return Predicted(
        auc=found,
        baseline=float(chance.mean()),
        high=float(np.quantile(chance, 0.95)),
        p=(1 + int((chance >= found - 1e-12).sum())) / (1 + shuffles),
        n=len(codes),
    )


def _ranked(x: Floats) -> Floats:
    """Each column as dense ranks: a tree sees 32 bits, in which the seconds of a day are one number."""
    ranks = [np.unique(column, return_inverse=True)[1] for column in x.T]
    return np.stack(ranks, axis=1).astype(np.float64)


def _splits(group: Codes) -> list[Split]:
    try:
        from sklearn.model_selection import GroupKFold
    except ImportError as exc:
        raise RunError(
            "this needs scikit-learn, which is not installed",
            expected="the extra `orm`",
            next="pip install 'pyrite[orm]'",
        ) from exc
    return list(GroupKFold(min(FOLDS, len(np.unique(group)))).split(group, groups=group))


def _auc(x: Floats, label: Codes, splits: Sequence[Split]) -> float:
    """P(an episode of a class gets a higher share of it than another), ties half; mean over folds, classes.

    Inside a fold only: shares of two folds differ by what was left to train on.
    """
    from sklearn.tree import DecisionTreeClassifier

    found = []
    for train, test in splits:
        tree = DecisionTreeClassifier(max_depth=DEPTH, min_samples_leaf=LEAF, random_state=0)
        share = tree.fit(x[train], label[train]).predict_proba(x[test])
        for place, one in enumerate(tree.classes_):
            of_class = label[test] == one
            if of_class.any() and not of_class.all():
                found.append(_rank_auc(share[:, place], of_class))
    return float(np.mean(found)) if found else 0.5


def _rank_auc(score: Floats, of_class: NDArray[np.bool_]) -> float:
    values, place = np.unique(score, return_inverse=True)
    inside = np.bincount(place[of_class], minlength=len(values)).astype(np.float64)
    outside = np.bincount(place[~of_class], minlength=len(values)).astype(np.float64)
    below = np.cumsum(outside) - outside
    return float((inside * (below + outside / 2)).sum() / (inside.sum() * outside.sum()))
