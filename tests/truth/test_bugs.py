"""suite_bugs.md: each fault once, mended ones kept, and nothing from a task read as markup."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.store import bugs
from pyrite.store.bench import Bench
from pyrite.store.bugs import Look, SuiteBug, SuiteBugs, entered, escaped, text, visible
from pyrite.tasks.folder import FolderTask
from pyrite.truth import kept
from pyrite.truth.verify import verify
from pyrite.truth.verify_report import VerifyReport

BROKEN = ("good", {"note.txt": "4501"}, ())


def run(bench: Bench, *tasks: FolderTask, image: str = "image-1", **options: Any) -> VerifyReport:
    found = {task.spec.task_id: task for task in tasks}
    return verify(bench, found.get, jobs=1, image=image, **options)


def bug(**more: Any) -> SuiteBug:
    body = {
        "number": 1, "task_id": "t", "cause": "gold_failed", "blame": "verifier", "state": "good",
        "kind": "good", "expected": "pass", "observed": "fail", "image": "i", "verifier_sha256": "ab" * 32,
        "reproduce": "pyrite check tasks/t", "first_seen": "2026-01-01", "last_seen": "2026-01-01",
    }  # fmt: skip
    return SuiteBug.model_validate({**body, **more})


def test_a_failing_gold_is_entered_once_and_marked_when_mended(episodes: Any, make_task: Any) -> None:
    episodes.add("e1", episodes.GOOD)
    task = make_task(states={**episodes.STATES, "good": BROKEN})
    report = run(episodes.bench, task)
    paths = episodes.bench.paths
    first = paths.suite_bugs_text.read_text()
    assert report.bugs.open[0].fault == ("note-4500", "image-1", "gold_failed", "good", "pass", "fail")
    assert "## Open: 1" in first
    assert "what failed: good state good" in first
    assert f"      pyrite check {task.folder}" in first
    assert f"{episodes.bench.root}/suite_bugs.md" in report.text()
    for force in (False, True):
        run(episodes.bench, task, force=force)
        assert paths.suite_bugs_text.read_text() == first
    report = run(episodes.bench, make_task(states=episodes.STATES))
    assert report.bugs.open == ()
    mended = paths.suite_bugs_text.read_text()
    assert "## Open: 0" in mended
    assert "## Mended: 1" in mended
    assert mended.count("### S1 ") == 1
    report = run(episodes.bench, make_task(states={**episodes.STATES, "good": BROKEN}))
    assert [one.number for one in report.bugs.bugs] == [1]
    assert "came back: 20" in paths.suite_bugs_text.read_text()


def test_another_image_is_another_fault_and_mends_nothing_here(episodes: Any, make_task: Any) -> None:
    episodes.add("e1", episodes.GOOD)
    run(episodes.bench, make_task(states={**episodes.STATES, "good": BROKEN}))
    report = run(episodes.bench, make_task(states=episodes.STATES), image="image-2")
    assert [one.image for one in report.bugs.open] == ["image-1"]


def test_every_state_that_is_wrong_is_listed(episodes: Any, make_task: Any) -> None:
    episodes.add("e1", episodes.GOOD)
    states = {
        "good": BROKEN,
        "accepted": ("bad", episodes.GOOD, ("F-PARTIAL",)),
        "untouched": episodes.STATES["untouched"],
    }
    found = run(episodes.bench, make_task(states=states)).bugs.open
    assert [(one.state, one.cause, one.observed) for one in found] == [
        ("good", "gold_failed", "fail"),
        ("accepted", "bad_state_accepted", "pass"),
    ]


def test_states_that_cannot_be_built_are_the_tasks(episodes: Any, make_task: Any) -> None:
    episodes.add("e1", episodes.GOOD)
    task = make_task()
    (task.folder / "states" / "good.sh").write_text("exit 3\n")
    [found] = run(episodes.bench, task).bugs.open
    assert (found.cause, found.blame, found.state) == ("task_invalid", "task", "")


def test_an_unstable_gold_says_how_often(episodes: Any, make_task: Any) -> None:
    episodes.add("e1", episodes.GOOD)
    verify_py = episodes.VERIFY.replace(
        'found == "4500":', 'found == "4500" and "elsewhere" not in str(home):'
    )
    [found] = run(episodes.bench, make_task(verify=verify_py)).bugs.open
    assert found.observed == "several answers"
    assert "5 no pass: 50.0 %" in found.flake


def test_out_of_sight_is_not_mended() -> None:
    before = SuiteBugs(bugs=(bug(), bug(number=2, cause="gold_unstable", observed="several answers")))
    hidden = Look("t", "i", "2026-02-02", believed=False, sound=frozenset({"initial"}))
    assert entered(before, [], [hidden]) == before
    partly = hidden._replace(sound=frozenset({"good"}))
    assert [one.mended for one in entered(before, [], [partly]).bugs] == ["2026-02-02", None]
    sound = hidden._replace(believed=True)
    assert [one.mended for one in entered(before, [], [sound]).bugs] == ["2026-02-02"] * 2
    assert entered(before, [], [sound._replace(image="j")]) == before


def test_what_is_not_ours_is_left_alone(episodes: Any, make_task: Any) -> None:
    episodes.add("e1", episodes.GOOD)
    own = episodes.bench.paths.suite_bugs_text
    own.write_text("# my notes\n")
    report = run(episodes.bench, make_task(states={**episodes.STATES, "good": BROKEN}))
    assert own.read_text() == "# my notes\n"
    assert any("suite_bugs.md is not one of pyrite's" in line for line in report.problems)
    episodes.bench.paths.suite_bugs.write_text("{")
    report = run(episodes.bench, make_task(states={**episodes.STATES, "good": BROKEN}))
    assert any("suite_bugs.json" in line for line in report.problems)
    assert episodes.bench.paths.suite_bugs.read_text() == "{"


@pytest.mark.parametrize("count", [0, 1])
def test_a_link_is_not_followed(count: int, episodes: Any, make_task: Any) -> None:
    episodes.add("e1", episodes.GOOD)
    paths = episodes.bench.paths
    outside = episodes.bench.root.parent / "outside"
    (paths.suite_bugs, paths.suite_bugs_text)[count].symlink_to(outside)
    report = run(episodes.bench, make_task(states={**episodes.STATES, "good": BROKEN}))
    assert not outside.exists()
    assert report.outcomes["indeterminate"] == 1


@given(st.text(max_size=300))
def test_nothing_from_a_task_is_markup(said: str) -> None:
    shown = escaped(said)
    assert "\n" not in shown
    plain = shown.replace("\\\\", "")
    for mark in "`*_[]<>#|":
        assert plain.count(mark) == plain.count("\\" + mark)
    assert not any(unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for c in visible(said))
    written = text(SuiteBugs(bugs=(bug(detail=said, observed=said),)))
    assert len(written.splitlines()) == len(text(SuiteBugs(bugs=(bug(detail="x"),))).splitlines()) - (
        not said
    )


def test_a_hostile_message_of_a_verifier(episodes: Any, make_task: Any) -> None:
    episodes.add("e1", episodes.GOOD)
    evil = "<script>alert(1)</script>\n# forged\n[x](javascript:1) \x1b[31m"
    task = make_task(verify=f"import json\nprint(json.dumps({{'pass': None, 'cause': {evil!r}}}))")
    run(episodes.bench, task)
    written = episodes.bench.paths.suite_bugs_text.read_text()
    assert "<script" not in written
    assert "\n# forged" not in written
    assert "\x1b" not in written
    json.loads(episodes.bench.paths.suite_bugs.read_text())
    assert bugs.read(episodes.bench).open
    assert kept.find(episodes.bench, task, "image-1") is not None


def test_each_entry_speaks_of_its_own_state(episodes: Any, make_task: Any) -> None:
    episodes.add("e1", episodes.GOOD)
    task = make_task(
        states={**episodes.STATES, "good": BROKEN, "alike": ("harmless", {"note.txt": "4502"}, ())}
    )
    found = {one.state: one.detail for one in run(episodes.bench, task).bugs.open}
    assert found["good"] == "good state good: fail"
    assert found["alike"] == ""
