"""Fields out of a model's JSON: of the type that was asked for, or `Unusable` with the place."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pyrite.judges.universal.records import Unusable

MAX_CHARS = 20_000
"""Of one text in an answer; the rest is cut off."""


def an_object(value: Any, where: str = "the answer") -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unusable(f"{where} is no object")
    return value


def entries(body: Any, key: str, *, length: int | None = None) -> list[dict[str, Any]]:
    """The objects of a list, so many of them where `length` says."""
    found = an_object(body).get(key)
    if not isinstance(found, list):
        raise Unusable(f"there is no list {key}")
    if length is not None and len(found) != length:
        raise Unusable(f"{key} has {len(found)} entries, expected {length}")
    return [an_object(one, f"{key}[{i}]") for i, one in enumerate(found)]


def by_criterion(body: Any, wanted: Sequence[int], key: str) -> list[dict[str, Any]]:
    """An entry for each of these criteria: under its number, or in a list of the released form."""
    whole = an_object(body)
    names = [f"criterion_{index}" for index in wanted]
    if key not in whole and any(name in whole for name in names):
        return [an_object(whole.get(name), name) for name in names]
    found = entries(whole, key, length=len(wanted))
    in_order(found, wanted, key)
    return found


def keyed(items: Mapping[int, dict[str, Any]]) -> dict[str, Any]:
    """The schema of an object with an entry for each of these criteria."""
    properties = {f"criterion_{index}": item for index, item in items.items()}
    return shape(properties)


def shape(properties: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object with just these fields, all of them there."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def in_order(found: Sequence[dict[str, Any]], wanted: Sequence[int], key: str) -> None:
    """Each entry names the criterion that is expected at its place; one that names none is taken to."""
    for one, index in zip(found, wanted, strict=True):
        named = one.get("criterion_idx", index)
        if isinstance(named, bool) or named != index:
            raise Unusable(f"{key}: criterion_idx is {str(named)[:20]}, expected {index}")


def text(body: dict[str, Any], key: str, *, empty: bool = False) -> str:
    """A text; never empty unless that is allowed."""
    value = body.get(key)
    if not isinstance(value, str) or not (empty or value.strip()):
        raise Unusable(f"{key} is {_shown(value)}, expected text")
    return value[:MAX_CHARS].encode("utf-8", "replace").decode()


def flag(body: dict[str, Any], key: str) -> bool:
    value = body.get(key)
    if not isinstance(value, bool):
        raise Unusable(f"{key} is {_shown(value)}, expected true or false")
    return value


def number(body: dict[str, Any], key: str, low: float, high: float) -> float:
    """A finite number within bounds; never a bool, never one in quotes."""
    value = body.get(key)
    good = isinstance(value, int | float) and not isinstance(value, bool)
    if not good or not abs(value) < 1e9 or not low <= float(value) <= high:  # type: ignore[arg-type]
        limit = f" from {low:g} to {high:g}" if math.isfinite(high) else f" of at least {low:g}"
        raise Unusable(f"{key} is {_shown(value)}, expected a number{limit}")
    return float(value)  # type: ignore[arg-type]


def texts(body: dict[str, Any], key: str) -> list[str]:
    """A list of texts."""
    found = body.get(key)
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise Unusable(f"{key} is {_shown(found)}, expected a list of texts")
    return [one[:200].encode("utf-8", "replace").decode() for one in found[:100]]


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return repr(value[:60].encode("utf-8", "replace").decode())
    return "missing" if value is None else str(value)[:60]
