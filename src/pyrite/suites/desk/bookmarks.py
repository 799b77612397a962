"""What the families of bookmarks share: Chromium's file of them, and one verifier.

A bookmark is its folder, name and address. Ids, dates and what else Chromium keeps of it do not count, nor
where among its likes the wanted one stands. All other bookmarks and folders, their order, and every file
that is not hidden, must be as they were.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.homes import TooManyFiles, diff, digest_file, snapshot
from pyrite.checks.jsonfile import read_json
from pyrite.checks.package import Unreadable
from pyrite.checks.verdict import NOTHING_PERSISTED, Result
from pyrite.suites.family import Family, KnownState

FILES = Path(__file__).with_name("files")
BOOKMARKS = ".config/chromium/Default/Bookmarks"
PREFERENCES = ".config/chromium/Default/Preferences"
BAR, OTHER = "bookmark_bar", "other"
UNREAD = "a file of another name in the profile is none that Chromium reads"
ELSE = " Leave all other bookmarks, their order, and all files as they are."
MAX_ENTRIES = 5000
MAX_LISTED = 10
MANAGER_ROW = {"action": "click", "x": 372, "y": 229}
"""The first hit of a search in the bookmark manager."""


class Entry(NamedTuple):
    """A bookmark, or a folder."""

    folder: str
    """Names from the root on: bookmark_bar, bookmark_bar/Recipes."""
    name: str
    url: str | None
    """None: a folder."""


class Near(NamedTuple):
    """What else could have been done: a bad end state."""

    name: str
    codes: tuple[str, ...]
    added: tuple[Entry, ...]
    removed: tuple[Entry, ...] = ()


class Params(NamedTuple):
    """One task."""

    bookmarks: str
    """Their initial file, in `FILES`."""
    page: str
    """Page that is open at the start, in Pages."""
    text: str
    added: tuple[Entry, ...]
    removed: tuple[Entry, ...]
    near: tuple[Near, ...]
    actions: tuple[Mapping[str, Any], ...]
    claim: str
    typed: tuple[str, ...] = ()
    unnamed: Entry | None = None
    """What is kept as soon as the dialog comes up, before it is filled in."""


def initial(params: Params) -> dict[str, str]:
    return {
        BOOKMARKS: params.bookmarks,
        PREFERENCES: "chromium_bar_preferences.json",
        f"Pages/{params.page}": f"page_{params.page}",
    }


def family(name: str, params: Mapping[str, Params]) -> Family:
    """A family of tasks about bookmarks."""
    return Family(
        name=name,
        domain="browser",
        files=FILES,
        params=params,
        instruction=lambda one: one.text,
        initial=initial,
        opened=lambda one: ("chromium", (address(one.page),)),
        reads=(BOOKMARKS, "**"),
        good=lambda one: _known("good", one),
        harmless=lambda one: _known("harmless", one),
        bad=lambda one: _known("bad", one),
        verify=verify,
        script=lambda one: [*map(dict, one.actions), {"action": "done"}],
        claim=lambda one: one.claim,
        equivalent=lambda one: {f"file-added@{BOOKMARKS}": UNREAD},
    )


def _known(kind: str, params: Params) -> tuple[KnownState, ...]:
    from pyrite.suites.desk import bookmarks_states as known

    found: tuple[KnownState, ...] = getattr(known, kind)(params)
    return found


def address(page: str) -> str:
    return f"file:///home/agent/Pages/{page}"


# --- the verifier ------------------------------------------------------------------------------


def entries(value: Any) -> list[Entry]:
    """Every bookmark and folder of a file, as Chromium orders them, a folder before what it holds.

    Raises `Unreadable` for what Chromium would not take.
    """
    roots = value.get("roots") if isinstance(value, dict) else None
    if not isinstance(roots, dict):
        raise Unreadable("damaged", "it has no roots")
    found: list[Entry] = []
    waiting = [(root, node) for root in (BAR, OTHER, "synced") for node in _children(roots.get(root))][::-1]
    while waiting:
        folder, node = waiting.pop()
        name, url = node.get("name"), node.get("url")
        if not isinstance(name, str) or node.get("type") not in ("url", "folder"):
            raise Unreadable("damaged", "a bookmark has no name or type")
        is_folder = node["type"] == "folder"
        if not is_folder and not isinstance(url, str):
            raise Unreadable("damaged", "a bookmark has no address")
        found.append(Entry(folder, name, None if is_folder else url))
        if len(found) > MAX_ENTRIES:
            raise Unreadable("too_large", f"it has more than {MAX_ENTRIES} bookmarks")
        if is_folder:
            waiting += [(f"{folder}/{name}"[:1000], child) for child in _children(node)[::-1]]
    return found


def _children(node: Any) -> list[dict[str, Any]]:
    children = node.get("children") if isinstance(node, dict) else None
    if not isinstance(children, list) or not all(isinstance(child, dict) for child in children):
        raise Unreadable("damaged", "a folder is none")
    return children


def verify(params: Params, home: Path) -> Result:
    """Compare the bookmarks with the initial ones; a file that cannot be read is the agent's failure."""
    seen: dict[str, Any] = {"bookmarks": BOOKMARKS, "expected": list(params.typed), "damage": []}
    before = entries(read_json(FILES / params.bookmarks))
    files = {path: digest_file(FILES / name) for path, name in initial(params).items() if path[0] != "."}
    try:
        moved = diff(files, snapshot(home))
        after = entries(read_json(home / BOOKMARKS))
    except TooManyFiles as exc:
        return Result(False, (), {**seen, "damage": [str(exc)]})
    except Unreadable as exc:
        gone = exc.reason in ("missing", "not_a_file")
        return Result(False, () if gone else ("F-PARTIAL",), {**seen, "damage": [str(exc)[:200]]})
    change = _Change(params, before, after)
    seen["damage"] = [
        *(str(entry)[:200] for entry in (change.extra_added + change.extra_removed)),
        *([] if change.in_order else ["the order of the other bookmarks"]),
        *(path[:200] for path in (*moved.added, *moved.removed, *moved.changed)),
        *(f"{old} is {new}"[:200] for old, new in moved.renamed),
    ][:MAX_LISTED]
    if change.done and not seen["damage"]:
        return Result(True, (), seen)
    if change.done:
        return Result(False, ("F-SIDEEFFECT",), seen)
    return Result(False, change.codes() or (() if seen["damage"] else NOTHING_PERSISTED), seen)


class _Change:
    """What was added and removed, beside what should have been."""

    def __init__(self, params: Params, before: list[Entry], after: list[Entry]) -> None:
        self.params = params
        added, removed = Counter(after) - Counter(before), Counter(before) - Counter(after)
        self.added, self.removed = added, removed
        self.in_order = [one for one in before if one not in removed] == [
            one for one in after if one not in added
        ]
        wanted_added, wanted_removed = Counter(params.added), Counter(params.removed)
        self.missing_added = wanted_added - added
        self.missing_removed = wanted_removed - removed
        self.extra_added = added - wanted_added
        self.extra_removed = removed - wanted_removed

    @property
    def done(self) -> bool:
        return not self.missing_added and not self.missing_removed

    def codes(self) -> tuple[str, ...]:
        """Every code that the bookmarks allow where the task is not done."""
        found: set[str] = set()
        half = any(entry in self.added for entry in self.params.added)
        lost = not self.extra_added and any(entry in self.removed for entry in self.params.removed)
        if half or lost:
            found.add("F-PARTIAL")
        for wanted in self.missing_added:
            for entry in self.extra_added:
                found |= self._of_pair(wanted, entry)
        if not found and self.missing_removed and self.extra_removed:
            found.add("F-WRONGTARGET")
        return tuple(sorted(found))

    def _of_pair(self, wanted: Entry, entry: Entry) -> set[str]:
        """What one bookmark that is there says about one that should be."""
        if entry == self.params.unnamed:
            return {"F-PARTIAL", "F-UNCOMMITTED"}
        if (wanted.url is None) != (entry.url is None):
            return set()
        if entry.url == wanted.url and entry.name == wanted.name:
            return {"F-WRONGTARGET"}
        if entry.url == wanted.url and (entry.url is not None or entry.folder == wanted.folder):
            return {"F-PARTIAL"} if entry.folder == wanted.folder else {"F-PARTIAL", "F-WRONGTARGET"}
        if entry.name == wanted.name:
            sibling = any(gone.url == entry.url for gone in self.extra_removed)
            return {"F-WRONGTARGET"} if sibling else {"F-PARTIAL"}
        return set()
