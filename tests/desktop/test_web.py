"""The real browser: the web application and bookmarks, done right and done almost right."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from PIL import Image

from pyrite.checks.verdict import Result
from pyrite.errors import SandboxError
from pyrite.records import Action, Facts
from pyrite.sandbox import apps
from pyrite.sandbox.backend import SessionSpec
from pyrite.sandbox.local import LocalBackend
from pyrite.suites.run import build
from pyrite.suites.suite import load_suite
from pyrite.tasks.archive import extract

pytestmark = pytest.mark.desktop
SUITE = load_suite("desk")


class Ending(NamedTuple):
    result: Result
    screen: Image.Image
    facts: Facts
    omitted: tuple[str, ...]


@pytest.fixture(scope="module")
def browser(backend: LocalBackend) -> LocalBackend:
    for name in ("chromium", "kontor"):
        opened = SUITE.task("web-order-create-weber-lamps").spec.initial.open
        assert opened is not None
        wrong = apps.command(opened.model_copy(update={"app": name}))
        if isinstance(wrong, str):
            pytest.skip(str(SandboxError(wrong, next="make desktop")))
    return backend


def play(backend: LocalBackend, task_id: str, folder: Path, actions: Sequence[Action]) -> Ending:
    """Do actions on a task's initial home, and verify what is left."""
    task = SUITE.task(task_id)
    folder.mkdir()
    build(task.family, task_id, folder, ["initial"])
    with backend.start(folder / "initial", SessionSpec(open=task.spec.initial.open)) as session:
        seen = session.screenshot()
        for action in actions:
            if action.action != "done":
                seen = session.act(action)
                assert seen.error is None
        end = session.finish(folder / "end.tar.zst")
    home = folder / "home"
    home.mkdir()
    extract(folder / "end.tar.zst", home)
    result = task.family.verify(task.family.params[task_id], home)
    return Ending(result, seen.screen, end.facts, end.omitted)


def differing(first: Image.Image, second: Image.Image) -> float:
    """Share of pixels that differ."""
    return float((np.asarray(first) != np.asarray(second)).any(axis=2).mean())


def test_an_order_is_placed_and_the_same_form_kept_as_a_draft_is_not(
    browser: LocalBackend, tmp_path: Path
) -> None:
    task_id = "web-order-create-weber-lamps"
    script = SUITE.script(task_id)
    right = play(browser, task_id, tmp_path / "right", script)
    assert right.result.passed, right.result
    assert right.facts.unsaved is None, "a browser says nothing of forms that were filled in"
    assert right.facts.ports == (8000,)
    assert right.omitted == ()
    at = len(script) - 3
    draft = play(browser, task_id, tmp_path / "draft", [*script[:at], *script[at + 1 :]])
    assert draft.result[:2] == (False, ("F-UNCOMMITTED",))
    assert 0 < differing(right.screen, draft.screen) < 0.05, "it looks almost the same"


def test_a_bookmark_is_kept_by_done_and_its_dialog_left_open_keeps_another_name(
    browser: LocalBackend, tmp_path: Path
) -> None:
    task_id = "browser-bookmark-add-soup"
    script = SUITE.script(task_id)
    right = play(browser, task_id, tmp_path / "right", script)
    assert right.result.passed, right.result
    opened = play(browser, task_id, tmp_path / "open", script[:-2])
    assert opened.result[:2] == (False, ("F-PARTIAL", "F-UNCOMMITTED"))
