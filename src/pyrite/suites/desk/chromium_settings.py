"""The settings of Chromium that a person can change, told apart from what it notes on its own.

    changed(before, after, SETTINGS)   # names of the settings that differ

Two files hold them: a profile's Preferences and, for the whole browser, Local State. A setting that is not
written has its usual value: one that was switched and switched back is written, and unchanged all the same.
What is not listed (sizes of windows, dates, counts, keys) Chromium writes when it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyrite.checks.jsonfile import at

Usual = tuple[Any, ...]
_ON: Usual = (True,)
_OFF: Usual = (False,)
_NONE: Usual = ({},)
_BRANCH: Usual = ("a branch",)
"""Marks a branch of settings, each of which is not written, or 0, empty or false, where nobody has set it."""

SETTINGS: Mapping[str, Usual] = {
    # appearance
    "homepage": ("",),
    "homepage_is_newtabpage": _ON,
    "browser.show_home_button": _OFF,
    "browser.show_forward_button": _ON,
    "browser.custom_chrome_frame": (),
    "browser.theme": _BRANCH,
    "extensions.theme": _BRANCH,
    "bookmark_bar.show_on_all_tabs": _OFF,
    "bookmark_bar.visibility_state": (),
    "side_panel.is_right_aligned": _ON,
    "vertical_tabs.enabled": _OFF,
    "webkit.webprefs.default_font_size": (16,),
    "webkit.webprefs.default_fixed_font_size": (13,),
    "webkit.webprefs.minimum_font_size": (0,),
    "webkit.webprefs.minimum_logical_font_size": (6,),
    "webkit.webprefs.tabs_to_links": _ON,
    "webkit.webprefs.fonts": _BRANCH,
    "partition.default_zoom_level": _BRANCH,
    "profile.name": ("Your Chromium", "Person 1"),
    # languages
    "intl.selected_languages": ("en-US,en",),
    "intl.accept_languages": ("en-US,en",),
    "intl.forced_languages": ([],),
    "intl.app_locale": ("en-US",),
    "translate.enabled": _ON,
    "translate_blocked_languages": (["en"],),
    "translate_site_blocklist_with_time": _NONE,
    "translate_allowlists": _NONE,
    "browser.enable_spellchecking": _ON,
    "spellcheck.dictionaries": (["en-US"],),
    "spellcheck.use_spelling_service": _OFF,
    # downloads
    "download.default_directory": ("/home/agent/Downloads",),
    "download.prompt_for_download": _OFF,
    "download.extensions_to_open": ("",),
    "download_bubble.partial_view_enabled": _ON,
    "plugins.always_open_pdf_externally": _OFF,
    # search
    "default_search_provider_data.template_url_data": (),
    "default_search_provider.enabled": _ON,
    "search.suggest_enabled": _ON,
    "url_keyed_anonymized_data_collection.enabled": _OFF,
    "omnibox.prevent_url_elisions": _OFF,
    # privacy and what sites may do
    "enable_do_not_track": _OFF,
    "safebrowsing.enabled": _ON,
    "safebrowsing.enhanced": _OFF,
    "safebrowsing.scout_reporting_enabled": _OFF,
    "profile.password_manager_leak_detection": _ON,
    "profile.cookie_controls_mode": (2,),
    "profile.block_third_party_cookies": _OFF,
    "tracking_protection.block_all_3pc_toggle_enabled": _OFF,
    "privacy_sandbox.m1.topics_enabled": _OFF,
    "privacy_sandbox.m1.fledge_enabled": _OFF,
    "privacy_sandbox.m1.ad_measurement_enabled": _OFF,
    "https_only_mode_enabled": _OFF,
    "https_first_balanced_mode_enabled": (),
    "net.network_prediction_options": (0, 1),
    "profile.default_content_setting_values": _BRANCH,
    **{
        f"profile.content_settings.exceptions.{name}": _BRANCH
        for name in (
            *("automatic_downloads", "background_sync", "clipboard", "cookies", "geolocation", "images"),
            *("idle_detection", "javascript", "javascript_jit", "local_fonts", "media_stream_camera"),
            *("media_stream_mic", "midi_sysex", "mixed_script", "notifications", "payment_handler"),
            *("popups", "sensors", "sound", "subresource_filter", "window_placement"),
        )
    },
    "custom_handlers.enabled": _ON,
    # autofill and passwords
    "credentials_enable_service": _ON,
    "credentials_enable_autosignin": _ON,
    "autofill.profile_enabled": _ON,
    "autofill.credit_card_enabled": _ON,
    "autofill.payment_cvc_storage": _ON,
    "payments.can_make_payment_enabled": _ON,
    # the rest
    "proxy": _BRANCH,
    "extensions.ui.developer_mode": _OFF,
    "accessibility.captions.live_caption_enabled": _OFF,
    "settings.a11y.caretbrowsing.enabled": _OFF,
    "settings.a11y.enable_accessibility_image_labels": _OFF,
    "settings.a11y.focus_highlight": _OFF,
}
"""Of Preferences: setting -> what it is where nobody has set it (empty: not written)."""
BROWSER_SETTINGS: Mapping[str, Usual] = {
    "background_mode.enabled": _ON,
    "browser.enabled_labs_experiments": ([],),
    "dns_over_https.mode": ("automatic",),
    "dns_over_https.templates": ("",),
    "hardware_acceleration_mode.enabled": _ON,
    "performance_tuning.battery_saver_mode.state": (1,),
    "performance_tuning.high_efficiency_mode.state": (0,),
    "performance_tuning.high_efficiency_mode.aggressiveness": (1,),
    "performance_tuning.tab_discarding.exceptions_with_time": _NONE,
}
"""The same of Local State."""
_MIGRATED = "has_migrated_"
"""Begins what Chromium notes among the settings of sites: that a setting has another form now."""


def changed(before: Any, after: Any, settings: Mapping[str, Usual]) -> list[str]:
    """Names of the settings that two files have otherwise."""
    found = []
    for name, usual in settings.items():
        if _value(at(before, *name.split(".")), usual) != _value(at(after, *name.split(".")), usual):
            found.append(name)
    return found


def _value(value: Any, usual: Usual) -> str:
    """A form that is the same for the same setting: of one type too, as 1 is not true."""
    try:
        if usual is _BRANCH:
            return repr(_set(value))
        return repr(None if any(repr(value) == repr(one) for one in usual) else value)
    except RecursionError:
        return "too deep"  # nothing that Chromium writes


def _set(value: Any) -> Any:
    """What has been set in a branch; None for nothing."""
    if not isinstance(value, dict):
        return value or None
    inside = {name: _set(value[name]) for name in sorted(value) if not name.startswith(_MIGRATED)}
    return {name: found for name, found in inside.items() if found is not None} or None
