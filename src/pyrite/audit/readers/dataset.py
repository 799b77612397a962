"""A benchmark that keeps all its tasks in one JSON file: the items of its list, one at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pyrite.audit import hostile
from pyrite.audit.definition import Definition, Problem, unreadable
from pyrite.audit.hostile import Parser, Unreadable, shown
from pyrite.audit.readers import Source


def items(path: Path, root: Path, key: str, domain: Callable[[Mapping[str, Any]], str]) -> Iterator[Source]:
    """A source an item, named by its field `key`, else by its place in the list.

    Raises `Unreadable` where the file breaks off: how many tasks there are is not known then.
    """
    text = hostile.text_of(hostile.read_bytes(path, root, hostile.MAX_DATASET_BYTES))
    parser = Parser()
    if text.lstrip()[:1] != "[":
        found = parser.document(text)
        if not isinstance(found, dict):
            raise Unreadable("not_a_list", f"a {type(found).__name__} where a list of tasks belongs")
        yield _source(found, 0, path, key, domain, tuple(parser.repeated))
        return
    for number, item in enumerate(parser.items(text)):
        yield _source(item, number, path, key, domain, tuple(parser.repeated))
        parser.repeated.clear()


def _source(
    item: Any,
    number: int,
    path: Path,
    key: str,
    domain: Callable[[Mapping[str, Any]], str],
    repeated: tuple[str, ...],
) -> Source:
    named = item.get(key) if isinstance(item, dict) else None
    name = shown(str(named), 120) if isinstance(named, int | str) else f"[{number}]"
    return Source(name, domain(item) if isinstance(item, dict) else "", path, item, repeated)


def first(path: Path, root: Path) -> Any:
    """The first item of a list file, or its one object; None where there is none."""
    try:
        text = hostile.text_of(hostile.read_bytes(path, root, hostile.MAX_DATASET_BYTES))
        parser = Parser()
        if text.lstrip()[:1] == "[":
            return next(parser.items(text), None)
        return parser.document(text) if len(text) <= hostile.MAX_TASK_BYTES else None
    except Unreadable:
        return None


def bytes_of(source: Source) -> bytes:
    """An item in one spelling, for the digest."""
    return json.dumps(source.item, sort_keys=True, ensure_ascii=True, allow_nan=False).encode()


def not_an_object(source: Source, where: str) -> Definition | None:
    """The definition of an item that is no object; None where it is one."""
    if isinstance(source.item, dict):
        return None
    detail = f"a {type(source.item).__name__} where an object belongs"
    return unreadable(source.key, source.domain, where, "not_an_object", detail)


def repeated(source: Source) -> list[Problem]:
    """Keys of an item that stood twice."""
    return [
        Problem("repeated_key", f"the key {shown(key, 80)!r} is there twice; the last one counts")
        for key in source.repeated
    ]


def sites(item: Mapping[str, Any]) -> str:
    """The sites of a web task, as one text."""
    found = item.get("sites")
    if not isinstance(found, list):
        return ""
    return "+".join(shown(str(one), 40) for one in found[:6])


class OneList:
    """Where the tasks of such a benchmark lie, and how they are told apart."""

    names: tuple[str, ...]
    """Files that hold the whole list, the preferred one first."""
    folder = ""
    """Where there is none: the folder, if it is there, whose files are looked at."""

    def files(self, root: Path) -> list[Path]:
        """The files that hold tasks: `root` itself, the list, or every .json file."""
        if root.is_file():
            return [root] if root.suffix == ".json" else []
        for name in self.names:
            if (root / name).is_file():
                return [root / name]
        place = root / self.folder
        return hostile.files(place if place.is_dir() else root, ".json")

    def sources(self, root: Path) -> Iterator[Source]:
        """Every task; see `Reader.sources`."""
        for path in self.files(root):
            yield from items(path, root, "task_id", sites)

    def bytes_of(self, source: Source, root: Path) -> bytes:
        """What the digest covers of a task."""
        return bytes_of(source)
