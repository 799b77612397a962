"""An active verifier's act: every cell of the table, act.jsonl as hostile data, and whole episodes."""

from __future__ import annotations

import json
import os
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from pyrite.records import BLAME, Clock, Facts, Launch, Outcome, Process, Truth, Window
from pyrite.steps import Step, as_line
from pyrite.store.jsonl import read_record
from pyrite.tasks import archive
from pyrite.truth import active
from pyrite.truth.active import Acted, State, rule
from pyrite.truth.settled import undecided
from pyrite.truth.verify import verify
from pyrite.truth.verify_report import VerifyReport

STEPS = TypeAdapter(tuple[Step, ...]).validate_python(
    (
        {"step": "activate_window", "title": "note.txt"},
        {"step": "key", "keys": "ctrl+s"},
        {"step": "wait_for", "file": "note.txt"},
    )
)
ACT = [as_line(step) for step in STEPS]
DONE = Acted("done")
FAILED = Acted("failed", "step 1 activate_window 'note.txt': no window", 1)
BY_AGENT = Acted("failed", "step 1", 1, by_agent="mousepad was not running any more")
NOT_DONE: tuple[Acted, ...] = (FAILED, *(Acted(r, "x") for r in ("missing", "unreadable", "other_steps")))
CAUSES = {"pass": None, "fail": None, "indeterminate": "verifier_error"}
STATES: tuple[State, ...] = get_args(State)


def ruled(truth_from: str, final: str, act: Acted, acted: State, final_cause: str | None = None) -> Any:
    found = rule(
        truth_from,
        Outcome(final),
        act,
        acted,
        final_cause=final_cause or CAUSES[final],
        acted_cause="verifier_timeout" if acted == "indeterminate" else None,
    )
    return str(found.outcome), found.cause, found.decided_by


@pytest.mark.parametrize(
    ("final", "act", "acted"), list(product(CAUSES, (DONE, BY_AGENT, *NOT_DONE), STATES)), ids=str
)
def test_the_untouched_state_decides_where_it_is_asked(final: str, act: Acted, acted: State) -> None:
    assert ruled("final", final, act, acted) == (final, CAUSES[final], "final")


@pytest.mark.parametrize(("act", "acted"), list(product((DONE, BY_AGENT, *NOT_DONE), STATES)), ids=str)
def test_work_that_was_there_before_the_act_passes(act: Acted, acted: State) -> None:
    assert ruled("acted", "pass", act, acted) == ("pass", None, "final")


@pytest.mark.parametrize("final", ["fail", "indeterminate"])
@pytest.mark.parametrize(
    ("acted", "expected"),
    [
        ("pass", ("pass", None, "acted")),
        ("fail", ("fail", None, "acted")),
        ("indeterminate", ("indeterminate", "verifier_timeout", "acted")),
        ("missing", ("indeterminate", "state_missing", "acted")),
        ("unreadable", ("indeterminate", "state_unreadable", "acted")),
    ],
)
def test_steps_that_worked_leave_it_to_the_acted_state(final: str, acted: State, expected: Any) -> None:
    assert ruled("acted", final, DONE, acted) == expected


@pytest.mark.parametrize(
    ("final", "act", "acted"), list(product(["fail", "indeterminate"], NOT_DONE, STATES)), ids=str
)
def test_steps_that_were_not_seen_to_work_decide_nothing(final: str, act: Acted, acted: State) -> None:
    """Not even where the acted state passes: never a silent read."""
    assert ruled("acted", final, act, acted) == ("indeterminate", "act_failed", "act")


@pytest.mark.parametrize("acted", STATES)
def test_what_the_agent_did_stays_its_fail(acted: State) -> None:
    assert ruled("acted", "fail", BY_AGENT, acted) == ("fail", None, "final")
    assert ruled("acted", "indeterminate", BY_AGENT, acted) == ("indeterminate", "verifier_error", "final")


@pytest.mark.parametrize(("act", "acted"), list(product((DONE, FAILED), STATES)), ids=str)
def test_a_verifier_that_says_two_things_is_not_asked_a_third(act: Acted, acted: State) -> None:
    cause = "verifier_not_deterministic"
    assert ruled("acted", "indeterminate", act, acted, cause) == ("indeterminate", cause, "final")


@given(
    st.sampled_from(["final", "acted"]),
    st.sampled_from(list(CAUSES)),
    st.sampled_from([DONE, BY_AGENT, *NOT_DONE]),
    st.sampled_from(STATES),
)
def test_a_cause_stands_exactly_where_there_is_no_outcome(
    truth_from: str, final: str, act: Acted, acted: State
) -> None:
    outcome, cause, _ = ruled(truth_from, final, act, acted)
    assert (cause is not None) == (outcome == "indeterminate")
    assert cause is None or cause in BLAME


# --- act.jsonl ---------------------------------------------------------------------------------


def line(n: int, ok: Any = True, step: Any = None, **more: Any) -> dict[str, Any]:
    return {"n": n, "step": ACT[n - 1] if step is None else step, "ok": ok, **more}


def read(tmp_path: Path, *lines: Any) -> Acted:
    path = tmp_path / "act.jsonl"
    path.write_text("".join(one if isinstance(one, str) else json.dumps(one) + "\n" for one in lines))
    return active.read(path, STEPS)


def test_all_steps_worked(tmp_path: Path) -> None:
    assert read(tmp_path, line(1), line(2), line(3)) == DONE
    spelled = {**ACT[2], "timeout_s": 10.0, "is": "changed", "poll_s": 0.1}
    assert read(tmp_path, line(1), line(2), line(3, step=spelled)) == DONE, "defaults may be written out"


@pytest.mark.parametrize(
    ("lines", "result", "said"),
    [
        ([line(1), line(2, ok=False, seen="not pressed")], "failed", "step 2 key ctrl+s: not pressed"),
        ([line(1)], "failed", "step 2 key ctrl+s: it was not come to"),
        ([], "failed", "step 1 activate_window 'note.txt': it was not come to"),
        ([line(1), '{"n":2,"step"'], "failed", "step 2 key ctrl+s: it was not come to"),
        ([line(1), line(2, ok=False), line(3)], "unreadable", "goes on after step 2"),
        ([line(1), line(3)], "other_steps", "has step 3"),
        ([line(1), line(2, step={"step": "key", "keys": "ctrl+q"})], "other_steps", "step 2 was another one"),
        ([line(1), line(2, step={"step": "key"})], "other_steps", "step 2 was another one"),
        ([line(1), line(2), line(3), line(4, step=ACT[0])], "other_steps", "has step 4"),
        ([line(1, ok="perhaps")], "unreadable", "act.jsonl cannot be read"),
        (['{"n":1,"step":{},"ok":true,"seconds":NaN}\n'], "unreadable", "act.jsonl cannot be read"),
        (["[" * 5000 + "\n"], "unreadable", "act.jsonl cannot be read"),
        ([json.dumps(line(1, seen="x" * (1 << 19))) + "\n"], "unreadable", "a line of more than"),
        ([line(1)] * 100, "unreadable", "more than 40 lines"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 30 else "",
)
def test_whatever_is_wrong_becomes_a_result(tmp_path: Path, lines: Any, result: str, said: str) -> None:
    found = read(tmp_path, *lines)
    assert found.result == result
    assert said in found.problem
    assert len(found.problem) < 1000


def test_no_file_a_pipe_and_a_link(tmp_path: Path) -> None:
    path = tmp_path / "act.jsonl"
    assert active.read(path, STEPS).result == "missing"
    os.mkfifo(path)
    assert active.read(path, STEPS).result == "unreadable"
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    assert active.read(path, STEPS).result == "unreadable"


# --- whose doing -------------------------------------------------------------------------------

MOUSEPAD = Process(exe="/usr/bin/mousepad")
WINDOW = Window(title="*note.txt - Mousepad", wm_class="Mousepad")
OPENED = Launch(app="mousepad", args=("note.txt",))


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (Facts(processes=(MOUSEPAD,), windows=(WINDOW,)), ""),
        (Facts(processes=(MOUSEPAD,), windows=(WINDOW, Window(title="Find", wm_class="Mousepad"))), ""),
        (Facts(processes=(), windows=(WINDOW,)), "not running any more"),
        (Facts(processes=(Process(exe="/usr/bin/xterm"),), windows=(WINDOW,)), "not running any more"),
        (Facts(processes=(MOUSEPAD,), windows=()), "no window of mousepad"),
        (Facts.model_validate({"processes": [], "limits_hit": ["home"]}), "ran into its limits: home"),
        (Facts(), ""),
        (Facts(windows=(WINDOW,)), ""),
        (None, ""),
    ],
)
def test_what_no_correct_agent_brings_about(facts: Facts | None, said: str) -> None:
    found = active.agents_doing(OPENED, facts)
    assert (said in found) if said else found == ""


def test_an_application_that_is_not_known_says_nothing() -> None:
    assert active.agents_doing(Launch(app="emacs"), Facts(processes=(), windows=())) == ""
    assert active.agents_doing(None, Facts(processes=(), windows=())) == ""


# --- episodes ----------------------------------------------------------------------------------


class Active:
    """Episodes of the note task, with an act of their own."""

    def __init__(self, episodes: Any, make_task: Any) -> None:
        self.episodes = episodes
        self.task = make_task(act=ACT, truth_from="acted")

    def add(
        self,
        name: str,
        final: dict[str, str],
        acted: dict[str, str] | None,
        lines: list[dict[str, Any]] | None,
    ) -> Path:
        folder: Path = self.episodes.add(name, final, unsaved=None)
        if acted is not None:
            home = self.episodes.bench.root.parent / f"acted-{name}"
            home.mkdir()
            for path, text in acted.items():
                (home / path).write_text(text)
            archive.write(home, folder / "acted_state.tar.zst")
        if lines is not None:
            (folder / "act.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
        return folder

    def verify(self, **options: Any) -> VerifyReport:
        return verify(self.episodes.bench, {"note-4500": self.task}.get, jobs=1, image="image-1", **options)


@pytest.fixture
def acting(episodes: Any, make_task: Any) -> Active:
    return Active(episodes, make_task)


ALL = [line(1), line(2), line(3)]
BROKEN = [line(1), line(2, ok=False, seen="not pressed: 'Save?' is in front")]


def truth(folder: Path) -> Truth:
    return read_record(folder / "gt.json", Truth)


def test_both_states_are_verified_and_kept(acting: Active) -> None:
    old, good = acting.episodes.INITIAL, acting.episodes.GOOD
    saved = acting.add("saved", old, good, ALL)
    nothing = acting.add("nothing", old, old, ALL)
    failed = acting.add("failed", old, good, BROKEN)
    itself = acting.add("itself", good, good, BROKEN)
    never = acting.add("never", old, None, None)
    lost = acting.add("lost", old, None, ALL)
    report = acting.verify()
    found = {folder.name: truth(folder) for folder in (saved, nothing, failed, itself, never, lost)}
    assert {name: (str(t.outcome), t.cause) for name, t in found.items()} == {
        "saved": ("pass", None),
        "nothing": ("fail", None),
        "failed": ("indeterminate", "act_failed"),
        "itself": ("pass", None),
        "never": ("indeterminate", "act_failed"),
        "lost": ("indeterminate", "state_missing"),
    }
    kept = found["saved"].act
    assert kept is not None
    assert (kept["final"]["outcome"], kept["acted"]["outcome"], kept["decided_by"]) == (
        "fail",
        "pass",
        "acted",
    )
    assert kept["final"]["diagnostics"]["found"] == "old"
    assert found["failed"].blame == "environment"
    assert found["failed"].diagnostics["problem"] == (
        "active part: step 2 key ctrl+s: not pressed: 'Save?' is in front"
    )
    assert found["nothing"].category == "F-CLAIM"
    assert any("active part not replayed here" in text for r in report.replays for text in r.problems)


def test_another_act_is_decided_anew_and_an_equal_one_stands(acting: Active) -> None:
    folder = acting.add("e", acting.episodes.INITIAL, acting.episodes.GOOD, BROKEN)
    acting.verify()
    first = (folder / "gt.json").read_bytes()
    assert acting.verify().written == 0
    assert (folder / "gt.json").read_bytes() == first
    lookup = {"note-4500": acting.task}.get
    assert undecided(acting.episodes.bench, lookup, image="image-1") == []
    (folder / "act.jsonl").write_text("".join(json.dumps(one) + "\n" for one in ALL))
    assert undecided(acting.episodes.bench, lookup, image="image-1") == ["e"]
    assert acting.verify().moved[0].after == "pass"
    assert truth(folder).outcome is Outcome.PASS


def test_a_broken_acted_archive_is_no_answer(acting: Active) -> None:
    folder = acting.add("e", acting.episodes.INITIAL, None, ALL)
    (folder / "acted_state.tar.zst").write_bytes(b"not an archive")
    acting.verify()
    assert truth(folder).cause == "state_unreadable"


def test_an_act_that_spoils_what_was_right_is_reported(acting: Active) -> None:
    acting.add("e", acting.episodes.GOOD, acting.episodes.INITIAL, ALL)
    report = acting.verify()
    assert report.outcomes == {"pass": 1}
    assert any("passes before the act and fails after it" in problem for problem in report.problems)


# --- the clock ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clock", "cause", "said"),
    [
        (Clock(sandbox=1000.0, host=1000.4), None, ""),
        (Clock(sandbox=1000.0 + 172_800, host=1000.0), "setup_failed", "172800 s ahead of"),
        (Clock(sandbox=1000.0, host=1000.0 + 172_800), "setup_failed", "172800 s behind"),
        (None, "setup_failed", "is not known"),
    ],
)
def test_a_task_that_depends_on_the_date_asks_for_the_clock(
    episodes: Any, make_task: Any, clock: Clock | None, cause: Literal["setup_failed"] | None, said: str
) -> None:
    task = make_task(clock_within_s=3600)
    for name, files in (("good", episodes.GOOD), ("bad", episodes.INITIAL)):
        folder = episodes.add(name, files)
        (folder / "final_facts.json").write_text(Facts(clock=clock).model_dump_json())
    verify(episodes.bench, {"note-4500": task}.get, jobs=1, image="image-1")
    found = [truth(episodes.bench.paths.episode(name).root) for name in ("good", "bad")]
    if cause is None:
        assert [str(t.outcome) for t in found] == ["pass", "fail"]
        return
    assert [(str(t.outcome), t.cause, t.blame) for t in found] == [
        ("indeterminate", cause, "environment")
    ] * 2
    assert said in found[0].diagnostics["problem"]
