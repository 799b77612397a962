"""Near-misses of a home: which files the good state changes, and what else could have become of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from sqlite3 import Error as SqliteError

from pyrite.checks.homes import IGNORED, matches, snapshot
from pyrite.checks.package import Unreadable, read_file
from pyrite.truth.mutants import databases, documents, grids, images, sheets, trees
from pyrite.truth.mutants.lines import near_lines
from pyrite.truth.mutants.model import Change, Mutant, put

FILE_LIMIT = 8 << 20
MOST_TARGETS = 8
SETTINGS = (".ini", ".conf", ".cfg", ".toml", ".env", ".desktop", ".properties", ".yaml", ".yml")


@dataclass(frozen=True)
class Homes:
    """What the good state did to the initial home, and what it left alone."""

    changes: tuple[Change, ...]
    bystanders: tuple[str, ...]
    """Files that are the same in both, that the verifier may read and no harmless state touches."""
    data: Mapping[str, bytes]
    """The bytes of those."""
    may_add: bool
    """Whether no harmless state has a file more than the good one."""


def compare(initial: Path, good: Path, harmless: Sequence[Path], reads: Sequence[str]) -> Homes:
    """Find what changed; what applications leave behind counts only where nothing else changed.

    Raises `TooManyFiles`. Files that are too large, links and devices are left alone.
    """
    before, after = snapshot(initial, ignore=()), snapshot(good, ignore=())
    moved = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    seen = [path for path in moved if not matches(path, IGNORED)] or moved
    changes = []
    for path in seen[:MOST_TARGETS]:
        was, now = _bytes(initial, path, before), _bytes(good, path, after)
        if (was is not None or path not in before) and (now is not None or path not in after):
            changes.append(Change(path, was, now))
    excused: set[str] = set()
    may_add = True
    for home in harmless:
        other = snapshot(home, ignore=())
        excused.update(path for path in after if other.get(path) != after[path])
        may_add = may_add and not any(p not in after and not matches(p, IGNORED) for p in other)
    still = [
        path
        for path in sorted(after)
        if before.get(path) == after[path]
        and path not in excused
        and not matches(path, IGNORED)
        and matches(path, tuple(reads) or ("**",))
    ]
    data = {path: found for path in still[:200] if (found := _bytes(good, path, after)) is not None}
    return Homes(tuple(changes), tuple(data), data, may_add)


def _bytes(home: Path, path: str, listed: Mapping[str, str]) -> bytes | None:
    if path not in listed or listed[path] in {"special", "unreadable"} or listed[path].startswith("link:"):
        return None
    try:
        return read_file(home / path, FILE_LIMIT)
    except Unreadable:
        return None


def near_homes(homes: Homes) -> Iterator[Mutant]:
    """Every near-miss that the operators know of, in a fixed order."""
    for change in homes.changes:
        yield from _of_file(change, homes)
        if change.after is not None:
            yield from _of_content(change, homes)
    yield from _side_effects(homes)


def _of_file(change: Change, homes: Homes) -> Iterator[Mutant]:
    """What a file operation could have got wrong."""
    path, before, after = change

    def mutant(operator: str, what: str, *files: tuple[str, bytes | None]) -> Mutant:
        def make(home: Path) -> None:
            for name, data in files:
                put(home, name, data)

        return Mutant(operator, path, what, make)

    yield mutant("drop-change", f"{path} is as it was", (path, before))
    if after is None:
        for other in _alike(path, homes):
            yield mutant("sibling-file", f"{other} is gone instead", (path, before), (other, None))
        return
    place = PurePosixPath(path)
    copy = str(place.with_name(f"{place.stem}_new{place.suffix}"))
    yield mutant("written-as-copy", f"the result is in {copy}", (path, before), (copy, after))
    folded = str(place.with_name(_folded(place.name)))
    if folded != path:
        yield mutant("case-folded-path", f"the result is in {folded}", (path, before), (folded, after))
    elsewhere = str(place.parent.parent / place.name) if len(place.parts) > 1 else f"Elsewhere/{place.name}"
    yield mutant("other-folder", f"the result is in {elsewhere}", (path, before), (elsewhere, after))
    for other in _alike(path, homes):
        yield mutant("sibling-file", f"the result is in {other}", (path, before), (other, after))
    if after:
        yield mutant("emptied-file", "the file is empty", (path, b""))
    if len(after) > 1:
        yield mutant("truncated-file", "its second half is missing", (path, after[: len(after) // 2]))
    yield mutant("deleted-file", "the file is not there", (path, None))


def _folded(name: str) -> str:
    """The name with its first letter in the other case.

    >>> _folded("q3_budget.ods"), _folded("2024.csv")
    ('Q3_budget.ods', '2024.CSV')
    """
    first = name[:1].swapcase() + name[1:]
    return first if first != name else name.swapcase()


def _alike(path: str, homes: Homes) -> list[str]:
    """Bystanders with the same ending, those of the same folder first."""
    ending, folder = PurePosixPath(path).suffix, PurePosixPath(path).parent
    found = [other for other in homes.bystanders if PurePosixPath(other).suffix == ending]
    return sorted(found, key=lambda other: (PurePosixPath(other).parent != folder, other))[:2]


def _of_content(change: Change, homes: Homes) -> Iterator[Mutant]:
    """What is in the file, read by its ending; what cannot be read has no more than bytes."""
    path, before, after = change
    assert after is not None
    ending = PurePosixPath(path).suffix.lower()
    try:
        if ending in sheets.ENDINGS:
            others = {name: homes.data[name] for name in _alike(path, homes)}
            yield from sheets.near_sheets(path, before, after, others)
        elif ending in documents.ENDINGS:
            yield from _documents(path, ending, before, after)
        elif after.startswith(databases.MAGIC):
            yield from _databases(path, before, after)
        elif ending in images.ENDINGS:
            for near in images.near_images(after):
                yield _written(near.operator, f"{path}#{near.at}", near.what, path, near.data)
        elif ending == ".json":
            yield from _trees(path, before, after)
        else:
            yield from _texts(path, ending, before, after)
    except (Unreadable, UnicodeDecodeError, ValueError, RecursionError, SqliteError):
        return


def _documents(path: str, ending: str, before: bytes | None, after: bytes) -> Iterator[Mutant]:
    for operator, at, what, document, texts in documents.near_documents(ending, before, after):

        def make(home: Path, document: documents.Document = document, texts: list[str] = texts) -> None:
            put(home, path, document.with_texts(texts))

        yield Mutant(operator, f"{path}#{at}", what, make)


def _databases(path: str, before: bytes | None, after: bytes) -> Iterator[Mutant]:
    for stored in databases.near_database(before, after):

        def make(home: Path, stored: databases.Stored = stored) -> None:
            databases.apply(home, path, after, stored.statements)

        yield Mutant(stored.operator, f"{path}#{stored.at}", stored.what, make)


def _trees(path: str, before: bytes | None, after: bytes) -> Iterator[Mutant]:
    old = trees.read_tree(before) if before is not None else None
    for tree in trees.near_tree(old, trees.read_tree(after)):
        body = json.loads(json.dumps(tree.body))
        yield _written(tree.operator, f"{path}#{tree.at}", tree.what, path, trees.write_tree(body, after))


def _texts(path: str, ending: str, before: bytes | None, after: bytes) -> Iterator[Mutant]:
    if b"\0" in after:
        return
    if ending in {".csv", ".tsv"}:
        new = grids.read_grid(after)
        old = grids.read_grid(before) if before is not None else None
        if new is not None and (before is None or old is not None):
            rows, form = new
            for near in grids.near_grid(old[0] if old else [], rows):
                yield _written(near.operator, f"{path}#{near.at}", near.what, path, form.write(near.rows))
            return
    text = after.decode("utf-8")
    line_end = "\r\n" if "\r\n" in text else "\n"
    closing = line_end if text.endswith(line_end) else ""
    lines = text.removesuffix(line_end).split(line_end) if text else []
    was = before.decode("utf-8").removesuffix(line_end).split(line_end) if before else []
    for edited in near_lines(was, lines, settings=ending in SETTINGS):
        data = (line_end.join(edited.lines) + closing).encode()
        yield _written(edited.operator, f"{path}#line {edited.at}", edited.what, path, data)


def _written(operator: str, site: str, what: str, path: str, data: bytes | None) -> Mutant:
    return Mutant(operator, site, what, lambda home: put(home, path, data))


def _side_effects(homes: Homes) -> Iterator[Mutant]:
    """The good state, and something that nobody asked for."""
    for path in homes.bystanders:
        yield _changed(path, homes)
        yield _written("file-deleted", path, f"{path} is gone", path, None)
    for change in homes.changes:
        if change.after is not None and homes.may_add:
            place = PurePosixPath(change.path)
            copy = str(place.with_name(f"{place.stem}_copy{place.suffix}"))
            yield _written("file-added", change.path, f"{copy} is left too", copy, change.after)


def _changed(path: str, homes: Homes) -> Mutant:
    """A bystander with other content: a cell, row or line of it, else a byte more."""
    data = homes.data[path]
    inside = _of_content(Change(path, data, data), homes)
    near = next((one for one in inside if one.operator == "neighbour-changed"), None)
    if near is not None:
        return Mutant("file-changed", near.site, f"{path} is changed too: {near.what}", near.make)
    return _written("file-changed", path, f"{path} is changed too", path, data + b"x")
