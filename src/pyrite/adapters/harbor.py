"""Harbor and terminal-bench, by their files: reward.json, reward.txt, result.json, results.json.

`graded_logs` reads what a test script left; `graded_trial` a finished Harbor trial; `graded_old_trial` one
of terminal-bench; `write_reward` writes an outcome of ours the way Harbor reads it. Needs no package.
Written from harbor 0.26.0 and terminal-bench 0.2.18.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pyrite.adapters.graded import UNIT, Graded, How, Scale, Seen, decide, shown
from pyrite.adapters.osworld import parsed
from pyrite.checks.package import Unreadable, read_file
from pyrite.records import Outcome

Bootstrap = Literal["indeterminate", "fail"]
OUTPUT = "test-stdout.txt"
_REWARD_LIMIT = 1 << 20
_OUTPUT_LIMIT = 64 << 20

_BOOTSTRAP = re.compile(
    r"^[^\w/\n]{0,20}(?:\S{1,60}: (?:line \d+: )?){0,3}(?:"
    r"could not resolve host|temporary failure (?:in name resolution|resolving)|name or service not known"
    r"|unable to locate package|failed to fetch|no matching distribution found"
    r"|could not find a version that satisfies|failed to download"
    r"|(?:uvx?|curl|wget|pip3?|pytest|python3?|apt-get|npm|node|git): (?:command )?not found"
    r"|no module named ['\"]?pytest\b|network is unreachable|\(\d+\) could not)|^curl: \(\d+\)",
    re.IGNORECASE | re.MULTILINE,
)
"""What an installer says at the start of a line, behind words such as `E: ` or `bash: line 3: `; the same
words inside a line may be quoted from a file of the agent."""
_TESTED = re.compile(r"\b[1-9]\d* (?:passed|failed|errors?)\b|\bcollected [1-9]\d* items?\b", re.IGNORECASE)
_UNSTARTED = frozenset({126, 127})
"""Exit codes of a shell that could not start a program."""
_SETUP = (
    "EnvironmentStart",
    "SandboxBuild",
    "AgentSetup",
    "Healthcheck",
    "AddTestsDir",
    "DownloadVerifierDir",
)
_NO_ANSWER = ("RewardFile", "VerifierOutputParse")
_UNGRADED = ("agent_installation_failed", "test_timeout", "parse_error", "unset", "unknown")


def graded_logs(
    folder: Path,
    *,
    exit_code: int | None = None,
    timed_out: bool = False,
    key: str = "reward",
    scale: Scale = UNIT,
    bootstrap: Bootstrap = "indeterminate",
) -> Graded:
    """What a test script left in its log folder: reward.json, else reward.txt, and test-stdout.txt.

    `exit_code`, `timed_out`: of the script, where known. One that did not finish has not answered, even
    where a reward lies there: the agent's container may have held it before. A reward below a pass whose
    script could not install what it needs, and shows no test that ran, is setup_failed; where the agent
    can break the installer (one container for both) say `bootstrap="fail"`. `key`: which of several rewards.
    """
    if timed_out:
        return decide(Seen(How.TIMED_OUT, why="the test script did not finish in time"))
    if exit_code is not None and (exit_code < 0 or exit_code >= 128):
        return decide(Seen(How.RAISED, why=f"the test script was ended by a signal (exit {exit_code})"))
    seen = _reward(folder, key)
    found = decide(seen, scale)
    if found.outcome is Outcome.PASS:
        return found
    why = _not_begun(folder, exit_code)
    if why and (found.mask or bootstrap == "indeterminate"):
        return decide(Seen(How.SETUP_FAILED, seen.value, why))
    if seen.how is How.NO_ANSWER and exit_code:
        return decide(Seen(How.RAISED, why=f"the test script exited with {exit_code} and left no reward"))
    return found


def graded_trial(folder: Path, *, key: str = "reward", scale: Scale = UNIT) -> Graded:
    """A finished Harbor trial: its result.json says what was raised, its verifier folder the rest.

    An agent that ran out of time is graded by its reward, as Harbor does; without one it is indeterminate.
    """
    body = _document(folder / "result.json")
    if isinstance(body, Seen):
        return decide(body)
    raised = body.get("exception_info")
    said = body.get("verifier_result")
    if isinstance(raised, Mapping):
        ended = _raised(raised)
        if ended is not None:
            return decide(ended)
    rewards = said.get("rewards") if isinstance(said, Mapping) else None
    if rewards is None:
        name = shown(raised.get("exception_type")) if isinstance(raised, Mapping) else "nothing"
        return decide(Seen(How.NO_ANSWER, why=f"no reward was read; {name} was raised"))
    found = decide(_chosen(rewards, key, "result.json"), scale)
    if found.outcome is Outcome.FAIL and (why := _not_begun(folder / "verifier", None)):
        return decide(Seen(How.SETUP_FAILED, found.reward, why))
    return found


def graded_old_trial(path: Path) -> Graded:
    """A trial of terminal-bench, from its results.json: `is_resolved` and `failure_mode`."""
    body = _document(path)
    if isinstance(body, Seen):
        return decide(body)
    mode = body.get("failure_mode")
    if mode == "test_timeout":
        return decide(Seen(How.TIMED_OUT, why="failure_mode is test_timeout"))
    if mode == "agent_installation_failed":
        return decide(Seen(How.SETUP_FAILED, why="failure_mode is agent_installation_failed"))
    resolved = body.get("is_resolved")
    if resolved is False and mode in _UNGRADED and not body.get("parser_results"):
        return decide(Seen(How.NO_ANSWER, resolved, f"failure_mode is {mode}, no test was read"))
    if "is_resolved" not in body:
        return decide(Seen(How.NO_ANSWER, why="no is_resolved"))
    return decide(Seen(How.ANSWERED, resolved))


def write_reward(folder: Path, graded: Graded) -> None:
    """Write an outcome into Harbor's log folder: reward.txt for pass and fail, neither file otherwise.

    verdict.json says all of it in each case. Without a reward Harbor leaves the trial out of its mean.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("reward.json", "reward.txt"):
        (folder / name).unlink(missing_ok=True)
    text = json.dumps({"schema_version": "1", **graded.as_info()}, allow_nan=False)
    (folder / "verdict.json").write_text(text + "\n", encoding="utf-8")
    if not graded.mask:
        reward = graded.reward_or(1.0 if graded.outcome is Outcome.PASS else 0.0)
        (folder / "reward.txt").write_text(f"{reward!r}\n", encoding="utf-8")


def _reward(folder: Path, key: str) -> Seen:
    """The reward that a script wrote; reward.json wins, as in Harbor."""
    found = _document(folder / "reward.json", any_value=True)
    if not isinstance(found, Seen):
        return _chosen(found, key, "reward.json")
    if found.how is not How.NO_ANSWER:
        return found
    try:
        text = read_file(folder / "reward.txt", _REWARD_LIMIT).decode("utf-8")
    except Unreadable as exc:
        if exc.reason == "missing":
            return Seen(How.NO_ANSWER, why="neither reward.json nor reward.txt")
        return Seen(How.UNREADABLE, why=f"reward.txt: {exc.detail}")
    except UnicodeDecodeError:
        return Seen(How.UNREADABLE, why="reward.txt is not a text")
    return parsed(text, "reward.txt")


def _chosen(rewards: Any, key: str, where: str) -> Seen:
    """One of the rewards of a file: the named one, or the only one."""
    if not isinstance(rewards, Mapping):
        return Seen(How.ANSWERED, rewards)
    if key in rewards:
        return Seen(How.ANSWERED, rewards[key])
    if len(rewards) == 1:
        return Seen(How.ANSWERED, next(iter(rewards.values())))
    names = ", ".join(map(str, rewards)) or "none"
    return Seen(How.NO_ANSWER, why=f"{where} has no {key!r}; it has {shown(names)}")


def _document(path: Path, *, any_value: bool = False) -> Any:
    """A JSON file: an object (or any value), else what was seen instead."""
    try:
        body = json.loads(read_file(path, _OUTPUT_LIMIT))
    except Unreadable as exc:
        how = How.NO_ANSWER if exc.reason == "missing" else How.UNREADABLE
        return Seen(how, why=f"{path.name}: {exc.detail}")
    except (ValueError, RecursionError) as exc:
        return Seen(How.UNREADABLE, why=f"{path.name}: {shown(exc)}")
    if not any_value and not isinstance(body, dict):
        return Seen(How.UNREADABLE, why=f"{path.name} is no object")
    return body


def _raised(info: Mapping[str, Any]) -> Seen | None:
    """What a trial's exception says of its verifier; None where a reward decides all the same."""
    name = str(info.get("exception_type"))
    why = f"{shown(name)}: {shown(info.get('exception_message'))}"
    if name == "VerifierTimeoutError":
        return Seen(How.TIMED_OUT, why=why)
    if name.startswith(_NO_ANSWER):
        return Seen(How.NO_ANSWER, why=why)
    if name.startswith(_SETUP):
        return Seen(How.SETUP_FAILED, why=why)
    policy = info.get("policy")
    if isinstance(policy, Mapping) and policy.get("has_valid_reward") is False:
        return Seen(How.LOST, why=why)
    return None


def _not_begun(folder: Path, exit_code: int | None) -> str:
    """Why no test can have run; empty where one may have."""
    try:
        text = read_file(folder / OUTPUT, _OUTPUT_LIMIT).decode("utf-8", "replace")
    except Unreadable:
        text = ""
    if _TESTED.search(text):
        return ""
    found = _BOOTSTRAP.search(text)
    if found is not None:
        line = text[text.rfind("\n", 0, found.start()) + 1 :].split("\n", 1)[0]
        return f"the test script could not begin: {shown(line.strip())}"
    if exit_code in _UNSTARTED:
        return f"the test script exited with {exit_code}: a program was not found or not runnable"
    return ""
