"""Family office_settings: change an option of LibreOffice, which keeps it in its registry of the user.

The office notes much there on its own (windows, recent files): that does not count, every other entry does.
An entry that says what holds anyway is none.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from pyrite.checks.package import Spent
from pyrite.checks.verdict import Result
from pyrite.checks.xcu import read_registry
from pyrite.suites.desk import settings_common as settings
from pyrite.suites.desk.calc_common import NOTES, Make, after, click, key, typed
from pyrite.suites.desk.office_defaults import written_by_itself
from pyrite.suites.desk.watch import READS, Compared, Watched, judge
from pyrite.suites.desk.writer_common import edited
from pyrite.suites.family import Family, KnownState

FILES = Path(__file__).with_name("files")
REGISTRY = ".config/libreoffice/4/user/registrymodifications.xcu"
INITIAL = {
    REGISTRY: "desk_office.xcu",
    "Documents/harbour.odt": "harbour.odt",
    "Documents/harbour_2022.odt": "harbour_2022.odt",
    "Documents/list.txt": "desk_list.txt",
    NOTES: "notes.txt",
}
USER = "/org.openoffice.UserProfile/Data/"
SAVING = "/org.openoffice.Office.Common/Save/Document/"
_FIELDS = {
    f"{USER}o": (747, 155),
    f"{USER}l": (587, 274),
    f"{USER}position": (869, 355),
    f"{USER}mail": (869, 434),
    f"{SAVING}UseUserData": (347, 468),
}
"""Places on the page User Data of the dialog Options, at 1024x768."""
_DATA = (
    *("o", "givenname", "sn", "initials", "street", "l", "st", "postalcode", "c", "title", "position"),
    *("homephone", "telephonenumber", "facsimiletelephonenumber", "mail", "signingkey", "encryptionkey"),
)
DEFAULTS = {
    **{f"{USER}{name}": "" for name in _DATA},
    f"{USER}encrypttoself": "true",
    f"{SAVING}UseUserData": "true",
    **written_by_itself(),
}
_COMMON = "/org.openoffice.Office.Common/"
_NOTED = (
    "/org.openoffice.Office.UI.",
    "/org.openoffice.Office.Views/",
    "/org.openoffice.Office.Histories/",
    "/org.openoffice.Office.Linguistic/ServiceManager/",
    "/org.openoffice.Office.Recovery/RecoveryList",
    "/org.openoffice.Office.Recovery/RecoveryInfo",
    "/org.openoffice.Setup/Product/",
    "/org.openoffice.Setup/Office/",
    f"{_COMMON}SearchOptions/",
    f"{_COMMON}UserColors/Recent",
    "/org.openoffice.Office.Calc/Input/LastFunctions",
    *(f"/org.openoffice.Office.Writer/{name}" for name in ("Layout/Zoom/", "Cursor/DirectCursor/Insert")),
    *(f"{_COMMON}Misc/{name}" for name in ("FirstRun", "ShowTipOfTheDay", "LastTipOfTheDay", "FilePicker")),
)
"""What the office writes by itself: states of windows and dialogs, recent files, its own version."""
_OPTIONS = (
    "/org.openoffice.Office.UI.ToolbarMode/",
    "/org.openoffice.Office.UI.Infobar/",
    "/org.openoffice.Setup/Office/Factories/",
)
"""What a person sets, for all that."""
_FACTORIES = "/org.openoffice.Setup/Office/Factories/org.openoffice.Setup:Factory"


class Params(NamedTuple):
    """One task."""

    words: str
    """What the instruction asks for."""
    name: str
    value: str
    near: str
    """The field beside."""
    wrong: str


PARAMS = {
    "office-settings-company": Params(
        'set Company to "Mill Street Storage"',
        f"{USER}o",
        "Mill Street Storage",
        f"{USER}street",
        "Mill Street",
    ),
    "office-settings-city": Params('set City to "Bergen"', f"{USER}l", "Bergen", f"{USER}st", "bergen"),
    "office-settings-position": Params(
        'set Position to "Harbour office"',
        f"{USER}position",
        "Harbour office",
        f"{USER}title",
        "Harbour Office",
    ),
    "office-settings-email": Params(
        'set Email to "ana@harbour.example"',
        f"{USER}mail",
        "ana@harbour.example",
        f"{USER}facsimiletelephonenumber",
        "ana@harbour.exampl",
    ),
    "office-settings-no-user-data": Params(
        'switch off "Use data for document properties"',
        f"{SAVING}UseUserData",
        "false",
        f"{USER}encrypttoself",
        "",
    ),
}


def instruction(params: Params) -> str:
    return (
        f"In the options of LibreOffice, on the page User Data, {params.words} and confirm with OK. "
        "Change no other option, and leave everything in Documents as it is."
    )


def claim(params: Params) -> str:
    return f"Done in the options of LibreOffice, page User Data: {params.words}."


def script(params: Params) -> list[dict[str, Any]]:
    place = click(*_FIELDS[params.name])
    text = [] if params.name.startswith(SAVING) else [key("ctrl+a"), typed(params.value)]
    # the office writes its registry a second later
    return [
        key("alt+F12"),
        place,
        *text,
        key("Return"),
        {"action": "wait", "seconds": 2.0},
        {"action": "done"},
    ]


def _watched(name: str) -> bool:
    """Whether it is an option, not what the office notes on its own."""
    if name.endswith(("/ooSetupFactoryWindowAttributes", "/ooSetupFactoryStyleFilter")):
        return False
    return name.startswith(_OPTIONS) or not name.startswith(_NOTED)


def compare(params: Params, after: Path) -> Compared:
    def elsewhere(name: str, value: str) -> bool:
        return value == params.value

    return settings.compare_settings(
        read_registry(FILES / INITIAL[REGISTRY]),
        read_registry(after),
        {params.name: params.value},
        defaults=DEFAULTS,
        watched=_watched,
        elsewhere=elsewhere,
    )


def verify(params: Params, home: Path) -> Result:
    def look(before: Path | None, after: Path, spent: Spent) -> Compared:
        return compare(params, after)

    return judge(Watched(INITIAL, FILES, REGISTRY, params.words, look, ("Documents/*.xcu",)), home)


# --- known states ------------------------------------------------------------------------------

_WRITER = f"{_FACTORIES}['com.sun.star.text.TextDocument']"
_SELF_WRITTEN = {
    "/org.openoffice.Office.Views/Windows/x": "1",
    "/org.openoffice.Office.UI.WriterWindowState/UIElements/States/x/DockPos": "0,0",
    "/org.openoffice.Office.UI.Sidebar/Content/LastActiveDeck": "PropertyDeck",
    "/org.openoffice.Office.Linguistic/ServiceManager/SpellCheckerList/en-US": "",
    "/org.openoffice.Office.Histories/Histories/PickList/ItemList/x/Title": "harbour.odt",
    "/org.openoffice.Office.Recovery/RecoveryInfo/SessionData": "false",
    "/org.openoffice.Setup/Product/LastTimeDonateShown": "1796030023",
    "/org.openoffice.Setup/Office/MigrationCompleted": "true",
    f"{_WRITER}/ooSetupFactoryWindowAttributes": "0,0,1024,768;5;0,0,1024,768;",
    f"{_COMMON}Misc/LastTipOfTheDayShown": "19000",
    f"{_COMMON}SearchOptions/IsMatchCase": "true",
}
"""As recorded desktops have it, and what else the office keeps for itself."""
_OTHERS = {
    "macro_security": (f"{_COMMON}Security/Scripting/MacroSecurityLevel", "0"),
    "default_format": (f"{_WRITER}/ooSetupFactoryDefaultFilter", "MS Word 2007 XML"),
    "autosave_interval": ("/org.openoffice.Office.Recovery/AutoSave/TimeIntervall", "33"),
    "locale": ("/org.openoffice.Setup/L10N/ooSetupSystemLocale", "de-DE"),
    "icons": (f"{_COMMON}Misc/SymbolStyle", "breeze"),
    "measure_unit": ("/org.openoffice.Office.Writer/Layout/Other/MeasureUnit", "2"),
    "colours": ("/org.openoffice.Office.UI/ColorScheme/CurrentColorScheme", "Dark"),
}
"""Options of other pages: name and value."""


def _with(changes: dict[str, str], *, noise: bool = False) -> Make:
    """The registry with other values; `noise`: with what the office notes on its own too."""

    def make(home: Path) -> None:
        path = home / REGISTRY
        lines = path.read_text("utf-8").splitlines()
        if noise:
            changes_here = {**{f"{USER}{name}": "" for name in _DATA if name not in _set_names()}, **changes}
            changes_here |= _SELF_WRITTEN | written_by_itself()
        else:
            changes_here = changes
        for name, value in changes_here.items():
            folder, _, prop = name.rpartition("/")
            mark = f'oor:path="{folder}"><prop oor:name="{prop}"'
            lines = [line for line in lines if mark not in line]
            entry = f'<item {mark} oor:op="fuse"><value>{escape(value)}</value></prop></item>'
            lines.insert(len(lines) - 1, entry)
        path.write_text("\n".join(lines) + "\n", "utf-8")

    return make


def _set_names() -> set[str]:
    found = read_registry(FILES / INITIAL[REGISTRY])
    return {name.rpartition("/")[2] for name in found if name.startswith(USER)}


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", _with({params.name: params.value})),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    right = _with({params.name: params.value}, noise=True)

    def leftovers(home: Path) -> None:
        right(home)
        (home / ".config/libreoffice/4/.lock").write_text("x")
        (home / "Documents/.~lock.harbour.odt#").write_text(",agent,desk,01.01.2024 10:00;")

    resaved = after(_with({params.name: params.value}), edited("Documents/harbour.odt"))
    return (
        KnownState("written_out", right),
        KnownState("leftovers", leftovers),
        KnownState("document_resaved", resaved),
    )


def bad(params: Params) -> tuple[KnownState, ...]:
    right = _with({params.name: params.value})
    partial, beside = ("F-PARTIAL",), ("F-SIDEEFFECT",)
    nearly = {params.name: params.wrong} if params.wrong else {}
    emptied = _with({params.name: params.value, f"{USER}sn": ""})

    def retitled(home: Path) -> None:
        from pyrite.suites.desk.text_edits import open_text

        right(home)
        document = open_text(home / "Documents/harbour.odt")
        document.replace("Harbour Report 2023", params.value)
        document.save(home / "Documents/harbour.odt")

    return (
        *settings.beside(REGISTRY, right, "<oor:items>"),
        *([KnownState("nearly", _with(nearly), partial)] if nearly else []),
        KnownState("neighbour", _with({params.near: params.value}), ("F-WRONGTARGET",)),
        KnownState("neighbour_too", _with({params.name: params.value, params.near: "x"}), beside),
        KnownState("last_name_emptied", emptied, beside),
        *(
            KnownState(f"{state}_too", _with({params.name: params.value, name: value}), beside)
            for state, (name, value) in _OTHERS.items()
        ),
        KnownState("in_the_document_too", retitled, beside),
        KnownState("deleted", lambda home: (home / REGISTRY).unlink()),
    )


def equivalent(params: Params) -> dict[str, str]:
    """A second file beside the registry is nobody's settings."""
    lines = (FILES / INITIAL[REGISTRY]).read_text("utf-8").splitlines()
    return {
        f"file-added@{REGISTRY}": "a file in a hidden folder that no program reads",
        f"duplicate-row@{REGISTRY}#line {len(lines)}": "the office takes the later of two equal entries",
    }


FAMILY = Family(
    name="office_settings",
    domain="settings",
    files=FILES,
    params=PARAMS,
    instruction=instruction,
    initial=lambda params: INITIAL,
    opened=lambda params: ("writer", ("Documents/harbour.odt",)),
    reads=(*READS, REGISTRY),
    good=good,
    harmless=harmless,
    bad=bad,
    verify=verify,
    script=script,
    claim=claim,
    equivalent=equivalent,
)
