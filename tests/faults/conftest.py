"""One bench for many small tasks: everything is written first, then verified once, in one go."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pyrite.records import SCHEMA_VERSION, Truth
from pyrite.store.bench import Bench
from pyrite.tasks import archive
from pyrite.tasks.folder import FolderTask, load_folder
from pyrite.truth.replay import ReplayResult
from pyrite.truth.verify import verify
from pyrite.truth.verify_report import VerifyReport

VERIFY = """
from pyrite.checks.compare import Number, compare
from pyrite.checks.verdict import Result, main

def check(home):
    note = home / "note.txt"
    if not note.is_file():
        return Result(False)
    return compare(note.read_text(), "12", Number(units=("kg",))).result()

main(check)
"""
"""The note must say 12, with or without its unit."""
INITIAL = {"note.txt": "old"}
GOOD = {"note.txt": "12 kg"}


class Ground:
    """Writes folder tasks and episodes; the first question about an outcome verifies all of them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bench = Bench.create(root / "bench")
        self.tasks: dict[str, FolderTask] = {}
        self._report: VerifyReport | None = None

    def task(
        self,
        task_id: str,
        verify: str = VERIFY,
        *,
        initial: Mapping[str, str] = INITIAL,
        good: Mapping[str, str] | str | bytes = GOOD,
        bad: Mapping[str, str] = INITIAL,
        setup: str = "",
        **more: Any,
    ) -> FolderTask:
        """A folder task with one good and one bad state: files, a script in Python, or a packed home."""
        folder = self.root / "tasks" / task_id
        (folder / "states").mkdir(parents=True)
        (folder / "setup.sh").write_text(_script(initial) + setup)
        if isinstance(good, bytes):
            (folder / "states" / "good.tar.zst").write_bytes(good)
        elif isinstance(good, str):
            (folder / "states" / "good.py").write_text(good)
        else:
            (folder / "states" / "good.sh").write_text(_script(good))
        (folder / "states" / "bad.sh").write_text(_script(bad))
        (folder / "verify.py").write_text(verify)
        states = [
            {"name": "good", "kind": "good", "outcome": "pass"},
            {"name": "bad", "kind": "bad", "outcome": "fail"},
        ]
        limits = {"timeout_s": 20.0, "memory_mb": 512}
        body = {"instruction": "Write 12 kg into note.txt.", "states": states, "limits": limits, **more}
        (folder / "task.json").write_text(json.dumps(body))
        self.tasks[task_id] = load_folder(folder)
        return self.tasks[task_id]

    def episode(
        self,
        episode_id: str,
        task_id: str,
        files: Mapping[str, str] | None = GOOD,
        *,
        facts: Mapping[str, Any] | None = None,
        actions: tuple[dict[str, Any], ...] = ({"action": "done"},),
        **meta: Any,
    ) -> Path:
        """One episode with the end state of these files; None: it has no end state."""
        folder = self.bench.root / "episodes" / episode_id
        folder.mkdir()
        if files is not None:
            (folder / "final_state.tar.zst").write_bytes(self.packed(files))
        lines = [{"step": n, **action} for n, action in enumerate(actions, start=1)]
        (folder / "actions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        (folder / "final_facts.json").write_text(json.dumps(facts or {}))
        whole = {
            "schema_version": SCHEMA_VERSION,
            "episode_id": episode_id,
            "task_id": task_id,
            "source": "natural",
            "agent": {"name": "an agent"},
            "n_steps": len(lines),
            "created_at": "2026-01-01T00:00:00Z",
            "ended_by": "done",
            **meta,
        }
        (folder / "meta.json").write_text(json.dumps(whole))
        return folder

    def packed(self, files: Mapping[str, str]) -> bytes:
        """A home with these files, as it is archived."""
        with tempfile.TemporaryDirectory(dir=self.root) as made:
            home = Path(made) / "home"
            home.mkdir()
            for path, text in files.items():
                (home / path).write_text(text)
            archive.write(home, Path(made) / "home.tar.zst")
            return (Path(made) / "home.tar.zst").read_bytes()

    @property
    def report(self) -> VerifyReport:
        if self._report is None:
            self._report = verify(self.bench, self.tasks.get, jobs=1, image="image-1")
        return self._report

    def truth(self, episode_id: str) -> Truth:
        """What gt.json says of an episode."""
        assert self.report.episodes
        found = self.bench.truth(episode_id)
        assert found is not None
        return found

    def outcome(self, episode_id: str) -> str:
        """`pass`, `fail`, or the cause and who is to blame."""
        truth = self.truth(episode_id)
        return str(truth.outcome) if truth.cause is None else f"{truth.cause}, {truth.blame}"

    def replayed(self, task_id: str) -> ReplayResult:
        return next(one for one in self.report.replays if one.task_id == task_id)


def _script(files: Mapping[str, str]) -> str:
    return "".join(f"printf %s {shlex.quote(text)} > {shlex.quote(path)}\n" for path, text in files.items())


@pytest.fixture(scope="module")
def make_ground(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Ground]:
    """An empty bench; a module makes one and shares it."""
    return lambda: Ground(tmp_path_factory.mktemp("ground"))
