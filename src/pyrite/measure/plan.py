"""How many tasks and episodes a question about judges needs, from what is assumed or seen on a bench."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pyrite.errors import UsageError
from pyrite.measure.bench import table_from_bench
from pyrite.measure.blocks import compact
from pyrite.measure.compare import leading_stratum
from pyrite.measure.finding import is_shortcut
from pyrite.measure.foreign import table_from_file
from pyrite.measure.measure import named_columns
from pyrite.measure.pairs import Side, side
from pyrite.measure.refused import with_next
from pyrite.measure.table import FAIL, PASS, Episodes, Flags, Table
from pyrite.metrics import plan as sizes
from pyrite.metrics.clusters import Counts
from pyrite.metrics.compare import discordance
from pyrite.metrics.intervals import LEVEL
from pyrite.records import SCHEMA_VERSION
from pyrite.store.bench import Bench

DEFAULTS: dict[str, float] = {
    "fpr": 0.10,
    "difference": 0.05,
    "half_width": 0.05,
    "limit": 0.05,
    "per_task": 4.0,
    "icc": 0.3,
    "icc_difference": 0.3,
}
"""What is assumed where nothing is said. ICCs of same-task episodes of 0.3 and more are usual."""
NAMES = (
    "fpr",
    "difference",
    "discordant",
    "half_width",
    "limit",
    "per_task",
    "icc",
    "success_rate",
    "failed",
)
"""What may be assumed."""
_OPEN = ("fpr", "difference", "half_width", "limit", "power", "level")
"""Assumptions that lie between 0 and 1, both excluded."""
_ICCS = ("icc", "icc_difference")
LOWEST_ICC = 0.1
"""What is taken where less was seen: an ICC of few episodes is known badly, and one near 0 is rare."""
_CLOSED = ("icc", "icc_difference", "discordant")


def plan(
    bench: Bench | None,
    assumed: Mapping[str, float | None],
    *,
    power: float = sizes.POWER,
    level: float = LEVEL,
) -> dict[str, Any]:
    """Failed episodes, tasks and episodes for each question, and what `failed` episodes could show.

    `assumed` may hold what `NAMES` lists; `per_task` counts the failed episodes of a task, and `icc` is
    taken for that of differences too. What is not given is taken from the leading stratum of the bench,
    if there is one and it says, else from `DEFAULTS`; `assumptions` says which. Without a success rate
    the number of all episodes is null. Raises `UsageError` for a value out of its range, and what
    `table_from_bench` raises.
    """
    given = _given(assumed, power, level)
    seen = Seen()
    if bench is not None:
        table = table_from_bench(bench)
        seen = _seen(table, leading_stratum(bench, table.episodes, None)[1])
    return _planned(given, seen, "bench", power, level)


def plan_table(
    path: Path,
    assumed: Mapping[str, float | None],
    *,
    truth: str | None,
    cluster: str | None,
    verdicts: Sequence[str] = (),
    cluster_strip: str | None = None,
    mapping: Sequence[str] = (),
    where: str | None = None,
    key: Sequence[str] = (),
    power: float = sizes.POWER,
    level: float = LEVEL,
) -> dict[str, Any]:
    """The same, what is not given being taken from a table; its options are those of `measure_table`.

    Without `verdicts` it still says how many failures a task gives, and the success rate.
    """
    given = _given(assumed, power, level)
    with with_next(path, "plan"):
        columns = named_columns(
            path,
            truth=truth,
            cluster=cluster,
            verdicts=verdicts,
            cluster_strip=cluster_strip,
            mapping=mapping,
            where=where,
            key=key,
        )
        table = table_from_file(path, columns).table
    every: Flags = np.ones(len(table.episodes), dtype=np.bool_)
    return _planned(given, _seen(table, every), "table", power, level)


def _given(assumed: Mapping[str, float | None], power: float, level: float) -> dict[str, float | None]:
    given = {name: assumed.get(name) for name in NAMES}
    given["icc_difference"] = given["icc"]
    _check({**given, "power": power, "level": level})
    return given


@dataclass(frozen=True)
class Seen:
    """What episodes say of themselves."""

    values: dict[str, float] = field(default_factory=dict)
    of: dict[str, str] = field(default_factory=dict)
    """Name -> the judges that the value is of."""
    sizes: Counts | None = None
    """Failed episodes of each task that has any."""


def _planned(
    given: Mapping[str, float | None], seen: Seen, source: str, power: float, level: float
) -> dict[str, Any]:
    taken = {name: _assumed(name, value, seen, source) for name, value in given.items()}
    value = {name: one["value"] for name, one in taken.items()}
    if value["discordant"] is None:
        one, two = value["fpr"], min(1.0, value["fpr"] + value["difference"])
        value["discordant"] = one * (1 - two) + two * (1 - one)
        taken["discordant"] = {"value": value["discordant"], "from": "independent errors"}
    sizes = seen.sizes if taken["per_task"]["from"] == source else None
    questions = [_sized(asked, value) for asked in _questions(value, sizes, power, level)]
    return {
        "schema_version": SCHEMA_VERSION,
        "level": level,
        "power": power,
        "assumptions": taken,
        "questions": questions,
        "detectable": _detectable(value, power, level),
        "warnings": _warnings(value, taken, questions, sizes),
    }


class Question(NamedTuple):
    """A question and the failed episodes that answer it."""

    name: str
    words: str
    independent: int | None
    """Were each episode of a task of its own."""
    failed: int | None
    reason: str = ""
    """Why there is no number."""


def _questions(
    value: Mapping[str, Any], seen: Counts | None, power: float, level: float
) -> Iterator[Question]:
    fpr, gap = value["fpr"], value["difference"]
    discordant = max(value["discordant"], gap)
    alike = sizes.design_effect(value["per_task"], value["icc"])
    of_pairs = sizes.design_effect(value["per_task"], value["icc_difference"])
    width = value["half_width"]
    yield Question(
        "precision",
        f"an FPR of {_points(fpr)} % to within {_points(width)} points",
        sizes.precision_size(fpr, width, level=level),
        _episodes(
            sizes.precision_tasks(fpr, width, value["per_task"], icc=value["icc"], level=level),
            value["per_task"],
        ),
    )
    yield from _gates(value, seen, power, level)
    yield Question(
        "pair",
        f"two judges {_points(gap)} points apart, on the same episodes",
        sizes.paired_size(gap, discordant, power=power, level=level),
        sizes.paired_size(gap, discordant, deff=of_pairs, power=power, level=level),
    )
    if fpr + gap < 1:
        yield Question(
            "independent",
            f"two judges at {_points(fpr)} and {_points(fpr + gap)} %, on different episodes (each)",
            sizes.independent_size(fpr, fpr + gap, power=power, level=level),
            sizes.independent_size(fpr, fpr + gap, deff=alike, power=power, level=level),
        )


def _gates(value: Mapping[str, Any], seen: Counts | None, power: float, level: float) -> Iterator[Question]:
    """What the gate's first line needs, by its own rule for episodes that share tasks."""
    fpr, limit, each = value["fpr"], value["limit"], max(1.0, value["per_task"])
    like = np.diff(np.round(np.arange(101) * each)) if seen is None else seen
    for name, rate, words in (
        ("gate_none", 0.0, f"FPR at most {_points(limit)} %, when nothing false is accepted"),
        ("gate", fpr if fpr < limit else limit / 2, f"FPR at most {_points(limit)} %, of a judge at "),
    ):
        tasks = sizes.gate_tasks(limit, rate, like, icc=value["icc"], power=power, confidence=level)
        yield Question(
            name,
            f"{words}{_points(rate)} %" if rate else words,
            sizes.gate_tasks(limit, rate, np.ones(1), icc=0.0, power=power, confidence=level),
            None if tasks is None else _episodes(tasks, each),
            "the judge is too near to the limit",
        )


def _episodes(tasks: int, per_task: float) -> int:
    """Failed episodes of so many tasks with failures."""
    return math.ceil(round(tasks * max(1.0, per_task), 6))


def _sized(asked: Question, value: Mapping[str, Any]) -> dict[str, Any]:
    failed, rate = asked.failed, value["success_rate"]
    tasks = episodes = None
    if failed is not None:
        tasks = max(sizes.MIN_CLUSTERS, sizes.tasks_needed(failed, value["per_task"]))
        episodes = None if rate is None else sizes.tasks_needed(failed, 1 - rate)
    reason = None if rate is not None else "no success rate is known"
    return {
        "name": asked.name,
        "question": asked.words,
        "independent": asked.independent,
        "design_effect": failed / asked.independent if failed and asked.independent else None,
        "failed": failed,
        "tasks": tasks,
        "episodes": episodes,
        "reason": asked.reason if failed is None else reason,
    }


def _detectable(value: Mapping[str, Any], power: float, level: float) -> dict[str, Any] | None:
    """The smallest difference of two judges that the failed episodes that there are could show."""
    failed = value["failed"]
    if failed is None:
        return None
    deff = sizes.design_effect(value["per_task"], value["icc_difference"])
    found = sizes.detectable_difference(value["discordant"], failed / deff, power=power, level=level)
    tasks = failed / value["per_task"]
    few = tasks < sizes.MIN_CLUSTERS
    return {
        "failed": int(failed),
        "value": None if few else found,
        "independent": sizes.detectable_difference(value["discordant"], failed, power=power, level=level),
        "reason": "too_few_clusters" if few else "too_few_episodes" if found is None else None,
    }


def _warnings(
    value: Mapping[str, Any],
    taken: Mapping[str, Mapping[str, Any]],
    questions: list[dict[str, Any]],
    seen: Counts | None,
) -> list[str]:
    told = []
    if value["discordant"] < value["difference"]:
        told.append(
            f"two judges {_points(value['difference'])} points apart disagree on at least as many episodes: "
            f"{_points(value['difference'])} % is taken for --discordant"
        )
    if any("seen" in taken[name] for name in _ICCS):
        told.append(
            f"an ICC below {LOWEST_ICC:g} was seen and {LOWEST_ICC:g} is taken: so few episodes do not show "
            "that those of one task are unlike each other; --icc says otherwise"
        )
    if value["per_task"] > 1 and value["icc"] > 0:
        told.append("more tasks say more than more episodes of the same tasks")
    if value["per_task"] < 1:
        told.append("a task gives less than one failed episode: tasks with several weigh more than assumed")
    if any(one["tasks"] == sizes.MIN_CLUSTERS for one in questions):
        told.append(f"fewer than {sizes.MIN_CLUSTERS} tasks show nothing, however many episodes they have")
    like = "of equal size" if seen is None else "as unequal as those seen"
    told.append(f"what a gate needs is simulated with its own bound, on tasks {like}")
    return told


def _assumed(name: str, given: float | None, seen: Seen, source: str) -> dict[str, Any]:
    if given is not None:
        return {"value": given, "from": "given"}
    if name in seen.values:
        value = seen.values[name]
        found: dict[str, Any] = {"value": value, "from": source}
        if name in seen.of:
            found["of"] = seen.of[name]
        if name in _ICCS and value < LOWEST_ICC:
            found |= {"value": LOWEST_ICC, "seen": value}
        return found
    if name in DEFAULTS:
        return {"value": DEFAULTS[name], "from": "default"}
    return {"value": None, "from": None}


def _seen(table: Table, rows: Flags) -> Seen:
    """What the chosen episodes say of themselves and, of the judge with the highest FPR, of failures."""
    episodes = table.episodes
    failed: Flags = rows & (episodes.truth == FAIL)
    n, scored = int(failed.sum()), int((rows & episodes.scored).sum())
    if not n:
        return Seen()
    counts = np.bincount(compact(episodes.cluster, failed)).astype(np.float64)
    values = {"failed": float(n), "per_task": n / len(counts)}
    values["success_rate"] = int((rows & (episodes.truth == PASS)).sum()) / scored
    of: dict[str, str] = {}
    named: dict[str, list[tuple[str, Side]]] = {}
    for judge, condition in table.asked():
        if not is_shortcut(judge):
            named.setdefault(condition, []).append((judge, side(table, judge, condition)))
    every = [one for judges in named.values() for one in judges]
    pairs = [pair for judges in named.values() for pair in combinations(judges, 2)]
    for found, whose in (_of_rates(episodes, failed, every), _of_pairs(episodes, failed, pairs)):
        values |= found
        of |= dict.fromkeys(found, whose)
    return Seen(values, of, counts)


def _of_rates(
    episodes: Episodes, failed: Flags, sides: list[tuple[str, Side]]
) -> tuple[dict[str, float], str]:
    """The highest FPR strictly between 0 and 1 of the judges seen, its ICC, and whose; empty for none.

    A judge that decided no failed episode has no rate. One of 0 or 1 is left out too: no size follows
    from it, and a few episodes more would not leave it there.
    """
    rated = [
        (float(one.accepted[inside].mean()), inside, one, judge)
        for judge, one in sides
        if (inside := failed & one.decided).any()
    ]
    between = [found for found in rated if 0 < found[0] < 1]
    if not between:
        return {}, ""
    rate, inside, one, judge = max(between, key=lambda found: found[0])
    cluster = compact(episodes.cluster, inside)
    events = np.bincount(cluster[one.accepted[inside]], minlength=int(cluster.max()) + 1)
    counts = events.astype(np.float64)
    icc = sizes.anova_icc(counts, counts, np.bincount(cluster).astype(np.float64))
    alike = {} if icc is None else {"icc": min(1.0, max(0.0, icc))}
    return {"fpr": rate, **alike}, judge


def _of_pairs(
    episodes: Episodes, failed: Flags, pairs: list[tuple[tuple[str, Side], tuple[str, Side]]]
) -> tuple[dict[str, float], str]:
    """The largest share on which two judges disagree, the ICC of their differences, and which two.

    Empty where no two judges decided an episode together, and where no two ever disagree: nothing seen
    is not nothing there.
    """
    seen = []
    for (first, a), (second, b) in pairs:
        inside = failed & a.decided & b.decided
        if inside.any():
            found = discordance(a.accepted[inside], b.accepted[inside], compact(episodes.cluster, inside))
            apart = float((found.first + found.second).sum() / found.n.sum())
            seen.append((apart, found, f"{first} and {second}"))
    differing = [one for one in seen if one[0] > 0]
    if not differing:
        return {}, ""
    share, found, which = max(differing, key=lambda one: one[0])
    icc = sizes.anova_icc(found.first - found.second, found.first + found.second, found.n)
    alike = {} if icc is None else {"icc_difference": min(1.0, max(0.0, icc))}
    return {"discordant": share, **alike}, which


def _check(values: Mapping[str, float | None]) -> None:
    for name, value in values.items():
        if value is None:
            continue
        option = "--icc" if name == "icc_difference" else f"--{name.replace('_', '-')}"
        if name in _OPEN and not 0 < value < 1:
            raise UsageError(f"{option} {value}", expected="a share above 0 and below 1, such as 0.05")
        if name in _CLOSED and not 0 <= value <= 1:
            raise UsageError(f"{option} {value}", expected="a share from 0 to 1")
        if name == "success_rate" and not 0 <= value < 1:
            raise UsageError(f"{option} {value}", expected="a share from 0 to below 1")
        if name in {"per_task", "failed"} and not 0 < value <= sizes.MAX_SIZE:
            raise UsageError(f"{option} {value}", expected=f"a number above 0, at most {sizes.MAX_SIZE:,}")


def _points(share: float) -> str:
    return f"{100 * share:.3g}"
