"""Public reports of harnesses that took trouble of their own for the agent's failure, or for its success.

All tasks and episodes are verified together; a test asks what became of one of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.faults.conftest import GOOD, INITIAL, VERIFY, Ground

from pyrite.errors import InputError
from pyrite.tasks.folder import load_folder

NOTE = """
import json, os, pathlib, sqlite3, subprocess, sys
note = pathlib.Path(sys.argv[1]) / "note.txt"
found = note.read_text() if note.is_file() else ""
"""
SAY = 'print(json.dumps({"pass": found.startswith("12")}))\n'
ON_ODD = NOTE + "if found == '12 odd':\n    BREAK\n" + SAY
"""Sound on the known states, so that the replay sees nothing, and broken on one episode."""

BROKEN = {
    "crash": "raise SystemExit(2)",
    "silence": "raise SystemExit",
    "installer": "print(subprocess.run('no-such-installer && run-tests; echo 0', shell=True,"
    " capture_output=True, text=True).stdout); raise SystemExit",
    "session-bus": "os.environ['DBUS_SESSION_BUS_ADDRESS']",
    "lost-file": "open('/no/such/expected.xlsx')",
    "locked": "raise sqlite3.OperationalError('database is locked')",
    "fraction": "print(json.dumps({'pass': 0.4})); raise SystemExit",
    "word": "print('it is not true that it passes'); raise SystemExit",
    "two-branches": "print(json.dumps({'pass': True})); found = ''",
    "null": "print(json.dumps({'pass': None, 'diagnostics': {'text': None}})); raise SystemExit",
}
SWALLOWED = NOTE + (
    "done = subprocess.run('no-such-installer', shell=True, capture_output=True)\n"
    "print(json.dumps({'pass': done.returncode == 0 and found == '12 kg'}))\n"
)
NULL_READ = """
from pyrite.checks.compare import Text, compare
from pyrite.checks.verdict import main

def terminal_text(home):
    text = (home / "note.txt").read_text() if (home / "note.txt").is_file() else ""
    return None if text == "12 odd" else text

main(lambda home: compare(terminal_text(home), "12 kg", Text()).result())
"""
KEYED = """
from pyrite.checks.compare import Lines, compare
from pyrite.checks.package import Unreadable, read_file
from pyrite.checks.verdict import Result, main

def check(home):
    try:
        text = read_file(home / "vlcrc", 1 << 20).decode("utf-8", "replace")
    except Unreadable as exc:
        return Result(False, diagnostics={"problem": str(exc)})
    return compare(text, "one-instance=0", Lines()).result()

main(check)
"""
ODD = {"note.txt": "12 odd"}
ACT = [{"step": "activate_window", "title": "note.txt"}, {"step": "key", "keys": "ctrl+s"}]
NOT_IN_FRONT = {"n": 1, "step": ACT[0], "ok": False, "seen": "'Reports' is in front"}
OTHER_IN_FRONT = {
    "windows": [{"title": "Reports", "class": "Reports"}, {"title": "note.txt", "class": "Editor"}]
}
TWO_DAYS = 172_800.0


@pytest.fixture(scope="module")
def ground(make_ground: Callable[[], Ground]) -> Ground:
    made = make_ground()
    made.task("note")
    for name, line in BROKEN.items():
        made.task(name, ON_ODD.replace("BREAK", line))
        made.episode(f"of-{name}", name, ODD)
    made.task("swallowed", SWALLOWED)
    made.episode("of-swallowed", "swallowed")
    made.task("null-read", NULL_READ)
    made.episode("of-null-read", "null-read", ODD)
    made.episode("null-read-gone", "null-read", {})
    made.task("no-reset", setup="exit 3\n")
    made.episode("of-no-reset", "no-reset")
    made.task("dated", VERIFY, clock_within_s=3600)
    for name, off in (("on-time", 0.4), ("skewed", TWO_DAYS), ("skewed-and-wrong", -TWO_DAYS)):
        files = INITIAL if name.endswith("wrong") else GOOD
        clock = {"sandbox": 1e9 + off, "host": 1e9}
        made.episode(name, "dated", files, facts={"clock": clock})
    made.task("saves-itself", act=ACT, truth_from="acted")
    for name, files in (("passive", GOOD), ("active", INITIAL)):
        folder = made.episode(name, "saves-itself", files, facts=OTHER_IN_FRONT)
        (folder / "act.jsonl").write_text(json.dumps(NOT_IN_FRONT) + "\n")
    made.task(
        "config",
        KEYED,
        initial={"vlcrc": "volume=5\none-instance=1\n"},
        good={"vlcrc": "volume=5\none-instance=0\n"},
        bad={"vlcrc": "volume=5\n#one-instance=0\n"},
    )
    made.episode("second-line", "config", {"vlcrc": "one-instance-file=1\none-instance=0\n"})
    made.episode("longer-key", "config", {"vlcrc": "not-one-instance=0\none-instance=01\n"})
    _of_the_note(made)
    return made


def _of_the_note(made: Ground) -> None:
    """Episodes of a sound task that only their harness could get wrong."""
    thought = {"action": "wait", "seconds": 1, "thought": "The answer is 12 kg, I will write it down."}
    made.episode("silent", "note", final_message=None)
    made.episode("late-and-right", "note", ended_by="time_limit")
    made.episode("late-and-lost", "note", None, ended_by="time_limit")
    made.episode("only-thought", "note", INITIAL, actions=(thought,) * 3, ended_by="step_limit")
    made.episode("only-said", "note", INITIAL, final_message="The note says 12 kg.", ended_by="step_limit")
    made.episode("lost-sandbox", "note", ended_by="environment_lost")
    made.episode("deleted", "note", {})


def test_a_reset_that_fails(ground: Ground) -> None:
    """github.com/ServiceNow/BrowserGym/issues/103: nothing was started, so nothing was failed."""
    assert ground.outcome("of-no-reset") == "setup_failed, environment"
    assert ground.outcome("lost-sandbox") == "environment_lost, environment"


def test_the_right_state_with_another_window_in_front(ground: Ground) -> None:
    """github.com/ServiceNow/WorkArena/issues/52: never validated, because another page was open."""
    assert ground.outcome("passive") == "pass"
    assert ground.outcome("active") == "act_failed, environment"
    assert "'Reports' is in front" in ground.truth("active").diagnostics["problem"]


@pytest.mark.parametrize("episode", ["skewed", "skewed-and-wrong"])
def test_a_clock_two_days_off(ground: Ground, episode: str) -> None:
    """github.com/google-research/android_world/issues/129: neither a pass nor a fail."""
    assert ground.outcome("on-time") == "pass"
    assert ground.outcome(episode) == "setup_failed, environment"
    assert "172800 s" in ground.truth(episode).diagnostics["problem"]


@pytest.mark.parametrize("episode", ["only-thought", "only-said"])
def test_an_aborted_run_whose_answer_was_only_thought(ground: Ground, episode: str) -> None:
    """github.com/UKGovernmentBEIS/inspect_ai/issues/3512: scored from its thinking text."""
    assert ground.outcome(episode) == "fail"


def test_an_installer_that_fails_before_a_zero_is_written(ground: Ground) -> None:
    """github.com/Minions-Land/MagentaBenchmark/issues/37: the script goes on and writes 0."""
    assert ground.outcome("of-installer") == "verifier_output_invalid, verifier"
    assert ground.outcome("of-swallowed") == "gold_failed, verifier"


def test_a_grader_that_crashes(ground: Ground) -> None:
    """github.com/hud-evals/hud-python/pull/516: exit 2 and empty output, written as reward 0."""
    assert ground.outcome("of-crash") == "verifier_error, verifier"


def test_a_missing_report_of_the_agent_vetoes_nothing(ground: Ground) -> None:
    """github.com/apache/maka/pull/2112: reward 1, no report of its own."""
    assert ground.outcome("silent") == "pass"


def test_a_time_limit_with_and_without_an_end_state(ground: Ground) -> None:
    """github.com/marin-community/marin/pull/8947: graded timeouts are kept, ungraded ones set apart."""
    assert ground.outcome("late-and-right") == "pass"
    assert ground.outcome("late-and-lost") == "state_missing, environment"


def test_a_verifier_that_writes_nothing(ground: Ground) -> None:
    """github.com/Human-Agent-Society/reef/issues/215: no reward file after a correct solve."""
    assert ground.outcome("of-silence") == "verifier_output_invalid, verifier"


def test_a_check_that_needs_a_session_bus(ground: Ground) -> None:
    """github.com/karakuri-ai/OSWorld-JP/commit/25e808cc913b0030bc9ed703cb1b37df230a5a2a.

    The same commit mends a loop that looked at the first line alone.
    """
    assert ground.outcome("of-session-bus") == "verifier_error, verifier"
    assert ground.outcome("second-line") == "pass"
    assert ground.outcome("longer-key") == "fail"


def test_a_read_that_returns_null(ground: Ground) -> None:
    """github.com/karakuri-ai/OSWorld-JP/commit/d5d9fc56debea1b1440f9054a46c3815881d46d4: the fix chose 0.

    What the agent deleted itself is a fail all the same.
    """
    assert ground.outcome("of-null-read") == "verifier_says_unknown, verifier"
    assert ground.truth("of-null-read").diagnostics["compared"]["reason"] == "nothing was read"
    assert ground.outcome("of-null") == "verifier_says_unknown, verifier"
    assert [ground.outcome(name) for name in ("null-read-gone", "deleted")] == ["fail", "fail"]


def test_an_answer_that_takes_two_branches(ground: Ground) -> None:
    """github.com/ServiceNow/BrowserGym/issues/93: an if that should be an elif answers twice."""
    assert ground.outcome("of-two-branches") == "verifier_output_invalid, verifier"


@pytest.mark.parametrize(
    ("field", "value", "accepted"),
    [
        ("states", "good", "tuple"),
        ("states", [{"name": "good", "kind": "good", "outcome": 1}], "'pass', 'fail' or 'indeterminate'"),
        ("states", [{"name": "good", "kind": "good", "outcome": "fail"}], "pass for a good state"),
        ("reads", "Documents", "tuple"),
        ("limits", 60, "Limits"),
    ],
)
def test_a_text_where_an_object_is_expected(tmp_path: Path, field: str, value: Any, accepted: str) -> None:
    """github.com/web-arena-x/webarena/pull/51: refused when it is loaded, not scored 0 when it is run."""
    folder = tmp_path / "t"
    (folder / "states").mkdir(parents=True)
    (folder / "states" / "good.sh").write_text("")
    (folder / "verify.py").write_text(VERIFY)
    (folder / "task.json").write_text(json.dumps({"instruction": "x", field: value}))
    with pytest.raises(InputError, match="cannot be used") as refused:
        load_folder(folder)
    assert field in refused.value.where
    assert accepted in refused.value.expected


# --- of the sources and not of the trackers ----------------------------------------------------


def test_a_file_that_is_not_found_leaves_no_earlier_answer_in_use(ground: Ground) -> None:
    """A loop over several metrics kept the one before, where a file was missing."""
    assert ground.outcome("of-lost-file") == "verifier_error, verifier"


def test_a_locked_database_is_no_answer(ground: Ground) -> None:
    """Copies of a locked database are tried again, then raise."""
    assert ground.outcome("of-locked") == "verifier_error, verifier"


def test_a_fraction_is_no_outcome(ground: Ground) -> None:
    """Some metrics return fractions, and a threshold at > 0 or == 1 turns them either way."""
    assert ground.outcome("of-fraction") == "verifier_output_invalid, verifier"


def test_a_word_in_the_output_is_no_outcome(ground: Ground) -> None:
    """One desktop benchmark passes whatever has "true" anywhere in its output."""
    assert ground.outcome("of-word") == "verifier_output_invalid, verifier"


def test_nothing_done_passes_nowhere(ground: Ground, record_property: Callable[[str, object], None]) -> None:
    """The no-op baseline: an agent that always gives up scores 7.9 % of one desktop benchmark."""
    sound = [result for result in ground.report.replays if result.cause is None]
    passing = [result for result in sound if result.record.outcomes["initial"] == "pass"]
    assert len(sound) > 10
    assert passing == []
    record_property("figure", f"no-op baseline of the fault tasks: {len(passing)} of {len(sound)} pass")
