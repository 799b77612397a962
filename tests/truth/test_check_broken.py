"""Ten broken verifiers: their declared states let each through, and `check` catches it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from pyrite.tasks.folder import FolderTask, load_folder
from pyrite.truth.check import check
from pyrite.truth.mutants.model import FEWEST

BROKEN = Path(__file__).with_name("broken")


def _flaws() -> dict[str, Any]:
    spec = spec_from_file_location("broken_flaws", BROKEN / "flaws.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    found: dict[str, Any] = module.FLAWS
    return found


FLAWS = _flaws()


@pytest.fixture
def lay_out(tmp_path: Path) -> Callable[..., FolderTask]:
    def lay(task: str, name: str, sound: str = "", broken: str = "") -> FolderTask:
        folder = tmp_path / name
        shutil.copytree(BROKEN / task, folder)
        script = folder / "verify.py"
        text = script.read_text(encoding="utf-8")
        assert sound in text
        script.write_text(text.replace(sound, broken) if sound else text, encoding="utf-8")
        return load_folder(folder)

    return lay


@pytest.mark.parametrize("name", ["cell", "answer"])
def test_the_sound_ones_are_green(name: str, lay_out: Callable[..., FolderTask]) -> None:
    found = check(lay_out(name, name), image="here")
    assert found.ok is True, found.faults
    assert len(found.near) >= FEWEST
    assert {near.found for near in found.near} == {"killed"}


def test_ten_of_ten_are_caught(lay_out: Callable[..., FolderTask], record_property: Any) -> None:
    caught = {}
    for name, flaw in FLAWS.items():
        task = lay_out(flaw.task, name, flaw.sound, flaw.broken)
        found = check(task, image="here")
        assert found.replayed is not None
        assert (found.replayed.cause, found.replayed.problems) == (None, ()), name
        assert found.ok is False, name
        assert {fault.kind for fault in found.faults} == {"near_miss"}, (name, found.faults)
        caught[name] = sorted({near.operator for near in found.near if near.found == "survived"})
        assert flaw.caught_by in caught[name], (name, caught[name])
    assert len(caught) == len(FLAWS) == 10
    figure = (
        f"{len(caught)} of {len(FLAWS)} broken verifiers caught, by near-misses alone: {json.dumps(caught)}"
    )
    record_property("figure", figure)
