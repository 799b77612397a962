"""Pack what a condition shows: the same bytes for every judge.

Images are re-encoded without metadata and stored once a bench under the sha256 of their pixels; a
package is one small JSON file that names them. Packing the same episode again writes the same bytes.
A frame is shown once, what does not fit a budget is left out, and the package says both.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image

from pyrite.errors import InputError
from pyrite.evidence import budget as budgets
from pyrite.evidence.budget import Budget, Frame
from pyrite.evidence.conditions import Condition
from pyrite.evidence.leaks import Leak, Secrets, scan
from pyrite.evidence.view import EpisodeView, Instructions, view
from pyrite.pool import Silent, Watch
from pyrite.records import Evidence, EvidenceEntry, Meta, ViewAction
from pyrite.store.bench import Bench
from pyrite.store.images import decode, pixels_sha256, png_size, read_image, save_png
from pyrite.store.jsonl import (
    append_lines,
    parse_record,
    read_bounded,
    read_json,
    read_lines,
    write_bytes,
    write_json,
)
from pyrite.store.paths import BenchPaths

PACKED_AT = 315_532_800
"""When every package and image says it was written, in seconds since 1970: the first day of 1980.

Episodes are recorded one kind after the other and may be packed as they come; a true time would tell which.
"""
MAX_IMAGE_SIDE = 1280
"""Pixels of the longer side above which E3-full is scaled down."""


def package_id(episode_id: str, condition: str) -> str:
    """An opaque name: it tells neither the episode nor what made it.

    >>> package_id("ep_1", "E1-final")
    'p_746543fe6b62'
    """
    return "p_" + hashlib.sha256(f"{condition}\0{episode_id}".encode()).hexdigest()[:12]


Opposite = Callable[[str | None, str | None], str | None]
"""(final message, its kind where that is known) -> one that says the opposite, None where none does."""


def unswapped(message: str | None, kind: str | None = None) -> str | None:
    """No message can be turned round."""
    return None


@dataclass(frozen=True)
class Packing:
    """What was packed, and what the leak scan found."""

    entries: tuple[EvidenceEntry, ...]
    leaks: tuple[Leak, ...]
    broken: dict[str, str] = field(default_factory=dict)
    """Episodes that cannot be shown in all conditions -> the first reason; they get no verdict there."""
    shortened: dict[str, int] = field(default_factory=dict)
    """Condition -> packages in which a budget left something out."""
    unswappable: dict[str, int] = field(default_factory=dict)
    """Condition with +swap -> episodes that it leaves out: no claim that can be turned round."""


def pack(
    bench: Bench,
    conditions: Iterable[Condition],
    instructions: Instructions,
    secrets: Callable[[Meta], Secrets],
    *,
    opposite: Opposite = unswapped,
    max_image_side: int = MAX_IMAGE_SIDE,
    budget: Budget | None = None,
    watch: Watch | None = None,
) -> Packing:
    """Write and scan the packages of all finished episodes.

    `opposite` makes what +swap shows of a final message; what cannot be turned round is left out there.
    An episode whose agent itself wrote what no judge may be told goes into `broken`, where that is shown.
    An episode that cannot be read, or a screen that is none, goes into `broken` and stops nothing else.
    Raises `InputError` where nothing at all can be packed, `UsageError` where no episode is finished.
    """
    wanted = list(conditions)
    episode_ids = bench.require_episodes()
    packer = _Packer(bench, ImageStore(bench.paths, max_image_side), budget or Budget(), opposite)
    watch = watch or Silent()
    watch.total = len(episode_ids)
    with ThreadPoolExecutor(max_workers=4) as threads:
        for episode_id in episode_ids:
            try:
                meta = bench.meta(episode_id)
                seen, hidden = view(bench, meta, instructions), secrets(meta)
            except InputError as exc:
                packer.broken[episode_id] = _reason(exc)
            else:
                packer.add(meta, seen, hidden, wanted, threads)
            watch.tick(episode_id)
    return packer.finish(len(episode_ids))


class _Packer:
    """Packs one episode after the other, and notes what became of each."""

    def __init__(self, bench: Bench, store: ImageStore, budget: Budget, opposite: Opposite) -> None:
        self._bench, self._store, self._budget, self._opposite = bench, store, budget, opposite
        self._done = index(bench)
        self._withdrawn: set[tuple[str, str]] = set()
        self.entries: list[EvidenceEntry] = []
        self.leaks: list[Leak] = []
        self.broken: dict[str, str] = {}
        self.shortened: Counter[str] = Counter()
        self.unswappable: Counter[str] = Counter()

    def add(
        self, meta: Meta, seen: EpisodeView, hidden: Secrets, wanted: Sequence[Condition], threads: Executor
    ) -> None:
        """Pack an episode in every condition that it can be shown in."""
        episode_id, mark = meta.episode_id, seen.mark()
        swapped = self._opposite(seen.final_message, meta.message_kind)
        for condition in wanted:
            if condition.message == "swap" and swapped is None:
                self.unswappable[condition.name] += 1
                self._withdrawn.add((episode_id, condition.name))
                continue
            shown = select(seen, condition, package_id(episode_id, condition.name), swapped)
            try:
                frames = self._store.frames(seen, condition, threads)
            except InputError as exc:
                self.broken.setdefault(episode_id, f"{condition.name}: {_reason(exc)}")
                continue
            budget = budgets.WHOLE if condition.whole else self._budget
            evidence = budgets.fit(shown, frames, budget).model_copy(update={"mark": mark})
            leaks = scan(evidence, hidden, self._bench.paths, visible(seen, swapped))
            if leaks and all(leak.by_agent for leak in leaks):
                self.broken.setdefault(episode_id, f"{condition.name}: {_told(leaks)}")
                self._withdrawn.add((episode_id, condition.name))
                continue
            self.leaks += leaks
            self.shortened[condition.name] += evidence.left_out is not None
            entry = _write(self._bench, evidence, episode_id)
            if self._done.get((episode_id, condition.name)) != entry:
                append_lines(self._bench.paths.evidence_index, [entry])
            self.entries.append(entry)

    def finish(self, n: int) -> Packing:
        """What became of these n episodes. Raises `InputError` where nothing is packed."""
        self._store.remember()
        _withdraw(self._bench, self._withdrawn & self._done.keys())
        where, next_ = str(self._bench.paths.episodes), f"pyrite verify {self._bench.root}"
        if not self.entries and not self.broken:
            raise InputError(
                f"+swap: none of {n} episodes has a claim that can be turned round",
                where=where,
                expected="a final message that asserts or denies success",
                next=f"pyrite pack {self._bench.root} --condition E2+claim",
            )
        if not self.entries:
            first, reason = next(iter(self.broken.items()))
            what = f"none of {n} episodes can be packed; {first}: {reason}"
            raise InputError(what, where=where, expected="an episode with readable screens", next=next_)
        return Packing(
            tuple(self.entries),
            tuple(self.leaks),
            self.broken,
            {name: count for name, count in self.shortened.items() if count},
            dict(self.unswappable),
        )


def _reason(exc: InputError) -> str:
    """Where and what, on one line."""
    return f"{exc.where}: {exc.what}" if exc.where else exc.what


def _told(leaks: Iterable[Leak]) -> str:
    words = ", ".join(repr(word) for word in dict.fromkeys(str(leak.secret) for leak in leaks))
    return f"its agent wrote what no judge may be told: {words}"


def _withdraw(bench: Bench, gone: set[tuple[str, str]]) -> None:
    """Take packages of an earlier packing out of the index, and away."""
    if not gone:
        return
    path = bench.paths.evidence_index
    lines = list(read_lines(path, EvidenceEntry))
    left = [one for one in lines if (one.episode_id, one.condition) not in gone]
    write_bytes(path, b"".join(one.model_dump_json().encode() + b"\n" for one in left))
    for one in lines:
        if (one.episode_id, one.condition) in gone:
            bench.paths.package(one.condition, one.package_id).unlink(missing_ok=True)


def select(seen: EpisodeView, condition: Condition, name: str, swapped: str | None = None) -> Evidence:
    """What a condition shows of a view, its images not yet stored; `swapped` is what +swap shows."""
    kept = _kept(seen, condition)
    first = kept[0]
    shown = _from_screen(seen.actions, first) if condition.with_actions else ()
    actions = tuple(
        action.model_copy(
            update={
                "screen": _moved(action.screen, first),
                "thought": action.thought if condition.with_thoughts else None,
            }
        )
        for action in shown
    )
    message = {"none": None, "claim": seen.final_message, "swap": swapped}[condition.message]
    return Evidence(
        package_id=name,
        condition=condition.name,
        instruction=seen.instruction,
        actions=actions,
        final_message=message,
        screen_files=seen.screen_files if condition.last_screens is None else None,
    )


def visible(seen: EpisodeView, swapped: str | None = None) -> str:
    """Every text that a package of this view may show, for the leak scan."""
    return f"{seen.text()}\n{swapped or ''}"


def index(bench: Bench) -> dict[tuple[str, str], EvidenceEntry]:
    """(episode, condition) -> its package; judges never see this file. The last line of a pair counts."""
    path = bench.paths.evidence_index
    lines = read_lines(path, EvidenceEntry) if path.is_file() else ()
    return {(entry.episode_id, entry.condition): entry for entry in lines}


def load(bench: Bench, entry: EvidenceEntry) -> Evidence:
    """Read a package back. Raises `InputError` where it is not the one that the index names."""
    path = bench.paths.package(entry.condition, entry.package_id)
    data = read_bounded(path)
    if _sha256(data) != entry.evidence_sha256:
        raise InputError(
            "the package was changed since it was packed",
            where=str(path),
            expected=f"the package with sha256 {entry.evidence_sha256}",
            next=f"pyrite pack {bench.root}",
        )
    return parse_record(data, Evidence, where=str(path))


class ImageStore:
    """evidence/images: each image once, under the sha256 of its pixels.

    A screen file whose bytes were seen before is not decoded again: evidence/screens.json remembers.
    """

    def __init__(self, paths: BenchPaths, max_image_side: int = MAX_IMAGE_SIDE) -> None:
        self._paths = paths
        self._side = max_image_side
        self._known: dict[str, str] = {}
        if paths.evidence_screens.is_file():
            self._known = read_json(paths.evidence_screens)
        self._before = len(self._known)

    def remember(self) -> None:
        """Write down what was learnt, if anything."""
        if len(self._known) > self._before:
            write_json(self._paths.evidence_screens, dict(sorted(self._known.items())))

    def put(self, source: Path, longest_side: int | None) -> str:
        """Store one screen, scaled down to `longest_side` pixels where it is larger."""
        data = read_image(source)
        content = _sha256(data)
        name = f"{content} {longest_side or 'as it is'}"
        digest = self._known.get(name)
        if digest is None or not self._paths.image(digest).is_file():
            image = decode(data, where=str(source))
            small = max(image.size) <= self._side
            if longest_side is not None and max(image.size) > longest_side:
                image.thumbnail((longest_side, longest_side), Image.Resampling.LANCZOS)
            digest = pixels_sha256(image)
            if small:  # the same pixels in all conditions
                self._known |= dict.fromkeys((f"{content} as it is", f"{content} {self._side}"), digest)
            if not self._paths.image(digest).is_file():
                save_png(image, self._paths.image(digest))
            self._known[name] = digest
        _without_time(self._paths.image(digest))
        return digest

    def frames(self, seen: EpisodeView, condition: Condition, threads: Executor) -> list[Frame]:
        """Store the screens of a condition; those of E3 are scaled down."""
        side = self._side if condition.last_screens is None else None
        screens = [seen.screens[i] for i in _kept(seen, condition)]
        keys = list(threads.map(lambda path: self.put(path, side), screens))
        sizes = {key: png_size(self._paths.image(key)) for key in dict.fromkeys(keys)}
        steps = _steps(seen, condition)
        return [Frame(key, *sizes[key], step) for key, step in zip(keys, steps, strict=True)]


def _kept(seen: EpisodeView, condition: Condition) -> list[int]:
    numbers = list(range(len(seen.screens)))
    return numbers if condition.last_screens is None else numbers[-condition.last_screens :]


def _from_screen(actions: tuple[ViewAction, ...], first: int) -> tuple[ViewAction, ...]:
    """The actions from the one that led to screen `first` on; all of them for the very first screen."""
    leading = (i for i, action in enumerate(actions) if action.screen is not None and action.screen >= first)
    return actions[next(leading, len(actions)) :] if first else actions


def _steps(seen: EpisodeView, condition: Condition) -> list[int]:
    """The step that led to each screen of a condition; 0 for the one before the first."""
    led = {action.screen: action.step for action in seen.actions}
    return [led.get(index, 0) for index in _kept(seen, condition)]


def _moved(screen: int | None, first: int) -> int | None:
    return None if screen is None or screen < first else screen - first


def _write(bench: Bench, evidence: Evidence, episode_id: str) -> EvidenceEntry:
    data = _bytes(evidence)
    path = bench.paths.package(evidence.condition, evidence.package_id)
    if not path.is_file() or path.read_bytes() != data:
        write_bytes(path, data)
    _without_time(path)
    _without_time(path.parent)
    return EvidenceEntry(
        package_id=evidence.package_id,
        episode_id=episode_id,
        condition=evidence.condition,
        evidence_sha256=_sha256(data),
    )


def _without_time(path: Path) -> None:
    """Give a file or folder of the evidence the time that all of it has, where the file system lets us."""
    with suppress(OSError):
        if path.stat().st_mtime != PACKED_AT:
            os.utime(path, (PACKED_AT, PACKED_AT))


def _bytes(evidence: Evidence) -> bytes:
    """A package as it is written: the same for the same evidence, always."""
    body = evidence.model_dump(
        mode="json", exclude={"screen_files"} if evidence.screen_files is None else None
    )
    text = json.dumps(body, indent=1, ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
