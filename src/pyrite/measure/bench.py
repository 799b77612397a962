"""A bench becomes the one table, and the table a result.

Episodes, truth, labels and verdicts are joined here and nowhere else. Strata are never pooled. An
episode that cannot be read or has no outcome is attempted and indeterminate; it never stops the rest.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pyrite.errors import UsageError
from pyrite.measure import labelled, people
from pyrite.measure import lines as verdict_lines
from pyrite.measure.blocks import Settings, counted
from pyrite.measure.follows import without_outdated
from pyrite.measure.health import health_block
from pyrite.measure.scores import Asked
from pyrite.measure.strata import strata_blocks, truth_strata
from pyrite.measure.table import FAIL, INDETERMINATE, MISSING, PASS, Episodes, Factor, Table
from pyrite.measure.vote import Policy, votes_of
from pyrite.metrics.intervals import LEVEL
from pyrite.records import BLAME, SCHEMA_VERSION, SOURCES, Meta, Outcome
from pyrite.store import episodes as attempts
from pyrite.store import labels
from pyrite.store.bench import Bench
from pyrite.store.episodes import Attempted, Episode

GROUPS: dict[str, Callable[[Meta], str | None]] = {
    "domain": lambda meta: meta.domain,
    "family": lambda meta: meta.family,
    "task": lambda meta: meta.task_id,
    "agent": lambda meta: meta.agent.name,
    "weakened": lambda meta: meta.weakened,
    "perturbation": lambda meta: meta.perturbation,
}
"""What a bench can be broken down by, from the meta.json of its episodes."""
TRUTH = {Outcome.PASS: PASS, Outcome.FAIL: FAIL, Outcome.INDETERMINATE: INDETERMINATE}


def table_from_bench(bench: Bench, *, verified: bool = True) -> Table:
    """Join a bench's episodes, truth and verdicts; a row an attempted episode.

    The cluster is the task (a perturbed episode carries the task of its origin). An episode whose
    meta.json cannot be read has no stratum, task or agent. Raises `UsageError` where there is no
    episode or (where `verified`) not one is verified, `InputError` for repeated verdicts.
    """
    return _joined(bench, _require(bench) if verified else attempts.read(bench))


def measure_bench(
    bench: Bench,
    *,
    level: float = LEVEL,
    resamples: int = 2000,
    seed: int = 0,
    asked: Asked | None = None,
    truth: str = "verifier",
    uncertain: Policy = "failure",
    base_rates: Sequence[float] = (),
    group: Sequence[str] = (),
) -> dict[str, Any]:
    """Every figure of a bench: a block a stratum, in it one a condition, in it one a judge.

    `lead` is the first of natural, weakened, perturbed, scripted that has failures. `indeterminate`,
    `unverified` and `broken` list every attempted episode that is not scored; `unattributed` counts
    those of them that stand in no stratum. `asked` is the threshold that judges with scores get,
    `uncertain` what such a verdict counts as in rates, ranks and rewards. `truth`
    is verifier, or labels for what people say; `both` has either where there are both. `group` names
    what each stratum is broken down by, of `GROUPS`. Raises as `table_from_bench` does, with labels
    `UsageError` where there is no outcome in them, and for a group that there is not.
    """
    of_people = truth == "labels"
    found = attempts.read(bench) if of_people else _require(bench)
    verified = _grouped(_joined(bench, found), found, group)
    said = labelled.read(bench, verified.episodes.ids)
    table = labelled.by_people(bench, verified, said) if of_people else verified
    settings = Settings(level, resamples, seed, uncertain, tuple(base_rates))
    strata, warnings = strata_blocks(table, settings, asked, truth=truth)
    lead = _lead({name: block["truth"] for name, block in strata.items()})
    kin = table.episodes.family
    return {
        "schema_version": SCHEMA_VERSION,
        "level": level,
        "uncertain_policy": uncertain,
        "bench": bench.root.resolve().name,
        "episodes": len(table.episodes),
        "tasks": len(table.episodes.cluster.names),
        "families": len(kin.names) if kin is not None else None,
        "truth_from": truth,
        "lead": lead,
        "strata": strata,
        **_not_scored(found),
        **({"indeterminate": labelled.not_scored(table), "unverified": []} if of_people else {}),
        "labels": table.labels,
        "people": people.labels_block(verified, said, settings),
        "both": labelled.both(verified, said, settings),
        "health": _health(bench, verified, lead, said, settings),
        "warnings": [*([] if of_people else _warnings(bench, found)), *table.warnings, *warnings],
        "lock_sha256": lock_digest(bench),
    }


def _health(
    bench: Bench, table: Table, lead: str | None, said: people.Labelled, settings: Settings
) -> dict[str, Any] | None:
    """Health of the truth of the leading stratum; None where none leads."""
    strata = table.episodes.stratum
    if lead is None or strata is None:
        return None
    acts = (bench.paths.episode(name).acts for name in table.episodes.ids)
    weights = bench.asked("metrics", "category_weights", None)
    return health_block(
        table,
        strata.codes == strata.names.index(lead),
        settings,
        people=said.truth() if said.annotators else None,
        weights=weights if isinstance(weights, dict) else None,
        exposed=np.array([path.is_file() for path in acts], dtype=np.bool_),
    )


def outcomes(bench: Bench, *, level: float = LEVEL) -> dict[str, Any]:
    """The truth part of `measure_bench`, from the same table, without the verdicts: a block a stratum.

    Raises `UsageError` where there is no episode or not one is verified.
    """
    found = _require(bench)
    strata = truth_strata(_episodes(found.episodes), Settings(level))
    lead = _lead(strata)
    said = _labelled(found)
    warnings = [*_warnings(bench, found), *labels.notes(said)]
    if lead not in {None, "natural"}:
        warnings.append(f"the leading stratum is {lead}: these episodes are not of an agent under test")
    return {
        "schema_version": SCHEMA_VERSION,
        "bench": str(bench.root),
        "level": level,
        "attempted": len(found.episodes),
        "tasks": len({one.meta.task_id for one in found.episodes if one.meta}),
        "lead": lead,
        "headline": lead == "natural",
        "strata": strata,
        **_not_scored(found),
        "labels": said,
        "warnings": warnings,
    }


def votes_of_episode(bench: Bench, episode_id: str) -> list[tuple[str, str, int, int]]:
    """(judge, condition, voted verdict, configured runs) of one episode, verified or not.

    Raises `InputError` where two lines contradict each other.
    """
    verdicts = verdict_lines.verdicts(verdict_lines.read(bench, {episode_id: 0}).rows)
    alone = Episodes(truth=np.array([MISSING], dtype=np.int8), cluster=Factor.of([None]), ids=(episode_id,))
    table = Table(alone, verdicts, verdict_lines.configured_runs(bench, verdicts))
    voted = ((judge, condition, votes_of(table, judge, condition)) for judge, condition in table.asked())
    return [(judge, condition, int(votes.verdict[0]), votes.runs) for judge, condition, votes in voted]


def lock_digest(bench: Bench) -> str | None:
    """sha256 of lock.json; None where there is none."""
    path = bench.paths.lock
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def _require(bench: Bench) -> Attempted:
    found = attempts.read(bench)
    attempts.require_verified(bench, found)
    return found


def _joined(bench: Bench, found: Attempted) -> Table:
    episodes = _episodes(found.episodes)
    lines = verdict_lines.read(bench, {episode_id: row for row, episode_id in enumerate(episodes.ids)})
    warnings = [f"condition {written} is read as {name}" for written, name in sorted(lines.aliases.items())]
    if lines.strangers:
        are, they = ("is", "it is") if lines.strangers == 1 else ("are", "they are")
        warnings.append(
            f"{counted(lines.strangers, 'verdict line')} {are} of episodes that are not here; {they} left out"
        )
    if lines.superseded:
        are = "is" if lines.superseded == 1 else "are"
        warnings.append(
            f"{counted(lines.superseded, 'verdict')} {are} on evidence that has changed since and counted "
            f"as missing: pyrite judge {shlex.quote(str(bench.root))} --judge LABEL"
        )
    said = _labelled(found)
    verdicts = verdict_lines.verdicts(lines.rows)
    runs = verdict_lines.configured_runs(bench, verdicts)
    table = Table(episodes, verdicts, runs, (*warnings, *labels.notes(said)), said)
    return without_outdated(table, bench.lock(), str(bench.root))


def _grouped(table: Table, found: Attempted, group: Sequence[str]) -> Table:
    """The table with the columns that it is to be broken down by."""
    chosen = dict.fromkeys(group)
    if unknown := [name for name in chosen if name not in GROUPS]:
        raise UsageError(
            f"--group {unknown[0][:60]!r}: episodes of a bench have no such column",
            expected=", ".join(GROUPS),
        )
    metas = [one.meta for one in found.episodes]
    columns = {name: Factor.of([GROUPS[name](m) or None if m else None for m in metas]) for name in chosen}
    return replace(table, episodes=replace(table.episodes, groups=columns))


def _episodes(found: Sequence[Episode]) -> Episodes:
    metas, truths = [one.meta for one in found], [one.truth for one in found]
    family = Factor.of([meta.family or None if meta else None for meta in metas])
    return Episodes(
        truth=np.array([TRUTH[t.outcome] if t else MISSING for t in truths], dtype=np.int8),
        cluster=Factor.of([meta.task_id if meta else None for meta in metas]),
        ids=tuple(one.episode_id for one in found),
        family=family if family.names else None,
        stratum=Factor.of([meta.source if meta else None for meta in metas]),
        agent=Factor.of([meta.agent.name if meta else None for meta in metas]),
        category=Factor.of([t.category.value if t and t.category else None for t in truths]),
        cause=Factor.of([t.cause if t else None for t in truths]),
    )


def _lead(truths: dict[str, Any]) -> str | None:
    """The first stratum that has failures."""
    return next((name for name in SOURCES if name in truths and truths[name]["fail"]), None)


def _labelled(found: Attempted) -> dict[str, Any]:
    return found.people.of(one.truth for one in found.episodes if one.truth is not None)


def _not_scored(found: Attempted) -> dict[str, Any]:
    undecided = [one.truth for one in found.episodes if one.truth and one.truth.passed is None]
    return {
        "indeterminate": [
            {
                "episode_id": truth.episode_id,
                "cause": truth.cause,
                "blame": truth.blame or BLAME.get(truth.cause or ""),
                "problem": str(truth.diagnostics.get("problem") or "") or None,
            }
            for truth in undecided
        ],
        "unverified": found.unverified,
        "broken": found.broken,
        "unattributed": found.unattributed,
    }


def _warnings(bench: Bench, found: Attempted) -> list[str]:
    """What a reader must know of episodes without an outcome before reading any rate."""
    told = []
    if n := len(found.unverified):
        are, count = ("is", "counts") if n == 1 else ("are", "count")
        told.append(
            f"{n:,} of {counted(len(found.episodes), 'episode')} {are} not verified and {count} as "
            f"indeterminate: pyrite verify {bench.root}"
        )
    if n := len(found.broken) - found.unattributed:
        told.append(f"{counted(n, 'episode')} without a readable gt.json: indeterminate")
    if n := found.unattributed:
        stand = "stands" if n == 1 else "stand"
        told.append(
            f"{counted(n, 'episode')} without a readable meta.json: attempted and indeterminate, but of an "
            f"unknown stratum; {'it' if n == 1 else 'they'} {stand} in no rate and no bounds"
        )
    return told
