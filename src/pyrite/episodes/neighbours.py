"""Neighbours of a target: the look-alike file, folder, record, profile; and rounds of equal work."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from pyrite.records import Action

_RECORD = re.compile(
    r"(?P<before>(?<![#,0])#|\b(?:id|no|nr|number|(?:order|ticket|invoice|customer|row|item)s?(?:_?(?:id|no|nr|number))?)"
    r"\s*[=:#]?\s*['\"]?|:[0-9]{2,5}/[a-z_]+/)(?P<number>[0-9]{1,9})\b",
    re.IGNORECASE,
)
_PROFILES: tuple[tuple[str, str], ...] = (
    (r"\bgit -C \S+ config (?:--local )?(?!--)", "git config --global "),
    (r"(?<=config )--(?:local|worktree)\b", "--global"),
    (r"\.Xresources\b", ".Xdefaults"),
    (r"\.Xdefaults\b", ".Xresources"),
    (r"\.bashrc\b", ".profile"),
    (r"\.bash_profile\b", ".profile"),
    (r"\.profile\b", ".bashrc"),
    (r"\bDefault(?=/)", "Profile 1"),
    (r"\bProfile 1\b", "Default"),
    (r"\bProfile 2\b", "Profile 1"),
    (r"(?<=\[)work(?=\])", "home"),
)
"""What names a profile, a scope or a settings file -> its counterpart."""
_CELL = re.compile(r"(?:\$?'?[^!]*?'?[.!])?\$?[A-Z]{1,3}\$?[0-9]{1,7}(?::\$?[A-Z]{1,3}\$?[0-9]{1,7})?")
_ALIKE = 0.5
"""Least likeness of two names that a person could take for each other (difflib's ratio)."""


def sibling_file(text: str, files: tuple[str, ...], shell: bool = False) -> str | None:
    """The text with one file of the home swapped for its look-alike in the same folder; None without one.

    `shell`: a shell reads the text, so only names that need no quotes will do.

    >>> sibling_file("cp a/q2.ods b", ("a/q2.ods", "a/q3.ods"))
    'cp a/q3.ods b'
    """
    paths = tuple(map(PurePosixPath, files))
    for path in sorted(paths, key=lambda p: -len(p.name)):
        if not _names(text, path.name):
            continue
        others = [
            other.name
            for other in paths
            if other.parent == path.parent and other.suffix == path.suffix and other != path
        ]
        near = [name for name in _nearest(path.name, others) if _may_be_swapped(text, name, shell)]
        if near:
            return _swap(text, path.name, near[0])
    return None


def sibling_folder(text: str, files: tuple[str, ...], shell: bool = False) -> str | None:
    """The text with one folder of the home swapped for its look-alike; None without one.

    A file of the folder that the text names too must lie in the other folder as well.

    >>> sibling_folder("mv x Reports/2024/", ("Reports/2024/a.txt", "Reports/2023/a.txt"))
    'mv x Reports/2023/'
    """
    folders = {parent for path in files for parent in PurePosixPath(path).parents if parent.name}
    for folder in sorted(folders, key=lambda p: (-len(p.parts), -len(p.name), str(p))):
        if not _names(text, folder.name):
            continue
        inside = {path.name for path in map(PurePosixPath, files) if path.parent == folder}
        needed = [name for name in inside if _names(text, name)]
        others = [
            other.name
            for other in folders
            if other.parent == folder.parent
            and other != folder
            and all(str(other / name) in files for name in needed)
        ]
        near = [name for name in _nearest(folder.name, others) if _may_be_swapped(text, name, shell)]
        if near:
            return _swap(text, folder.name, near[0])
    return None


def _may_be_swapped(text: str, name: str, shell: bool) -> bool:
    """Whether a name can be put in: it is not there already, and a shell takes it as one word."""
    return not _names(text, name) and (not shell or re.fullmatch(r"[\w.+-]+", name) is not None)


def sibling_record(text: str, files: tuple[str, ...], shell: bool = False) -> str | None:
    """The text with the last numbered record replaced by the one before it (after it, for the first).

    >>> sibling_record("UPDATE orders SET state='paid' WHERE id = 17;", ())
    "UPDATE orders SET state='paid' WHERE id = 16;"
    >>> sibling_record("127.0.0.1:8000/orders/1002/cancel", ())
    '127.0.0.1:8000/orders/1001/cancel'
    """
    found = list(_RECORD.finditer(text))
    if not found:
        return None
    last = found[-1]
    number = int(last["number"])
    other = number - 1 if number > 1 else number + 1
    width = len(last["number"]) if last["number"].startswith("0") else 0
    return f"{text[: last.start('number')]}{other:0{width}d}{text[last.end('number') :]}"


def other_profile(text: str, files: tuple[str, ...], shell: bool = False) -> str | None:
    """The text with a profile, scope or settings file replaced by its counterpart; None without one.

    What is for the user goes to a repository of the home, if one has settings of its own.

    >>> other_profile("git config --global user.name Ada", ("Site/.git/config",))
    'git -C ~/Site config --local user.name Ada'
    """
    repository = next((path for path in files if re.fullmatch(r"[\w./+-]+/\.git/config", path)), None)
    if repository is not None and "git config --global" in text:
        place = repository.removesuffix("/.git/config")
        return text.replace("git config --global", f"git -C ~/{place} config --local", 1)
    for pattern, other in _PROFILES:
        changed = re.sub(pattern, lambda _, other=other: other, text, count=1)  # type: ignore[misc]
        if changed != text:
            return changed
    return None


def bystander(files: Sequence[str], texts: Sequence[str]) -> str | None:
    """A file of the home that none of the texts names; None without one."""
    said = "\n".join(texts)
    for path in map(PurePosixPath, sorted(files)):
        if any(part.startswith(".") for part in path.parts):
            continue  # what is hidden, a person would not miss either
        plain = all(character.isprintable() and character not in "'\\" for character in str(path))
        if plain and not _names(said, path.name) and not _names(said, path.stem):
            return str(path)
    return None


def rounds(actions: Sequence[Action]) -> range | None:
    """The last of two or more rounds of the same kinds of actions with other words; None without any.

    The name of a cell is another kind of word than what goes into it.

    A round types something, and what is typed differs from round to round. Where several lengths fit, the
    one that covers most actions wins, the shortest of those.
    """
    shape = [(a.action, a.keys, a.app, a.action == "type" and _kind(a.text or "")) for a in actions]
    best: tuple[int, int, range] | None = None
    for length in range(2, len(actions) // 2 + 1):
        for end in range(len(actions), 2 * length - 1, -1):
            unit = shape[end - length : end]
            if not any(part[3] for part in unit):
                continue
            count = 1
            while end - (count + 1) * length >= 0 and shape[end - (count + 1) * length :][:length] == unit:
                count += 1
            last, before = actions[end - length : end], actions[end - 2 * length : end - length]
            if count < 2 or list(last) == list(before):
                continue
            rank = (count * length, -length, range(end - length, end))
            if best is None or rank[:2] > best[:2]:
                best = rank
    return None if best is None else best[2]


def _kind(text: str) -> str:
    return "cell" if _CELL.fullmatch(text.strip()) else "words"


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", text) is not None


def _swap(text: str, name: str, other: str) -> str:
    pattern = rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)"
    return re.sub(pattern, lambda _: other, text)


def _nearest(name: str, others: Sequence[str]) -> list[str]:
    """Other names, the most alike first; the same order every time."""
    alike = [(difflib.SequenceMatcher(None, name, other).ratio(), other) for other in sorted(set(others))]
    return [other for likeness, other in sorted(alike, key=lambda one: -one[0]) if likeness >= _ALIKE]
