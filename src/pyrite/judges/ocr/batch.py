"""Screens of a whole bench, read before the judges that need them are asked: several at once.

Each worker process reads one screen at a time and keeps what it read in the cache, so a batch that is
stopped goes on where it was, and nothing but paths and keys is held in memory. What cannot be read is
named with the reason; the judge that asks for it then has no verdict.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeGuard

from pyrite import pool
from pyrite.errors import InputError
from pyrite.evidence import packing
from pyrite.judges import ocr
from pyrite.judges.base import Unavailable
from pyrite.judges.ocr import Name, Reader
from pyrite.records import Evidence, EvidenceEntry
from pyrite.store.bench import Bench
from pyrite.store.images import open_image


class Reads(Protocol):
    """A judge that reads screens, and can say which: what it names is read beforehand."""

    reader: Reader

    def screens(self, evidence: Evidence) -> Sequence[str]:
        """Keys of the images of a package that it will read whole."""
        ...


@dataclass
class Batch:
    """What became of the screens of a batch."""

    read: int = 0
    kept: int = 0
    """Read before, here or elsewhere."""
    failed: dict[str, str] = field(default_factory=dict)
    """Key of an image -> why there is no reading."""


@dataclass(frozen=True)
class Screen:
    """One screen to read; picklable."""

    engine: Name
    key: str
    path: Path


def reads(judge: object) -> TypeGuard[Reads]:
    """Whether a judge names the screens that it reads."""
    return isinstance(getattr(judge, "reader", None), Reader) and callable(getattr(judge, "screens", None))


def to_read(bench: Bench, judge: Reads, entries: Iterable[EvidenceEntry]) -> list[Screen]:
    """The screens that a judge will read of these packages, each once."""
    found: dict[str, Screen] = {}
    for entry in entries:
        for key in judge.screens(packing.load(bench, entry)):
            found.setdefault(key, Screen(judge.reader.engine, key, bench.paths.image(key)))
    return list(found.values())


def read_all(
    screens: Iterable[Screen], *, workers: int | None = None, watch: pool.Watch | None = None
) -> Batch:
    """Read what is not recorded yet; one worker a core unless told otherwise.

    Where an engine is not installed nothing is done: its judge says so. `watch` gets words, no items:
    the screens are a part of another stage. Raises `RunError` where a worker process is killed.
    """
    batch, watch = Batch(), watch or pool.Silent()
    todo: list[Screen] = []
    for one in dict.fromkeys(screens):
        if ocr.is_recorded(one.key, name=one.engine):
            batch.kept += 1
        elif ocr.engine(one.engine) is not None:
            todo.append(one)
    jobs = min(workers or os.cpu_count() or 1, len(todo)) or 1
    for number, (one, why) in enumerate(pool.run(read_one, todo, jobs=jobs, preload=_PRELOAD), start=1):
        watch.tick(f"{one.engine} has read {number} of {len(todo)} screens", items=0)
        if why is None:
            batch.read += 1
        else:
            batch.failed[one.key] = why
            ocr.note_failure(one.key, one.engine, why)
    return batch


_PRELOAD = ("pyrite.judges.ocr.batch",)


def read_one(screen: Screen) -> str | None:
    """Read one screen into the cache; why there is no reading, or None."""
    try:
        ocr.read_screen(open_image(screen.path), engine=screen.engine)
    except (Unavailable, InputError) as exc:
        return exc.what
    return None
