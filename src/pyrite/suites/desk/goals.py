"""What the verifiers of files and terminal tasks share: what each named path is to be, all else as it was.

    goals = (gone("Documents/a.txt"), holds("Documents/b.txt", b"text"))
    result = judge(home, before, goals, expected="b.txt")

`before` is the digest of every file of the initial home. Files, folders and links that are visible are
compared by name and content; hidden ones only where the initial home or a goal names them. Of a file that was
there and is no goal, the permissions count too, as far as an archived end state keeps them.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from pyrite.checks.homes import IGNORED, MAX_FILES, TooManyFiles, digest_file, matches, snapshot
from pyrite.checks.verdict import NOTHING_PERSISTED, Result
from pyrite.suites.family import Family, KnownState

FILES = Path(__file__).with_name("files")
READS = ("**",)
MAX_LISTED = 10
MODE, KEPT = 0o644, 0o755
"""Permissions of the files of an initial home, and those that an archived end state keeps."""
FOLDER = "folder"
Status = str
"""right | untouched | wrong | lost: another file than it was and than it should be, or none any more."""


class Goal(NamedTuple):
    """What is to be of one path."""

    path: str
    accepts: tuple[str, ...] = ()
    """Digests, one of which its content must have; none: it is to be gone."""
    executable: bool | None = None
    """Whether its owner may run it; None: that does not matter."""
    look: Callable[[Path], Status] | None = None
    """For what bytes do not decide: says of the home what became of it."""
    code: str = ""
    """Of a decoy: what it means that the work was done here."""


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def gone(path: str) -> Goal:
    """The path is not to be there any more."""
    return Goal(path)


def holds(path: str, *contents: bytes, executable: bool | None = None) -> Goal:
    """The path is to hold one of these contents."""
    return Goal(path, tuple(map(sha256, contents)), executable)


def any_end(text: str, *, crlf: bool = False) -> tuple[bytes, ...]:
    """A text with and without its last newline, for editors differ, and with an empty line more at its end.

    `crlf`: the same with the line ends of DOS, for a text that no program reads line by line.
    """
    bare = text.removesuffix("\n")
    found = tuple((bare + end).encode() for end in ("\n", "", "\n\n"))
    return (*found, *(one.replace(b"\n", b"\r\n") for one in found if crlf))


def instead(goal: Goal, code: str) -> Goal:
    """A goal that must not be reached: the same work at another place."""
    return goal._replace(code=code)


def digests(family: Family, params: Any) -> dict[str, str]:
    """Path in the initial home -> digest of its content."""
    return {path: digest_file(family.files / name) for path, name in family.initial(params).items()}


def content(initial: Mapping[str, str], path: str) -> bytes:
    """The bytes of a file of the initial home."""
    return (FILES / initial[path]).read_bytes()


def judge(
    home: Path,
    initial: Mapping[str, str],
    goals: Sequence[Goal],
    *,
    expected: str | list[str],
    decoys: Sequence[Goal] = (),
    allowed: Sequence[str] = (),
    modes: int = KEPT,
) -> Result:
    """Whether every goal is reached and nothing else has changed.

    `initial`: path -> file name in the suite's files. `allowed`: globs of paths that may come and go.
    `modes`: which permissions of other files count. Never raises for what an agent left.
    """
    before = {path: digest_file(FILES / name) for path, name in initial.items()}
    seen: dict[str, Any] = {"expected": expected, "goals": {}, "damage": [], "damage_count": 0}
    try:
        after = _look(home, {*before, *(goal.path for goal in (*goals, *decoys))})
    except TooManyFiles as exc:
        return Result(False, (), {**seen, "damage": [str(exc)], "damage_count": 1})
    states = {goal.path: _status(goal, home, before, after) for goal in goals}
    moved = _damage(before, after, {*states}, allowed)
    kept = [path for path in before if after.get(path) == before[path] and path not in states]
    damage = moved | _permitted(home, [path for path in kept if not matches(path, allowed)], modes)
    seen["goals"] = dict(list(states.items())[:MAX_LISTED])
    seen["damage"] = [f"{path[:200]} {what}" for path, what in list(damage.items())[:MAX_LISTED]]
    seen["damage_count"] = len(damage)
    if set(states.values()) == {"right"}:
        return Result(not damage, ("F-SIDEEFFECT",) if damage else (), seen)
    met = {goal.code for goal in decoys if _status(goal, home, before, after) == "right"}
    codes = met | _elsewhere(goals, states, before, after, moved)
    if codes:
        return Result(False, tuple(sorted(codes)), seen)
    if {"right", "wrong"} & {*states.values()}:
        return Result(False, ("F-PARTIAL",), seen)
    untouched = set(states.values()) == {"untouched"} and not damage
    return Result(False, NOTHING_PERSISTED if untouched else (), seen)


def _look(home: Path, named: Iterable[str]) -> dict[str, str]:
    """Every visible file and folder, and what is named although it is hidden."""
    after = snapshot(home)
    for path in named:
        if matches(path, IGNORED) and os.path.lexists(home / path):
            after[path] = digest_file(home / path)
    after.update((path, FOLDER) for path in _folders(home))
    return after


def _folders(home: Path) -> list[str]:
    """Visible folders, links not followed; raises `TooManyFiles`."""
    found: list[str] = []
    for parent, folders, _ in os.walk(home):
        folders[:] = [name for name in folders if not name.startswith(".")]
        inside = os.path.relpath(parent, home)
        prefix = "" if inside == "." else f"{inside}/"
        found += [prefix + name for name in folders if not os.path.islink(os.path.join(parent, name))]
        if len(found) > MAX_FILES:
            raise TooManyFiles(f"more than {MAX_FILES} folders")
    return found


def _status(goal: Goal, home: Path, before: Mapping[str, str], after: Mapping[str, str]) -> Status:
    if goal.look is not None:
        return goal.look(home)
    was, now = before.get(goal.path), after.get(goal.path)
    if not goal.accepts:
        return "right" if now is None else "untouched" if now == was else "wrong"
    if now in goal.accepts:
        if goal.executable is None or goal.executable == is_executable(home / goal.path):
            return "right"
        return "untouched" if now == was else "wrong"
    if now == was:
        return "untouched"
    return "lost" if now is None else "wrong"


def is_executable(path: Path) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and bool(found.st_mode & stat.S_IXUSR)


def _permitted(home: Path, paths: Iterable[str], modes: int) -> dict[str, str]:
    """Files whose permissions are others than they were: path -> how."""
    found: dict[str, str] = {}
    for path in paths:
        try:
            mode = (home / path).lstat().st_mode
        except OSError:
            continue
        if mode & modes != MODE & modes:
            found[path] = f"has the permissions {stat.S_IMODE(mode):o}"
    return found


def _damage(
    before: Mapping[str, str], after: Mapping[str, str], goals: set[str], allowed: Sequence[str]
) -> dict[str, str]:
    """What else differs: path -> how."""
    expected = {str(parent) for path in (*goals, *before) for parent in PurePosixPath(path).parents}
    found: dict[str, str] = {}
    for path in sorted(before.keys() | after.keys()):
        was, now = before.get(path), after.get(path)
        if was == now or path in goals or matches(path, allowed):
            continue
        if now == FOLDER and path in expected:
            continue
        found[path] = "is new" if was is None else "is gone" if now is None else "is changed"
    return found


def _elsewhere(
    goals: Sequence[Goal],
    states: Mapping[str, Status],
    before: Mapping[str, str],
    after: Mapping[str, str],
    damage: Mapping[str, str],
) -> set[str]:
    """Whether what is missing was done at another place."""
    open_goals = [goal for goal in goals if states[goal.path] != "right"]
    wanted = {digest for goal in open_goals for digest in goal.accepts}
    codes: set[str] = set()
    for path, what in damage.items():
        if what == "is gone" and any(not goal.accepts and goal.look is None for goal in open_goals):
            codes.add("F-WRONGTARGET")
        elif after.get(path) in wanted:
            codes.add("F-WRONGTARGET" if what == "is new" else "F-WRONGAPP")
    return codes


# --- known states ------------------------------------------------------------------------------


class Home:
    """Makes known states of one task: what the goals ask for, and what goes wrong beside it."""

    def __init__(self, good: Callable[[Path], None], bystander: str) -> None:
        self.good = good
        self.bystander = bystander

    def also(self, change: Callable[[Path], object]) -> Callable[[Path], None]:
        """The good state, and a change."""

        def make(home: Path) -> None:
            self.good(home)
            change(home)

        return make

    def harmless(self, *leftovers: str) -> tuple[KnownState, ...]:
        """The good state with what programs leave beside it."""

        def change(home: Path) -> None:
            for path in leftovers:
                write(home, path, b"[x]\nsort=name\n")

        return (KnownState("leftovers", self.also(change)),)

    def bad(self) -> tuple[KnownState, ...]:
        """Nothing done, and the good state with damage to a bystander."""
        beside = ("F-SIDEEFFECT",)
        path = self.bystander

        def opened(home: Path) -> None:
            (home / path).chmod(0o777)

        return (
            KnownState("untouched", lambda home: None, NOTHING_PERSISTED),
            KnownState("other_file_executable", self.also(opened), beside),
            KnownState("other_file_changed", self.also(lambda home: append(home, path, b"x\n")), beside),
            KnownState("other_file_gone", self.also(lambda home: (home / path).unlink()), beside),
            KnownState("file_too_many", self.also(lambda home: write(home, "new.txt", b"x\n")), beside),
            KnownState("folder_too_many", self.also(lambda home: (home / "untitled").mkdir()), beside),
        )


def write(home: Path, path: str, data: bytes, *, executable: bool = False) -> None:
    """Write a file, and the folders above it."""
    place = home / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    place.chmod(0o755 if executable else 0o644)


def append(home: Path, path: str, data: bytes) -> None:
    write(home, path, (home / path).read_bytes() + data)


def move(home: Path, path: str, to: str) -> None:
    """Rename a file or folder, and make the folders above its new place."""
    (home / to).parent.mkdir(parents=True, exist_ok=True)
    (home / path).rename(home / to)


def copy(home: Path, path: str, to: str) -> None:
    write(home, to, (home / path).read_bytes())


# --- scripts -----------------------------------------------------------------------------------


def key(keys: str) -> dict[str, Any]:
    return {"action": "key", "keys": keys}


def text(typed: str) -> dict[str, Any]:
    return {"action": "type", "text": typed}


DONE: dict[str, Any] = {"action": "done"}
EMPTY_PART = {"action": "click", "x": 420, "y": 540}
"""Of the file manager's window as it opens, 640 x 480 at its usual place: no icon of a small folder there."""


def shell(*lines: str) -> list[dict[str, Any]]:
    """Commands typed into a terminal, each after the one before has ended."""
    return [*(text(line + "\n") for line in lines), DONE]


def pick(name: str) -> list[dict[str, Any]]:
    """Select a file in the file manager by typing its name."""
    return [text(name), key("Escape")]


def go(folder: str) -> list[dict[str, Any]]:
    """Have the file manager show a folder, and give its icons the keyboard."""
    return [key("ctrl+l"), key("ctrl+a"), text(f"/home/agent/{folder}\n"), EMPTY_PART]
