"""How many tasks and episodes a question about judges needs, from what is assumed or seen on a bench."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

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
    seen: dict[str, float] = {}
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


def _planned(
    given: Mapping[str, float | None], seen: Mapping[str, float], source: str, power: float, level: float
) -> dict[str, Any]:
    taken = {name: _assumed(name, value, seen, source) for name, value in given.items()}
    value = {name: one["value"] for name, one in taken.items()}
    if value["discordant"] is None:
        one, two = value["fpr"], min(1.0, value["fpr"] + value["difference"])
        value["discordant"] = one * (1 - two) + two * (1 - one)
        taken["discordant"] = {"value": value["discordant"], "from": "independent errors"}
    questions = [_sized(*asked, value) for asked in _questions(value, power, level)]
    return {
        "schema_version": SCHEMA_VERSION,
        "level": level,
        "power": power,
        "assumptions": taken,
        "questions": questions,
        "detectable": _detectable(value, power, level),
        "warnings": _warnings(value, questions),
    }


Question = tuple[str, str, str, Callable[[float], int | None], str]
"""(name, in words, which ICC, size for a design effect, why there is none)."""


def _questions(value: Mapping[str, Any], power: float, level: float) -> Iterator[Question]:
    fpr, gap, limit = value["fpr"], value["difference"], value["limit"]
    discordant = max(value["discordant"], gap)
    passing = fpr if fpr < limit else limit / 2
    alike = sizes.design_effect(max(value["per_task"], 1.0), 1.0)
    yield (
        "precision",
        f"an FPR of {_points(fpr)} % to within {_points(value['half_width'])} points",
        "icc",
        lambda deff: sizes.precision_size(fpr, value["half_width"], deff=deff, level=level),
        "",
    )
    yield (
        "gate_none",
        f"FPR at most {_points(limit)} %, when nothing false is accepted",
        "icc",
        # nothing accepted tells no ICC: the gate then counts tasks, as if its episodes were all alike
        lambda deff: sizes.gate_size(
            limit, 0.0, deff=alike if deff > 1 else 1.0, power=power, confidence=level
        ),
        "",
    )
    yield (
        "gate",
        f"FPR at most {_points(limit)} %, of a judge at {_points(passing)} %",
        "icc",
        lambda deff: sizes.gate_size(limit, passing, deff=deff, power=power, confidence=level),
        "the judge is too near to the limit",
    )
    yield (
        "pair",
        f"two judges {_points(gap)} points apart, on the same episodes",
        "icc_difference",
        lambda deff: sizes.paired_size(gap, discordant, deff=deff, power=power, level=level),
        "",
    )
    if fpr + gap < 1:
        yield (
            "independent",
            f"two judges {_points(gap)} points apart, on different episodes (each)",
            "icc",
            lambda deff: sizes.independent_size(fpr, fpr + gap, deff=deff, power=power, level=level),
            "",
        )


def _sized(
    name: str,
    question: str,
    which: str,
    size: Callable[[float], int | None],
    why: str,
    value: Mapping[str, Any],
) -> dict[str, Any]:
    deff = sizes.design_effect(value["per_task"], value[which])
    failed = size(deff)
    rate = value["success_rate"]
    if failed is None:
        tasks, reason = None, why
    else:
        tasks, reason = max(sizes.MIN_CLUSTERS, sizes.tasks_needed(failed, value["per_task"])), None
    episodes = None
    if failed is not None and rate is not None:
        episodes = sizes.tasks_needed(failed, 1 - rate)
    return {
        "name": name,
        "question": question,
        "independent": size(1.0),
        "design_effect": deff,
        "failed": failed,
        "tasks": tasks,
        "episodes": episodes,
        "reason": reason or (None if rate is not None else "no success rate is known"),
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


def _warnings(value: Mapping[str, Any], questions: list[dict[str, Any]]) -> list[str]:
    told = []
    if value["discordant"] < value["difference"]:
        told.append(
            f"two judges {_points(value['difference'])} points apart disagree on at least as many episodes: "
            f"{_points(value['difference'])} % is taken for --discordant"
        )
    if value["per_task"] > 1 and value["icc"] > 0:
        told.append("more tasks say more than more episodes of the same tasks")
    if value["per_task"] < 1:
        told.append("a task gives less than one failed episode: tasks with several weigh more than assumed")
    if any(one["tasks"] == sizes.MIN_CLUSTERS for one in questions):
        told.append(f"fewer than {sizes.MIN_CLUSTERS} tasks show nothing, however many episodes they have")
    return told


def _assumed(name: str, given: float | None, seen: Mapping[str, float], source: str) -> dict[str, Any]:
    if given is not None:
        return {"value": given, "from": "given"}
    if name in seen:
        return {"value": seen[name], "from": source}
    if name in DEFAULTS:
        return {"value": DEFAULTS[name], "from": "default"}
    return {"value": None, "from": None}


def _seen(table: Table, rows: Flags) -> dict[str, float]:
    """What the chosen episodes say of themselves and, of the judge with the highest FPR, of failures."""
    episodes = table.episodes
    failed: Flags = rows & (episodes.truth == FAIL)
    n, scored = int(failed.sum()), int((rows & episodes.scored).sum())
    found: dict[str, float] = {}
    if not n:
        return found
    found["failed"] = n
    found["per_task"] = n / len(np.unique(episodes.cluster.codes[failed]))
    found["success_rate"] = int((rows & (episodes.truth == PASS)).sum()) / scored
    sides: dict[str, list[Side]] = {}
    for judge, condition in table.asked():
        if not is_shortcut(judge):
            sides.setdefault(condition, []).append(side(table, judge, condition))
    every = [one for judges in sides.values() for one in judges]
    found |= _of_rates(episodes, failed, every)
    pairs = [pair for judges in sides.values() for pair in combinations(judges, 2)]
    return found | _of_pairs(episodes, failed, pairs)


def _of_rates(episodes: Episodes, failed: Flags, sides: list[Side]) -> dict[str, float]:
    """The highest FPR strictly between 0 and 1 of the judges seen, and its ICC; empty where none has one.

    A judge that decided no failed episode has no rate. One of 0 or 1 is left out too: no size follows
    from it, and a few episodes more would not leave it there.
    """
    rated = [
        (float(one.accepted[inside].mean()), inside, one)
        for one in sides
        if (inside := failed & one.decided).any()
    ]
    between = [found for found in rated if 0 < found[0] < 1]
    if not between:
        return {}
    rate, inside, one = max(between, key=lambda found: found[0])
    cluster = compact(episodes.cluster, inside)
    events = np.bincount(cluster[one.accepted[inside]], minlength=int(cluster.max()) + 1)
    counts = events.astype(np.float64)
    icc = sizes.anova_icc(counts, counts, np.bincount(cluster).astype(np.float64))
    return {"fpr": rate} if icc is None else {"fpr": rate, "icc": min(1.0, max(0.0, icc))}


def _of_pairs(episodes: Episodes, failed: Flags, pairs: list[tuple[Side, Side]]) -> dict[str, float]:
    """The largest share on which two judges disagree, and the ICC of their differences.

    Empty where no two judges decided an episode together, and where no two ever disagree: nothing seen
    is not nothing there.
    """
    seen = []
    for a, b in pairs:
        inside = failed & a.decided & b.decided
        if inside.any():
            found = discordance(a.accepted[inside], b.accepted[inside], compact(episodes.cluster, inside))
            seen.append((float((found.first + found.second).sum() / found.n.sum()), found))
    apart = [one for one in seen if one[0] > 0]
    if not apart:
        return {}
    share, found = max(apart, key=lambda one: one[0])
    icc = sizes.anova_icc(found.first - found.second, found.first + found.second, found.n)
    alike = {} if icc is None else {"icc_difference": min(1.0, max(0.0, icc))}
    return {"discordant": share, **alike}


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
