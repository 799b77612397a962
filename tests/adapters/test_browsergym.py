"""BrowserGym's validate, both ways; and a real BrowserGym where it is installed."""

from __future__ import annotations

import importlib
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from pyrite.adapters.browsergym import as_validate, graded_task, graded_validate
from pyrite.checks.verdict import Result


def test_what_the_task_says_is_passed_on() -> None:
    wrapped = graded_validate(lambda page, chat: (1.0, True, "well done", {"k": page}))
    reward, done, message, info = wrapped("p", [])
    assert (reward, done, message, info["k"]) == (1.0, True, "well done", "p")
    assert info["pyrite"]["outcome"] == "pass"


def test_a_partial_reward_is_a_fail_and_stays_what_it_is() -> None:
    reward, done, _, info = graded_validate(lambda page, chat: (0.1, True, "", {}))(None, [])
    assert (reward, done) == (0.1, True)
    assert (info["pyrite"]["outcome"], info["pyrite"]["mask"]) == ("fail", False)


@pytest.mark.parametrize("answer", [None, 1.0, (1.0, True), (1.0, True, "", {}, 5), "abc"])
def test_what_is_no_tuple_of_four_is_no_answer(answer: Any) -> None:
    reward, done, message, info = graded_validate(lambda page, chat: answer)(None, [])
    assert math.isnan(reward)
    assert (done, message, info["pyrite"]["cause"]) == (False, "", "verifier_output_invalid")


def test_strange_parts_of_a_tuple() -> None:
    reward, done, message, info = graded_validate(lambda page, chat: (1, 1, None, None))(None, [])
    assert (reward, done, message, list(info)) == (1.0, True, "", ["pyrite"])


@pytest.mark.parametrize(
    ("said", "reward", "done", "outcome"),
    [
        (Result(True), 1.0, True, "pass"),
        (Result(False), 0.0, False, "fail"),
        (Result(None, cause="state_missing"), -1.0, False, "indeterminate"),
    ],
)
def test_a_check_of_ours_as_a_validate(said: Result, reward: float, done: bool, outcome: str) -> None:
    found = as_validate(lambda page, chat: said, fill=-1.0)(None, [])
    assert (found[0], found[1], found[3]["pyrite"]["outcome"]) == (reward, done, outcome)
    assert as_validate(lambda page, chat: said, done=lambda page, chat: bool(chat))(None, [1])[1] is True


def test_a_check_of_ours_that_raises() -> None:
    def check(page: Any, chat: Any) -> Result:
        raise ZeroDivisionError

    assert as_validate(check)(None, [])[3]["pyrite"]["cause"] == "verifier_error"


class Task:
    """As BrowserGym's, without it."""

    def __init__(self, seed: int, mode: str = "pass") -> None:
        self.mode = mode

    def validate(self, page: Any, chat_messages: Any) -> Any:
        if self.mode == "raise":
            raise RuntimeError(self.mode)
        return 1.0, True, "", {}


def test_a_task_class() -> None:
    graded = graded_task(Task, fill=-1.0)
    assert (graded.__name__, issubclass(graded, Task)) == ("Task", True)
    assert graded(1).validate(None, [])[3]["pyrite"]["outcome"] == "pass"
    reward, _, _, info = graded(1, mode="raise").validate(None, [])
    assert (reward, info["pyrite"]["cause"]) == (-1.0, "verifier_error")


def test_in_a_real_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """BrowserEnv with Chromium: a task whose validate raises, then passes; the episode goes on."""
    pytest.importorskip("browsergym.core")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium on the path")
    # BrowserGym's chat starts playwright's own browser too: the system's is laid where that is looked for
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    with importlib.import_module("playwright.sync_api").sync_playwright() as playwright:
        own = Path(playwright.chromium.executable_path)
    own.parent.mkdir(parents=True)
    own.symlink_to(chromium)
    browser_env = importlib.import_module("browsergym.core.env").BrowserEnv
    base = importlib.import_module("browsergym.core.task").AbstractBrowserTask

    class Clicked(base):  # type: ignore[misc,valid-type]
        def setup(self, page: Any) -> Any:
            page.set_content("<button onclick=\"document.title='done'\">go</button>")
            return "Press go.", {}

        def validate(self, page: Any, chat_messages: Any) -> Any:
            if page.title() != "done":
                return page.locator("#nowhere").inner_text(timeout=50), False, "", {}
            return 1.0, True, "", {}

        def teardown(self) -> None:
            pass

    env = browser_env(task_entrypoint=graded_task(Clicked))
    try:
        env.reset(seed=1)
        _, reward, terminated, _, info = env.step("noop(10)")
        said = info["task_info"]["pyrite"]
        assert math.isnan(reward)
        assert (said["cause"], said["mask"], terminated) == ("verifier_timeout", True, False)
        _, reward, terminated, _, info = env.step("page.get_by_text('go').click()")
        if not terminated:
            env.unwrapped.page.get_by_text("go").click()
            _, reward, terminated, _, info = env.step("noop(10)")
        assert (reward, terminated) == (1.0, True)
        assert info["task_info"]["pyrite"]["outcome"] == "pass"
    finally:
        env.close()
