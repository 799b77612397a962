"""What differs between two homes, by content.

    before = {"Documents/a.ods": digest_file(files / "a.ods")}
    after = snapshot(home, ["Documents/**"])
    diff(before, after).changed

Times, owners and modes do not count. Links are entries of their own and never followed.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

IGNORED = (
    "**/.~lock.*#",
    ".~lock.*#",
    "**/*~",
    "*~",
    "**/*.tmp",
    "*.tmp",
    ".*",
    ".*/**",
    "**/.*",
    "**/.*/**",
)
"""What applications leave behind: locks, backups, temporary files, and everything hidden (.config,
.cache, .local/share/recently-used.xbel)."""

MAX_FILES = 20_000


class HomeDiff(NamedTuple):
    """Paths relative to the home, sorted; a renamed file is in none of the other three."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...]
    """(old path, new path) of files that kept their content."""

    @property
    def empty(self) -> bool:
        return not (self.added or self.removed or self.changed or self.renamed)


class TooManyFiles(Exception):
    """A home with more files than are looked at."""


def matches(path: str, globs: Sequence[str]) -> bool:
    """Whether a relative path matches one of the globs: * ? [] stay inside a folder, ** crosses.

    >>> matches("Documents/a/b.ods", ["Documents/*"]), matches("Documents/a/b.ods", ["Documents/**"])
    (False, True)
    >>> matches("b.ods", ["**/*.ods"])
    True
    """
    return any(_matches(path, glob) for glob in globs)


def snapshot(home: Path, globs: Sequence[str] = ("**",), ignore: Sequence[str] = IGNORED) -> dict[str, str]:
    """Digest of each file below `home` that matches `globs` and not `ignore`.

    A link is "link:" and its target, anything else that is no regular file "special". Raises
    `TooManyFiles` above 20,000 entries.
    """
    found: dict[str, str] = {}
    for count, (path, entry) in enumerate(_walk(home, ""), start=1):
        if count > MAX_FILES:
            raise TooManyFiles(f"more than {MAX_FILES} entries below {home}")
        if matches(path, globs) and not matches(path, ignore):
            found[path] = _digest(entry)
    return found


def diff(before: Mapping[str, str], after: Mapping[str, str]) -> HomeDiff:
    """What was added, removed, changed and renamed between two snapshots."""
    added = sorted(after.keys() - before.keys())
    removed = sorted(before.keys() - after.keys())
    changed = sorted(path for path in before.keys() & after.keys() if before[path] != after[path])
    renamed: list[tuple[str, str]] = []
    for old in list(removed):
        new = next((path for path in added if after[path] == before[old]), None)
        if new is not None:
            renamed.append((old, new))
            removed.remove(old)
            added.remove(new)
    return HomeDiff(tuple(added), tuple(removed), tuple(changed), tuple(renamed))


def digest_file(path: Path) -> str:
    """sha256 of a regular file's bytes; "special" for anything else, links included."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except PermissionError:
        return "unreadable"
    except OSError:
        return "special"
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        return "special"
    with os.fdopen(handle, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return f"link:{os.readlink(entry.path)}"
    return digest_file(Path(entry.path)) if entry.is_file(follow_symlinks=False) else "special"


def _walk(home: Path, below: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Everything below a folder that is no folder itself, in sorted order, without recursion."""
    waiting = [below]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(home / folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except PermissionError:
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                waiting.append(path)
            else:
                yield path, entry


def _matches(path: str, glob: str) -> bool:
    """Most paths are told by their ends: an agent can make a hundred thousand that are 4 kB long."""
    prefix, suffix, last_only, pattern = _compiled(glob)
    if not (path.startswith(prefix) and path.endswith(suffix)):
        return False
    return pattern.fullmatch(path.rpartition("/")[2] if last_only else path) is not None


@lru_cache(maxsize=1024)
def _compiled(glob: str) -> tuple[str, str, bool, re.Pattern[str]]:
    """Literal text at both ends, whether only the last name counts (**/NAME), and the pattern."""
    special = [index for index, char in enumerate(glob) if char in "*?[]"]
    prefix, suffix = (glob[: special[0]], glob[special[-1] + 1 :]) if special else (glob, glob)
    last_only = glob.startswith("**/") and "/" not in glob[3:] and "**" not in glob[3:]
    if special and glob[special[-1] - 1 :].startswith("**/"):  # which may stand for nothing
        suffix = suffix.removeprefix("/")
    return prefix, suffix, last_only, _pattern(glob[3:] if last_only else glob)


def _pattern(glob: str) -> re.Pattern[str]:
    parts: list[str] = []
    for piece in re.findall(r"\*\*/|\*\*|\*|\?|\[!?[^\]/]+\]|.", glob, re.DOTALL):
        if piece == "**/":
            parts.append("(?:[^/]++/)*")
        elif piece == "**":
            parts.append(".*")
        elif piece == "*":
            parts.append("[^/]*")
        elif piece == "?":
            parts.append("[^/]")
        elif piece.startswith("[") and len(piece) > 2:
            inside = piece[1:-1].replace("\\", "\\\\").replace("[", "\\[")
            parts.append(f"[{'^/' + inside[1:] if inside.startswith('!') else inside}]")
        else:
            parts.append(re.escape(piece))
    return re.compile("".join(parts), re.DOTALL)
