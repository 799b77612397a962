"""The three-outcome block: rates over what was scored, bounds over what was attempted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.errors import UsageError
from pyrite.records import BLAME, SCHEMA_VERSION, Meta, Truth
from pyrite.store.jsonl import write_record
from pyrite.truth.outcomes import Row, block, outcomes


def meta(number: int, task: int = 0, **more: Any) -> Meta:
    return Meta.model_validate(
        {
            "schema_version": SCHEMA_VERSION,
            "episode_id": f"e{number}",
            "task_id": f"t{task}",
            "source": "natural",
            "agent": {"name": "a"},
            "n_steps": 1,
            "created_at": "2026-01-01T00:00:00Z",
            **more,
        }
    )


def said(number: int, what: str, category: str | None = None) -> Truth:
    if what in BLAME:
        return Truth.model_validate(
            {
                "episode_id": f"e{number}",
                "outcome": "indeterminate",
                "pass": None,
                "cause": what,
                "blame": BLAME[what],
            }
        )
    return Truth.model_validate(
        {"episode_id": f"e{number}", "outcome": what, "pass": what == "pass", "category": category}
    )


def rows(*what: str | None, tasks: int = 1000) -> list[Row]:
    return [Row(meta(n, n % tasks), None if w is None else said(n, w)) for n, w in enumerate(what)]


def test_the_articles_numbers() -> None:
    found = block(rows(*["pass"] * 134, *["fail"] * 217, *["gold_failed"] * 17))
    assert (found["attempted"], found["indeterminate"], found["scored"]) == (368, 17, 351)
    assert found["rate"] == pytest.approx(0.382, abs=5e-4)
    assert found["bounds"] == pytest.approx([0.364, 0.410], abs=5e-4)
    assert found["low"] < found["rate"] < found["high"]
    assert "Wilson" in found["method"]
    assert found["causes"] == {"gold_failed": {"n": 17, "blame": "verifier"}}


def test_nothing_scored_is_no_rate() -> None:
    found = block(rows("gold_failed", "state_missing", None))
    assert (found["rate"], found["low"], found["high"], found["reason"]) == (
        None,
        None,
        None,
        "nothing_scored",
    )
    assert found["bounds"] == [0.0, 1.0]
    assert found["blame"] == {"verifier": 1, "environment": 1}
    empty = block([])
    assert (empty["attempted"], empty["rate"], empty["bounds"]) == (0, None, None)


def test_one_task_has_a_rate_and_no_clustered_interval() -> None:
    found = block(rows("pass", "fail", tasks=1))
    assert (found["rate"], found["low"], found["reason"]) == (0.5, None, "single_cluster")
    assert found["iid"]["low"] < 0.5 < found["iid"]["high"]


def test_families_widen_the_interval() -> None:
    what = ["pass" if n % 4 < 2 else "fail" for n in range(40)]
    alone = [Row(meta(n, n), said(n, w)) for n, w in enumerate(what)]
    kin = [Row(meta(n, n, family=f"f{n % 4}"), said(n, w)) for n, w in enumerate(what)]
    narrow, wide = block(alone), block(kin)
    assert narrow["rate"] == wide["rate"]
    assert wide["high"] - wide["low"] > narrow["high"] - narrow["low"]
    assert "family" in wide["method"]


def test_strata_are_apart_and_the_first_with_failures_leads(episodes: Any) -> None:
    plan = [
        ("n1", "natural", "x", "pass"),
        ("w1", "weakened", "x", "pass"),
        ("p1", "perturbed", "y", "fail"),
        ("p2", "perturbed", "z", "pass"),
        ("s1", "scripted", "y", "fail"),
    ]
    for number, (name, source, agent, what) in enumerate(plan):
        folder = episodes.add(name, None, source=source, agent=agent, task_id=f"t{number}")
        write_record(folder / "gt.json", said(number, what, "F-CLAIM" if name == "p1" else None))
    found = outcomes(episodes.bench)
    assert list(found["strata"]) == ["natural", "weakened", "perturbed", "scripted"]
    assert (found["lead"], found["headline"], found["attempted"], found["tasks"]) == (
        "perturbed",
        False,
        5,
        5,
    )
    assert "not of an agent under test" in found["warnings"][0]
    perturbed = found["strata"]["perturbed"]
    assert {name: (b["pass"], b["fail"]) for name, b in perturbed["by_agent"].items()} == {
        "y": (0, 1),
        "z": (1, 0),
    }
    assert perturbed["categories"] == {"F-CLAIM": 1}
    assert found["strata"]["scripted"]["categories"] == {"unclassified": 1}
    json.dumps(found, allow_nan=False)


def test_what_is_not_verified_is_counted_and_said(episodes: Any) -> None:
    write_record(episodes.add("a", None) / "gt.json", said(0, "pass"))
    episodes.add("b", None)
    (episodes.add("c", None) / "gt.json").write_text("{}")
    found = outcomes(episodes.bench)
    scripted = found["strata"]["scripted"]
    assert (scripted["attempted"], scripted["unverified"], scripted["scored"]) == (2, 1, 1)
    assert scripted["bounds"] == [0.5, 1.0]
    assert found["unverified"] == ["b"]
    assert [b["episode_id"] for b in found["broken"]] == ["c"]
    assert found["lead"] is None
    assert len(found["warnings"]) == 2


def test_a_bench_that_was_never_verified_is_an_error(episodes: Any) -> None:
    episodes.add("a", None)
    with pytest.raises(UsageError, match="none of 1 episodes") as caught:
        outcomes(episodes.bench)
    assert caught.value.next.startswith("pyrite verify")


@given(
    st.lists(st.sampled_from(["pass", "fail", "gold_failed", "state_missing", None]), max_size=40),
    st.integers(1, 9),
)
def test_missing_is_never_zero(what: list[str | None], tasks: int) -> None:
    found = block(rows(*what, tasks=tasks))
    counts = found["pass"] + found["fail"]
    assert counts == found["scored"]
    assert found["attempted"] == counts + found["indeterminate"] + found["unverified"] == len(what)
    assert sum(cause["n"] for cause in found["causes"].values()) == found["indeterminate"]
    if counts == 0:
        assert found["rate"] is None
        return
    low, high = found["bounds"]
    assert low - 1e-12 <= found["rate"] <= high + 1e-12
    assert found["rate"] == pytest.approx(what.count("pass") / counts)
    json.dumps(found, allow_nan=False)
