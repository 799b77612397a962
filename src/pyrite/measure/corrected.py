"""The success rate of episodes that only a judge has seen, corrected with those whose truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyrite.measure.blocks import Settings, figure, matrix
from pyrite.measure.table import MISSING, PASS, SUCCESS, Codes8, Codes32, Episodes, Flags
from pyrite.metrics.clusters import cluster_size
from pyrite.metrics.correction import Corrected, Proportion, ppi_mean, rogan_gladen

WHEN = {
    "rogan_gladen": "right where success is rarer or commoner there than among the scored episodes, and the "
    "judge's TPR and TNR are the same; speaks of the unscored episodes",
    "ppi": "right where the scored episodes are a random sample of all; assumes nothing of the judge, and "
    "speaks of all episodes",
}


def corrected_block(
    episodes: Episodes, rows: Flags, verdict: Codes8, settings: Settings
) -> dict[str, Any] | None:
    """Rogan-Gladen and PPI++ for the chosen episodes; None where every judged episode has a truth.

    Scored episodes calibrate the judge; unscored are those of which the source says nothing at all (an
    indeterminate outcome is known, and is in neither). Sizes are the clustered ones.
    """
    only = rows & (episodes.truth == MISSING) & (verdict != MISSING)
    if not bool(only.any()):
        return None
    inside = matrix(episodes, rows, verdict)
    accepted = verdict == SUCCESS
    passed = episodes.truth == PASS
    codes = episodes.cluster.codes
    judged = _proportion(accepted, only, codes, settings)
    found = rogan_gladen(
        judged or Proportion(0.0, 0.0),
        _proportion(accepted, inside & passed, codes, settings),
        _proportion(~accepted, inside & ~passed, codes, settings),
        level=settings.level,
        clusters=len(np.unique(codes[only])),
    )
    powered = ppi_mean(
        passed[inside].astype(np.float64),
        accepted[inside].astype(np.float64),
        accepted[only].astype(np.float64),
        cluster=codes[inside],
        cluster_only=codes[only],
        level=settings.level,
    )
    return {
        "unscored": int(only.sum()),
        "judged_rate": judged.value if judged else None,
        "rogan_gladen": {**_block(found), "youden": found.youden, "when": WHEN["rogan_gladen"]},
        "ppi": {**_block(powered), "weight": powered.weight, "when": WHEN["ppi"]},
    }


def _block(found: Corrected) -> dict[str, Any]:
    return {**figure(found.estimate), "warnings": list(found.warnings)}


def _proportion(chosen: Flags, rows: Flags, codes: Codes32, settings: Settings) -> Proportion | None:
    """The share of `chosen` with its clustered size; one task is the size of one episode."""
    if not bool(rows.any()):
        return None
    task = np.unique(codes[rows], return_inverse=True)[1]
    totals = np.bincount(task).astype(np.float64)
    events = np.bincount(task[chosen[rows]], minlength=len(totals)).astype(np.float64)
    if len(totals) < 2:
        return Proportion(float(events.sum() / totals.sum()), 1.0)
    found = cluster_size(events, totals, level=settings.level)
    return Proportion(found.rate, found.size)
