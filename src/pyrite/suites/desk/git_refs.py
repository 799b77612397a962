"""Family git_refs: make, move, rename or delete one branch or tag, among names that look alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.gitrepo import Repository
from pyrite.checks.verdict import Result
from pyrite.suites.desk import git_site
from pyrite.suites.desk.git_site import BRANCH, CLEAN, SITE, Seen, View
from pyrite.suites.desk.goals import FILES, READS, Home, append, shell
from pyrite.suites.family import Family, KnownState

TAG = "refs/tags/"
INITIAL = git_site.home_with(CLEAN)


class Params(NamedTuple):
    """One task."""

    words: str
    command: str
    make: str = ""
    """The ref that is to be there at the end, with the commit that `at` stands for."""
    at: str = ""
    """A ref of the initial repository."""
    message: str = ""
    """Of a tag that is to be an annotated one; empty: a plain ref."""
    drop: str = ""
    """The ref that is to be gone."""
    wrong_at: str = BRANCH + "main"
    """A ref of the initial repository that `at` may be mistaken for."""
    alike: str = ""
    """A name that may be mistaken for that of `make` (a new one) or `drop` (one that is there)."""


PARAMS = {
    "git-refs-branch-at-tag": Params(
        "Make a branch summer at the commit that the tag v0.1 is on. Stay on main.",
        "git branch summer v0.1", BRANCH + "summer", TAG + "v0.1", alike=BRANCH + "Summer",
    ),
    "git-refs-branch-at-meeting": Params(
        "Make a branch autumn at the commit that the branch meeting is on. Stay on main.",
        "git branch autumn meeting", BRANCH + "autumn", BRANCH + "meeting", alike=TAG + "autumn",
    ),
    "git-refs-delete-meeting": Params(
        "Delete the branch meeting, and not the branch meetings.",
        "git branch -d meeting", drop=BRANCH + "meeting", alike=BRANCH + "meetings",
    ),
    "git-refs-rename-meetings": Params(
        "Rename the branch meetings to gatherings.",
        "git branch -m meetings "
        "gatherings", BRANCH + "gatherings", BRANCH + "meetings", drop=BRANCH + "meetings",
        alike=BRANCH + "meeting",
    ),
    "git-refs-plain-tag": Params(
        "Make a lightweight tag v0.1.1 (no annotated one) at the commit that the branch meeting is on.",
        "git tag v0.1.1 meeting", TAG + "v0.1.1", BRANCH + "meeting", alike=BRANCH + "v0.1.1",
    ),
    "git-refs-annotated-tag": Params(
        'Make an annotated tag v0.3 with the message "Third release" at the commit that main is on.',
        "git tag -a v0.3 -m 'Third "
        "release'", TAG + "v0.3", BRANCH + "main", "Third release", wrong_at=BRANCH + "meeting",
        alike=TAG + "v0.30",
    ),
    "git-refs-delete-tag": Params(
        "Delete the tag v0.2, and not the tag "
        "v0.1.", "git tag -d v0.2", drop=TAG + "v0.2", alike=TAG + "v0.1",
    ),
}  # fmt: skip


def instruction(params: Params) -> str:
    return f"In the git repository {SITE}: {params.words} Change nothing else."


def claim(params: Params) -> str:
    return f"Done: {params.command}"


def initial(params: Params) -> dict[str, str]:
    return INITIAL


def opened(params: Params) -> tuple[str, tuple[str, ...]]:
    return "xterm", ()


def script(params: Params) -> list[dict[str, Any]]:
    return shell(f"cd {SITE}", params.command, "git branch -v", "git tag -n")


def _short(ref: str) -> str:
    return ref.rpartition("/")[2]


def verify(params: Params, home: Path) -> Result:
    """The ref is there, on the right commit and of the right kind, or gone; all else as it was."""
    expected = [params.message or _short(params.make or params.drop)]
    return git_site.decide(home, CLEAN, INITIAL, lambda *views: _look(params, *views), expected=expected)


def _look(params: Params, found: Repository, before: View, now: View) -> Seen:
    mine = tuple(ref for ref in (params.make, params.drop) if ref)
    dropped = not params.drop or params.drop not in now.refs
    made = not params.make or _is_made(params, found, now)
    if made and dropped:
        return Seen("right", refs=mine)
    if now.refs == before.refs:
        return Seen("untouched")
    moved = {ref for ref in before.refs.keys() | now.refs.keys() if before.refs.get(ref) != now.refs.get(ref)}
    codes = ("F-PARTIAL",) if moved & set(mine) else ("F-WRONGTARGET",)
    if params.alike in moved and (params.drop in now.refs or params.make not in moved):
        codes = ("F-WRONGTARGET",)
    return Seen("wrong", codes, mine)


def _is_made(params: Params, found: Repository, now: View) -> bool:
    sha = now.refs.get(params.make, "")
    if not sha or sha.startswith("ref: "):
        return False
    wanted = git_site.commit_of(CLEAN, params.at)
    if not params.message:
        return sha == wanted
    if found.kind(sha) != "tag":
        return False
    tag = found.tag(sha)
    return (tag.target, tag.message, tag.name) == (wanted, params.message, _short(params.make))


# --- known states ------------------------------------------------------------------------------


def _doing(params: Params, *, drop: bool = True, make: bool = True) -> Callable[[Path], None]:
    def change(home: Path) -> None:
        from pyrite.suites.desk.git_states import Writer

        writer = Writer(home)
        if params.make and make:
            sha = git_site.commit_of(CLEAN, params.at)
            if params.message:
                sha = writer.tag(sha, _short(params.make), params.message)
            writer.ref(params.make, sha)
        if params.drop and drop:
            writer.drop_ref(params.drop)

    return change


def _home(params: Params) -> Home:
    return Home(_doing(params), "Notes/todo.txt")


def _also(params: Params, change: Callable[[Any], object]) -> Callable[[Path], None]:
    """The good state, and a change of the repository."""

    def make(home: Path) -> None:
        from pyrite.suites.desk.git_states import Writer

        _home(params).good(home)
        change(Writer(home))

    return make


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", _home(params).good),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    untidy = git_site.untidy(lambda change: _also(params, change))
    return (*untidy, *_home(params).harmless(".gitconfig", ".lesshst"))


def bad(params: Params) -> tuple[KnownState, ...]:
    beside, elsewhere, partial = ("F-SIDEEFFECT",), ("F-WRONGTARGET",), ("F-PARTIAL",)
    main, first = git_site.commit_of(CLEAN, BRANCH + "main"), git_site.commit_of(CLEAN, TAG + "v0.1")
    page = f"{SITE}/index.html"
    states = [
        *_home(params).bad(),
        KnownState("branch_too", _also(params, lambda one: one.ref(BRANCH + "other", main)), beside),
        KnownState("switched", _also(params, lambda one: one.head(BRANCH + "meeting")), beside),
        KnownState("detached", _also(params, lambda one: one.write("HEAD", f"{main}\n".encode())), beside),
        KnownState("main_moved", _also(params, lambda one: one.ref(BRANCH + "main", first)), beside),
        KnownState("file_changed", _home(params).also(lambda home: append(home, page, b"x")), beside),
        KnownState("unstaged", _also(params, lambda one: one.index({})), beside),
        *git_site.meddled(lambda change: _also(params, change)),
    ]  # fmt: skip
    if params.drop:
        other = params._replace(drop=params.alike)
        states.append(KnownState("alike", _doing(other, make=False), elsewhere))
        states.append(KnownState("alike_too", _also(params, lambda one: one.drop_ref(params.alike)), beside))
    if params.make and params.drop:
        states.append(KnownState("not_dropped", _doing(params, drop=False), partial))
        states.append(KnownState("only_dropped", _doing(params, make=False), partial))
        states.append(KnownState("other_renamed", _doing(params._replace(drop=params.alike)), elsewhere))
    if params.make:
        elsewhere_at = params._replace(at=params.wrong_at)
        states.append(KnownState("wrong_commit", _doing(elsewhere_at), partial))
        if not params.drop:
            states.append(KnownState("alike", _doing(params._replace(make=params.alike)), elsewhere))
    if params.message:
        states.append(KnownState("not_annotated", _doing(params._replace(message="")), partial))
        states.append(KnownState("other_message", _doing(params._replace(message="Third Release")), partial))
    elif params.make.startswith(TAG):
        states.append(KnownState("annotated", _doing(params._replace(message="x")), partial))
    return tuple(states)


FAMILY = Family(
    name="git_refs",
    domain="terminal",
    files=FILES,
    params=PARAMS,
    instruction=instruction,
    initial=initial,
    opened=opened,
    reads=READS,
    good=good,
    harmless=harmless,
    bad=bad,
    verify=verify,
    script=script,
    claim=claim,
    tools=("git",),
)
