"""Candidates of the state, narrowed by facts of the episode and by nothing else."""

from __future__ import annotations

import time
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.records import ActionLine, Category, Facts
from pyrite.truth.categories import Observed, narrow, observe, typed_text, was_typed

THREE = ("F-ABORT", "F-CLAIM", "F-UNCOMMITTED")
EXPECTED = {"expected": "4500"}


def line(step: int, action: str, **rest: Any) -> ActionLine:
    return ActionLine(step=step, action=action, **rest)


def category(
    candidates: tuple[str, ...], observed: Observed, diagnostics: dict[str, Any] = EXPECTED
) -> str | None:
    return narrow(candidates, diagnostics, observed).category


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        (Observed(unsaved=True, ended_by="done", final_message="The file is saved."), "F-UNCOMMITTED"),
        (Observed(unsaved=True, ended_by="fail", final_message="I give up."), "F-UNCOMMITTED"),
        (Observed(unsaved=None, ended_by="done", final_message="Saved.", typed="\n4500\n"), "F-UNCOMMITTED"),
        (Observed(unsaved=False, ended_by="done", final_message="Saved.", typed="\n4500\n"), "F-CLAIM"),
        (Observed(unsaved=None, ended_by="done", final_message="Saved.", typed=""), "F-CLAIM"),
        (Observed(unsaved=False, ended_by="step_limit", final_message="Saved."), "F-CLAIM"),
        (Observed(unsaved=False, ended_by="fail", final_message="I give up."), "F-ABORT"),
        (Observed(unsaved=False, ended_by="done", final_message="I could not do it."), "F-ABORT"),
        (Observed(unsaved=False, ended_by="step_limit", final_message=None), "F-ABORT"),
        (Observed(unsaved=False, ended_by="done", final_message=None), None),
        (Observed(unsaved=None, ended_by="done", final_message="Saved.", typed=None), None),
    ],
)
def test_nothing_persisted_is_told_apart(observed: Observed, expected: str | None) -> None:
    found = narrow(THREE, EXPECTED, observed)
    assert found.category == expected
    assert found.source == ("episode" if expected else None)
    assert bool(found.reason) == (expected is None)


def test_one_candidate_is_the_states_own() -> None:
    found = narrow(["F-WRONGTARGET"], {}, Observed(unsaved=True, final_message="I give up."))
    assert (found.category, found.source) == (Category.WRONGTARGET, "state")


def test_only_candidates_are_chosen() -> None:
    claims = Observed(unsaved=True, ended_by="done", final_message="Saved.")
    assert category(("F-PARTIAL", "F-WRONGTARGET"), claims) is None
    assert category(("F-ABORT", "F-CLAIM"), claims) == "F-CLAIM"
    assert category(("F-UNCOMMITTED", "F-WRONGTARGET"), claims) == "F-UNCOMMITTED"


def test_a_code_that_the_facts_exclude_is_dropped() -> None:
    saved = Observed(unsaved=False, ended_by="done", final_message="Saved.")
    assert narrow(["F-UNCOMMITTED", "F-WRONGTARGET"], EXPECTED, saved).category is Category.WRONGTARGET
    assert narrow(["F-UNCOMMITTED", "F-WRONGTARGET"], EXPECTED, saved).source == "episode"
    assert category(("F-UNCOMMITTED", "F-WRONGTARGET", "F-PARTIAL"), saved) is None


def test_no_code_or_an_unknown_one_stays_unclassified() -> None:
    observed = Observed(unsaved=True, ended_by="done", final_message="Saved.")
    assert narrow([], EXPECTED, observed).category is None
    assert narrow(["F-UNCOMMITTED_OR_WRONGTARGET"], EXPECTED, observed).category is None
    assert narrow(["F-UNCOMMITTED", "F-SOMETHING"], EXPECTED, observed).reason.startswith("unknown code")


def test_what_is_not_known_is_not_taken_for_no() -> None:
    observed = Observed(unsaved=None, ended_by="done", final_message="Saved.", typed="some text")
    assert category(THREE, observed, {}) is None
    assert category(("F-ABORT", "F-CLAIM"), observed, {}) == "F-CLAIM"


def test_the_input_holds_nothing_of_who_and_how() -> None:
    assert {f.name for f in fields(Observed)} == {"unsaved", "ended_by", "final_message", "typed"}


def test_ended_by_is_read_from_the_last_action_where_meta_is_silent() -> None:
    assert observe(None, None, None, [line(1, "fail")]).ended_by == "fail"
    assert observe(None, None, None, [line(1, "type", text="a")]).ended_by is None
    assert observe(Facts(unsaved=True), "loop", None, [line(1, "fail")]).ended_by == "loop"
    assert observe(None, None, None, None).typed is None


@pytest.mark.parametrize(
    ("actions", "expected", "was"),
    [
        ([("type", {"text": "4500"})], "4500", True),
        ([("type", {"text": "D14\n4500\n"})], "4500", True),
        ([("type", {"text": "4500.00"})], "4500", True),
        ([("type", {"text": "4,500"})], "4500", True),
        ([("type", {"text": "=4500"})], "4500", True),
        ([("type", {"text": "14500"})], "4500", False),
        ([("type", {"text": "4500.5"})], "4500", False),
        ([("type", {"text": "D4500"})], "4500", False),
        ([("type", {"text": "4500.ods"})], "4500", False),
        ([("type", {"text": "45"}), ("type", {"text": "00"})], "4500", True),
        (
            [("type", {"text": "45"}), ("click", {"x": 1.0, "y": 1.0}), ("type", {"text": "00"})],
            "4500",
            False,
        ),
        ([("key", {"keys": k}) for k in ("4", "5", "KP_0", "0")], "4500", True),
        ([("key", {"keys": k}) for k in ("4", "5", "9", "BackSpace", "0", "0")], "4500", True),
        ([("key", {"keys": k}) for k in ("1", "2", "period", "5")], "12.5", True),
        ([("key", {"keys": k}) for k in ("minus", "7")], "-7", True),
        ([("key", {"keys": k}) for k in ("shift+a", "b")], "Ab", True),
        ([("key", {"keys": "ctrl+4"})], "4", False),
        ([("type", {"text": "Amsterdam\n"})], "Amsterdam", True),
        ([("type", {"text": "amsterdam"})], "Amsterdam", False),
        ([("type", {"text": "Amsterdamer"})], "Amsterdam", False),
        ([("type", {"text": "a (b) c"})], "(b)", True),
        ([("type", {"text": "4500", "error": "no such window"})], "4500", False),
        ([("launch", {"app": "calc", "args": ("4500",)})], "4500", False),
        ([("answer", {"text": "4500"})], "4500", False),
        ([], "4500", False),
    ],
)
def test_typed(actions: list[tuple[str, dict[str, Any]]], expected: str, was: bool) -> None:
    lines = [line(n, name, **rest) for n, (name, rest) in enumerate(actions, start=1)]
    assert was_typed(typed_text(lines), [expected]) is was


def test_hostile_actions_are_read_in_bounded_time() -> None:
    started = time.perf_counter()
    one = line(1, "type", text="4" * 300_000)
    back = line(2, "key", keys="BackSpace")
    assert len(typed_text([one, *[back] * 100_000, one, one])) == 200_000
    assert time.perf_counter() - started < 2


def test_all_of_several_expected_values_must_be_typed() -> None:
    observed = Observed(ended_by="done", final_message="Saved.", typed="1\n2\n")
    assert category(THREE, observed, {"expected": [1, 2]}) == "F-UNCOMMITTED"
    assert category(THREE, observed, {"expected": [1, 3]}) == "F-CLAIM"
    assert category(THREE, observed, {"expected": {"a": 1}}) is None


@given(
    st.lists(st.sampled_from([*Category, "F-NEW"]), max_size=8),
    st.sampled_from([True, False, None]),
    st.sampled_from(["done", "fail", "step_limit", None]),
    st.sampled_from(["Saved.", "I give up.", "", None]),
    st.none() | st.text(max_size=30),
)
def test_the_category_is_a_candidate_or_none(
    candidates: list[str], unsaved: bool | None, ended_by: str | None, message: str | None, typed: str | None
) -> None:
    found = narrow(candidates, EXPECTED, Observed(unsaved, ended_by, message, typed))
    assert found.category is None or found.category in candidates
    assert (found.category is None) == (found.source is None) == bool(found.reason)
    again = narrow(candidates[::-1], EXPECTED, Observed(unsaved, ended_by, message, typed))
    assert again.category == found.category
