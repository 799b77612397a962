"""Screens with recorded readings, and the state of a machine without an OCR engine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.judges.client.fault_server import FaultServer

from pyrite.judges import ocr

SCREENS = Path(__file__).resolve().parent / "screens"


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of this test's own."""
    monkeypatch.setenv("PYRITE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "ocr"


@pytest.fixture
def no_engine(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No OCR engine is installed; the shipped readings are those of the test screens."""
    monkeypatch.setattr(ocr, "engine", lambda name="rapidocr": None)
    monkeypatch.setattr(ocr, "shipped_file", lambda: SCREENS / "readings.jsonl.zst")


@pytest.fixture
def reference_screens() -> Path:
    """The screens that lie beside the project, or a skip."""
    shared = os.environ.get("PYRITE_SHARED") or Path(__file__).resolve().parents[2].parent / "shared"
    folder = Path(shared) / "reference" / "screens"
    if not folder.is_dir():
        pytest.skip(f"no reference screens at {folder} (set PYRITE_SHARED)")
    return folder


@pytest.fixture
def endpoint() -> Iterator[FaultServer]:
    """An endpoint on loopback that answers, wrongly where it is told to."""
    with FaultServer() as server:
        yield server
