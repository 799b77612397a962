"""Train orm-lite on packed, verified benches: join evidence and truth, split by family, fit, write a card.

Nothing but what a judge sees becomes a feature. Whole families are held out, and the figures on the card are
of those; source and category only say of which episodes a figure is.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pyrite
from pyrite import pool
from pyrite.errors import InputError, PyriteError, UsageError
from pyrite.evidence import conditions as evidence_conditions
from pyrite.evidence import packing
from pyrite.judges.base import Package, Unavailable
from pyrite.judges.ocr import DEFAULT, Name, Reader, named
from pyrite.judges.orm import read_features
from pyrite.judges.orm.features import FEATURES_VERSION, Features
from pyrite.judges.orm.training import Fitted, fit, require_enough, require_sklearn, split_families
from pyrite.judges.orm.weights import KIND, Model, require_place, task_mark, write_weights
from pyrite.records import HARD_NEGATIVES, SCHEMA_VERSION, SOURCES, EvidenceEntry, Meta, Outcome
from pyrite.stages import orm_card
from pyrite.store.bench import Bench, now

Flags = NDArray[np.bool_]
CONDITIONS = "E1-final,E2-last4,E2+claim,E3-full"


@dataclass(frozen=True)
class Example:
    """One verified episode: what it is called here, and its features by condition."""

    key: str
    task_id: str
    family: str
    source: str
    passed: bool
    hard: bool
    mark: str
    evidence: tuple[str, ...]
    features: Mapping[str, Features]


@dataclass(frozen=True)
class Trained:
    """What `train_orm` made."""

    out: Path
    card: dict[str, Any]


@dataclass(frozen=True)
class _Job:
    """An episode whose packages are to be turned into features; picklable."""

    root: Path
    meta: Meta
    passed: bool
    hard: bool
    entries: tuple[EvidenceEntry, ...]
    engine: Name


@dataclass
class _Left:
    """Episodes that were not used, by reason."""

    reasons: dict[str, int] = field(default_factory=dict)

    def out(self, reason: str) -> None:
        self.reasons[reason] = self.reasons.get(reason, 0) + 1


def train_orm(
    benches: Sequence[Path],
    out: Path,
    *,
    conditions: str = CONDITIONS,
    held_out: Sequence[str] = (),
    engine: str = DEFAULT,
    seed: int = 0,
    workers: int | None = None,
    force: bool = False,
    watch: pool.Watch | None = None,
) -> Trained:
    """Train on every verified episode of packed benches and write the weights; benches are not written to.

    Raises `UsageError` for a bench that is not verified or not packed, and for too few failed or passed
    episodes or families, with the numbers needed; `RunError` without scikit-learn.
    """
    wanted = [condition.name for condition in evidence_conditions.parse_list(conditions)]
    require_place(out, force=force)
    require_sklearn()
    _refuse_twice(benches)
    left = _Left()
    reads = named(engine)
    jobs = [job for root in benches for job in _jobs(Bench(root), wanted, reads, left)]
    families = [job.meta.family or job.meta.task_id for job in jobs]
    domains = {name: job.meta.domain or "" for name, job in zip(families, jobs, strict=True)}
    away = set(split_families(domains, held_out=held_out, seed=seed))
    chosen = np.array([family not in away for family in families], dtype=np.bool_)
    outcomes = np.array([job.passed for job in jobs], dtype=np.bool_)
    require_enough(outcomes[chosen], "to train on")
    examples, reader = _examples(jobs, left, workers, watch or pool.Silent())
    train = [one for one in examples if one.family not in away]
    held = [one for one in examples if one.family in away]
    require_enough(_passed(train), "whose screens can be read, to train on")
    fitted = {name: _fit(train, name, seed) for name in wanted}
    prior = round(float(_passed(train).mean()), 6)
    card = {
        "name": "orm-lite",
        "made_at": now(),
        "pyrite": pyrite.__version__,
        "libraries": {"scikit-learn": version("scikit-learn"), "python": platform.python_version()},
        "seed": seed,
        "use": orm_card.USE,
        "data": _data(examples, left, len(benches)),
        "split": _split(train, held, named=bool(held_out)),
        "ocr": reader,
        "conditions": {name: _figures(one, held, name, prior) for name, one in fitted.items()},
    }
    document = {
        "schema_version": SCHEMA_VERSION,
        "kind": KIND,
        "features_version": FEATURES_VERSION,
        "ocr": {"name": reads, "version": reader},
        "conditions": {name: one.model.model_dump(mode="json") for name, one in fitted.items()},
        "seen": sorted({one.mark for one in train}),
        "prior": prior,
        "card": card,
    }
    write_weights(out, document, force=force)
    return Trained(out, card)


def _refuse_twice(benches: Sequence[Path]) -> None:
    seen: set[Path] = set()
    for root in benches:
        if root.resolve() in seen:
            raise UsageError("given twice: its episodes would count twice", where=str(root))
        seen.add(root.resolve())


def _jobs(bench: Bench, wanted: Sequence[str], engine: Name, left: _Left) -> Iterator[_Job]:
    """Every episode of a bench with an outcome of pass or fail and all its packages."""
    metas = [bench.meta(episode_id) for episode_id in bench.require_episodes()]
    index = packing.index(bench)
    verified = 0
    for meta in metas:
        truth = bench.truth(meta.episode_id)
        if truth is None:
            left.out("not verified")
            continue
        verified += 1
        if truth.outcome is Outcome.INDETERMINATE:
            left.out("indeterminate")
            continue
        entries = [index.get((meta.episode_id, name)) for name in wanted]
        kept = tuple(entry for entry in entries if entry is not None)
        if len(kept) < len(wanted):
            missing = [name for name, entry in zip(wanted, entries, strict=True) if entry is None]
            if all((other.episode_id, missing[0]) not in index for other in metas):
                raise UsageError(
                    f"nothing is packed as {missing[0]}",
                    where=str(bench.root),
                    expected=f"evidence for {', '.join(wanted)}",
                    next=f"pyrite pack {bench.root} --condition {','.join(wanted)}",
                )
            left.out("not packed in every condition")
            continue
        hard = truth.category in HARD_NEGATIVES
        yield _Job(bench.root, meta, truth.outcome is Outcome.PASS, hard, kept, engine)
    if not verified:
        raise UsageError(
            f"none of {len(metas)} episodes is verified: there is no truth to learn from",
            where=str(bench.root),
            expected="a gt.json in each episode",
            next=f"pyrite verify {bench.root}",
        )


def _examples(
    jobs: Sequence[_Job], left: _Left, workers: int | None, watch: pool.Watch
) -> tuple[list[Example], str]:
    """Features of all episodes, in an order of their own, and who read the screens."""
    watch.total = len(jobs)
    found: list[Example] = []
    engines: set[str] = set()
    for job, (example, told) in pool.run(_example, jobs, jobs=workers):
        if example is None:
            left.out(told)
        else:
            found.append(example)
            engines.add(told)
        watch.tick(f"{job.meta.task_id} {job.meta.episode_id}")
    if not found:
        reason = max(left.reasons, key=lambda reason: left.reasons[reason])
        raise InputError(f"no episode can be read: {reason}", expected="packages with readable screens")
    return sorted(found, key=lambda one: (one.family, one.task_id, one.key)), ", ".join(sorted(engines))


def _example(job: _Job) -> tuple[Example | None, str]:
    """The features of one episode and who read it; None and why where it cannot be read."""
    bench, reader = Bench(job.root), Reader(job.engine)
    rows: dict[str, Features] = {}
    engine, instruction = "", ""
    try:
        for entry in job.entries:
            package = Package(packing.load(bench, entry), bench.paths.image)
            rows[entry.condition], reading = read_features(package, reader)
            instruction = package.evidence.instruction
            engine = reading.engine if reading else engine
    except (Unavailable, InputError) as exc:
        return None, _short(exc)
    meta = job.meta
    return Example(
        key=meta.episode_id,
        task_id=meta.task_id,
        family=meta.family or meta.task_id,
        source=meta.source,
        passed=job.passed,
        hard=job.hard,
        mark=task_mark(instruction),
        evidence=tuple(entry.evidence_sha256 for entry in job.entries),
        features=rows,
    ), engine


def _short(exc: PyriteError) -> str:
    return exc.what[:120]


def _fit(train: Sequence[Example], condition: str, seed: int) -> Fitted:
    rows = [one.features[condition] for one in train]
    return fit(rows, _passed(train), _codes([one.family for one in train]), seed=seed)


def _passed(examples: Sequence[Example]) -> Flags:
    return np.array([one.passed for one in examples], dtype=np.bool_)


def _codes(names: Sequence[str]) -> NDArray[np.intp]:
    codes: NDArray[np.intp] = np.unique(np.array(names, dtype=np.str_), return_inverse=True)[1]
    return codes


def _figures(fitted: Fitted, held: Sequence[Example], condition: str, cut: float) -> dict[str, Any]:
    """What a condition's model is, and its figures on the held-out families."""
    return {
        "model": fitted.chosen,
        "log_loss_on_unseen_families": {"tried": fitted.tried, "saying_the_share": fitted.base_loss},
        "features": list(fitted.model.features),
        "held_out": orm_card.held_out(
            cut,
            scores=_scores(fitted.model, held, condition),
            passed=_passed(held),
            hard=np.array([one.hard for one in held], dtype=np.bool_),
            task=_codes([one.task_id for one in held]),
            family=_codes([one.family for one in held]),
            strata={name: np.array([one.source == name for one in held]) for name in SOURCES},
        ),
    }


def _scores(model: Model, held: Sequence[Example], condition: str) -> NDArray[np.float64]:
    return np.array([round(model.score(one.features[condition]), 6) for one in held], dtype=np.float64)


def _data(examples: Sequence[Example], left: _Left, benches: int) -> dict[str, Any]:
    """Counts, and a digest of outcomes and evidence that does not depend on where a bench lies."""
    lines = sorted(f"{one.key} {one.passed} {' '.join(one.evidence)}\n" for one in examples)
    passed = sum(one.passed for one in examples)
    return {
        "sha256": hashlib.sha256("".join(lines).encode()).hexdigest(),
        "benches": benches,
        "episodes": len(examples),
        "passed": passed,
        "failed": len(examples) - passed,
        "hard_negatives": sum(one.hard for one in examples),
        "left_out": dict(sorted(left.reasons.items())),
    }


def _split(train: Sequence[Example], held: Sequence[Example], *, named: bool) -> dict[str, Any]:
    def counts(examples: Sequence[Example]) -> dict[str, Any]:
        passed = sum(one.passed for one in examples)
        return {
            "families": sorted({one.family for one in examples}),
            "tasks": len({one.task_id for one in examples}),
            "episodes": len(examples),
            "passed": passed,
            "failed": len(examples) - passed,
        }

    rule = "families named" if named else "a third of the families, drawn by seed from every domain alike"
    return {"rule": rule, "train": counts(train), "held_out": counts(held)}
