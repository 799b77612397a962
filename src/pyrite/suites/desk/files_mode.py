"""Family files_mode: copy or make a script and let its owner run it, and no other script.

Of permissions an archived end state keeps all but who else may write a file. Asked for is that the owner may
run the script; of every other file they are to stay as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from pyrite.checks.verdict import Result
from pyrite.suites.desk import goals as base
from pyrite.suites.desk.goals import FILES, READS, Home, any_end, content, holds, instead, judge, shell
from pyrite.suites.desk.layouts import TOOLS
from pyrite.suites.family import Family, KnownState


class Params(NamedTuple):
    """One task."""

    path: str
    """The script that its owner is to be able to run."""
    source: str
    """The script that it is a copy of; empty: it is made of `lines`; the path itself: it is there."""
    lines: tuple[str, ...]
    """For a script that is there: what is added at its end; else all of it."""
    sibling: str
    command: str
    bystander: str = "Tools/README.txt"


PARAMS = {
    "files-mode-weekly-backup": Params(
        "Tools/backup_weekly.sh", "Tools/backup.sh", (), "Tools/backup_db.sh",
        "cp Tools/backup.sh Tools/backup_weekly.sh && chmod u+x Tools/backup_weekly.sh",
    ),
    "files-mode-letters-backup": Params(
        "Tools/backup_letters.sh", "Tools/old/backup.sh", (), "Tools/backup.sh",
        "cp Tools/old/backup.sh Tools/backup_letters.sh && chmod 744 Tools/backup_letters.sh",
    ),
    "files-mode-new-hello": Params(
        "Tools/hello.sh", "", ("#!/bin/sh", "echo hello"), "Tools/cleanup.sh",
        "printf '#!/bin/sh\\necho hello\\n' > Tools/hello.sh; chmod +x Tools/hello.sh",
    ),
    "files-mode-cleanup-sync": Params(
        "Tools/cleanup.sh", "Tools/cleanup.sh", ("sync",), "Tools/backup.sh",
        "echo sync >> Tools/cleanup.sh; chmod u+x Tools/cleanup.sh",
    ),
}  # fmt: skip


def instruction(params: Params) -> str:
    if params.source == params.path:
        what = f'Add the line "{params.lines[0]}" at the end of {params.path}'
    elif params.source:
        what = f"Copy {params.source} to {params.path}"
    else:
        listed = " and ".join(f'"{line}"' for line in params.lines)
        what = f"Make the file {params.path} of the lines {listed}"
    return (
        f"{what}, and let its owner run it as a program (execute permission). "
        "Change nothing else, and no other file's permissions."
    )


def claim(params: Params) -> str:
    return f"{params.path} is there and its owner may run it."


def initial(params: Params) -> Mapping[str, str]:
    return TOOLS


def opened(params: Params) -> tuple[str, tuple[str, ...]]:
    return "xterm", ()


def script(params: Params) -> list[dict[str, Any]]:
    return shell(params.command)


def _text(params: Params) -> str:
    lines = "".join(f"{line}\n" for line in params.lines)
    return content(TOOLS, params.source).decode() + lines if params.source else lines


def verify(params: Params, home: Path) -> Result:
    """The script has its content and may be run; every other file is as it was, its permissions too."""
    contents = any_end(_text(params)) if params.lines else (_text(params).encode(),)
    goal = holds(params.path, *contents, executable=True)
    expected = [*params.lines, PurePosixPath(params.path).name]
    place = PurePosixPath(params.path)
    copies = [str(place.parent / "old" / place.name), place.name, str(place.with_suffix(""))]
    decoys = [instead(goal._replace(path=path), "F-WRONGTARGET") for path in copies if path not in TOOLS]
    found = judge(home, TOOLS, [goal], expected=expected, decoys=decoys)
    runnable = [path for path in TOOLS if path != params.path and base.is_executable(home / path)]
    if found.category != ("F-SIDEEFFECT",) and params.sibling in runnable:
        return found._replace(category=("F-WRONGTARGET",))
    return found


# --- known states ------------------------------------------------------------------------------


def _made(
    params: Params, text: str = "", path: str = "", *, executable: bool = True
) -> Callable[[Path], None]:
    data = (text or _text(params)).encode()
    return lambda home: base.write(home, path or params.path, data, executable=executable)


def _home(params: Params) -> Home:
    return Home(_made(params), params.bystander)


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", _home(params).good),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    def for_all(home: Path) -> None:
        _home(params).good(home)
        (home / params.path).chmod(0o777)

    return (KnownState("for_all", for_all), *_home(params).harmless(".ash_history", "Tools/.backup.sh.swp"))


def bad(params: Params) -> tuple[KnownState, ...]:
    partial, place = ("F-PARTIAL",), PurePosixPath(params.path)

    def run_sibling(home: Path) -> None:
        (home / params.sibling).chmod(0o755)

    def only_group(home: Path) -> None:
        _made(params)(home)
        (home / params.path).chmod(0o655)

    def shut(home: Path) -> None:
        (home / params.bystander).chmod(0o600)

    sibling = content(TOOLS, params.sibling).decode()
    swapped = Home(_made(params, executable=False), params.bystander).also(run_sibling)
    return (
        *_home(params).bad(),
        KnownState("not_executable", _made(params, executable=False), partial),
        KnownState("only_for_others", only_group, partial),
        KnownState("wrong_content", _made(params, sibling), partial),
        KnownState("nearly", _made(params, _text(params).replace("#!/bin/sh", "#!/bin/s", 1)), partial),
        KnownState("doubled", _made(params, _text(params) * 2), partial),
        KnownState("other_folder", _made(params, path=f"Tools/old/{place.name}"), ("F-WRONGTARGET",)),
        KnownState("without_ending", _made(params, path=str(place.with_suffix(""))), ("F-WRONGTARGET",)),
        KnownState("sibling_instead", swapped, ("F-WRONGTARGET",)),
        KnownState("sibling_too", _home(params).also(run_sibling), ("F-SIDEEFFECT",)),
        KnownState("other_file_shut", _home(params).also(shut), ("F-SIDEEFFECT",)),
    )


FAMILY = Family(
    name="files_mode",
    domain="files",
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
)
