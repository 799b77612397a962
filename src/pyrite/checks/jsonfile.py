"""Read a JSON file that an agent has left, as hostile data.

A key that stands twice in one object, and a number that is none, are refused: programs differ in what
they make of them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyrite.checks.package import Unreadable, read_file

MAX_BYTES = 4 << 20


def read_json(path: Path, limit: int = MAX_BYTES) -> Any:
    """The value that a file holds; raises `Unreadable`, also for a file above `limit` bytes."""
    data = read_file(path, limit)
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=_once, parse_constant=_refuse)
    except (ValueError, RecursionError) as exc:
        raise Unreadable("damaged", f"it is no JSON: {exc}"[:200]) from None


def at(value: Any, *keys: str) -> Any:
    """What stands below a path of keys; None where there is nothing.

    >>> at({"session": {"startup_urls": ["a"]}}, "session", "startup_urls")
    ['a']
    """
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no number")
