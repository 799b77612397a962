"""Family bookmark_left_open: fill in the bookmark dialog and leave it open; the verifier ends the browser.

What the dialog holds is kept when it goes, and Chromium writes bookmarks to disk a second or two after that.
Ending the browser does both at once, and it works alike where nothing was done: then nothing is kept, and
the task fails. Waiting for the file to change would never end there, and would not tell the two apart.
"""

from __future__ import annotations

from typing import Any

from pyrite.suites.desk import bookmarks
from pyrite.suites.desk.bookmarks import Params
from pyrite.suites.desk.browser_bookmark_add import HOME, WORK, added

END_LIMIT_S = 30.0
"""Longest wait for the browser to be gone: it takes half a second, a busy machine many times that."""
LOCK = ".config/chromium/SingletonLock"
"""A link that Chromium removes last, when all that it had to write is written."""


def act(params: Params) -> tuple[dict[str, Any], ...]:
    """Exit by the menu, which closes every window, and see that the browser has ended.

    Escape before it closes an open list of folders, or else the dialog, and what that holds is kept: it
    is undone by Remove alone.
    """
    return (
        {"step": "activate_window", "title": r"- Chromium( \(Incognito\))?$", "match": "regex"},
        {"step": "key", "keys": "Escape"},
        {"step": "key", "keys": "alt+f"},
        {"step": "key", "keys": "x"},
        {"step": "wait_for", "window": "Chromium-browser", "gone": True, "timeout_s": END_LIMIT_S},
        {
            "step": "wait_for",
            "command": ("/usr/bin/test", "!", "-L", LOCK),
            "timeout_s": END_LIMIT_S,
        },
    )


def _task(file: str, page: str, title: str, name: str, folder: str, other: str) -> Params:
    """A task of browser_bookmark_add up to the dialog's Done."""
    whole = added(file, page, title, name, folder, other)
    return whole._replace(
        text=f"{whole.text} You may leave the dialog “Bookmark added” open; you need not press Done.",
        actions=whole.actions[:-2],
        claim=f"The page is bookmarked as “{name}” in the folder {folder}; the dialog is open.",
    )


FAMILY = bookmarks.family(
    "bookmark_left_open",
    {
        "bookmark-left-open-pumpkin": _task(
            HOME, "soup.html", "Pumpkin soup", "Pumpkin starter", "Recipes", "Winter recipes"
        ),
        "bookmark-left-open-sailings": _task(
            HOME, "ferry.html", "Ferry timetable", "Summer sailings", "Travel", "Recipes"
        ),
        "bookmark-left-open-may": _task(
            WORK, "minutes.html", "Minutes of May", "May decisions", "Meetings", "Former suppliers"
        ),
    },
)._replace(act=act, truth_from="acted")
