"""Read other people's files within bounds: they may be huge, deep, no text, or lead elsewhere."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

MAX_TASK_BYTES = 4 << 20
"""One task's definition; the largest known one is under 10 kB."""
MAX_DATASET_BYTES = 512 << 20
"""One file that holds all tasks of a benchmark."""
MAX_NODES = 100_000
MAX_DEPTH = 64
MAX_FILES = 2_000_000
SHOWN = 200
"""Characters of foreign text that are shown."""


class Unreadable(Exception):
    """A file cannot be used; `kind` is the finding's name, the message says why."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


def shown(value: object, limit: int = SHOWN) -> str:
    """A foreign value as short text that every encoding can carry; bytes that are no text are escaped.

    >>> shown("a\\ud800"), shown(["x"]), shown("abcdef", 3)
    ('a\\\\ud800', "['x']", 'abc…')
    """
    text = value if isinstance(value, str) else _repr(value)
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= limit else text[:limit] + "…"


def _repr(value: object) -> str:
    try:
        return repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, a value nested too deeply
        return f"a {type(value).__name__}"


def read_bytes(path: Path, root: Path, limit: int = MAX_TASK_BYTES) -> bytes:
    """A regular file below `root`; raises `Unreadable` for what leads out, is no file, or is too large."""
    try:
        if path.is_symlink() and not path.resolve().is_relative_to(root.resolve()):
            raise Unreadable("leads_outside", f"a link to {shown(os.readlink(path))}, outside of the folder")
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as handle:
            found = os.fstat(handle.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise Unreadable("unreadable_file", "no regular file")
            data = handle.read(limit + 1)
    except (OSError, RuntimeError, ValueError) as exc:
        reason = getattr(exc, "strerror", None) or str(exc)
        raise Unreadable("unreadable_file", shown(reason)) from None
    if len(data) > limit:
        raise Unreadable("too_large", f"more than {limit >> 20} MB")
    return data


def text_of(data: bytes) -> str:
    """UTF-8 text, with or without a byte order mark; `Unreadable` for other bytes."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise Unreadable("not_json", f"not UTF-8 text: {shown(exc.reason)} at byte {exc.start}") from None


class Parser:
    """JSON with what it hides: `repeated` names keys that stood twice in one object (the last counts)."""

    def __init__(self, max_nodes: int = MAX_NODES) -> None:
        self.repeated: list[str] = []
        self._max_nodes = max_nodes
        self._decoder = json.JSONDecoder(object_pairs_hook=self._pairs, parse_constant=_no_constant)

    def document(self, text: str) -> Any:
        """The one value of a text."""
        return self._guarded(lambda: self._decoder.decode(text))

    def items(self, text: str) -> Iterator[Any]:
        """The items of a top-level array one by one, so that only one of them is held at a time."""
        at = _skip(text, _skip(text, 0) + 1)
        while at < len(text) and text[at] != "]":
            value, at = self._guarded(lambda at=at: self._decoder.raw_decode(text, at))
            yield value
            at = _skip(text, at)
            if at < len(text) and text[at] == ",":
                at = _skip(text, at + 1)
                if text[at : at + 1] == "]":
                    raise Unreadable("not_json", f"not JSON: a comma before ] at character {at:,}")
            elif at >= len(text) or text[at] != "]":
                raise Unreadable("not_json", f"not JSON: expected , or ] at character {at:,}")
        if at >= len(text):
            raise Unreadable("not_json", "not JSON: the list does not end")
        if _skip(text, at + 1) != len(text):
            raise Unreadable("not_json", f"not JSON: something follows the list at character {at + 1:,}")

    def _pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs) and len(self.repeated) < 20:
            keys = [key for key, _ in pairs]
            self.repeated.append(next(key for key in keys if keys.count(key) > 1))
        return found

    def _guarded(self, parse: Any) -> Any:
        try:
            value = parse()
        except json.JSONDecodeError as exc:
            raise Unreadable("not_json", f"not JSON: {exc.msg} (line {exc.lineno})") from None
        except RecursionError:
            raise Unreadable("too_deep", "nested too deeply") from None
        except (ValueError, MemoryError) as exc:
            raise Unreadable("not_json", f"not JSON: {shown(str(exc), 100)}") from None
        bounded(value[0] if isinstance(value, tuple) else value, self._max_nodes)
        return value


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def bounded(value: Any, max_nodes: int = MAX_NODES) -> None:
    """Refuse what is deeper or has more values than any definition; it is walked later."""
    level, nodes, depth = [value], 0, 0
    while level:
        nodes += len(level)
        depth += 1
        if nodes > max_nodes:
            raise Unreadable("too_large", f"more than {max_nodes:,} values")
        if depth > MAX_DEPTH:
            raise Unreadable("too_deep", f"nested deeper than {MAX_DEPTH} levels")
        below: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                below.extend(one.values())
            elif isinstance(one, list):
                below.extend(one)
        level = below


def entries(folder: Path) -> list[os.DirEntry[str]]:
    """What a folder holds, sorted by name; nothing where it cannot be read."""
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: os.fsencode(entry.name))
    except OSError:
        return []


def folders(folder: Path) -> list[Path]:
    """Real subfolders, sorted; links and hidden ones are not entered."""
    return [
        Path(entry.path)
        for entry in entries(folder)
        if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
    ]


def files(folder: Path, ending: str) -> list[Path]:
    """What has that ending and is no folder, sorted: files, and links to whatever."""
    return [
        Path(entry.path)
        for entry in entries(folder)
        if entry.name.endswith(ending)
        and not entry.name.startswith(".")
        and not entry.is_dir(follow_symlinks=False)
    ]


def walk(root: Path, depth: int) -> Iterator[Path]:
    """Folders from `root` down to a depth, each before those in it; links are not entered."""
    waiting = [(root, 0)]
    while waiting:
        folder, level = waiting.pop(0)
        yield folder
        if level < depth:
            waiting.extend((below, level + 1) for below in folders(folder))


def below(path: Path, root: Path) -> str:
    """A path below the audited one, as it is shown."""
    try:
        return shown(str(path.relative_to(root)), 400)
    except ValueError:
        return shown(str(path), 400)


def strings(value: Any) -> Iterable[str]:
    """Every text in a value that `bounded` let through, keys left out."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
