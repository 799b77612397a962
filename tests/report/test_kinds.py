"""Failure categories on the page and in the terminal: expected beside measured."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest
from tests.measure.conftest import MadeBench

from pyrite.cli import run
from pyrite.report import kinds
from pyrite.store.bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """20 unsaved (12 accepted), 20 given up (1 accepted), 4 claims (all accepted)."""
    made = MadeBench(Bench.create(tmp_path / "bench"))
    lines = []
    for start, category, accepted, n in (
        ("u", "F-UNCOMMITTED", 12, 20),
        ("g", "F-ABORT", 1, 20),
        ("c", "F-CLAIM", 4, 4),
    ):
        for at in range(n):
            made.episode(f"{start}{at:02d}", f"t{at}", "fail", category=category)
            lines.append((f"{start}{at:02d}", "success" if at < accepted else "failure"))
    made.verdicts("j", "E1-final", lines)
    made.verdicts("accept-all", "E1-final", [(name, "success") for name, _ in lines])
    return made.bench


def test_the_page_has_a_row_a_category(bench: Bench, lab: Any) -> None:
    assert run(["report", str(bench.root), "--quiet"]) == 0
    page = bench.paths.report_html.read_text(encoding="utf-8")
    lab.safe(lab.page(page))
    table = re.search(r'<table class="forest kind">.*?</table>', page, re.DOTALL)
    assert table is not None
    rows = re.findall(r'<th scope="row"><span class="mono">(.*?)</span>.*?</tr>', table.group(), re.DOTALL)
    assert rows == ["F-UNCOMMITTED", "F-CLAIM", "F-ABORT"]
    text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", table.group())).replace("\u202f", " ").split())
    assert "60.0 %" in text
    assert "12 / 20 more often as expected" in text
    assert "4 / 4 less often null: n < 10, no rate" in text
    assert "accept-all" not in text


def test_the_terminal_says_the_same(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["measure", str(bench.root), "--quiet"]) == 0
    out = " ".join(capsys.readouterr().out.split()).replace("\u202f", " ")
    assert "kinds j, E1-final: as expected against the other kind: F-ABORT (easy) −55.0 pp [" in out
    assert "F-UNCOMMITTED (hard) +39.2 pp [" in out
    assert "F-CLAIM" not in out[out.index("kinds") :]


def test_a_declared_mix_stands_below(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.update_lock(metrics={"category_weights": {"F-UNCOMMITTED": 0.5, "F-ABORT": 0.5}})
    assert run(["measure", str(bench.root), "--quiet"]) == 0
    assert "FPR at the declared mix of categories 32.5\u202f%" in capsys.readouterr().out
    assert run(["report", str(bench.root), "--quiet"]) == 0
    assert "at the declared mix" in bench.paths.report_html.read_text(encoding="utf-8")


def test_without_categories_there_is_no_table(tmp_path: Path) -> None:
    assert kinds.kinds({"health": None}) is None
    made = MadeBench(Bench.create(tmp_path / "b"))
    for at in range(3):
        made.episode(f"e{at}", f"t{at}", "fail")
    made.verdicts("j", "E1-final", [(f"e{at}", "success") for at in range(3)])
    assert run(["report", str(made.bench.root), "--quiet"]) == 0
    assert '<table class="forest kind">' not in made.bench.paths.report_html.read_text(encoding="utf-8")
