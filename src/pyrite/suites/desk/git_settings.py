"""Family git_settings: change git's configuration in a terminal, for the user or for one repository.

Both files are read: the right value in the wrong one of the two is the wrong profile.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.homes import digest_file
from pyrite.checks.keyfiles import read_git_config
from pyrite.checks.package import Spent, Unreadable
from pyrite.checks.verdict import Result
from pyrite.suites.desk import settings_common as settings
from pyrite.suites.desk.calc_common import NOTES, Make, after, key, typed
from pyrite.suites.desk.watch import READS, Compared, Watched, judge
from pyrite.suites.family import Family, KnownState

FILES = Path(__file__).with_name("files")
GLOBAL = ".gitconfig"
SITE = "Documents/site/.git/config"
HEAD = "Documents/site/.git/HEAD"
INITIAL = {
    GLOBAL: "desk_global.gitconfig",
    SITE: "desk_site.gitconfig",
    HEAD: "desk_head",
    "Documents/site/.git/objects/info/.keep": "desk_keep",
    "Documents/site/.git/refs/heads/.keep": "desk_keep",
    "Documents/site/index.html": "desk_list.txt",
    NOTES: "notes.txt",
}


class Params(NamedTuple):
    """One task."""

    name: str
    """section.name"""
    value: str | None
    """None: the setting is to go."""
    site: bool
    """For the repository, not for the user."""
    near: str
    """Another setting that could be taken for it."""
    wrong: str
    """A value that is nearly right."""

    @property
    def path(self) -> str:
        return SITE if self.site else GLOBAL

    @property
    def other(self) -> str:
        return GLOBAL if self.site else SITE


PARAMS = {
    "git-settings-email": Params("user.email", "ana@harbour.example", False, "user.name", "ana@harbour.org"),
    "git-settings-site-email": Params(
        "user.email", "ana.lind@site.example", True, "user.name", "ana.lind@site.exam"
    ),
    "git-settings-branch": Params("init.defaultbranch", "main", False, "core.editor", "Main"),
    "git-settings-alias": Params("alias.st", "status --short", False, "alias.last", "status"),
    "git-settings-site-editor": Params("core.editor", "nano", True, "core.autocrlf", "nano -w"),
    "git-settings-unset-autocrlf": Params("core.autocrlf", None, False, "core.editor", "false"),
}


def instruction(params: Params) -> str:
    where = (
        f"for the repository Documents/site only (in {SITE}, not in the configuration of the user)"
        if params.site
        else "for the user (in the global configuration, not in that of the repository Documents/site)"
    )
    what = (
        f"remove git's setting {_shown(params.name)}"
        if params.value is None
        else f'set git\'s {_shown(params.name)} to "{params.value}"'
    )
    return f"In the terminal, {what} {where}. Change no other setting, and nothing else in Documents."


def _shown(name: str) -> str:
    return "init.defaultBranch" if name == "init.defaultbranch" else name


def claim(params: Params) -> str:
    return f"git's {_shown(params.name)} is {'removed' if params.value is None else f'now {params.value}'}."


def script(params: Params) -> list[dict[str, Any]]:
    place = "-C Documents/site config" if params.site else "config --global"
    change = f"--unset {params.name}" if params.value is None else f'{_shown(params.name)} "{params.value}"'
    return [typed(f"git {place} {change}"), key("Return"), {"action": "done"}]


def compare(params: Params, home: Path, after: Path) -> Compared:
    wanted = {params.name: None if params.value is None else [params.value]}
    was = read_git_config(FILES / INITIAL[params.path])
    seen = settings.compare_settings(
        was,
        read_git_config(after),
        wanted,
        watched=lambda name: not name.startswith("[") or name in was,  # a new section is no damage in itself
        elsewhere=_is(params),
    )
    before = read_git_config(FILES / INITIAL[params.other])
    try:
        other = read_git_config(home / params.other)
    except Unreadable as exc:
        return seen._replace(damage=(*seen.damage, f"{params.other}: {exc}"[:150]))

    def misplaced(name: str, value: Any) -> bool:
        return name == params.name and value == wanted[name]

    beside = settings.compare_settings(before, other, {}, elsewhere=misplaced)
    damage = (*seen.damage, *(f"{params.other}: {line}" for line in beside.damage))
    if digest_file(home / HEAD) != digest_file(FILES / INITIAL[HEAD]):
        damage = (*damage, f"{HEAD} is changed")
    return seen._replace(damage=damage, elsewhere=seen.elsewhere or beside.elsewhere)


def _is(params: Params) -> Any:
    """Another setting that got the value."""
    return lambda name, value: params.value is not None and value == [params.value]


def verify(params: Params, home: Path) -> Result:
    def look(before: Path | None, after: Path, spent: Spent) -> Compared:
        return compare(params, home, after)

    expected = (_shown(params.name), *([] if params.value is None else [params.value]))
    return judge(Watched(INITIAL, FILES, params.path, expected, look, ("Documents/*",)), home)


# --- known states ------------------------------------------------------------------------------


def _set(path: str, name: str, value: str | None, *, more: str = "") -> Make:
    """A configuration in which one setting has another value, as git writes it."""

    def make(home: Path) -> None:
        section, _, short = name.rpartition(".")
        lines = (home / path).read_text("utf-8").splitlines()
        head = next((i for i, line in enumerate(lines) if line == f"[{section}]"), len(lines))
        end = next((i for i in range(head + 1, len(lines)) if lines[i].startswith("[")), len(lines))
        own = [i for i in range(head, end) if lines[i].partition("=")[0].strip().lower() == short]
        new = [] if value is None else [f"\t{short} = {value}"]
        if own:
            lines[own[0] : own[0] + 1] = new
        elif head < len(lines):
            lines[end:end] = new
        else:
            lines += [f"[{section}]", *new]
        (home / path).write_text("\n".join(lines) + "\n" + more, "utf-8")

    return make


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", _set(params.path, params.name, params.value)),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    right = _set(params.path, params.name, params.value, more="# changed today\n")

    def leftovers(home: Path) -> None:
        right(home)
        (home / ".bash_history").write_text("git config\n")
        (home / ".lesshst").write_text(".less-history-file:\n")

    return (KnownState("with_a_comment", right), KnownState("leftovers", leftovers))


def bad(params: Params) -> tuple[KnownState, ...]:
    right = _set(params.path, params.name, params.value)
    wrong = _set(params.path, params.name, params.wrong)
    near = _set(params.path, params.near, params.value)
    gone = params.value is None
    other = "user.email" if params.name != "user.email" else "core.bare"
    spoiled = _set(params.other, other, "changed")
    states = [
        *settings.beside(params.path, right, "[user\nemail\n"),
        KnownState("nearly", wrong, ("F-PARTIAL",)),
        KnownState("neighbour", near, () if gone else ("F-WRONGTARGET",)),
        KnownState("neighbour_too", after(right, _set(params.path, params.near, "x")), ("F-SIDEEFFECT",)),
        KnownState("other_file_spoiled", after(right, spoiled), ("F-SIDEEFFECT",)),
        KnownState(
            "other_file_gone",
            after(right, lambda home: (home / params.other).unlink()),
            ("F-SIDEEFFECT",),
        ),
        KnownState(
            "on_another_branch",
            after(right, settings.written(HEAD, "ref: refs/heads/x\n")),
            ("F-SIDEEFFECT",),
        ),
        KnownState("deleted", lambda home: (home / params.path).unlink()),
    ]
    if not gone:
        profile = _set(params.other, params.name, params.value)
        states.append(KnownState("wrong_profile", profile, ("F-WRONGTARGET",)))
    return tuple(states)


def equivalent(params: Params) -> dict[str, str]:
    """A second file beside the configuration is nobody's settings."""
    return {f"file-added@{params.path}": "a hidden file that no program reads"}


FAMILY = Family(
    name="git_settings",
    domain="settings",
    files=FILES,
    params=PARAMS,
    instruction=instruction,
    initial=lambda params: INITIAL,
    opened=lambda params: ("xterm", ()),
    reads=(*READS, GLOBAL, SITE),
    good=good,
    harmless=harmless,
    bad=bad,
    verify=verify,
    script=script,
    claim=claim,
    equivalent=equivalent,
    tools=("git",),
)
