"""Whether a judge says the same again, from the runs of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrite.measure.blocks import Settings, compact, figure
from pyrite.measure.table import FAIL, FAILURE, MISSING, PARSE_ERROR, SUCCESS, UNCERTAIN, Flags, Table
from pyrite.measure.vote import coded
from pyrite.metrics.stability import Consistency, any_run, self_consistency

Codes = NDArray[np.int8]


def runs_of(table: Table, judge: str, condition: str) -> Codes:
    """(episodes, configured runs) verdicts of one judge; MISSING where a run has none."""
    found = table.verdicts
    chosen = coded(found.judge, judge) & coded(found.condition, condition)
    numbers = np.unique(found.run[chosen])
    runs = max(table.runs.get((judge, condition), 1), len(numbers))
    said = np.full((len(table.episodes), runs), MISSING, dtype=np.int8)
    said[found.episode[chosen], np.searchsorted(numbers, found.run[chosen])] = found.verdict[chosen]
    return said


def consistency_block(
    table: Table, rows: Flags, judge: str, condition: str, settings: Settings
) -> dict[str, Any] | None:
    """Agreement between runs on the chosen episodes, raw, mapped and of failed episodes alone.

    None for a judge with one run: nothing is known of its stability, which is not perfect stability.
    `mapped` counts uncertain and parse_error as not accepted. `any_run_fpr` is the share of failed
    episodes that at least one run accepts.
    """
    said = runs_of(table, judge, condition)
    if said.shape[1] < 2:
        return None
    episodes = table.episodes
    inside = rows & episodes.scored
    failed = inside & (episodes.truth == FAIL)
    cluster = compact(episodes.cluster, inside)
    mapped = np.where((said == UNCERTAIN) | (said == PARSE_ERROR), FAILURE, said)
    of_failed = compact(episodes.cluster, failed)
    level = settings.level
    return {
        "runs": said.shape[1],
        "raw": _block(self_consistency(said[inside], cluster, level=level)),
        "mapped": _block(self_consistency(mapped[inside], cluster, level=level)),
        "failed": _block(self_consistency(mapped[failed], of_failed, level=level)),
        "any_run_fpr": figure(any_run(said[failed] == SUCCESS, said[failed] >= 0, of_failed, level=level)),
    }


def _block(found: Consistency) -> dict[str, Any]:
    return {
        "episodes": found.episodes,
        "complete": found.complete,
        "all_agree": figure(found.all_agree),
        "pairwise": figure(found.pairwise),
        "fleiss": found.fleiss,
        "fleiss_reason": found.fleiss_reason,
    }
