"""Keys and text as X key events; characters that the layout lacks get a key of their own.

A key that was given a character keeps it until all spare keys are used up, because an application
reads the layout when it handles the event, not when the event was sent.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from Xlib import XK, X
from Xlib.display import Display
from Xlib.ext import xtest

for _group in ("latin2", "latin3", "latin4", "greek", "cyrillic", "xf86", "xkb"):
    XK.load_keysym_group(_group)

ALIASES = {
    "ctrl": "Control_L",
    "control": "Control_L",
    "alt": "Alt_L",
    "shift": "Shift_L",
    "super": "Super_L",
    "meta": "Super_L",
    "enter": "Return",
    "esc": "Escape",
    "del": "Delete",
    "ins": "Insert",
    "backspace": "BackSpace",
    "tab": "Tab",
    "space": "space",
    "pageup": "Page_Up",
    "pagedown": "Page_Down",
    "up": "Up",
    "down": "Down",
    "left": "Left",
    "right": "Right",
    "home": "Home",
    "end": "End",
}
"""Names accepted besides X's own, in any case."""

MAX_TEXT = 10_000
"""Most characters of one `type` action."""
MAX_KEYS = 6
"""Most keys pressed together."""

_UNICODE = 0x01000000
_NAMED = {"\n": "Return", "\r": "Return", "\t": "Tab", "\b": "BackSpace"}
_REMAP_S = 0.05
"""Time for applications to fetch a changed layout before the next key uses it."""


def keysym_of_character(character: str) -> int | None:
    """The X keysym of one character; None for a control character or half of a pair.

    >>> hex(keysym_of_character("a")), hex(keysym_of_character("€"))
    ('0x61', '0x10020ac')
    """
    if character in _NAMED:
        return int(XK.string_to_keysym(_NAMED[character]))
    code = ord(character)
    if code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000:
        return None
    return code if code < 0x100 else _UNICODE | code


def parse_keys(keys: str) -> list[int] | str:
    """Keysyms of names joined by `+`, in order of pressing, or why there are none.

    >>> [hex(k) for k in parse_keys("ctrl+s")], [hex(k) for k in parse_keys("ctrl++")]
    (['0xffe3', '0x73'], ['0xffe3', '0x2b'])
    """
    if keys == "+":
        names = ["plus"]
    elif keys.endswith("++"):
        names = [*keys[:-2].split("+"), "plus"]
    else:
        names = keys.split("+")
    if len(names) > MAX_KEYS:
        return f"{len(names)} keys at once; at most {MAX_KEYS}"
    out = []
    for name in names:
        keysym = _keysym(name.strip() or name)
        if keysym is None:
            return f"unknown key {name[:40]!r}; expected X keysym names joined by +, such as ctrl+s or Return"
        out.append(keysym)
    return out


def _keysym(name: str) -> int | None:
    known = XK.string_to_keysym(ALIASES.get(name.lower(), name))
    if known:
        return int(known)
    return keysym_of_character(name) if len(name) == 1 else None


def untypable(text: str) -> str | None:
    """Why a text cannot be typed, or None where it can."""
    if len(text) > MAX_TEXT:
        return f"text of {len(text)} characters; at most {MAX_TEXT}"
    for position, character in enumerate(text):
        if keysym_of_character(character) is None:
            return f"character {position} is U+{ord(character):04X}, which no key gives"
    return None


class Keyboard:
    """The layout of one display, and what was added to it."""

    def __init__(self, display: Display) -> None:
        first, last = display.display.info.min_keycode, display.display.info.max_keycode
        self._where: dict[int, tuple[int, bool]] = {}
        spare = []
        for code, row in enumerate(display.get_keyboard_mapping(first, last - first + 1), start=first):
            if not any(row):
                spare.append(code)
            for shifted in (False, True):
                if len(row) > shifted and row[shifted]:
                    self._where.setdefault(row[shifted], (code, shifted))
        self._spare = spare
        self._added: dict[int, int] = {}
        self._shift = self._where[int(XK.string_to_keysym("Shift_L"))][0]

    def chord(self, display: Display, keysyms: list[int], pause: Callable[[], object]) -> None:
        """Press keys together, the last one released first."""
        self._provide(display, keysyms, pause)
        codes = []
        for keysym in keysyms:
            code, shifted = self._where[keysym]
            if shifted and self._shift not in codes:
                codes.append(self._shift)
            codes.append(code)
        for code in codes:
            xtest.fake_input(display, X.KeyPress, code)
        for code in reversed(codes):
            xtest.fake_input(display, X.KeyRelease, code)
        display.sync()

    def type(self, display: Display, text: str, pause: Callable[[], object]) -> None:
        """Type a text. `pause` waits until applications have handled the keys so far."""
        keysyms = [k for c in text if (k := keysym_of_character(c)) is not None]
        room = max(1, len(self._spare) // 2)
        start = 0
        while start < len(keysyms):
            end, new = start, set[int]()
            while end < len(keysyms) and end - start < 200:
                if keysyms[end] not in self._where and len(new | {keysyms[end]}) > room:
                    break
                if keysyms[end] not in self._where:
                    new.add(keysyms[end])
                end += 1
            self._provide(display, keysyms[start:end], pause)
            for keysym in keysyms[start:end]:
                self._tap(display, *self._where[keysym])
            display.sync()
            start = end

    def _tap(self, display: Display, code: int, shifted: bool) -> None:
        if shifted:
            xtest.fake_input(display, X.KeyPress, self._shift)
        xtest.fake_input(display, X.KeyPress, code)
        xtest.fake_input(display, X.KeyRelease, code)
        if shifted:
            xtest.fake_input(display, X.KeyRelease, self._shift)

    def _provide(self, display: Display, keysyms: list[int], pause: Callable[[], object]) -> None:
        """Give every keysym a key, taking back the longest-held keys where spare ones run out."""
        needed = [k for k in dict.fromkeys(keysyms) if k not in self._where]
        if not needed:
            return
        if len(needed) > len(self._spare):
            pause()  # keys sent so far must be handled before their meaning changes
            for keysym in [k for k in self._added if k not in keysyms][: len(needed) - len(self._spare)]:
                self._spare.append(self._added.pop(keysym))
                del self._where[keysym]
        for keysym in needed:
            code = self._spare.pop()
            display.change_keyboard_mapping(code, [(keysym, keysym)])
            self._added[keysym] = code
            self._where[keysym] = (code, False)
        display.sync()
        time.sleep(_REMAP_S)
