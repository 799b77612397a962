"""Family browser_startup: what Chromium opens at its start, in its settings.

To choose "a specific page" is not enough: without a page nothing is kept, though the screen shows the choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.homes import TooManyFiles, diff, digest_file, snapshot
from pyrite.checks.jsonfile import at, read_json
from pyrite.checks.package import Unreadable
from pyrite.checks.verdict import NOTHING_PERSISTED, Result
from pyrite.suites.desk.bookmarks import BOOKMARKS, PREFERENCES, UNREAD, address, entries
from pyrite.suites.desk.chromium_settings import BROWSER_SETTINGS, SETTINGS, changed
from pyrite.suites.family import Family, KnownState

FILES = Path(__file__).with_name("files")
LOCAL_STATE = ".config/chromium/Local State"
OWN_BOOKMARKS = "chromium_work_bookmarks.json"
RESTORE, PAGES = ("session", "restore_on_startup"), ("session", "startup_urls")
LAST, SPECIFIC, NEW_TAB = 1, 4, 5
"""Values of the setting: go on where one left off, pages of one's own, a new tab."""
MAX_LISTED = 10
FIRST = "http://portal.example.org/"


class Params(NamedTuple):
    """One task."""

    preferences: str
    page: str
    text: str
    restore: int
    pages: tuple[str, ...]
    """What the list of start pages must be; where `restore` is not `SPECIFIC`, what it stays."""
    old: tuple[int, tuple[str, ...]]
    actions: tuple[Mapping[str, Any], ...]
    claim: str
    typed: tuple[str, ...]


def initial(params: Params) -> dict[str, str]:
    return {
        PREFERENCES: params.preferences,
        BOOKMARKS: OWN_BOOKMARKS,
        f"Pages/{params.page}": f"page_{params.page}",
    }


def _chosen(value: Any) -> tuple[Any, Any]:
    """(what to open, the pages) of a file of settings; a new tab where nothing is set."""
    restore, pages = at(value, *RESTORE), at(value, *PAGES)
    return (NEW_TAB if restore is None else restore), ([] if pages is None else pages)


def verify(params: Params, home: Path) -> Result:
    """Compare the settings of Chromium's start; a file that cannot be read is the agent's failure."""
    seen: dict[str, Any] = {"preferences": PREFERENCES, "expected": list(params.typed), "damage": []}
    before = read_json(FILES / params.preferences)
    files = {path: digest_file(FILES / name) for path, name in initial(params).items() if path[0] != "."}
    try:
        moved = diff(files, snapshot(home))
        after = read_json(home / PREFERENCES)
        kept = entries(read_json(home / BOOKMARKS))
        whole = _whole_browser(home)
    except TooManyFiles as exc:
        return Result(False, (), {**seen, "damage": [str(exc)]})
    except Unreadable as exc:
        return Result(False, (), {**seen, "damage": [str(exc)[:200]]})
    restore, pages = _chosen(after)
    seen["found"] = f"{restore!r}, {pages!r}"[:200]
    damage = [] if moved.empty else ["another file has changed"]
    damage += [*changed(before, after, SETTINGS), *changed({}, whole, BROWSER_SETTINGS)]
    damage += [] if kept == entries(read_json(FILES / OWN_BOOKMARKS)) else ["the bookmarks"]
    seen["damage"] = damage[:MAX_LISTED]
    wanted = list(params.pages)
    right = _is(restore, params.restore) and pages == wanted
    if right:
        return Result(not damage, ("F-SIDEEFFECT",) if damage else (), seen)
    return Result(False, _category(params, restore, pages, after, damage), seen)


def _whole_browser(home: Path) -> Any:
    """The settings that hold for every profile; there are none before Chromium runs."""
    path = home / LOCAL_STATE
    return read_json(path) if path.is_symlink() or path.exists() else {}


def _is(value: Any, wanted: int) -> bool:
    return type(value) is int and value == wanted


def _category(params: Params, restore: Any, pages: Any, after: Any, damage: list[str]) -> tuple[str, ...]:
    wanted, listed = list(params.pages), pages if isinstance(pages, list) else []
    new = [page for page in wanted if page not in params.old[1]]
    if _is(restore, params.restore) and new and all(page in listed for page in wanted):
        return ("F-SIDEEFFECT",)
    if new and at(after, "homepage") in new:
        return ("F-WRONGTARGET",)
    if not _is(restore, params.old[0]) or listed != list(params.old[1]):
        return ("F-PARTIAL",)
    return () if damage else NOTHING_PERSISTED


def _known(kind: str, params: Params) -> tuple[KnownState, ...]:
    from pyrite.suites.desk import browser_startup_states as known

    found: tuple[KnownState, ...] = getattr(known, kind)(params)
    return found


# --- tasks -------------------------------------------------------------------------------------


def _press(*keys: str) -> tuple[Mapping[str, Any], ...]:
    return tuple({"action": "key", "keys": key} for key in keys)


def _task(
    old: tuple[int, tuple[str, ...]], page: str, text: str, restore: int, pages: tuple[str, ...], *keys: str
) -> Params:
    """`keys`: from the chosen radio button on; what starts with " is typed without it."""
    typed = tuple(page for page in pages if page not in old[1])
    return Params(
        preferences=(
            "chromium_one_page_preferences.json"
            if old[0] == SPECIFIC
            else "chromium_new_tab_preferences.json"
        ),
        page=page,
        text=f"In the settings of the browser, {text} Change no other setting, no bookmark and no file.",
        restore=restore,
        pages=pages,
        old=old,
        actions=(
            *_press("ctrl+l"),
            {"action": "type", "text": "chrome://settings/onStartup"},
            *_press("Return", "Tab", "Tab"),
            *(
                {"action": "type", "text": key[1:]} if key.startswith('"') else {"action": "key", "keys": key}
                for key in keys
            ),
        ),
        claim="The browser's start is set as you asked.",
        typed=typed,
    )


_TAB, _ONE = (NEW_TAB, ()), (SPECIFIC, (FIRST,))
_ORDERS, _WIKI = "http://127.0.0.1:8000/orders", "http://wiki.example.org/today"

FAMILY = Family(
    name="browser_startup",
    domain="browser",
    files=FILES,
    params={
        "browser-startup-orders-page": _task(
            _TAB,
            "prices.html",
            f"let the browser open the page {_ORDERS} on startup, and only that page.",
            SPECIFIC,
            (_ORDERS,),
            *("Down", "Down", "Tab", "Return", f'"{_ORDERS}', "Return"),
        ),
        "browser-startup-second-page": _task(
            _ONE,
            "minutes.html",
            f"add the page {_WIKI} to the pages that open on startup, after the one that is there.",
            SPECIFIC,
            (FIRST, _WIKI),
            *("Tab", "Tab", "Return", f'"{_WIKI}', "Return"),
        ),
        "browser-startup-continue": _task(
            _ONE,
            "prices.html",
            "choose that the browser continues where you left off on startup. Keep the page in the list of "
            "specific pages as it is.",
            LAST,
            (FIRST,),
            "Up",
        ),
        "browser-startup-new-tab": _task(
            _ONE,
            "soup.html",
            "choose that the browser opens the New Tab page on startup. Keep the page in the list of "
            "specific pages as it is.",
            NEW_TAB,
            (FIRST,),
            *("Up", "Up"),
        ),
    },
    instruction=lambda one: one.text,
    initial=initial,
    opened=lambda one: ("chromium", (address(one.page),)),
    reads=(PREFERENCES, LOCAL_STATE, BOOKMARKS, "**"),
    good=lambda one: _known("good", one),
    harmless=lambda one: _known("harmless", one),
    bad=lambda one: _known("bad", one),
    verify=verify,
    script=lambda one: [*map(dict, one.actions), {"action": "done"}],
    claim=lambda one: one.claim,
    equivalent=lambda one: {f"file-added@{PREFERENCES}": UNREAD},
)
