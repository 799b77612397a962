"""`check` on small tasks: what makes a task unfit, and what is only a finding."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.sampling import two_a_domain

from pyrite.records import Outcome, TaskSpec
from pyrite.suites.suite import load_suite
from pyrite.tasks.folder import FolderTask
from pyrite.tasks.starter import start
from pyrite.truth.check import TaskCheck, check, tree_sha256
from pyrite.truth.faults import acted
from pyrite.truth.mutants.model import FEWEST
from pyrite.truth.named import made_by_verifier, names_value, unnamed_paths, unnamed_values
from pyrite.truth.replay import replay

PASS = "import json; print(json.dumps({'pass': True}))"
FAIL = "import json; print(json.dumps({'pass': False, 'category': 'F-PARTIAL'}))"


def kinds(found: TaskCheck) -> list[str]:
    return sorted({fault.kind for fault in found.faults})


def looked(task: Any) -> TaskCheck:
    return check(task, image="here")


@pytest.mark.parametrize("task", two_a_domain(load_suite("desk").tasks()))
def test_every_built_in_task_is_fit_and_has_enough_near_misses(task: Any, record_property: Any) -> None:
    found = check(task, image="here", live=False)
    assert found.ok is True, found.faults
    assert len(found.near) >= FEWEST
    equal = [near for near in found.near if near.found == "equivalent"]
    assert {near.found for near in found.near} - {"equivalent"} == {"killed"}
    assert len(equal) <= len(found.near) / 10
    assert len(task.spec.equivalent_mutants) == len(equal)
    assert found.findings == ()
    states = found.replayed.checks if found.replayed else ()
    near = len(found.near) - len(equal)
    figure = f"{task.task_id}: {len(states)} states as declared, {near} of {near} near-misses rejected"
    record_property("figure", figure)


def test_the_task_that_init_writes_is_fit(tmp_path: Any) -> None:
    found = looked(start("mine", tmp_path))
    assert found.ok is True, found.faults
    assert len(found.near) >= FEWEST


def test_a_sound_note(make_task: Any) -> None:
    found = looked(make_task(states=make_task.STATES))
    assert found.ok is True, found.faults
    assert {near.found for near in found.near} == {"killed"}
    body = found.as_json()
    assert [(state["name"], state["expected"], state["observed"]) for state in body["states"]][:2] == [
        ("initial", "fail", "fail"),
        ("good", "pass", "pass"),
    ]
    assert body["mutants"]["killed"] == len(found.near)
    assert body["mutants"]["not_applicable"] == len(found.not_applicable)


def test_constant_verifiers_are_caught(make_task: Any) -> None:
    for name, verify in (("pass", PASS), ("fail", FAIL)):
        found = looked(make_task(f"always-{name}", verify=verify))
        assert found.ok is False
        assert f"it always says {name}" in [fault.observed for fault in found.faults]


def test_other_candidates_than_declared_hold_a_task_back(make_task: Any) -> None:
    states = {**make_task.STATES, "damaged": ("bad", make_task.STATES["damaged"][1], ("F-PARTIAL",))}
    found = looked(make_task(states=states))
    assert kinds(found) == ["candidates"]
    assert "declared F-PARTIAL; the verifier names F-SIDEEFFECT" in found.faults[0].why


@pytest.mark.parametrize("kept", [["good"], ["untouched"]])
def test_a_good_and_a_bad_state_are_needed(make_task: Any, kept: Sequence[str]) -> None:
    found = looked(make_task(states={name: make_task.STATES[name] for name in kept}))
    assert "undeclared" in kinds(found)


@pytest.mark.parametrize("state", ["good", "untouched"])
def test_every_state_is_asked_again_and_from_another_path(make_task: Any, state: str) -> None:
    verify = make_task.VERIFY.replace(
        'found == "4500":', f'found == "4500" and not ("elsewhere" in str(home) and {state == "good"}):'
    )
    if state == "untouched":
        verify = verify.replace(
            '"F-UNCOMMITTED"] if', '"F-UNCOMMITTED"][: 2 if "elsewhere" in str(home) else 3] if'
        )
    found = looked(make_task(verify=verify))
    assert "unstable" in kinds(found)
    assert any("from another path" in fault.why for fault in found.faults)


def test_an_answer_by_chance_is_unstable(make_task: Any) -> None:
    verify = make_task.VERIFY.replace(
        'if found == "4500":', 'if found == "4500" and int.from_bytes(os.urandom(1)) % 2:'
    )
    runs = [looked(make_task(f"chance-{number}", verify=verify)) for number in range(4)]
    assert any({"unstable", "state"} & {*kinds(found)} for found in runs)


def test_a_verifier_that_writes_is_seen_where_nothing_confines_it(make_task: Any) -> None:
    verify = make_task.VERIFY.replace("found = ", "(home / 'seen').write_text('x')\nfound = ")
    task = make_task(verify=verify)
    script = (
        "import sys\nfrom pathlib import Path\nfrom pyrite.tasks.folder import load_folder\n"
        "from pyrite.truth.check import check\n"
        "print(sorted({f.kind for f in check(load_folder(Path(sys.argv[1])), image='here').faults}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(task.folder)],
        env={**os.environ, "PYRITE_NO_BWRAP": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "'wrote'" in done.stdout


def test_what_a_home_holds_is_told_by_content_names_modes_and_times(tmp_path: Any) -> None:
    home = tmp_path / "home"
    (home / "a").mkdir(parents=True)
    (home / "a/x.txt").write_text("x")
    (home / "link").symlink_to("a")
    seen = {tree_sha256(home)}
    for change in (
        lambda: (home / "a/x.txt").write_text("y"),
        lambda: (home / "a/x.txt").chmod(0o600),
        (home / "b").mkdir,
        (home / "a/x.txt").touch,
    ):
        change()
        seen.add(tree_sha256(home))
    assert len(seen) == 5
    assert tree_sha256(home) in seen


def test_no_side_effect_check_is_caught_by_near_misses_alone(make_task: Any) -> None:
    lax = make_task.VERIFY.replace(
        'say(other.is_file() and other.read_text() == "a\\n", "F-SIDEEFFECT")', "say(True)"
    )
    found = looked(make_task(verify=lax))
    assert kinds(found) == ["near_miss"]
    assert {near.operator for near in found.near if near.found == "survived"} >= {
        "file-deleted",
        "file-changed",
    }


def _with(task: FolderTask, **more: Any) -> FolderTask:
    return FolderTask(task.folder, task.spec.model_copy(update=more))


def test_equivalents_are_declared_with_a_reason_and_few(make_task: Any) -> None:
    task = make_task()
    survived = [near.name for near in looked(task).near if near.found == "survived"]
    assert survived == ["file-added@note.txt"]
    found = looked(_with(task, equivalent_mutants={survived[0]: "another note harms nobody"}))
    assert found.ok is True, found.faults
    assert found.as_json()["mutants"]["equivalent"] == 1
    assert kinds(looked(_with(task, equivalent_mutants={survived[0]: " "}))) == ["equivalents"]
    lax = make_task(
        "lax",
        verify=make_task.VERIFY.replace(
            'say(other.is_file() and other.read_text() == "a\\n", "F-SIDEEFFECT")', "say(True)"
        ),
    )
    survivors = {near.name: "so" for near in looked(lax).near if near.found == "survived"}
    assert len(survivors) == 3
    assert kinds(looked(_with(lax, equivalent_mutants=survivors))) == ["equivalents"]


def test_an_equivalent_that_is_rejected_or_not_made_is_a_finding(make_task: Any) -> None:
    task = make_task(states=make_task.STATES)
    name = looked(task).near[0].name
    found = looked(_with(task, equivalent_mutants={name: "so", "sign@nowhere": "so"}))
    assert found.ok is True
    assert f"declared equivalent, yet it is rejected: {name}" in found.findings
    assert "declared equivalent, but not made: sign@nowhere" in found.findings


def test_a_verifier_that_breaks_on_a_near_miss_gives_no_answer(make_task: Any) -> None:
    verify = make_task.VERIFY.replace("seen = ", "1 / (found != '4501')\nseen = ")
    found = looked(make_task(verify=verify, states=make_task.STATES))
    assert [near.operator for near in found.near if near.found == "no_answer"] == ["off-by-one"]
    assert found.as_json()["mutants"]["no_answer"] == 1
    assert any("no answer to near-miss off-by-one" in text for text in found.findings)


def test_a_verifier_that_hangs_on_near_misses_is_not_waited_for(make_task: Any) -> None:
    verify = make_task.VERIFY.replace(
        "seen = ", "import time\nfound in ('4500', 'old') or time.sleep(9)\nseen = "
    )
    found = looked(make_task(verify=verify, timeout_s=0.5))
    late = [near for near in found.near if near.found == "no_answer"]
    assert sum(near.reason.startswith("verifier_timeout") for near in late) == 3
    assert any("too late" in text for text in found.findings)


def test_what_a_second_right_state_shows_is_no_near_miss(make_task: Any) -> None:
    verify = make_task.VERIFY.replace('found == "4500"', 'found in ("4500", "4501")')
    states = {**make_task.STATES, "more": ("good", {"note.txt": "4501", "list.txt": "a\n"}, ())}
    found = looked(make_task(verify=verify, states=states))
    assert found.ok is True, found.faults
    assert "off-by-one" in found.not_applicable


def test_of_an_active_task_the_states_alone_can_be_asked_about(make_task: Any) -> None:
    task = make_task(
        states=make_task.STATES,
        act=[{"step": "activate_window", "title": "x"}, {"step": "key", "keys": "ctrl+s"}],
        truth_from="final",
    )
    found = check(task, image="here", live=False)
    assert (found.ok, found.live) == (True, "skipped")
    assert found.as_json()["live"]["run"] == "skipped"


@pytest.mark.parametrize("archived", [True, False])
def test_what_the_real_application_shows_blames_the_active_part(make_task: Any, archived: bool) -> None:
    checks = replay(make_task(states=make_task.STATES), image="here").checks
    wrong = replace(checks[1], answer=replace(checks[1].answer, outcome=Outcome.FAIL))
    fault = acted(wrong, archived_ok=archived)
    assert (fault.kind, fault.observed) == ("active", "good in the real application: fails")
    assert ("the active part is to blame" in fault.why) is archived


def test_states_that_do_not_build(make_task: Any) -> None:
    found = looked(make_task(setup="exit 3\n"))
    assert (found.ok, kinds(found)) == (False, ["build"])
    assert found.as_json()["states"] == []


def test_a_target_that_the_instruction_does_not_name(make_task: Any) -> None:
    found = looked(_with(make_task(states=make_task.STATES), instruction="Write 4500 and save it."))
    assert kinds(found) == ["instruction"]
    assert "note.txt" in found.faults[0].why


def test_a_value_that_has_to_be_worked_out_is_a_finding(make_task: Any) -> None:
    found = looked(_with(make_task(states=make_task.STATES), instruction="Write the total into note.txt."))
    assert found.ok is True
    assert any("expected: 4500" in text for text in found.findings)


def test_naming_by_path_name_stem_or_folder(tmp_path: Any) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    for home in (before, after):
        (home / "Pictures").mkdir(parents=True)
    (after / "Pictures/cat_01.png").write_bytes(b"x")
    (after / "Pictures/.hidden").write_bytes(b"x")
    assert unnamed_paths("Save Pictures/cat_01.png", before, after) == []
    assert unnamed_paths("Save the picture as cat_01", before, after) == []
    assert unnamed_paths("Save cat_012.png", before, after) == ["Pictures/cat_01.png"]
    assert unnamed_paths("Fill the folder Pictures", before, after) == ["Pictures/cat_01.png"]
    for number in range(2, 5):
        (after / f"Pictures/cat_0{number}.png").write_bytes(b"x")
    assert unnamed_paths("Fill the folder Pictures", before, after) == []


def test_only_a_new_file_that_the_steps_see_written_is_the_verifier_s_own(tmp_path: Path) -> None:
    body = (
        load_suite("desk-active").task("writer-left-open-ships").spec.model_dump(mode="json", by_alias=True)
    )
    wait = {"step": "wait_for", "timeout_s": 1.0}
    acts = [{**wait, "file": name} for name in ("checked.odt", "Documents/harbour.odt")]
    acts += [{**wait, "file": "there.odt", "is": "exists"}, {**wait, "window": "XTerm"}]
    own = made_by_verifier(TaskSpec.model_validate({**body, "act": acts}))
    assert own == {"checked.odt"}
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    after.mkdir()
    for name in ("checked.odt", "there.odt"):
        (after / name).write_bytes(b"x")
    assert unnamed_paths("Replace it", before, after, own) == ["there.odt"]


@pytest.mark.parametrize(
    ("text", "value", "named"),
    [
        ("set D14 to 4500", "4500", True),
        ("set D14 to 4,500.00", "4500", True),
        ("set D14 to 45000", "4500", False),
        ("set D14 to 4500", "D1", False),
        ('to the text "Amsterdam"', "amsterdam", True),
        ("in the  north\nwing", "North wing", True),
        ("to -3", "-3", True),
        ("", "4500", False),
    ],
)
def test_values_in_a_text(text: str, value: str, named: bool) -> None:
    assert names_value(text, value) is named


def test_diagnostics_of_any_shape() -> None:
    diagnostics = {"expected": {"a": ["x", 5, None, True], "b": {"c": {"d": {"e": "deep"}}}}, "cell": "D14"}
    assert unnamed_values("D14 is 5", diagnostics) == ["expected: x"]
