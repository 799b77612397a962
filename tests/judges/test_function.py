"""Any `module:attr`: a function of a package is a judge."""

from __future__ import annotations

import asyncio
import importlib
import math
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.conftest import Episodes
from tests.judges.packages import package

from pyrite.cli import run
from pyrite.errors import UsageError
from pyrite.judges import labels
from pyrite.judges.base import Package, Reply, Unavailable
from pyrite.judges.function import reply
from pyrite.records import Verdict, VerdictLine
from pyrite.store.jsonl import read_lines
from pyrite.tasks import starter

SOURCE = """
def plain(package, weight="1"):
    print("a line that must not reach stdout")
    return float(weight) * package.image(-1).width
plain.conditions = ("E1-final", "last4")

def needy(package, k):
    return 0.5

def wanders(package):
    import os
    os.chdir("/")
    return 0.5

def tells(package):
    import os
    from pyrite.judges.base import Reply
    from pyrite.records import Verdict
    key = os.environ["ANTHROPIC_API_KEY"]
    return Reply(Verdict.FAILURE, f"asked with {key}", usage={"key": key}, model=key, raw={"sent": [key]})

async def later(package):
    return "failure"

class Made:
    name, deterministic = "made", True
    def supports(self, condition): return True
    def config(self): return {}
    async def judge(self, package, run): return None
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of somebody's own."""
    (tmp_path / "my_rewards.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "my_rewards", raising=False)
    return importlib.import_module("my_rewards")


@pytest.mark.usefixtures("module")
def test_a_plain_function_scores_in_the_conditions_that_it_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = labels.make("my_rewards:plain@weight=-2.5")
    assert made.label == "my_rewards:plain@weight=-2.5"
    assert [made.judge.supports(name) for name in ("E1-final", "E2-last4", "E3-full")] == [True, True, False]
    found = asyncio.run(made.judge.judge(package(tmp_path), 1))
    assert (found.verdict, found.score, found.status) == (None, -100.0, "ok")
    assert capsys.readouterr().out == ""
    with pytest.raises(UsageError, match="heavy"):
        labels.make("my_rewards:plain@heavy=1")


@pytest.mark.usefixtures("module")
def test_a_coroutine_is_awaited_and_a_class_is_still_a_class(tmp_path: Path) -> None:
    assert asyncio.run(labels.make("my_rewards:later").judge.judge(package(tmp_path), 1)).verdict == "failure"
    assert labels.make("my_rewards:Made").judge.name == "made"


@pytest.mark.usefixtures("module")
def test_a_key_of_the_environment_in_what_code_says_is_in_no_file(
    episodes: Episodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "sk-ant-0123456789"
    monkeypatch.setenv("ANTHROPIC_API_KEY", secret)
    episodes.add("ep_1", [{"action": "done"}])
    starter.start("a-task", episodes.bench.root / "tasks")
    root = episodes.bench.root
    assert run(["judge", str(root), "--judge", "my_rewards:tells", "--condition", "E1-final", "-q"]) == 0
    (path,) = episodes.bench.paths.verdict_files()
    (line,) = read_lines(path, VerdictLine)
    assert (line.reason, line.model, line.usage["key"]) == ("asked with [key]", "[key]", "[key]")
    texts = [one.read_bytes() for one in root.rglob("*") if one.is_file()]
    assert not any(secret.encode() in text for text in texts)


@pytest.mark.usefixtures("module")
def test_a_required_option_that_is_missing_is_an_error_of_use() -> None:
    with pytest.raises(UsageError, match="the option k is missing"):
        labels.make("my_rewards:needy")
    assert labels.make("my_rewards:needy@k=1").label == "my_rewards:needy@k=1"


@pytest.mark.usefixtures("module")
def test_code_that_changes_the_directory_changes_nothing(tmp_path: Path) -> None:
    before = Path.cwd()
    asyncio.run(labels.make("my_rewards:wanders").judge.judge(package(tmp_path), 1))
    assert Path.cwd() == before


def test_another_source_is_another_judge(module: ModuleType, tmp_path: Path) -> None:
    before = labels.make("my_rewards:plain").config
    (tmp_path / "my_rewards.py").write_text(SOURCE + "\n# changed\n", encoding="utf-8")
    assert module.__file__ == str(tmp_path / "my_rewards.py")
    assert labels.make("my_rewards:plain").config != before


@pytest.mark.parametrize(
    ("found", "score"),
    [(1, 1.0), (0.5, 0.5), (np.float32(0.25), 0.25), (np.array([[2.0]]), 2.0), (-1e300, -1e300)],
)
def test_numbers_are_kept_raw(found: Any, score: float) -> None:
    assert reply(found) == Reply(None, score=score)


@pytest.mark.parametrize(
    "found",
    [
        True,
        math.nan,
        math.inf,
        "yes",
        "Success",
        [0.5],
        {"score": 1},
        np.array([1.0, 2.0]),
        10**400,
        object(),
    ],
)
def test_what_is_no_number_is_off_schema_and_never_zero(found: Any) -> None:
    got = reply(found)
    assert (got.status, got.verdict, got.score) == ("off_schema", Verdict.PARSE_ERROR, None)


def test_none_is_no_verdict_at_all() -> None:
    with pytest.raises(Unavailable, match="no verdict"):
        reply(None)


def test_calls_of_a_plain_function_do_not_overlap(tmp_path: Path) -> None:
    inside: list[int] = []
    most = []

    def slow(package: Package) -> float:
        inside.append(1)
        most.append(len(inside))
        import time

        time.sleep(0.02)
        inside.pop()
        return 1.0

    from pyrite.judges.function import FunctionJudge

    judge = FunctionJudge(slow, "x:slow", {})

    async def many() -> None:
        await asyncio.gather(*(judge.judge(package(tmp_path), 1) for _ in range(5)))

    asyncio.run(many())
    assert most == [1] * 5
