"""What stands beside the figures of a judge: agreement, abstention, repeated runs, scores, corrections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyrite.measure.blocks import Settings, compact, family_codes, figure, matrix
from pyrite.measure.corrected import corrected_block
from pyrite.measure.scores import Asked, confidence_block, score_block, scores_of
from pyrite.measure.steadiness import consistency_block
from pyrite.measure.table import FAILURE, PASS, SUCCESS, Codes8, Episodes, Flags, Table
from pyrite.metrics.abstention import selective
from pyrite.metrics.judge import agreement_figures


def of_verdicts(episodes: Episodes, rows: Flags, verdict: Codes8, settings: Settings) -> dict[str, Any]:
    """`agreement` beyond kappa, `selective` rates of what was decided, and the `corrected` success rate.

    Uncertain and parse_error are not decided; `corrected` is None where every judged episode has a truth.
    """
    inside = matrix(episodes, rows, verdict)
    passed, said = episodes.truth[inside] == PASS, verdict[inside]
    task, family = compact(episodes.cluster, inside), family_codes(episodes, inside)
    accepted, decided = said == SUCCESS, (said == SUCCESS) | (said == FAILURE)
    found = agreement_figures(
        passed,
        accepted,
        task,
        family,
        level=settings.level,
        resamples=settings.resamples,
        seed=settings.seed,
    )
    chosen = selective(passed, accepted, decided, task, level=settings.level)
    return {
        "agreement": {name: figure(one) for name, one in found.items()},
        "selective": {name: figure(one) for name, one in chosen.items()},
        "corrected": corrected_block(episodes, rows, verdict, settings),
    }


def of_runs(
    table: Table,
    rows: Flags,
    judge: str,
    condition: str,
    settings: Settings,
    *,
    asked: Asked | None = None,
    looks: int = 1,
    hard: Flags | None = None,
    made_of: Mapping[str, str | None] | None = None,
) -> dict[str, Any]:
    """`consistency` of repeated runs, `scores` and `confidence`; each None where the judge gives none."""
    scores = scores_of(table, judge, condition)
    return {
        "consistency": consistency_block(table, rows, judge, condition, settings),
        "scores": None
        if scores is None
        else score_block(
            table.episodes,
            rows,
            scores,
            settings,
            judge=judge,
            asked=asked,
            looks=looks,
            hard=hard,
            made_of=made_of,
        ),
        "confidence": confidence_block(table, rows, judge, condition, settings),
    }
