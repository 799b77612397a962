"""From a file of verdicts to a result, and whether a result decides anything.

A result is plain data with no NaN in it: what is not known is None with a reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pyrite.errors import UsageError
from pyrite.measure.beside import of_verdicts
from pyrite.measure.blocks import (
    FIGURES,
    Settings,
    cluster_warnings,
    judge_block,
    judge_warnings,
    truth_block,
)
from pyrite.measure.ensemble import Ensemble
from pyrite.measure.foreign import CONDITION, Columns, ForeignTable, table_from_file
from pyrite.measure.groups import group_blocks
from pyrite.measure.rank import rank_block
from pyrite.measure.read import column_names
from pyrite.measure.refused import with_next
from pyrite.measure.scores import Asked, score_block
from pyrite.measure.table import Codes8, Episodes, Flags
from pyrite.measure.training import training_block
from pyrite.measure.vote import Policy, mapped, votes_of
from pyrite.metrics.intervals import LEVEL
from pyrite.records import SCHEMA_VERSION


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
    asked: Asked | None = None,
    uncertain: Policy = "failure",
    base_rates: Sequence[float] = (),
    ensembles: Sequence[Ensemble] = (),
) -> dict[str, Any]:
    """Every figure of the judges in a CSV, TSV, JSON lines, JSON array or Parquet file.

    `truth`, `verdicts`, `scores`, `cluster`, `group`, `where` and `key` name columns; `COL>=T`
    binarises in `truth` and `verdicts`; `mapping` holds VALUE=OUTCOME pairs; matches of the regular
    expression `cluster_strip` are removed from the cluster. A row is an episode. `asked` is the threshold
    that score columns get, each with its share of delta; `uncertain` is what such a verdict counts as.
    `ensembles` of verdict columns are measured beside them.
    Raises `UsageError` or `InputError` for what cannot be read; never drops a row.
    """
    settings = Settings(level, resamples, seed, uncertain, tuple(base_rates))
    with with_next(path):
        columns = named_columns(
            path,
            truth=truth,
            cluster=cluster,
            verdicts=verdicts,
            scores=scores,
            cluster_strip=cluster_strip,
            groups=group,
            mapping=mapping,
            where=where,
            key=key,
        )
        made_of = {"truth": truth, "cluster": cluster, "cluster_strip": cluster_strip}
        found = table_from_file(path, columns)
        return _result(found, settings, asked or Asked(), made_of, ensembles)


def undecided(result: Mapping[str, Any]) -> bool:
    """Whether every figure of the result is null: exit 3. With no judge, the rate is the figure.

    Of a bench: of its leading stratum; where none has a failure and so none leads, of all strata. The
    figure of a score column is its AUC.
    """
    cells = _leading(result)
    blocks = [block for cell in cells for block in cell["judges"]]
    aucs = [block["auc"]["value"] for block in result.get("scores", {}).values()]
    if any(value is not None for value in aucs):
        return False
    if not blocks and not aucs:
        return all(cell["rate"] is None for cell in cells)
    return all(block[name]["value"] is None for block in blocks for name in FIGURES)


def _result(
    found: ForeignTable,
    settings: Settings,
    asked: Asked,
    made_of: Mapping[str, str | None],
    ensembles: Sequence[Ensemble],
) -> dict[str, Any]:
    episodes = found.table.episodes
    said = {name: votes_of(found.table, name, CONDITION).verdict for name in found.table.verdicts.judge.names}
    said |= {one.label: one.of(said) for one in ensembles}
    final = {name: mapped(one, settings.uncertain) for name, one in said.items()}
    everything: Flags = np.ones(len(episodes), dtype=np.bool_)
    judges = {
        name: {
            **judge_block(episodes, everything, one, settings),
            **of_verdicts(episodes, everything, final[name], settings),
            "training": training_block(episodes, everything, final[name], settings),
        }
        for name, one in said.items()
    }
    warnings = [*found.table.warnings, *cluster_warnings(episodes, everything)]
    if found.scores and episodes.groups:
        warnings.append("scores are measured over all rows: --group breaks down verdicts only")
    for name, block in judges.items():
        warnings += judge_warnings(name, block)
    return {
        "schema_version": SCHEMA_VERSION,
        "level": settings.level,
        "uncertain_policy": settings.uncertain,
        "rows": len(episodes),
        "rows_read": found.rows_read,
        "tasks": len(np.unique(episodes.cluster.codes)),
        "truth": truth_block(episodes, everything, settings),
        "judges": judges,
        "scores": {
            name: score_block(
                episodes,
                everything,
                one,
                settings,
                judge=name,
                asked=asked,
                looks=len(found.scores),
                made_of=made_of,
            )
            for name, one in found.scores.items()
        },
        "groups": _groups(episodes, said, settings),
        "ranks": {
            name: {
                judge: rank_block(episodes, everything, one, name, column, settings)
                for judge, one in final.items()
            }
            for name, column in episodes.groups.items()
        },
        "warnings": warnings,
    }


def named_columns(
    path: Path,
    *,
    truth: str | None,
    cluster: str | None,
    verdicts: Sequence[str] = (),
    scores: Sequence[str] = (),
    cluster_strip: str | None = None,
    groups: Sequence[str] = (),
    mapping: Sequence[str] = (),
    where: str | None = None,
    key: Sequence[str] = (),
) -> Columns:
    """The columns that options name; `UsageError` where truth or cluster is not named."""
    return Columns(
        truth=required(path, "--truth", truth, "what is true of each episode"),
        cluster=required(path, "--cluster", cluster, "what episodes share: their task"),
        verdicts=tuple(verdicts),
        scores=tuple(scores),
        cluster_strip=cluster_strip,
        groups=tuple(dict.fromkeys(groups)),
        mapping=tuple(mapping),
        where=(where,) if where else (),
        key=tuple(key),
    )


def required(path: Path, option: str, value: str | None, what: str) -> str:
    """The column that an option names; `UsageError` with the columns that there are where it names none."""
    if value and value.strip():
        return value
    names = column_names(path)
    shown = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    raise UsageError(f"no {option}", where=str(path), expected=f"the column with {what}; there are {shown}")


def _leading(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rate and the judges' blocks of a table, or of each stratum of a bench that is looked at."""
    if "strata" not in result:
        return [{"rate": result["truth"]["rate"], "judges": list(result["judges"].values())}]
    names = result["strata"] if result["lead"] is None else [result["lead"]]
    strata = [result["strata"][name] for name in names]
    return [
        {
            "rate": one["truth"]["rate"],
            "judges": [judge for cell in one["conditions"].values() for judge in cell["judges"].values()],
        }
        for one in strata
    ]


def _groups(episodes: Episodes, verdicts: Mapping[str, Codes8], settings: Settings) -> list[dict[str, Any]]:
    def block(rows: Flags) -> dict[str, Any]:
        judges = {name: judge_block(episodes, rows, said, settings) for name, said in verdicts.items()}
        return {"truth": truth_block(episodes, rows, settings), "judges": judges}

    everything: Flags = np.ones(len(episodes), dtype=np.bool_)
    return group_blocks(episodes.groups, everything, block)
