"""What a recorded set says of itself."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pyrite import flow
from pyrite.cli import run
from pyrite.episodes.jobs import Recorded, Recording
from pyrite.episodes.shipped import unpack
from pyrite.stages.recording import Filmed


def test_a_whole_set_is_one_json_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = unpack(tmp_path / "demo")
    kept = next(bench.metas()).episode_id
    for name in bench.episode_ids():
        if name != kept:
            shutil.rmtree(bench.paths.episode(name).root)
    new = Recorded(kept, "task", "scripted", None, "done", 3.5)
    verified = flow.verify(bench.root)
    assert verified.replays, "a state of each task stands in it"
    filmed = Filmed(
        Recording(bench.root, (new,), 0), Recording(bench.root, (), 4), verified, bench.root / "c"
    )
    monkeypatch.setattr(flow, "record_plan", lambda *args, **more: filmed)
    assert run(["record", "desk", "--plan", "full", "-o", str(bench.root), "--json", "-q"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["recorded"]["new"][0]["episode_id"] == kept
    assert document["perturbed"]["kept"] == 4
    assert sum(document["verified"]["outcomes"].values()) == 1
    assert document["verified"]["replays"][0]["task_id"]
    assert document["card"] == str(bench.root / "c")
