"""Training: it finds what is there, says so where nothing is, repeats itself, refuses what is too little."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pyrite.errors import RunError, UsageError
from pyrite.judges.orm import training
from pyrite.judges.orm.features import Features
from pyrite.judges.orm.training import Fitted, fit, require_enough, split_families
from pyrite.judges.orm.weights import Boosted, Logistic
from pyrite.metrics.roc import auc

ODD = "screen.odd"


def drawn(n: int, seed: int, *, rule: str) -> tuple[list[Features], Any, Any]:
    """n episodes of 8 families: features, outcomes, families. `rule` is how the outcome comes about."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(n, 4))
    family = np.arange(n) % 8
    logit = {
        "linear": 2.5 * x[:, 0] - 1.5 * x[:, 1],
        "corner": np.where((x[:, 0] > 0) ^ (x[:, 1] > 0.0), 3.0, -3.0),
        "nothing": np.zeros(n),
    }[rule]
    passed = generator.random(n) < 1 / (1 + np.exp(-logit))
    rows: list[Features] = [
        {
            "screen.one": float(a),
            "screen.two": float(b),
            "actions.three": None if c > 1 else float(c),
            ODD: float(d),
            "screen.constant": 1.0,
        }
        for a, b, c, d in x
    ]
    return rows, passed, family


def auc_of(found: Fitted, rows: list[Features], passed: Any) -> float:
    scores = np.array([found.model.score(row) for row in rows])
    value = auc(scores, passed, np.arange(len(rows))).value
    assert value is not None
    return value


@pytest.mark.parametrize(("rule", "kind"), [("linear", Logistic), ("corner", Boosted)])
def test_it_finds_what_is_there(rule: str, kind: type, record_property: Any) -> None:
    rows, passed, family = drawn(500, 1, rule=rule)
    found = fit(rows, passed, family)
    assert isinstance(found.model.model, kind), found.tried
    assert "screen.constant" not in found.model.features
    others, truth, _ = drawn(500, 2, rule=rule)
    value = auc_of(found, others, truth)
    record_property("figure", f"orm-lite, outcomes by a {rule} rule: AUC {value:.3f} on episodes not seen")
    assert value > 0.85
    assert found.tried[found.chosen] < found.base_loss


def test_where_nothing_is_it_says_the_share() -> None:
    rows, passed, family = drawn(400, 3, rule="nothing")
    found = fit(rows, passed, family)
    scores = np.array([found.model.score(row) for row in drawn(200, 4, rule="nothing")[0]])
    assert abs(scores.mean() - passed.mean()) < 0.05
    assert scores.std() < 0.1


@pytest.mark.parametrize("rule", ["linear", "corner"])
def test_plain_numbers_say_what_scikit_learn_says(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, passed, family = drawn(300, 5, rule=rule)
    kept: list[Any] = []
    plain = training._plain

    def keeping(*args: Any) -> Any:
        kept.append(args)
        return plain(*args)

    monkeypatch.setattr(training, "_plain", keeping)
    found = fit(rows, passed, family)
    fitted, mean, scale = kept[0]
    x = np.array([found.model.filled(row) for row in rows])
    theirs = fitted.decision_function((x - mean) / scale)
    ours = np.array([found.model.model.logit(one) for one in x])
    assert np.abs(theirs - ours).max() < 1e-6


@pytest.mark.parametrize("rule", ["linear", "corner"])
def test_the_same_data_and_seed_give_the_same_weights(rule: str) -> None:
    rows, passed, family = drawn(300, 6, rule=rule)
    assert fit(rows, passed, family, seed=3) == fit(rows, passed, family, seed=3)


def test_what_is_missing_stands_for_the_mean() -> None:
    rows, passed, family = drawn(300, 7, rule="linear")
    model = fit(rows, passed, family).model
    place = model.features.index("actions.three")
    known = [value for row in rows if (value := row["actions.three"]) is not None]
    assert model.fill[place] == pytest.approx(np.mean(known))
    without = {**rows[0], "actions.three": None}
    assert model.score(without) == model.score({**rows[0], "actions.three": model.fill[place]})
    assert all(name != "actions.three" for name, *_ in model.reasons(without, count=9))


def test_families_are_held_out_by_seed_or_by_name() -> None:
    names = {f"f{n}": "" for n in range(9)}
    assert split_families(names, seed=1) == split_families(dict(reversed(names.items())), seed=1)
    assert len(split_families(names, seed=1)) == 3
    assert len({tuple(split_families(names, seed=seed)) for seed in range(9)}) > 1
    assert split_families(names, held_out=["f8", "f2"]) == ["f2", "f8"]
    with pytest.raises(UsageError, match="'f77'"):
        split_families(names, held_out=["f77"])
    with pytest.raises(UsageError, match="3 of 5 families") as caught:
        split_families({f"f{n}": "" for n in range(5)})
    assert "at least 4" in caught.value.expected


@given(sizes=st.lists(st.integers(1, 12), min_size=1, max_size=6), seed=st.integers(0, 99))
def test_every_domain_gives_its_share(sizes: list[int], seed: int) -> None:
    names = {f"d{d}-f{n}": f"d{d}" for d, size in enumerate(sizes) for n in range(size)}
    assume(len(names) >= 6)
    chosen = split_families(names, seed=seed)
    assert len(chosen) == math.ceil(len(names) / 3)
    counts = [sum(names[one] == f"d{d}" for one in chosen) for d in range(len(sizes))]
    shares = list(zip(counts, sizes, strict=True))
    assert max((n - 1) / size for n, size in shares) <= min((n + 1) / size for n, size in shares)


@pytest.mark.parametrize(("failed", "passed", "named"), [(49, 90, "49 failed"), (90, 3, "3 passed")])
def test_too_few_are_refused_with_the_number_needed(failed: int, passed: int, named: str) -> None:
    with pytest.raises(UsageError, match=named) as caught:
        require_enough(np.array([False] * failed + [True] * passed), "to train on")
    assert "at least 50" in caught.value.expected


def test_features_that_do_not_differ_are_refused() -> None:
    rows: list[Features] = [{"a": 1.0, "b": None} for _ in range(200)]
    with pytest.raises(UsageError, match="no feature differs"):
        fit(rows, np.arange(200) % 2 == 0, np.arange(200) % 8)


def test_without_scikit_learn_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def gone(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == "sklearn":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", gone)
    with pytest.raises(RunError, match="scikit-learn") as caught:
        fit(*drawn(200, 8, rule="linear"))
    assert "pyrite[orm]" in caught.value.next
