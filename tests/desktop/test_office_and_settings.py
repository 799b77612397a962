"""Writer and two settings on the real desktop: what a competent agent does there passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrite import flow
from pyrite.records import Category, Launch, Outcome
from pyrite.sandbox import apps
from pyrite.sandbox.local import LocalBackend
from pyrite.store.bench import Bench

pytestmark = pytest.mark.desktop


def need(*names: str) -> None:
    for name in names:
        wrong = apps.command(Launch(app=name))
        if isinstance(wrong, str):
            pytest.skip(wrong)


def outcomes(root: Path) -> dict[str, tuple[Outcome, Category | None]]:
    """Task and what was done -> what came of it."""
    bench = Bench(root)
    found = {}
    for meta in bench.metas():
        truth = bench.truth(meta.episode_id)
        assert truth is not None
        found[f"{meta.task_id} {meta.perturbation or meta.agent.name}"] = (truth.outcome, truth.category)
    return found


def test_a_title_is_set_and_the_same_without_saving_is_not(backend: LocalBackend, tmp_path: Path) -> None:
    need("writer")
    task, root = "writer-style-harbour-title-size", tmp_path / "bench"
    flow.record("desk", root, agents="scripted", only=task)
    flow.perturb(root, kinds="drop-save")
    flow.verify(root)
    assert outcomes(root) == {
        f"{task} scripted": (Outcome.PASS, None),
        f"{task} drop-save": (Outcome.FAIL, Category.UNCOMMITTED),
    }


@pytest.mark.parametrize("task", ["mousepad-tab-width", "office-settings-company"])
def test_a_setting_reaches_the_disk(backend: LocalBackend, task: str, tmp_path: Path) -> None:
    need("writer", "mousepad")
    root = tmp_path / "bench"
    flow.record("desk", root, agents="scripted,idle", only=task)
    flow.verify(root)
    assert outcomes(root) == {
        f"{task} scripted": (Outcome.PASS, None),
        f"{task} idle": (Outcome.FAIL, Category.CLAIM),
    }
