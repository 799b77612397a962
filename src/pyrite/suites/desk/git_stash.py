"""Family git_stash: put a change aside, take one back, or drop one of two that look alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.gitrepo import Repository, Stash
from pyrite.checks.homes import digest_file
from pyrite.checks.verdict import Result
from pyrite.suites.desk import git_site
from pyrite.suites.desk.git_site import BRANCH, SITE, WITH_STASHES, Seen, View
from pyrite.suites.desk.goals import FILES, READS, Goal, Home, append, holds, sha256, shell, write
from pyrite.suites.family import Family, KnownState

PAGE, PRINT = "index.html", "styles/print.css"


class Params(NamedTuple):
    """One task; stashes are counted from the latest, 0."""

    words: str
    command: str
    expected: str
    apply: int | None = None
    """The stash whose change is to be in the working tree."""
    drop: int | None = None
    """The stash that is to be gone."""
    push: str = ""
    """The message of a stash that is to be made of the change of styles/print.css."""


PARAMS = {
    "git-stash-drop-august": Params(
        'drop the stash with the message "Walk on 17 August", and keep the one with the message '
        '"Walk on 18 May". '
        "Do not apply either.", "git stash drop stash@{1}", "17 August", drop=1,
    ),
    "git-stash-drop-may": Params(
        'drop the stash with the message "Walk on 18 May", and keep the one with the message "Walk '
        'on 17 August". '
        "Do not apply either.", "git stash drop stash@{0}", "18 May", drop=0,
    ),
    "git-stash-pop-may": Params(
        'take the stash with the message "Walk on 18 May" back into index.html, so that it is no '
        'longer among the '
        "stashes. Do not commit.", "git stash pop", "18 May", apply=0, drop=0,
    ),
    "git-stash-apply-august": Params(
        'apply the stash with the message "Walk on 17 August" to index.html, and keep both stashes. '
        'Do not commit.',
        "git stash apply stash@{1}", "17 August", apply=1,
    ),
    "git-stash-push-print": Params(
        'put the change of styles/print.css aside as a new stash with the message "Grey print", and '
        'keep the other '
        "stashes.", "git stash push -m 'Grey print'", "Grey print", push="Grey print",
    ),
}  # fmt: skip


def instruction(params: Params) -> str:
    return f"In the git repository {SITE}, {params.words} Change nothing else."


def claim(params: Params) -> str:
    return f"Done: {params.command}"


def initial(params: Params) -> dict[str, str]:
    return git_site.home_with(WITH_STASHES, (PRINT,) if params.push else ())


def opened(params: Params) -> tuple[str, tuple[str, ...]]:
    return "xterm", ()


def script(params: Params) -> list[dict[str, Any]]:
    return shell(f"cd {SITE}", params.command, "git stash list", "git status --short")


def page_of(number: int) -> bytes:
    """index.html as one of the stashes has it."""
    found = Repository(FILES / "texts" / WITH_STASHES)
    stash = found.stashes()[number]
    return found.object(found.content(stash.commit)[PAGE][1])[1]


def verify(params: Params, home: Path) -> Result:
    """The stashes, the working tree and the index are as asked; all else as it was."""
    goals: tuple[Goal, ...] = ()
    if params.apply is not None:
        goals = (holds(f"{SITE}/{PAGE}", page_of(params.apply)),)
    if params.push:
        goals = (holds(f"{SITE}/{PRINT}", _committed()),)
    return git_site.decide(
        home,
        WITH_STASHES,
        initial(params),
        lambda *views: _look(params, home, *views),
        expected=[params.expected],
        goals=goals,
    )


def _applied(params: Params) -> tuple[str, ...]:
    return () if params.apply is None else (sha256(page_of(params.apply)),)


def _committed() -> bytes:
    return (FILES / "texts/site" / PRINT).read_bytes()


def _wanted(params: Params, before: View) -> tuple[Stash, ...]:
    """The stashes that were and are to stay."""
    return tuple(stash for number, stash in enumerate(before.stashes) if number != params.drop)


def _look(params: Params, home: Path, found: Repository, before: View, now: View) -> Seen:
    kept = _wanted(params, before)
    for stash in now.stashes:
        found.whole(stash.commit)
    if not params.push:
        status = "right" if now.stashes == kept else "untouched" if now.stashes == before.stashes else "wrong"
        if (
            params.drop is None
            and status == "right"
            and digest_file(home / SITE / PAGE) not in _applied(params)
        ):
            status = "untouched"  # where no stash is to go, those that are there say nothing
        gone = [stash for stash in before.stashes if stash not in now.stashes]
        others = status == "wrong" and len(gone) == 1 and params.drop is not None
        return Seen(status, ("F-WRONGTARGET",) if others else (), stashes=now.stashes)
    if now.stashes == before.stashes:
        return Seen("untouched")
    right = now.stashes[1:] == kept and _is_new(params, found, before, now)
    return Seen("right" if right else "wrong", stashes=now.stashes)


def _is_new(params: Params, found: Repository, before: View, now: View) -> bool:
    """Whether the latest stash is the change of styles/print.css, made on main."""
    stash = now.stashes[0]
    commit = found.commit(stash.commit)
    main = before.refs[BRANCH + "main"]
    wanted = {**found.content(main), PRINT: (0o100644, git_site.blob(FILES / "texts/site_edited" / PRINT))}
    named = stash.message.endswith(f": {params.push}") and commit.message == stash.message
    on_main = len(commit.parents) == 2 and commit.parents[0] == main
    return named and on_main and found.content(stash.commit) == wanted == found.whole(stash.commit)


# --- known states ------------------------------------------------------------------------------


def _doing(params: Params, change: Callable[[Any], object] | None = None) -> Callable[[Path], None]:
    """The task done, and a change of the repository."""

    def make(home: Path) -> None:
        from pyrite.suites.desk.git_states import Writer

        writer = Writer(home)
        if params.apply is not None:
            write(home, f"{SITE}/{PAGE}", page_of(params.apply))
        entries = [(stash.commit, stash.message) for stash in _wanted(params, git_site.was(WITH_STASHES))]
        if params.push:
            entries.insert(0, _pushed(writer, params.push))
            write(home, f"{SITE}/{PRINT}", _committed())
        if params.drop is not None or params.push:
            writer.stashes(entries)
        if change is not None:
            change(writer)

    return make


def _pushed(writer: Any, message: str) -> tuple[str, str]:
    """A stash of the change of styles/print.css, as git makes it: a merge of main and the index."""
    found = writer.read()
    main = found.resolved()
    staged = found.content(main)
    index = writer.commit(staged, [main], f"index on main: {main[:7]} Teal headings")
    said = f"On main: {message}"
    return writer.commit({**staged, PRINT: writer.blob_of(PRINT)}, [main, index], said), said


def _home(params: Params) -> Home:
    return Home(_doing(params), "Notes/todo.txt")


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", _home(params).good),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    untidy = git_site.untidy(lambda change: _doing(params, change))
    return (*untidy, *_home(params).harmless(".gitconfig", ".lesshst"))


def bad(params: Params) -> tuple[KnownState, ...]:
    beside, partial = ("F-SIDEEFFECT",), ("F-PARTIAL",)
    main = git_site.commit_of(WITH_STASHES, BRANCH + "main")
    edited = _home(params).also(lambda home: append(home, f"{SITE}/README.md", b"x"))
    states = [
        *_home(params).bad(),
        KnownState("branch_too", _doing(params, lambda one: one.ref(BRANCH + "other", main)), beside),
        KnownState("switched", _doing(params, lambda one: one.head(BRANCH + "meeting")), beside),
        KnownState(
            "committed", _doing(params, lambda one: one.commit_on(BRANCH + "main", (PAGE,), "Walk")), beside
        ),
        KnownState("unstaged", _doing(params, lambda one: one.index({})), beside),
        KnownState("file_changed", edited, beside),
        KnownState("all_cleared", _doing(params, lambda one: one.stashes([])), partial),
        *git_site.meddled(lambda change: _doing(params, change)),
    ]
    if params.drop is not None:
        other = params._replace(drop=1 - params.drop)
        states.append(KnownState("other_dropped", _doing(other), ("F-WRONGTARGET",)))
    if params.apply is not None:
        changed = params._replace(apply=1 - params.apply)
        states.append(KnownState("other_applied", _doing(changed), partial))
        states.append(KnownState("drop_turned", _doing(_turned(params)), partial))
        states.append(KnownState("not_applied", _doing(params._replace(apply=None)), _without(params)))
    elif params.drop is not None:
        states.append(KnownState("applied_too", _doing(params._replace(apply=params.drop)), beside))
    if params.push:
        states.append(KnownState("other_message", _doing(params._replace(push="Gray print")), partial))
        kept = _home(params).also(lambda home: write(home, f"{SITE}/{PRINT}", b"h1 { color: grey }\n"))
        states.append(KnownState("change_kept", kept, partial))
        lost = lambda home: write(home, f"{SITE}/{PRINT}", _committed())  # noqa: E731
        states.append(KnownState("only_reverted", lost, partial))
    return tuple(states)


def _turned(params: Params) -> Params:
    """Popped instead of applied, or the other way round."""
    return params._replace(drop=params.apply if params.drop is None else None)


def _without(params: Params) -> tuple[str, ...]:
    """What is left where only the list of stashes was changed: with nothing to change there, nothing."""
    from pyrite.checks.verdict import NOTHING_PERSISTED

    return ("F-PARTIAL",) if params.drop is not None else NOTHING_PERSISTED


FAMILY = Family(
    name="git_stash",
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
    compared=lambda params: (f"texts/site/{PRINT}", f"texts/site_edited/{PRINT}"),
    tools=("git",),
)
