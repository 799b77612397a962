"""Family browser_startup: what Chromium opens at its start, in its settings.

To choose "a specific page" is not enough: without a page nothing is kept, though the screen shows the choice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.homes import TooManyFiles, diff, digest_file, snapshot
from pyrite.checks.jsonfile import at, read_json
from pyrite.checks.package import Unreadable
from pyrite.checks.verdict import NOTHING_PERSISTED, Result
from pyrite.suites.desk.bookmarks import BOOKMARKS, PREFERENCES, UNREAD, address, entries
from pyrite.suites.family import Family, KnownState

FILES = Path(__file__).with_name("files")
OWN_BOOKMARKS = "chromium_work_bookmarks.json"
RESTORE, PAGES = ("session", "restore_on_startup"), ("session", "startup_urls")
LAST, SPECIFIC, NEW_TAB = 1, 4, 5
"""Values of the setting: go on where one left off, pages of one's own, a new tab."""
OTHERS = (
    ("homepage",),
    ("homepage_is_newtabpage",),
    ("browser", "show_home_button"),
    ("bookmark_bar", "show_on_all_tabs"),
    ("download", "default_directory"),
    ("download", "prompt_for_download"),
)
"""Settings that a person could take for the wanted one, or change beside it."""
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
    except TooManyFiles as exc:
        return Result(False, (), {**seen, "damage": [str(exc)]})
    except Unreadable as exc:
        return Result(False, (), {**seen, "damage": [str(exc)[:200]]})
    restore, pages = _chosen(after)
    seen["found"] = f"{restore!r}, {pages!r}"[:200]
    damage = [] if moved.empty else ["another file has changed"]
    damage += [".".join(keys) for keys in OTHERS if repr(at(before, *keys)) != repr(at(after, *keys))]
    damage += [] if kept == entries(read_json(FILES / OWN_BOOKMARKS)) else ["the bookmarks"]
    seen["damage"] = damage
    wanted = list(params.pages)
    right = _is(restore, params.restore) and pages == wanted
    if right:
        return Result(not damage, ("F-SIDEEFFECT",) if damage else (), seen)
    return Result(False, _category(params, restore, pages, after, damage), seen)


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


# --- known states ------------------------------------------------------------------------------


def _settings(restore: Any, pages: Any, **more: Any) -> Callable[[Path], None]:
    def make(home: Path) -> None:
        path = home / PREFERENCES
        value = json.loads(path.read_text("utf-8"))
        session = {"restore_on_startup": restore, **({} if pages is None else {"startup_urls": pages})}
        path.write_text(json.dumps({**value, "session": session, **more}, indent=3), "utf-8")

    return make


def _then(make: Callable[[Path], None], then: Callable[[Path], object]) -> Callable[[Path], None]:
    def both(home: Path) -> None:
        make(home)
        then(home)

    return both


def _kept(params: Params) -> Any:
    return list(params.pages) or None


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", _settings(params.restore, _kept(params))),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    right = _settings(params.restore, _kept(params))
    much = {"profile": {"name": "Person 1"}, "browser": {"window_placement": {"left": 10}}, "ntp": {"n": 1}}
    return (
        KnownState("much_more", _settings(params.restore, _kept(params), **much)),
        KnownState("empty_list", _settings(params.restore, list(params.pages))),
        KnownState("visited", _then(right, lambda home: (home / PREFERENCES).with_name("History").touch())),
    )


def bad(params: Params) -> tuple[KnownState, ...]:
    kept = list(params.pages)
    right = _settings(params.restore, kept)
    beside, partial = ("F-SIDEEFFECT",), ("F-PARTIAL",)
    states = [
        KnownState("untouched", lambda home: None, NOTHING_PERSISTED),
        KnownState(
            "home_button_too", _settings(params.restore, kept, browser={"show_home_button": True}), beside
        ),
        KnownState(
            "home_page_too", _settings(params.restore, kept, homepage="http://x.example.org/"), beside
        ),
        KnownState("page_too", _then(right, lambda home: (home / "page.html").write_text("x")), beside),
        KnownState("bookmark_gone", _then(right, _no_bookmarks), beside),
        KnownState("as_text", _settings(str(params.restore), kept), partial),
        KnownState("no_json", _then(right, lambda home: (home / PREFERENCES).write_text("{"))),
        KnownState("deleted", lambda home: (home / PREFERENCES).unlink()),
    ]
    if params.restore == SPECIFIC:
        last = kept[-1]
        states += [
            KnownState("other_choice", _settings(LAST, kept), partial),
            KnownState("longer", _settings(SPECIFIC, [*kept[:-1], f"{last}x"]), partial),
            KnownState("one_more", _settings(SPECIFIC, [*kept, f"{last}/index"]), beside),
            KnownState("no_list", _settings(SPECIFIC, last), partial),
            KnownState(
                "as_home_page", _settings(*_initial_choice(params), homepage=last), ("F-WRONGTARGET",)
            ),
        ]
        if params.old[0] != SPECIFIC:
            states.append(KnownState("no_page", _settings(SPECIFIC, []), partial))
        else:
            states.append(KnownState("old_one_lost", _settings(SPECIFIC, [last]), partial))
    else:
        other = NEW_TAB if params.restore == LAST else LAST
        states += [
            KnownState("other_choice", _settings(other, kept), partial),
            KnownState("pages_lost", _settings(params.restore, []), partial),
            KnownState("another_page", _settings(params.restore, [*kept, "http://x.example.org/"]), partial),
        ]
    return tuple(states)


def _initial_choice(params: Params) -> tuple[int, Any]:
    return params.old[0], list(params.old[1]) or None


def _no_bookmarks(home: Path) -> None:
    path = home / BOOKMARKS
    value = json.loads(path.read_text("utf-8"))
    value["roots"]["other"]["children"] = []
    path.write_text(json.dumps(value), "utf-8")


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
        text=f"In the settings of the browser, {text} Change no other setting.",
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
    reads=(PREFERENCES, BOOKMARKS, "**"),
    good=good,
    harmless=harmless,
    bad=bad,
    verify=verify,
    script=lambda one: [*map(dict, one.actions), {"action": "done"}],
    claim=lambda one: one.claim,
    equivalent=lambda one: {f"file-added@{PREFERENCES}": UNREAD},
)
