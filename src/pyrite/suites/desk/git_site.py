"""What the families of git tasks share: one repository, what it was, and what else may not have changed.

The repository is read as data (`pyrite.checks.gitrepo`). What git notes for itself (logs, the last message,
how its objects are packed) does not count; refs, HEAD, stashes, the index, the working tree, the repository's
settings, hooks and the files that say what git is not to see do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.gitrepo import Files, Repository, Stash
from pyrite.checks.homes import TooManyFiles, snapshot
from pyrite.checks.package import Unreadable
from pyrite.checks.verdict import NOTHING_PERSISTED, Result
from pyrite.suites.desk.goals import FILES, Goal, Status, judge
from pyrite.suites.family import KnownState

SITE = "Site"
GIT = f"{SITE}/.git"
BRANCH = "refs/heads/"
TREE = ("README.md", "index.html", "index_old.html", "styles/main.css", "styles/print.css")
EDITED = ("index.html", "index_old.html", "styles/print.css", "contact.html", "contact_old.html")
_OTHERS = {"Notes/todo.txt": "texts/words_new.txt", "Notes/plan.md": "texts/house_plan.md"}
CLEAN, WITH_STASHES = "site.git", "site_stashes.git"


def home_with(repository: str, edited: Collection[str] = ()) -> dict[str, str]:
    """Path -> file of an initial home: a repository, its working tree, and two files beside."""
    inside = FILES / "texts" / repository
    found = {
        f"{GIT}/{path.relative_to(inside)}": f"texts/{repository}/{path.relative_to(inside)}"
        for path in sorted(inside.rglob("*"))
        if path.is_file()
    }
    found.update((f"{SITE}/{name}", f"texts/site/{name}") for name in TREE)
    found.update((f"{SITE}/{name}", f"texts/site_edited/{name}") for name in edited)
    return {**found, **_OTHERS}


class View(NamedTuple):
    """What counts of a repository."""

    head: str
    refs: Mapping[str, str]
    stashes: tuple[Stash, ...]
    staged: Files
    foreign: tuple[str, ...]
    settings: Mapping[str, list[str]]


class Seen(NamedTuple):
    """What a family found."""

    status: Status
    codes: tuple[str, ...] = ()
    """What a wrong one allows; empty: F-PARTIAL."""
    refs: tuple[str, ...] = ()
    """Refs that its own work accounts for."""
    staged: Files | None = None
    """What is to be staged; None: what was."""
    head: str = ""
    """What HEAD is to be; empty: what it was."""
    stashes: tuple[Stash, ...] | None = None
    """The stashes that there are to be; None: those that were."""


Look = Callable[[Repository, View, View], Seen]


def view(repository: Repository) -> View:
    """Read what counts; raises `Unreadable`."""
    return View(
        repository.head,
        repository.refs,
        tuple(repository.stashes()),
        repository.index(),
        tuple(repository.foreign),
        _settings(repository),
    )


def _settings(repository: Repository) -> Mapping[str, list[str]]:
    try:
        return repository.settings
    except Unreadable as exc:
        return {"config": [str(exc)]}


@cache
def was(repository: str) -> View:
    """What the repository of an initial home shows."""
    return view(Repository(FILES / "texts" / repository))


def decide(
    home: Path,
    repository: str,
    initial: Mapping[str, str],
    look: Look,
    *,
    expected: list[str],
    goals: tuple[Goal, ...] = (),
) -> Result:
    """What `look` finds of the repository, everything else of it as it was, and the files of the home."""
    before = was(repository)
    seen, damage = Seen("wrong"), []
    try:
        found = Repository(home / GIT)
        now = view(found)
        seen = look(found, before, now)
        damage = _damage(before, now, seen) + _unasked(home, initial)
    except Unreadable as exc:
        seen = Seen("lost" if exc.reason == "missing" else "wrong")
        damage = [f"{GIT} cannot be read: {exc}"[:200]]
    goal = Goal(GIT, look=lambda home: seen.status)
    result = judge(home, initial, [goal, *goals], expected=expected, allowed=[f"{GIT}/**"], modes=0o100)
    told: dict[str, Any] = {**result.diagnostics, "repository": damage[:10]}
    if result.passed:
        return result._replace(diagnostics=told) if not damage else Result(False, ("F-SIDEEFFECT",), told)
    if result.category == ("F-PARTIAL",) and seen.codes:
        return Result(False, seen.codes, told)
    if result.category == NOTHING_PERSISTED and (damage or seen.codes):
        return Result(False, seen.codes, told)
    return Result(False, result.category, told)


def _damage(before: View, now: View, seen: Seen) -> list[str]:
    """What else differs in the repository."""
    found: list[str] = []
    for name in sorted(before.refs.keys() | now.refs.keys()):
        if name not in seen.refs and name != "refs/stash" and before.refs.get(name) != now.refs.get(name):
            found.append(f"{name[:100]} is another one")
    if now.head != (seen.head or before.head):
        found.append(f"HEAD is {now.head[:100]}")
    if now.stashes != (before.stashes if seen.stashes is None else seen.stashes):
        found.append("the stashes are others")
    if now.staged != (before.staged if seen.staged is None else seen.staged):
        found.append("something else is staged, or no longer")
    for name in sorted(before.settings.keys() | now.settings.keys()):
        if before.settings.get(name) != now.settings.get(name):
            found.append(f"its setting {name[:100]} is another one")
    return found + [f"{name[:100]} is none of git's files" for name in now.foreign]


def _unasked(home: Path, initial: Mapping[str, str]) -> list[str]:
    """Files of the working tree, hidden ones, that were not there and tell git what to do."""
    try:
        there = snapshot(
            home / SITE, [f"**/{name}" for name in (".gitignore", ".gitattributes", ".gitmodules")], ()
        )
    except (OSError, TooManyFiles):
        return []  # which the files of the home tell
    return [f"{name[:100]} is new" for name in there if f"{SITE}/{name}" not in initial]


def blob(path: Path) -> str:
    """The name that git gives to a file of ours."""
    data = path.read_bytes()
    return hashlib.sha1(f"blob {len(data)}\0".encode() + data, usedforsecurity=False).hexdigest()


@cache
def commit_of(repository: str, ref: str) -> str:
    """The commit that a ref of an initial repository stands for."""
    found = Repository(FILES / "texts" / repository)
    return found.peeled(found.refs[ref])


# --- known states ------------------------------------------------------------------------------


def untidy(also: Callable[[Callable[[Any], object]], Callable[[Path], None]]) -> tuple[KnownState, ...]:
    """Harmless states that `also` makes of the good one: what programs leave, and another form of index."""
    return (
        KnownState("notes", also(lambda writer: writer.leave_notes())),
        KnownState("index_4", also(lambda writer: writer.index(writer.read().index(), version=4))),
    )


def meddled(also: Callable[[Callable[[Any], object]], Callable[[Path], None]]) -> tuple[KnownState, ...]:
    """Bad states that `also` makes of the good one: settings, hooks and what git is not to see."""
    from pyrite.suites.desk.git_states import MEDDLED

    def change(what: str) -> Callable[[Any], object]:
        return lambda writer: writer.meddle(what)

    return tuple(KnownState(what, also(change(what)), ("F-SIDEEFFECT",)) for what in MEDDLED)
