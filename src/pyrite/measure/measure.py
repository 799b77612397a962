"""From a file of verdicts to a result, and whether a result decides anything.

A result is plain data with no NaN in it: what is not known is None with a reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from pyrite.errors import UsageError
from pyrite.measure.blocks import (
    FIGURES,
    Settings,
    cluster_warnings,
    judge_block,
    judge_warnings,
    truth_block,
)
from pyrite.measure.foreign import CONDITION, Columns, ForeignTable, table_from_file
from pyrite.measure.read import column_names
from pyrite.measure.table import Codes8, Episodes, Factor, Flags
from pyrite.measure.vote import votes_of
from pyrite.metrics.intervals import LEVEL
from pyrite.records import SCHEMA_VERSION

MAX_GROUPS = 1000


def measure_table(
    path: Path,
    *,
    truth: str | None,
    cluster: str | None,
    verdicts: Sequence[str] = (),
    scores: Sequence[str] = (),
    cluster_strip: str | None = None,
    group: Sequence[str] = (),
    mapping: Sequence[str] = (),
    where: str | None = None,
    key: Sequence[str] = (),
    level: float = LEVEL,
    resamples: int = 2000,
    seed: int = 0,
) -> dict[str, Any]:
    """Every figure of the judges in a CSV, TSV, JSON lines, JSON array or Parquet file.

    `truth`, `verdicts`, `scores`, `cluster`, `group`, `where` and `key` name columns; `COL>=T`
    binarises in `truth` and `verdicts`; `mapping` holds VALUE=OUTCOME pairs; matches of the regular
    expression `cluster_strip` are removed from the cluster. A row is an episode. Raises `UsageError`
    or `InputError` for what cannot be read; never drops a row.
    """
    settings = Settings(level, resamples, seed)
    columns = Columns(
        truth=_required(path, "--truth", truth, "what is true of each episode"),
        cluster=_required(path, "--cluster", cluster, "what episodes share: their task"),
        verdicts=tuple(verdicts),
        scores=tuple(scores),
        cluster_strip=cluster_strip,
        groups=tuple(dict.fromkeys(group)),
        mapping=tuple(mapping),
        where=(where,) if where else (),
        key=tuple(key),
    )
    return _result(table_from_file(path, columns), settings)


def undecided(result: Mapping[str, Any]) -> bool:
    """Whether every figure of the result (of its leading stratum) is null: exit 3."""
    blocks = list(_judge_blocks(result))
    if "strata" in result:
        lead = result["lead"]
        if lead is None:
            return True
        if not blocks:
            return result["strata"][lead]["truth"]["rate"] is None
    elif not blocks:
        return result["truth"]["rate"] is None
    return all(block[name]["value"] is None for block in blocks for name in FIGURES)


def _result(found: ForeignTable, settings: Settings) -> dict[str, Any]:
    episodes = found.table.episodes
    said = {name: votes_of(found.table, name, CONDITION).verdict for name in found.table.verdicts.judge.names}
    everything: Flags = np.ones(len(episodes), dtype=np.bool_)
    judges = {name: judge_block(episodes, everything, one, settings) for name, one in said.items()}
    warnings = [*found.table.warnings, *cluster_warnings(episodes, everything)]
    for name, block in judges.items():
        warnings += judge_warnings(name, block)
    return {
        "schema_version": SCHEMA_VERSION,
        "level": settings.level,
        "rows": len(episodes),
        "rows_read": found.rows_read,
        "tasks": len(np.unique(episodes.cluster.codes)),
        "truth": truth_block(episodes, everything, settings),
        "judges": judges,
        "scores": found.scores,
        "groups": _groups(episodes, said, settings),
        "warnings": warnings,
    }


def _required(path: Path, option: str, value: str | None, what: str) -> str:
    if value and value.strip():
        return value
    names = column_names(path)
    shown = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    raise UsageError(f"no {option}", where=str(path), expected=f"the column with {what}; there are {shown}")


def _judge_blocks(result: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "strata" not in result:
        yield from result["judges"].values()
    elif result["lead"] is not None:
        for condition in result["strata"][result["lead"]]["conditions"].values():
            yield from condition["judges"].values()


def _groups(episodes: Episodes, verdicts: Mapping[str, Codes8], settings: Settings) -> list[dict[str, Any]]:
    """A block for every value of each group column, then for every combination of all of them."""
    names = list(episodes.groups)
    choices = [(name,) for name in names] + list(combinations(names, len(names)) if len(names) > 1 else [])
    blocks = []
    for chosen in choices:
        for values, rows in _cells([episodes.groups[name] for name in chosen], chosen):
            blocks.append(
                {
                    "by": dict(zip(chosen, values, strict=True)),
                    "truth": truth_block(episodes, rows, settings),
                    "judges": {
                        name: judge_block(episodes, rows, said, settings) for name, said in verdicts.items()
                    },
                }
            )
    return blocks


def _cells(factors: list[Factor], names: tuple[str, ...]) -> Iterator[tuple[list[str | None], Flags]]:
    stacked = np.stack([factor.codes for factor in factors], axis=1)
    distinct, member = np.unique(stacked, axis=0, return_inverse=True)
    if len(distinct) > MAX_GROUPS:
        raise UsageError(
            f"--group {','.join(names)} makes {len(distinct)} groups",
            expected=f"at most {MAX_GROUPS}: a column of few values, such as agent or benchmark",
        )
    for cell, codes in enumerate(distinct):
        values = [f.names[c] if c >= 0 else None for f, c in zip(factors, codes, strict=True)]
        yield values, member.ravel() == cell
