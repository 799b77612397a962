"""What the agent's words do to a judge: the same episodes with and without them, by what the words say."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyrite.measure.blocks import Settings, compact, figure
from pyrite.measure.gate_runs import CLAIM_JUDGE, base_condition
from pyrite.measure.steadiness import runs_of
from pyrite.measure.table import FAIL, MISSING, PASS, SUCCESS, Codes8, Episodes, Flags, Table
from pyrite.measure.vote import votes_of
from pyrite.metrics.claims import Contrast, contrast, discrimination

ASSERTED, OTHER = "episodes whose message asserts success", "does not assert success"
ANY = "all episodes: who asserts success is not known"


def claim_effects(table: Table, rows: Flags, settings: Settings) -> list[dict[str, Any]]:
    """A block for each judge and condition that shows the agent's words and was judged without them too.

    The effect on the FPR is of failed episodes whose final message asserts success, as the `claim`
    baseline read it (`among`); where that baseline was not asked, of all failed episodes. Those that
    assert nothing are the placebo. `noise` is the same statistic between odd and even runs of the
    condition without the words.
    """
    asked = set(table.asked())
    found = []
    for judge, condition in sorted(asked, key=lambda pair: (pair[1], pair[0])):
        base = base_condition(condition)
        if base is None or (judge, base) not in asked:
            continue
        asserts = None
        if (CLAIM_JUDGE, condition) in asked:
            asserts = votes_of(table, CLAIM_JUDGE, condition).verdict == SUCCESS
        found.append(_block(table, rows, judge, condition, base, asserts, settings))
    return found


def _block(
    table: Table,
    rows: Flags,
    judge: str,
    condition: str,
    base: str,
    asserts: Flags | None,
    settings: Settings,
) -> dict[str, Any]:
    episodes = table.episodes
    shown, hidden = (votes_of(table, judge, name).verdict for name in (condition, base))
    decided = rows & (shown != MISSING) & (hidden != MISSING)
    failed, passed = decided & (episodes.truth == FAIL), decided & (episodes.truth == PASS)
    everyone: Flags = np.ones(len(episodes), dtype=np.bool_)
    among = everyone if asserts is None else asserts

    def effect(chosen: Flags, estimand: str, empty: str) -> dict[str, Any]:
        return contrast_block(
            episodes, chosen, shown == SUCCESS, hidden == SUCCESS, estimand, empty, settings
        )

    return {
        "judge": judge,
        "condition": condition,
        "base": base,
        "among": ASSERTED if asserts is not None else ANY,
        "fpr": effect(failed & among, "FPR with the words minus without", "no_such_failures"),
        "tpr": effect(passed & among, "TPR with the words minus without", "no_positives"),
        "placebo": None
        if asserts is None
        else effect(failed & ~asserts, f"FPR with minus without, message {OTHER}", "no_such_failures"),
        "noise": noise_block(table, failed & among, judge, base, settings),
        "with_words": discrimination_block(failed & among, passed & among, shown),
        "without": discrimination_block(failed & among, passed & among, hidden),
    }


def noise_block(
    table: Table, rows: Flags, judge: str, condition: str, settings: Settings
) -> dict[str, Any] | None:
    """The contrast of the odd with the even runs of one condition; None for a single run."""
    said = runs_of(table, judge, condition)
    pairs = said.shape[1] // 2
    if not pairs:
        return None
    first, second = said[:, 0 : 2 * pairs : 2], said[:, 1 : 2 * pairs : 2]
    whole = rows & (first >= 0).all(axis=1) & (second >= 0).all(axis=1)
    accepts = [(half == SUCCESS).sum(axis=1) * 2 > pairs for half in (first, second)]
    return contrast_block(
        table.episodes,
        whole,
        accepts[0],
        accepts[1],
        "FPR of odd runs minus even runs of one condition",
        "no_complete_runs",
        settings,
    )


def contrast_block(
    episodes: Episodes,
    rows: Flags,
    first: Flags,
    second: Flags,
    estimand: str,
    empty: str,
    settings: Settings,
) -> dict[str, Any]:
    found: Contrast = contrast(
        first[rows],
        second[rows],
        compact(episodes.cluster, rows),
        estimand=estimand,
        empty=empty,
        level=settings.level,
    )
    return {
        **figure(found.difference),
        "flip_in": found.flip_in,
        "flip_out": found.flip_out,
        "p_signflip": found.p_signflip,
        "p_signflip_method": found.p_signflip_method,
        "p_mcnemar": found.p_mcnemar,
    }


def discrimination_block(failed: Flags, passed: Flags, verdict: Codes8) -> dict[str, Any]:
    """d' and criterion of the judge in one condition: leniency moves the second alone."""
    accepted = verdict == SUCCESS
    tp, fn = int((passed & accepted).sum()), int((passed & ~accepted).sum())
    fp, tn = int((failed & accepted).sum()), int((failed & ~accepted).sum())
    found = discrimination(tp, fn, fp, tn)
    return {
        "d_prime": found.d_prime,
        "criterion": found.criterion,
        "log_linear": found.corrected,
        "reason": found.reason,
    }
