"""When an agent goes round in circles, and when it only waits."""

from __future__ import annotations

from pyrite.episodes.loops import ROUNDS, WAITS, Loops
from pyrite.records import Action

CLICK = Action(action="click", x=1, y=2)
BACK = Action(action="key", keys="Escape")
WAIT = Action(action="wait", seconds=1.0)


def first_loop(steps: list[tuple[Action, str]]) -> int | None:
    """After how many steps a loop is seen."""
    loops = Loops()
    return next((at for at, step in enumerate(steps, start=1) if loops.seen(*step)), None)


def test_a_round_is_a_loop_when_it_was_made_six_times() -> None:
    assert first_loop([(CLICK, "a")] * 10) == ROUNDS
    assert first_loop([(CLICK, "a"), (BACK, "b")] * 10) == 2 * ROUNDS


def test_the_same_on_changing_screens_is_none() -> None:
    assert first_loop([(CLICK, str(i)) for i in range(40)]) is None


def test_to_wait_is_none_until_it_was_long() -> None:
    assert first_loop([(WAIT, "a")] * (WAITS - 1)) is None
    assert first_loop([(WAIT, "a")] * 40) == WAITS
    assert first_loop([(CLICK, "a"), *[(WAIT, "a")] * 20, (CLICK, "b")]) is None


def test_waits_between_actions_hide_no_loop() -> None:
    assert first_loop([(CLICK, "a"), (WAIT, "a")] * 10) == 2 * ROUNDS
