"""What agents leave on the real desktop of a task whose verifier exports or ends the application."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pyrite.records import Action, Outcome
from pyrite.sandbox.local import LocalBackend

pytestmark = pytest.mark.desktop


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
WRITER, QUESTION = "writer-left-open-ships", "writer-left-open-lease"
BOOKMARK = "bookmark-left-open-sailings"


def left(tmp_path: Path, task_id: str, *keys: str, script: bool = True, **more: Any) -> Any:
    """A competent agent's work, or none, and some keys after it."""
    actions = [Action(action="key", keys=one) for one in keys]
    if script:
        actions = [*(a for a in shared.script_of(shared.SUITE.task(task_id)) if a.action != "done"), *actions]
    return shared.episode(tmp_path, shared.Altered(task_id), script=actions, **more)


def decided(episode: Any) -> tuple[Outcome, str, str]:
    """(outcome, which state decided, how the act went)."""
    assert episode.truth.act is not None
    return episode.truth.outcome, episode.truth.act["decided_by"], episode.truth.act["result"]


def test_a_file_of_the_verifier_s_name_is_in_nobody_s_way(backend: LocalBackend, tmp_path: Path) -> None:
    source = Path(__file__)
    planted = shared.Disturbed(files={"Documents/checked.odt": source})
    found = left(tmp_path, WRITER, backend=planted)
    assert decided(found) == (Outcome.PASS, "acted", "done")
    assert found.truth.act["final"]["outcome"] == "fail"


def test_an_agent_that_did_nothing_fails_though_no_bookmark_can_be_waited_for(
    backend: LocalBackend, tmp_path: Path
) -> None:
    """It opened one more window, too, and both have to go."""
    found = left(tmp_path, BOOKMARK, "ctrl+n", script=False)
    assert decided(found) == (Outcome.FAIL, "acted", "done")


def dialog_stays_open(tmp_path: Path) -> Any:
    """Find and Replace is still there when the verifier comes."""
    actions = [a for a in shared.script_of(shared.SUITE.task(WRITER)) if a.keys != "Escape"]
    return shared.episode(tmp_path, shared.Altered(WRITER), script=actions)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (dialog_stays_open, (Outcome.PASS, "acted", "done")),
        (lambda p: left(p, WRITER, script=False), (Outcome.FAIL, "acted", "done")),
        (lambda p: left(p, QUESTION, "ctrl+s", "Return"), (Outcome.PASS, "final", "done")),
        (lambda p: left(p, QUESTION, "ctrl+z"), (Outcome.FAIL, "acted", "done")),
        (lambda p: left(p, QUESTION, "x", "ctrl+s", "Return", script=False), (Outcome.FAIL, "acted", "done")),
        (lambda p: left(p, BOOKMARK, "shift+Tab", "Return"), (Outcome.PASS, "final", "done")),
        (lambda p: left(p, BOOKMARK, "Escape"), (Outcome.PASS, "final", "done")),
        (lambda p: left(p, BOOKMARK, "Return"), (Outcome.PASS, "acted", "done")),
        (lambda p: left(p, BOOKMARK, "ctrl+shift+w"), (Outcome.PASS, "final", "failed")),
        (lambda p: left(p, BOOKMARK, "ctrl+shift+w", script=False), (Outcome.FAIL, "final", "failed")),
    ],
    ids=[
        *("dialog", "idle", "saved", "undone", "saved wrong"),
        *("done", "escaped", "list of folders", "closed when done", "closed"),
    ],
)
def test_what_is_left_open_saved_or_closed_is_told_apart(
    backend: LocalBackend,
    tmp_path: Path,
    make: Callable[[Path], Any],
    expected: tuple[Outcome, str, str],
) -> None:
    assert decided(make(tmp_path)) == expected
