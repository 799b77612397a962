"""The card of a recorded set says what lies in the bench."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from pyrite import flow
from pyrite.records import HARD_NEGATIVES, Outcome, Truth
from pyrite.stages import card
from pyrite.store.bench import Bench
from pyrite.store.jsonl import write_record


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Ten tasks of the shipped thirty, verified; tests that change it take a copy."""
    found = flow.demo(tmp_path_factory.mktemp("card") / "demo")
    defects = {meta.task_id: meta.perturbation for meta in found.metas() if meta.perturbation}
    kept = sorted(defects, key=lambda task: (defects[task] != "drop-save", task))[:10]
    for meta in list(found.metas()):
        if meta.task_id not in kept:
            shutil.rmtree(found.paths.episode(meta.episode_id).root)
    flow.verify(found.root)
    return found


def rows(text: str, title: str) -> dict[str, list[str]]:
    """The rows of one table, by their first cell."""
    part = text.split(f"## {title}\n")[1].split("\n## ")[0]
    cells = [[one.strip() for one in line.strip("|").split("|")] for line in part.splitlines() if "|" in line]
    return {line[0]: line[1:] for line in cells[2:]}


def test_every_count_is_of_the_bench(bench: Bench) -> None:
    text = card.text(bench, "full")
    found = [(bench.meta(name), bench.truth(name)) for name in bench.episode_ids()]
    truths = [(meta, truth) for meta, truth in found if truth is not None]
    failed = [(meta, truth) for meta, truth in truths if truth.outcome is Outcome.FAIL]
    hard = [(meta, truth) for meta, truth in failed if truth.category in HARD_NEGATIVES]
    assert len(hard) > 1
    assert f"{len(truths)} episodes on {len({m.task_id for m, _ in truths})} tasks" in text
    assert f"fail {len(failed)}" in text
    assert f"look like success) {len(hard)}, on {len({m.task_id for m, _ in hard})} tasks" in text
    sources = rows(text, "By source")
    assert sum(int(line[0]) for line in sources.values()) == len(truths)
    assert int(sources["perturbed"][2]) == sum(m.source == "perturbed" for m, _ in failed)
    assert sum(int(n) for (n,) in rows(text, "By category").values()) == len(failed)
    agreement = rows(text, "Category against injected defect")
    assert int(agreement["drop-save"][0]) == sum(m.perturbation == "drop-save" for m, _ in failed)
    assert all(int(line[1]) <= int(line[0]) for line in agreement.values())
    probe = rows(text, "Whether work was unsaved at the end")
    assert sum(int(n) for n in next(iter(probe.values()))) > 0
    told = re.search(r"Told by: (.*)\.", text)
    assert told
    assert sum(int(n) for n in re.findall(r"(\d+) of", told.group(1))) == len(failed)


def test_what_is_not_known_is_counted(bench: Bench, tmp_path: Path) -> None:
    other = flow.demo(tmp_path / "demo")
    assert f"not verified or not readable {len(other.episode_ids())} of" in card.text(other, "full")
    digest = card.data_digest(bench)
    assert digest != card.data_digest(other), "an outcome belongs to what figures are made from"


def test_the_digest_moves_with_one_outcome(bench: Bench, tmp_path: Path) -> None:
    other = Bench(shutil.copytree(bench.root, tmp_path / "demo"))
    before = card.data_digest(other)
    name = next(n for n in other.episode_ids() if (t := other.truth(n)) and t.outcome is Outcome.FAIL)
    path = other.paths.episode(name).truth
    body = {**json.loads(path.read_text()), "outcome": "pass", "pass": True, "category": None}
    path.write_text(json.dumps(body))
    assert card.data_digest(other) != before


def test_a_name_of_somebody_is_text_of_a_cell(tmp_path: Path) -> None:
    bench = flow.demo(tmp_path / "demo")
    meta = next(meta for meta in bench.metas() if meta.source == "scripted")
    agent = meta.agent.model_copy(update={"name": "x | y\n# Title <script>\x1b[31m"})
    write_record(bench.paths.episode(meta.episode_id).meta, meta.model_copy(update={"agent": agent}))
    truth = Truth.model_validate({"episode_id": meta.episode_id, "outcome": "pass", "pass": True})
    write_record(bench.paths.episode(meta.episode_id).truth, truth)
    text = card.text(bench, "full")
    assert "<script>" not in text
    assert "\x1b" not in text
    assert "\n# Title" not in text
    assert "x &#124; y # Title &#60;script&#62; &#91;31m" in text
