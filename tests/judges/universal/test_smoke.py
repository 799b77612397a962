"""`universal@eyes=ocr` with the smoke model: every step, offline. What it says is not to be believed."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pyrite import flow
from pyrite.cli import run
from pyrite.judges.local import smoke
from pyrite.records import VerdictLine
from pyrite.store.bench import Bench
from pyrite.store.jsonl import read_lines
from pyrite.suites.lookup import Lookup

pytest.importorskip("xllamacpp", reason="needs pip install 'pyrite[local-llm]'")
if smoke.find() is None:
    pytest.skip(f"needs {smoke.NEXT}", allow_module_level=True)

SMALL = "eyes=ocr,mode=economical,attempts=2,max_tokens=512,max_chars=40,k=1,diagnosis=off"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """The three shortest episodes of the demo, judged by nobody, with caches of their own."""
    monkeypatch.setenv("PYRITE_CACHE", str(tmp_path / "cache"))
    found = flow.demo(tmp_path / "demo")
    shortest = sorted(found.metas(), key=lambda meta: (meta.n_steps, meta.episode_id))[:3]
    for episode_id in {path.name for path in found.paths.episodes.iterdir()}:
        if episode_id not in {meta.episode_id for meta in shortest}:
            shutil.rmtree(found.paths.episode(episode_id).root)
    return found


@pytest.mark.slow
def test_three_episodes_end_to_end(bench: Bench, record_property: Callable[[str, str], None]) -> None:
    """With a rubric that was given: the smoke model can fill in a form and not write one."""
    item = {"criterion": "The change", "description": "It is there.", "max_points": 2}
    rubric = {"items": [{**item, "justification": "", "earned_points": ""}]}
    instruction = Lookup(bench).instruction
    rows = [{"ques": instruction(meta.task_id), "precomputed_rubric": rubric} for meta in bench.metas()]
    path = bench.root / "rubrics.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    label = f"universal@{SMALL},rubrics={path}"
    started = time.monotonic()
    code = run(["judge", str(bench.root), "--judge", label, "--gguf", "smoke", "--condition", "E3-full"])
    seconds = time.monotonic() - started
    assert code in {0, 3}
    files = [one for one in bench.paths.verdicts.glob("*.jsonl") if one.name.startswith("universal")]
    lines = [line for one in files for line in read_lines(one, VerdictLine)]
    assert len(lines) == 3
    calls = sum(line.usage["calls"] for line in lines)
    decided = sum((line.model_extra or {})["process"]["outcome"] is not None for line in lines)
    told = f"{calls} calls, {seconds:.0f} s, {decided} of 3 with an outcome"
    record_property("figure", f"universal with the smoke model, 3 episodes, offline: {told}")
    for line in lines:
        record_property("reason", line.reason)
        process = (line.model_extra or {})["process"]
        assert process["calls"]["relevance"] >= 1
        assert process["calls"]["actions_only"] == 1
        assert (process["outcome"] is None) == (line.verdict == "parse_error")
