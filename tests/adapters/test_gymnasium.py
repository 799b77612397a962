"""The Gymnasium wrapper in a real Gymnasium: its checker, its vector environments, whole episodes."""

from __future__ import annotations

import math
import warnings
from typing import Any

import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from pyrite.adapters.gymnasium import GradedEnv  # noqa: E402


class Scripted(gymnasium.Env):  # type: ignore[misc,name-defined]
    """Gives the steps that it is told; an exception among them is raised."""

    action_space = observation_space = gymnasium.spaces.Discrete(4)

    def __init__(self, *steps: Any) -> None:
        self.steps = steps
        self.at = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.at = 0
        if options is not None and "broken" in options:
            raise RuntimeError("no machine")
        return 0, {}

    def step(self, action: Any) -> Any:
        step = self.steps[self.at]
        self.at += 1
        if isinstance(step, Exception):
            raise step
        return step


def run(*steps: Any, **options: Any) -> tuple[list[Any], GradedEnv]:
    env = GradedEnv(Scripted(*steps), **options)
    env.reset(seed=1)
    seen = []
    for _ in steps:
        seen.append(env.step(0))
        if seen[-1][2] or seen[-1][3]:
            break
    return seen, env


def test_the_last_step_carries_the_outcome_and_the_others_stay_as_they_are() -> None:
    seen, env = run((1, 0.0, False, False, {"a": 1}), (2, 1.0, True, False, {"b": 2}))
    assert seen[0] == (1, 0.0, False, False, {"a": 1})
    assert seen[1][:4] == (2, 1.0, True, False)
    assert seen[1][4]["b"] == 2
    assert seen[1][4]["pyrite"]["outcome"] == "pass"
    assert env.graded is not None
    assert env.graded.outcome.value == "pass"


def test_out_of_steps_is_a_fail() -> None:
    seen, _ = run((1, 0.4, False, True, {}))
    assert (seen[0][4]["pyrite"]["outcome"], seen[0][4]["pyrite"]["reward"]) == ("fail", 0.4)


def test_a_step_that_raises_ends_the_episode_and_not_the_run() -> None:
    seen, env = run((1, 0.0, False, False, {}), ConnectionResetError("gone"))
    observation, reward, terminated, truncated, info = seen[1]
    assert (observation, terminated, truncated) == (1, False, True)
    assert math.isnan(reward)
    assert (info["pyrite"]["cause"], info["pyrite"]["mask"]) == ("environment_lost", True)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    env.reset()
    assert env.graded is None
    assert env.step(0)[1] == 0.0


def test_one_reward_that_is_not_known_leaves_the_whole_return_unknown() -> None:
    steps: Any = ((1, None, False, False, {}), (2, 1.0, True, False, {"is_success": True}))
    seen, _ = run(*steps)
    assert seen[0][4]["pyrite"]["cause"] == "verifier_says_unknown"
    assert seen[1][4]["pyrite"]["outcome"] == "indeterminate"
    seen, _ = run(*steps, success="is_success", fill=-1.0)
    assert seen[0][1] == -1.0
    assert seen[1][4]["pyrite"]["outcome"] == "pass", "where the info decides, rewards do not"


@pytest.mark.parametrize(
    ("info", "wanted"),
    [
        ({"ok": False}, "fail"),
        ({"ok": "yes"}, "indeterminate"),
        ({}, "indeterminate"),
        ({"ok": True}, "pass"),
    ],
)
def test_success_by_info(info: dict[str, Any], wanted: str) -> None:
    seen, _ = run((1, -3.5, True, False, info), success="ok")
    assert seen[0][4]["pyrite"]["outcome"] == wanted
    assert seen[0][1] == -3.5


@pytest.mark.parametrize("step", [None, (1, 1.0, True, {}), (1, 1.0, True, False, None), "12345"])
def test_what_is_no_step_is_no_answer(step: Any) -> None:
    seen, _ = run(step)
    assert seen[0][3] is True
    assert seen[0][4]["pyrite"]["cause"] == "verifier_output_invalid"


def test_a_reset_that_raises_began_no_run() -> None:
    env = GradedEnv(Scripted())
    with pytest.raises(RuntimeError, match="no machine"):
        env.reset(options={"broken": True})
    assert env.graded is not None
    assert env.graded.cause == "setup_failed"
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)


def test_it_is_an_environment_to_gymnasium() -> None:
    env = GradedEnv(gymnasium.make("CartPole-v1"), success="ok")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its remarks on CartPole and on checking a wrapper
        check_env(env, skip_render_check=True)
    assert env.spec is not None
    again = gymnasium.make(env.spec)
    assert isinstance(again, GradedEnv)
    again.reset(seed=1)
    assert again.step(0)[1] == 1.0


def test_a_vector_of_them() -> None:
    envs = gymnasium.vector.SyncVectorEnv(
        [lambda: GradedEnv(Scripted((1, 1.0, True, False, {}))), lambda: GradedEnv(Scripted(OSError("x")))]
    )
    envs.reset(seed=1)
    _, rewards, terminated, truncated, info = envs.step([0, 0])
    assert rewards[0] == 1.0
    assert math.isnan(rewards[1])
    assert (terminated.tolist(), truncated.tolist()) == ([True, False], [False, True])
    assert info["pyrite"]["mask"].tolist() == [False, True]
    envs.close()
