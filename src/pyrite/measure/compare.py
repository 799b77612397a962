"""Judges against each other on the same episodes: all pairs of one condition are one declared family.

The FPR is compared on failed episodes, the TPR on passed ones; only episodes go in that both judges of
a pair decided with all their runs, and how many were lost is said. Strata are never pooled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from pyrite.errors import UsageError
from pyrite.measure.bench import table_from_bench
from pyrite.measure.blocks import Settings, compact, counted, family_codes, figure
from pyrite.measure.foreign import CONDITION, Columns, table_from_file
from pyrite.measure.measure import _required as required
from pyrite.measure.refused import with_next
from pyrite.measure.table import FAIL, MISSING, PASS, SUCCESS, Codes32, Episodes, Flags, Table
from pyrite.measure.vote import votes_of
from pyrite.metrics import compare as tests
from pyrite.metrics.intervals import LEVEL
from pyrite.metrics.judge import one_family, wider
from pyrite.metrics.paired import difference
from pyrite.metrics.plan import MIN_CLUSTERS, detectable_difference
from pyrite.records import SCHEMA_VERSION, SOURCES, Estimate
from pyrite.store.bench import Bench

METRICS = {"fpr": (FAIL, "no_negatives"), "tpr": (PASS, "no_positives")}
"""Metric -> the truth of the episodes that it is of, and the reason where there is none."""
CONSTANT = ("accept-all", "reject-all")
"""Shortcuts that look at nothing: every judge differs from them, and each would weaken the family."""
POWER = 0.8
REFERENCE_DRAWS = 10_000
"""For the task-weighted test, which decides nothing."""


@dataclass(frozen=True)
class Side:
    """One judge in one condition: which episodes it decided with all its runs, and which it accepts."""

    name: str
    decided: Flags
    accepted: Flags


def compare_table(
    path: Path,
    *,
    truth: str | None,
    cluster: str | None,
    verdicts: Sequence[str] = (),
    cluster_strip: str | None = None,
    mapping: Sequence[str] = (),
    where: str | None = None,
    key: Sequence[str] = (),
    level: float = LEVEL,
    seed: int = 0,
) -> dict[str, Any]:
    """Every pair of the verdict columns of a table; the options are those of `measure_table`."""
    settings = Settings(level, seed=seed)
    with with_next(path):
        columns = Columns(
            truth=required(path, "--truth", truth, "what is true of each episode"),
            cluster=required(path, "--cluster", cluster, "what episodes share: their task"),
            verdicts=tuple(verdicts),
            cluster_strip=cluster_strip,
            mapping=tuple(mapping),
            where=(where,) if where else (),
            key=tuple(key),
        )
        if len(columns.verdicts) < 2:
            raise UsageError(
                f"{counted(len(columns.verdicts), 'judge')} in --verdicts",
                where=str(path),
                expected="at least two columns between commas",
            )
        found = table_from_file(path, columns)
    table = found.table
    everything: Flags = np.ones(len(table.episodes), dtype=np.bool_)
    sides = {CONDITION: [side(table, name, CONDITION) for name in columns.verdicts]}
    return {
        "schema_version": SCHEMA_VERSION,
        "level": level,
        "rows": len(table.episodes),
        "rows_read": found.rows_read,
        "tasks": len(np.unique(table.episodes.cluster.codes)),
        "stratum": None,
        **_compared(table.episodes, everything, sides, settings, table.warnings),
    }


def compare_bench(
    bench: Bench,
    *,
    stratum: str | None = None,
    judges: Sequence[str] = (),
    conditions: Sequence[str] = (),
    level: float = LEVEL,
    seed: int = 0,
) -> dict[str, Any]:
    """Every pair of judges in every condition, on the episodes of one stratum (the leading one).

    Without `judges` the family is all judges that were asked in a condition, but for accept-all and
    reject-all. Raises `UsageError` for a stratum, judge or condition that is not there, and where no
    condition has two judges.
    """
    table = table_from_bench(bench)
    episodes = table.episodes
    name, rows = leading_stratum(bench, episodes, stratum)
    _refuse_unknown(bench, "judge", judges, table.verdicts.judge.names)
    _refuse_unknown(bench, "condition", conditions, table.verdicts.condition.names)
    sides: dict[str, list[Side]] = {}
    for judge, condition in sorted(table.asked(), key=lambda pair: (pair[1], pair[0])):
        wanted = judge in judges if judges else judge not in CONSTANT
        if wanted and (not conditions or condition in conditions):
            sides.setdefault(condition, []).append(side(table, judge, condition))
    sides = {condition: found for condition, found in sides.items() if len(found) > 1}
    if not sides:
        raise UsageError(
            "no condition has two judges to compare",
            where=str(bench.root),
            expected="two judges with verdicts in one condition; accept-all and reject-all do not count",
            next=f"pyrite judge {bench.root} --judge LABEL",
        )
    return {
        "schema_version": SCHEMA_VERSION,
        "level": level,
        "bench": bench.root.resolve().name,
        "episodes": int(rows.sum()),
        "tasks": len(np.unique(episodes.cluster.codes[rows])),
        "stratum": name,
        **_compared(episodes, rows, sides, Settings(level, seed=seed), table.warnings),
    }


def untestable(result: Mapping[str, Any]) -> bool:
    """Whether no pair could be tested: exit 3."""
    return all(pair["p_signflip"] is None for pair in result["pairs"])


def _compared(
    episodes: Episodes,
    rows: Flags,
    sides: Mapping[str, list[Side]],
    settings: Settings,
    warnings: Sequence[str],
) -> dict[str, Any]:
    """The pairs, what they were tested in, and the warnings: the part that both sources share."""
    pairs: list[dict[str, Any]] = []
    families: list[dict[str, Any]] = []
    for metric in METRICS:
        for condition, judges in sides.items():
            found = [
                {"metric": metric, "condition": condition, **_pair(episodes, rows, metric, a, b, settings)}
                for a, b in combinations(judges, 2)
            ]
            family = _family(metric, condition, found, settings)
            family["cochrans_q"] = _omnibus(episodes, rows, metric, judges)
            family["together"] = _together(episodes, rows, metric, judges)
            pairs += found
            families.append(family)
    told = [family["warning"] for family in families if family["warning"]]
    return {"power": POWER, "pairs": pairs, "families": families, "warnings": [*warnings, *told]}


def _pair(
    episodes: Episodes, rows: Flags, metric: str, a: Side, b: Side, settings: Settings
) -> dict[str, Any]:
    truth, empty = METRICS[metric]
    of_truth = rows & (episodes.truth == truth)
    inside: Flags = of_truth & a.decided & b.decided
    first, second = a.accepted[inside], b.accepted[inside]
    task = tests.discordance(first, second, compact(episodes.cluster, inside))
    kin = family_codes(episodes, inside)
    reason = None if inside.any() else empty if not of_truth.any() else "no_common_verdicts"
    apart, unit, lead = _apart(task, first, second, kin, metric, reason or empty, settings)
    both, a_only, b_only, neither = task.totals()
    tested = _tested(lead, apart, settings)
    return {
        "a": a.name,
        "b": b.name,
        "n": int(inside.sum()),
        "lost": int(of_truth.sum()) - int(inside.sum()),
        "clusters": apart.clusters or 0,
        "unit": unit,
        "both": both,
        "a_only": a_only,
        "b_only": b_only,
        "neither": neither,
        "difference": figure(apart),
        **tested,
        "p_mcnemar": tests.mcnemar_exact(a_only, b_only) if inside.any() else None,
        "reference": _reference(lead, settings) if inside.any() else None,
    }


def _apart(
    task: tests.Discordance,
    first: Flags,
    second: Flags,
    kin: Codes32 | None,
    metric: str,
    empty: str,
    settings: Settings,
) -> tuple[Estimate, str, tests.Discordance]:
    """The difference by task and, where there are families, by family: the wider one and its unit lead."""

    def made(found: tests.Discordance, unit: str) -> Estimate:
        return difference(
            found.both,
            found.first,
            found.second,
            found.neither,
            estimand=f"{metric.upper()} of a minus that of b, episode-weighted",
            empty=empty,
            unit=unit,
            level=settings.level,
        )

    by_task = made(task, "task")
    if kin is None or len(kin) == 0:
        return by_task, "task", task
    family = tests.discordance(first, second, kin)
    if len(family.n) < 2:
        return one_family(by_task), "task", task
    lead = wider(by_task, made(family, "family"))
    return (lead, "family", family) if lead.by_task is not None else (lead, "task", task)


def _tested(lead: tests.Discordance, apart: Estimate, settings: Settings) -> dict[str, Any]:
    """The leading test, and what difference these episodes could have shown."""
    nothing: dict[str, Any] = {
        "p_signflip": None,
        "signflip_method": None,
        "discordant_clusters": None,
        "p_holm": None,
        "differs": None,
        "detectable_difference": None,
        "reason": apart.reason,
    }
    if apart.value is None or (apart.clusters or 0) < 2:
        return nothing
    flip = tests.sign_flip(lead.first - lead.second, seed=settings.seed)
    found: float | None = None
    if (apart.clusters or 0) >= MIN_CLUSTERS:
        _, first, second, _ = lead.totals()
        size = apart.n_eff if apart.n_eff is not None else float(apart.n)
        found = detectable_difference((first + second) / apart.n, size, power=POWER, level=settings.level)
    return {
        **nothing,
        "p_signflip": flip.p,
        "signflip_method": flip.method,
        "discordant_clusters": flip.discordant,
        "detectable_difference": found,
        "reason": apart.reason if found is not None else "too_few_clusters",
    }


def _reference(lead: tests.Discordance, settings: Settings) -> dict[str, Any]:
    """Other tests of the same pair, for readers who know them; none of them decides."""
    kept = lead.n > 0
    apart, n = (lead.first - lead.second)[kept], lead.n[kept]
    _, first, second, _ = lead.totals()
    weighted = tests.sign_flip(apart / n, draws=REFERENCE_DRAWS, seed=settings.seed)
    return {
        "mcnemar_mid_p": tests.mcnemar_mid(first, second),
        "signflip_task_weighted": {"p": weighted.p, "method": weighted.method},
        "obuchowski": tests.obuchowski(apart)._asdict(),
        "durkalski": tests.durkalski(apart, n)._asdict(),
        "yang": tests.yang(apart, n)._asdict(),
    }


def _family(metric: str, condition: str, pairs: list[dict[str, Any]], settings: Settings) -> dict[str, Any]:
    """Adjust the pairs of one family by Holm, in place, and say what it could not have shown."""
    adjusted = tests.holm([pair["p_signflip"] for pair in pairs])
    alpha = 1 - settings.level
    for pair, p in zip(pairs, adjusted, strict=True):
        pair["p_holm"] = p
        pair["differs"] = None if p is None else p <= alpha + 1e-12
    tested = [pair for pair in pairs if pair["p_signflip"] is not None]
    mute = [pair for pair in tested if tests.smallest_p(pair["discordant_clusters"]) * len(tested) > alpha]
    warning = None
    if mute:
        warning = (
            f"{metric.upper()}, {condition}: {len(mute)} of {counted(len(tested), 'pair')} "
            f"{'has' if len(mute) == 1 else 'have'} too few tasks on which the judges disagree to be shown "
            "to differ in this family"
        )
    return {
        "metric": metric,
        "condition": condition,
        "pairs": len(pairs),
        "tested": len(tested),
        "method": "Holm",
        "alpha": round(alpha, 12),
        "warning": warning,
    }


def _omnibus(episodes: Episodes, rows: Flags, metric: str, judges: list[Side]) -> dict[str, Any] | None:
    """Cochran's Q over the episodes that all judges decided; None for two judges, whose pair says it."""
    if len(judges) < 3:
        return None
    inside = rows & (episodes.truth == METRICS[metric][0])
    for side in judges:
        inside = inside & side.decided
    found = tests.cochrans_q(np.stack([side.accepted[inside] for side in judges], axis=1))
    reason = None
    if found.statistic is None:
        reason = "no_disagreement" if inside.any() else "no_common_verdicts"
    return {"n": int(inside.sum()), **found._asdict(), "reason": reason}


def _together(episodes: Episodes, rows: Flags, metric: str, judges: list[Side]) -> dict[str, Any]:
    """Which judges accept the same episodes, of those that all of them decided: a count a set of judges."""
    inside = rows & (episodes.truth == METRICS[metric][0])
    for one in judges:
        inside = inside & one.decided
    accepted = np.stack([one.accepted[inside] for one in judges], axis=1)
    patterns, counts = np.unique(accepted, axis=0, return_counts=True)
    sets = [
        {"judges": [one.name for one, yes in zip(judges, pattern, strict=True) if yes], "n": int(n)}
        for pattern, n in zip(patterns, counts, strict=True)
    ]
    return {"n": int(inside.sum()), "sets": sorted(sets, key=lambda one: (-one["n"], one["judges"]))}


def side(table: Table, judge: str, condition: str) -> Side:
    """What a judge said in a condition, runs voted; an incomplete vote is no decision here."""
    votes = votes_of(table, judge, condition)
    decided: Flags = (votes.verdict != MISSING) & ~votes.incomplete
    return Side(judge, decided, votes.verdict == SUCCESS)


def leading_stratum(bench: Bench, episodes: Episodes, wanted: str | None) -> tuple[str, Flags]:
    """The stratum that was asked for, else the first one with failures, else the first one."""
    found: dict[str, Flags] = {}
    if episodes.stratum is not None:
        codes, names = episodes.stratum.codes, episodes.stratum.names
        found = {name: codes == names.index(name) for name in SOURCES if name in names}
    if wanted is not None:
        _refuse_unknown(bench, "stratum", [wanted], list(found))
        return wanted, found[wanted]
    if not found:
        raise UsageError(
            "no episode has a readable meta.json",
            where=str(bench.root),
            expected="episodes of a known stratum",
            next=f"pyrite verify {bench.root}",
        )
    lead = next((name for name in found if (found[name] & (episodes.truth == FAIL)).any()), None)
    name = lead or next(iter(found))
    return name, found[name]


def _refuse_unknown(bench: Bench, option: str, wanted: Sequence[str], there: Sequence[str]) -> None:
    for name in wanted:
        if name not in there:
            raise UsageError(
                f"no --{option} {name}",
                where=str(bench.root),
                expected=f"one of: {', '.join(there) or 'none is here'}",
            )
