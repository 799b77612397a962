"""The figures on the card of orm-lite, on families that it was not trained on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrite.measure.blocks import figure
from pyrite.measure.scores import calibration_block, certificate_block
from pyrite.metrics.calibration import calibration
from pyrite.metrics.certificate import certify
from pyrite.metrics.judge import share, wider
from pyrite.metrics.roc import auc
from pyrite.records import Estimate

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Codes = NDArray[np.intp]

USE = (
    "A raw score for measuring, of desktop episodes like those it was trained on: scripted agents and "
    "injected defects. No threshold goes with it; certify one on your own failed episodes (pyrite measure "
    "--certificates). A policy that is trained against it leaves what it knows."
)


def held_out(
    cut: float,
    scores: Floats,
    passed: Flags,
    hard: Flags,
    task: Codes,
    family: Codes,
    strata: Mapping[str, Flags],
) -> dict[str, Any]:
    """AUC, FPR and TPR at `cut`, reliability and the certified threshold; one entry an episode.

    The cut is no threshold to use: nothing promises anything there.
    Failed episodes come from other strata than most passed ones, so AUC, reliability and threshold are of
    all strata together; FPR and TPR are of each apart too. Intervals by task or family, the wider leads.
    """
    everything: Flags = np.ones(len(scores), dtype=np.bool_)
    accepted = scores >= cut

    def of(rows: Flags, estimand: str, empty: str) -> dict[str, Any]:
        found: Estimate = share(
            accepted[rows], _compact(task[rows]), _compact(family[rows]), estimand=estimand, empty=empty
        )
        return figure(found)

    def rates(rows: Flags) -> dict[str, Any]:
        return {
            "failed": int((rows & ~passed).sum()),
            "passed": int((rows & passed).sum()),
            "fpr": of(rows & ~passed, f"failed episodes scoring at least {cut:g}", "no_negatives"),
            "hard_fpr": of(
                rows & ~passed & hard, f"hard negatives that score at least {cut:g}", "no_negatives"
            ),
            "tpr": of(rows & passed, f"passed episodes scoring at least {cut:g}", "no_positives"),
        }

    certificate = certify(scores, passed, task, hard=hard)
    return {
        "cut": cut,
        **rates(everything),
        "by_stratum": {name: rates(rows) for name, rows in strata.items() if rows.any()},
        "auc": figure(wider(auc(scores, passed, task), auc(scores, passed, family, unit="family"))),
        "calibration": calibration_block(calibration(scores, passed, task)),
        "certificate": certificate_block(certificate, judge="orm-lite"),
    }


def _compact(codes: Codes) -> Codes:
    found: Codes = np.unique(codes, return_inverse=True)[1]
    return found
