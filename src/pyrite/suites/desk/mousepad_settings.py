"""Family mousepad_settings: change preferences of the text editor, which dconf keeps in a binary file.

What counts is the stored value, or the default where nothing is stored; other programs' settings in the same
database stay as they are, and so do all other preferences of the editor.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.gvdb import Value, read_dconf
from pyrite.checks.package import Spent
from pyrite.checks.verdict import Result
from pyrite.suites.desk import settings_common as settings
from pyrite.suites.desk.calc_common import NOTES, Make, after, click, key, typed
from pyrite.suites.desk.watch import READS, Compared, Watched, judge
from pyrite.suites.family import Family, KnownState

FILES = Path(__file__).with_name("files")
DATABASE = ".config/dconf/user"
OURS = "/org/xfce/mousepad/preferences/"
VIEW = f"{OURS}view/"
GEDIT = "/org/gnome/gedit/preferences/editor/"
_ON_ITS_OWN = "/org/xfce/mousepad/state/"
DEFAULTS: dict[str, Value] = {
    **{
        f"{VIEW}{name}": False
        for name in (
            *("auto-indent", "show-whitespace", "show-line-endings", "highlight-current-line"),
            *("insert-spaces", "show-line-marks", "show-line-numbers", "show-right-margin"),
            *("smart-backspace", "word-wrap", "match-braces"),
        )
    },
    f"{VIEW}use-default-monospace-font": True,
    f"{VIEW}indent-on-tab": True,
    f"{VIEW}right-margin-position": 80,
    f"{VIEW}tab-width": 8,
    f"{VIEW}indent-width": -1,
    f"{VIEW}color-scheme": "none",
    f"{VIEW}font-name": "Monospace 10",
    f"{VIEW}smart-home-end": "disabled",
    f"{OURS}window/toolbar-visible": False,
    f"{OURS}window/statusbar-visible": False,
    f"{OURS}window/menubar-visible": True,
    f"{OURS}file/make-backup": False,
}
"""Of the schema org.xfce.mousepad, those that its dialog and menus reach."""
_BOXES = {
    "show-line-numbers": (358, 249),
    "highlight-current-line": (358, 357),
    "word-wrap": (358, 406),
    "show-right-margin": (358, 327),
}
"""Check boxes of the first page of the dialog Preferences, at 1024x768."""
_EDITOR_PAGE, _TAB_WIDTH, _MARGIN = (431, 190), (450, 256), (584, 327)


class Params(NamedTuple):
    """One task."""

    words: str
    """What the instruction asks for."""
    wanted: dict[str, Value]
    """Preference -> value."""
    near: tuple[str, Value]
    """A preference beside, and the value that it would get by mistake."""
    wrong: dict[str, Value]
    """Nearly the wanted values."""


PARAMS = {
    "mousepad-line-numbers": Params(
        "show line numbers", {"show-line-numbers": True}, ("show-line-endings", True), {}
    ),
    "mousepad-wrap-lines": Params("wrap long lines", {"word-wrap": True}, ("auto-indent", True), {}),
    "mousepad-current-line": Params(
        "highlight the current line", {"highlight-current-line": True}, ("match-braces", True), {}
    ),
    "mousepad-tab-width": Params(
        "set the tab width to 3", {"tab-width": 3}, ("right-margin-position", 3), {"tab-width": 4}
    ),
    "mousepad-long-line-margin": Params(
        "show the long line margin at column 72",
        {"show-right-margin": True, "right-margin-position": 72},
        ("tab-width", 72),
        {"show-right-margin": True, "right-margin-position": 80},
    ),
}
INITIAL = {DATABASE: "desk_settings.dconf", "Documents/list.txt": "desk_list.txt", NOTES: "notes.txt"}


def instruction(params: Params) -> str:
    return (
        f"In the preferences of the text editor Mousepad, {params.words}. Change no other preference, and "
        "leave everything in Documents as it is."
    )


def claim(params: Params) -> str:
    return f"Done: Mousepad is set to {params.words}."


def script(params: Params) -> list[dict[str, Any]]:
    steps = [key("alt+e"), key("Up"), key("Return")]
    if "tab-width" in params.wanted:
        steps += [click(*_EDITOR_PAGE), click(*_TAB_WIDTH), key("ctrl+a"), typed("3"), key("Tab")]
    for name in params.wanted:
        if name in _BOXES:
            steps.append(click(*_BOXES[name]))
    if "right-margin-position" in params.wanted:
        steps += [click(*_MARGIN), key("ctrl+a"), typed("72"), key("Tab")]
    return [*steps, key("Escape"), {"action": "done"}]


def _wanted(params: Params) -> dict[str, Value]:
    return {f"{VIEW}{name}": value for name, value in params.wanted.items()}


def compare(params: Params, before: Path | None, after: Path, spent: Spent) -> Compared:
    old = read_dconf(FILES / INITIAL[DATABASE])
    new = read_dconf(after)
    wanted = _wanted(params)

    def elsewhere(name: str, value: Value) -> bool:
        return any(type(value) is type(want) and value == want for want in wanted.values())

    return settings.compare_settings(
        old,
        new,
        wanted,
        defaults=DEFAULTS,
        watched=lambda name: not name.startswith(_ON_ITS_OWN),
        elsewhere=elsewhere,
    )


def verify(params: Params, home: Path) -> Result:
    watched = Watched(
        INITIAL,
        FILES,
        DATABASE,
        params.words,
        lambda before, after, spent: compare(params, before, after, spent),
        ("Documents/user",),
    )
    return judge(watched, home)


# --- known states ------------------------------------------------------------------------------


def _with(changes: dict[str, Value], *, noise: bool = False) -> Make:
    """The database with other values; `noise`: with what the editor notes on its own too."""

    def make(home: Path) -> None:
        from pyrite.suites.desk.dconf_edits import write_dconf

        found = {**read_dconf(home / DATABASE), **changes}
        if noise:
            found[f"{_ON_ITS_OWN}window/width"] = 800
            found[f"{_ON_ITS_OWN}application/session"] = "1;;+file:///home/agent/Documents/list.txt"
        write_dconf(home / DATABASE, found)

    return make


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", _with(_wanted(params))),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    right = _wanted(params)
    written_out = {name: value for name, value in DEFAULTS.items() if name not in right}
    kept = read_dconf(FILES / INITIAL[DATABASE])
    return (
        KnownState("window_noted", _with(right, noise=True)),
        KnownState(
            "defaults_written", _with({**{k: v for k, v in written_out.items() if k not in kept}, **right})
        ),
    )


def bad(params: Params) -> tuple[KnownState, ...]:
    right = _wanted(params)
    name, value = next(iter(params.wanted.items()))
    near, near_value = params.near
    opposite = {f"{GEDIT}{name}": value}
    wrong = {f"{VIEW}{k}": v for k, v in params.wrong.items()}
    as_text: dict[str, Value] = {f"{VIEW}{name}": str(value).lower()}

    def list_changed(home: Path) -> None:
        (home / "Documents/list.txt").write_text("changed\n")

    def removed(home: Path) -> None:
        from pyrite.suites.desk.dconf_edits import write_dconf

        kept = {k: v for k, v in read_dconf(home / DATABASE).items() if not k.startswith(GEDIT)}
        write_dconf(home / DATABASE, {**kept, **right})

    return (
        *settings.beside(DATABASE, _with(right), "[preferences]\n"),
        KnownState("neighbour_instead", _with({f"{VIEW}{near}": near_value}), ("F-WRONGTARGET",)),
        KnownState("other_editor_instead", _with(opposite), ("F-WRONGTARGET",)),
        *([KnownState("nearly", _with(wrong), ("F-PARTIAL",))] if wrong else []),
        KnownState("as_text", _with(as_text), ("F-PARTIAL",)),
        KnownState("neighbour_too", _with({**right, f"{VIEW}{near}": near_value}), ("F-SIDEEFFECT",)),
        KnownState("other_editor_lost", removed, ("F-SIDEEFFECT",)),
        KnownState("list_changed", after(_with(right), list_changed), ("F-SIDEEFFECT",)),
        KnownState("deleted", lambda home: (home / DATABASE).unlink()),
    )


def equivalent(params: Params) -> dict[str, str]:
    """A second file beside the database is nobody's settings."""
    return {f"file-added@{DATABASE}": "a file in a hidden folder that no program reads"}


FAMILY = Family(
    name="mousepad_settings",
    domain="settings",
    files=FILES,
    params=PARAMS,
    instruction=instruction,
    initial=lambda params: INITIAL,
    opened=lambda params: ("mousepad", ("Documents/list.txt",)),
    reads=(*READS, DATABASE),
    good=good,
    harmless=harmless,
    bad=bad,
    verify=verify,
    script=script,
    claim=claim,
    equivalent=equivalent,
)
