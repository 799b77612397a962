"""One real task from the desktop to the verdict: recorded, perturbed, verified, judged, measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrite import flow
from pyrite.episodes.claims import claim
from pyrite.records import Category, Outcome
from pyrite.store.bench import Bench

pytestmark = pytest.mark.desktop
TASK = "calc-set-cell-vehicle-costs-e9"


def test_a_competent_agent_passes_and_the_same_without_saving_fails(tmp_path: Path) -> None:
    root = tmp_path / "bench"
    recording = flow.record("desk", root, agents="scripted,idle", only=TASK, workers=2)
    print(f"wall per episode: {[round(one.seconds or 0, 1) for one in recording.new]} s")
    assert recording.lost == 0
    perturbing = flow.perturb(root, kinds="drop-save,save-copy", workers=2)
    assert [one.ended_by for one in perturbing.new] == ["done", "done"]
    assert flow.record("desk", root, agents="scripted,idle", only=TASK).kept == 2, "it resumes"
    flow.verify(root)
    bench = Bench(root)
    seen = {}
    for meta in bench.metas():
        truth = bench.truth(meta.episode_id)
        assert truth is not None
        seen[meta.perturbation or meta.agent.name] = (truth.outcome, truth.category)
        assert meta.enforced is not None
        assert meta.enforced["network"] is True
        assert meta.enforced["filesystem"] is True
    assert seen == {
        "scripted": (Outcome.PASS, None),
        "idle": (Outcome.FAIL, Category.CLAIM),
        "drop-save": (Outcome.FAIL, Category.UNCOMMITTED),
        "save-copy": (Outcome.FAIL, Category.WRONGTARGET),
    }
    flow.judge(root, labels="accept-all,claim", conditions="E1-final,E2+claim")
    result = flow.measure(root)
    counts = result["strata"]["perturbed"]["conditions"]["E2+claim"]["judges"]["claim"]["counts"]
    messages = [meta.final_message for meta in bench.metas() if meta.source == "perturbed"]
    asserted = sum(claim(message) == "asserted" for message in messages)
    assert (counts["fp"], counts["tn"], counts["missing"]) == (asserted, 2 - asserted, 0)
