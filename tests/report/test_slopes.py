"""The slopes of agents and the gate on the page."""

from __future__ import annotations

import doctest
import itertools
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.measure.conftest import MadeBench

from pyrite.cli import run
from pyrite.report import gate_words, slopes
from pyrite.report.write import write
from pyrite.store.bench import Bench


@pytest.mark.parametrize("module", [slopes, gate_words])
def test_examples(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


@given(st.lists(st.floats(20, 180, allow_nan=False), max_size=10))
def test_labels_stand_apart_and_in_order(heights: list[float]) -> None:
    places = slopes.apart(heights)
    ordered = sorted(places)
    assert all(b - a >= 14 - 1e-6 for a, b in itertools.pairwise(ordered))
    for i, a in enumerate(heights):
        for j, b in enumerate(heights):
            if a < b:
                assert places[i] < places[j]
    if all(abs(a - b) >= 14 for i, a in enumerate(heights) for b in heights[:i]):
        assert places == pytest.approx(heights)


@pytest.fixture
def bench(tmp_path: Any) -> Bench:
    """Two natural agents on 20 tasks; the judge likes the worse one, whose name is hostile."""
    made = MadeBench(Bench.create(tmp_path / "bench"))
    lines: list[tuple[str, str]] = []
    for agent, passes, accepted in (("good", 14, 6), ("<b>bad\u202e</b>", 8, 12)):
        for at in range(20):
            name = f"ep_{len(lines):03d}"
            made.episode(name, f"t{at}", "pass" if at < passes else "fail", agent=agent)
            lines.append((name, "success" if at < accepted else "failure"))
    made.verdicts("j", "E1-final", lines)
    return made.bench


def test_a_swap_is_heavier_and_names_are_escaped(bench: Bench) -> None:
    assert run(["report", str(bench.root), "--quiet"]) == 0
    page = bench.paths.report_html.read_text(encoding="utf-8")
    drawn = re.search(r'<svg class="slope".*?</svg>', page, re.DOTALL)
    assert drawn is not None
    assert drawn.group().count('class="moved"') == 2
    assert "rank 1 → 2" in drawn.group()
    assert "<b>bad" not in page
    assert "\u202e" not in page


def test_the_gate_stands_on_the_page_and_in_the_json(bench: Bench) -> None:
    assert run(["report", str(bench.root), "--quiet"]) == 0
    page = bench.paths.report_html.read_text(encoding="utf-8")
    section = page[page.index('<section id="gate">') :]
    assert section.count("INSUFFICIENT") > 3
    assert "May it be used as a reward?" in section
    found = json.loads(bench.paths.report_json.read_text(encoding="utf-8"))
    assert found["gate"]["judges"][0]["answer"] in {"FAIL", "INSUFFICIENT"}
    assert len(found["gate"]["judges"][0]["lines"]) == 10


def test_without_a_gate_the_page_says_why(bench: Bench) -> None:
    from pyrite.measure.bench import measure_bench

    write(bench, measure_bench(bench), options={}, no_gate="nobody was asked")
    assert "null: nobody was asked" in bench.paths.report_html.read_text(encoding="utf-8")


def test_one_agent_has_no_slope_and_a_reason(tmp_path: Any) -> None:
    made = MadeBench(Bench.create(tmp_path / "bench"))
    for at in range(12):
        made.episode(f"ep_{at:03d}", f"t{at}", "fail" if at else "pass")
    made.verdicts("j", "E1-final", [(f"ep_{at:03d}", "success") for at in range(12)])
    assert run(["report", str(made.bench.root), "--quiet"]) == 0
    page = made.bench.paths.report_html.read_text(encoding="utf-8")
    assert "fewer than two groups with 10 episodes" in page
    assert '<svg class="slope"' not in page
