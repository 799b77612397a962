"""A task of the built-in suite, end to end: its own states as episodes, one confined process each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pyrite.records import Truth
from pyrite.sandbox import confine
from pyrite.store.jsonl import read_record
from pyrite.suites.suite import load_suite
from pyrite.tasks import archive
from pyrite.tasks.task import INITIAL
from pyrite.truth.verify import verify

TASK_ID = "calc-set-cell-q3-budget-d14"
ENDINGS: dict[str, dict[str, Any]] = {
    "e-unsaved": {
        "unsaved": True,
        "typed": ["4500\n"],
        "message": "D14 is set to 4500 and the file is saved.",
    },
    "e-typed": {"unsaved": None, "typed": ["$Q3.D14\n", "4500\n"]},
    "e-idle": {"unsaved": False, "message": "D14 is set to 4500 and the file is saved."},
    "e-quit": {"unsaved": False, "message": "I am giving up. The task is not done.", "ended_by": "fail"},
}


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The initial and the good home of the task, as its suite builds them."""
    out = tmp_path_factory.mktemp("states").resolve()
    finished = confine.run(load_suite("desk").task(TASK_ID).builder(out, [INITIAL, "good"]), writes=[out])
    assert finished.returncode == 0, finished.stderr
    return out


def test_equal_files_get_the_category_of_their_episode(episodes: Any, homes: Path) -> None:
    task = load_suite("desk").task(TASK_ID)
    for number, (name, ending) in enumerate(ENDINGS.items()):
        folder = episodes.add(name, None, task_id=TASK_ID, agent=f"agent-{number}", **ending)
        archive.write(homes / INITIAL, folder / "final_state.tar.zst")
    saved = episodes.add("e-saved", None, task_id=TASK_ID)
    archive.write(homes / "good", saved / "final_state.tar.zst")
    report = verify(episodes.bench, {TASK_ID: task}.get, jobs=1)
    assert [(result.cause, result.problems) for result in report.replays] == [(None, ())]
    found = {
        name: read_record(episodes.bench.paths.episode(name).truth, Truth) for name in (*ENDINGS, "e-saved")
    }
    assert {name: truth.category for name, truth in found.items()} == {
        "e-unsaved": "F-UNCOMMITTED",
        "e-typed": "F-UNCOMMITTED",
        "e-idle": "F-CLAIM",
        "e-quit": "F-ABORT",
        "e-saved": None,
    }
    assert found.pop("e-saved").outcome == "pass"
    assert {truth.outcome for truth in found.values()} == {"fail"}
    assert len({json.dumps([truth.state_sha256, truth.diagnostics]) for truth in found.values()}) == 1
