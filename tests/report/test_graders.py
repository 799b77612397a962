"""The verifiers' part of the report: a mark an episode, why some have no outcome, faults to mend."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.measure.bench import measure_bench
from pyrite.report.graders import MOST_MARKS, bar, observed, waffle
from pyrite.report.write import Written, write
from pyrite.store import bugs, held
from pyrite.store.bench import Bench
from pyrite.store.bugs import SuiteBug, SuiteBugs
from pyrite.store.held import Held


def marks(image: str, kind: str) -> int:
    found = re.search(rf'class="{kind}" d="([^"]*)"', image)
    return 0 if found is None else found[1].count("M")


@pytest.mark.parametrize(
    ("counts", "each", "seen"),
    [
        ((134, 217, 17), 1, [134, 217, 17]),
        ((0, 0, 3), 1, [0, 0, 3]),
        ((0, 0, 0), 1, [0, 0, 0]),
        ((48_000, 1, 0), 101, [476, 1, 0]),
    ],
)
def test_a_mark_is_an_episode_until_there_are_many(
    counts: tuple[int, int, int], each: int, seen: list[int]
) -> None:
    kinds = ("pass", "fail", "indeterminate")
    drawn = waffle(dict(zip(kinds, counts, strict=True)), title="all")
    assert drawn.each == each
    assert [marks(drawn.image, kind) for kind in kinds] == seen


@given(st.tuples(*[st.integers(0, 200_000)] * 3))
def test_marks_are_few_and_nothing_that_is_there_is_left_out(counts: tuple[int, ...]) -> None:
    kinds = ("pass", "fail", "indeterminate")
    drawn = waffle(dict(zip(kinds, counts, strict=True)), title="x")
    seen = [marks(drawn.image, kind) for kind in kinds]
    assert sum(seen) <= MOST_MARKS + 2
    assert [n > 0 for n in seen] == [n > 0 for n in counts]


def test_bars_are_shares_of_the_most_frequent_cause() -> None:
    assert 'width="100.00%"' in bar(4, 4, title="x")
    assert 'width="25.00%"' in bar(1, 4, title="x")
    assert "<script" not in bar(1, 1, title="<script>")


def made(bench: Bench, **more: Any) -> Written:
    body = {
        "number": 1, "task_id": "t", "cause": "gold_failed", "blame": "verifier", "state": "good",
        "kind": "good", "expected": "pass", "observed": "fail (F-PARTIAL)", "image": "host-1",
        "verifier_sha256": "ab" * 32, "reproduce": "pyrite check tasks/t", "first_seen": "2026-01-01",
        "last_seen": "2026-01-01",
    }  # fmt: skip
    bugs.write(bench, SuiteBugs(bugs=(SuiteBug.model_validate({**body, **more}),)))
    return write(bench, measure_bench(bench), options={})


def test_the_page_names_faults_broken_and_held_tasks(lab: Any) -> None:
    bench = lab.bench(
        [
            lab.made("a"),
            lab.made("b", outcome="fail"),
            *(lab.made(f"g{n}", task_id="t", outcome="indeterminate", cause="gold_failed") for n in range(3)),
            lab.made("s", outcome="indeterminate", cause="state_missing"),
        ]
    )
    held.write(bench, [Held(task_id="never-run", why="initial passes", faults=1, checked_at="2026-01-01")])
    page = lab.page(made(bench).html.read_text())
    lab.safe(page)
    assert "Outcomes of 6 attempted episodes" in page.text
    assert "Why 4 are indeterminate" in page.text
    assert "good state good fails" in page.text
    assert "pyrite check tasks/t" in page.text
    assert "Run, and not counted" in page.text
    assert "Held at check, never run" in page.text
    assert "never-run" in page.text
    grader = json.loads(bench.paths.report_json.read_text())["grader"]
    assert [(one["task_id"], one["episodes"]) for one in grader["broke"]] == [("t", 3)]


def test_a_mended_fault_is_not_to_be_mended(lab: Any) -> None:
    page = lab.page(made(lab.bench([lab.made("a")]), mended="2026-01-02").html.read_text())
    assert "No replay has shown a fault that is open" in page.text
    assert "No episode is indeterminate" in page.text


def test_the_report_of_equal_inputs_has_equal_bytes(lab: Any) -> None:
    bench = lab.bench([lab.made("a"), lab.made("b", outcome="indeterminate", cause="gold_failed")])
    before = made(bench).html.read_bytes()
    assert write(bench, measure_bench(bench), options={}).html.read_bytes() == before


@pytest.mark.parametrize(
    ("observed_", "glyph"), [("pass", "pass"), ("fail", "fail"), ("indeterminate", "indeterminate")]
)
def test_what_was_observed_has_its_glyph(observed_: str, glyph: str) -> None:
    assert observed({"state": "s", "kind": "bad", "observed": observed_})[0] == glyph
    assert observed({"state": "", "kind": "", "observed": ""})[0] == "indeterminate"


def test_nothing_from_a_task_is_markup(lab: Any) -> None:
    evil = "</td><script>alert(1)</script>\x1b\u202e"
    written = made(lab.bench([lab.made("a")]), detail=evil, state=evil, reproduce=evil, flake=evil)
    html = written.html.read_text()
    assert "<script>alert" not in html
    assert "\x1b" not in html
    assert "\u202e" not in html
