"""The program that makes the homes of a folder task's states; it runs confined, as its own process.

    python -P -m pyrite.tasks.build --task FOLDER --out OUT [--file FROM PATH]… NAME…

The initial home is made once: setup.sh or setup.py runs in an empty home, then each recipe file is laid
in. `initial` is that home. A state with a script starts as a copy of it; the script runs with HOME and
the working directory set to the copy, and TASK naming the task folder (read-only). A state that is a
.tar.zst is the whole home, not a layer over the initial one. What a script prints goes to stderr.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pyrite.errors import PyriteError, RunError, UsageError
from pyrite.tasks.archive import extract

INITIAL = "initial"
_TAIL = 4000


class _Request(NamedTuple):
    task: Path
    out: Path
    files: list[tuple[str, str]]
    names: list[str]


def build(task: Path, out: Path, files: Sequence[tuple[str, str]], names: Sequence[str]) -> None:
    """Make `out/<name>/` for each name; raises `RunError` with what a failed script said."""
    first = out / ".initial"
    first.mkdir()
    setup = script_of(task, "setup")
    if setup is not None:
        _run(setup, first, task)
    for source, path in files:
        _lay_in(task / source, first, path)
    for name in names:
        home = out / name
        packed = task / "states" / f"{name}.tar.zst"
        if name != INITIAL and packed.is_file():
            home.mkdir()
            extract(packed, home)
            continue
        shutil.copytree(first, home, symlinks=True)
        if name != INITIAL:
            script = script_of(task / "states", name)
            if script is None:
                raise RunError(f"state {name!r} has no script or archive", where=str(task / "states"))
            _run(script, home, task)
    shutil.rmtree(first)


def script_of(folder: Path, name: str) -> Path | None:
    """`name`.sh or `name`.py in a folder, whichever is there."""
    return next(
        (folder / f"{name}{ending}" for ending in (".sh", ".py") if (folder / f"{name}{ending}").is_file()),
        None,
    )


def _run(script: Path, home: Path, task: Path) -> None:
    program = ["/bin/sh", "-eu"] if script.suffix == ".sh" else [sys.executable]
    finished = subprocess.run(
        [*program, str(script)],
        cwd=home,
        env={**os.environ, "HOME": str(home), "TASK": str(task)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    said = finished.stdout[-_TAIL:].decode("utf-8", "replace").strip()
    if finished.returncode != 0:
        raise RunError(f"it ended with exit code {finished.returncode}: {said}", where=str(script))
    if said:
        print(f"{script.name}: {said}", file=sys.stderr)


def _lay_in(source: Path, home: Path, path: str) -> None:
    """Copy one file; a folder on the way that setup made a link would lead out and is refused."""
    target = home / path
    for parent in target.relative_to(home).parents:
        if (home / parent).is_symlink():
            raise RunError(f"{path!r} leads through a link that setup made", where=str(home / parent))
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_symlink():
        target.unlink()
    shutil.copyfile(source, target)
    target.chmod(0o644)  # whatever the umask: verifiers compare permissions


def _parse(arguments: list[str]) -> _Request:
    task: Path | None = None
    out: Path | None = None
    files: list[tuple[str, str]] = []
    names: list[str] = []
    rest = iter(arguments)
    try:
        for argument in rest:
            if argument == "--task":
                task = Path(next(rest))
            elif argument == "--out":
                out = Path(next(rest))
            elif argument == "--file":
                files.append((next(rest), next(rest)))
            else:
                names.append(argument)
    except StopIteration:
        raise UsageError(f"{arguments[-1]} needs a value") from None
    if task is None or out is None or not names:
        raise UsageError(
            "usage: python -m pyrite.tasks.build --task FOLDER --out OUT [--file FROM PATH] NAME"
        )
    return _Request(task, out, files, names)


def main() -> int:
    """Build what the command line asks for; the exit code of an error is that of the error tree."""
    try:
        build(*_parse(sys.argv[1:]))
    except PyriteError as exc:
        print(exc, file=sys.stderr)
        return exc.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
