"""What a run would cost, before anything of it is done: episodes, packages, images, verdicts.

Reads only. What depends on episodes that are not recorded yet is None, never a guess.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyrite.episodes import jobs
from pyrite.errors import UsageError
from pyrite.evidence import conditions, packing
from pyrite.evidence.conditions import Condition
from pyrite.judges import labels, ocr, runner
from pyrite.judges.ocr import batch
from pyrite.records import EvidenceEntry
from pyrite.report.numbers import count
from pyrite.stages.plan import LeftOut, Plan, changes
from pyrite.store.bench import Bench
from pyrite.suites.lookup import Lookup, matching, open_origin
from pyrite.truth.settled import undecided


@dataclass(frozen=True)
class Work:
    """Items of one stage: to do and there already. `todo` None: known after an earlier stage."""

    todo: int | None
    done: int
    note: str = ""


@dataclass(frozen=True)
class Price:
    """What would be done, a stage at a time."""

    bench: str
    record: Work
    perturb: Work
    verify: Work
    pack: Work
    images: int | None
    """Screens in the packages, repeats counted; None where an episode is not recorded yet."""
    judge: Work
    judges: dict[str, Work]
    """Verdicts by judge."""
    readings: Work | None
    """Screens for screen-rules to read; None where it is not asked."""
    changes: tuple[str, ...]
    """Options in which the bench differs: the run would be refused without --force."""
    left_out: tuple[LeftOut, ...]


def price(plan: Plan) -> Price:
    """The price of a plan; raises `UsageError` where there is no bench and nothing to record."""
    bench = Bench(plan.root) if (plan.root / "episodes").is_dir() or not plan.agents else None
    here = bench.episode_ids() if bench is not None else []
    if bench is not None and not plan.agents:
        bench.require_episodes()
    recording = _recording(plan)
    perturbing = _perturbing(plan, bench, recording.todo or 0)
    coming = None if perturbing.todo is None else (recording.todo or 0) + perturbing.todo
    owed = len(undecided(bench, Lookup(bench, plan.tasks).task)) if bench is not None and here else 0
    wanted = [conditions.parse(name) for name in plan.conditions]
    entries = _entries(bench, here, wanted)
    all_episodes = None if coming is None else len(here) + coming
    by_judge = _verdicts(plan, bench, entries, all_episodes)
    return Price(
        bench=str(plan.root),
        record=recording,
        perturb=perturbing,
        verify=Work(None if coming is None else owed + coming, len(here) - owed),
        pack=Work(None if all_episodes is None else all_episodes * len(wanted) - len(entries), len(entries)),
        images=None if coming != 0 or bench is None else _images(bench, here, wanted),
        judge=Work(
            None if all_episodes is None else sum(one.todo or 0 for one in by_judge.values()),
            sum(one.done for one in by_judge.values()),
        ),
        judges=by_judge,
        readings=_readings(plan, bench, entries),
        changes=tuple(changes(plan)),
        left_out=plan.left_out,
    )


def _recording(plan: Plan) -> Work:
    asked = plan.config.asked
    if not plan.agents or asked.suite is None:
        return Work(0, 0, "no suite is named")
    tasks = matching(open_origin(asked.suite), asked.only)
    planned = jobs.plan(plan.root, tasks, plan.agents, seed=asked.seed, repeats=asked.episodes_per_task)
    found = jobs.dry(plan.root, planned)
    note = f"{count(len(tasks), 'task')} x {count(len(plan.agents), 'agent')} x {asked.episodes_per_task}"
    return Work(len(found.new), found.kept, note)


def _perturbing(plan: Plan, bench: Bench | None, coming: int) -> Work:
    if not plan.kinds:
        return Work(0, 0, "no defect is named")
    if coming or bench is None:
        return Work(None, 0, "known when the episodes are recorded")
    try:
        planned, skipped = jobs.plan_perturbed(bench, Lookup(bench, plan.tasks), ",".join(plan.kinds))
    except UsageError as exc:
        return Work(None, 0, exc.what)
    found = jobs.dry(bench.root, planned, skipped)
    return Work(len(found.new), found.kept, f"{len(skipped)} do not apply")


def _entries(bench: Bench | None, here: list[str], wanted: list[Condition]) -> list[EvidenceEntry]:
    """The packages that are there, of the episodes and conditions that count."""
    if bench is None:
        return []
    names, known = {condition.name for condition in wanted}, set(here)
    return [
        entry
        for entry in packing.index(bench).values()
        if entry.condition in names and entry.episode_id in known
    ]


def _verdicts(
    plan: Plan, bench: Bench | None, entries: list[EvidenceEntry], all_episodes: int | None
) -> dict[str, Work]:
    found = {}
    for label, runs in plan.judges.items():
        made = labels.make(label)
        standing = 0
        if bench is not None and entries:
            standing = sum(
                one.kept for one in runner.dry(bench, [made], entries, list(plan.conditions), runs=runs).asked
            )
        repeats = 1 if made.judge.deterministic else runs
        taken = sum(made.judge.supports(name) for name in plan.conditions)
        todo = None if all_episodes is None else all_episodes * repeats * taken - standing
        note = f"{count(repeats, 'run')}, takes {taken} of {count(len(plan.conditions), 'condition')}"
        found[label] = Work(todo, standing, note)
    return found


def _images(bench: Bench, here: list[str], wanted: list[Condition]) -> int:
    """Screens in all packages, from the action lists alone."""
    total = 0
    for episode_id in here:
        screens = sum(line.screen is not None for line in bench.actions(episode_id))
        folder = bench.paths.episode(episode_id).screens
        screens += any((folder / name).is_file() for name in ("000.webp", "000.png"))
        total += sum(screens if c.last_screens is None else min(screens, c.last_screens) for c in wanted)
    return total


def _readings(plan: Plan, bench: Bench | None, entries: list[EvidenceEntry]) -> Work | None:
    """Screens that judges will have read by OCR; of packages that are not there yet nothing is known."""
    if bench is None:
        return None
    wanted: set[batch.Screen] = set()
    needed: set[batch.Screen] = set()
    reading = 0
    for label, runs in plan.judges.items():
        labelled = labels.make(label)
        judge, taken = labelled.judge, [one for one in entries if labelled.judge.supports(one.condition)]
        if batch.reads(judge):
            reading += 1
            wanted.update(batch.to_read(bench, judge, taken))
            needed.update(batch.to_read(bench, judge, runner.unanswered(bench, labelled, taken, runs=runs)))
    if not reading:
        return None
    todo = sum(not ocr.is_recorded(screen.key, name=screen.engine) for screen in needed)
    return Work(todo, len(wanted) - todo, "of the packages that are there")
