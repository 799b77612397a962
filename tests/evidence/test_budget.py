"""What fits a budget of tokens and bytes, and what a package says of the rest."""

from __future__ import annotations

import doctest
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from pyrite.evidence import budget as module
from pyrite.evidence.budget import HEAD, MOST_TEXT, TAIL, Budget, Frame, fit, repeats, text_tokens
from pyrite.evidence.conditions import parse
from pyrite.evidence.leaks import Secrets
from pyrite.evidence.packing import load, pack
from pyrite.records import Evidence, ViewAction

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Episodes


def test_the_examples_run() -> None:
    assert doctest.testmod(module).failed == 0


def frames(names: str, size_bytes: int = 1000) -> list[Frame]:
    return [Frame(name, 75, 10, size_bytes, step) for step, name in enumerate(names)]


def shown(n: int, **more: Any) -> Evidence:
    actions = tuple(
        ViewAction(step=i, action="type", parameters={"text": "x"}, screen=i) for i in range(1, n)
    )
    return Evidence(package_id="p", condition="E3-full", instruction="", actions=actions, **more)


def test_the_last_and_the_first_screen_stay_and_the_latest_before_the_end() -> None:
    # 750 pixels are one token: with bytes for four frames, four stay
    found = fit(shown(8), frames("abcdefgh"), Budget(10_000, 4000))
    assert found.images == ("a", "f", "g", "h")
    assert found.left_out is not None
    assert found.left_out.screens == (1, 2, 3, 4)
    assert (found.left_out.actions, found.left_out.characters) == ((), 0)
    assert [action.screen for action in found.actions] == [None, None, None, None, 1, 2, 3]


def test_tokens_bind_as_bytes_do() -> None:
    size = [Frame(name, 750, 1000, 1, step) for step, name in enumerate("abcdef")]
    found = fit(shown(6), size, Budget(3100, 10**9))
    assert found.images == ("a", "e", "f")
    assert found.left_out is not None
    assert found.left_out.screens == (1, 2, 3)


def test_a_frame_that_is_shown_already_costs_nothing() -> None:
    found = fit(shown(6), frames("abbbba"), Budget(10_000, 2000))
    assert found.images == tuple("abbbba")
    assert found.same_as == (None, None, 1, 1, 1, 0)
    assert found.left_out is None


def test_actions_keep_the_first_and_the_latest_and_lose_their_screens_too() -> None:
    big = tuple(
        ViewAction(step=i, action="type", parameters={"text": "x" * 3000}, screen=i) for i in range(1, 7)
    )
    found = fit(shown(7).model_copy(update={"actions": big}), frames("abcdefg"), Budget(5000, 10**6))
    assert [action.step for action in found.actions] == [1, 5, 6]
    assert found.left_out is not None
    assert found.left_out.actions == (2, 3, 4)
    assert found.left_out.screens == (2, 3, 4)
    assert found.images == tuple("abfg")


def test_a_long_text_loses_its_middle_and_the_place_is_marked() -> None:
    text = "a" * HEAD + "b" * 5000 + "c" * TAIL
    found = fit(shown(1, final_message=text), frames("a"), Budget())
    assert found.final_message == "a" * HEAD + "[… 5,000 characters are left out …]" + "c" * TAIL
    assert found.left_out is not None
    assert found.left_out.characters == 5000
    whole = fit(shown(1, final_message="a" * MOST_TEXT), frames("a"), Budget())
    assert (whole.final_message, whole.left_out) == ("a" * MOST_TEXT, None)


@given(
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=12),
    st.integers(1000, 6000),
    st.integers(1, 5000),
    st.data(),
)
def test_whatever_fits_is_consistent_and_within_the_budget(
    names: list[str], tokens: int, size: int, data: st.DataObject
) -> None:
    sizes = {name: data.draw(st.integers(1, 3000)) for name in "abcd"}
    sides = {name: data.draw(st.integers(1, 3000)) for name in "abcd"}
    given_frames = [Frame(name, 750, sides[name], sizes[name], step) for step, name in enumerate(names)]
    lengths = data.draw(st.lists(st.integers(0, 12_000), min_size=len(names), max_size=len(names)))
    actions = tuple(
        ViewAction(step=i, action="type", parameters={"text": "x" * lengths[i]}, screen=i)
        for i in range(1, len(names))
    )
    found = fit(shown(1).model_copy(update={"actions": actions}), given_frames, Budget(tokens, size))
    left = found.left_out
    gone = set(left.screens) if left else set()
    steps = [frame.step for frame in given_frames if frame.step not in gone]
    assert found.images == tuple(names[step] for step in steps)
    assert found.images[-1] == names[-1]
    assert found.same_as == repeats(found.images)
    others = set(found.images) - {names[-1]}
    assert sum(sizes[name] for name in others) <= max(0, size - sizes[names[-1]])
    assert sum(sides[name] for name in others) <= tokens
    there = {action.step for action in found.actions}
    assert there | set(left.actions if left else ()) == set(range(1, len(names)))
    for action in found.actions:
        assert action.screen == (steps.index(action.step) if action.step in steps else None)
    assert fit(shown(1).model_copy(update={"actions": actions}), given_frames, Budget(tokens, size)) == found


def test_a_bench_is_packed_within_what_was_asked(
    episodes: Episodes, instructions: Callable[[str], str | None]
) -> None:
    episodes.add("ep_1", [{"action": "type", "text": f"t{i}"} for i in range(8)])
    one = next(iter(pack(episodes.bench, [parse("E3-full")], instructions, lambda meta: Secrets()).entries))
    assert load(episodes.bench, one).left_out is None
    size = max(path.stat().st_size for path in episodes.bench.paths.images.iterdir())
    small = pack(
        episodes.bench,
        [parse("E3-full")],
        instructions,
        lambda meta: Secrets(values=(str(3 * size),)),
        budget=Budget(1000, 3 * size),
    )
    assert (small.leaks, small.shortened) == ((), {"E3-full": 1})
    found = load(episodes.bench, small.entries[0])
    assert found.left_out is not None
    assert found.left_out.max_bytes == 3 * size
    assert found.left_out.screens == (1, 2, 3, 4, 5, 6)
    assert text_tokens("") == 0
