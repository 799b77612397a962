"""What of Chromium's files is a setting, and what it notes on its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pyrite.suites.desk import browser_startup
from pyrite.suites.desk.bookmarks import PREFERENCES, Entry, entries
from pyrite.suites.desk.chromium_settings import BROWSER_SETTINGS, SETTINGS, changed

EXCEPTIONS = "profile.content_settings.exceptions"


def whole(**values: Any) -> dict[str, Any]:
    """A file with these settings; __ stands for the dot of their names."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        *branches, leaf = name.split("__")
        node = found
        for branch in branches:
            node = node.setdefault(branch, {})
        node[leaf] = value
    return found


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("translate.enabled", False),
        ("translate.enabled", 1),
        ("safebrowsing.enabled", False),
        ("homepage", "http://x.example.org/"),
        ("webkit.webprefs.fonts", {"standard": {"Zyyy": "Mono"}}),
        ("profile.default_content_setting_values", {"cookies": 4}),
        (f"{EXCEPTIONS}.cookies", {"https://x.example.org,*": {"setting": 2}}),
        ("spellcheck.dictionaries", ["en-US", "de"]),
        ("proxy", "none"),
    ],
)
def test_a_setting_that_is_another(name: str, value: Any) -> None:
    after = whole(**{name.replace(".", "__"): value})
    assert changed({}, after, SETTINGS) == [name]
    assert changed(after, {}, SETTINGS) == [name]
    assert changed(after, after, SETTINGS) == []


def test_what_chromium_notes_and_what_was_switched_back_is_none() -> None:
    notes = whole(
        translate__enabled=True,
        intl__selected_languages="en-US,en",
        spellcheck__dictionaries=["en-US"],
        extensions__theme={"id": "", "system_theme": 0},
        profile__name="Your Chromium",
        profile__exit_type="Crashed",
        profile__default_content_setting_values={"has_migrated_local_network_access": True},
        profile__content_settings__exceptions={
            "cookies": {},
            "site_engagement": {"chrome://settings/,*": {"setting": {"rawScore": 4.5}}},
        },
    )
    assert changed({}, notes, SETTINGS) == []
    assert changed({}, whole(hardware_acceleration_mode_previous=True), BROWSER_SETTINGS) == []
    assert changed({}, whole(dns_over_https__mode="off"), BROWSER_SETTINGS) == ["dns_over_https.mode"]


@pytest.mark.parametrize("value", ["x", 3, [], None, {"proxy": {"a": 1}, "translate": 3}])
def test_what_is_no_settings_at_all(value: Any) -> None:
    assert changed({}, value, SETTINGS) == (["proxy"] if isinstance(value, dict) else [])


@pytest.mark.parametrize("name", ["proxy", "homepage"])
@pytest.mark.parametrize("depth", [300, 600, 900, 950, 980])
def test_settings_that_are_too_deep_are_the_agents_failure(name: str, depth: int, tmp_path: Path) -> None:
    params = browser_startup.FAMILY.params["browser-startup-orders-page"]
    for path, file in browser_startup.initial(params).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes((browser_startup.FILES / file).read_bytes())
    value = '{"a": ' * depth + "1" + "}" * depth
    session = json.dumps({"restore_on_startup": 4, "startup_urls": list(params.pages)})
    (tmp_path / PREFERENCES).write_text(f'{{"session": {session}, "{name}": {value}}}')
    assert browser_startup.verify(params, tmp_path).passed is False


def test_bookmarks_are_listed_in_their_order() -> None:
    def url(name: str) -> dict[str, Any]:
        return {"name": name, "type": "url", "url": f"http://{name}.example.org/"}

    folder = {"name": "f", "type": "folder", "children": [url("b"), url("c")]}
    bar = {"children": [url("a"), folder, url("d")]}
    empty: dict[str, Any] = {"children": []}
    found = entries({"roots": {"synced": empty, "other": {"children": [url("e")]}, "bookmark_bar": bar}})
    assert [entry.name for entry in found] == ["a", "f", "b", "c", "d", "e"]
    assert found[1] == Entry("bookmark_bar", "f", None)
    assert found[2].folder == "bookmark_bar/f"
