"""What a harness's verifier did x the harness -> the outcome that it must give."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pyrite.adapters import androidworld, browsergym, harbor, osworld
from pyrite.adapters.graded import UNBOUNDED, Scale, ours
from pyrite.records import BLAME

NAN = math.nan
ROWS: dict[str, Callable[[], Any]] = {
    "raised": lambda: int("boom"),
    "nan": lambda: NAN,
    "none": lambda: None,
    "0.0": lambda: 0.0,
    "0.4": lambda: 0.4,
    "1.0": lambda: 1.0,
    "true": lambda: "true",
    "missing file": lambda: Path("/nowhere/result.json").read_bytes(),
    "timeout": lambda: (_ for _ in ()).throw(TimeoutError("30 s")),
    "half-written json": lambda: json.loads('{"reward": 1.'),
}
FAIL, PARTIAL, PASS = ("fail", None, 0.0), ("fail", None, 0.4), ("pass", None, 1.0)


def unknown(cause: str) -> tuple[str, str, None]:
    return "indeterminate", cause, None


Said = tuple[str, str | None, float | None]
NUMBERS: dict[str, Said] = {
    "nan": unknown("verifier_output_invalid"),
    "none": unknown("verifier_says_unknown"),
    "0.0": FAIL,
    "0.4": PARTIAL,
    "1.0": PASS,
    "true": unknown("verifier_output_invalid"),
}
CALLED: dict[str, Said] = {
    **NUMBERS,
    "raised": unknown("verifier_error"),
    "missing file": unknown("state_missing"),
    "timeout": unknown("verifier_timeout"),
    "half-written json": unknown("verifier_error"),
}
STEPPED: dict[str, Said] = {
    **NUMBERS,
    **dict.fromkeys(("raised", "missing file", "timeout", "half-written json"), unknown("environment_lost")),
}
FILED: dict[str, Said] = {
    **NUMBERS,
    "raised": unknown("verifier_error"),
    "missing file": unknown("verifier_output_invalid"),
    "timeout": unknown("verifier_timeout"),
    "half-written json": unknown("verifier_output_invalid"),
}
TEXTED: dict[str, Said] = {**FILED, "none": unknown("verifier_output_invalid")}


def by_browsergym(row: str, tmp_path: Path) -> dict[str, Any]:
    wrapped = browsergym.graded_validate(lambda page, chat: (ROWS[row](), True, "", {"own": 1}))
    reward, done, _, info = wrapped(None, [])
    assert done is (info["pyrite"]["cause"] is None or "own" in info), "what raised goes on"
    assert (reward == info["pyrite"]["reward"]) or (math.isnan(reward) and info["pyrite"]["mask"])
    return dict(info["pyrite"])


def by_androidworld(row: str, tmp_path: Path) -> dict[str, Any]:
    task = androidworld.GradedTask(SimpleNamespace(is_successful=lambda env: ROWS[row](), goal="x"))
    reward = task.is_successful(None)
    assert task.goal == "x"
    assert task.graded is not None
    assert isinstance(reward, float)
    assert math.isnan(reward) is task.graded.mask
    return task.graded.as_info()


def by_gymnasium(row: str, tmp_path: Path) -> dict[str, Any]:
    gymnasium = pytest.importorskip("gymnasium")
    from pyrite.adapters.gymnasium import GradedEnv

    class Env(gymnasium.Env):  # type: ignore[misc,name-defined]
        action_space = observation_space = gymnasium.spaces.Discrete(2)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            return 0, {}

        def step(self, action: Any) -> Any:
            return 1, ROWS[row](), True, False, {}

    env = GradedEnv(Env())
    env.reset(seed=1)
    _, reward, terminated, truncated, info = env.step(0)
    assert terminated or truncated
    assert math.isnan(float(reward)) is info["pyrite"]["mask"]
    return dict(info["pyrite"])


def by_osworld(row: str, tmp_path: Path) -> dict[str, Any]:
    return osworld.graded(ROWS[row]).as_info()


def by_reward(row: str, folder: Path, name: str, whole: str, half: str) -> dict[str, Any]:
    """A reward file of one name, written by a script that may fail or be stopped."""
    if row in NUMBERS:
        (folder / name).write_text(whole)
    elif row == "half-written json":
        (folder / name).write_text(half)
    code = 1 if row == "raised" else 0
    return harbor.graded_logs(folder, exit_code=code, timed_out=row == "timeout").as_info()


def by_reward_json(row: str, tmp_path: Path) -> dict[str, Any]:
    whole = json.dumps({"reward": ROWS[row]()}) if row in NUMBERS else ""
    return by_reward(row, tmp_path, "reward.json", whole, '{"reward": 1.')


def by_reward_txt(row: str, tmp_path: Path) -> dict[str, Any]:
    whole = f"{ROWS[row]()}\n" if row in NUMBERS else ""
    return by_reward(row, tmp_path, "reward.txt", whole, "")


def by_result_txt(row: str, tmp_path: Path) -> dict[str, Any]:
    """OSWorld writes the score only where evaluate() came back."""
    path = tmp_path / "result.txt"
    if row in NUMBERS:
        path.write_text(f"{ROWS[row]()}\n")
    elif row == "half-written json":
        path.write_text("")
    return osworld.graded_file(path).as_info()


def by_terminal_bench(row: str, tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "results.json"
    mode = {"timeout": "test_timeout", "raised": "unknown_agent_error"}.get(row, "none")
    if row in NUMBERS:
        path.write_text(json.dumps({"is_resolved": ROWS[row](), "failure_mode": mode}))
    elif row in {"timeout", "raised"}:
        path.write_text(json.dumps({"is_resolved": None, "failure_mode": mode}))
    elif row == "half-written json":
        path.write_text('{"is_resolved": tr')
    return harbor.graded_old_trial(path).as_info()


ADAPTERS: dict[str, tuple[Callable[[str, Path], dict[str, Any]], dict[str, Said]]] = {
    "browsergym": (by_browsergym, CALLED),
    "androidworld": (by_androidworld, CALLED),
    "gymnasium": (by_gymnasium, STEPPED),
    "osworld": (by_osworld, CALLED),
    "osworld result.txt": (
        by_result_txt,
        {**TEXTED, **dict.fromkeys(("raised", "timeout"), unknown("verifier_output_invalid"))},
    ),
    "harbor reward.json": (by_reward_json, FILED),
    "harbor reward.txt": (by_reward_txt, TEXTED),
    "terminal-bench results.json": (by_terminal_bench, {**FILED, "raised": unknown("verifier_says_unknown")}),
}


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("row", ROWS)
def test_the_outcome(adapter: str, row: str, tmp_path: Path) -> None:
    ask, wanted = ADAPTERS[adapter]
    said = ask(row, tmp_path)
    assert (said["outcome"], said["cause"], said["reward"]) == wanted[row]
    assert said["mask"] is (said["outcome"] == "indeterminate")
    assert said["blame"] == (None if said["cause"] is None else BLAME[said["cause"]])
    json.dumps(said, allow_nan=False)


def test_the_table_is_whole() -> None:
    assert all(set(wanted) == set(ROWS) for _, wanted in ADAPTERS.values())


@pytest.mark.parametrize("adapter", ["browsergym", "androidworld", "osworld"])
def test_what_a_policy_can_cause_is_a_fail_where_the_caller_says_so(adapter: str) -> None:
    """An agent that deletes the file must not learn to be left out."""
    causes = (FileNotFoundError,)
    missing = ROWS["missing file"]
    if adapter == "browsergym":
        wrapped = browsergym.graded_validate(
            lambda page, chat: (missing(), True, "", {}), policy_causes=causes
        )
        said = wrapped(None, [])[3]["pyrite"]
    elif adapter == "androidworld":
        said = androidworld.graded(lambda env: missing(), None, policy_causes=causes).as_info()
    else:
        said = osworld.graded(missing, policy_causes=causes).as_info()
    assert (said["outcome"], said["cause"], said["reward"], said["mask"]) == ("fail", None, 0.0, False)


@pytest.mark.parametrize("value", [1.0, 0.0, 0.4, None, True, False])
def test_a_score_of_inspect(value: object) -> None:
    said = osworld.graded_score(SimpleNamespace(value=value))
    assert said.outcome.value == {1.0: "pass", 0.0: "fail", 0.4: "fail", None: "indeterminate"}[value]  # type: ignore[index]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("C", "pass"), ("I", "fail"), ("P", "fail"), ("N", "indeterminate"), (NAN, "indeterminate")],
)
def test_a_letter_of_inspect(value: object, wanted: str) -> None:
    said = osworld.graded_score(SimpleNamespace(value=value, explanation="no vote"))
    assert said.outcome.value == wanted
    if value is NAN:
        assert (said.cause, said.why) == ("verifier_says_unknown", "no vote")
    assert osworld.graded_score(object()).cause == "verifier_says_unknown"


def test_scales_differ_in_what_is_out_of_them() -> None:
    wide = osworld.graded(lambda: 7.0, scale=UNBOUNDED)
    assert (wide.outcome.value, wide.reward) == ("pass", 7.0)
    assert osworld.graded(lambda: 7.0).cause == "verifier_output_invalid"
    half = osworld.graded(lambda: 0.4, scale=Scale(passes=0.4))
    assert (half.outcome.value, half.reward) == ("pass", 0.4)
    assert ours(half) is half
