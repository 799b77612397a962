"""How the graders of a bench are doing: what has no outcome and why, whether that is too much or rising.

Reads what verify and record have left: outcomes, kept replays, `suite_bugs.json`, and the tasks that
record held back. Strata are never pooled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pyrite.errors import InputError
from pyrite.measure.blocks import counted, figure
from pyrite.metrics.clusters import rate
from pyrite.metrics.intervals import LEVEL
from pyrite.metrics.two_samples import rate_change
from pyrite.records import BLAME, SOURCES, Outcome
from pyrite.store import bugs, held, replays
from pyrite.store import episodes as attempts
from pyrite.store.bench import Bench, now
from pyrite.store.episodes import Episode

LIMIT = 0.05
"""Share of episodes without an outcome above which there is an alert, where nothing else was asked."""
HARDEST = 10
"""Tasks with the highest failure rate that are listed."""
OF_REPLAY = ("gold_failed", "bad_state_accepted", "gold_unstable")


def grader_block(
    bench: Bench, *, limit: float = LIMIT, against: Bench | None = None, level: float = LEVEL
) -> dict[str, Any]:
    """Alerts, the hardest tasks, what was held at check and what broke after it was run.

    `alerts` has one entry a stratum whose share of indeterminate episodes is above `limit`, or has risen
    against the bench `against`: then with the difference and its interval, which must lie above 0.
    """
    found = attempts.read(bench).episodes
    earlier = attempts.read(against).episodes if against is not None else None
    strata: dict[str, Any] = {}
    for name, rows in _strata(found):
        before = dict(_strata(earlier)).get(name) if earlier is not None else None
        strata[name] = _health(rows, before, limit, level)
    known, problem = _bugs(bench)
    return {
        "limit": limit,
        "against": None if against is None else str(against.root),
        "strata": strata,
        "alerts": list(_alerts(strata, against)),
        "hardest": _hardest(bench, found),
        "held": [one.model_dump(mode="json") for one in held.read(bench)],
        "broke": _broke(found, known),
        "suite_bugs": [bug.model_dump(mode="json") for bug in known.bugs],
        "warnings": [problem] if problem else [],
    }


def found_faults(bench: Bench) -> dict[str, Any]:
    """The part that does not depend on the day: what was held, what broke, and what is listed as a fault."""
    known, problem = _bugs(bench)
    return {
        "held": [one.model_dump(mode="json") for one in held.read(bench)],
        "broke": _broke(attempts.read(bench).episodes, known),
        "suite_bugs": [bug.model_dump(mode="json") for bug in known.bugs],
        "problem": problem or None,
    }


def _bugs(bench: Bench) -> tuple[bugs.SuiteBugs, str]:
    try:
        return bugs.read(bench), ""
    except InputError as exc:
        return bugs.SuiteBugs(), f"suite_bugs.json cannot be read: {exc.what}"


def _strata(found: Sequence[Episode]) -> Iterator[tuple[str, list[Episode]]]:
    for name in SOURCES:
        rows = [one for one in found if one.meta is not None and one.meta.source == name]
        if rows:
            yield name, rows


def _undecided(one: Episode) -> bool:
    return one.truth is None or one.truth.outcome is Outcome.INDETERMINATE


# --- alerts ---------------------------------------------------------------------------------------


def _health(
    rows: Sequence[Episode], before: Sequence[Episode] | None, limit: float, level: float
) -> dict[str, Any]:
    """The share without an outcome, whether it is above the limit, and its change."""
    tasks = sorted({_task(one) for one in [*rows, *(before or ())]})
    events, totals = _counts(rows, tasks)
    share = rate(events, totals, estimand="indeterminate of attempted", empty="no_episodes", level=level)
    change = None
    if before is not None:
        moved = rate_change(
            _counts(before, tasks),
            (events, totals),
            estimand="indeterminate share less that of the earlier bench",
            level=level,
        )
        change = {**figure(moved), "rose": moved.low is not None and moved.low > 0}
    return {
        "indeterminate": figure(share),
        "above_limit": share.value is not None and share.value > limit,
        "shown_above": share.low is not None and share.low > limit,
        "change": change,
    }


def _task(one: Episode) -> str:
    assert one.meta is not None
    return one.meta.task_id


def _counts(rows: Sequence[Episode], tasks: Sequence[str]) -> tuple[Any, Any]:
    code = {task_id: n for n, task_id in enumerate(tasks)}
    where = np.array([code[_task(one)] for one in rows], dtype=np.int64)
    open_ = np.array([_undecided(one) for one in rows], dtype=np.bool_)
    events = np.bincount(where[open_], minlength=len(tasks)).astype(np.float64)
    return events, np.bincount(where, minlength=len(tasks)).astype(np.float64)


def _alerts(strata: Mapping[str, Any], against: Bench | None) -> Iterator[dict[str, Any]]:
    for name, health in strata.items():
        if health["above_limit"]:
            yield {"stratum": name, "kind": "limit", "shown": health["shown_above"]}
        change = health["change"]
        if change is not None and change["rose"]:
            yield {"stratum": name, "kind": "rise", "shown": True, "against": str(against and against.root)}


# --- tasks ----------------------------------------------------------------------------------------


def _hardest(bench: Bench, found: Sequence[Episode]) -> dict[str, list[dict[str, Any]]]:
    """Stratum -> the tasks with the highest failure rate, and when a good state of each was last replayed."""
    return {name: _hardest_of(bench, rows) for name, rows in _strata(found)}


def _hardest_of(bench: Bench, rows: Sequence[Episode]) -> list[dict[str, Any]]:
    passed, failed = Counter[str](), Counter[str]()
    for one in rows:
        if not _undecided(one):
            assert one.truth is not None
            (passed if one.truth.passed else failed)[_task(one)] += 1
    order = sorted(failed, key=lambda t: (-failed[t] / (failed[t] + passed[t]), -failed[t], t))[:HARDEST]
    return [
        {
            "task_id": task_id,
            "fail": failed[task_id],
            "scored": failed[task_id] + passed[task_id],
            "failure_rate": failed[task_id] / (failed[task_id] + passed[task_id]),
            "gold": _gold(bench, task_id, [one for one in rows if _task(one) == task_id]),
        }
        for task_id in order
    ]


def _gold(bench: Bench, task_id: str, rows: Sequence[Episode]) -> dict[str, Any]:
    """Whether the failures of a task can be believed: when a good state of it was seen to pass.

    today: in a replay that is kept; at_verify: when its episodes were verified; never: no replay with a
    state that passes, so nothing shows that this verifier accepts anything.
    """
    kept = replays.latest(bench, task_id)
    if kept is not None and kept.cause is None and kept.day == now()[:10] and kept.passes:
        return {"replayed": "today", "at": kept.at, "image": kept.image}
    seen = [one.truth.replay for one in rows if one.truth is not None and one.truth.replay is not None]
    good = [replay for replay in seen if str(Outcome.PASS) in replay.outcomes.values()]
    if not good:
        return {"replayed": "never", "at": None, "image": None}
    last = max(good, key=lambda replay: replay.at)
    return {"replayed": "at_verify", "at": last.at, "image": last.image}


def _broke(found: Sequence[Episode], known: bugs.SuiteBugs) -> list[dict[str, Any]]:
    """Tasks that were run and do not count, because of what their replay showed."""
    rows: dict[tuple[str, str], list[Episode]] = {}
    for one in found:
        truth = one.truth
        if one.meta is None or truth is None or truth.outcome is not Outcome.INDETERMINATE:
            continue
        if truth.cause in OF_REPLAY or _disbelieved(one):
            rows.setdefault((one.meta.task_id, str(truth.cause)), []).append(one)
    return [_broken(task_id, cause, group, known) for (task_id, cause), group in sorted(rows.items())]


def _disbelieved(one: Episode) -> bool:
    """Whether the replay itself gave no answer to a known state, or none could be made."""
    assert one.truth is not None
    replay = one.truth.replay
    if replay is None:
        return False
    return not replay.outcomes or str(Outcome.INDETERMINATE) in replay.outcomes.values()


def _broken(task_id: str, cause: str, group: Sequence[Episode], known: bugs.SuiteBugs) -> dict[str, Any]:
    truths = [one.truth for one in group if one.truth is not None]
    last = max(truths, key=lambda truth: truth.verified_at)
    images = sorted({truth.replay.image for truth in truths if truth.replay is not None})
    own = [bug for bug in known.bugs if bug.task_id == task_id and bug.image in images]
    return {
        "task_id": task_id,
        "cause": cause,
        "blame": last.blame or BLAME.get(cause),
        "episodes": len(group),
        "problem": str(last.diagnostics.get("problem") or "") or None,
        "images": images,
        "at": last.replay.at if last.replay is not None else None,
        "flake": next(
            (bug.flake for bug in own if bug.flake and bug.cause == cause and not bug.mended), None
        ),
        "suite_bugs": [bug.number for bug in own if bug.mended is None],
    }


def alert_words(alert: Mapping[str, Any], block: Mapping[str, Any]) -> str:
    """One alert in a sentence without its figures."""
    if alert["kind"] == "rise":
        return f"{alert['stratum']}: the indeterminate share has risen against {alert['against']}"
    above = "is above" if alert["shown"] else "was seen above, and is not shown to be above,"
    return f"{alert['stratum']}: the indeterminate share {above} {100 * block['limit']:g} %"


def broke_words(block: Mapping[str, Any]) -> str:
    """How many episodes were run and are not counted because of their task."""
    n = sum(one["episodes"] for one in block["broke"])
    return f"{counted(n, 'episode')} of {counted(len({one['task_id'] for one in block['broke']}), 'task')}"
