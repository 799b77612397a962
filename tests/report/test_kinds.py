"""Failure categories on the page and in the terminal: expected beside measured."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest
from tests.measure.conftest import MadeBench

from pyrite.cli import run
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
    made = MadeBench(Bench.create(tmp_path / "b"))
    for at in range(3):
        made.episode(f"e{at}", f"t{at}", "fail")
    made.verdicts("j", "E1-final", [(f"e{at}", "success") for at in range(3)])
    assert run(["report", str(made.bench.root), "--quiet"]) == 0
    page = made.bench.paths.report_html.read_text(encoding="utf-8")
    assert '<table class="forest kind">' not in page
    assert "<h3>By kind of failure<" in page, "what is not known of a category is counted still"


def rows_of(table: str) -> list[tuple[str, str]]:
    """(judge, condition) of each row group or row of a table of kinds, in order."""
    found, condition = [], ""
    for group, aside, name in re.findall(
        r'<th scope="rowgroup" class="condition"[^>]*><bdi>(.*?)</bdi>'
        r'(?:<span class="aside"><bdi>(.*?)</bdi>)?'
        r'|<th scope="row"[^>]*><bdi>(.*?)</bdi>',
        table,
    ):
        if aside:
            found.append((group, aside))
        elif group:
            condition = group
        else:
            found.append((name, condition))
    return found


def test_each_count_stands_once_and_judges_keep_their_order(tmp_path: Path) -> None:
    made = MadeBench(Bench.create(tmp_path / "b"))
    rates = {"alpha": 2, "beta": 9, "gamma": 6, "delta": 4, "claim": 5, "accept-all": 20, "reject-all": 0}
    names = [f"{kind}{at:02d}" for kind in "ug" for at in range(20)]
    for name in names:
        category = "F-UNCOMMITTED" if name[0] == "u" else "F-ABORT"
        made.episode(name, f"t{name[1:]}", "fail", category=category)
    for judge, accepted in rates.items():
        lines = [(name, "success" if int(name[1:]) < accepted else "failure") for name in names]
        made.verdicts(judge, "E1-final", lines)
        if judge in {"alpha", "beta"}:
            made.verdicts(judge, "E3-full", lines)
    assert run(["report", str(made.bench.root), "--quiet"]) == 0
    page = made.bench.paths.report_html.read_text(encoding="utf-8")
    drawn = re.search(r'<table class="forest kind">.*?</table>', page, re.DOTALL)
    counted = re.search(r'<table class="list kinds">.*?</table>', page, re.DOTALL)
    assert drawn is not None
    assert counted is not None
    first, rest = rows_of(drawn.group()), rows_of(counted.group())
    assert first == [(judge, "E1-final") for judge in ("beta", "gamma", "delta")], "the highest FPR first"
    assert rest == [
        ("alpha", "E1-final"),
        ("claim", "E1-final"),
        ("beta", "E3-full"),
        ("alpha", "E3-full"),
    ]
    assert "The other judges by kind of failure" in page
    assert page.count('<table class="list kinds">') == 1
    assert "look" not in counted.group(), "counts are no rate"
    assert re.findall(r"Which episodes\? <bdi>(\w+)</bdi>", page) == ["beta", "gamma", "delta", "alpha"]
