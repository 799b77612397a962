"""Which endings are shown, and what is said when some do not exist."""

from __future__ import annotations

from typing import Any

from pyrite.records import Verdict
from pyrite.report.endings import endings


def test_the_four_endings_of_one_task(lab: Any) -> None:
    found = endings(lab.four())
    assert found is not None
    assert [ending.title for ending in found.shown] == ["Saved", "Not saved", "Wrong cell", "Saved as a copy"]
    assert [ending.episode_id for ending in found.shown] == ["e1", "e2", "e3", "e4"]
    assert found.missing == ()
    assert found.instruction == "In Documents/budget.ods set D14 to 1950 and save the file."
    assert [ending.from_saved.pixels if ending.from_saved else None for ending in found.shown] == [
        None,
        100,
        100,
        100,
    ]
    ((condition, description, rows),) = found.verdicts
    assert (condition, description) == ("E1-final", "task text and the last screenshot")
    assert [row.judge for row in rows] == ["screen-rules", "accept-all"]
    glyphs = [said.glyph for said in rows[0].said]
    assert glyphs == ["correct-accept", "false-accept", "correct-reject", "undecided"]
    assert rows[0].reasons == ("D14 reads 1950",) * 4
    assert found.on_failures == (1, 3)


def test_the_saved_one_is_the_parent_of_the_unsaved_one(lab: Any) -> None:
    made = lab.made
    bench = lab.bench(
        [
            made("a1"),
            made("a2"),
            made(
                "a3",
                source="perturbed",
                outcome="fail",
                category="F-UNCOMMITTED",
                perturbation="drop-save",
                parent="a2",
            ),
        ]
    )
    found = endings(bench)
    assert found is not None
    assert [ending.episode_id for ending in found.shown] == ["a2", "a3"]
    assert found.missing == ("Wrong place", "Saved as a copy")


def test_the_task_with_most_endings_is_shown(lab: Any) -> None:
    made = lab.made
    bench = lab.bench(
        [
            made("a1", task_id="a"),
            made("b1", task_id="b"),
            made("b2", task_id="b", outcome="fail", category="F-WRONGTARGET"),
            made("c1", task_id="c", outcome="fail", category="F-ABORT"),
        ]
    )
    found = endings(bench)
    assert found is not None
    assert found.task_id == "b"
    assert [ending.title for ending in found.shown] == ["Saved", "Wrong place"]
    assert found.shown[0].reason == "no screen"
    assert found.verdicts == ()
    assert found.on_failures == (0, 0)


def test_without_any_of_them_there_is_no_picture(lab: Any) -> None:
    bench = lab.bench(
        [lab.made("a1", outcome="fail", category="F-ABORT"), lab.made("a2", outcome="indeterminate")]
    )
    assert endings(bench) is None


def test_a_verdict_that_was_never_given_is_missing_not_a_rejection(lab: Any) -> None:
    bench = lab.bench([lab.made("a1"), lab.made("a2", outcome="fail", category="F-UNCOMMITTED")])
    lab.judge(bench, "vlm", {"a1": Verdict.FAILURE, "a2": None})
    found = endings(bench)
    assert found is not None
    ((_, _, (row,)),) = found.verdicts
    assert [(said.glyph, said.word) for said in row.said] == [
        ("false-reject", "failure"),
        ("missing", "null: no verdict"),
    ]
    assert found.on_failures == (0, 0)


def test_what_the_verifier_read_is_shown_without_what_is_empty(lab: Any) -> None:
    notes = {
        "elsewhere": [{"cells": "D15", "new_file": False}, {"deep": {"a": [1]}}],
        "damage": [],
        "found": 0,
        "right": False,
        "note": None,
    }
    found = endings(lab.bench([lab.made("a1", diagnostics=notes), lab.made("a2")]))
    assert found is not None
    assert found.shown[0].found.notes == (
        ("found", "0"),
        ("right", "no"),
        ("elsewhere", 'cells D15, new file no; deep {"a": [1]}'),
    )


def test_of_tasks_with_equally_many_endings_the_first_of_the_suite_is_shown(lab: Any) -> None:
    made = lab.made
    bench = lab.bench([made("a1", task_id="a"), made("b1", task_id="b"), made("c1", task_id="c")])
    for order, expected in (((), "a"), (("b", "a"), "b"), (("x", "c"), "c")):
        found = endings(bench, order)
        assert found is not None
        assert found.task_id == expected
