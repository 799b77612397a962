"""What the families of file operations share: operations as data, what they come to, how they are done."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple

from pyrite.checks.verdict import Result
from pyrite.suites.desk import goals as base
from pyrite.suites.desk.goals import Goal, Home, content, go, gone, holds, judge, key, pick, shell, text
from pyrite.suites.desk.layouts import LAYOUTS
from pyrite.suites.family import Family, KnownState


class Operation(NamedTuple):
    """One thing done to a file or a folder."""

    kind: Literal["move", "copy", "delete"]
    path: str
    to: str = ""

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name


class Wrong(NamedTuple):
    """Operations that a bad state has instead, and the codes that it allows."""

    name: str
    operations: tuple[Operation, ...]
    category: tuple[str, ...]


class Params(NamedTuple):
    """One task."""

    layout: str
    words: str
    """The instruction."""
    operations: tuple[Operation, ...]
    wrong: tuple[Wrong, ...]
    bystander: str
    app: str = "pcmanfm"

    @property
    def folder(self) -> str:
        return str(PurePosixPath(self.operations[0].path).parent)


def move(path: str, to: str) -> Operation:
    return Operation("move", path, to)


def copy(path: str, to: str) -> Operation:
    return Operation("copy", path, to)


def delete(path: str) -> Operation:
    return Operation("delete", path)


def inside(layout: str, path: str) -> str:
    """What is in a folder, for an instruction; empty for a file."""
    names = [one[len(path) + 1 :] for one in LAYOUTS[layout] if one.startswith(f"{path}/")]
    return f" ({', '.join(names)})" if names else ""


def instruction(params: Params) -> str:
    return params.words


def claim(params: Params) -> str:
    done = {"move": "has been moved to", "copy": "has been copied to", "delete": "has been deleted"}
    said = [f"{one.path} {done[one.kind]} {one.to}".strip() for one in params.operations]
    return f"{'; '.join(said)}."


def initial(params: Params) -> Mapping[str, str]:
    return LAYOUTS[params.layout]


def opened(params: Params) -> tuple[str, tuple[str, ...]]:
    return params.app, (params.folder,) if params.app == "pcmanfm" else ()


def goals(params: Params) -> list[Goal]:
    """What the operations come to, file by file."""
    files = initial(params)
    found: list[Goal] = []
    for one in params.operations:
        for path in _below(files, one.path):
            if one.kind != "copy":
                found.append(gone(path))
            if one.kind != "delete":
                found.append(holds(one.to + path[len(one.path) :], content(files, path)))
    return found


def _below(files: Mapping[str, str], path: str) -> list[str]:
    return [one for one in files if one == path or one.startswith(f"{path}/")]


def verify(params: Params, home: Path) -> Result:
    """The named files are where they are to be, and every other file is as it was."""
    emptied = [one.path for one in params.operations if one.kind != "copy"]
    expected = [PurePosixPath(one.to or one.path).name for one in params.operations]
    result = judge(home, initial(params), goals(params), expected=expected)
    left = [path for path in emptied if _is_folder(home / path) and path not in initial(params)]
    if result.passed and left:
        return Result(False, ("F-PARTIAL",), {**result.diagnostics, "damage": [f"{left[0]} is still there"]})
    return result


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def carry_out(home: Path, operations: Sequence[Operation]) -> None:
    """Do the operations in a home."""
    for one in operations:
        place = home / one.path
        if one.kind == "move":
            base.move(home, one.path, one.to)
        elif one.kind == "delete":
            shutil.rmtree(place) if place.is_dir() else place.unlink()
        elif place.is_dir():
            shutil.copytree(place, home / one.to)
        else:
            base.copy(home, one.path, one.to)


def _states(params: Params) -> Home:
    return Home(lambda home: carry_out(home, params.operations), params.bystander)


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", _states(params).good),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    """What the file manager leaves: its settings, and a deleted file in the trash."""
    made = [*_states(params).harmless(".config/pcmanfm/default/pcmanfm.conf", ".config/libfm/libfm.conf")]
    trash = _states(params).harmless(".local/share/Trash/files/a.txt", ".local/share/Trash/info/a.trashinfo")
    return (*made, *(state._replace(name="trash") for state in trash))


def bad(params: Params) -> tuple[KnownState, ...]:
    """Other operations instead, some of the operations only, and a copy where a file was to move."""
    done = params.operations
    found = [*_states(params).bad()]
    for wrong in params.wrong:
        found.append(KnownState(wrong.name, _doing(wrong.operations), wrong.category))
    if len(done) > 1:
        found.append(KnownState("first_only", _doing(done[:1]), ("F-PARTIAL",)))
        found.append(KnownState("all_but_first", _doing(done[1:]), ("F-PARTIAL",)))
    if any(one.kind == "move" for one in done):
        copied = tuple(one._replace(kind="copy") for one in done)
        found.append(KnownState("copied_instead", _doing(copied), ("F-PARTIAL",)))
    if all(one.kind == "copy" for one in done):
        moved = tuple(one._replace(kind="move") for one in done)
        found.append(KnownState("moved_instead", _doing(moved), ("F-SIDEEFFECT",)))
    if any(one.to for one in done):
        emptied = KnownState("result_emptied", lambda home: _emptied(params, home), ("F-PARTIAL",))
        found.append(emptied)
    return tuple(found)


def _doing(operations: Sequence[Operation]) -> Any:
    return lambda home: carry_out(home, operations)


def _emptied(params: Params, home: Path) -> None:
    carry_out(home, params.operations)
    first = next(goal for goal in goals(params) if goal.accepts)
    (home / first.path).write_bytes(b"")


def script(params: Params) -> list[dict[str, Any]]:
    """In the file manager where it is open, else by commands."""
    if params.app == "xterm":
        return shell(*map(_command, params.operations))
    actions: list[dict[str, Any]] = []
    for at, one in enumerate(params.operations):
        source, target = str(PurePosixPath(one.path).parent), PurePosixPath(one.to)
        if at:
            actions += go(source)
        actions += pick(one.name)
        if one.kind == "delete":
            actions += [key("Delete"), key("Return")]
        elif str(target.parent) == source:
            actions += [key("F2"), key("ctrl+a"), text(target.name), key("Return")]
        else:
            actions += [
                key("ctrl+c" if one.kind == "copy" else "ctrl+x"),
                *go(str(target.parent)),
                key("ctrl+v"),
            ]
    return [*actions, base.DONE]


def _command(one: Operation) -> str:
    if one.kind == "delete":
        return f"rm -r '{one.path}'"
    return f"{'mv' if one.kind == 'move' else 'cp -r'} '{one.path}' '{one.to}'"


def family(name: str, params: Mapping[str, Params]) -> Family:
    """A family of tasks that move, copy, rename or delete."""
    return Family(
        name=name,
        domain="files",
        files=base.FILES,
        params=params,
        instruction=instruction,
        initial=initial,
        opened=opened,
        reads=base.READS,
        good=good,
        harmless=harmless,
        bad=bad,
        verify=verify,
        script=script,
        claim=claim,
    )
