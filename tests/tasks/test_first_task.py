"""The tutorial of the first task: every command in it runs, in its order, and ends as it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from pyrite.errors import SandboxError
from pyrite.records import Launch
from pyrite.sandbox import apps
from pyrite.sandbox.local import LocalBackend

TUTORIAL = Path(__file__).resolve().parents[2] / "docs" / "tutorials" / "first-task.md"
BLOCKS = re.findall(
    r"^```sh ?(\w*)\n(.*?)^```", TUTORIAL.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)
FIRST_ON_DESKTOP = [mark for mark, _ in BLOCKS].index("desktop")


def shell(commands: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-eu", "-c", commands],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_command_stands_in_a_block_that_is_run() -> None:
    text = TUTORIAL.read_text(encoding="utf-8")
    assert text.count("```") == 2 * len(BLOCKS)
    assert {mark for mark, _ in BLOCKS} == {"", "fails", "desktop"}


@pytest.fixture(scope="module")
def up_to_the_desktop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the tutorial stands before its first command that needs the desktop; tests take a copy."""
    folder = tmp_path_factory.mktemp("tutorial")
    run_through(folder, BLOCKS[:FIRST_ON_DESKTOP])
    return folder


@pytest.mark.desktop
def test_the_tutorial_runs_from_end_to_end(tmp_path: Path, up_to_the_desktop: Path) -> None:
    """With the desktop; what needs none is run in the test below, wherever it is."""
    try:
        if isinstance(wrong := apps.command(Launch(app="xterm")), str):
            raise SandboxError(wrong, next="make desktop")
        LocalBackend()
    except SandboxError as exc:
        if os.environ.get("PYRITE_REQUIRE_DESKTOP") == "1":
            raise
        pytest.skip(f"no desktop here: {exc.what}")
    folder = shutil.copytree(up_to_the_desktop, tmp_path / "tutorial")
    run_through(folder, BLOCKS[FIRST_ON_DESKTOP:])
    found = shell("pyrite outcomes runs/first", folder).stdout
    assert "scripted" in found
    assert "perturbed" in found


def test_what_needs_no_desktop_runs(tmp_path: Path, up_to_the_desktop: Path) -> None:
    folder = shutil.copytree(up_to_the_desktop, tmp_path / "tutorial")
    run_through(folder, [(mark, text) for mark, text in BLOCKS[FIRST_ON_DESKTOP:] if mark != "desktop"])


def run_through(folder: Path, blocks: Sequence[tuple[str, str]]) -> None:
    for mark, commands in blocks:
        done = shell(commands, folder)
        expected = 1 if mark == "fails" else 0
        assert done.returncode == expected, f"{commands}\n{done.stdout}\n{done.stderr}"
