"""Where an action is drawn, and that nothing of it leaves the picture or breaks out of it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.records import ActionLine
from pyrite.report.overlay import POINTED, in_words, overlay

NUMBER = st.none() | st.floats(allow_nan=False, allow_infinity=False)


def act(action: str, **given: Any) -> ActionLine:
    return ActionLine(step=6, action=action, **given)


def numbers(markup: str, name: str) -> list[float]:
    return [float(value) for value in re.findall(rf' {name}="([^"]*)"', markup)]


def test_a_click_is_a_ring_at_its_point_with_a_label_beside() -> None:
    found = overlay(act("click", x=700, y=500), 1024, 768)
    assert set(numbers(found.marks, "cx")) == {700}
    assert set(numbers(found.marks, "cy")) == {500}
    assert "6 click 700, 500" in found.marks
    assert (found.band, found.outside) == (0, False)


def test_a_label_at_the_right_edge_stands_left_of_the_mark() -> None:
    found = overlay(act("click", x=1020, y=2), 1024, 768)
    (left,), (wide,) = numbers(found.marks, "x")[:1], numbers(found.marks, "width")
    assert left + wide < 1020
    assert numbers(found.marks, "y")[0] >= 0


def test_a_drag_has_two_ends_and_an_arrow() -> None:
    found = overlay(act("drag", x=10, y=20, to_x=300, to_y=200), 1024, 768)
    assert set(numbers(found.marks, "cx")) == {10, 300}
    assert found.marks.count("<polygon") == 1
    assert "10, 20 → 300, 200" in found.marks


def test_text_and_keys_stand_in_a_band_below_the_screen() -> None:
    for line in (act("type", text="4500"), act("key", keys="ctrl+s"), act("click"), act("raw", raw={"a": 1})):
        found = overlay(line, 1024, 768)
        assert found.band > 0
        assert "<circle" not in found.marks
        assert numbers(found.marks, "y")[0] > 768


def test_a_point_outside_is_drawn_at_the_edge_and_said() -> None:
    found = overlay(act("click", x=5000, y=-3), 1024, 768)
    assert found.outside
    assert set(numbers(found.marks, "cx")) == {1024}
    assert set(numbers(found.marks, "cy")) == {0}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (act("click", x=1.5, y=-2), "1.5, −2"),
        (act("scroll", x=1, y=2, dx=-4), "1, 2 · 4 left"),
        (act("drag", to_x=3, to_y=4), " → 3, 4"),
        (act("wait", seconds=0.5), "0.5 s"),
        (act("launch", app="calc", args=["a.ods"]), "calc a.ods"),
        (act("type", text="x" * 50), "“" + "x" * 44 + "… (6 more characters)”"),
        (act("type", text=""), "“”"),
        (act("raw", raw="pyautogui.click()"), "pyautogui.click()"),
        (act("done"), ""),
    ],
)
def test_words(line: ActionLine, words: str) -> None:
    assert in_words(line) == words


@given(
    st.sampled_from([*POINTED, "type", "key", "raw"]),
    st.fixed_dictionaries(dict.fromkeys(("x", "y", "to_x", "to_y", "dx", "dy"), NUMBER)),
    st.none() | st.text(max_size=80),
    st.integers(1, 5000),
    st.integers(1, 5000),
)
def test_any_action_is_drawn_without_breaking_out(
    action: str, where: dict[str, float | None], text: str | None, width: int, height: int
) -> None:
    found = overlay(act(action, text=text, **where), width, height)
    assert set(re.findall(r"</?([a-zA-Z]+)", found.marks)) <= {"circle", "line", "polygon", "rect", "text"}
    assert not re.search(r"\b(nan|inf)\b", re.sub(r"<text.*?</text>", "", found.marks))
    assert all(0 <= value <= width for value in numbers(found.marks, "cx"))
