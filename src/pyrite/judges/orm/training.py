"""Fit the weights of orm-lite: arrays in, a model out; scikit-learn is needed here and nowhere else.

Families are split, never episodes: tasks of one family look alike. Among a few plain models the one that
says most of families it has not seen is taken, and its probabilities are calibrated on those too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrite.errors import RunError, UsageError
from pyrite.judges.orm.features import Features
from pyrite.judges.orm.weights import Boosted, Logistic, Model, Tree

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

NEEDED = 50
"""Failed episodes, and passed ones, to train on: about two a feature of the last screen and the actions."""
FAMILIES = 4
"""Families to train on, so that a model can be tried on families it has not seen."""
FOLDS = 5
HELD_OUT = 1 / 3
STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0)
"""Inverse strength of the ridge of the logistic regressions that are tried."""
TREES = (40, 120)
"""Numbers of trees of depth 2 that are tried."""
_RATE, _LEAF, _DIGITS, _CLIP = 0.1, 8, 12, 1e-6


@dataclass(frozen=True)
class Fitted:
    """A model and how it was chosen."""

    model: Model
    chosen: str
    tried: dict[str, float]
    """Every model that was tried -> its log loss on families that it had not seen."""
    base_loss: float
    """The log loss of saying the share that passed, always."""


def split_families(families: Mapping[str, str], *, held_out: Sequence[str] = (), seed: int = 0) -> list[str]:
    """The families to hold out: those named, else a third, drawn by seed from every domain alike. Sorted.

    `families` says the domain of each ("" for none). Raises `UsageError` for a name that no family has,
    and where too few are left to train on.
    """
    known = sorted(set(families))
    unknown = sorted(set(held_out) - set(known))
    if unknown:
        raise UsageError(f"no episode is of the family {unknown[0][:80]!r}", expected=", ".join(known[:40]))
    if held_out:
        chosen = sorted(set(held_out))
    else:
        chosen = sorted(_spread(families, seed)[: math.ceil(len(known) * HELD_OUT)])
    left = len(known) - len(chosen)
    if left < FAMILIES:
        raise UsageError(
            f"{left} of {len(known)} families are left to train on",
            expected=f"at least {FAMILIES}, beside those that are held out",
            next="pyrite record desk -o BENCH",
        )
    return chosen


def _spread(families: Mapping[str, str], seed: int) -> list[str]:
    """All families in an order whose beginnings hold about the same share of each domain."""
    random = np.random.default_rng([seed, 8])
    places: list[tuple[float, float, str]] = []
    for domain in sorted(set(families.values())):
        own = sorted(name for name in families if families[name] == domain)
        order = random.permutation(len(own))
        places += [((place + 0.5) / len(own), random.random(), own[at]) for place, at in enumerate(order)]
    return [name for _, _, name in sorted(places)]


def require_enough(passed: Flags, what: str) -> None:
    """Raise `UsageError` where there are too few failed or passed episodes, with the number needed."""
    counts = {"failed": int((~passed).sum()), "passed": int(passed.sum())}
    for name, count in counts.items():
        if count < NEEDED:
            raise UsageError(
                f"{count} {name} episodes {what}",
                expected=f"at least {NEEDED} that failed and {NEEDED} that passed",
                next="pyrite perturb BENCH" if name == "failed" else "pyrite record desk -o BENCH",
            )


def fit(rows: Sequence[Features], passed: Flags, family: NDArray[np.integer], *, seed: int = 0) -> Fitted:
    """Choose and fit a model; one entry an episode, `family` holds codes. The same seed, the same model.

    Raises `RunError` without scikit-learn, `UsageError` where every feature is constant.
    """
    require_sklearn()
    names, x, fill = _matrix(rows)
    folds = _folds(x, family)
    tried: dict[str, tuple[float, Floats]] = {}
    makers = _makers(seed)
    for name, make in makers.items():
        out = np.zeros(len(x))
        for train, test in folds:
            out[test] = _logits(make, x[train], passed[train], x[test])
        tried[name] = (_loss(out, passed), out)
    chosen = min(tried, key=lambda name: round(tried[name][0], 9))
    slope, offset = _calibrated(tried[chosen][1], passed)
    scaled, mean, scale = _standardised(x)
    fitted = makers[chosen]()
    fitted.fit(scaled, passed)
    model = Model(
        features=tuple(names),
        fill=_rounded(fill),
        model=_plain(fitted, mean, scale),
        slope=_round(slope),
        offset=_round(offset),
    )
    share = float(passed.mean())
    base = -(share * math.log(share) + (1 - share) * math.log(1 - share))
    return Fitted(model, chosen, {name: loss for name, (loss, _) in tried.items()}, base)


def require_sklearn() -> None:
    """Raise `RunError` where scikit-learn is not installed."""
    try:
        import sklearn  # noqa: F401
    except ImportError as exc:
        raise RunError(
            "training needs scikit-learn, which is not installed",
            expected="the extra `orm`; judging needs numpy alone",
            next="pip install 'pyrite[orm]'",
        ) from exc


def _matrix(rows: Sequence[Features]) -> tuple[list[str], Floats, Floats]:
    """Names, values with gaps filled by the mean, and the means; constant features are left out."""
    names, columns, fill = [], [], []
    for name in rows[0]:
        known = [value for row in rows if (value := row[name]) is not None]
        if len(set(known)) < 2:
            continue
        mean = _round(math.fsum(known) / len(known))
        names.append(name)
        fill.append(mean)
        columns.append([mean if (value := row[name]) is None else value for row in rows])
    if not names:
        raise UsageError("no feature differs between these episodes", expected="episodes of several tasks")
    return names, np.array(columns, dtype=np.float64).T, np.array(fill)


def _folds(x: Floats, family: NDArray[np.integer]) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    from sklearn.model_selection import GroupKFold

    count = min(FOLDS, len(np.unique(family)))
    return list(GroupKFold(count).split(x, groups=family))


def _makers(seed: int) -> dict[str, Callable[[], Any]]:
    """Name -> a fresh estimator; the plainest first, so that it wins a draw."""
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    found: dict[str, Callable[[], Any]] = {}
    for strength in STRENGTHS:
        name = f"logistic regression, C {strength:g}"
        found[name] = partial(LogisticRegression, C=strength, max_iter=5000, tol=1e-8)
    for count in TREES:
        found[f"gradient boosting, {count} trees"] = partial(
            GradientBoostingClassifier,
            n_estimators=count,
            max_depth=2,
            learning_rate=_RATE,
            min_samples_leaf=_LEAF,
            random_state=seed,
        )
    return found


def _standardised(x: Floats) -> tuple[Floats, Floats, Floats]:
    mean, scale = x.mean(axis=0), x.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    return (x - mean) / scale, mean, scale


def _logits(make: Callable[[], Any], x: Floats, passed: Flags, other: Floats) -> Floats:
    """Logits of other rows by a model fitted here; a fold of one outcome says the share of both."""
    if passed.all() or not passed.any():
        return np.full(len(other), math.log((passed.sum() + 0.5) / ((~passed).sum() + 0.5)))
    scaled, mean, scale = _standardised(x)
    found: Floats = make().fit(scaled, passed).decision_function((other - mean) / scale)
    return found


def _loss(logits: Floats, passed: Flags) -> float:
    p = np.clip(1 / (1 + np.exp(-np.clip(logits, -40, 40))), _CLIP, 1 - _CLIP)
    return float(-np.where(passed, np.log(p), np.log(1 - p)).mean())


def _calibrated(logits: Floats, passed: Flags) -> tuple[float, float]:
    """Slope and offset that make logits of unseen families fit; 1 and 0 where they rank nothing."""
    from sklearn.linear_model import LogisticRegression

    found = LogisticRegression(C=1e4, max_iter=5000, tol=1e-8).fit(logits[:, None], passed)
    slope = float(found.coef_[0, 0])
    return (slope, float(found.intercept_[0])) if slope > 0 else (1.0, 0.0)


def _plain(fitted: Any, mean: Floats, scale: Floats) -> Logistic | Boosted:
    """An estimator of scikit-learn as plain numbers."""
    if hasattr(fitted, "coef_"):
        return Logistic(
            mean=_rounded(mean),
            scale=_rounded(scale),
            weight=_rounded(fitted.coef_[0]),
            intercept=_round(float(fitted.intercept_[0])),
        )
    share = float(fitted.init_.class_prior_[1])
    trees = [_tree(one.tree_, mean, scale) for one in fitted.estimators_[:, 0]]
    return Boosted(base=_round(math.log(share / (1 - share))), trees=tuple(trees))


def _tree(found: Any, mean: Floats, scale: Floats) -> Tree:
    """A tree on standardised features as one on plain features."""
    leaf = found.children_left < 0
    asks = np.where(leaf, 0, found.feature)
    cut = np.where(leaf, 0.0, found.threshold * scale[asks] + mean[asks])
    return Tree(
        feature=tuple(np.where(leaf, -1, found.feature).tolist()),
        threshold=tuple(cut.tolist()),
        left=tuple(found.children_left.tolist()),
        right=tuple(found.children_right.tolist()),
        value=_rounded(found.value[:, 0, 0] * _RATE),
    )


def _round(value: float) -> float:
    """Twelve digits: what differs between two runs of the same arithmetic is below them."""
    return float(f"{value:.{_DIGITS}g}")


def _rounded(values: Floats) -> tuple[float, ...]:
    return tuple(_round(float(value)) for value in values)
