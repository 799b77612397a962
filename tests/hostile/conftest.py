"""A bench of hostile episodes, worked on by the real command line, and proof that nothing else changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pyrite.records import SCHEMA_VERSION
from pyrite.store.bench import Bench
from pyrite.tasks import archive

NOTE = '''
"""The note must say 4500 and the list must be left alone."""
import json, os, pathlib, sys
home = pathlib.Path(sys.argv[1])
def text(name):
    path = home / name
    return path.read_text() if path.is_file() and not path.is_symlink() else None
note, other = text("note.txt"), text("list.txt")
category = ["F-ABORT", "F-CLAIM", "F-UNCOMMITTED"] if note == "old" else []
passed = note == "4500" and other == "a\\n"
print(json.dumps({"pass": passed, "category": category, "diagnostics": {"found": note}}))
'''


_MEASURED = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[2:]).returncode
open(sys.argv[1], "w").write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code)
"""
# a small process in between: one that is started from here would count the memory of the tests as its own


@dataclass(frozen=True)
class Ran:
    """A command that was run as a process of its own."""

    code: int
    out: str
    err: str
    seconds: float
    peak_mb: float
    """The largest resident size that it or a child of it had."""

    @property
    def document(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Ground:
    """One bench below `root`, and beside it a file that nobody may touch."""

    root: Path

    @property
    def bench(self) -> Bench:
        return Bench.create(self.root / "bench")

    @property
    def temporary(self) -> Path:
        return self.root / "tmp"

    def task(self, task_id: str, *, verify: str = NOTE, setup: str = "", **more: Any) -> Path:
        """A folder task of the bench: the note must say 4500."""
        folder = self.root / "bench" / "tasks" / task_id
        (folder / "states").mkdir(parents=True)
        (folder / "setup.sh").write_text(f"printf old > note.txt\nprintf 'a\\n' > list.txt\n{setup}")
        (folder / "states" / "good.sh").write_text("printf 4500 > note.txt\n")
        (folder / "states" / "half.sh").write_text("printf 450 > note.txt\n")
        (folder / "verify.py").write_text(verify)
        states = [
            {"name": "good", "kind": "good", "outcome": "pass"},
            {"name": "half", "kind": "bad", "outcome": "fail"},
        ]
        body = {"instruction": "Write 4500 into note.txt and save it.", "family": "note", "states": states}
        (folder / "task.json").write_text(json.dumps({**body, **more}))
        return folder

    def episode(self, episode_id: str, task_id: str, home: dict[str, bytes] | None, **meta: Any) -> Path:
        """One episode; `home` None: its end state is the caller's to write."""
        folder = self.bench.root / "episodes" / episode_id
        folder.mkdir()
        if home is not None:
            made = self.root / "homes" / episode_id
            for path, content in home.items():
                (made / path).parent.mkdir(parents=True, exist_ok=True)
                (made / path).write_bytes(content)
            made.mkdir(parents=True, exist_ok=True)
            archive.write(made, folder / "final_state.tar.zst")
        (folder / "actions.jsonl").write_text('{"step": 1, "action": "done"}\n')
        body = {
            "schema_version": SCHEMA_VERSION,
            "episode_id": episode_id,
            "task_id": task_id,
            "source": "natural",
            "agent": {"name": "an-agent"},
            "n_steps": 1,
            "created_at": "2026-01-01T00:00:00Z",
            "ended_by": "done",
        }
        (folder / "meta.json").write_text(json.dumps({**body, **meta}))
        return folder

    def pyrite(self, *arguments: str) -> Ran:
        """Run the command line in a process of its own, with a temporary folder of its own."""
        out, err, peak = (self.root / name for name in ("stdout", "stderr", "peak"))
        began = time.monotonic()
        with out.open("wb") as stdout, err.open("wb") as stderr:
            done = subprocess.run(
                [sys.executable, "-c", _MEASURED, str(peak), sys.executable, "-m", "pyrite", *arguments],
                stdout=stdout,
                stderr=stderr,
                env={**os.environ, "TMPDIR": str(self.temporary)},
                check=False,
            )
        seconds = time.monotonic() - began
        peak_mb = int(peak.read_text()) / 1024
        return Ran(done.returncode, out.read_text(), err.read_text(), seconds, peak_mb)

    def verify(self, *arguments: str) -> Ran:
        return self.pyrite("verify", str(self.bench.root), "-j", "1", "--json", *arguments)

    def truth(self, episode_id: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.bench.paths.episode(episode_id).truth.read_text())
        return found

    def beside(self) -> dict[str, bytes | None]:
        """Everything that is not the bench; a folder is None."""
        left = ("bench", "homes", "stdout", "stderr", "peak")
        return {
            str(path.relative_to(self.root)): path.read_bytes() if path.is_file() else None
            for child in self.root.iterdir()
            if child.name not in left
            for path in (child, *child.rglob("*"))
        }


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    found = Ground(tmp_path)
    found.temporary.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("4500")
    (tmp_path / "bench" / "episodes").mkdir(parents=True)
    before = found.beside()
    yield found
    assert found.beside() == before, "nothing is written outside of the bench, nothing is left in TMPDIR"
