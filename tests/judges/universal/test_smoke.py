"""`universal@eyes=ocr` with the smoke model, offline. What it says is not to be believed."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

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

SMALL = "eyes=ocr,mode=economical,attempts=2,max_tokens=512,max_chars=40,k=1"


def asked(bench: Bench, options: str) -> list[VerdictLine]:
    label = f"universal@{SMALL},{options}"
    code = run(["judge", str(bench.root), "--judge", label, "--gguf", "smoke", "--condition", "E3-full"])
    assert code in {0, 3}
    files = [one for one in bench.paths.verdicts.glob("*.jsonl") if one.name.startswith("universal")]
    return [line for one in files for line in read_lines(one, VerdictLine)]


def process_of(line: VerdictLine) -> dict[str, Any]:
    return dict((line.model_extra or {})["process"])


def rubrics(bench: Bench, *criteria: dict[str, Any]) -> Path:
    """The same rubric for every task: the smoke model can fill in a form and not write one."""
    rubric = {"items": [{**one, "justification": "", "earned_points": ""} for one in criteria]}
    instruction = Lookup(bench).instruction
    rows = [{"ques": instruction(meta.task_id), "precomputed_rubric": rubric} for meta in bench.metas()]
    path = bench.root / "rubrics.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def only(bench: Bench, most: int) -> None:
    """Keep the shortest episodes."""
    shortest = sorted(bench.metas(), key=lambda meta: (meta.n_steps, meta.episode_id))[:most]
    for episode_id in {path.name for path in bench.paths.episodes.iterdir()}:
        if episode_id not in {meta.episode_id for meta in shortest}:
            shutil.rmtree(bench.paths.episode(episode_id).root)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """The three shortest episodes of the demo, judged by nobody, with caches of their own."""
    monkeypatch.setenv("PYRITE_CACHE", str(tmp_path / "cache"))
    found = flow.demo(tmp_path / "demo")
    only(found, 3)
    return found


ITEM = {"criterion": "The change", "description": "It is there.", "max_points": 2}


@pytest.mark.slow
def test_three_episodes_end_to_end(bench: Bench, record_property: Callable[[str, str], None]) -> None:
    """One criterion, given: actions alone, relevance, evidence, reality, rescoring, side effects, outcome."""
    started = time.monotonic()
    lines = asked(bench, f"diagnosis=off,rubrics={rubrics(bench, ITEM)}")
    seconds = time.monotonic() - started
    assert len(lines) == 3
    calls = sum(line.usage["calls"] for line in lines)
    decided = sum(process_of(line)["outcome"] is not None for line in lines)
    told = f"{calls} calls, {seconds:.0f} s, {decided} of 3 with an outcome"
    record_property("figure", f"universal with the smoke model, 3 episodes, offline: {told}")
    for line in lines:
        record_property("reason", line.reason)
        process = process_of(line)
        assert process["calls"]["relevance"] >= 1
        assert process["calls"]["actions_only"] == 1
        assert (process["outcome"] is None) == (line.verdict == "parse_error")


@pytest.mark.slow
def test_the_other_steps_on_one_episode(bench: Bench, record_property: Callable[[str, str], None]) -> None:
    """Two criteria with conditions and the diagnosis; then a rubric that the model has to write itself.

    Each step that is reached is answered, or is a fault that says so: which it is depends on the model.
    """
    only(bench, 1)
    either = {**ITEM, "criterion": "One way", "condition": "it was done one way"}
    other = {**ITEM, "criterion": "The other way", "condition": "it was done the other way"}
    (line,) = asked(bench, f"rubrics={rubrics(bench, either, other)}")
    process = process_of(line)
    steps = set(process["calls"])
    assert {"actions_only", "relevance", "task_with_record", "task_alone"} <= steps
    failed = {one["step"].partition(" ")[0] for one in process["faults"]}
    if process["halted"] is None:
        assert {"evidence", "conditions", "reality", "rescoring", "failures"} <= steps
    else:
        assert process["halted"].partition(" ")[0] in failed
    told = f"{', '.join(sorted(steps))}; failed: {', '.join(sorted(failed)) or 'none'}"
    record_property("figure", f"universal with the smoke model, one episode, steps asked: {told}")
    shutil.rmtree(bench.paths.verdicts)
    (line,) = asked(bench, "diagnosis=off")
    written = process_of(line)
    assert written["calls"]["rubric"] >= 1
    assert written["halted"] == "rubric" or written["rubric"]["source"] == "generated"
    assert (written["outcome"] is None) == (line.verdict == "parse_error")
    record_property("figure", f"universal with the smoke model, a rubric of its own: {line.reason[:80]}")
