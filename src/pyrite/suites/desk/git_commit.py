"""Family git_commit: commit exactly the named changes of a working tree that has more of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.gitrepo import Files, Repository
from pyrite.checks.verdict import Result
from pyrite.suites.desk import git_site
from pyrite.suites.desk.git_site import BRANCH, CLEAN, EDITED, SITE, Seen, View
from pyrite.suites.desk.goals import FILES, READS, Home, append, shell
from pyrite.suites.family import Family, KnownState


class Params(NamedTuple):
    """One task."""

    files: tuple[str, ...]
    message: str
    sibling: str
    """A changed file that may be mistaken for one of them."""
    branch: str = "main"
    """Another one than main is to be made at the commit that main is on."""

    @property
    def ref(self) -> str:
        return BRANCH + self.branch


PARAMS = {
    "git-commit-may-walk": Params(("index.html",), "Announce the walk in May", "index_old.html"),
    "git-commit-grey-print": Params(("styles/print.css",), "Print in grey", "index.html"),
    "git-commit-both-indexes": Params(
        ("index.html", "index_old.html"), "Bring the walks up to date", "contact.html"
    ),
    "git-commit-contact": Params(("contact.html",), "Add the contact page", "contact_old.html"),
    "git-commit-on-branch": Params(("index_old.html",), "Close the walk in March", "index.html", "walks"),
    "git-commit-page-and-style": Params(
        ("contact.html", "styles/print.css"), "Add a page that prints in grey", "contact_old.html"
    ),
}
INITIAL = git_site.home_with(CLEAN, EDITED)


def instruction(params: Params) -> str:
    listed = " and ".join(params.files)
    where = "the current branch main"
    if params.branch != "main":
        where = f"a new branch {params.branch} that begins at the last commit of main, and stay on it"
    things = "the change of the file" if len(params.files) == 1 else "the changes of the files"
    return (
        f"In the git repository {SITE}, commit {things} {listed}, and no other, with the message "
        f'"{params.message}" '
        f"on {where}. Leave the other changed files as they are, uncommitted and not staged. "
        "Change nothing else."
    )


def claim(params: Params) -> str:
    return f'{" and ".join(params.files)} committed with the message "{params.message}".'


def initial(params: Params) -> dict[str, str]:
    return INITIAL


def opened(params: Params) -> tuple[str, tuple[str, ...]]:
    return "xterm", ()


def script(params: Params) -> list[dict[str, Any]]:
    branch = [] if params.branch == "main" else [f"git switch -c {params.branch}"]
    add = f"git add {' '.join(params.files)}"
    return shell(f"cd {SITE}", *branch, add, f"git commit -m '{params.message}'", "git status --short")


def verify(params: Params, home: Path) -> Result:
    """One new commit of exactly those changes on the branch; all else of repository and home as it was."""
    expected = [params.message]
    return git_site.decide(home, CLEAN, INITIAL, lambda *views: _look(params, *views), expected=expected)


def _look(params: Params, found: Repository, before: View, now: View) -> Seen:
    old = before.refs[BRANCH + "main"]
    content = found.content(old)
    wanted = {**content, **_blobs(params.files)}
    tip = now.refs.get(params.ref, old)
    if tip == old:
        return _uncommitted(params, found, before, now, wanted)
    commit = found.commit(tip)
    committed = found.whole(tip)
    head = f"ref: {params.ref}"
    if commit.parents == (old,) and committed == wanted and commit.message == params.message:
        return Seen("right", refs=(params.ref,), staged=wanted, head=head)
    changed = {path for path in committed.keys() | content.keys() if committed.get(path) != content.get(path)}
    codes: tuple[str, ...] = ("F-PARTIAL",)
    if (
        commit.parents == (old,)
        and set(params.files) < changed
        and _blobs(params.files).items() <= committed.items()
    ):
        codes = ("F-SIDEEFFECT",)
    elif changed and not changed & set(params.files):
        codes = ("F-WRONGTARGET",)
    return Seen("wrong", codes, (params.ref,))


def _uncommitted(params: Params, found: Repository, before: View, now: View, wanted: Files) -> Seen:
    """Nothing new on the branch: committed on another one, only staged, or not even that."""
    for name, sha in now.refs.items():
        if sha == before.refs.get(name) or not name.startswith(BRANCH):
            continue
        if _blobs(params.files).items() <= found.content(found.peeled(sha)).items():
            return Seen("wrong", ("F-WRONGTARGET",))
    if now.refs == before.refs and now.staged == wanted:
        return Seen("wrong", ("F-UNCOMMITTED",))
    return Seen("wrong" if now.refs != before.refs else "untouched")


def _blobs(files: tuple[str, ...]) -> Files:
    """(mode, blob) of files of the working tree, as it was."""
    return {path: (0o100644, git_site.blob(FILES / INITIAL[f"{SITE}/{path}"])) for path in files}


# --- known states ------------------------------------------------------------------------------


def _doing(
    params: Params, files: tuple[str, ...], message: str = "", branch: str = ""
) -> Callable[[Path], None]:
    def make(home: Path) -> None:
        from pyrite.suites.desk.git_states import Writer

        writer = Writer(home)
        name = BRANCH + (branch or params.branch)
        if name not in writer.read().refs:
            writer.ref(name, writer.read().refs[BRANCH + "main"])
        if not branch or branch == params.branch:
            writer.head(name)
        writer.commit_on(name, files, message or params.message)

    return make


def _home(params: Params) -> Home:
    return Home(_doing(params, params.files), "Notes/todo.txt")


def _writer(
    change: Callable[[Any], object], then: Callable[[Path], None] | None = None
) -> Callable[[Path], None]:
    """A change of the repository, before or after another one."""

    def make(home: Path) -> None:
        from pyrite.suites.desk.git_states import Writer

        if then is not None:
            then(home)
        change(Writer(home))

    return make


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", _home(params).good),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    untidy = git_site.untidy(lambda change: _writer(change, _home(params).good))
    return (*untidy, *_home(params).harmless(".gitconfig", ".lesshst"))


def bad(params: Params) -> tuple[KnownState, ...]:
    partial, beside, elsewhere = ("F-PARTIAL",), ("F-SIDEEFFECT",), ("F-WRONGTARGET",)
    done, files = _home(params).good, params.files

    def staged(writer: Any) -> None:
        old = writer.read().resolved()
        writer.index({**writer.read().content(old), **{path: writer.blob_of(path) for path in files}})

    def amended(writer: Any) -> None:
        found = writer.read()
        old = found.commit(found.refs[BRANCH + "main"])
        content = {**found.files(old.tree), **{path: writer.blob_of(path) for path in files}}
        writer.ref(params.ref, writer.commit(content, old.parents, params.message))
        writer.index(content)
        writer.head(params.ref)

    def again(writer: Any) -> None:
        writer.commit_on(params.ref, (), "Nothing")

    def stage_sibling(writer: Any) -> None:
        found = writer.read()
        writer.index(
            {**found.content(found.refs[params.ref]), params.sibling: writer.blob_of(params.sibling)}
        )

    def tagged(writer: Any) -> None:
        writer.ref("refs/tags/v0.3", writer.read().resolved())

    other = f"{SITE}/{params.sibling}"
    states = [
        *_home(params).bad(),
        KnownState("only_staged", _writer(staged), ("F-UNCOMMITTED",)),
        KnownState("sibling", _doing(params, (params.sibling,)), elsewhere),
        KnownState("everything", _doing(params, EDITED), beside),
        KnownState("sibling_too", _doing(params, (*files, params.sibling)), beside),
        KnownState("other_message", _doing(params, files, params.message[:-1]), partial),
        KnownState("other_case", _doing(params, files, params.message.lower()), partial),
        KnownState("other_branch", _doing(params, files, branch="meeting"), elsewhere),
        KnownState("amended", _writer(amended), partial),
        KnownState("empty_commit_after", _writer(again, done), partial),
        KnownState("sibling_staged", _writer(stage_sibling, done), beside),
        KnownState("tag_too", _writer(tagged, done), beside),
        *git_site.meddled(lambda change: _writer(change, done)),
        KnownState("change_lost", _home(params).also(lambda home: append(home, other, b"x")), beside),
    ]  # fmt: skip
    if len(files) > 1:
        states.append(KnownState("first_only", _doing(params, files[:1]), partial))
    if params.branch != "main":
        states.append(KnownState("on_main", _doing(params, files, branch="main"), elsewhere))
    return tuple(states)


FAMILY = Family(
    name="git_commit",
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
