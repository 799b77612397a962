"""A label that columns tell is found, one that they do not is not, and what cannot be asked is None."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from pyrite.errors import RunError
from pyrite.metrics.predictable import _rank_auc, predictable

N, TASKS = 160, 32


def asked(seed: int) -> tuple[Any, Any, Any]:
    """Eight columns of chance, a label of two, and tasks."""
    generator = np.random.default_rng(seed)
    return generator.integers(0, 16, (N, 8)).astype(float), np.arange(N) % 5 % 2, np.arange(N) % TASKS


def test_a_planted_column_is_found() -> None:
    x, label, group = asked(1)
    x[:, 3] = label * 2 + np.random.default_rng(9).normal(size=N)
    found = predictable(x, label, group, shuffles=99)
    assert found.auc is not None
    assert found.p is not None
    assert found.high is not None
    assert found.auc > found.high
    assert found.p == 0.01


def test_seconds_of_one_day_are_told_apart() -> None:
    x, label, group = asked(10)
    x[:, 0] = 1_790_000_000 + label
    assert predictable(x, label, group, shuffles=99).auc == 1.0


def test_a_column_that_tells_nothing_is_as_good_as_chance() -> None:
    n = np.arange(96)
    column, label, group = (n // 12 % 2).astype(float), (n // 12 % 4 < 2).astype(int), n % 12
    found = predictable(column[:, None], label, group, shuffles=99)
    assert found.auc == 0.5
    assert found.p is not None
    assert found.p > 0.3


def test_an_interval_of_an_order_is_found() -> None:
    """As of one kind that was made after the others, and more of them later."""
    x, _, group = asked(2)
    place = np.random.default_rng(3).permutation(N)
    kind = np.select([place < 60, place < 110, place < 130], [0, 1, 2], 1)
    x[:, 0] = place
    found = predictable(x, kind, group, shuffles=99)
    assert found.p == 0.01


def test_chance_is_found_as_often_as_it_should_be(record_property: Any) -> None:
    """Also where the episodes of a task share their label."""
    p = []
    for seed in range(12):
        x, label, group = asked(100 + seed)
        of_task = np.random.default_rng(seed).integers(0, 2, TASKS)[group]
        p += [predictable(x, one, group, shuffles=39).p for one in (label, of_task)]
    low = sum(one is not None and one <= 0.05 for one in p)
    record_property("figure", f"leak test on nothing: p <= 0.05 in {low} of {len(p)}")
    assert low <= 4, "24 tests at 5 %: more than 4 has a probability below 1 %"


@pytest.mark.parametrize("reason", ["one_class", "one_group", "constant"])
def test_what_cannot_be_asked_is_none_with_a_reason(reason: str) -> None:
    x, label, group = asked(4)
    label = np.zeros(N, dtype=int) if reason == "one_class" else label
    group = np.zeros(N, dtype=int) if reason == "one_group" else group
    x = np.ones((N, 3)) if reason == "constant" else x
    found = predictable(x, label, group, shuffles=9)
    assert (found.auc, found.p, found.reason) == (None, None, reason)
    assert predictable(x[:0], label[:0], group[:0]).reason == "one_class"


def test_the_same_seed_gives_the_same_answer() -> None:
    assert predictable(*asked(6), shuffles=19, seed=2) == predictable(*asked(6), shuffles=19, seed=2)


def test_the_auc_is_that_of_scikit_learn() -> None:
    generator = np.random.default_rng(7)
    for _ in range(20):
        score, truth = generator.integers(0, 6, 40).astype(float), generator.random(40) < 0.4
        truth[:2] = [True, False]
        assert _rank_auc(score, truth) == pytest.approx(roc_auc_score(truth, score))


def test_without_scikit_learn_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def gone(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == "sklearn":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", gone)
    with pytest.raises(RunError, match="scikit-learn"):
        predictable(*asked(8))
