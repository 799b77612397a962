"""Recording as jobs that a worker process can carry out: plain data in, a finished episode out."""

from __future__ import annotations

import re
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pyrite import pool
from pyrite.episodes import labels, messages
from pyrite.episodes.agents import NOT_PERFORMED, Agent, Part
from pyrite.episodes.course import Course, Drifted, Mark, marks
from pyrite.episodes.perturb import OPERATORS, Subject
from pyrite.episodes.record import PARTIAL, Order, episode_id, record_episode
from pyrite.errors import InputError, StartError, UsageError
from pyrite.records import Action, Meta, Outcome
from pyrite.sandbox import backends, desktop
from pyrite.store.bench import Bench
from pyrite.store.held import Held
from pyrite.store.jsonl import read_json
from pyrite.store.paths import BenchPaths, EpisodePaths
from pyrite.suites.lookup import Lookup, Origin
from pyrite.tasks.folder import digest_folder

STARTS = 3
"""How often a desktop is started for an episode before it is given up."""


@dataclass(frozen=True)
class Job:
    """One episode to record; picklable."""

    origin: Origin
    """Where the task comes from."""
    task_id: str
    agent: str
    """Its label; of a perturbed episode the name of the agent that was recorded."""
    order: Order
    folder: Path
    actions: tuple[Action, ...] | None = None
    """A perturbed action list to replay instead of the agent's own choice."""
    message: str | None = None
    marks: tuple[Mark, ...] = ()
    """What the recording showed, up to the defect."""
    backend: str = backends.LOCAL


@dataclass(frozen=True)
class Skipped:
    """A defect that does not apply to an episode, with the reason."""

    episode_id: str
    kind: str
    reason: str


@dataclass(frozen=True)
class Recorded:
    """One episode of a recording: its id, and how it ended (None where it was only planned)."""

    episode_id: str
    task_id: str
    agent: str
    perturbation: str | None
    ended_by: str | None
    seconds: float | None


@dataclass(frozen=True)
class Recording:
    """What was recorded, what was there already, and what does not apply."""

    bench: Path
    new: tuple[Recorded, ...]
    kept: int
    skipped: tuple[Skipped, ...] = ()
    held: tuple[Held, ...] = ()
    """Tasks that a check has found unfit, and that were not run."""
    unchecked: tuple[str, ...] = ()
    """Tasks that were run although that check does not know them."""
    drifted: tuple[Skipped, ...] = ()
    """Replays that left the recorded course before their defect, and were dropped."""
    superseded: tuple[str, ...] = ()
    """Episodes of tasks that were changed since; they lie in the bench's superseded/ now."""

    @property
    def lost(self) -> int:
        """Episodes whose sandbox was lost on the way."""
        return sum(one.ended_by == "environment_lost" for one in self.new)

    def endings(self) -> dict[str, int]:
        """ended_by -> how many."""
        return dict(Counter(one.ended_by or "planned" for one in self.new))


def plan(
    root: Path, tasks: Iterable[tuple[Origin, str]], agents: Sequence[str], *, seed: int, repeats: int
) -> list[Job]:
    """Jobs for every (task, agent, repeat); the ids are the same when the same is asked again."""
    jobs = []
    for origin, task_id in tasks:
        digest = origin.digest(task_id)
        for agent in agents:
            label = labels.parse(agent)
            taken = None if label.weakening is None else label.weakening.text
            for repeat in range(1, repeats + 1):
                name = episode_id(seed, task_id, agent, repeat)
                folder = BenchPaths(root).episode(name).root
                order = Order(name, label.source, seed, weakened=taken, task_digest=digest)
                jobs.append(Job(origin, task_id, agent, order, folder))
    return jobs


def plan_perturbed(bench: Bench, lookup: Lookup, kinds: str) -> tuple[list[Job], list[Skipped]]:
    """Jobs for every recorded episode that passes, and every defect that applies to it.

    Passing is what truth says; of episodes that are not verified yet the scripted ones are taken that ended
    by themselves. Raises `UsageError` for an unknown defect, or where no episode can be perturbed.
    """
    wanted = _known(kinds)
    origins = {task_id: origin for origin, task_id in lookup}
    jobs: list[Job] = []
    skipped: list[Skipped] = []
    metas, broken = _readable(bench)
    parents = [meta for meta in metas if _may_be_perturbed(bench, meta)]
    skipped += broken
    if not parents:
        first = f"; {broken[0].reason}" if broken else ""
        raise UsageError(
            f"no scripted episode that ended by itself, and none that passes{first}",
            where=str(bench.root),
            expected="episodes of the agent scripted to perturb, or verified ones that pass",
            next=f"pyrite record desk --agent scripted -o {bench.root}",
        )
    for meta in parents:
        if meta.task_id not in origins:
            skipped.append(Skipped(meta.episode_id, "all", f"task {meta.task_id} is not known here"))
            continue
        if meta.task_digest not in {None, origins[meta.task_id].digest(meta.task_id)}:
            why = f"task {meta.task_id} was changed since it was recorded: record it anew"
            skipped.append(Skipped(meta.episode_id, "all", why))
            continue
        for kind in wanted:
            try:
                job = _perturbed(bench, meta, origins[meta.task_id], kind)
            except InputError as exc:
                skipped.append(Skipped(meta.episode_id, kind, f"{exc.where}: {exc.what}"))
                continue
            if job is None:
                why = f"there is nothing here that it could change; it needs: {OPERATORS[kind].applies}"
                skipped.append(Skipped(meta.episode_id, kind, why))
            else:
                jobs.append(job)
    return jobs, skipped


def _may_be_perturbed(bench: Bench, meta: Meta) -> bool:
    if meta.parent is not None or meta.weakened is not None or meta.ended_by != "done":
        return False
    try:
        truth = bench.truth(meta.episode_id)
    except InputError:
        truth = None
    if truth is None or truth.outcome is Outcome.INDETERMINATE:
        return meta.agent.name == "scripted"
    return truth.outcome is Outcome.PASS


def _readable(bench: Bench) -> tuple[list[Meta], list[Skipped]]:
    """The metas of a bench, and the episodes whose meta.json cannot be read: they stop nothing."""
    found, broken = [], []
    for name in bench.episode_ids():
        try:
            found.append(bench.meta(name))
        except InputError as exc:
            broken.append(Skipped(name, "all", f"{exc.where}: {exc.what}"))
    return found, broken


def dry(root: Path, jobs: Sequence[Job], skipped: Sequence[Skipped] = ()) -> Recording:
    """What would be recorded."""
    todo = [job for job in jobs if not finished(job)]
    planned = tuple(
        Recorded(j.order.episode_id, j.task_id, j.agent, j.order.perturbation, None, None) for j in todo
    )
    return Recording(root, planned, len(jobs) - len(todo), tuple(skipped))


def carry_out(
    bench: Bench,
    jobs: Sequence[Job],
    skipped: Sequence[Skipped] = (),
    *,
    workers: int = 1,
    backend: str = backends.LOCAL,
    watch: pool.Watch | None = None,
) -> Recording:
    """Record what is not there yet; every finished episode stays, whatever happens next."""
    aside = set_aside(bench, jobs)
    todo = [replace(job, backend=backend) for job in jobs if not finished(job)]
    watch = watch or pool.Silent()
    watch.total = len(todo)
    new: list[Recorded] = []
    drifted: list[Skipped] = []
    desktop.sweep()
    for leftover in bench.paths.episodes.glob(f".*{PARTIAL}"):
        shutil.rmtree(leftover)
    for job in todo:
        _keep_folder_task(bench, job)
    for job, (meta, seconds) in pool.run(record_job, todo, jobs=workers):
        if isinstance(meta, Drift):
            kind = job.order.perturbation or ""
            drifted.append(Skipped(job.order.episode_id, kind, f"of {job.order.parent}: {meta.why}"))
            watch.tick(f"{job.task_id} {kind}: dropped, {meta.why}")
            continue
        new.append(
            Recorded(meta.episode_id, job.task_id, job.agent, job.order.perturbation, meta.ended_by, seconds)
        )
        watch.tick(f"{job.task_id} {job.order.perturbation or job.agent}: {meta.ended_by}, {seconds:.1f} s")
    return Recording(
        bench.root,
        tuple(new),
        len(jobs) - len(todo),
        tuple(skipped),
        drifted=tuple(drifted),
        superseded=tuple(aside),
    )


@dataclass(frozen=True)
class Drift:
    """A replay that was dropped, and why."""

    why: str


def record_job(job: Job) -> tuple[Meta | Drift, float]:
    """Carry out one job in this process; also its wall time in seconds.

    A desktop that does not come up is started anew, twice; then its `StartError` ends the recording.
    """
    began = time.monotonic()
    for left in range(STARTS - 1, -1, -1):
        try:
            return _recorded(job), time.monotonic() - began
        except StartError:
            if not left:
                raise
            time.sleep(STARTS - left)
    raise AssertionError("every start was tried")


def _recorded(job: Job) -> Meta | Drift:
    try:
        backend = backends.make(job.backend)
        return record_episode(backend, job.origin.task(job.task_id), _agent(job), job.order, job.folder)
    except Drifted as exc:
        return Drift(str(exc))


def _agent(job: Job) -> Agent:
    if job.actions is not None:
        return Course(job.agent, job.actions, job.message, marks=job.marks)
    label = labels.parse(job.agent)
    script, claim = job.origin.script(job.task_id) if label.takes_part else ((), "")
    return labels.make(label, Part(script, claim, job.order.episode_id))


def _perturbed(bench: Bench, meta: Meta, origin: Origin, kind: str) -> Job | None:
    lines = [
        line
        for line in bench.actions(meta.episode_id)
        if line.action not in {"done", "fail", "answer", NOT_PERFORMED}
    ]
    recorded = [Action(action=line.action, **line.visible_parameters()) for line in lines]
    spec, operator = origin.task(meta.task_id).spec, OPERATORS[kind]
    files = tuple(file.path for file in spec.initial.files)
    app = "" if spec.initial.open is None else spec.initial.open.app
    page = (
        spec.initial.open.args[0] if app == "kontor" and spec.initial.open and spec.initial.open.args else ""
    )
    actions = operator(Subject(recorded, spec.instruction, files, app, page))
    if actions is None:
        return None
    name, seed = episode_id(meta.episode_id, kind), meta.agent.seed or 0
    claim = origin.script(meta.task_id)[1]
    said = (
        messages.of_kind("asserts", claim, seed, name)
        if operator.claims
        else messages.draw(claim, seed, name)
    )
    order = Order(
        name,
        "perturbed",
        seed,
        parent=meta.episode_id,
        perturbation=kind,
        message_kind=said.kind,
        task_digest=origin.digest(meta.task_id),
    )
    return Job(
        origin,
        meta.task_id,
        meta.agent.name,
        order,
        bench.paths.episode(name).root,
        tuple(actions),
        said.text,
        marks(bench.paths.episode(meta.episode_id).root, lines, actions),
    )


def _known(kinds: str) -> list[str]:
    names = list(OPERATORS) if kinds == "all" else [k.strip() for k in kinds.split(",") if k.strip()]
    unknown = [name for name in names if name not in OPERATORS]
    if unknown or not names:
        raise UsageError(f"unknown defect {(unknown or [kinds])[0]!r}", expected=", ".join(OPERATORS))
    return names


def finished(job: Job) -> bool:
    """Whether an episode is there that was recorded from the task as it is now."""
    if not (job.folder / "meta.json").is_file():
        return False
    return _task_digest(job.folder) in {None, job.order.task_digest}


def _task_digest(folder: Path) -> str | None:
    """What stands in a meta.json of the task it was recorded from; None where nothing does."""
    try:
        found = read_json(EpisodePaths(folder).meta)
    except InputError:
        return None
    told = found.get("task_digest") if isinstance(found, dict) else None
    return told if isinstance(told, str) else None


def set_aside(bench: Bench, jobs: Sequence[Job]) -> list[str]:
    """Move the episodes of tasks that were changed since out of the way; nothing is deleted."""
    current = {job.task_id: job.order.task_digest for job in jobs}
    moved = []
    for name in bench.episode_ids():
        folder = bench.paths.episode(name).root
        told = _task_digest(folder)
        if told is None or told == current.get(_task_of(folder), told):
            continue
        goal = bench.paths.superseded / f"{name}.{re.sub(r'[^0-9a-f]', '', told)[:8]}"
        shutil.rmtree(goal, ignore_errors=True)
        goal.parent.mkdir(exist_ok=True)
        folder.rename(goal)
        moved.append(name)
    return moved


def _task_of(folder: Path) -> str:
    return str(read_json(EpisodePaths(folder).meta).get("task_id"))


def _keep_folder_task(bench: Bench, job: Job) -> None:
    """A bench keeps the folder tasks it was recorded from, so that it can be verified anywhere.

    Raises `UsageError` where the bench holds another version of the task.
    """
    if job.origin.folder is None:
        return
    source, goal = job.origin.folder / job.task_id, bench.paths.tasks / job.task_id
    if goal.exists():
        if digest_folder(goal) != digest_folder(source):
            raise UsageError(
                f"task {job.task_id} was changed since this bench was recorded",
                where=str(source),
                expected=f"the same files as in {goal}",
                next="record into a new bench with -o",
            )
        return
    partial = goal.with_name(f".{goal.name}{PARTIAL}")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(source, partial, symlinks=True)
    partial.rename(goal)
