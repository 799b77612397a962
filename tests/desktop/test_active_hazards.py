"""What goes wrong between a verifier's act and its look, on the real desktop, with an agent that was right.

Each is recorded for real. The outcome is INDETERMINATE with the right cause, or PASS where the untouched
state already shows the work; a correct agent never fails.
"""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pyrite.records import Action, Outcome
from pyrite.sandbox.local import LocalBackend, LocalSession
from pyrite.sandbox.xclient import DisplayLost, XClient

pytestmark = pytest.mark.desktop

TWO_DAYS_S = 172_800
CLOCK = f"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
static const long off = {TWO_DAYS_S};
int clock_gettime(clockid_t id, struct timespec *at) {{
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(id, at);
    if (!code && id == CLOCK_REALTIME) at->tv_sec += off;
    return code;
}}
time_t time(time_t *out) {{
    struct timespec at; clock_gettime(CLOCK_REALTIME, &at);
    if (out) *out = at.tv_sec;
    return at.tv_sec;
}}
"""


def _shared() -> ModuleType:
    path = Path(__file__).with_name("acting.py")
    spec = importlib.util.spec_from_file_location("desktop_acting", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


shared = _shared()


def text_act(*steps: dict[str, Any]) -> dict[str, Any]:
    front = {"step": "activate_window", "title": "minutes.txt - Mousepad"}
    return {"act": [front, {"step": "key", "keys": "ctrl+s"}, *steps]}


def wrong_title(tmp_path: Path) -> Any:
    step = {"step": "activate_window", "title": "minutes.txt", "match": "exact", "timeout_s": 1.0}
    task = shared.Altered(shared.TEXT, {"act": [step, {"step": "key", "keys": "ctrl+s"}]})
    episode = shared.episode(tmp_path, task)
    assert episode.truth.outcome is Outcome.INDETERMINATE
    assert "no window is titled so; there are: '*~/Documents/minutes.txt - Mousepad'" in episode.seen()
    assert len(episode.lines) == 1, "no key went to whatever had the keyboard"
    assert "active part: step 1 activate_window 'minutes.txt'" in episode.truth.diagnostics["problem"]
    assert episode.truth.act["acted"]["outcome"] == "fail", "noted, and it does not decide"
    return episode


def focus_stolen(tmp_path: Path) -> Any:
    """Another window takes the keyboard again and again, sooner than a key could be pressed."""
    over = threading.Event()
    threads: list[threading.Thread] = []

    def thief(session: LocalSession) -> None:
        session.act(Action(action="launch", app="xterm"))
        x = XClient(session._x.socket_path)
        window = next(number for number, _, name in x.titled() if name == "XTerm")

        def steal() -> None:
            with contextlib.suppress(DisplayLost):
                while not over.wait(0.02):
                    x.activate(window)
            x.close()

        threads.append(threading.Thread(target=steal))
        threads[0].start()

    wait = {"step": "wait_for", "file": "Documents/minutes.txt", "timeout_s": 3.0}
    changes = text_act(wait)
    changes["act"][0]["timeout_s"] = 3.0
    try:
        episode = shared.episode(
            tmp_path, shared.Altered(shared.TEXT, changes), backend=shared.Disturbed(before_act=thief)
        )
    finally:
        over.set()
        threads[0].join()
    assert episode.truth.outcome is Outcome.INDETERMINATE
    assert "was asked for" in episode.seen() or "not pressed" in episode.seen()
    return episode


def dialog_in_the_way(tmp_path: Path) -> Any:
    changes = {
        "act": [
            {"step": "activate_window", "title": "price_list_2023.ods - LibreOffice Calc", "timeout_s": 3.0},
            {"step": "key", "keys": "ctrl+s"},
            {"step": "wait_for", "file": "Documents/price_list_2023.ods", "timeout_s": 5.0},
        ]
    }
    task = shared.Altered(shared.CALC, changes)
    episode = shared.episode(tmp_path, task, more=[{"action": "key", "keys": "ctrl+1"}])
    assert episode.truth.outcome is Outcome.INDETERMINATE
    assert "Format Cells" in episode.seen()
    assert [line.step["step"] for line in episode.lines] == ["activate_window"], "no key into the dialog"
    return episode


def save_slower_than_the_wait(tmp_path: Path) -> Any:
    changes = {
        "act": [
            {"step": "activate_window", "title": "sales.ods"},
            {"step": "key", "keys": "ctrl+s", "timeout_s": 0.1},
            {"step": "wait_for", "file": "Documents/sales.ods", "timeout_s": 0.5},
        ]
    }
    episode = shared.episode(tmp_path, shared.Altered(shared.SLOW, changes))
    assert episode.truth.outcome is Outcome.INDETERMINATE
    assert "not within 0.5 s: Documents/sales.ods" in episode.seen()
    return episode


def file_renamed_by_a_correct_agent(tmp_path: Path) -> Any:
    """The agent saved under a name of its own, as it was told it may; the verifier waits for the old one."""
    changes = {
        "act": [
            {"step": "activate_window", "title": "Documents/packing.txt - Mousepad", "timeout_s": 1.0},
            {"step": "key", "keys": "ctrl+s"},
        ]
    }
    episode = shared.episode(tmp_path, shared.Altered(shared.ANY_NAME, changes))
    assert episode.truth.outcome is Outcome.INDETERMINATE
    assert "packing_final.txt" in episode.seen()
    return episode


def missing_expected_file(tmp_path: Path) -> Any:
    wait = {"step": "wait_for", "file": "Documents/export.csv", "is": "exists", "timeout_s": 1.0}
    episode = shared.episode(tmp_path, shared.Altered(shared.TEXT, text_act(wait)))
    assert episode.truth.outcome is Outcome.INDETERMINATE
    assert "Documents/export.csv is not there as a file" in episode.seen()
    assert episode.truth.act["acted"]["outcome"] == "pass", "it was saved; nobody may read that as seen"
    return episode


def clock_two_days_off(tmp_path: Path) -> Any:
    """Every program of this desktop reads a clock that is two days ahead."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here to make another clock with, and no other way to have one")
    source, library = tmp_path / "clock.c", tmp_path / "clock.so"
    source.write_text(CLOCK)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    task = shared.Altered(shared.TEXT, {"clock_within_s": 3600.0})
    ahead = shared.Disturbed(
        environment={"LD_PRELOAD": "/home/agent/.clock.so"}, files={".clock.so": library}
    )
    episode = shared.episode(tmp_path, task, backend=ahead)
    assert episode.truth.outcome is Outcome.INDETERMINATE
    assert "172800 s ahead of this machine's" in episode.truth.diagnostics["problem"]
    return episode


HAZARDS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "wrong title": (wrong_title, "act_failed"),
    "focus stolen": (focus_stolen, "act_failed"),
    "dialog in the way": (dialog_in_the_way, "act_failed"),
    "save slower than the wait": (save_slower_than_the_wait, "act_failed"),
    "file renamed by a correct agent": (file_renamed_by_a_correct_agent, "act_failed"),
    "missing expected file": (missing_expected_file, "act_failed"),
    "clock two days off": (clock_two_days_off, "setup_failed"),
}
"""Hazard -> how it is recorded and looked at, and the cause that it must have where it is indeterminate."""


def test_a_correct_agent_never_fails_by_what_the_verifier_does(
    backend: LocalBackend, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """One test, so that the figure is of all of them however the tests are spread."""
    outcomes: list[str] = []
    for name, (hazard, cause) in HAZARDS.items():
        place = tmp_path / hazard.__name__
        place.mkdir()
        truth = hazard(place).truth
        outcomes.append(str(truth.outcome))
        record_property("figure", f"{name}: {truth.outcome} ({truth.cause or truth.act['decided_by']})")
        assert truth.outcome is not Outcome.FAIL, (name, truth.act)
        if truth.outcome is Outcome.INDETERMINATE:
            assert (truth.cause, truth.blame) == (cause, "environment"), name
    counts = ", ".join(f"{outcomes.count(one)} {one}" for one in ("indeterminate", "pass", "fail"))
    record_property("figure", f"{len(outcomes)} hazards: {counts}")


def test_a_broken_act_costs_no_agent_that_has_saved(backend: LocalBackend, tmp_path: Path) -> None:
    step = {"step": "activate_window", "title": "minutes.txt", "match": "exact", "timeout_s": 1.0}
    task = shared.Altered(shared.TEXT, {"act": [step]})
    episode = shared.episode(tmp_path, task, more=[{"action": "key", "keys": "ctrl+s"}])
    assert episode.truth.outcome is Outcome.PASS
    assert (episode.truth.act["decided_by"], episode.truth.act["result"]) == ("final", "failed")


def test_right_clock_is_no_hazard(backend: LocalBackend, tmp_path: Path) -> None:
    episode = shared.episode(tmp_path, shared.Altered(shared.TEXT, {"clock_within_s": 60.0}))
    assert episode.truth.outcome is Outcome.PASS
    assert all(line.ok for line in episode.lines)


def test_an_agent_that_killed_the_application_fails(backend: LocalBackend, tmp_path: Path) -> None:
    """What the policy did stays a fail, or a policy learns to break the verifier."""
    kill = {"action": "launch", "app": "xterm", "args": ("-e", "pkill", "mousepad")}
    wait = {"step": "wait_for", "file": "Documents/minutes.txt", "timeout_s": 1.0}
    changes = text_act(wait)
    changes["act"][0]["timeout_s"] = 1.0
    episode = shared.episode(tmp_path, shared.Altered(shared.TEXT, changes), more=[kill])
    assert episode.truth.outcome is Outcome.FAIL
    assert episode.truth.act["by_agent"] == "mousepad was not running any more before the first step"
    assert any("the untouched state decides" in problem for problem in episode.problems)
