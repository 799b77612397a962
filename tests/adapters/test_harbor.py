"""Harbor and terminal-bench by their files: bootstrap failures, several rewards, trials, and writing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pyrite.adapters.graded import Graded, How, Seen, decide
from pyrite.adapters.harbor import graded_logs, graded_old_trial, graded_trial, write_reward
from pyrite.records import Outcome

INSTALLERS = [
    "curl: (6) Could not resolve host: astral.example",
    "E: Unable to locate package curl",
    "Temporary failure resolving 'archive.example'",
    "/tests/test.sh: line 9: uvx: command not found",
    "sh: 1: curl: not found",
    "ERROR: No matching distribution found for pytest==8.4.1",
    "/usr/bin/python: No module named pytest",
]


def logs(folder: Path, output: str = "", **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    if output:
        (folder / "test-stdout.txt").write_text(output, encoding="utf-8")
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("line", INSTALLERS)
def test_an_installer_that_failed_before_the_0_was_written_is_no_fail(line: str, tmp_path: Path) -> None:
    found = graded_logs(logs(tmp_path, f"Get:1 x\n{line}\nmore\n", reward_txt="0\n"), exit_code=0)
    assert (found.outcome.value, found.cause, found.reward, found.raw) == (
        "indeterminate",
        "setup_failed",
        None,
        "0.0",
    )
    assert line in found.why
    assert graded_logs(tmp_path, bootstrap="fail").outcome is Outcome.FAIL, "where the agent could break it"


@pytest.mark.parametrize("line", INSTALLERS)
def test_the_same_words_beside_tests_that_ran_are_a_fail(line: str, tmp_path: Path) -> None:
    """An agent's own output stands there too: it must not be able to talk itself out of a fail."""
    output = f"collected 3 items\n{line}\n===== 1 failed, 2 passed in 0.10s ====="
    assert graded_logs(logs(tmp_path, output, reward_txt="0\n")).outcome is Outcome.FAIL
    assert graded_logs(logs(tmp_path, line, reward_txt="1\n")).outcome is Outcome.PASS


def test_no_test_that_ran_is_no_test(tmp_path: Path) -> None:
    output = "sh: pytest: not found\ncollected 0 items\nno tests ran\n0 passed"
    assert graded_logs(logs(tmp_path, output, reward_txt="0")).cause == "setup_failed"


def test_a_real_script_whose_first_line_fails(tmp_path: Path) -> None:
    """The script goes on after its installer and writes 0, as scripts without `set -e` do."""
    import subprocess

    script = f"no-such-installer-of-uv uv\nuvx pytest\necho 0 > {tmp_path}/reward.txt\n"
    with (tmp_path / "test-stdout.txt").open("w") as output:
        env = {"PATH": "/nowhere"}
        done = subprocess.run(["/bin/sh", "-c", script], stdout=output, stderr=output, env=env, check=False)
    assert done.returncode == 0
    assert graded_logs(tmp_path, exit_code=done.returncode).cause == "setup_failed"


@pytest.mark.parametrize(
    ("code", "reward", "wanted"),
    [
        (1, "0", "fail"),
        (1, "1", "pass"),
        (127, "0", "setup_failed"),
        (126, None, "setup_failed"),
        (2, None, "verifier_error"),
        (0, None, "verifier_output_invalid"),
        (137, "1", "verifier_error"),
        (-9, "0", "verifier_error"),
    ],
)
def test_exit_codes(code: int, reward: str | None, wanted: str, tmp_path: Path) -> None:
    found = graded_logs(logs(tmp_path, **({} if reward is None else {"reward_txt": reward})), exit_code=code)
    assert wanted in {found.outcome.value, found.cause}


@pytest.mark.parametrize(
    ("text", "key", "wanted"),
    [
        ('{"reward": 1}', "reward", "pass"),
        ('{"reward": true}', "reward", "pass"),
        ('{"tests": 0.5}', "reward", "fail"),
        ('{"tests": 1, "style": 0}', "reward", "verifier_output_invalid"),
        ('{"tests": 1, "style": 0}', "tests", "pass"),
        ('{"tests": 1, "style": 0}', "style", "fail"),
        ("1.0", "reward", "pass"),
        ("{}", "reward", "verifier_output_invalid"),
        ("[1]", "reward", "verifier_output_invalid"),
        ('{"reward": 1e309}', "reward", "verifier_output_invalid"),
        ('{"reward": 1.5}', "reward", "verifier_output_invalid"),
        ('{"reward": "1"}', "reward", "verifier_output_invalid"),
        ("[" * 100_000, "reward", "verifier_output_invalid"),
        ("", "reward", "verifier_output_invalid"),
    ],
)
def test_rewards_of_a_json_file(text: str, key: str, wanted: str, tmp_path: Path) -> None:
    found = graded_logs(logs(tmp_path, reward_json=text, reward_txt="1"), key=key)
    assert wanted in {found.outcome.value, found.cause}


def test_a_reward_of_another_kind_of_file_is_none(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_text("1")
    folder = logs(tmp_path / "logs")
    (folder / "reward.txt").symlink_to(target)
    assert graded_logs(folder).cause == "verifier_output_invalid"
    (folder / "reward.txt").unlink()
    os.mkfifo(folder / "reward.txt")
    assert graded_logs(folder).cause == "verifier_output_invalid"
    (folder / "reward.txt").unlink()
    (folder / "reward.txt").write_bytes(b"\xff\xfe1")
    assert graded_logs(folder).cause == "verifier_output_invalid"
    assert graded_logs(tmp_path / "nowhere").cause == "verifier_output_invalid"


def trial(folder: Path, rewards: Any = None, raised: str | None = None, valid: bool = True) -> Path:
    folder.mkdir(exist_ok=True)
    info = None
    if raised is not None:
        policy = {"should_retry": False, "should_grade": True, "has_valid_reward": valid}
        info = {"exception_type": raised, "exception_message": "m", "policy": policy}
    said = None if rewards is None else {"rewards": rewards}
    (folder / "result.json").write_text(json.dumps({"verifier_result": said, "exception_info": info}))
    return folder


@pytest.mark.parametrize(
    ("rewards", "raised", "valid", "wanted"),
    [
        ({"reward": 1.0}, None, True, "pass"),
        ({"reward": 0.0}, None, True, "fail"),
        ({"reward": 1.0}, "AgentTimeoutError", True, "pass"),
        (None, "AgentTimeoutError", True, "verifier_output_invalid"),
        (None, "VerifierTimeoutError", False, "verifier_timeout"),
        (None, "RewardFileNotFoundError", False, "verifier_output_invalid"),
        (None, "RewardFileEmptyError", False, "verifier_output_invalid"),
        (None, "EnvironmentStartTimeoutError", False, "setup_failed"),
        ({"reward": 0.0}, "RuntimeRequestError", False, "environment_lost"),
        (None, None, True, "verifier_output_invalid"),
        ([], None, True, "verifier_output_invalid"),
    ],
)
def test_trials(rewards: Any, raised: str | None, valid: bool, wanted: str, tmp_path: Path) -> None:
    found = graded_trial(trial(tmp_path, rewards, raised, valid))
    assert wanted in {found.outcome.value, found.cause}


def test_a_trial_whose_script_could_not_begin(tmp_path: Path) -> None:
    logs(trial(tmp_path, {"reward": 0}) / "verifier", INSTALLERS[0])
    assert graded_trial(tmp_path).cause == "setup_failed"


def test_a_trial_that_is_not_there_or_half_written(tmp_path: Path) -> None:
    assert graded_trial(tmp_path).cause == "verifier_output_invalid"
    (tmp_path / "result.json").write_text('{"verifier_result": {"rew')
    assert graded_trial(tmp_path).cause == "verifier_output_invalid"
    (tmp_path / "result.json").write_text("[]")
    assert graded_trial(tmp_path).cause == "verifier_output_invalid"


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ({"is_resolved": True, "failure_mode": "none"}, "pass"),
        ({"is_resolved": False, "failure_mode": "none", "parser_results": {"t": "failed"}}, "fail"),
        ({"is_resolved": False, "failure_mode": "agent_timeout", "parser_results": {"t": "failed"}}, "fail"),
        ({"is_resolved": False, "failure_mode": "parse_error"}, "verifier_output_invalid"),
        ({"is_resolved": False, "failure_mode": "test_timeout"}, "verifier_timeout"),
        ({"is_resolved": None, "failure_mode": "unset"}, "verifier_says_unknown"),
        ({"is_resolved": False, "failure_mode": "agent_installation_failed"}, "setup_failed"),
        ({}, "verifier_output_invalid"),
    ],
)
def test_old_trials(body: dict[str, Any], wanted: str, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(body))
    found = graded_old_trial(path)
    assert wanted in {found.outcome.value, found.cause}


@pytest.mark.parametrize("value", [1.0, 0.4, 0.0, None, float("nan")])
def test_what_is_written_is_read_back(value: float | None, tmp_path: Path) -> None:
    graded = decide(Seen(How.ANSWERED, value))
    logs(tmp_path, reward_json='{"reward": 1}', reward_txt="1")
    write_reward(tmp_path, graded)
    again = graded_logs(tmp_path)
    assert (again.outcome, again.reward) == (graded.outcome, graded.reward)
    assert (tmp_path / "reward.txt").exists() is not graded.mask
    verdict = json.loads((tmp_path / "verdict.json").read_text())
    assert (verdict["outcome"], verdict["cause"]) == (graded.outcome.value, graded.cause)


def test_a_fail_without_a_number_is_written_as_one(tmp_path: Path) -> None:
    write_reward(tmp_path, Graded(Outcome.FAIL))
    assert graded_logs(tmp_path).outcome is Outcome.FAIL
