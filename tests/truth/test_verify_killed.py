"""A verification that is killed at any moment loses nothing; one without bubblewrap says so."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import sys
from pathlib import Path
from pyrite.store.bench import Bench
from pyrite.tasks.folder import load_folders
from pyrite.truth.verify import verify
tasks = {task.spec.task_id: task for task in load_folders(Path(sys.argv[2]))}
bench = Bench(Path(sys.argv[1]))
with bench.exclusive():
    print(verify(bench, tasks.get, jobs=1, image="here").text())
"""


def start(bench: Path, tasks: Path, *, kill_after: float | None = None, **env: str) -> tuple[int, str]:
    """Run the program; SIGKILL it after a while, if it still runs. Returns exit code and output."""
    argv = [sys.executable, "-c", PROGRAM, str(bench), str(tasks)]
    scratch = tasks.parent / "scratch"
    scratch.mkdir(exist_ok=True)
    variables = {**os.environ, "TMPDIR": str(scratch), **env}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=variables) as process:
        try:
            text, _ = process.communicate(timeout=kill_after or 60)
        except subprocess.TimeoutExpired:
            process.kill()
            text, _ = process.communicate()
    return process.returncode, text


def answers(bench: Path) -> dict[str, Any]:
    """All that verify wrote, without times."""
    found = {}
    for path in sorted(bench.rglob("*")):
        if path.name.startswith("gt") or "partial" in path.name:
            body = json.loads(path.read_text())
            body.pop("verified_at")
            body["replay"].pop("at")
            found[str(path.relative_to(bench))] = body
    return found


@pytest.fixture
def benches(episodes: Any, make_task: Any) -> tuple[Path, Path, Path]:
    """A bench, an equal one, and the folder of their tasks."""
    for number in range(8):
        files = episodes.GOOD if number % 2 else episodes.INITIAL
        episodes.add(f"k{number}", files, task_id=f"note-{number % 2}", unsaved=False)
    made = [make_task(f"note-{number}") for number in range(2)]
    copy = episodes.bench.root.parent / "copy"
    shutil.copytree(episodes.bench.root, copy)
    return episodes.bench.root, copy, made[0].folder.parent


def test_killed_at_random_moments(benches: tuple[Path, Path, Path]) -> None:
    undisturbed, killed, tasks = benches
    assert start(undisturbed, tasks)[0] == 0
    chance = random.Random(4500)
    killed_runs = sum(
        start(killed, tasks, kill_after=chance.uniform(0.3, 1.2))[0] == -signal.SIGKILL for _ in range(5)
    )
    assert killed_runs
    (killed / "episodes" / "k3" / ".gt.json.1.partial").write_text("{")
    assert start(killed, tasks)[0] == 0
    left = answers(killed)
    assert len(left) == 8
    assert left == answers(undisturbed)


def test_without_bubblewrap_the_answers_are_the_same_and_it_is_said(benches: tuple[Path, Path, Path]) -> None:
    confined, plain, tasks = benches
    code, text = start(plain, tasks, PYRITE_NO_BWRAP="1")
    assert code == 0
    assert "not confined: switched off by PYRITE_NO_BWRAP" in text
    assert start(confined, tasks)[0] == 0
    without, within = answers(plain), answers(confined)
    assert {body.pop("confinement")["backend"] for body in without.values()} == {"none"}
    for body in within.values():
        body.pop("confinement")
    assert without == within
