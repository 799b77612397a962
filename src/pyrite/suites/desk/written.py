"""What the families of text in the terminal share: files with exactly one right content each.

A task names the file, what it is to hold, what it must not hold, and the command of a competent agent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from pyrite.checks.verdict import Result
from pyrite.suites.desk import goals as base
from pyrite.suites.desk.goals import Goal, Home, any_end, content, holds, instead, judge, shell
from pyrite.suites.desk.layouts import LAYOUTS
from pyrite.suites.family import KnownState


class Params(NamedTuple):
    """One task."""

    layout: str
    words: str
    """The instruction."""
    path: str
    wanted: str
    """The text that the file is to hold."""
    command: str
    expected: tuple[str, ...]
    """What stands in the diagnostics as expected."""
    bystander: str
    near: tuple[tuple[str, str], ...]
    """(name, text) of contents that are nearly right."""
    sibling: str = ""
    """A file that was there and may be mistaken for `path`."""
    in_sibling: str = ""
    """What it would hold then."""
    source: str = ""
    """The file that a new one is made from, and that must stay."""
    crlf: bool = False
    """Whether the line ends may be those of DOS: in a new list that no program reads."""


def instruction(params: Params) -> str:
    return params.words


def claim(params: Params) -> str:
    return f"{params.path} is written as asked."


def initial(params: Params) -> Mapping[str, str]:
    return LAYOUTS[params.layout]


def opened(params: Params) -> tuple[str, tuple[str, ...]]:
    return "xterm", ()


def script(params: Params) -> list[dict[str, Any]]:
    return shell(params.command)


def _elsewhere(params: Params) -> list[str]:
    """Paths where the result may end up instead: another ending, another folder, beside."""
    place = PurePosixPath(params.path)
    found = [place.with_name(f"{place.name}.txt"), place.with_name(f"{place.stem}_new{place.suffix}")]
    found += [PurePosixPath(place.name), place.parent.parent / "Elsewhere" / place.name]
    names = [str(path) for path in found if path != place]
    return [name for name in names if name not in initial(params)]


def verify(params: Params, home: Path) -> Result:
    """The file holds exactly that text, however its end is written, and every other file is as it was."""
    goal = holds(params.path, *any_end(params.wanted, crlf=params.crlf))
    decoys: list[Goal] = [instead(goal._replace(path=path), "F-WRONGTARGET") for path in _elsewhere(params)]
    if params.in_sibling:
        decoys.append(instead(holds(params.sibling, *any_end(params.in_sibling)), "F-WRONGAPP"))
    return judge(home, initial(params), [goal], expected=list(params.expected), decoys=decoys)


# --- known states ------------------------------------------------------------------------------


def _saved(text: str, path: str) -> Callable[[Path], None]:
    return lambda home: base.write(home, path, text.encode())


def _crlf(params: Params) -> Callable[[Path], None]:
    return _saved(params.wanted.replace("\n", "\r\n"), params.path)


def _home(params: Params) -> Home:
    return Home(_saved(params.wanted, params.path), params.bystander)


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", _home(params).good),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    place = PurePosixPath(params.path)
    swap = str(place.with_name(f".{place.name}.swp"))
    dos = KnownState("crlf", _crlf(params))
    return (
        KnownState("no_newline", _saved(params.wanted.rstrip("\n"), params.path)),
        KnownState("empty_line_at_end", _saved(f"{params.wanted}\n", params.path)),
        *([dos] if params.crlf else []),
        *_home(params).harmless(swap, ".ash_history", ".lesshst"),
    )


def bad(params: Params) -> tuple[KnownState, ...]:
    partial, elsewhere = ("F-PARTIAL",), ("F-WRONGTARGET",)
    found = [*_home(params).bad()]
    found += [KnownState(name, _saved(text, params.path), partial) for name, text in params.near]
    found += [
        KnownState("doubled", _saved(params.wanted * 2, params.path), partial),
        KnownState("emptied", _saved("", params.path), partial),
        KnownState("trailing_space", _saved(params.wanted.replace("\n", " \n", 1), params.path), partial),
        *([] if params.crlf else [KnownState("crlf", _crlf(params), partial)]),
        KnownState("other_name", _saved(params.wanted, _elsewhere(params)[0]), elsewhere),
        KnownState("other_folder", _saved(params.wanted, _elsewhere(params)[-1]), elsewhere),
    ]
    if params.in_sibling:
        there = _saved(params.in_sibling, params.sibling)
        found.append(KnownState("sibling", there, ("F-WRONGAPP",)))
        found.append(KnownState("sibling_too", _home(params).also(there), ("F-SIDEEFFECT",)))
    if params.source:
        gone = _home(params).also(lambda home: (home / params.source).unlink())
        turned = _home(params).also(_saved(params.wanted, params.source))
        found.append(KnownState("source_gone", gone, ("F-SIDEEFFECT",)))
        found.append(KnownState("source_overwritten", turned, ("F-SIDEEFFECT",)))
    return tuple(found)


def lines_of(layout: str, path: str) -> list[str]:
    """The lines of a text of the initial home."""
    return content(LAYOUTS[layout], path).decode().splitlines()


def joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
