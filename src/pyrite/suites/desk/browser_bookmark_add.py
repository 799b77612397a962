"""Family browser_bookmark_add: bookmark the page that is open, under a name, in one of several folders.

Chromium keeps the bookmark as soon as its dialog comes up, under the page's title in the default folder:
who leaves the dialog open, or cancels it, has that and not what the screen shows.
"""

from __future__ import annotations

from pyrite.suites.desk import bookmarks
from pyrite.suites.desk.bookmarks import BAR, OTHER, Entry, Near, Params, address

HOME, WORK = "chromium_home_bookmarks.json", "chromium_work_bookmarks.json"


def added(file: str, page: str, title: str, name: str, folder: str, other: str) -> Params:
    """`folder` and `other`: folders of the bookmarks bar, told apart by their first letter."""
    url, place, elsewhere = address(page), f"{BAR}/{folder}", f"{BAR}/{other}"
    right = Entry(place, name, url)
    unnamed = Entry(OTHER, title, url)
    partial, target = ("F-PARTIAL",), ("F-WRONGTARGET",)
    return Params(
        bookmarks=file,
        page=page,
        text=(
            f"In the browser, bookmark the page that is open, under the name “{name}”, in the folder "
            f"“{folder}” of the bookmarks bar.{bookmarks.ELSE}"
        ),
        added=(right,),
        removed=(),
        near=(
            Near("dialog_left_open", ("F-PARTIAL", "F-UNCOMMITTED"), (unnamed,)),
            Near("other_folder", target, (Entry(elsewhere, name, url),)),
            Near("on_the_bar", target, (Entry(BAR, name, url),)),
            Near("default_folder", target, (Entry(OTHER, name, url),)),
            Near("page_title", partial, (Entry(place, title, url),)),
            Near("wrong_case", partial, (Entry(place, name.upper(), url),)),
            Near("other_page", partial, (Entry(place, name, address("other.html")),)),
            Near("folder_of_that_name", (), (Entry(place, name, None),)),
            Near("both_folders", ("F-SIDEEFFECT",), (right, Entry(elsewhere, name, url))),
            Near("unnamed_too", ("F-SIDEEFFECT",), (right, unnamed)),
        ),
        actions=(
            {"action": "key", "keys": "ctrl+d"},
            {"action": "key", "keys": "ctrl+a"},
            {"action": "type", "text": name},
            {"action": "key", "keys": "Tab"},
            {"action": "type", "text": folder[0]},
            {"action": "key", "keys": "shift+Tab"},
            {"action": "key", "keys": "Return"},
        ),
        claim=f"The page is bookmarked as “{name}” in the folder {folder}.",
        typed=(name,),
        unnamed=unnamed,
    )


FAMILY = bookmarks.family(
    "browser_bookmark_add",
    {
        "browser-bookmark-add-soup": added(
            HOME, "soup.html", "Pumpkin soup", "Soup for six", "Winter recipes", "Recipes"
        ),
        "browser-bookmark-add-ferry": added(
            HOME, "ferry.html", "Ferry timetable", "Ferry 2024", "Travel", "Winter recipes"
        ),
        "browser-bookmark-add-price-list": added(
            WORK, "prices.html", "Price list", "Prices of Lindner", "Suppliers", "Former suppliers"
        ),
        "browser-bookmark-add-minutes": added(
            WORK, "minutes.html", "Minutes of May", "Minutes May", "Meetings", "Suppliers"
        ),
    },
)
