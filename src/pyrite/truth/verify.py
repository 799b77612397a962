"""Verify a bench: replay each task's known states, then decide every episode, one gt.json each.

The only writer of gt.json. Each is written whole or not at all and only where its answer is new, so
a killed run goes on where it stopped, and one that is run again leaves every byte as it was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path

from pyrite import pool
from pyrite.errors import InputError, UsageError
from pyrite.pool import Silent, Watch
from pyrite.records import BLAME, Meta, Outcome, Truth
from pyrite.sandbox import confine, desktop, forkserver
from pyrite.store.bench import Bench
from pyrite.store.jsonl import write_bytes, write_record
from pyrite.tasks.task import Task
from pyrite.truth import active, bugs, kept
from pyrite.truth.decide import (
    Decided,
    Job,
    broken,
    decide,
    host_image,
    state_sha256,
    without_truth,
)
from pyrite.truth.replay import ReplayResult, replay
from pyrite.truth.verify_report import NO_TRUTH, Moved, VerifyReport

_SILENT = Silent()

OF_THE_VERIFIER = frozenset(cause for cause in BLAME if cause.startswith("verifier_"))
"""Causes that say something of the verifier on this very state; the others come from elsewhere."""

_ANSWERS = OF_THE_VERIFIER - {"verifier_timeout"}
"""Of those, what is an answer: a busy machine alone can make a verifier late."""

ASKED = 2
"""How often each end state is verified: an answer by chance or by the clock shows as another one."""

MOST_TOGETHER = 4
"""Episodes of one task that a worker decides before it hands them over; ctrl-C waits for them."""


def verify(
    bench: Bench,
    lookup: Callable[[str], Task | None],
    *,
    jobs: int | None = None,
    image: str | None = None,
    force: bool = False,
    runs: int = ASKED,
    watch: Watch = _SILENT,
) -> VerifyReport:
    """Decide every episode of a bench and write gt.json where the answer is new.

    `lookup` finds a task by its id. `image` names what the states are replayed on (default: what is
    installed here). A replay of today holds (`truth.kept`); `force` replays anew, and verifies again what
    has an answer. `runs` verifies each end state that often. The caller holds `bench.exclusive()`. Raises
    `UsageError` where a task is not found and where there is no episode; `SandboxError` where nothing can
    be run.
    """
    ids = bench.require_episodes()
    _sweep(bench, ids)
    report = VerifyReport(bench.root, episodes=len(ids), confinement=confine.what_holds())
    metas = _metas(bench, ids, report)
    tasks = _tasks(bench, metas, lookup)
    metas, tasks, imported = _with_verifier(metas, tasks)
    report.without_truth = len(imported)
    watch.total = len(tasks) + len(ids)
    for episode_id in report.broken:
        _settle(bench, Decided(broken(bench, episode_id, report.broken[episode_id])), report)
        watch.tick(episode_id)
    for episode_id in imported:
        _settle(bench, Decided(without_truth(episode_id, NO_TRUTH)), report)
        watch.tick(episode_id)
    image = image or host_image()
    portions = tuple(_portions(bench, metas, tasks, image, force, runs))
    work = _Work(bench, portions, report, watch, jobs)
    replays, begun = _replays(work, tasks, image, force=force)
    _decide_rest(work, [portion for portion in portions if portion.episodes not in begun], replays)
    forkserver.close()  # where this process did the work itself, its servers are not needed any more
    return report


@dataclass(frozen=True)
class Portion:
    """Some episodes of one task, and how they are to be decided."""

    bench: Path
    task: Task
    verifier_sha256: str
    image: str
    episodes: tuple[str, ...]
    force: bool
    runs: int

    def jobs(self, replay: ReplayResult) -> tuple[Job, ...]:
        """What has no answer yet that holds after this replay."""
        bench = Bench(self.bench)
        found = []
        for episode_id in self.episodes:
            paths = bench.paths.episode(episode_id)
            job = Job(
                self.bench,
                episode_id,
                self.task,
                self.verifier_sha256,
                state_sha256(paths.final_state),
                replay,
                self.runs,
                active.digest(paths) if self.task.spec.act else None,
            )
            earlier = None if self.force else _earlier(bench, episode_id)
            if earlier is None or not _stands(earlier, job):
                found.append(job)
        return tuple(found)


@dataclass(frozen=True)
class _Work:
    """What one verification has to do."""

    bench: Bench
    portions: tuple[Portion, ...]
    report: VerifyReport
    watch: Watch
    workers: int | None

    def take(self, episodes: Sequence[str], decided: Sequence[Decided]) -> None:
        """Write what was decided; the other episodes have an answer that stands."""
        for one in decided:
            _settle(self.bench, one, self.report)
            self.watch.tick(f"{one.truth.episode_id} {one.truth.outcome}")
        written = {one.truth.episode_id for one in decided}
        for episode_id in episodes:
            if episode_id in written:
                continue
            if (standing := _earlier(self.bench, episode_id)) is not None:
                _count(standing, self.report)
            self.report.untouched += 1
            self.watch.tick(episode_id)


def _portions(
    bench: Bench, metas: list[Meta], tasks: dict[str, Task], image: str, force: bool, runs: int
) -> Iterator[Portion]:
    """The episodes, a few of one task at a time: those share the server of its verifier."""
    for task_id, own in groupby(sorted(metas, key=_task_id), key=_task_id):
        task, episodes = tasks[task_id], (meta.episode_id for meta in own)
        digest = task.verifier_sha256()
        while some := tuple(islice(episodes, MOST_TOGETHER)):
            yield Portion(bench.root, task, digest, image, some, force, runs)


def _task_id(meta: Meta) -> str:
    return meta.task_id


_Replays = tuple[dict[str, ReplayResult], set[tuple[str, ...]]]
"""Replays by task, and the portions that were decided with them."""


def _replays(work: _Work, tasks: dict[str, Task], image: str, *, force: bool) -> _Replays:
    """Replay what was not replayed today, keep each as soon as it is done, and list what is wrong.

    Whoever replays a task decides its first episodes too, while the server of its verifier is there.
    """
    bench, report = work.bench, work.report
    found: dict[str, ReplayResult] = {}
    for task_id, task in tasks.items():
        earlier = None if force else kept.find(bench, task, image)
        if earlier is not None:
            found[task_id] = earlier
            work.watch.tick(_replayed(earlier) + " (earlier today)")
    report.kept_replays = len(found)
    firsts = {portion.task.spec.task_id: portion for portion in reversed(work.portions)}
    owed = [firsts[task_id] for task_id in tasks if task_id not in found]
    for portion, (result, decided) in pool.run(
        replay_and_decide, owed, jobs=_workers(work.workers, len(owed)), preload=(__name__,)
    ):
        kept.keep(bench, portion.task, result)
        found[result.task_id] = result
        work.watch.tick(_replayed(result))
        work.take(portion.episodes, decided)
    report.replays = [found[task_id] for task_id in sorted(found)]
    report.bugs, problem = bugs.enter(bench, tasks, report.replays)
    if problem:
        report.problems.append(problem)
    return found, {portion.episodes for portion in owed}


def replay_and_decide(portion: Portion) -> tuple[ReplayResult, list[Decided]]:
    """What a task's known states showed, in the light of today's earlier replays, and what follows."""
    fresh = replay(portion.task, image=portion.image)
    result = kept.with_earlier(Bench(portion.bench), portion.task, portion.image, fresh)
    return result, decide_all(portion.jobs(result))


def _replayed(result: ReplayResult) -> str:
    return f"replayed {result.task_id}" + (f": {result.cause}" if result.cause else "")


def _sweep(bench: Bench, ids: list[str]) -> None:
    """Remove what a killed run left, also where nothing is left to do.

    Its halves: nobody else writes, since the caller holds the bench. Its temporary folders.
    """
    desktop.sweep()
    for episode_id in ids:
        for half in bench.paths.episode(episode_id).root.glob(".gt.*.partial"):
            half.unlink(missing_ok=True)


def _metas(bench: Bench, ids: list[str], report: VerifyReport) -> list[Meta]:
    """The metas that can be read; the others go into the report."""
    metas = []
    for episode_id in ids:
        try:
            metas.append(bench.meta(episode_id))
        except InputError as exc:
            report.broken[episode_id] = f"meta.json: {exc.what}"
    return metas


def _tasks(bench: Bench, metas: list[Meta], lookup: Callable[[str], Task | None]) -> dict[str, Task]:
    """Every task of the bench by id; all of those that are not found are named at once."""
    wanted = sorted({meta.task_id for meta in metas})
    found = {task_id: lookup(task_id) for task_id in wanted}
    missing = [task_id for task_id, task in found.items() if task is None]
    if missing:
        episodes = sum(1 for meta in metas if meta.task_id in missing)
        named = ", ".join(missing[:10]) + (f" and {len(missing) - 10} more" if len(missing) > 10 else "")
        raise UsageError(
            f"no task for {episodes} of {len(metas)} episodes: {named}",
            where=str(bench.root),
            expected=f"each task in {bench.paths.tasks}, in a suite of lock.json, or in a folder of --tasks",
            next=f"pyrite verify {bench.root} --tasks FOLDER_OF_TASKS",
        )
    return {task_id: task for task_id, task in found.items() if task is not None}


def _with_verifier(
    metas: list[Meta], tasks: dict[str, Task]
) -> tuple[list[Meta], dict[str, Task], list[str]]:
    """Without imported episodes, and those: there is nothing to replay in them, and no task to blame."""
    asked = {task_id: task for task_id, task in tasks.items() if task.spec.truth == "verifier"}
    imported = [meta.episode_id for meta in metas if meta.task_id not in asked]
    return [meta for meta in metas if meta.task_id in asked], asked, imported


def _workers(jobs: int | None, items: int) -> int | None:
    """One item needs no other process."""
    return 1 if items <= 1 else jobs


def _decide_rest(work: _Work, rest: list[Portion], replays: dict[str, ReplayResult]) -> None:
    """Decide what was not decided with a replay; what stands is not handed out."""

    def owed() -> Iterator[tuple[Job, ...]]:
        for portion in rest:
            jobs = portion.jobs(replays[portion.task.spec.task_id])
            new = {job.episode_id for job in jobs}
            work.take([one for one in portion.episodes if one not in new], ())
            if jobs:
                yield jobs

    jobs = _workers(work.workers, sum(len(portion.episodes) for portion in rest))
    for together, decided in pool.run(decide_all, owed(), jobs=jobs, preload=(__name__,)):
        work.take([job.episode_id for job in together], decided)


def decide_all(jobs: tuple[Job, ...]) -> list[Decided]:
    """The outcomes of episodes, one after the other."""
    return [decide(job) for job in jobs]


def _earlier(bench: Bench, episode_id: str) -> Truth | None:
    """The gt.json that is there; None where there is none or it is not one of ours."""
    try:
        return bench.truth(episode_id)
    except InputError:
        return None


def _stands(earlier: Truth, job: Job) -> bool:
    """Whether an earlier answer still holds: same verifier, same state, and today's replay agrees."""
    own = (job.verifier_sha256, job.state_sha256, job.acted_sha256)
    if (earlier.verifier_sha256, earlier.state_sha256, earlier.acted_sha256) != own:
        return False
    if job.replay.cause is not None:
        return earlier.cause == job.replay.cause
    return is_answer(earlier)


def is_answer(truth: Truth) -> bool:
    """Whether this is the verifier's own answer about this state, and not a replay's or a slow machine's."""
    if truth.cause is None:
        return True
    believed = truth.replay is not None and "indeterminate" not in truth.replay.outcomes.values()
    return truth.cause in _ANSWERS and believed


def _settle(bench: Bench, decided: Decided, report: VerifyReport) -> None:
    """Write an answer where it is new, keep what it supersedes, and count it."""
    truth = decided.truth
    report.problems += [f"episode {truth.episode_id}: {problem}" for problem in decided.problems]
    if decided.log:
        bench.log(f"verify {truth.episode_id}, the verifier printed:\n{decided.log}")
    path = bench.paths.episode(truth.episode_id).truth
    earlier = _earlier(bench, truth.episode_id)
    if earlier is not None:
        truth = _reconciled(earlier, truth)
        if _said(earlier) == _said(truth):
            report.untouched += 1
            _count(earlier, report)
            return
    if path.is_file():
        kept = _keep(bench, truth.episode_id, earlier, truth)
        report.superseded += 1
        if earlier is not None and earlier.outcome is not truth.outcome:
            report.moved.append(Moved(truth.episode_id, _shown(earlier), _shown(truth), kept))
    write_record(path, truth)
    report.written += 1
    _count(truth, report)


def _reconciled(earlier: Truth, truth: Truth) -> Truth:
    """Same verifier, same state, another answer: then neither is one, whatever it says from now on."""
    own = (truth.verifier_sha256, truth.state_sha256, truth.acted_sha256)
    same = (earlier.verifier_sha256, earlier.state_sha256, earlier.acted_sha256) == own
    answers = is_answer(earlier) and is_answer(truth)
    if not same or not answers or _answer(earlier) == _answer(truth):
        return truth
    cause = "verifier_not_deterministic"
    return truth.model_copy(
        update={
            "outcome": Outcome.INDETERMINATE,
            "passed": None,
            "category": None,
            "category_source": None,
            "candidates": (),
            "cause": cause,
            "blame": BLAME[cause],
            "diagnostics": {
                "problem": f"earlier {_shown(earlier)}, now {_shown(truth)}, with the same verifier and state"
            },
        }
    )


def _answer(truth: Truth) -> tuple[object, ...]:
    """What the verifier alone answers for."""
    return truth.outcome, truth.cause, frozenset(truth.candidates)


def _said(truth: Truth) -> tuple[object, ...]:
    """What makes a gt.json another one; times, logs and versions do not."""
    own = (truth.verifier_sha256, truth.state_sha256, truth.acted_sha256)
    return (*_answer(truth), truth.category, *own)


def _shown(truth: Truth) -> str:
    return truth.cause or str(truth.outcome)


def _keep(bench: Bench, episode_id: str, earlier: Truth | None, truth: Truth) -> str:
    """Copy gt.json to gt.<sha8>.json: of the verifier or state that is another one now, else of its bytes."""
    paths = bench.paths.episode(episode_id)
    data = paths.truth.read_bytes()
    own = hashlib.sha256(data).hexdigest()
    sha = own
    if earlier is not None and earlier.verifier_sha256 not in {None, truth.verifier_sha256}:
        sha = str(earlier.verifier_sha256)
    elif earlier is not None and earlier.state_sha256 not in {None, truth.state_sha256}:
        sha = str(earlier.state_sha256)
    target = paths.earlier_truth(sha)
    if target.exists() and target.read_bytes() != data:
        target = paths.earlier_truth(own)
    write_bytes(target, data)
    return target.name


def _count(truth: Truth, report: VerifyReport) -> None:
    report.outcomes[truth.outcome] += 1
    if truth.cause is not None:
        report.causes[truth.cause] += 1
