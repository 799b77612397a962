"""Record episodes of a suite: those of named agents, or the whole set that a plan describes."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import pyrite
from pyrite.episodes import jobs, plans
from pyrite.episodes.jobs import Job, Recording
from pyrite.errors import UsageError
from pyrite.pool import Silent, Watch
from pyrite.records import SCHEMA_VERSION
from pyrite.sandbox import backends
from pyrite.stages import card
from pyrite.stages import held as holding
from pyrite.stages.held import Chosen
from pyrite.stages.plan import new_bench
from pyrite.store.bench import Bench
from pyrite.suites.lookup import Lookup, Origin, matching, open_origin
from pyrite.truth.verify import verify
from pyrite.truth.verify_report import VerifyReport


class Each(Protocol):
    """Who is told of the stages of a run: does the work of each, under a watch."""

    def __call__(self, name: str, work: Callable[[Watch], Any], /) -> Any: ...


def silently(name: str, work: Callable[[Watch], Any], /) -> Any:
    """Nobody is told."""
    return work(Silent())


@dataclass(frozen=True)
class Filmed:
    """What a plan has recorded."""

    recorded: Recording
    perturbed: Recording | None = None
    """None, like what follows, where it was only asked what would be recorded."""
    verified: VerifyReport | None = None
    card: Path | None = None

    @property
    def lost(self) -> int:
        """Episodes whose sandbox was lost on the way."""
        return sum(one.lost for one in (self.recorded, self.perturbed) if one is not None)

    def as_json(self) -> dict[str, Any]:
        """All of it as one document."""
        return {
            "schema_version": SCHEMA_VERSION,
            "recorded": asdict(self.recorded),
            "perturbed": None if self.perturbed is None else asdict(self.perturbed),
            "verified": None if self.verified is None else self.verified.as_json(),
            "card": self.card,
        }


def record(
    origin: Origin,
    chosen: Chosen,
    root: Path,
    planned: Sequence[Job],
    *,
    seed: int,
    backend: str,
    workers: int,
    force: bool,
    watch: Watch | None,
) -> Recording:
    """Record what is planned into a bench, which is made where there is none."""
    bench = Bench.create(root)
    with bench.exclusive():
        _begin(bench, origin, chosen, planned, seed=seed, backend=backend, force=force)
        done = jobs.carry_out(bench, planned, workers=workers, backend=backend, watch=watch)
        return chosen.told(done)


def record_plan(
    suite: str,
    out: Path | None = None,
    *,
    plan: str = "full",
    only: str = "*",
    per_family: int | None = None,
    limit: int | None = None,
    seed: int = 0,
    workers: int = 1,
    backend: str = backends.LOCAL,
    dry_run: bool = False,
    force: bool = False,
    skip_held: Path | None = None,
    each: Each = silently,
) -> Filmed:
    """Record the set of a plan, inject its defects, verify all, and write its card, CARD.md.

    What is there already is kept, unless its task was changed since. `limit`: at most so many episodes of
    agents, and as many of defects. Raises `UsageError` for an unknown plan, and for another seed or backend
    than the bench's.
    """
    if plan not in plans.PLANS:
        raise UsageError(f"no plan {plan!r}", expected=", ".join(plans.PLANS))
    origin, root = open_origin(suite), out or new_bench(suite)
    drawn, whole = (
        plans.sampled(matching(origin, names), per_family or plans.PER_FAMILY, seed) for names in (only, "*")
    )
    chosen = holding.split(drawn, skip_held)
    asked = plans.jobs_of(plans.recorded(chosen.tasks, seed, whole), root, seed)[:limit]
    if dry_run:
        if root.is_dir():
            refuse_others(Bench(root), seed=seed, backend=backend, force=force)
        return Filmed(chosen.told(jobs.dry(root, asked)))
    bench = Bench.create(root)

    def film(todo: Sequence[Job], watch: Watch) -> Recording:
        return jobs.carry_out(bench, todo, workers=workers, backend=backend, watch=watch)

    with bench.exclusive():
        _begin(bench, origin, chosen, asked, seed=seed, backend=backend, force=force)
        acted = each("record", lambda watch: film(asked, watch))
        found, _ = jobs.plan_perturbed(bench, Lookup(bench), "all")
        defects = plans.chosen_defects(found, {task_id for _, task_id in chosen.tasks})[:limit]
        injected = each("perturb", lambda watch: film(defects, watch))
        verified = each("verify", lambda watch: verify(bench, Lookup(bench).task, jobs=workers, watch=watch))
        written = each("card", lambda watch: card.write(bench, plan))
    return Filmed(chosen.told(acted), injected, verified, written)


def _begin(
    bench: Bench,
    origin: Origin,
    chosen: Chosen,
    planned: Sequence[Job],
    *,
    seed: int,
    backend: str,
    force: bool,
) -> None:
    """Say in lock.json what is recorded and held back; refuses another seed or backend than the bench's."""
    refuse_others(bench, seed=seed, backend=backend, force=force)
    if not all(map(jobs.finished, planned)):
        backends.make(backend)  # before it is written down, and before workers are started
    bench.update_lock(pyrite=pyrite.__version__, python=platform.python_version())
    bench.update_lock(seed=seed, backend=backend)
    bench.update_lock(suites=origin.resolved())
    chosen.hold(bench)


def refuse_others(bench: Bench, *, seed: int, backend: str, force: bool) -> None:
    """Raise `UsageError` where a bench was recorded with another seed or backend."""
    lock = bench.lock()
    kept = backends.LOCAL if bench.episode_ids() else backend  # what lock.json does not say was recorded here
    _refuse_other(bench, "seed", lock.get("seed", seed), seed, force=force)
    _refuse_other(bench, "backend", lock.get("backend", kept), backend, force=force)


def _refuse_other(bench: Bench, what: str, before: object, now: object, *, force: bool) -> None:
    """Refuse to go on with a bench that was recorded with another seed or backend."""
    if before != now and not force:
        command = f"pyrite record SUITE --{what} {now}"
        raise UsageError(
            f"this bench was recorded with {what} {before}, now {what} is {now}",
            where=str(bench.paths.lock),
            expected=f"--{what} {before}, or another bench",
            next=f"{command} -o ANOTHER_FOLDER, or the same command with --force",
        )
