"""Traces: what can be told of packages and episodes without looking at what they show.

Numbers from names, order, file times, image metadata and the kind of the last message, one row an episode.
Somebody who is handed the evidence has all of `PACKED`; `RECORDED` stays with who recorded it. Nothing here
is content: no pixels, no actions, no text. Whether any of it tells source or outcome: `stages.leak_test`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyrite.episodes.claims import claim
from pyrite.errors import InputError
from pyrite.evidence.packing import load
from pyrite.records import Evidence, EvidenceEntry, Meta
from pyrite.store.bench import Bench

Floats = NDArray[np.float64]
Row = dict[str, list[float]]

PACKED = ("package ids", "package order", "package times", "image metadata", "message kinds")
RECORDED = ("episode ids", "episode order", "screen names", "screen metadata", "episode times")
_DIGITS = 12
_HEAD = 64 << 10
"""Bytes of an image file in which its metadata is looked for."""
_PIXELS = {b"IHDR", b"IDAT", b"IEND", b"PLTE", b"VP8L", b"VP8 "}


def traces(
    bench: Bench, metas: Sequence[Meta], index: Mapping[tuple[str, str], EvidenceEntry]
) -> dict[str, Floats]:
    """Group -> (episodes, columns), for episodes with the same packed conditions.

    Raises `InputError` where a package or a screen cannot be read.
    """
    conditions = sorted({condition for _, condition in index})
    orders = {condition: _order(bench, condition, index) for condition in conditions}
    episodes = {entry.name: place for place, entry in enumerate(os.scandir(bench.paths.episodes))}
    ranks = {name: place for place, name in enumerate(sorted(episodes))}
    rows = []
    for meta in metas:
        entries = [index[meta.episode_id, condition] for condition in conditions]
        rows.append(
            {
                **_packed(bench, entries, [orders[condition] for condition in conditions]),
                **_recorded(bench, meta.episode_id, episodes, ranks),
            }
        )
    return {group: np.array([row[group] for row in rows], dtype=np.float64) for group in PACKED + RECORDED}


def _order(
    bench: Bench, condition: str, index: Mapping[tuple[str, str], EvidenceEntry]
) -> dict[str, tuple[int, int]]:
    """Package -> its place in the order of names, and in the order in which the folder lists them."""
    some = next(entry for (_, name), entry in index.items() if name == condition)
    folder = bench.paths.package(condition, some.package_id).parent.parent
    listed = [entry.name for entry in os.scandir(folder)]
    by_name = {name: place for place, name in enumerate(sorted(listed))}
    return {name: (by_name[name], place) for place, name in enumerate(listed)}


def _packed(
    bench: Bench, entries: Sequence[EvidenceEntry], orders: Sequence[dict[str, tuple[int, int]]]
) -> Row:
    row: Row = {group: [] for group in PACKED}
    for entry, order in zip(entries, orders, strict=True):
        path = bench.paths.package(entry.condition, entry.package_id)
        evidence = load(bench, entry)
        row["package ids"] += _name(entry.package_id)
        row["package order"] += order[entry.package_id]
        images = [bench.paths.image(digest) for digest in (evidence.images[:1] + evidence.images[-1:])]
        row["package times"] += [_time(one) for one in (path, path.parent, *images)]
        row["image metadata"] += [part for image in images for part in _metadata(image)]
        row["message kinds"] += _kind(evidence)
    return row


def _recorded(bench: Bench, episode_id: str, listed: Mapping[str, int], ranks: Mapping[str, int]) -> Row:
    paths = bench.paths.episode(episode_id)
    with os.scandir(paths.screens) as found:
        screens = sorted((Path(entry.path) for entry in found), key=lambda path: path.name)
    if not screens:
        raise InputError("no screen", where=str(paths.screens), expected="at least one")
    first, last = screens[0], screens[-1]
    return {
        "episode ids": _name(episode_id),
        "episode order": [float(listed[episode_id]), float(ranks[episode_id])],
        "screen names": [float(len(first.stem)), float(len(last.stem)), *_letters(first.suffix, 6)],
        "screen metadata": _metadata(first) + _metadata(last),
        "episode times": [_time(path) for path in (paths.meta, paths.actions, first, last)],
    }


def _name(name: str) -> list[float]:
    """A name as numbers: its digits, its beginning, its length, and its value as one number."""
    digits = name.rpartition("_")[2].lower()
    values = [float(int(one, 16)) if one in "0123456789abcdef" else -1.0 for one in digits[:_DIGITS]]
    values += [-1.0] * (_DIGITS - len(values))
    whole = sum(value / 16 ** (place + 1) for place, value in enumerate(values))
    return [*values, whole, float(len(name)), *_letters(name, 4)]


def _letters(text: str, count: int) -> list[float]:
    return [float(ord(one)) for one in text[:count].ljust(count, "\0")]


def _time(path: Path) -> float:
    """Seconds since 1970 at which a file was written."""
    return path.stat().st_mtime


def _metadata(path: Path) -> list[float]:
    """Of a PNG or WebP file: how many chunks are not pixels, how long they are, and the header's flags."""
    with path.open("rb") as handle:
        data = handle.read(_HEAD)
    webp = data[:4] == b"RIFF"
    position, other, length, flags = (12 if webp else 8), 0, 0, 0
    while position + 8 <= len(data):
        head, kind = data[position : position + 4], data[position + 4 : position + 8]
        if webp:
            head, kind = kind, head
        size = int.from_bytes(head, "little" if webp else "big")
        if kind == b"IHDR":
            flags = int.from_bytes(data[position + 16 : position + 21], "big")
        if kind not in _PIXELS:
            other, length = other + 1, length + size
        position += 8 + size + (size % 2 if webp else 4)
    return [float(webp), float(other), float(length), float(flags)]


def _kind(evidence: Evidence) -> list[float]:
    """What the last message says, where the package shows one: asserts, denies, neither, nothing."""
    said = claim(evidence.final_message)
    silent = evidence.final_message is None
    return [
        float(said == "asserted"),
        float(said == "denied"),
        float(said == "none" and not silent),
        float(silent),
    ]
