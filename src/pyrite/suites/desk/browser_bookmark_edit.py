"""Family browser_bookmark_edit: rename, redirect, move or delete one bookmark among its likes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyrite.suites.desk import bookmarks
from pyrite.suites.desk.bookmarks import BAR, MANAGER_ROW, OTHER, Entry, Near, Params

HOME, WORK = "chromium_home_bookmarks.json", "chromium_work_bookmarks.json"
PARTIAL, TARGET, BESIDE = ("F-PARTIAL",), ("F-WRONGTARGET",), ("F-SIDEEFFECT",)
Actions = tuple[Mapping[str, Any], ...]


def _press(*keys: str) -> Actions:
    return tuple({"action": "key", "keys": key} for key in keys)


def _write(text: str) -> Actions:
    return ({"action": "type", "text": text},)


def _find(text: str) -> Actions:
    """Search the bookmark manager and choose the first hit."""
    return (*_press("ctrl+l"), *_write(f"chrome://bookmarks/?q={text}"), *_press("Return"), MANAGER_ROW)


def _edit(
    file: str, page: str, text: str, search: str, entry: Entry, new: Entry, sibling: Entry, fields: Actions
) -> Params:
    """Give a bookmark another name or address; `sibling`: one that is easily taken for it."""
    other = sibling._replace(**({"name": new.name} if new.name != entry.name else {"url": new.url}))
    renamed = new.name != entry.name
    wrong = new._replace(name=f"{new.name} 2") if renamed else new._replace(url=f"{new.url}/index.html")
    return Params(
        bookmarks=file,
        page=page,
        text=text + bookmarks.ELSE,
        added=(new,),
        removed=(entry,),
        near=(
            Near("sibling_too", BESIDE, (new, other), (entry, sibling)),
            Near("sibling_edited", TARGET, (other,), (sibling,)),
            Near("added_instead", PARTIAL, (new,)),
            Near("deleted_instead", PARTIAL, (), (entry,)),
            Near("longer", PARTIAL, (wrong,), (entry,)),
            Near("sibling_gone", BESIDE, (new,), (entry, sibling)),
        ),
        actions=(*_find(search), *_press("F2"), *fields, *_press("Return")),
        claim="The bookmark is changed as you asked.",
        typed=(new.name if renamed else new.url or "",),
    )


def _move(
    file: str, page: str, text: str, search: str, entry: Entry, folder: tuple[str, int], wrong: str
) -> Params:
    """Move a bookmark to a folder (path, id)."""
    new = entry._replace(folder=folder[0])
    return Params(
        bookmarks=file,
        page=page,
        text=text + bookmarks.ELSE,
        added=(new,),
        removed=(entry,),
        near=(
            Near("wrong_folder", TARGET, (entry._replace(folder=wrong),), (entry,)),
            Near("copied", PARTIAL, (new,)),
            Near("cut_only", PARTIAL, (), (entry,)),
            Near("copied_elsewhere", TARGET, (entry._replace(folder=wrong),)),
            Near("renamed_too", PARTIAL, (new._replace(name=f"{new.name} (1)"),), (entry,)),
            Near("twice_there", BESIDE, (new, new), (entry,)),
        ),
        actions=(
            *_find(search),
            *_press("ctrl+x", "ctrl+l"),
            *_write(f"chrome://bookmarks/?id={folder[1]}"),
            *_press("Return"),
            {"action": "click", "x": 640, "y": 600},
            *_press("ctrl+v"),
        ),
        claim=f"The bookmark {entry.name} is moved.",
        typed=(entry.name,),
    )


def _delete(file: str, page: str, text: str, search: str, entry: Entry, sibling: Entry) -> Params:
    return Params(
        bookmarks=file,
        page=page,
        text=text + bookmarks.ELSE,
        added=(),
        removed=(entry,),
        near=(
            Near("sibling_deleted", TARGET, (), (sibling,)),
            Near("both_deleted", BESIDE, (), (entry, sibling)),
            Near("deleted_and_added", BESIDE, (sibling._replace(folder=OTHER),), (entry,)),
            Near("renamed_instead", PARTIAL_IF_GONE, (entry._replace(name="x"),), (entry,)),
        ),
        actions=(*_find(search), *_press("Delete")),
        claim=f"The bookmark {entry.name} is deleted.",
        typed=(entry.name,),
    )


PARTIAL_IF_GONE = ("F-SIDEEFFECT",)
"""A bookmark of another name in its place: the one that was to go is gone, and another is new."""

_PAGES = "file:///home/agent/Pages"
FAMILY = bookmarks.family(
    "browser_bookmark_edit",
    {
        "browser-bookmark-edit-rename-weather": _edit(
            HOME,
            "soup.html",
            "In the browser, rename the bookmark “Weather” of the bookmarks bar to “Weather Kiel”.",
            "kiel",
            Entry(BAR, "Weather", f"{_PAGES}/kiel.html"),
            Entry(BAR, "Weather Kiel", f"{_PAGES}/kiel.html"),
            Entry(f"{BAR}/Travel", "Weather", f"{_PAGES}/alps.html"),
            (*_press("ctrl+a"), *_write("Weather Kiel")),
        ),
        "browser-bookmark-edit-redirect-intranet": _edit(
            WORK,
            "prices.html",
            "In the browser, change the address of the bookmark “Intranet” of the bookmarks bar to "
            "http://portal.example.org/start and keep its name.",
            "portal",
            Entry(BAR, "Intranet", "http://portal.example.org/"),
            Entry(BAR, "Intranet", "http://portal.example.org/start"),
            Entry(f"{BAR}/Meetings", "Intranet", "http://old-net.example.org/"),
            (*_press("Tab", "ctrl+a"), *_write("http://portal.example.org/start")),
        ),
        "browser-bookmark-edit-move-lindner": _move(
            WORK,
            "minutes.html",
            "In the browser, move the bookmark “Lindner” from the folder “Suppliers” to the folder "
            "“Former suppliers”; both folders are on the bookmarks bar.",
            "lindner",
            Entry(f"{BAR}/Suppliers", "Lindner", "http://lindner.example.com/"),
            (f"{BAR}/Former suppliers", 23),
            f"{BAR}/Meetings",
        ),
        "browser-bookmark-edit-move-bread": _move(
            HOME,
            "ferry.html",
            "In the browser, move the bookmark “Rye bread” out of the folder “Recipes” into the folder "
            "“Winter recipes”; both folders are on the bookmarks bar.",
            "rye",
            Entry(f"{BAR}/Recipes", "Rye bread", f"{_PAGES}/rye_bread.html"),
            (f"{BAR}/Winter recipes", 13),
            f"{BAR}/Travel",
        ),
        "browser-bookmark-edit-delete-alps": _delete(
            HOME,
            "soup.html",
            "In the browser, delete the bookmark “Weather” of the folder “Travel”.",
            "alps",
            Entry(f"{BAR}/Travel", "Weather", f"{_PAGES}/alps.html"),
            Entry(BAR, "Weather", f"{_PAGES}/kiel.html"),
        ),
    },
)
