"""What holds across stages: no path from truth to evidence, and evidence that is never stale."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

from pyrite import flow
from pyrite.cli import run as pyrite
from pyrite.errors import UsageError
from pyrite.records import ActionLine, VerdictLine
from pyrite.store.bench import Bench
from pyrite.store.images import save_webp
from pyrite.store.jsonl import append_lines, read_lines
from pyrite.suites.lookup import Lookup


@pytest.fixture
def few(tmp_path: Path) -> Bench:
    """The demo's episodes of one task, the one that has most of them."""
    bench = flow.demo(tmp_path / "bench")
    metas = list(bench.metas())
    ((task, _),) = Counter(sorted(meta.task_id for meta in metas)).most_common(1)
    for meta in metas:
        if meta.task_id != task:
            shutil.rmtree(bench.paths.episode(meta.episode_id).root)
    return bench


def test_a_canary_planted_in_truth_is_in_no_package(few: Bench) -> None:
    flow.verify(few.root)
    for episode_id in few.episode_ids():
        path = few.paths.episode(episode_id).truth
        body = json.loads(path.read_text(encoding="utf-8"))
        body["diagnostics"]["canary"] = "canary-b81f"
        path.write_text(json.dumps(body), encoding="utf-8")
    packing = flow.pack(few.root, conditions="E1-final,E2+claim,E3-full")
    assert packing.leaks == ()
    for path in few.paths.evidence.rglob("*"):
        assert not path.is_file() or b"canary-b81f" not in path.read_bytes()


def test_a_leak_refuses_every_judge_every_time(few: Bench) -> None:
    """A task text with a category code: what a judge must not know has come into the evidence."""
    instruction = Lookup.instruction
    for _ in range(2):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Lookup, "instruction", lambda self, task: f"{instruction(self, task)} F-CLAIM")
            with pytest.raises(UsageError, match="tell a judge what it must not know"):
                flow.judge(few.root, labels="accept-all", conditions="E3-full")
    assert not list(few.paths.verdict_files())
    assert flow.judge(few.root, labels="accept-all", conditions="E1-final").missing == 0


def test_a_word_of_an_agent_leaves_its_episode_out_and_is_told(
    few: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    """An action that names a category code stops no judge, and is no verdict either."""
    episode_id, *others = few.episode_ids()
    actions = few.paths.episode(episode_id).actions
    last = list(read_lines(actions, ActionLine))[-1]
    append_lines(actions, [last.model_copy(update={"step": last.step + 1, "text": "F-UNCOMMITTED"})])
    assert pyrite(["judge", str(few.root), "--judge", "accept-all", "--condition", "E1-final,E3-full"]) == 4
    said = capsys.readouterr().out
    assert (
        f"broken   {episode_id}: E3-full: its agent wrote what no judge may be told: 'F-UNCOMMITTED'" in said
    )
    for condition, shown in (("E1-final", {episode_id, *others}), ("E3-full", set(others))):
        path = few.paths.verdict_file("accept-all", condition)
        assert {line.episode_id for line in read_lines(path, VerdictLine)} == shown


def test_judging_sees_a_screen_that_was_changed_after_packing(few: Bench) -> None:
    flow.judge(few.root, labels="accept-all", conditions="E1-final")
    episode_id = few.episode_ids()[0]
    last = few.actions(episode_id)[-1].screen
    assert last is not None
    save_webp(Image.new("RGB", (1024, 768), (255, 255, 255)), few.inside(episode_id, last))
    again = flow.judge(few.root, labels="accept-all", conditions="E1-final").asked[0]
    assert (again.new, again.kept) == (1, len(few.episode_ids()) - 1)


def test_a_dry_run_writes_nothing(few: Bench) -> None:
    before = sorted(few.root.rglob("*"))
    asked = flow.judge(few.root, labels="accept-all,claim", conditions="E1-final", dry_run=True).asked
    assert sorted(few.root.rglob("*")) == before
    assert [(one.judge, one.supported, one.missing) for one in asked] == [
        ("accept-all", True, len(few.episode_ids())),
        ("claim", False, 0),
    ]


def test_another_seed_is_another_recording(few: Bench) -> None:
    with pytest.raises(UsageError, match="seed 0, now seed is 5"):
        flow.record("desk", few.root, agents="idle", only=next(few.metas()).task_id, seed=5)
