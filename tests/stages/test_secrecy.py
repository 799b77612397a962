"""Canaries that are planted in truth and task: found wherever they lie, and in no package."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pyrite.episodes.claims import opposite
from pyrite.errors import UsageError
from pyrite.evidence.conditions import parse_list
from pyrite.evidence.packing import pack
from pyrite.stages.secrecy import canaries, refuse_leaks, secrets
from pyrite.store.jsonl import write_json

if TYPE_CHECKING:
    from tests.conftest import Episodes

ALL = (
    "E1-final,E1-final+claim,E1-final+swap,E2-last1,E2-last4,E2+claim,E2+swap,E2+thoughts,E2+claim+thoughts,"
    "E2+swap+thoughts,E3-full,E3-full+claim,E3-full+swap,E3-full+thoughts,E3-full+claim+thoughts"
)
PLACES = {
    "gt.json": "canary-truth-1f2e3d",
    "gt.0a0b0c0d.json": "canary-earlier-1f2e3d",
    "meta.json": "canary-meta-1f2e3d",
    "final_facts.json": "canary-facts-1f2e3d",
    "labels.jsonl": "canary-label-1f2e3d",
    "verify.py": "canary-verifier-1f2e3d",
    "task.json": "canary-task-1f2e3d",
}


@pytest.fixture
def planted(episodes: Episodes) -> Episodes:
    """One episode with a canary in every place that no judge may see."""
    done = [{"action": "type", "text": "4500", "thought": "D14"}, {"action": "done", "thought": "saved"}]
    episodes.add("ep_1", done, final_message="Saved.", note=PLACES["meta.json"])
    bench = episodes.bench
    truth = {"episode_id": "ep_1", "outcome": "fail", "pass": False}
    write_json(bench.paths.episode("ep_1").truth, {**truth, "diagnostics": {"found": PLACES["gt.json"]}})
    root = bench.paths.episode("ep_1").root
    write_json(root / "gt.0a0b0c0d.json", {**truth, "diagnostics": {"found": PLACES["gt.0a0b0c0d.json"]}})
    write_json(root / "final_facts.json", {"windows": [{"title": PLACES["final_facts.json"]}]})
    label = {"episode_id": "ep_1", "annotator": "a", "comment": PLACES["labels.jsonl"]}
    bench.paths.labels.write_text(json.dumps(label) + "\n", encoding="utf-8")
    task = bench.paths.tasks / "a-task"
    task.mkdir(parents=True)
    (task / "verify.py").write_text(f"# {PLACES['verify.py']}\n", encoding="utf-8")
    write_json(task / "task.json", {"instruction": "Do it.", "comment": PLACES["task.json"]})
    return episodes


def test_no_canary_is_in_any_package_of_any_condition(planted: Episodes) -> None:
    bench = planted.bench
    meta = bench.meta("ep_1")
    assert set(canaries(bench, meta)) == set(PLACES.values())
    found = pack(
        bench, parse_list(ALL), lambda task: "Do it.", lambda one: secrets(bench, one), opposite=opposite
    )
    assert (len(found.entries), found.leaks, found.broken) == (15, (), {})
    for path in bench.paths.evidence.rglob("*"):
        if path.is_file():
            assert b"canary" not in path.read_bytes(), path


@pytest.mark.parametrize("place", sorted(PLACES))
def test_a_canary_that_reaches_a_package_stops_the_judging(planted: Episodes, place: str) -> None:
    bench, canary = planted.bench, PLACES[place]
    found = pack(
        bench,
        parse_list("E1-final"),
        lambda task: f"Do it ({canary}).",
        lambda one: secrets(bench, one),
    )
    assert {leak.secret for leak in found.leaks} == {canary}
    with pytest.raises(UsageError, match="must not know"):
        refuse_leaks(bench.root, found)


def test_a_canary_that_nobody_planted_stops_nothing(planted: Episodes) -> None:
    """Its word stands in meta.json because the agent said it."""
    bench, done = planted.bench, [{"action": "type", "text": "canary-5f0c2b"}, {"action": "done"}]
    planted.add("ep_2", done, final_message="canary-5f0c2b: saved", task_id="another")
    assert "canary-5f0c2b" not in canaries(bench, bench.meta("ep_2"))
    found = pack(
        bench, parse_list(ALL), lambda task: "Do it.", lambda one: secrets(bench, one), opposite=opposite
    )
    assert (len(found.entries), found.leaks, found.broken) == (30, (), {})
    refuse_leaks(bench.root, found)


def test_a_window_of_the_agent_leaves_its_episode_out(planted: Episodes) -> None:
    bench, title = planted.bench, PLACES["final_facts.json"]
    planted.add("ep_2", [{"action": "done"}], final_message="Saved.", task_id="another")
    root = bench.paths.episode("ep_2").root
    write_json(root / "final_facts.json", {"windows": [{"title": title}]})
    paths = bench.paths.episode("ep_2")
    row = json.loads(paths.actions.read_text(encoding="utf-8"))
    paths.actions.write_text(json.dumps({**row, "action": title}) + "\n", encoding="utf-8")
    found = pack(
        bench, parse_list("E1-final,E3-full"), lambda task: "Do it.", lambda one: secrets(bench, one)
    )
    assert list(found.broken) == ["ep_2"]
    assert len(found.entries) == 3
    refuse_leaks(bench.root, found)
