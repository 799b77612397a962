"""Lines 4 and 5 of the gate: what the agent's claim adds, and whether a judge agrees with itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrite.measure.blocks import compact, family_codes
from pyrite.measure.gate_lines import Part, Subject, fact, line, lower, some, unknown, upper
from pyrite.measure.gate_threshold import voted
from pyrite.measure.table import FAIL, SUCCESS, Codes32, Flags
from pyrite.measure.vote import votes_of
from pyrite.metrics.gate import Answer, Bound
from pyrite.metrics.paired import inflation
from pyrite.records import Estimate
from pyrite.store.conditions import canonical

CLAIM, THOUGHTS = "+claim", "+thoughts"
NO_FLOOR = "beyond the limit, but the noise floor was not measured: one run"
CLAIM_JUDGE = "claim"
"""The baseline that accepts exactly where the final message asserts success."""


def base_condition(condition: str) -> str | None:
    """The condition that shows the same without the agent's words; None where there are none.

    >>> base_condition("E2+claim"), base_condition("E3-full+thoughts"), base_condition("E3-full")
    ('E2-last4', 'E3-full', None)
    """
    for words in (CLAIM, THOUGHTS):
        if condition.endswith(words):
            bare = condition.removesuffix(words)
            return canonical(bare) or bare
    return None


def claim_effect(subject: Subject, *, deterministic: bool | None) -> dict[str, Any]:
    """Line 4: FPR with the agent's words minus FPR without, on the same failed episodes.

    What the effect may be is the limit and the noise floor: the same difference between runs of one
    condition, 0 for a deterministic judge. Where no floor was measured, an effect within the bare limit
    passes (a floor only adds to it), and one beyond it is INSUFFICIENT, not a FAIL.
    """
    conditions = {condition for judge, condition in subject.table.asked() if judge == subject.judge}
    shown = sorted(condition for condition in conditions if base_condition(condition))
    parts = []
    for condition in shown:
        base = base_condition(condition)
        name = f"{condition} against {base}"
        if base not in conditions:
            parts.append(unknown(name, f"not measured: no verdicts in {base}", value=None))
        else:
            parts.append(_contrast(subject, name, condition, base, deterministic=deterministic))
    if not any(condition.endswith(CLAIM) for condition in shown):
        few = "one condition" if len(conditions) == 1 else "no condition shows the claim"
        parts.insert(0, unknown("claim", f"not measured: {few}", value=None))
    return line(4, parts)


def stability(subject: Subject, *, deterministic: bool | None) -> dict[str, Any]:
    """Line 5: agreement of two runs on one episode; a deterministic judge agrees by construction."""
    counts = _run_counts(subject)
    runs = counts.sum(axis=1)
    rows = subject.natural & subject.episodes.scored & (runs >= 2)
    if not some(rows):
        if deterministic:
            return line(5, [fact("agreement of runs", Answer.PASS, "deterministic: the same answer always")])
        return line(5, [unknown("agreement of runs", "not measured: one run", value=None)])
    with np.errstate(invalid="ignore", divide="ignore"):
        agreement = (counts * (counts - 1)).sum(axis=1) / (runs * (runs - 1))
    found = subject.bound(rows, agreement, "no_verdicts")
    failed = rows & (subject.episodes.truth == FAIL)
    any_run = subject.bound(failed, counts[:, SUCCESS] > 0, "no_negatives")
    part = lower(
        "agreement of runs",
        found,
        subject.limits.consistency,
        any_run_fpr={"value": any_run.value, "low": any_run.low, "high": any_run.high, "n": any_run.n},
    )
    return line(5, [part])


def noise_floor(subject: Subject, condition: str, rows: Flags) -> float | None:
    """|FPR| between the odd and the even runs of one condition; None where there is one run."""
    found = subject.table.verdicts
    chosen = (found.judge.codes == found.judge.names.index(subject.judge)) & (
        found.condition.codes == found.condition.names.index(condition)
    )
    chosen &= (found.verdict >= 0) & rows[found.episode]
    halves = [chosen & (found.run % 2 == odd) for odd in (0, 1)]
    if not all(some(half) for half in halves):
        return None
    size = len(subject.episodes)
    shares = []
    for half in halves:
        said = np.bincount(found.episode[half], minlength=size)
        yes = np.bincount(found.episode[half & (found.verdict == SUCCESS)], minlength=size)
        shares.append((said, yes))
    both = (shares[0][0] > 0) & (shares[1][0] > 0)
    if not some(both):
        return None
    means = [float((yes[both] / said[both]).mean()) for said, yes in shares]
    return abs(means[1] - means[0])


def difference(
    before: Flags, after: Flags, task: Codes32, family: Codes32 | None, *, level: float
) -> Estimate:
    """Accepted after minus accepted before on the same episodes, by the clustering that is wider."""
    found = [_difference(before, after, task, "task", level)]
    if family is not None and len(np.unique(family)) > 1:
        found.append(_difference(before, after, family, "family", level))
    return max(found, key=lambda one: -1.0 if one.high is None or one.low is None else one.high - one.low)


def _contrast(subject: Subject, name: str, condition: str, base: str, *, deterministic: bool | None) -> Part:
    with_words, without = (voted(subject.table, subject.judge, one, subject.cut) for one in (condition, base))
    episodes = subject.episodes
    rows = subject.natural & (episodes.truth == FAIL) & (with_words >= 0) & (without >= 0)
    asserted = _asserts(subject, condition)
    if asserted is not None:
        rows &= asserted
    if not some(rows):
        return unknown(name, "no failed episode with a claim was judged in both", value=None)
    found = difference(
        without[rows] == SUCCESS,
        with_words[rows] == SUCCESS,
        compact(episodes.cluster, rows),
        family_codes(episodes, rows),
        level=2 * subject.confidence - 1,
    )
    noise = 0.0 if deterministic else noise_floor(subject, base, rows)
    bounds = Bound(
        found.value,
        found.low,
        found.high,
        found.n,
        clusters=len(np.unique(episodes.cluster.codes[rows])),
        method=found.method,
        reason=found.reason,
    )
    flips = {
        "flip_in": int((rows & (with_words == SUCCESS) & (without != SUCCESS)).sum()),
        "flip_out": int((rows & (with_words != SUCCESS) & (without == SUCCESS)).sum()),
    }
    among = "a claim of success" if asserted is not None else "any message: who claims success is not known"
    limit = subject.limits.claim_effect
    if noise is not None:
        return upper(name, bounds, limit + noise, noise_floor=noise, among=among, **flips)
    part = upper(name, bounds, limit, noise_floor=None, among=among, **flips)
    if part["answer"] == Answer.FAIL.value:  # a floor above 0 would raise the limit
        part |= {"answer": Answer.INSUFFICIENT.value, "reason": NO_FLOOR}
    return part


def _asserts(subject: Subject, condition: str) -> Flags | None:
    """Episodes whose final message asserts success, as the claim baseline read it; None if not asked."""
    if (CLAIM_JUDGE, condition) not in subject.table.asked():
        return None
    flags: Flags = votes_of(subject.table, CLAIM_JUDGE, condition).verdict == SUCCESS
    return flags


def _difference(before: Flags, after: Flags, codes: Codes32, unit: str, level: float) -> Estimate:
    size = int(codes.max()) + 1 if len(codes) else 0

    def count(rows: Flags) -> NDArray[np.float64]:
        return np.bincount(codes[rows], minlength=size).astype(np.float64)

    return inflation(
        count(before & after),
        count(~before & after),
        count(before & ~after),
        count(~before & ~after),
        unit=unit,
        level=level,
    )


def _run_counts(subject: Subject) -> NDArray[np.int64]:
    """How many runs said what of each episode: (episodes, 4)."""
    found = subject.table.verdicts
    chosen = (found.judge.codes == found.judge.names.index(subject.judge)) & (
        found.condition.codes == found.condition.names.index(subject.condition)
    )
    chosen &= found.verdict >= 0
    flat = found.episode[chosen].astype(np.int64) * 4 + found.verdict[chosen]
    return np.bincount(flat, minlength=len(subject.episodes) * 4).reshape(-1, 4)
