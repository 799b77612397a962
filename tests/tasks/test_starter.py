"""The task that `init` writes works as it is."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from pyrite.errors import UsageError
from pyrite.tasks import starter
from pyrite.truth.replay import replay


def test_it_passes_replay_as_it_is(tmp_path: Path) -> None:
    task = starter.start("my-task", tmp_path / "tasks")
    found = replay(task, image="here")
    assert (found.cause, found.problems) == (None, ())
    assert {check.kind for check in found.checks} == {"initial", "good", "harmless", "bad"}
    assert all(check.ok for check in found.checks)
    assert len({code for check in found.checks for code in check.answer.candidates}) >= 6
    assert list((tmp_path / "tasks").iterdir()) == [task.folder]


def test_its_verifier_needs_the_standard_library_alone(tmp_path: Path) -> None:
    folder = starter.start("my-task", tmp_path).folder
    tree = ast.parse((folder / "verify.py").read_text(encoding="utf-8"))
    names = {
        alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    } | {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


@pytest.mark.parametrize(
    ("content", "passes"),
    [
        (b"fruit,price\napples,2.10\npears,4.50\nplums,3.20\n", True),
        (b'\xef\xbb\xbffruit,price\r\napples,2.10\r\n"pears", 4.5 \r\nplums,3.20\r\n', True),
        (b"fruit,price\napples,2.10\npears,4.50\n", False),
        (b"fruit,price\napples,2.10\npears,nan\nplums,3.20\n", False),
        (b"fruit,price\napples,2.10\npears,4.50\npears,1\nplums,3.20\n", False),
        (b"\xff\xfe\x00", False),
        (b'"pears', False),
        (b"", False),
        (b"x" * (2 << 20), False),
    ],
)
def test_whatever_the_agent_leaves_is_an_answer(content: bytes, passes: bool, tmp_path: Path) -> None:
    folder = starter.start("my-task", tmp_path / "tasks").folder
    home = tmp_path / "home" / "Documents"
    home.mkdir(parents=True)
    (home / "prices.csv").write_bytes(content)
    (home / "notes.txt").write_bytes((folder / "files" / "notes.txt").read_bytes())
    done = subprocess.run(
        [sys.executable, "verify.py", str(home.parent)], cwd=folder, capture_output=True, check=True
    )
    said = json.loads(done.stdout)
    assert said["pass"] is passes
    assert (said["category"] is None) or not passes


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    starter.start("my-task", tmp_path)
    (tmp_path / "my-task" / "verify.py").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="there already"):
        starter.start("my-task", tmp_path)
    assert (tmp_path / "my-task" / "verify.py").read_text(encoding="utf-8") == "mine"
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="there already"):
        starter.start("dangling", tmp_path)


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "-x", "a b", "x" * 101, "a\n"])
def test_a_name_that_no_task_can_have_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a task's name"):
        starter.start(name, tmp_path / "tasks")
    assert not (tmp_path / "tasks").exists()


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "tasks").write_text("x", encoding="utf-8")
    for out in (tmp_path / "tasks", tmp_path / "tasks" / "below"):
        with pytest.raises(UsageError, match="not a folder"):
            starter.start("my-task", out)
