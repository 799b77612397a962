"""Near-misses of a text: a list of lines, or of paragraphs, beside what it was before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from pyrite.truth.mutants.values import NUMBER, Near, near_written

MOST_LINES = 4000
_TOKEN = re.compile(r"[^\s=:;,\"'()\[\]{}<>]+")
_SECTION = re.compile(r"\s*\[[^\]]+\]\s*")
_SETTING = re.compile(r"\s*[\w.\-/ ]+\s*[=:]\s*\S")


class Edited(NamedTuple):
    """Other lines than the good ones."""

    operator: str
    at: int
    """The line that it is about, from 1."""
    what: str
    lines: list[str]


class _Hunk(NamedTuple):
    old: tuple[int, int]
    new: tuple[int, int]


def near_lines(before: Sequence[str], after: Sequence[str], *, settings: bool = False) -> Iterator[Edited]:
    """Every near-miss of `after`; lines without their ends. `settings`: lines are `key = value`."""
    if max(len(before), len(after)) > MOST_LINES:
        return
    hunks = _hunks(before, after)
    changed = {row for hunk in hunks for row in range(*hunk.new)}
    for hunk in hunks:
        undone = [*after[: hunk.new[0]], *before[slice(*hunk.old)], *after[hunk.new[1] :]]
        where = hunk.new[0] + 1
        yield Edited("drop-change", where, "this change is undone", undone)
        for row in range(*hunk.new):
            if after[row].strip():
                yield from _of_line(before, after, hunk, row, settings=settings)
    yield from _beside(after, changed)


def _hunks(before: Sequence[str], after: Sequence[str]) -> list[_Hunk]:
    """What differs; a replaced block of as many lines counts line by line."""
    found: list[_Hunk] = []
    for kind, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "replace" and j - i == m - k:
            found += [_Hunk((i + n, i + n + 1), (k + n, k + n + 1)) for n in range(j - i)]
        elif kind != "equal":
            found.append(_Hunk((i, j), (k, m)))
    return found


def _of_line(
    before: Sequence[str], after: Sequence[str], hunk: _Hunk, row: int, *, settings: bool
) -> Iterator[Edited]:
    line = after[row]
    old = before[hunk.old[0]] if hunk.old[1] - hunk.old[0] == 1 == hunk.new[1] - hunk.new[0] else None
    start, end = value_in(line, old)
    value = line[start:end]
    for near in near_written(value):
        other = f"{line[:start]}{near.value}{line[end:]}"
        yield Edited(near.operator, row + 1, _instead(near, value), _with(after, row, [other]))
    yield Edited("duplicate-row", row + 1, "this line is there twice", _with(after, row, [line, line]))
    if settings and _SETTING.match(line):
        yield Edited("commented-out", row + 1, "this line is a comment", _with(after, row, [f"# {line}"]))
        yield from _other_section(after, row, old)
    if old is not None:
        yield from _shifted(after, row, old, value)


def _shifted(after: Sequence[str], row: int, old: str, value: str) -> Iterator[Edited]:
    """The line is as it was, and a neighbour has the new value."""
    for operator, other in (("shift-down", row + 1), ("shift-up", row - 1)):
        if not 0 <= other < len(after) or not after[other].strip():
            continue
        neighbour = after[other]
        start, end = value_in(neighbour, None)
        is_number = NUMBER.fullmatch(value) is not None
        if neighbour[start:end] == value or is_number != bool(NUMBER.fullmatch(neighbour[start:end])):
            continue
        moved = _with(after, row, [old])
        moved[other] = f"{neighbour[:start]}{value}{neighbour[end:]}"
        yield Edited(operator, other + 1, f"{_short(value)} is in this line, not in line {row + 1}", moved)


def _other_section(after: Sequence[str], row: int, old: str | None) -> Iterator[Edited]:
    """The setting is in another [section] of the file."""
    headers = [at for at, line in enumerate(after) if _SECTION.fullmatch(line)]
    own = max((at for at in headers if at < row), default=-1)
    for at in headers:
        if at != own:
            rest = _with(after, row, [] if old is None else [old])
            at += (len(rest) - len(after)) if at > row else 0
            rest.insert(at + 1, after[row])
            yield Edited("other-sheet", row + 1, f"this line is below {_short(rest[at])}", rest)
            return


def _beside(after: Sequence[str], changed: set[int]) -> Iterator[Edited]:
    """Something else happens to lines that the good state left alone."""
    others = [row for row, line in enumerate(after) if row not in changed and line.strip()]
    for row in others[:1] + others[-1:] if len(others) > 1 else others:
        line = after[row]
        start, end = value_in(line, None)
        near = next(near_written(line[start:end]), None)
        if near is not None:
            other = f"{line[:start]}{near.value}{line[end:]}"
            yield Edited("neighbour-changed", row + 1, "this line is changed too", _with(after, row, [other]))
        yield Edited("neighbour-deleted", row + 1, "this line is gone", _with(after, row, []))


def value_in(line: str, old: str | None) -> tuple[int, int]:
    """Where the value of a line is: the tokens that differ from `old`, else the last one.

    >>> line = "port = 8080"
    >>> line[slice(*value_in(line, "port = 80"))], line[slice(*value_in(line, None))]
    ('8080', '8080')
    """
    tokens = [(match.start(), match.end()) for match in _TOKEN.finditer(line)]
    if not tokens:
        return 0, len(line)
    if old is not None:
        theirs = _TOKEN.findall(old)
        mine = [line[start:end] for start, end in tokens]
        spans = SequenceMatcher(None, theirs, mine, autojunk=False).get_opcodes()
        differing = [(k, m) for kind, _, _, k, m in spans if kind in {"replace", "insert"} and m > k]
        if differing:
            return tokens[differing[0][0]][0], tokens[differing[-1][1] - 1][1]
    return tokens[-1]


def _with(lines: Sequence[str], row: int, new: Sequence[str]) -> list[str]:
    return [*lines[:row], *new, *lines[row + 1 :]]


def _instead(near: Near, value: str) -> str:
    return f"{_short(str(near.value))} instead of {_short(value)}"


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:39] + "…")
