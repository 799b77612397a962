"""Pack what a condition shows: the same bytes for every judge.

Images are re-encoded without metadata and stored once a bench under the sha256 of their pixels; a
package is one small JSON file that names them. Packing the same episode again writes the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from pyrite.evidence.conditions import Condition
from pyrite.evidence.leaks import Leak, Secrets, scan
from pyrite.evidence.view import EpisodeView, Instructions, view
from pyrite.pool import Silent, Watch
from pyrite.records import Evidence, EvidenceEntry, Meta, ViewAction
from pyrite.store.bench import Bench
from pyrite.store.images import decode, pixels_sha256, read_image, save_png
from pyrite.store.jsonl import append_lines, read_lines, read_record, write_bytes
from pyrite.store.paths import BenchPaths

MAX_IMAGE_SIDE = 1280
"""Pixels of the longer side above which E3-full is scaled down."""


def package_id(episode_id: str, condition: str) -> str:
    """An opaque name: it tells neither the episode nor what made it.

    >>> package_id("ep_1", "E1-final")
    'p_746543fe6b62'
    """
    return "p_" + hashlib.sha256(f"{condition}\0{episode_id}".encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Packing:
    """What was packed, and what the leak scan found."""

    entries: tuple[EvidenceEntry, ...]
    leaks: tuple[Leak, ...]


def pack(
    bench: Bench,
    conditions: Iterable[Condition],
    instructions: Instructions,
    secrets: Callable[[Meta], Secrets],
    *,
    watch: Watch | None = None,
) -> Packing:
    """Write and scan the packages of all finished episodes.

    Raises `InputError` for an image that is none, `UsageError` where no episode is finished.
    """
    wanted = list(conditions)
    done = index(bench)
    store = ImageStore(bench.paths)
    entries: list[EvidenceEntry] = []
    found: list[Leak] = []
    episode_ids = bench.require_episodes()
    watch = watch or Silent()
    watch.total = len(episode_ids)
    with ThreadPoolExecutor(max_workers=4) as threads:
        for episode_id in episode_ids:
            meta = bench.meta(episode_id)
            seen = view(bench, meta, instructions)
            for condition in wanted:
                evidence = select(seen, condition, package_id(episode_id, condition.name))
                shrink = MAX_IMAGE_SIDE if condition.last_screens is None else None
                paths = [seen.screens[i] for i in _kept(seen, condition)]
                keys = tuple(threads.map(lambda path, side=shrink: store.put(path, side), paths))
                evidence = evidence.model_copy(update={"images": keys})
                entry = _write(bench, evidence, episode_id)
                if done.get((episode_id, condition.name)) != entry:
                    append_lines(bench.paths.evidence_index, [entry])
                entries.append(entry)
                found += scan(evidence, secrets(meta), bench.paths, seen.text())
            watch.tick(episode_id)
    return Packing(tuple(entries), tuple(found))


def select(seen: EpisodeView, condition: Condition, name: str) -> Evidence:
    """What a condition shows of a view, its images not yet stored."""
    kept = _kept(seen, condition)
    first = kept[0]
    shown = _from_screen(seen.actions, first) if condition.with_actions else ()
    actions = tuple(
        action.model_copy(update={"screen": _moved(action.screen, first), "thought": None})
        for action in shown
    )
    return Evidence(
        package_id=name,
        condition=condition.name,
        instruction=seen.instruction,
        actions=actions,
        final_message=seen.final_message if condition.with_claim else None,
    )


def index(bench: Bench) -> dict[tuple[str, str], EvidenceEntry]:
    """(episode, condition) -> its package; judges never see this file. The last line of a pair counts."""
    path = bench.paths.evidence_index
    lines = read_lines(path, EvidenceEntry) if path.is_file() else ()
    return {(entry.episode_id, entry.condition): entry for entry in lines}


def load(bench: Bench, entry: EvidenceEntry) -> Evidence:
    """Read a package back."""
    return read_record(bench.paths.package(entry.condition, entry.package_id), Evidence)


class ImageStore:
    """evidence/images: each image once, under the sha256 of its pixels. A file seen before is not decoded."""

    def __init__(self, paths: BenchPaths) -> None:
        self._paths = paths
        self._known: dict[tuple[str, int | None], str] = {}

    def put(self, source: Path, longest_side: int | None) -> str:
        """Store one screen, scaled down to `longest_side` pixels where it is larger."""
        data = read_image(source)
        content = hashlib.sha256(data).hexdigest()
        if (content, longest_side) not in self._known:
            image = decode(data, where=str(source))
            small = max(image.size) <= MAX_IMAGE_SIDE
            if longest_side is not None and max(image.size) > longest_side:
                image.thumbnail((longest_side, longest_side), Image.Resampling.LANCZOS)
            digest = pixels_sha256(image)
            target = self._paths.image(digest)
            if not target.is_file():
                save_png(image, target)
            self._known[content, longest_side] = digest
            if small and longest_side in {None, MAX_IMAGE_SIDE}:
                self._known[content, None] = self._known[content, MAX_IMAGE_SIDE] = digest
        return self._known[content, longest_side]


def _kept(seen: EpisodeView, condition: Condition) -> list[int]:
    numbers = list(range(len(seen.screens)))
    return numbers if condition.last_screens is None else numbers[-condition.last_screens :]


def _from_screen(actions: tuple[ViewAction, ...], first: int) -> tuple[ViewAction, ...]:
    """The actions from the one that led to screen `first` on; all of them for the very first screen."""
    leading = (i for i, action in enumerate(actions) if action.screen is not None and action.screen >= first)
    return actions[next(leading, len(actions)) :] if first else actions


def _moved(screen: int | None, first: int) -> int | None:
    return None if screen is None or screen < first else screen - first


def _write(bench: Bench, evidence: Evidence, episode_id: str) -> EvidenceEntry:
    text = json.dumps(evidence.model_dump(mode="json"), indent=1, ensure_ascii=False, allow_nan=False)
    data = text.encode() + b"\n"
    path = bench.paths.package(evidence.condition, evidence.package_id)
    if not path.is_file() or path.read_bytes() != data:
        write_bytes(path, data)
    return EvidenceEntry(
        package_id=evidence.package_id,
        episode_id=episode_id,
        condition=evidence.condition,
        evidence_sha256=hashlib.sha256(data).hexdigest(),
    )
