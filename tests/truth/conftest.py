"""Small real tasks and episodes: text files, real verifiers in confined child processes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pyrite.records import SCHEMA_VERSION
from pyrite.store.bench import Bench
from pyrite.tasks import archive
from pyrite.tasks.folder import FolderTask, load_folder

VERIFY = '''
"""The note must say 4500; the list must be left alone."""
import json, os, pathlib, sys
home = pathlib.Path(sys.argv[1])
note, other = home / "note.txt", home / "list.txt"
found = note.read_text() if note.is_file() else None
seen = {"expected": "4500", "found": found}
def say(passed, category=None):
    print(json.dumps({"pass": passed, "category": category, "diagnostics": seen}))
    sys.exit()
if found == "4500":
    say(other.is_file() and other.read_text() == "a\\n", "F-SIDEEFFECT")
if found is None:
    say(False)
if found == "4500 EUR":
    say(False, ["F-PARTIAL"])
if other.is_file() and "4500" in other.read_text():
    say(False, "F-WRONGTARGET")
say(False, ["F-ABORT", "F-CLAIM", "F-UNCOMMITTED"] if found == "old" else [])
'''

INITIAL = {"note.txt": "old", "list.txt": "a\n"}
GOOD = {"note.txt": "4500", "list.txt": "a\n"}
NOTHING_DONE = ("F-ABORT", "F-CLAIM", "F-UNCOMMITTED")
STATES: dict[str, tuple[str, dict[str, str], tuple[str, ...]]] = {
    "good": ("good", GOOD, ()),
    "extra_file": ("harmless", {**GOOD, "more.txt": "x"}, ()),
    "untouched": ("bad", INITIAL, NOTHING_DONE),
    "damaged": ("bad", {**GOOD, "list.txt": "b\n"}, ("F-SIDEEFFECT",)),
    "elsewhere": ("bad", {"note.txt": "old", "list.txt": "4500"}, ("F-WRONGTARGET",)),
}
FEW = {name: STATES[name] for name in ("good", "untouched")}


class Note:
    """The standard note task."""

    VERIFY = VERIFY
    INITIAL = INITIAL
    GOOD = GOOD
    STATES = STATES


class NoteTasks(Note):
    """Makes folder tasks with the standard verifier, a good and an untouched state; give others by name."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def __call__(
        self,
        task_id: str = "note-4500",
        *,
        verify: str = VERIFY,
        states: dict[str, tuple[str, dict[str, str], tuple[str, ...]]] = FEW,
        initial: dict[str, str] = INITIAL,
        setup: str = "",
        timeout_s: float = 20.0,
        **more: Any,
    ) -> FolderTask:
        folder = self.root / task_id
        (folder / "states").mkdir(parents=True, exist_ok=True)
        (folder / "setup.sh").write_text(_script(initial) + setup)
        for name, (_, files, _) in states.items():
            (folder / "states" / f"{name}.sh").write_text(_script(files))
        (folder / "verify.py").write_text(verify)
        body = {
            "instruction": "Write 4500 into note.txt and save it.",
            "family": "note",
            "states": [_state(name, kind, category) for name, (kind, _, category) in states.items()],
            "limits": {"timeout_s": timeout_s, "memory_mb": 512},
            **more,
        }
        (folder / "task.json").write_text(json.dumps(body))
        return load_folder(folder)


@pytest.fixture
def make_task(tmp_path: Path) -> NoteTasks:
    return NoteTasks(tmp_path / "made")


def _script(files: dict[str, str]) -> str:
    return "".join(f"printf %s {shlex.quote(text)} > {shlex.quote(path)}\n" for path, text in files.items())


def _state(name: str, kind: str, category: tuple[str, ...]) -> dict[str, Any]:
    if kind != "bad":
        return {"name": name, "kind": kind, "outcome": "pass"}
    return {"name": name, "kind": kind, "outcome": "fail", "category": list(category)}


class Episodes(Note):
    """A bench, and a way to put episodes into it."""

    def __init__(self, root: Path) -> None:
        self.bench = Bench.create(root)

    def add(
        self,
        episode_id: str,
        files: dict[str, str] | None,
        *,
        task_id: str = "note-4500",
        message: str | None = "The note is saved.",
        ended_by: str = "done",
        unsaved: bool | None = None,
        typed: Sequence[str] = (),
        source: str = "scripted",
        agent: str = "scripted",
        **more: Any,
    ) -> Path:
        folder = self.bench.root / "episodes" / episode_id
        folder.mkdir()
        if files is not None:
            home = self.bench.root.parent / f"home-{episode_id}"
            home.mkdir()
            for path, text in files.items():
                (home / path).write_text(text)
            archive.write(home, folder / "final_state.tar.zst")
        lines = [{"step": n, "action": "type", "text": text} for n, text in enumerate(typed, start=1)]
        lines.append({"step": len(lines) + 1, "action": "done" if ended_by == "done" else "fail"})
        (folder / "actions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        (folder / "final_facts.json").write_text(json.dumps({"unsaved": unsaved}))
        meta = {
            "schema_version": SCHEMA_VERSION,
            "episode_id": episode_id,
            "task_id": task_id,
            "source": source,
            "agent": {"name": agent},
            "n_steps": len(lines),
            "created_at": "2026-01-01T00:00:00Z",
            "final_message": message,
            "ended_by": ended_by,
            **more,
        }
        (folder / "meta.json").write_text(json.dumps(meta))
        return folder


@pytest.fixture
def episodes(tmp_path: Path) -> Episodes:
    return Episodes(tmp_path / "bench")
