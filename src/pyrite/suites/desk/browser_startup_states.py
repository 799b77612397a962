"""Known end states of browser_startup: what its verifier is tested with, no part of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyrite.checks.verdict import NOTHING_PERSISTED
from pyrite.suites.desk.bookmarks import BOOKMARKS, PREFERENCES
from pyrite.suites.desk.browser_startup import LAST, LOCAL_STATE, NEW_TAB, SPECIFIC, Params
from pyrite.suites.family import KnownState


def _settings(restore: Any, pages: Any, **more: Any) -> Callable[[Path], None]:
    def make(home: Path) -> None:
        path = home / PREFERENCES
        value = json.loads(path.read_text("utf-8"))
        session = {"restore_on_startup": restore, **({} if pages is None else {"startup_urls": pages})}
        path.write_text(json.dumps({**value, "session": session, **more}, indent=3), "utf-8")

    return make


_BESIDE = {
    "translate.enabled": False,
    "intl.selected_languages": "de,en-US,en",
    "spellcheck.dictionaries": ["de"],
    "download.prompt_for_download": True,
    "download.default_directory": "/tmp",  # noqa: S108 - a value of a setting
    "search.suggest_enabled": False,
    "default_search_provider_data.template_url_data": {"keyword": "x.example.org"},
    "safebrowsing.enabled": False,
    "enable_do_not_track": True,
    "https_only_mode_enabled": True,
    "net.network_prediction_options": 2,
    "profile.cookie_controls_mode": 1,
    "profile.default_content_setting_values.notifications": 2,
    "profile.content_settings.exceptions.popups": {"https://x.example.org,*": {"setting": 1}},
    "credentials_enable_service": False,
    "autofill.profile_enabled": False,
    "webkit.webprefs.default_font_size": 20,
    "browser.theme.color_scheme": 2,
    "extensions.theme.id": "x",
    "bookmark_bar.show_on_all_tabs": True,
    "proxy.mode": "direct",
}
"""Settings of the same pages, each changed beside the wanted one."""
_BESIDE_LOCAL = {"dns_over_https.mode": "secure", "hardware_acceleration_mode.enabled": False}
_BACK = {
    "translate": {"enabled": True},
    "enable_do_not_track": False,
    "browser": {"theme": {"color_scheme": 0}},
}


def _set(path: str, name: str, value: Any) -> Callable[[Path], None]:
    """One more setting in a file of Chromium's."""

    def make(home: Path) -> None:
        place = home / path
        whole = json.loads(place.read_text("utf-8")) if place.exists() else {}
        node = whole
        *branches, leaf = name.split(".")
        for branch in branches:
            node = node.setdefault(branch, {})
        node[leaf] = value
        place.write_text(json.dumps(whole), "utf-8")

    return make


def _noted(home: Path) -> None:
    """What Chromium adds on its own to what is like settings."""
    sites = "profile.content_settings.exceptions"
    for name, value in {
        "intl.selected_languages": "en-US,en",
        "spellcheck.dictionaries": ["en-US"],
        "profile.name": "Your Chromium",
        "profile.default_content_setting_values.has_migrated_local_network_access": True,
        f"{sites}.cookies": {},
        f"{sites}.site_engagement": {"chrome://settings/,*": {"setting": {"rawScore": 4.5}}},
        "safebrowsing.scout_reporting_enabled_when_deprecated": False,
        "signin.allowed": False,
        "extensions.alerts.initialized": True,
    }.items():
        _set(PREFERENCES, name, value)(home)
    _set(LOCAL_STATE, "hardware_acceleration_mode_previous", True)(home)
    _set(LOCAL_STATE, "profile.last_active_profiles", ["Default"])(home)


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
        KnownState("as_chromium_writes_it", _then(right, _noted)),
        KnownState("switched_and_back", _settings(params.restore, _kept(params), **_BACK)),
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
        *(
            KnownState(f"{name.replace('.', '_')}_too", _then(right, _set(PREFERENCES, name, value)), beside)
            for name, value in _BESIDE.items()
        ),
        *(
            KnownState(f"{name.replace('.', '_')}_too", _then(right, _set(LOCAL_STATE, name, value)), beside)
            for name, value in _BESIDE_LOCAL.items()
        ),
        KnownState("only_translation_off", _set(PREFERENCES, "translate.enabled", False)),
        KnownState("local_state_broken", _then(right, lambda home: (home / LOCAL_STATE).write_text("{"))),
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
