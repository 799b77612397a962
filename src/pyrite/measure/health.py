"""Health of the truth: what to read by hand, what adjudication changes, and figures at a fixed mix.

The verifier's outcome leads; where people adjudicated, both versions of a judge's FPR are shown. The list
to read holds every counted false positive and as many true negatives of the same categories: to correct
one side only would flatter the judge.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pyrite.measure.blocks import Settings, compact, family_codes, figure, matrix
from pyrite.measure.table import FAIL, INDETERMINATE, MISSING, PASS, SUCCESS, Codes8, Episodes, Flags, Table
from pyrite.measure.vote import votes_of
from pyrite.metrics.health import gap, matched_sample, observed_fpr, standardised
from pyrite.metrics.judge import share
from pyrite.records import HARD_NEGATIVES, Category, Estimate

ASSUMED = (0.01, 0.02, 0.05)
"""Shares of good states that a verifier might reject, for which the judge's FPR is worked back."""
FEW = 10


def health_block(
    table: Table,
    rows: Flags,
    settings: Settings,
    *,
    people: Codes8 | None = None,
    weights: Mapping[str, float] | None = None,
    exposed: Flags | None = None,
) -> dict[str, Any]:
    """Indeterminate outcomes by agent, and for every judge what reading and adjudication would change.

    `people` is what people say of each episode (MISSING where nobody did), `weights` the declared share
    of each category in a standardised FPR, `exposed` the episodes that an active verifier step acted on.
    """
    judges: dict[str, dict[str, Any]] = {}
    for judge, condition in table.asked():
        verdict = votes_of(table, judge, condition).verdict
        judges.setdefault(condition, {})[judge] = _judge(table, rows, verdict, settings, people, weights)
    return {
        "by_agent": _by_agent(table.episodes, rows, exposed),
        "people": None if people is None else int((rows & (people != MISSING)).sum()),
        "judges": judges,
    }


def adjudicated(truth: Codes8, people: Codes8) -> Codes8:
    """The verifier's outcome, replaced where people said pass, fail or indeterminate."""
    return np.where(people == MISSING, truth, people).astype(np.int8)


def _judge(
    table: Table,
    rows: Flags,
    verdict: Codes8,
    settings: Settings,
    people: Codes8 | None,
    weights: Mapping[str, float] | None,
) -> dict[str, Any]:
    episodes = table.episodes
    inside = matrix(episodes, rows, verdict)
    accepted: Flags = verdict == SUCCESS
    failed, passed = inside & (episodes.truth == FAIL), inside & (episodes.truth == PASS)
    fpr = _fpr(episodes, failed, accepted, settings, "no_negatives")
    block: dict[str, Any] = {
        "to_read": _to_read(episodes, failed, accepted, people, settings.seed),
        "fpr": figure(fpr),
        "adjudicated": None,
        "if_verifier_rejects": _noise(fpr.value, inside, passed, accepted),
        "by_category": None,
        "standardised": None,
    }
    if people is not None:
        block["adjudicated"] = _adjudicated(episodes, rows, verdict, people, settings)
    if episodes.category is not None and episodes.category.names:
        block["by_category"] = _difficulty(episodes, failed, accepted, settings)
        if weights:
            block["standardised"] = figure(_standardised(episodes, failed, accepted, settings, weights))
    return block


def _to_read(
    episodes: Episodes, failed: Flags, accepted: Flags, people: Codes8 | None, seed: int
) -> dict[str, Any]:
    """Every counted false positive and as many true negatives, and which of them nobody has read."""
    wrong, right = np.flatnonzero(failed & accepted).tolist(), np.flatnonzero(failed & ~accepted).tolist()
    codes = np.zeros(len(episodes)) if episodes.category is None else episodes.category.codes.astype(float)
    sample = matched_sample(wrong, codes, right, seed=seed)
    read = np.zeros(len(episodes), dtype=np.bool_) if people is None else people != MISSING
    listed = [*wrong, *sample]
    return {
        "false_positives": [_name(episodes, row) for row in wrong],
        "true_negatives": [_name(episodes, row) for row in sample],
        "open": [_name(episodes, row) for row in listed if not read[row]],
    }


def _adjudicated(
    episodes: Episodes, rows: Flags, verdict: Codes8, people: Codes8, settings: Settings
) -> dict[str, Any]:
    """The FPR with what people say in place of the verifier, and how many outcomes moved."""
    truth = adjudicated(episodes.truth, people)
    judged = rows & (verdict >= 0)
    failed = judged & (truth == FAIL)
    before = episodes.truth
    accepted: Flags = verdict == SUCCESS
    moved = judged & (truth != before)
    return {
        "fpr": figure(_fpr(episodes, failed, accepted, settings, "no_negatives")),
        "moved": int(moved.sum()),
        "false_positives_that_passed": int((moved & accepted & (before == FAIL) & (truth == PASS)).sum()),
        "true_negatives_that_passed": int((moved & ~accepted & (before == FAIL) & (truth == PASS)).sum()),
        "passes_that_failed": int((moved & (before == PASS) & (truth == FAIL)).sum()),
        "became_indeterminate": int((moved & (truth == INDETERMINATE)).sum()),
    }


def _noise(fpr: float | None, inside: Flags, passed: Flags, accepted: Flags) -> dict[str, float | None]:
    """Share v of good states rejected -> the FPR that this judge, if errors are independent, truly has.

    From observed = [pi v TPR + (1 - pi) FPR] / [pi v + (1 - pi)] solved for FPR; the true success rate
    is the observed one over 1 - v. None where a rate is unknown, or v alone would explain more than
    all false positives.
    """
    n, good = int(inside.sum()), int(passed.sum())
    found: dict[str, float | None] = {}
    for v in ASSUMED:
        found[f"{v:g}"] = None
        if fpr is None or not good:
            continue
        success, tpr = good / n / (1 - v), float((passed & accepted).sum()) / good
        if success >= 1:
            continue
        worked = (fpr * (success * v + 1 - success) - success * v * tpr) / (1 - success)
        if 0 <= worked <= 1:
            again = observed_fpr(worked, tpr, success, rejects=v)
            found[f"{v:g}"] = worked if again is not None else None
    return found


def _difficulty(episodes: Episodes, failed: Flags, accepted: Flags, settings: Settings) -> dict[str, Any]:
    """What is expected of each category beside what was measured.

    Expected, before any verdict: hard negatives look like success and are accepted more often than the
    easy failures, easy ones less often than the hard. Measured: the category's FPR minus that of all
    failures of the other kind, with its interval; `answer` is "as expected" or "not as expected" where
    the interval leaves 0 out, "not shown" where it does not, None with a `reason` where there is no
    difference to look at. `as_expected` is the share of (hard, easy) pairs of rated categories in which
    the hard one is accepted more often, a tie a half; None where there is no pair.
    """
    assert episodes.category is not None
    codes, names = episodes.category.codes, episodes.category.names
    kinds = [_kind(name) for name in names]
    of_kind = {
        kind: _fpr(
            episodes,
            failed & np.isin(codes, [code for code, one in enumerate(kinds) if one == kind]),
            accepted,
            settings,
            "no_such_failures",
        )
        for kind in ("hard", "easy")
    }
    found: dict[str, Any] = {}
    rates: dict[str, list[float]] = {"hard": [], "easy": []}
    for code, (name, expected) in enumerate(zip(names, kinds, strict=True)):
        rows = failed & (codes == code)
        if not rows.any():
            continue
        estimate = _fpr(episodes, rows, accepted, settings, "no_such_failures")
        few = estimate.n < FEW
        found[name] = {
            "expected": expected,
            "accepted": int((rows & accepted).sum()),
            "n": estimate.n,
            "fpr": None if few else figure(estimate),
            "reason": f"n < {FEW}, no rate" if few else None,
            "measured": _against(estimate, expected, of_kind, settings),
        }
        if not few and expected and estimate.value is not None:
            rates[expected].append(estimate.value)
    pairs = [(h > e) + (h == e) / 2 for h in rates["hard"] for e in rates["easy"]]
    return {
        "categories": found,
        "kinds": {kind: figure(one) for kind, one in of_kind.items()},
        "as_expected": float(np.mean(pairs)) if pairs else None,
        "pairs": len(pairs),
    }


def _kind(category: str) -> str | None:
    """What is expected of a category; None for a code that is not one of ours."""
    if category not in {code.value for code in Category}:
        return None
    return "hard" if category in set(HARD_NEGATIVES) else "easy"


def _against(
    estimate: Estimate, expected: str | None, of_kind: Mapping[str, Estimate], settings: Settings
) -> dict[str, Any]:
    """A category's FPR minus that of the failures of the other kind, and whether that is as expected."""
    other = {"hard": "easy", "easy": "hard"}.get(expected or "")
    block: dict[str, Any] = {"against": other, "against_n": None, "difference": None, "answer": None}
    if other is None:
        return {**block, "reason": "nothing is expected of this category"}
    against = of_kind[other]
    block["against_n"] = against.n
    if estimate.n < FEW:
        return {**block, "reason": f"n < {FEW}, no rate"}
    if against.n < FEW:
        return {**block, "reason": f"n < {FEW} {other} failures, no rate"}
    found = gap(estimate, against, level=settings.level)
    block["difference"] = figure(found)
    if found.low is None or found.high is None:
        return {**block, "reason": found.reason}
    sign = 1 if expected == "hard" else -1
    low, high = sorted((sign * found.low, sign * found.high))
    block["answer"] = "as expected" if low > 0 else "not as expected" if high < 0 else "not shown"
    return {**block, "reason": None}


def _standardised(
    episodes: Episodes, failed: Flags, accepted: Flags, settings: Settings, weights: Mapping[str, float]
) -> Estimate:
    assert episodes.category is not None
    index = {name: code for code, name in enumerate(episodes.category.names)}
    rates = [
        _fpr(
            episodes,
            failed & (episodes.category.codes == index.get(name, -2)),
            accepted,
            settings,
            "no_such_failures",
        )
        for name in weights
    ]
    return standardised(rates, list(weights.values()), level=settings.level)


def _by_agent(episodes: Episodes, rows: Flags, exposed: Flags | None) -> dict[str, Any]:
    """Attempted, indeterminate and (where known) failures that an active step acted on, by agent."""
    if episodes.agent is None:
        return {}
    undecided = (episodes.truth == INDETERMINATE) | (episodes.truth == MISSING)
    found = {}
    for code, name in enumerate(episodes.agent.names):
        mine = rows & (episodes.agent.codes == code)
        n, failed = int(mine.sum()), mine & (episodes.truth == FAIL)
        if not n:
            continue
        found[name] = {
            "attempted": n,
            "indeterminate": int((mine & undecided).sum()),
            "indeterminate_rate": float((mine & undecided).sum()) / n,
            "fail": int(failed.sum()),
            "fail_exposed": None if exposed is None else int((failed & exposed).sum()),
        }
    return found


def _fpr(episodes: Episodes, rows: Flags, accepted: Flags, settings: Settings, empty: str) -> Estimate:
    return share(
        accepted[rows],
        compact(episodes.cluster, rows),
        family_codes(episodes, rows),
        estimand="accepted of failed episodes",
        empty=empty,
        level=settings.level,
    )


def _name(episodes: Episodes, row: int) -> str:
    return episodes.ids[row] if episodes.ids else f"row {row + 1}"
