"""Known states replayed in real confined processes: verifiers that break, each with its cause."""

from __future__ import annotations

from typing import Any

import pytest

from pyrite.records import StateSpec
from pyrite.sandbox import confine
from pyrite.tasks.folder import FolderTask
from pyrite.truth.replay import replay

PASS = "import json; print(json.dumps({'pass': True}))"
FAIL = "import json; print(json.dumps({'pass': False, 'category': 'F-PARTIAL'}))"


def cause(task: FolderTask) -> str | None:
    return replay(task, image="here").cause


def test_a_sound_task(make_task: Any) -> None:
    found = replay(make_task(states=make_task.STATES), image="image-1")
    assert (found.cause, found.detail, found.problems) == (None, "", ())
    assert found.record.image == "image-1"
    assert found.record.outcomes == {
        "initial": "fail",
        "good": "pass",
        "extra_file": "pass",
        "untouched": "fail",
        "damaged": "fail",
        "elsewhere": "fail",
    }
    assert all(check.ok for check in found.checks)
    assert [state["ok"] for state in found.as_json()["states"]] == [True] * 6


def test_constant_verifiers_are_caught(make_task: Any) -> None:
    assert cause(make_task("always-pass", verify=PASS)) == "task_invalid"
    assert cause(make_task("always-fail", verify=FAIL)) == "gold_failed"


def test_a_broken_gold_names_the_state(make_task: Any) -> None:
    found = replay(
        make_task(states={**make_task.STATES, "good": ("good", {"note.txt": "4501"}, ())}), image="x"
    )
    assert (found.cause, found.detail) == ("gold_failed", "good state good: fail")
    assert found.record.outcomes["good"] == "fail"


def test_a_harmless_state_that_fails_is_a_failing_gold(make_task: Any) -> None:
    states = {**make_task.STATES, "extra_file": ("harmless", {"note.txt": "4500 EUR"}, ())}
    assert cause(make_task(states=states)) == "gold_failed"


def test_a_bad_state_that_passes(make_task: Any) -> None:
    states = {**make_task.STATES, "secretly_good": ("bad", make_task.GOOD, ("F-PARTIAL",))}
    found = replay(make_task(states=states), image="x")
    assert (found.cause, found.detail) == ("bad_state_accepted", "bad state secretly_good: pass")


def test_an_initial_state_that_passes(make_task: Any) -> None:
    states = {name: state for name, state in make_task.STATES.items() if name != "untouched"}
    assert cause(make_task(initial=make_task.GOOD, states=states)) == "task_invalid"


def test_other_candidates_than_declared_are_a_problem_and_no_cause(make_task: Any) -> None:
    states = {**make_task.STATES, "damaged": ("bad", make_task.STATES["damaged"][1], ("F-PARTIAL",))}
    found = replay(make_task(states=states), image="x")
    assert found.cause is None
    assert found.problems == ("state damaged: candidates ['F-SIDEEFFECT'], declared ['F-PARTIAL']",)


def test_without_a_good_state_that_is_said(make_task: Any) -> None:
    found = replay(make_task(states={"untouched": make_task.STATES["untouched"]}), image="x")
    assert found.cause is None
    assert "no known-good state" in found.problems[0]


@pytest.mark.parametrize(
    ("verify", "expected"),
    [
        ("raise SystemExit(3)", "verifier_error"),
        ("import json\nprint(json.dumps({'pass': True}))\nraise SystemExit(1)", "verifier_error"),
        ("import os\nos.kill(os.getpid(), 9)", "verifier_error"),
        ("print('fine')", "verifier_output_invalid"),
        ("print('{\"pass\": true}')\nprint('{\"pass\": true}')", "verifier_output_invalid"),
        ("print('{\"pass\": NaN}')", "verifier_output_invalid"),
        ("print('{\"pass\": true}')\nprint('x' * 2_000_000)", "verifier_output_invalid"),
        ("print('{\"pass\": null}')", "verifier_says_unknown"),
        ('print(\'{"pass": null, "cause": "environment_lost"}\')', "environment_lost"),
        ("import socket\nsocket.create_connection(('127.0.0.1', 9), 1)", "verifier_error"),
        ("x = b'x' * (2 << 30)\nprint('{\"pass\": true}')", "verifier_error"),
    ],
)
def test_verifiers_that_break(make_task: Any, verify: str, expected: str) -> None:
    states = {"good": make_task.STATES["good"]}
    assert cause(make_task("broken", verify=verify, states=states)) == expected


def test_a_verifier_that_hangs(make_task: Any) -> None:
    task = make_task(
        verify="import time\ntime.sleep(60)", states={"good": make_task.STATES["good"]}, timeout_s=0.7
    )
    assert cause(task) == "verifier_timeout"


def test_a_verifier_that_breaks_on_a_bad_state_only(make_task: Any) -> None:
    states = {**make_task.STATES, "gone": ("bad", {"note.txt": "boom"}, ())}
    found = replay(
        make_task(
            states=states, verify=make_task.VERIFY.replace("seen = ", "1 / (found != 'boom')\nseen = ")
        ),
        image="x",
    )
    assert found.cause == "verifier_error"
    assert found.detail.startswith("bad state gone: verifier_error")


def test_an_answer_that_depends_on_the_path_is_unstable(make_task: Any) -> None:
    verify = make_task.VERIFY.replace('found == "4500":', 'found == "4500" and "elsewhere" not in str(home):')
    found = replay(make_task(verify=verify), image="x")
    assert found.cause == "gold_unstable"
    assert found.detail.startswith("state good was pass, then fail from another path; asked 10 times more")
    assert found.flake is not None
    assert (found.flake.here, found.flake.elsewhere, found.flake.by_place) == ((0, 5), (5, 5), True)


@pytest.mark.skipif(
    not confine.what_holds()["filesystem"], reason="needs bubblewrap: states are not read-only"
)
def test_a_verifier_cannot_change_the_state(make_task: Any) -> None:
    verify = make_task.VERIFY.replace("found = ", "note.write_text('4500')\nfound = ")
    found = replay(make_task(verify=verify), image="x")
    assert found.cause == "verifier_error"
    assert found.checks[0].answer.log.rstrip().endswith("note.txt'")


@pytest.mark.parametrize("setup", ["exit 3\n", 'rm -rf "$HOME"\n'])
def test_states_that_cannot_be_built(make_task: Any, setup: str) -> None:
    found = replay(make_task(setup=setup), image="x")
    assert found.cause == "setup_failed"
    assert found.detail
    assert found.record.outcomes == {}


def test_a_state_that_is_not_a_folder(make_task: Any) -> None:
    task = make_task()
    link = 'cd "$HOME/.."\nrm -r good\nln -s /etc good\n'
    (task.folder / "states" / "good.sh").write_text(link)
    assert replay(task, image="x").cause == "task_invalid", "the task's own state script, not the machine"


@pytest.mark.parametrize(
    "state",
    [
        {"name": "good2", "kind": "good", "outcome": "fail"},
        {"name": "bad2", "kind": "bad", "outcome": "pass"},
        {"name": "initial", "kind": "bad", "outcome": "fail"},
        {"name": "good", "kind": "good", "outcome": "pass"},
        {"name": "../up", "kind": "bad", "outcome": "fail"},
    ],
)
def test_contradictory_declarations(make_task: Any, state: dict[str, Any]) -> None:
    task = make_task()
    states = (*task.spec.states, StateSpec.model_validate(state))
    found = replay(FolderTask(task.folder, task.spec.model_copy(update={"states": states})), image="x")
    assert (found.cause, found.checks) == ("task_invalid", ())
    assert found.detail


def test_the_standard_states_tell_a_verifier_without_side_effect_check(make_task: Any) -> None:
    lax = make_task.VERIFY.replace(
        'say(other.is_file() and other.read_text() == "a\\n", "F-SIDEEFFECT")', "say(True)"
    )
    assert lax != make_task.VERIFY
    assert cause(make_task(verify=lax, states=make_task.STATES)) == "bad_state_accepted"
    assert make_task.INITIAL["note.txt"] == "old"
