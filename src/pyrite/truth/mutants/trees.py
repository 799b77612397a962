"""Near-misses of a .json file: its leaves beside what they were before."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from pyrite.checks.cells import number_text
from pyrite.truth.mutants.values import continental, near_number, near_text

MOST_LEAVES = 4000
_ABSENT = object()
Key = tuple[str | int, ...]


class Tree(NamedTuple):
    """Another value than the good one."""

    operator: str
    at: str
    what: str
    body: Any


def read_tree(data: bytes) -> Any:
    """The value of a JSON file; raises ValueError or RecursionError."""
    return json.loads(data.decode("utf-8-sig"))


def write_tree(body: Any, like: bytes) -> bytes:
    """JSON, indented where `like` is."""
    second = like.decode("utf-8-sig").splitlines()[1:2]
    indent = len(second[0]) - len(second[0].lstrip()) if second else 0
    return json.dumps(body, indent=indent or None, ensure_ascii=False).encode() + b"\n"


def near_tree(before: Any, after: Any) -> Iterator[Tree]:
    """Every near-miss of `after`; `before` is None where there was nothing."""
    old, new = dict(_leaves(before, ())), dict(_leaves(after, ()))
    if max(len(old), len(new)) > MOST_LEAVES:
        return
    differing = [key for key in new if key not in old or _differ(old[key], new[key])]
    for key in differing:
        yield from _of_leaf(after, key, new[key], old.get(key, _ABSENT), list(new))
    for key in [key for key in old if key not in new and _can_hold(after, key)]:
        yield Tree("drop-change", _name(key), "this entry is there again", _with(after, key, old[key]))
    others = [key for key in new if key not in differing and key]
    for key in others[:1] + others[-1:] if len(others) > 1 else others:
        yield Tree("neighbour-changed", _name(key), "this entry is changed too", _with(after, key, "changed"))
        yield Tree("neighbour-deleted", _name(key), "this entry is gone", _without(after, key))


def _of_leaf(after: Any, key: Key, value: Any, old: Any, keys: list[Key]) -> Iterator[Tree]:
    at = _name(key)
    undone = _without(after, key) if old is _ABSENT and key else _with(after, key, old)
    if old is not _ABSENT or key:
        yield Tree("drop-change", at, "this change is undone", undone)
        place = keys.index(key)
        for operator, other in (("shift-down", place + 1), ("shift-up", place - 1)):
            if 0 <= other < len(keys) and old is not _ABSENT:
                what = f"the value is in {_name(keys[other])}"
                yield Tree(operator, at, what, _with(undone, keys[other], value))
    for operator, near in _near(value):
        yield Tree(
            operator, at, f"{str(near)[:40]!r} instead of {str(value)[:40]!r}", _with(after, key, near)
        )
    if key and isinstance(key[-1], int):
        doubled = copy.deepcopy(after)
        _parent(doubled, key).insert(key[-1], copy.deepcopy(value))
        yield Tree("duplicate-row", at, "this entry is there twice", doubled)


def _near(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, bool):
        yield "sign", not value
        yield "number-as-text", str(value).lower()
    elif isinstance(value, int | float) and abs(value) < 1e15:
        for near in near_number(float(value)):
            number = near.value
            assert isinstance(number, float)
            yield near.operator, int(number) if number.is_integer() and isinstance(value, int) else number
        yield "number-as-text", number_text(float(value))
        yield "locale-format", continental(float(value))
    elif isinstance(value, str):
        yield from ((near.operator, near.value) for near in near_text(value))


def _leaves(body: Any, key: Key) -> Iterator[tuple[Key, Any]]:
    if isinstance(body, dict) and body:
        for name, value in body.items():
            yield from _leaves(value, (*key, name))
    elif isinstance(body, list) and body:
        for at, value in enumerate(body):
            yield from _leaves(value, (*key, at))
    elif key or body is not None:
        yield key, body


def _differ(one: Any, other: Any) -> bool:
    return type(one) is not type(other) or one != other


def _can_hold(body: Any, key: Key) -> bool:
    try:
        parent = _parent(body, key)
    except (KeyError, IndexError, TypeError):
        return False
    return bool(key) and isinstance(parent, dict) and isinstance(key[-1], str)


def _with(body: Any, key: Key, value: Any) -> Any:
    if not key:
        return value
    other = copy.deepcopy(body)
    _parent(other, key)[key[-1]] = copy.deepcopy(value)
    return other


def _without(body: Any, key: Key) -> Any:
    other = copy.deepcopy(body)
    del _parent(other, key)[key[-1]]
    return other


def _parent(body: Any, key: Key) -> Any:
    for part in key[:-1]:
        body = body[part]
    return body


def _name(key: Key) -> str:
    return ".".join(str(part)[:40] for part in key)[:120] or "the value"
