"""The last replay of each task, as kept in `replays/` of a bench: read with bounds, written whole.

What a replay is, `truth.replay` knows; here it is a document with a key, a day and an image. Whoever
counts reads the head alone.
"""

from __future__ import annotations

from typing import Any

from pyrite.errors import InputError
from pyrite.records import OpaqueId, Record
from pyrite.store.bench import Bench
from pyrite.store.jsonl import read_record, write_record

LIMIT_BYTES = 8 << 20
"""Most that is read of one kept replay."""
MOST_IMAGES = 200
"""Images whose replays are looked at."""


class Kept(Record):
    """One replay: what it is of, when, and what it found."""

    key: str
    """Digest of everything that it depends on, the day included."""
    task_id: OpaqueId
    image: str
    day: str
    """UTC date."""
    at: str
    cause: str | None
    """Why the verifier is not to be believed; None where it is."""
    passes: bool
    """Whether any known state passed."""
    result: dict[str, Any]


def read(bench: Bench, image: str, task_id: str) -> Kept | None:
    """The replay of a task on an image; None where there is none that can be read and is of them."""
    path = bench.paths.replay(image, task_id)
    if _leads_out(bench) or path.parent.is_symlink() or not path.is_file():
        return None
    try:
        found = read_record(path, Kept, limit_bytes=LIMIT_BYTES)
    except InputError:
        return None
    return found if (found.image, found.task_id) == (image, task_id) else None


def write(bench: Bench, kept: Kept) -> bool:
    """Keep a replay in place of the earlier one of its task and image; False where that cannot be."""
    path = bench.paths.replay(kept.image, kept.task_id)
    if _leads_out(bench) or path.parent.is_symlink() or path.is_dir():
        return False
    write_record(path, kept)
    return True


def latest(bench: Bench, task_id: str) -> Kept | None:
    """The newest replay of a task on any image; None where none is kept."""
    root = bench.paths.replays
    if _leads_out(bench) or not root.is_dir():
        return None
    found: list[Kept] = []
    for folder in sorted(root.iterdir())[:MOST_IMAGES]:
        path = folder / f"{task_id}.json"
        if folder.is_symlink() or not path.is_file():
            continue
        try:
            kept = read_record(path, Kept, limit_bytes=LIMIT_BYTES)
        except InputError:
            continue
        if kept.task_id == task_id and folder.name == bench.paths.replay(kept.image, task_id).parent.name:
            found.append(kept)
    return max(found, key=lambda kept: kept.at, default=None)


def _leads_out(bench: Bench) -> bool:
    """A bench may come from elsewhere: nothing is read or written through a link."""
    return bench.paths.replays.is_symlink()
