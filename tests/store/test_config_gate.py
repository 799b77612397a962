"""The limits of the gate and the weights of categories in pyrite.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrite.errors import InputError
from pyrite.store.config import Gate, defaults, load_config


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "pyrite.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_default_limits() -> None:
    found = defaults().asked.gate
    limits = (found.fpr, found.fdr, found.tpr, found.leaky_cell, found.unusable, found.claim_effect)
    assert limits == (0.05, 0.30, 0.60, 0.10, 0.02, 0.05)
    assert (found.consistency, found.indeterminate, found.confidence, found.looks) == (0.90, 0.05, 0.95, 1)


def test_limits_do_not_make_it_another_bench(tmp_path: Path) -> None:
    before = load_config(write(tmp_path, "seed: 1\n"))
    now = load_config(
        write(tmp_path, "seed: 1\ngate: {fpr: 0.1, sampling: one-per-task, success_rate: 0.2}\n")
    )
    assert now.asked.gate == Gate(fpr=0.1, sampling="one-per-task", success_rate=0.2)
    assert now.flat() == before.flat()


@pytest.mark.parametrize(
    ("text", "where", "said"),
    [
        ("gate:\n  fpr: 5\n", ":2", "gate.fpr"),
        ("gate: {fprr: 0.1}\n", ":1", "gate.fprr"),
        ("gate: {sampling: best}\n", ":1", "gate.sampling"),
        ("gate: {looks: 0}\n", ":1", "gate.looks"),
        ("gate: {fpr: .nan}\n", ":1", "gate.fpr"),
        ("gate: 5\n", ":1", "gate"),
        ("metrics: {category_weights: {F-SOON: 1}}\n", ":1", "metrics.category_weights"),
        ("metrics: {category_weights: {F-ABORT: 0}}\n", ":1", "metrics.category_weights"),
        ("metrics: {category_weights: {F-ABORT: -1, F-CLAIM: 2}}\n", ":1", "metrics.category_weights"),
    ],
)
def test_a_limit_that_cannot_be_is_named_with_its_line(
    text: str, where: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        load_config(write(tmp_path, text))
    assert where in caught.value.where
    assert said in caught.value.what


def test_weights_of_categories(tmp_path: Path) -> None:
    found = load_config(write(tmp_path, "metrics: {category_weights: {F-ABORT: 1, F-UNCOMMITTED: 3}}\n"))
    assert found.asked.metrics.category_weights == {"F-ABORT": 1, "F-UNCOMMITTED": 3}
    assert found.flat()["metrics.category_weights.F-UNCOMMITTED"] == 3
