"""Vote first, map second: every row of the table of cases, and what no vote may do."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.errors import InputError
from pyrite.measure.table import FAILURE, MISSING, PARSE_ERROR, SUCCESS, UNCERTAIN
from pyrite.measure.vote import Votes, vote

CODE = {"S": SUCCESS, "F": FAILURE, "U": UNCERTAIN, "P": PARSE_ERROR, "-": MISSING}


def voted(runs: str, configured: int) -> Votes:
    said = np.array([CODE[r] for r in runs], dtype=np.int8)
    return vote(np.zeros(len(said), dtype=np.int32), said, episodes=1, runs=configured)


@pytest.mark.parametrize(
    ("runs", "configured", "verdict", "incomplete"),
    [
        ("SSF", 3, SUCCESS, False),
        ("SSU", 3, SUCCESS, False),
        ("SFU", 3, UNCERTAIN, False),
        ("SUU", 3, UNCERTAIN, False),
        ("FFS", 3, FAILURE, False),
        ("SPP", 3, PARSE_ERROR, False),
        ("SS", 3, SUCCESS, True),
        ("S", 3, MISSING, False),
        ("FF", 3, FAILURE, True),
        ("SF", 3, MISSING, False),
        ("SSFF", 4, UNCERTAIN, False),
        ("", 3, MISSING, False),
        ("", 1, MISSING, False),
        ("S", 1, SUCCESS, False),
        ("SS-", 3, SUCCESS, True),
        ("SSF", 4, MISSING, False),
        ("SSS", 4, SUCCESS, True),
        ("SSF", 5, MISSING, False),
    ],
)
def test_cases(runs: str, configured: int, verdict: int, incomplete: bool) -> None:
    found = voted(runs, configured)
    assert (found.verdict[0], bool(found.incomplete[0])) == (verdict, incomplete)


def test_more_votes_than_runs_is_an_error() -> None:
    with pytest.raises(InputError, match="4 verdicts"):
        voted("SSSF", 3)


def test_episodes_do_not_mix() -> None:
    episode = np.array([1, 0, 1, 0], dtype=np.int32)
    said = np.array([SUCCESS, FAILURE, SUCCESS, FAILURE], dtype=np.int8)
    assert vote(episode, said, episodes=3, runs=2).verdict.tolist() == [FAILURE, SUCCESS, MISSING]


@given(st.lists(st.sampled_from("SFUP-"), max_size=9), st.integers(0, 4))
def test_success_only_with_a_strict_majority_of_the_configured_runs(runs: list[str], more: int) -> None:
    configured = max(1, len(runs) + more)
    found = voted("".join(runs), configured)
    assert (found.verdict[0] == SUCCESS) == (2 * runs.count("S") > configured)
    assert (found.verdict[0] == FAILURE) == (2 * runs.count("F") > configured)
    present = len(runs) - runs.count("-")
    if 2 * present <= configured:
        assert found.verdict[0] == MISSING
    assert voted("".join(reversed(runs)), configured).verdict[0] == found.verdict[0]


@pytest.mark.parametrize(
    ("q", "wanted"), [(0.1, 0.028), (0.2, 0.104), (0.3, 0.216), (0.5, 0.5), (0.7, 0.784)]
)
def test_majority_of_three_removes_only_what_errs_independently(q: float, wanted: float) -> None:
    """3 q^2 (1 - q) + q^3, by every pattern of three runs."""
    share = sum(
        q ** runs.count("S") * (1 - q) ** runs.count("F")
        for runs in map("".join, itertools.product("SF", repeat=3))
        if voted(runs, 3).verdict[0] == SUCCESS
    )
    assert share == pytest.approx(wanted)
