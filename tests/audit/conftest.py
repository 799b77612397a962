"""Task definitions of our own making, in the schemas of the benchmarks that are read."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

INPUT = {"url": "https://a.example/in.xlsx", "path": "/home/user/s.xlsx"}
TASK: dict[str, Any] = {
    "id": "one",
    "snapshot": "calc",
    "instruction": "Sum the column and save.",
    "config": [
        {"type": "download", "parameters": {"files": [INPUT]}},
        {"type": "open", "parameters": {"path": "/home/user/s.xlsx"}},
    ],
    "evaluator": {
        "func": "compare_table",
        "result": {"type": "vm_file", "path": "/home/user/s.xlsx", "dest": "s.xlsx"},
        "expected": {"type": "cloud_file", "path": "https://a.example/gold.xlsx", "dest": "gold.xlsx"},
    },
}  # fmt: skip


class Made:
    """A folder of OSWorld tasks that a test writes."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def task(self, name: str = "one", domain: str = "calc", **changes: Any) -> dict[str, Any]:
        """Write a sound task with changes at the top level; `evaluator__x` changes the evaluator."""
        data = copy.deepcopy(TASK)
        data["id"] = name
        for key, value in changes.items():
            place, field = (data["evaluator"], key[11:]) if key.startswith("evaluator__") else (data, key)
            if value is ...:
                place.pop(field, None)
            else:
                place[field] = value
        self.text(name, json.dumps(data), domain)
        return data

    def text(self, name: str, text: str | bytes, domain: str = "calc") -> Path:
        """Write any bytes where a task belongs."""
        path = self.root / "examples" / domain / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path / "bench")


@pytest.fixture(scope="session")
def shared() -> Callable[[str], Path]:
    """Third-party data beside the checkout; a test that needs what is not there is skipped."""
    root = Path(os.environ.get("PYRITE_SHARED") or Path(__file__).resolve().parents[2].parent / "shared")

    def find(name: str) -> Path:
        path = root / "data" / name
        if not path.exists():
            pytest.skip(f"no data at {path} (set PYRITE_SHARED)")
        return path

    return find
