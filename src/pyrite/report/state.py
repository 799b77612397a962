"""What a verifier read from an end state, as rows: initial, good and found, place by place.

Verifiers are free in what they note. These keys are understood: `file sheet cell expected found
[initial target]`, `elsewhere` (where the value is, though it was not asked for there), `damage` (what else
changed: `before after`, or `change` in words) with `damage_count`. Everything else stays a note: a name
and a value. What a diagnostic does not say is None here, never a guess.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

Mark = Literal["same", "differs", "elsewhere", "damage"]

MAX_NOTES = 40
MAX_ROWS = 60
_KNOWN = {
    "target": {"file", "sheet", "cell", "expected", "found", "initial", "target"},
    "elsewhere": {"elsewhere"},
    "damage": {"damage", "damage_count"},
}
_PLACE = {"file", "sheet", "cell", "cells"}


@dataclass(frozen=True)
class Row:
    """One place of the end state. None: the diagnostics do not say."""

    place: str
    initial: str | None
    good: str | None
    found: str | None
    mark: Mark
    note: str

    @property
    def line(self) -> str:
        """The row in one line, for where there is no room for a table."""
        if self.mark == "elsewhere":
            before = "" if self.initial in (None, "absent") else f", before {self.initial}"
            return f"{self.place}: {self.note}{before}"
        if self.mark == "damage" and self.initial is None:
            return f"{self.place}: {self.note}"
        wanted = f", before {self.initial}" if self.mark == "damage" else f", expected {self.good}"
        return f"{self.place}: found {self.found}{'' if self.mark == 'same' else wanted}"


@dataclass(frozen=True)
class Reading:
    """All that a verifier noted: the rows that are understood, and the other notes."""

    rows: tuple[Row, ...]
    notes: tuple[tuple[str, str], ...]
    """(name, value) of the other diagnostics, simple ones first, without what is empty."""
    more: int
    """Rows and notes that are left out."""

    def lines(self) -> list[tuple[str, str]]:
        """(kind, text) of everything, what matters first."""
        words = {"same": "target", "differs": "target"}
        said = [(words.get(row.mark, row.mark), row.line) for row in self.rows]
        return [*said, *self.notes]


def read(diagnostics: Mapping[str, Any], *, passed: bool | None) -> Reading:
    """The rows and notes of a verifier's diagnostics, whatever they hold."""
    target = list(_target(diagnostics, passed))
    elsewhere, damage = _elsewhere(diagnostics), _damage(diagnostics)
    rows = [*target, *_merged(elsewhere, damage)]
    parts = (("target", target), ("elsewhere", elsewhere), ("damage", damage))
    known = {key for kind, found in parts if found for key in _KNOWN[kind]}
    rest = {k: v for k, v in diagnostics.items() if k not in known and v not in (None, "", [], {})}
    rest = {name: value for name, value in rest.items() if (name, value) != ("damage_count", 0)}
    notes = sorted(rest.items(), key=lambda note: isinstance(note[1], list | dict))
    more = max(0, len(rows) - MAX_ROWS) + max(0, len(notes) - MAX_NOTES) + _uncounted(diagnostics)
    return Reading(
        tuple(rows[:MAX_ROWS]),
        tuple((name.replace("_", " "), in_words(value)) for name, value in notes[:MAX_NOTES]),
        more,
    )


def in_words(value: Any, depth: int = 0) -> str:
    """A diagnostic value for people; what is nested deeper than two levels stays JSON."""
    if isinstance(value, str):
        return value
    if depth < 2 and isinstance(value, list):
        return "; ".join(in_words(one, depth + 1) for one in value)
    if depth < 2 and isinstance(value, dict):
        parts = (f"{name.replace('_', ' ')} {in_words(one, depth + 1)}" for name, one in value.items())
        return ", ".join(parts)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return json.dumps(value, ensure_ascii=False)


def _target(diagnostics: Mapping[str, Any], passed: bool | None) -> Iterator[Row]:
    if not {"expected", "found"} <= diagnostics.keys():
        return
    good, found = _text(diagnostics["expected"]), _text(diagnostics["found"])
    said = diagnostics.get("target")
    initial = _text(diagnostics["initial"]) if "initial" in diagnostics else None
    if said == "unchanged" and initial is None:
        initial = found
    right = passed is True or said == "right" or (said is None and good == found)
    note = "as expected" if right else {"unchanged": "never written"}.get(str(said), "differs")
    place = _place(diagnostics) or "the target"
    yield Row(place, initial, good, found, "same" if right else "differs", note)


def _elsewhere(diagnostics: Mapping[str, Any]) -> list[Row]:
    """The value in places where it was not asked for."""
    expected = diagnostics.get("expected")
    found = None if expected is None else _text(expected)
    rows = []
    for one in _objects(diagnostics.get("elsewhere")):
        new = one.get("new_file") is True
        absent = "absent" if new else None
        note = "a new file holds the value" if new else "holds the value, not asked for here"
        rows.append(Row(_place(one), absent, absent, found, "elsewhere", note))
    return rows


def _damage(diagnostics: Mapping[str, Any]) -> list[Row]:
    """What changed and should not have."""
    rows = []
    for one in _objects(diagnostics.get("damage")):
        place = _place(one)
        if {"before", "after"} <= one.keys():
            before = _text(one["before"])
            rows.append(Row(place, before, before, _text(one["after"]), "damage", "changed"))
            continue
        change = _text(one.get("change", "changed"))
        initial = {"added": "absent", "removed": "present"}.get(change)
        rows.append(Row(place, initial, initial, change, "damage", change))
    return rows


def _merged(elsewhere: list[Row], damage: list[Row]) -> Iterator[Row]:
    """One row a place: where the value went is also what changed there, or the file that was added."""
    by_place = {row.place: row for row in damage}
    told = set()
    for row in elsewhere:
        same = by_place.get(row.place)
        if same is not None:
            told.add(row.place)
            row = replace(row, initial=same.initial, good=same.good, found=same.found)
        if row.initial == "absent":
            told |= {place for place in by_place if row.place.startswith(f"{place} ")}
        yield row
    yield from (row for row in damage if row.place not in told)


def _uncounted(diagnostics: Mapping[str, Any]) -> int:
    """Damage that was counted and not listed."""
    total, listed = diagnostics.get("damage_count"), diagnostics.get("damage")
    if not isinstance(total, int) or not isinstance(listed, list):
        return 0
    return max(0, total - len(listed))


def _objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list that holds only such and says where each is; else none: it stays a note."""
    if not isinstance(value, list) or not all(isinstance(one, dict) and _PLACE & one.keys() for one in value):
        return []
    return value


def _place(one: Mapping[str, Any]) -> str:
    """`Documents/a.ods Q3!D14`; of what is there."""
    file, sheet = one.get("file"), one.get("sheet")
    cell = one.get("cell", one.get("cells"))
    inside = "!".join(_text(part) for part in (sheet, cell) if part not in (None, ""))
    return " ".join(part for part in (_text(file) if file not in (None, "") else "", inside) if part)


def _text(value: Any) -> str:
    return "(empty)" if value in (None, "", [], {}) else in_words(value)
