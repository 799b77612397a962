"""Actions that a person could do with mouse and keyboard: checked first, then performed by XTEST."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from Xlib import XK, X
from Xlib.display import Display
from Xlib.ext import xtest

from pyrite.records import Action
from pyrite.sandbox import keyboard

BUTTONS = {"click": (1, 1), "double_click": (1, 2), "right_click": (3, 1), "middle_click": (2, 1)}
"""Action -> mouse button, number of clicks."""
MAX_SCROLL = 100
MAX_WAIT_S = 60.0
_DRAG_STEPS = 12
_DRAG_PAUSE_S = 0.01
_WHEEL = {(1, -1): 4, (1, 1): 5, (0, -1): 6, (0, 1): 7}
"""(axis, direction) -> wheel button; axis 1 is vertical, down and right are positive."""

REQUIRED: dict[str, tuple[str, ...]] = {
    "click": ("x", "y"),
    "double_click": ("x", "y"),
    "right_click": ("x", "y"),
    "middle_click": ("x", "y"),
    "move": ("x", "y"),
    "drag": ("x", "y", "to_x", "to_y"),
    "scroll": (),
    "type": ("text",),
    "key": ("keys",),
    "wait": ("seconds",),
    "launch": ("app",),
    "goto": ("url",),
    "answer": (),
    "done": (),
    "fail": (),
}
"""Every action, and what it must carry."""


def problem(action: Action, width: int, height: int) -> str | None:
    """Why an action cannot be performed on a screen of this size, or None where it can."""
    if action.action not in REQUIRED:
        return f"unknown action {action.action[:40]!r}; known: {', '.join(REQUIRED)}"
    missing = [name for name in REQUIRED[action.action] if getattr(action, name) is None]
    if missing:
        return f"{action.action} needs {', '.join(missing)}"
    if (action.x is None) != (action.y is None):
        return f"{action.action} has only one of x and y"
    for name, limit in (("x", width), ("y", height), ("to_x", width), ("to_y", height)):
        value = getattr(action, name)
        if value is not None and not 0 <= round(value) < limit:
            return f"{name} is {value:g}; expected 0 to {limit - 1}"
    return _problem_of_kind(action)


def _problem_of_kind(action: Action) -> str | None:
    if action.action == "type":
        return keyboard.untypable(action.text or "")
    if action.action == "key":
        parsed = keyboard.parse_keys(action.keys or "")
        return parsed if isinstance(parsed, str) else None
    if action.action == "scroll":
        clicks = (action.dx or 0.0, action.dy or 0.0)
        if not any(clicks) or any(abs(n) > MAX_SCROLL for n in clicks):
            return f"scroll needs dx or dy in wheel clicks, at most {MAX_SCROLL}"
    if action.action == "wait" and not 0 <= (action.seconds or 0.0) <= MAX_WAIT_S:
        return f"seconds is {action.seconds:g}; expected 0 to {MAX_WAIT_S:g}"
    if action.action == "goto":
        return "there is no browser in this desktop"
    return None


def confirms(action: Action) -> bool:
    """Whether an action presses Return, which in a dialog means that it will close."""
    if action.action == "type":
        return (action.text or "").endswith("\n")
    parsed = keyboard.parse_keys(action.keys or "") if action.action == "key" else ""
    return bool(parsed) and parsed[-1] in (XK.XK_Return, XK.XK_KP_Enter)


def perform(display: Display, keys: keyboard.Keyboard, action: Action, pause: Callable[[], object]) -> None:
    """Send the events of an action that has no `problem`; other than mouse and keyboard do nothing."""
    if action.x is not None and action.y is not None:
        _move(display, action.x, action.y)
    if action.action in BUTTONS:
        button, times = BUTTONS[action.action]
        for _ in range(times):
            _press(display, button)
    elif action.action == "drag":
        _drag(display, action)
    elif action.action == "scroll":
        for axis, amount in ((0, action.dx), (1, action.dy)):
            clicks = amount or 0.0
            for _ in range(math.ceil(abs(clicks))):
                _press(display, _WHEEL[axis, 1 if clicks > 0 else -1])
    elif action.action == "type":
        keys.type(display, action.text or "", pause)
    elif action.action == "key":
        parsed = keyboard.parse_keys(action.keys or "")
        assert not isinstance(parsed, str)
        keys.chord(display, parsed, pause)
    display.sync()


def _move(display: Display, x: float, y: float) -> None:
    xtest.fake_input(display, X.MotionNotify, 0, x=round(x), y=round(y))


def _press(display: Display, button: int) -> None:
    xtest.fake_input(display, X.ButtonPress, button)
    xtest.fake_input(display, X.ButtonRelease, button)


def _drag(display: Display, action: Action) -> None:
    x, y, to_x, to_y = (float(v or 0.0) for v in (action.x, action.y, action.to_x, action.to_y))
    display.sync()
    xtest.fake_input(display, X.ButtonPress, 1)
    for step in range(1, _DRAG_STEPS + 1):
        _move(display, x + (to_x - x) * step / _DRAG_STEPS, y + (to_y - y) * step / _DRAG_STEPS)
        display.sync()
        time.sleep(_DRAG_PAUSE_S)  # toolkits begin a drag only on motion that takes time
    xtest.fake_input(display, X.ButtonRelease, 1)
