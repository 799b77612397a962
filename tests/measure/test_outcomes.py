"""The three-outcome block: rates over what was scored, bounds over what was attempted."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.measure.bench import TRUTH, outcomes
from pyrite.measure.blocks import Settings
from pyrite.measure.strata import truth_strata
from pyrite.measure.table import MISSING, Episodes, Factor
from pyrite.records import BLAME, Outcome

Make = Callable[[], Any]


def block(what: Sequence[str | None], *, tasks: int = 1000, families: int | None = None) -> dict[str, Any]:
    """The block of natural episodes: an outcome, a cause of an indeterminate one, or None."""
    size = len(what)
    kin = Factor.of([f"f{n % families}" for n in range(size)]) if families else None
    episodes = Episodes(
        truth=np.array(
            [
                MISSING if w is None else TRUTH[Outcome.INDETERMINATE if w in BLAME else Outcome(w)]
                for w in what
            ],
            dtype=np.int8,
        ),
        cluster=Factor.of([f"t{n % tasks}" for n in range(size)]),
        ids=tuple(f"e{n}" for n in range(size)),
        family=kin,
        stratum=Factor.of(["natural"] * size),
        cause=Factor.of([w if w in BLAME else None for w in what]),
    )
    found: dict[str, Any] = truth_strata(episodes, Settings())["natural"]
    return found


def test_the_articles_numbers() -> None:
    found = block([*["pass"] * 134, *["fail"] * 217, *["gold_failed"] * 17])
    assert (found["attempted"], found["indeterminate"], found["scored"]) == (368, 17, 351)
    assert found["rate"] == pytest.approx(0.382, abs=5e-4)
    assert found["bounds"] == pytest.approx([0.364, 0.410], abs=5e-4)
    assert found["low"] < found["rate"] < found["high"]
    assert "Wilson" in found["method"]
    assert found["causes"] == {"gold_failed": {"n": 17, "blame": "verifier"}}


def test_nothing_scored_is_no_rate() -> None:
    found = block(["gold_failed", "state_missing", None])
    assert (found["rate"], found["low"], found["high"]) == (None, None, None)
    assert found["reason"] == "no_scored_episodes"
    assert found["bounds"] == [0.0, 1.0]
    assert found["blame"] == {"verifier": 1, "environment": 1}
    assert (found["indeterminate"], found["unverified"]) == (3, 1)


def test_one_task_has_a_rate_and_no_clustered_interval() -> None:
    found = block(["pass", "fail"], tasks=1)
    assert (found["rate"], found["low"], found["reason"]) == (0.5, None, "single_cluster")
    assert found["iid"]["low"] < 0.5 < found["iid"]["high"]


def test_families_widen_the_interval() -> None:
    what = ["pass" if n % 4 < 2 else "fail" for n in range(40)]
    narrow, wide = block(what), block(what, families=4)
    assert narrow["rate"] == wide["rate"]
    assert wide["high"] - wide["low"] > narrow["high"] - narrow["low"]
    assert "family" in wide["method"]


def test_strata_are_apart_and_the_first_with_failures_leads(make_bench: Make) -> None:
    made = make_bench()
    plan = [
        ("n1", "natural", "x", "pass"),
        ("w1", "weakened", "x", "pass"),
        ("p1", "perturbed", "y", "fail"),
        ("p2", "perturbed", "z", "pass"),
        ("s1", "scripted", "y", "fail"),
    ]
    for number, (name, source, agent, what) in enumerate(plan):
        category = "F-CLAIM" if name == "p1" else None
        made.episode(name, f"t{number}", what, source=source, agent=agent, category=category)
    found = outcomes(made.bench)
    assert list(found["strata"]) == ["natural", "weakened", "perturbed", "scripted"]
    assert (found["lead"], found["headline"]) == ("perturbed", False)
    assert (found["attempted"], found["tasks"]) == (5, 5)
    assert "not of an agent under test" in found["warnings"][0]
    perturbed = found["strata"]["perturbed"]
    assert {name: (b["pass"], b["fail"]) for name, b in perturbed["by_agent"].items()} == {
        "y": (0, 1),
        "z": (1, 0),
    }
    assert perturbed["categories"] == {"F-CLAIM": 1}
    assert found["strata"]["scripted"]["categories"] == {"unclassified": 1}
    json.dumps(found, allow_nan=False)


def test_what_is_not_verified_is_counted_and_said(make_bench: Make) -> None:
    made = make_bench()
    made.episode("a", "t", "pass", source="scripted")
    made.episode("b", "t", None, source="scripted")
    made.episode("c", "t", "pass", source="scripted")
    made.bench.paths.episode("c").truth.write_text("{}")
    found = outcomes(made.bench)
    scripted = found["strata"]["scripted"]
    assert (scripted["attempted"], scripted["indeterminate"], scripted["unverified"]) == (3, 2, 2)
    assert scripted["scored"] == 1
    assert scripted["bounds"] == [1 / 3, 1.0]
    assert found["unverified"] == ["b"]
    assert [b["episode_id"] for b in found["broken"]] == ["c"]
    assert found["lead"] is None
    assert len(found["warnings"]) == 2


@given(
    st.lists(
        st.sampled_from(["pass", "fail", "gold_failed", "state_missing", None]), min_size=1, max_size=40
    ),
    st.integers(1, 9),
)
def test_missing_is_never_zero(what: list[str | None], tasks: int) -> None:
    found = block(what, tasks=tasks)
    counts = found["pass"] + found["fail"]
    assert counts == found["scored"]
    assert found["attempted"] == counts + found["indeterminate"] == len(what)
    assert sum(one["n"] for one in found["causes"].values()) + found["unverified"] == found["indeterminate"]
    assert sum(found["blame"].values()) + found["unverified"] == found["indeterminate"]
    json.dumps(found, allow_nan=False)
    if counts == 0:
        assert found["rate"] is None
        return
    low, high = found["bounds"]
    assert low - 1e-12 <= found["rate"] <= high + 1e-12
    assert found["rate"] == pytest.approx(what.count("pass") / counts)
