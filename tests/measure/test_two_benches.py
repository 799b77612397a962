"""Agents of two benches: which tasks are compared, what they weigh, and what the graders could explain."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyrite.errors import UsageError
from pyrite.measure.two_benches import compare_benches
from pyrite.records import Meta, Truth
from pyrite.store.bench import Bench
from pyrite.store.jsonl import write_record

Row = tuple[str, str, str]
"""(agent, task, outcome or cause)"""
Make = Callable[..., Bench]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(
        name: str, rows: list[Row], *, source: str = "natural", sha: str | None = "ab" * 32, **more: Any
    ) -> Bench:
        bench = Bench.create(tmp_path / name)
        for number, (agent, task_id, what) in enumerate(rows):
            episode_id = f"e{number}"
            meta = {
                "schema_version": "1", "episode_id": episode_id, "task_id": task_id, "source": source,
                "agent": {"name": agent}, "n_steps": 1, "created_at": "2026-01-01T00:00:00Z", **more,
            }  # fmt: skip
            write_record(bench.paths.episode(episode_id).meta, Meta.model_validate(meta))
            if what == "nothing":
                continue
            passed = {"pass": True, "fail": False}.get(what)
            outcome = what if passed is not None else "indeterminate"
            truth = {"episode_id": episode_id, "outcome": outcome, "pass": passed, "verifier_sha256": sha}
            cause = None if passed is not None else what
            write_record(
                bench.paths.episode(episode_id).truth, Truth.model_validate({**truth, "cause": cause})
            )
        return bench

    return made


def rows(agent: str, what: str) -> list[Row]:
    """One episode a task: p pass, f fail, g gold_failed."""
    names = {"p": "pass", "f": "fail", "g": "gold_failed", "e": "environment_lost", "n": "nothing"}
    return [(agent, f"t{n:02d}", names[letter]) for n, letter in enumerate(what)]


def pair(found: dict[str, Any]) -> dict[str, Any]:
    [one] = found["pairs"]
    return dict(one)


def test_only_tasks_that_are_determinate_in_both_are_compared(make: Make) -> None:
    a, b = make("a", rows("x", "ppffgn")), make("b", rows("x", "pfpgpp"))
    found = pair(compare_benches(a, b))
    assert (found["tasks"]["compared"], found["tasks"]["common"]) == (3, 6)
    assert found["difference"]["value"] == pytest.approx(0)
    assert {one["task_id"]: one["why"] for one in found["tasks"]["left_out"]} == {
        "t03": "indeterminate: gold_failed in the second bench",
        "t04": "indeterminate: gold_failed in the first bench",
        "t05": "indeterminate: not verified in the first bench",
    }
    assert found["grader"]["worst_case"] == pytest.approx([(4 - 4) / 6, (5 - 2) / 6])
    assert found["grader"]["two_outcome"] == pytest.approx((4 - 2) / 6)
    assert found["grader"]["explained"] == pytest.approx(2 / 6)
    assert found["grader"]["sign_holds"] is False
    assert found["grader"]["indeterminate"]["a"] == {
        "n": 2,
        "attempted": 6,
        "causes": {"gold_failed": 1, "not verified": 1},
    }


def test_a_task_weighs_one_however_often_it_was_tried(make: Make) -> None:
    many = [("x", "t00", "fail")] * 30 + rows("x", "fppppp")[1:]
    found = pair(compare_benches(make("a", rows("x", "fpppff")), make("b", many)))
    assert found["difference"]["value"] == pytest.approx(2 / 6)
    assert found["rates"]["b"]["attempted"] == 35
    assert found["rates"]["b"]["value"] == pytest.approx(5 / 6)


def test_a_task_with_some_open_episodes_is_compared_on_the_others_and_said(make: Make) -> None:
    half = [("x", "t00", "pass"), ("x", "t00", "environment_lost"), *rows("x", "fpf")[1:]]
    found = pair(compare_benches(make("a", rows("x", "fpf")), make("b", half)))
    assert found["tasks"]["partly"] == ["t00"]
    assert found["difference"]["value"] == pytest.approx(1 / 3)
    assert found["grader"]["worst_case"] == pytest.approx([0.5 / 3, 1 / 3])


def test_the_test_flips_signs_by_task(make: Make) -> None:
    found = pair(compare_benches(make("a", rows("x", "f" * 12)), make("b", rows("x", "p" * 8 + "f" * 4))))
    assert found["p_signflip"] == pytest.approx(2 / 2**8)
    assert found["differs"] is True
    assert found["difference"]["low"] > 0
    assert found["grader"]["sign_holds"] is True


def test_agents_of_both_are_compared_each_with_itself_and_by_holm(make: Make) -> None:
    a = make("a", rows("x", "f" * 10) + rows("y", "p" * 10) + rows("old", "p"))
    b = make("b", rows("x", "p" * 10) + rows("y", "p" * 9 + "f") + rows("new", "p"))
    found = compare_benches(a, b)
    assert [(one["a"], one["b"]) for one in found["pairs"]] == [("x", "x"), ("y", "y")]
    assert found["pairs"][0]["p_holm"] == pytest.approx(2 * found["pairs"][0]["p_signflip"])
    assert [one["differs"] for one in found["pairs"]] == [True, False]
    crossed = pair(compare_benches(a, b, agents=["y", "x"]))
    assert (crossed["a"], crossed["b"], crossed["difference"]["value"]) == ("y", "x", 0)
    with pytest.raises(UsageError, match="no agent is in both") as caught:
        compare_benches(make("c", rows("p", "f") + rows("q", "f")), a)
    assert "--agent" in caught.value.expected


def test_one_agent_each_is_compared_whatever_it_is_called(make: Make) -> None:
    found = pair(compare_benches(make("a", rows("v1", "fff")), make("b", rows("v2", "ppp"))))
    assert (found["a"], found["b"]) == ("v1", "v2")


def test_two_agents_of_one_bench(make: Make) -> None:
    a = make("a", rows("x", "fff") + rows("y", "pff"))
    with pytest.raises(UsageError, match="the same bench twice"):
        compare_benches(a, Bench(a.root / ".." / "a"))
    assert pair(compare_benches(a, a, agents=["x", "y"]))["difference"]["value"] == pytest.approx(1 / 3)


def test_strata_are_never_pooled(make: Make) -> None:
    a, b = make("a", rows("x", "ppf")), make("b", rows("x", "ppf"), source="scripted")
    with pytest.raises(UsageError, match="share no stratum") as caught:
        compare_benches(a, b)
    assert "natural" in caught.value.expected
    both = make("c", rows("x", "ppf"), source="scripted")
    found = compare_benches(b, both)
    assert found["stratum"] == "scripted"
    assert "not of an agent under test" in found["warnings"][0]


def test_benches_without_a_common_task(make: Make) -> None:
    other = [("x", "u1", "pass")]
    with pytest.raises(UsageError, match="no task was tried in both") as caught:
        compare_benches(make("a", rows("x", "pf")), make("b", other))
    assert "t00, t01 in the first, u1 in the second" in caught.value.expected


def test_no_determinate_task_in_common_is_null_with_its_reason(make: Make) -> None:
    found = pair(compare_benches(make("a", rows("x", "gpn")), make("b", rows("x", "pgp"))))
    assert (found["difference"]["value"], found["difference"]["reason"]) == (None, "no_common_task")
    assert found["p_signflip"] is None
    assert found["grader"]["explained"] is None
    assert found["grader"]["worst_case"] == pytest.approx([2 / 3 - 1, 1 - 1 / 3])


def test_families_share_a_verifier_so_the_wider_interval_leads(make: Make) -> None:
    def kin(name: str, good: str, bad: str) -> Bench:
        bench = make(name, [])
        for family, what in (("one", good), ("two", bad)):
            made = make(f"{name}-{family}", [("x", f"{family}-{n}", what) for n in range(8)], family=family)
            for folder in (made.root / "episodes").iterdir():
                meta = Meta.model_validate_json((folder / "meta.json").read_text())
                truth = Truth.model_validate_json((folder / "gt.json").read_text())
                goal = f"{family}-{folder.name}"
                write_record(bench.paths.episode(goal).meta, meta.model_copy(update={"episode_id": goal}))
                write_record(bench.paths.episode(goal).truth, truth.model_copy(update={"episode_id": goal}))
        return bench

    found = pair(compare_benches(kin("a", "fail", "fail"), kin("b", "pass", "fail")))
    assert found["unit"] == "family"
    assert found["p_signflip"] == 1.0
    assert found["differs"] is False


def test_outcomes_without_a_verifier_digest_are_compared_and_said(make: Make) -> None:
    found = compare_benches(make("a", rows("x", "pf"), sha=None), make("b", rows("x", "pf")))
    assert found["pairs"][0]["tasks"]["unknown_verifier"] == 2
    assert any("which verifier" in text for text in found["warnings"])
