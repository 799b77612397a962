"""A list that restricts an audit: OSWorld's `test_all.json`, or a plain list of ids."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from pyrite.audit import hostile
from pyrite.audit.hostile import Parser, Unreadable, shown
from pyrite.audit.readers import Source
from pyrite.errors import InputError

MAX_BYTES = 64 << 20
_EXPECTED = '{"domain": ["id", …]} as in OSWorld\'s test_all.json, or ["id", …]'

Key = tuple[str | None, str]
"""(domain, id); the domain is None where the list names none."""


@dataclass
class Selection:
    """Which tasks a list names, and which of them were found."""

    path: Path
    wanted: dict[Key, int]
    """How often each is named, in the order of the list."""
    found: Counter[Key] = field(default_factory=Counter)

    def take(self, source: Source) -> Key | None:
        """The entry that names a source; None where none does."""
        for key in ((source.domain, source.key), (None, source.key)):
            if key in self.wanted:
                self.found[key] += 1
                return key
        return None

    def missing(self) -> list[Key]:
        """Entries without a task, in the order of the list."""
        return [key for key in self.wanted if not self.found[key]]

    @property
    def entries(self) -> int:
        return sum(self.wanted.values())


def read_list(given: Path, root: Path) -> Selection:
    """Read a list: the file as given, else below the audited path. Raises `InputError`."""
    path = given
    if not given.exists() and not given.is_absolute() and (root / given).exists():
        path = root / given
    if not path.exists():
        raise InputError(
            "there is no such list", where=str(given), expected=f"a file here, or below {root}: {_EXPECTED}"
        )
    try:
        text = hostile.text_of(hostile.read_bytes(path, path.parent, MAX_BYTES))
        data = Parser(max_nodes=5_000_000).document(text)
    except Unreadable as exc:
        raise InputError(str(exc), where=str(path), expected=_EXPECTED) from None
    wanted: dict[Key, int] = {}
    for key in _keys(data, path):
        wanted[key] = wanted.get(key, 0) + 1
    if not wanted:
        raise InputError("the list names no task", where=str(path), expected=_EXPECTED)
    return Selection(path, wanted)


def _keys(data: Any, path: Path) -> list[Key]:
    if isinstance(data, list):
        return [(None, _id(one, path, f"[{number}]")) for number, one in enumerate(data)]
    if not isinstance(data, dict):
        _bad(path, "(the file)", data)
    found: list[Key] = []
    for domain, ids in data.items():
        if not isinstance(ids, list):
            _bad(path, shown(domain, 60), ids)
        found += [
            (shown(domain), _id(one, path, f"{shown(domain, 60)}[{number}]"))
            for number, one in enumerate(ids)
        ]
    return found


def _id(value: Any, path: Path, field_name: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        _bad(path, field_name, value)
    return shown(str(value))


def _bad(path: Path, field_name: str, value: Any) -> NoReturn:
    raise InputError(
        f"{shown(value, 80)} names no task", where=f"{path}, field {field_name}", expected=_EXPECTED
    )
