"""Actions are checked before they are performed; keys and texts become keysyms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from Xlib import XK

from pyrite.records import Action, Launch
from pyrite.sandbox import apps, inputs, keyboard


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        ("ctrl+s", ["Control_L", "s"]),
        ("Ctrl+Shift+S", ["Control_L", "Shift_L", "S"]),
        ("Return", ["Return"]),
        ("enter", ["Return"]),
        ("super+Page_Down", ["Super_L", "Page_Down"]),
        ("alt+F4", ["Alt_L", "F4"]),
        ("+", ["plus"]),
        ("ctrl++", ["Control_L", "plus"]),
        ("ctrl+plus", ["Control_L", "plus"]),
        (".", ["period"]),
        ("é", ["eacute"]),
    ],
)
def test_keys_are_x_keysym_names(keys: str, names: list[str]) -> None:
    assert keyboard.parse_keys(keys) == [XK.string_to_keysym(n) for n in names]


@pytest.mark.parametrize("keys", ["", "nosuch", "ctrl+", "ctrl+nosuch", "a+b+c+d+e+f+g", "\x00", "ctrl+\n\n"])
def test_unknown_keys_are_refused(keys: str) -> None:
    assert isinstance(keyboard.parse_keys(keys), str)


@given(st.text(max_size=50))
def test_any_text_is_typable_or_refused(text: str) -> None:
    refused = keyboard.untypable(text)
    keysyms = [keyboard.keysym_of_character(c) for c in text]
    assert (refused is None) == (None not in keysyms)
    isinstance(keyboard.parse_keys(text), (str, list))


def test_text_limit() -> None:
    assert keyboard.untypable("x" * keyboard.MAX_TEXT) is None
    assert keyboard.untypable("x" * (keyboard.MAX_TEXT + 1)) is not None
    assert keyboard.untypable("\ud800") is not None


@pytest.mark.parametrize(
    "action",
    [
        Action(action="click", x=0, y=0),
        Action(action="click", x=99.4, y=49.4),
        Action(action="drag", x=1, y=1, to_x=5, to_y=5),
        Action(action="scroll", dy=-3),
        Action(action="scroll", x=1, y=1, dx=1, dy=1),
        Action(action="type", text=""),
        Action(action="type", text="a\tb\n"),
        Action(action="key", keys="ctrl+s"),
        Action(action="wait", seconds=0),
        Action(action="launch", app="anything"),
        Action(action="answer", text="42"),
        Action(action="answer"),
        Action(action="done"),
        Action(action="fail"),
    ],
)
def test_right_actions(action: Action) -> None:
    assert inputs.problem(action, 100, 50) is None


@pytest.mark.parametrize(
    ("action", "said"),
    [
        (Action(action="hack"), "unknown action"),
        (Action(action="raw"), "unknown action"),
        (Action(action="click"), "needs x, y"),
        (Action(action="click", x=1), "needs y"),
        (Action(action="scroll", x=1, dy=1), "only one of x and y"),
        (Action(action="click", x=100, y=1), "x is 100; expected 0 to 99"),
        (Action(action="click", x=-1, y=1), "x is -1"),
        (Action(action="drag", x=1, y=1, to_x=1, to_y=1e300), "to_y is 1e+300"),
        (Action(action="scroll"), "wheel clicks"),
        (Action(action="scroll", dy=1e9), "wheel clicks"),
        (Action(action="wait", seconds=-1), "seconds is -1"),
        (Action(action="wait", seconds=1e9), "seconds is 1e+09"),
        (Action(action="type", text="\x07"), "U+0007"),
        (Action(action="goto", url="http://example.org"), "no browser"),
    ],
)
def test_wrong_actions(action: Action, said: str) -> None:
    assert said in str(inputs.problem(action, 100, 50))


@pytest.mark.parametrize(
    ("action", "confirms"),
    [
        (Action(action="key", keys="Return"), True),
        (Action(action="key", keys="KP_Enter"), True),
        (Action(action="type", text="x\n"), True),
        (Action(action="type", text="x"), False),
        (Action(action="key", keys="ctrl+s"), False),
        (Action(action="key", keys="nosuch"), False),
        (Action(action="click", x=1, y=1), False),
    ],
)
def test_return_confirms(action: Action, confirms: bool) -> None:
    assert inputs.confirms(action) is confirms


def test_launch_is_allow_listed() -> None:
    for wrong in (
        Launch(app="rm", args=("-rf", "/")),
        Launch(app="/bin/sh"),
        Launch(app=""),
    ):
        assert "unknown application" in apps.command(wrong)
    if not isinstance(apps.command(Launch(app="xterm")), str):
        assert apps.command(Launch(app="xterm", args=("-e", "a b; c"))) == ["/usr/bin/xterm", "-e", "a b; c"]
        assert "control character" in apps.command(Launch(app="xterm", args=("a\nb",)))
        assert "too many" in apps.command(Launch(app="xterm", args=("a",) * 100))
        assert "too long" in apps.command(Launch(app="xterm", args=("a" * 10_000,)))
