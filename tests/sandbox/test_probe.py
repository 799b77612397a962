"""What `pyrite doctor` is told."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pyrite.errors import SandboxError
from pyrite.sandbox import bwrap
from pyrite.sandbox.local import LocalBackend
from pyrite.sandbox.probe import _command, capabilities


def test_every_missing_thing_has_a_command_or_none_exists() -> None:
    found = {c.name: c for c in capabilities()}
    assert found["python"].ok is True
    assert {"bubblewrap", "seccomp", "memory bound", "Xvfb", "openbox", "soffice", "fonts"} <= found.keys()
    for capability in found.values():
        assert capability.detail
        assert capability.needed_for
        assert capability.ok is not True or capability.install is None
    for name in ("bubblewrap", "Xvfb", "soffice", "rapidocr"):
        assert found[name].ok or found[name].install


def test_engines_are_not_imported() -> None:
    before = {"rapidocr", "onnxruntime"} & sys.modules.keys()
    capabilities()
    assert {"rapidocr", "onnxruntime"} & sys.modules.keys() == before


@pytest.mark.skipif(bwrap.probe()[0] is None, reason="no bubblewrap")
def test_isolation_is_tried_and_holds() -> None:
    found = {c.name: c for c in capabilities()}
    for name in ("network apart", "files apart", "processes apart", "no user namespaces inside"):
        assert found[name].ok is True, found[name]


def test_without_bubblewrap_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    bwrap.probe.cache_clear()
    monkeypatch.setenv("PYRITE_NO_BWRAP", "1")
    try:
        found = {c.name: c for c in capabilities()}
        assert found["bubblewrap"].ok is False
        assert found["bubblewrap"].install == "make desktop"
        assert "files apart" not in found
        with pytest.raises(SandboxError) as caught:
            LocalBackend()
        assert caught.value.next == "make desktop"
    finally:
        bwrap.probe.cache_clear()


def test_a_foreign_program_of_the_same_name_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = tmp_path / "pyrite"
    foreign.write_text("#!/bin/sh\n")
    foreign.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    command = _command()
    assert command.ok is False
    assert str(foreign) in command.detail
