"""The how-to of the adapters: its code runs as it stands there."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest

HOWTO = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "adapters.md"
SECTIONS = HOWTO.read_text(encoding="utf-8").split("\n## ")
BLOCKS = [
    (section.split("\n", 1)[0], code)
    for section in SECTIONS
    for code in re.findall(r"```python\n(.*?)```", section, re.DOTALL)
]


@pytest.mark.parametrize(("title", "code"), BLOCKS, ids=[title.split()[0] for title, _ in BLOCKS])
def test_the_example_runs(title: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "import gymnasium" in code:
        pytest.importorskip("gymnasium")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert "assert" in code
    exec(compile(code, f"{HOWTO.name}: {title}", "exec"), {})


def test_every_example_was_found() -> None:
    assert len(BLOCKS) == HOWTO.read_text(encoding="utf-8").count("```python") == 5
