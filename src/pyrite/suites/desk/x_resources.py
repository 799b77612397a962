"""Family x_resources: set one X resource in ~/.Xresources, among look-alike ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.keyfiles import read_resources
from pyrite.checks.package import Spent
from pyrite.checks.verdict import Result
from pyrite.suites.desk import settings_common as settings
from pyrite.suites.desk.calc_common import NOTES, Make, key, typed
from pyrite.suites.desk.watch import READS, Compared, Watched, judge
from pyrite.suites.family import Family, KnownState

FILES = Path(__file__).with_name("files")
PATH = ".Xresources"
INITIAL = {
    PATH: "desk.Xresources",
    "Documents/list.txt": "desk_list.txt",
    "Documents/harbour.odt": "harbour.odt",
    NOTES: "notes.txt",
}


class Params(NamedTuple):
    """One task."""

    name: str
    value: str
    near: str
    """A resource that could be taken for it."""
    wrong: str


PARAMS = {
    "x-resources-face-size": Params("XTerm*faceSize", "14", "UXTerm*faceSize", "15"),
    "x-resources-save-lines": Params("UXTerm*saveLines", "5000", "XTerm*saveLines", "50000"),
    "x-resources-dpi": Params("Xft.dpi", "120", "Xcursor.size", "12"),
    "x-resources-background": Params("XTerm*background", "ivory", "XTerm*faceName", "ivory2"),
}


def instruction(params: Params) -> str:
    return (
        f"In the file .Xresources of the home folder, set the X resource {params.name} to {params.value}; "
        "leave everything else in it as it is, and save the file. Change nothing in Documents."
    )


def claim(params: Params) -> str:
    return f"{params.name} in .Xresources is now {params.value}, and the file is saved."


def _lines() -> list[str]:
    return (FILES / INITIAL[PATH]).read_text("utf-8").splitlines()


def script(params: Params) -> list[dict[str, Any]]:
    """Go to the line, replace it whole, save."""
    at = next(i for i, line in enumerate(_lines()) if line.startswith(f"{params.name}:"))
    return [
        key("ctrl+Home"),
        *[key("Down")] * at,
        key("shift+End"),
        typed(f"{params.name}: {params.value}"),
        key("ctrl+s"),
        {"action": "done"},
    ]


def compare(params: Params, after: Path) -> Compared:
    before = read_resources(FILES / INITIAL[PATH])

    def elsewhere(name: str, value: str) -> bool:
        return value == params.value

    wanted = {params.name: params.value}
    return settings.compare_settings(before, _plain(read_resources(after)), wanted, elsewhere=elsewhere)


def _plain(found: dict[str, str]) -> dict[str, str]:
    """Numbers without space after them, which is read over; of a name it would be a part."""
    return {name: value.rstrip() if value.rstrip().isdecimal() else value for name, value in found.items()}


def verify(params: Params, home: Path) -> Result:
    def look(before: Path | None, after: Path, spent: Spent) -> Compared:
        return compare(params, after)

    watched = Watched(INITIAL, FILES, PATH, (params.name, params.value), look, ("Documents/*",))
    return judge(watched, home)


# --- known states ------------------------------------------------------------------------------


def _set(**values: str) -> Make:
    return _text([f"{name}: {values.get(name, value)}" for name, value in _pairs()])


def _pairs() -> list[tuple[str, str]]:
    return [(line.partition(":")[0], line.partition(":")[2].strip()) for line in _lines()]


def _right_lines(params: Params) -> list[str]:
    return [
        line if line.partition(":")[0] != params.name else f"{params.name}: {params.value}"
        for line in _lines()
    ]


def _text(lines: list[str]) -> Make:
    """A file with these lines; comments keep their form."""
    return settings.written(PATH, "".join(f"{line.removesuffix(': ')}\n" for line in lines))


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", _set(**{params.name: params.value})),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    spaced = [f"{n}:\t{params.value if n == params.name else v}" if v else n for n, v in _pairs()]
    right = _set(**{params.name: params.value})
    trailing = _set(**{params.name: f"{params.value} "})

    def leftovers(home: Path) -> None:
        (home / f"{PATH}~").write_text("\n".join(_lines()))
        (home / ".local/share").mkdir(parents=True)
        (home / ".local/share/recently-used.xbel").write_text("<xbel/>")
        right(home)

    return (
        KnownState("later_line_wins", _text([*_lines(), f"{params.name}: {params.value}"])),
        KnownState("tabs", _text(spaced)),
        KnownState("empty_line_at_end", _text([*_right_lines(params), ""])),
        *([KnownState("space_after_number", trailing)] if params.value.isdecimal() else []),
        KnownState("leftovers", leftovers),
    )


def bad(params: Params) -> tuple[KnownState, ...]:
    partial, beside = ("F-PARTIAL",), ("F-SIDEEFFECT",)
    right = {params.name: params.value}
    trailing = {params.name: f"{params.value} "}
    lines = _lines()
    at = next(i for i, line in enumerate(lines) if line.startswith(f"{params.name}:"))
    commented = [*lines[:at], f"! {params.name}: {params.value}", *lines[at + 1 :]]
    last = [f"{n}: {right.get(n, v)}" for n, v in _pairs()][:-1]
    return (
        *settings.beside(PATH, _set(**right), "\x00"),
        KnownState("nearly", _set(**{params.name: params.wrong}), partial),
        KnownState("neighbour", _set(**{params.near: params.value}), ("F-WRONGTARGET",)),
        KnownState("commented_out", _text(commented), partial),
        KnownState("line_removed", _text([*lines[:at], *lines[at + 1 :]]), partial),
        KnownState("neighbour_too", _set(**{**right, params.near: "x"}), beside),
        *([] if params.value.isdecimal() else [KnownState("space_after_name", _set(**trailing), partial)]),
        KnownState("last_line_lost", _text(last), beside),
        KnownState("deleted", lambda home: (home / PATH).unlink()),
    )


def equivalent(params: Params) -> dict[str, str]:
    """The line twice is the line once."""
    at = next(i for i, line in enumerate(_lines(), start=1) if line.startswith(f"{params.name}:"))
    return {
        f"file-added@{PATH}": "a hidden file that no program reads",
        f"duplicate-row@{PATH}#line {at}": "X takes the later of two equal lines",
    }


FAMILY = Family(
    name="x_resources",
    domain="settings",
    files=FILES,
    params=PARAMS,
    instruction=instruction,
    initial=lambda params: INITIAL,
    opened=lambda params: ("mousepad", (PATH,)),
    reads=(*READS, PATH),
    good=good,
    harmless=harmless,
    bad=bad,
    verify=verify,
    script=script,
    claim=claim,
    equivalent=equivalent,
)
