"""Ask judges about packages: one stream, bounded, resumable, one line a verdict, nothing lost or doubled.

The key of a verdict is (episode, judge, condition, run). What is in the file is not asked again, and a
line is there as soon as the judge has answered. An infrastructure error writes no line: it is logged,
counted as missing, and tried again next time. The first ctrl-C lets what is in flight finish.
"""

from __future__ import annotations

import asyncio
import sys
import time
import traceback
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product
from typing import Any

from pyrite.errors import InputError, PyriteError
from pyrite.evidence.packing import load
from pyrite.judges import lines
from pyrite.judges.base import Declined, Package, Unavailable
from pyrite.judges.client.base import CallError
from pyrite.judges.client.budget import Spent
from pyrite.judges.client.calls import Calls
from pyrite.judges.client.secrets import keys_of_environment, redact
from pyrite.judges.interrupts import Interrupts
from pyrite.judges.labels import Labelled
from pyrite.judges.pricing import Cost, cost
from pyrite.judges.standing import Key, refuse_other_settings, settled, standing, take_over, undecided
from pyrite.pool import Silent, Watch
from pyrite.records import EvidenceEntry, VerdictLine
from pyrite.store.bench import Bench, now
from pyrite.store.jsonl import Appender

MOST_LOCAL = 4
"""Calls at once of judges that work on this machine."""
MOST_LOGGED = 20
"""Failures for one and the same reason that stand in log.txt; all of them are counted."""
MOST_REASONS = 50


@dataclass
class Asked:
    """What became of one judge in one condition."""

    judge: str
    condition: str
    supported: bool = True
    new: int = 0
    kept: int = 0
    missing: int = 0
    old: int = 0
    """Verdicts that were to be given anew and were not: the old ones are still there."""
    dropped: int = 0
    """Verdicts of other settings that went with the first new one, and were not given anew."""
    undecided: int = 0
    """Verdicts, new or kept, of a judge that grades the process, that say neither: a step of it failed."""
    why_missing: dict[str, int] = field(default_factory=dict)
    """Reason -> how many episodes have no verdict for it."""
    declined: dict[str, int] = field(default_factory=dict)
    """Reason -> of how many episodes the judge says nothing, by its own rule."""
    published_condition: str | None = None
    """Where it would be shown what the published judge was shown, if it is not so here."""
    cost: Cost | None = None
    """Of a dry run: what the calls would take, for a judge that asks a model."""


def _begun(labelled: Labelled, condition: str) -> Asked:
    published = getattr(labelled.judge, "published_condition", None)
    is_so = getattr(labelled.judge, "as_published_in", None)
    if not isinstance(published, str) or (is_so is not None and is_so(condition)):
        published = None
    supported = labelled.judge.supports(condition)
    return Asked(labelled.label, condition, supported, published_condition=published)


@dataclass(frozen=True)
class Judging:
    """What became of all of them."""

    asked: tuple[Asked, ...]
    broken: dict[str, str] = field(default_factory=dict)
    """Episodes that could not be packed in all conditions, with the reason: no verdict there."""
    unswappable: dict[str, int] = field(default_factory=dict)
    """Condition with +swap -> episodes that it leaves out: no claim that can be turned round."""
    interrupted: bool = False
    """Whether ctrl-C ended it; what is not there is not counted as missing."""
    spent: Spent | None = None
    """What the calls to models came to; None where there was none."""

    @property
    def obtained(self) -> int:
        """Verdicts that are there now."""
        return sum(one.new + one.kept for one in self.asked)

    @property
    def undecided(self) -> int:
        """Verdicts that are neither success nor failure, of judges that grade the process."""
        return sum(one.undecided for one in self.asked)

    @property
    def missing(self) -> int:
        """Verdicts that could not be obtained."""
        return sum(one.missing for one in self.asked)


def configured_runs(
    bench: Bench, judges: Sequence[Labelled], asked: Sequence[Asked], runs: int
) -> dict[str, Any]:
    """Runs asked for by judge and condition, for lock.json: the most that was ever asked."""
    before: Any = bench.lock().get("judge_runs", {})
    fixed = {labelled.label: labelled.judge.deterministic for labelled in judges}
    merged = {label: dict(old) if isinstance(old := before.get(label), dict) else {} for label in fixed}
    for one in asked:
        if one.supported:
            wanted = 1 if fixed[one.judge] else runs
            merged[one.judge][one.condition] = max(wanted, merged[one.judge].get(one.condition, 1))
    return merged


def dry(
    bench: Bench,
    judges: Sequence[Labelled],
    entries: Sequence[EvidenceEntry],
    conditions: Sequence[str],
    *,
    runs: int,
    price: bool = False,
    only: Mapping[str, Collection[str]] | None = None,
) -> Judging:
    """What `ask` would do, without packing or asking: `missing` is what is still to be asked for.

    `only` names the episodes to ask about in each condition; without it, all of them.
    `price` makes every request that would be sent, and says what they would take.
    """
    results = []
    everyone = set(bench.require_episodes())
    for labelled, condition in product(judges, conditions):
        one = _begun(labelled, condition)
        results.append(one)
        episode_ids = everyone if only is None else everyone.intersection(only.get(condition, ()))
        if not one.supported:
            continue
        chosen = [e for e in entries if e.condition == condition and e.episode_id in episode_ids]
        keys: set[Key] = set()
        if not labelled.anew:
            path = bench.paths.verdict_file(labelled.label, condition)
            keys = standing(path, labelled, _evidence(entries, condition)).keys
        repeats = _repeats(labelled, runs)
        one.kept = sum(1 for episode_id, run in keys if run <= repeats and episode_id in episode_ids)
        one.missing = len(episode_ids) * repeats - one.kept
        if price:
            asking = product(chosen, range(1, repeats + 1))
            todo = [(entry, run) for entry, run in asking if (entry.episode_id, run) not in keys]
            one.cost = asyncio.run(cost(bench, labelled, todo, one.missing - len(todo)))
    return Judging(tuple(results))


def unanswered(
    bench: Bench, labelled: Labelled, entries: Sequence[EvidenceEntry], *, runs: int = 1
) -> list[EvidenceEntry]:
    """Packages that a judge takes and lacks a verdict on, of these runs, that stands."""
    left = []
    wanted = range(1, _repeats(labelled, runs) + 1)
    for condition in dict.fromkeys(entry.condition for entry in entries):
        if labelled.judge.supports(condition):
            chosen = [entry for entry in entries if entry.condition == condition]
            path = bench.paths.verdict_file(labelled.label, condition)
            keys = standing(path, labelled, _evidence(chosen, condition)).keys
            left += [one for one in chosen if any((one.episode_id, run) not in keys for run in wanted)]
    return left


async def ask(
    bench: Bench,
    judges: Sequence[Labelled],
    entries: Sequence[EvidenceEntry],
    *,
    runs: int = 1,
    in_flight: int = 8,
    force: bool = False,
    watch: Watch | None = None,
) -> Judging:
    """Ask every judge about every package it supports; a verdict is on disk as soon as it is there.

    At most `in_flight` calls at once, over all judges and conditions; a package is read, and its images
    are encoded, once for all its calls. A verdict on evidence that has changed since is dropped and
    asked for anew. Raises `UsageError` when a label's settings differ from those that its file was
    written with, unless `force`: then the old verdicts are dropped.
    """
    stream = _Stream(bench, judges, entries, runs, watch or Silent())
    stream.prepare(force=force)
    remote = [one for one in judges if one.calls is not None]
    local = [one for one in judges if one.calls is None]
    try:
        with Interrupts() as interrupts, redirect_stdout(sys.stderr):  # one for all: they would overlap
            for group, most in ((local, min(in_flight, MOST_LOCAL)), (remote, in_flight)):
                source = stream.todo(group)
                workers = [asyncio.create_task(stream.work(source, interrupts)) for _ in range(most)]
                interrupts.at_second = partial(_cancel, workers)
                await _all(workers)
    finally:
        stream.close()
        await _close(judges)
    return Judging(tuple(stream.asked.values()), interrupted=interrupts.seen)


async def _all(workers: Sequence[asyncio.Task[None]]) -> None:
    """Wait for all of them; where one breaks, or this is cancelled, the others end before it is told."""
    try:
        await asyncio.gather(*workers)
    except asyncio.CancelledError:
        current = asyncio.current_task()
        if current is not None and current.cancelling():
            raise
    finally:
        _cancel(workers)
        await asyncio.gather(*workers, return_exceptions=True)


def _cancel(workers: Sequence[asyncio.Task[None]]) -> None:
    for worker in workers:
        worker.cancel()


async def _close(judges: Sequence[Labelled]) -> None:
    """Close what the judges have opened: connections belong to this event loop."""
    for labelled in judges:
        close = getattr(labelled.judge, "aclose", None)
        if close is not None:
            await close()
    open_calls: list[Calls] = []
    for labelled in judges:
        if labelled.calls is not None and labelled.calls not in open_calls:
            open_calls.append(labelled.calls)
            await labelled.calls.aclose()


class _Shown:
    """A package that is read when the first judge wants it, and let go with its last call."""

    def __init__(self, bench: Bench, entry: EvidenceEntry) -> None:
        self._bench = bench
        self.entry = entry

    @cached_property
    def package(self) -> Package:
        return Package(load(self._bench, self.entry), self._bench.paths.image)

    def for_one(self) -> Package:
        """A package of its own for a call: what a judge changes in it, no other judge is shown."""
        own = Package(self.package.evidence.model_copy(deep=True), self._bench.paths.image)
        own.__dict__["pictures"] = self.package.pictures  # read and encoded once for all
        return own


@dataclass(frozen=True)
class _Call:
    labelled: Labelled
    shown: _Shown
    run: int


class _Stream:
    """All calls of one command, in the order of packages, and where their verdicts go."""

    def __init__(
        self,
        bench: Bench,
        judges: Sequence[Labelled],
        entries: Sequence[EvidenceEntry],
        runs: int,
        watch: Watch,
    ) -> None:
        self._bench = bench
        self._judges = judges
        self._entries = entries
        self._runs = runs
        self._watch = watch
        self._done: dict[tuple[str, str], set[Key]] = {}
        self._files: dict[tuple[str, str], Appender] = {}
        self._beside: dict[tuple[str, str], set[Key]] = {}
        """Files whose verdicts are asked for anew -> keys of the old ones that none has replaced yet."""
        conditions = list(dict.fromkeys(entry.condition for entry in entries))
        self._by_condition = {name: [e for e in entries if e.condition == name] for name in conditions}
        self.asked = {
            (labelled.label, name): _begun(labelled, name) for labelled, name in product(judges, conditions)
        }

    def prepare(self, *, force: bool) -> None:
        """Refuse what does not fit before anything is changed; then see what stands already."""
        asking = [
            (labelled, condition)
            for labelled, condition in product(self._judges, self._by_condition)
            if self.asked[labelled.label, condition].supported
        ]
        for labelled, condition in asking:
            take_over(self._bench, labelled.label, condition)  # of a command that was killed
        for labelled, condition in asking:
            if not force:  # to ask anew is no leave to drop what was asked otherwise
                evidence = _evidence(self._by_condition[condition], condition)
                refuse_other_settings(self._bench, labelled, condition, evidence)
        self._watch.total = sum(
            len(self._by_condition[condition]) * _repeats(labelled, self._runs)
            for labelled, condition in asking
        )
        for labelled, condition in asking:
            self._prepare_one(labelled, condition, force=force)
        others = {label for label, _ in self._beside}  # their file is still that of the old settings
        self._bench.update_lock(
            judges={one.label: one.settings for one in self._judges if one.label not in others},
            judge_runs=configured_runs(self._bench, self._judges, list(self.asked.values()), self._runs),
        )

    def _prepare_one(self, labelled: Labelled, condition: str, *, force: bool) -> None:
        """See what stands. Nothing is dropped that may be wanted again before there is something new."""
        chosen, repeats = self._by_condition[condition], _repeats(labelled, self._runs)
        evidence, place = _evidence(chosen, condition), (labelled.label, condition)
        found = standing(self._bench.paths.verdict_file(*place), labelled, evidence)
        keys = found.keys if labelled.anew or (force and found.other is not None) else None
        if keys is None:
            keys = settled(self._bench, labelled, condition, evidence)
        else:
            wanted = {(one.episode_id, run) for one in chosen for run in range(1, repeats + 1)}
            self._beside[place] = keys & wanted if labelled.anew else set()
            keys = keys - self._beside[place]
        self._done[place] = keys
        here = {entry.episode_id for entry in chosen}
        kept = sum(1 for episode_id, run in keys if run <= repeats and episode_id in here)
        self.asked[place].kept = kept
        self.asked[place].undecided = sum(
            1 for episode_id, run in keys & found.undecided if run <= repeats and episode_id in here
        )
        self._watch.tick(f"{labelled.label} {condition}", items=kept)

    def todo(self, judges: Sequence[Labelled]) -> Iterator[_Call]:
        """What is still to be asked: all judges and runs of a package one after the other."""
        for condition, chosen in self._by_condition.items():
            asking = [one for one in judges if self.asked[one.label, condition].supported]
            for entry in chosen:
                shown = _Shown(self._bench, entry)
                for labelled in asking:
                    done = self._done[labelled.label, condition]
                    for run in range(1, _repeats(labelled, self._runs) + 1):
                        if (entry.episode_id, run) not in done:
                            yield _Call(labelled, shown, run)

    async def work(self, source: Iterator[_Call], interrupts: Interrupts) -> None:
        """Make one call after the other until there are no more, or no more are wanted."""
        while not interrupts.seen and (call := next(source, None)) is not None:
            await self._one(call)

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        for place, left in self._beside.items():
            self.asked[place].dropped = take_over(self._bench, *place)
            self.asked[place].old = len(left)
        answered = {label for label, _ in self._beside} & {label for label, _ in self._files}
        if answered:
            told = {one.label: one.settings for one in self._judges if one.label in answered}
            self._bench.update_lock(judges=told)

    async def _one(self, call: _Call) -> None:
        labelled, entry = call.labelled, call.shown.entry
        asked = self.asked[labelled.label, entry.condition]
        started, at = time.monotonic(), now()
        try:
            reply = await labelled.judge.judge(call.shown.for_one(), call.run)
            latency_s = time.monotonic() - started
            line = lines.line(self._bench.paths, labelled, entry, call.run, reply, at, latency_s)
        except CallError as exc:
            if exc.kind != "stopped":  # by ctrl-C: nothing has failed, and the same command goes on with it
                self._failed(call, asked, exc)
        except (Exception, SystemExit) as exc:  # a judge is anybody's code: one failure never stops the rest
            self._failed(call, asked, exc)
        else:
            self._append((labelled.label, entry.condition), line)
            asked.new += 1
            asked.undecided += undecided(line)
        self._watch.tick(f"{labelled.label} {entry.condition} {entry.episode_id}")

    def _append(self, place: tuple[str, str], line: VerdictLine) -> None:
        beside, paths = self._beside.get(place), self._bench.paths
        if place not in self._files:
            path = paths.verdict_file(*place) if beside is None else paths.verdicts_anew(*place)
            self._files[place] = Appender(path)
        self._files[place].append(line)
        if beside is not None:
            beside.discard((line.episode_id, line.run))

    def _failed(self, call: _Call, asked: Asked, exc: BaseException) -> None:
        labelled, entry = call.labelled, call.shown.entry
        known = isinstance(exc, Unavailable | CallError | InputError)
        why = f"the judge failed: {type(exc).__name__}: {exc}"
        if isinstance(exc, PyriteError):
            why = f"{exc.what}; {exc.next}" if exc.next else exc.what
        if isinstance(exc, CallError):
            why = f"{exc.kind}: {why}"
        said = str(exc) if known else "".join(traceback.format_exception(exc))
        if labelled.calls is not None:
            why, said = labelled.calls.redact(why), labelled.calls.redact(said)
        why, said = (redact(text, keys_of_environment()) for text in (why, said))  # of anybody's code
        why = why[:200]
        if isinstance(exc, Declined):
            asked.declined[why] = asked.declined.get(why, 0) + 1
            return
        if why not in asked.why_missing and len(asked.why_missing) >= MOST_REASONS:
            why = "other reasons: see log.txt"
        asked.missing += 1
        asked.why_missing[why] = asked.why_missing.get(why, 0) + 1
        if asked.why_missing[why] <= MOST_LOGGED:
            place = f"{labelled.label} {entry.condition} {entry.episode_id} run {call.run}"
            self._bench.log(f"judge {place}: {said}")


def _repeats(labelled: Labelled, runs: int) -> int:
    return 1 if labelled.judge.deterministic else runs


def _evidence(entries: Sequence[EvidenceEntry], condition: str) -> Mapping[str, str]:
    """Episode -> the sha256 of its package in a condition."""
    return {entry.episode_id: entry.evidence_sha256 for entry in entries if entry.condition == condition}
