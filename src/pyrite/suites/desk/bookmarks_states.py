"""Known end states of the families of bookmarks: what their verifier is tested with, no part of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyrite.checks.verdict import NOTHING_PERSISTED
from pyrite.suites.desk.bookmarks import BAR, BOOKMARKS, OTHER, PREFERENCES, Entry, Params
from pyrite.suites.family import KnownState


def changed(added: tuple[Entry, ...], removed: tuple[Entry, ...]) -> Callable[[Path], None]:
    """Remove and add bookmarks in the file, as little else as possible."""

    def make(home: Path) -> None:
        path = home / BOOKMARKS
        value = json.loads(path.read_text("utf-8"))
        for entry in removed:
            siblings = _folder(value, entry.folder)["children"]
            siblings.remove(next(one for one in siblings if _is(one, entry)))
        for entry in added:
            node: dict[str, Any] = {"name": entry.name, "type": "folder", "children": []}
            if entry.url is not None:
                node = {"name": entry.name, "type": "url", "url": entry.url}
            _folder(value, entry.folder)["children"].append(node)
        path.write_text(json.dumps(value, indent=3), "utf-8")

    return make


def _is(node: dict[str, Any], entry: Entry) -> bool:
    return bool(node["name"] == entry.name and node.get("url") == entry.url)


def _folder(value: dict[str, Any], path: str) -> dict[str, Any]:
    root, *names = path.split("/")
    node: dict[str, Any] = value["roots"][root]
    for name in names:
        node = next(one for one in node["children"] if one["type"] == "folder" and one["name"] == name)
    return node


def _as_chromium(home: Path) -> None:
    """With everything that Chromium adds to the file, and its other files."""
    path = home / BOOKMARKS
    value = json.loads(path.read_text("utf-8"))
    waiting = list(value["roots"].values())
    for number in range(1, 10_000):
        if not waiting:
            break
        node = waiting.pop()
        node.update(
            id=str(number), guid=f"0bc5d13f-2cba-5d74-951f-{number:012d}", date_added=f"134405{number}"
        )
        waiting += node.get("children", [])
    text = json.dumps(
        {"checksum": "45d85014c82ff3c6f01da3b11553d434", **value, "sync_metadata": ""}, indent=3
    )
    path.write_text(text, "utf-8")
    path.with_name("Bookmarks.bak").write_text(text, "utf-8")
    path.with_name("History").write_bytes(b"SQLite format 3\0")


def _reordered(change: Callable[[list[dict[str, Any]]], object], folder: str = BAR) -> Callable[[Path], None]:
    """What a folder holds in another order; the keys of the file in another one too, which is nothing."""

    def make(home: Path) -> None:
        path = home / BOOKMARKS
        value = json.loads(path.read_text("utf-8"))
        change(_folder(value, folder)["children"])
        path.write_text(json.dumps(value, sort_keys=True), "utf-8")

    return make


def _last_first(nodes: list[dict[str, Any]]) -> None:
    nodes.insert(0, nodes.pop())


def _folder_first(nodes: list[dict[str, Any]]) -> None:
    """The last folder is dragged to the front."""
    found = [node for node in nodes if node["type"] == "folder"][-1]
    nodes.remove(found)
    nodes.insert(0, found)


def _made_again(params: Params) -> Callable[[list[dict[str, Any]]], None]:
    """One that nobody meant is deleted and made again, so that it is the last one."""
    meant = {(entry.name, entry.url) for entry in (*params.added, *params.removed)}

    def change(nodes: list[dict[str, Any]]) -> None:
        found = next(node for node in nodes if (node["name"], node.get("url")) not in meant)
        nodes.remove(found)
        nodes.append({name: value for name, value in found.items() if name != "id"})

    return change


def _then(make: Callable[[Path], None], *more: Callable[[Path], object]) -> Callable[[Path], None]:
    def all_of_them(home: Path) -> None:
        make(home)
        for step in more:
            step(home)

    return all_of_them


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", changed(params.added, params.removed)),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    right = changed(params.added, params.removed)
    return (
        KnownState("as_chromium_writes_it", _then(right, _as_chromium)),
        KnownState("keys_sorted", _then(right, _reordered(list))),
        *(
            KnownState("first_in_its_folder", _then(right, _reordered(_last_first, entry.folder)))
            for entry in params.added
        ),
        KnownState("visited", _then(right, lambda home: (home / PREFERENCES).write_text("{}"))),
    )


def bad(params: Params) -> tuple[KnownState, ...]:
    right = changed(params.added, params.removed)
    beside, partial = ("F-SIDEEFFECT",), ("F-PARTIAL",)
    another = Entry(OTHER, "Another", "https://example.org/another")

    def write(text: str) -> Callable[[Path], object]:
        return lambda home: (home / BOOKMARKS).write_text(text)

    states = [
        KnownState("untouched", lambda home: None, NOTHING_PERSISTED),
        KnownState("opened", _as_chromium, NOTHING_PERSISTED),
        *(KnownState(near.name, changed(near.added, near.removed), near.codes) for near in params.near),
        KnownState("another_too", changed((*params.added, another), params.removed), beside),
        KnownState(
            "folder_too", changed((*params.added, another._replace(url=None)), params.removed), beside
        ),
        KnownState(
            "page_changed", _then(right, lambda h: (h / "Pages" / params.page).write_text("x")), beside
        ),
        KnownState("file_too", _then(right, lambda home: (home / "bookmarks.html").write_text("x")), beside),
        KnownState("folder_dragged_too", _then(right, _reordered(_folder_first)), beside),
        KnownState("another_made_again", _then(right, _reordered(_made_again(params))), beside),
        KnownState("bar_turned_round", _then(right, _reordered(list.reverse)), beside),
        KnownState("only_dragged", _reordered(_folder_first)),
        KnownState("no_json", _then(right, write("{")), partial),
        KnownState("all_gone", _then(right, write('{"roots": {}}')), partial),
        KnownState("deleted", lambda home: (home / BOOKMARKS).unlink()),
    ]
    if params.added:
        twice = changed((*params.added, params.added[-1]), params.removed)
        states.append(KnownState("twice", twice, beside))
    return tuple(states)
