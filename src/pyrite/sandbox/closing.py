"""Whether work is unsaved, found by asking every window to close.

LibreOffice shows unsaved work in no property, lock or recovery file; a close request does: a new
dialog within 0.1 s means unsaved work, a window that is gone within 0.3 s means none.
"""

from __future__ import annotations

import time

from pyrite.sandbox.settle import POLL_S
from pyrite.sandbox.xclient import DisplayLost, XClient

CLOSE_LIMIT_S = 1.5
"""Longest wait for what one window does."""
CLOSE_ALL_LIMIT_S = 6.0


def unsaved(x: XClient) -> bool | None:
    """True: a window brought up a dialog; False: every window went; None: neither, or no window."""
    try:
        windows = x.managed()
        dialogs = [w for w in windows if x.is_dialog(w)]
        # Open dialogs first: they hold up the windows that they belong to, and closing one says nothing.
        for window in reversed(dialogs):
            close(x, window)
        return _verdict(x, [w for w in reversed(windows) if w not in dialogs])
    except DisplayLost:
        return None


def _verdict(x: XClient, windows: list[int]) -> bool | None:
    answers: list[bool | None] = []
    deadline = time.monotonic() + CLOSE_ALL_LIMIT_S
    for window in windows:
        answers.append(close(x, window) if time.monotonic() < deadline else None)
    if True in answers:
        return True
    return False if answers and None not in answers else None


def close(x: XClient, window: int) -> bool | None:
    """Ask one window to close. True: a dialog came up; False: the window went; None: neither."""
    before = set(x.managed())
    if window not in before:
        return False
    x.ask_to_close(window)
    deadline = time.monotonic() + CLOSE_LIMIT_S
    while time.monotonic() < deadline:
        now = x.managed()
        if any(x.is_dialog(w) for w in now if w not in before):
            return True
        if window not in now:
            return False
        time.sleep(POLL_S)
    return None
