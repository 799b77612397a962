"""Judges against each other on the same episodes: all pairs of one condition are one declared family.

The FPR is compared on failed episodes, the TPR on passed ones; only episodes go in that both judges of
a pair decided with all their runs, and how many were lost is said. Strata are never pooled.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from pyrite.errors import UsageError
from pyrite.measure.bench import table_from_bench
from pyrite.measure.blocks import Settings, counted
from pyrite.measure.foreign import CONDITION, table_from_file
from pyrite.measure.measure import named_columns
from pyrite.measure.pairs import METRICS, Side, confusion_block, omnibus, pair_block, side, together
from pyrite.measure.refused import with_next
from pyrite.measure.table import FAIL, Episodes, Flags
from pyrite.metrics import compare as tests
from pyrite.metrics.intervals import LEVEL
from pyrite.metrics.plan import POWER
from pyrite.records import SCHEMA_VERSION, SOURCES
from pyrite.store.bench import Bench

CONSTANT = ("accept-all", "reject-all")
"""Shortcuts that look at nothing: every judge differs from them, and each would weaken the family."""


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
    with with_next(path, "compare"):
        columns = named_columns(
            path,
            truth=truth,
            cluster=cluster,
            verdicts=verdicts,
            cluster_strip=cluster_strip,
            mapping=mapping,
            where=where,
            key=key,
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
            next=f"pyrite judge {shlex.quote(str(bench.root))} --judge LABEL",
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
                {
                    "metric": metric,
                    "condition": condition,
                    **pair_block(episodes, rows, metric, a, b, settings),
                }
                for a, b in combinations(judges, 2)
            ]
            family = _family(metric, condition, found, settings)
            family["cochrans_q"] = omnibus(episodes, rows, metric, judges)
            family["together"] = together(episodes, rows, metric, judges)
            pairs += found
            families.append(family)
    told = [family["warning"] for family in families if family["warning"]]
    confusion = {
        condition: {one.name: confusion_block(episodes, rows, one) for one in judges}
        for condition, judges in sides.items()
    }
    return {
        "power": POWER,
        "pairs": pairs,
        "families": families,
        "confusion": confusion,
        "warnings": [*warnings, *told],
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
