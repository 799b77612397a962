"""What verdicts with a `process` say beyond their outcome: scores, steadiness over runs, kinds of failure.

Read from the lines of one judge in one condition. An episode without a score is in no mean, and counted.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyrite.errors import InputError, UsageError
from pyrite.measure import labelled
from pyrite.measure.bench import table_from_bench
from pyrite.measure.table import FAIL, PASS
from pyrite.records import SCHEMA_VERSION, Meta, VerdictLine
from pyrite.store.bench import Bench
from pyrite.store.jsonl import read_lines

OVER_BUDGET = ("step_limit", "time_limit", "loop")
"""How an episode ended that ran out of its budget."""
_TRUTH = {PASS: "pass", FAIL: "fail"}


def process_of_bench(
    bench: Bench, *, judge: str | None = None, condition: str | None = None, truth: str = "verifier"
) -> list[dict[str, Any]]:
    """A block for each judge and condition that has a process. Raises `UsageError` where there is none."""
    about: dict[str, Meta] = {}
    broken: list[InputError] = []
    for name in bench.episode_ids():
        try:
            about[name] = bench.meta(name)
        except InputError as exc:  # it costs its own verdicts, no others
            broken.append(exc)
    kept: dict[tuple[str, str], dict[tuple[str, int], VerdictLine]] = {}
    for line in _lines(bench):
        if judge in {None, line.judge} and condition in {None, line.condition}:
            kept.setdefault((line.judge, line.condition), {})[line.episode_id, line.run] = line
    if not kept and broken:
        raise broken[0]
    if not kept:
        known = sorted({line.judge for line in _lines(bench)})
        raise UsageError(
            "no verdict with a process" + (f" of {judge}" if judge else ""),
            where=str(bench.root),
            expected=", ".join(known) or "verdicts of the judge universal",
            next=f"pyrite judge {bench.root} --judge universal@model=NAME --condition E3-whole+claim",
        )
    told = _outcomes(bench, truth)
    agents = {name: meta.agent.name for name, meta in about.items()}
    over = {name: meta.ended_by in OVER_BUDGET for name, meta in about.items()}
    aborted = {name for name, meta in about.items() if meta.ended_by == labelled.ABORTED}
    return [
        _block(
            *(label, shown),
            [line for line in lines.values() if line.episode_id not in aborted],
            agents,
            over,
            told,
            truth,
            aborted=sum(line.episode_id in aborted for line in lines.values()),
        )
        for (label, shown), lines in sorted(kept.items())
    ]


def _lines(bench: Bench) -> Iterable[VerdictLine]:
    if not bench.paths.verdicts.is_dir():
        return
    here = set(bench.episode_ids())
    for path in sorted(bench.paths.verdicts.glob("*.jsonl")):
        for line in read_lines(path, VerdictLine):
            if line.episode_id in here and isinstance((line.model_extra or {}).get("process"), dict):
                yield line


def _process(line: VerdictLine) -> dict[str, Any]:
    found: dict[str, Any] = (line.model_extra or {})["process"]
    return found


def _outcomes(bench: Bench, truth: str) -> dict[str, str]:
    """Episode -> pass or fail, of those that have one."""
    table = table_from_bench(bench, verified=False)
    if truth == "labels":
        table = labelled.by_people(bench, table, labelled.read(bench, table.episodes.ids))
    codes = zip(table.episodes.ids, table.episodes.truth, strict=True)
    return {name: _TRUTH[int(code)] for name, code in codes if int(code) in _TRUTH}


def _block(
    judge: str,
    condition: str,
    lines: Sequence[VerdictLine],
    agents: Mapping[str, str],
    over: Mapping[str, bool],
    told: Mapping[str, str],
    truth: str,
    *,
    aborted: int,
) -> dict[str, Any]:
    by_agent: dict[str, list[VerdictLine]] = {}
    for line in lines:
        by_agent.setdefault(agents.get(line.episode_id, "unknown"), []).append(line)
    return {
        "schema_version": SCHEMA_VERSION,
        "judge": judge,
        "condition": condition,
        "verdicts": len(lines),
        "aborted": aborted,
        "undecided": sum(_process(line).get("outcome") is None for line in lines),
        "runs": _runs(lines),
        "agents": {name: _figures(some) for name, some in sorted(by_agent.items())},
        "codes": {name: _codes(some) for name, some in sorted(by_agent.items())},
        "failure_points": _histogram(_points(line) for line in lines),
        "over_budget": _over(lines, over, told),
        "truth_from": truth,
        "cost": _cost(lines),
    }


def _figures(lines: Sequence[VerdictLine]) -> dict[str, Any]:
    """Means over verdicts that have the figure, with how many those are."""
    scores = [s for line in lines if (s := _process(line).get("score")) is not None]
    good = [s for line in lines if (s := _process(line).get("success")) is not None]
    outcomes = [s for line in lines if (s := _process(line).get("outcome")) is not None]
    return {
        "verdicts": len(lines),
        "process_score": _mean(scores),
        "scored": len(scores),
        "process_success": _mean(good),
        "outcome_success": _mean(outcomes),
        "decided": len(outcomes),
    }


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _runs(lines: Sequence[VerdictLine]) -> dict[str, Any]:
    """Each run's figures, and their standard deviation over runs: null where there are not two."""
    numbers = sorted({line.run for line in lines})
    each = {run: _figures([line for line in lines if line.run == run]) for run in numbers}
    spread = {}
    for name in ("process_score", "process_success", "outcome_success"):
        values = [one[name] for one in each.values() if one[name] is not None]
        spread[name] = statistics.stdev(values) if len(values) > 1 else None
    return {"n": len(numbers), "each": {str(run): one for run, one in each.items()}, "sd": spread}


def _failures(line: VerdictLine) -> list[dict[str, Any]] | None:
    """The points of failure; None where that step failed or was not asked."""
    failures = (_process(line).get("diagnosis") or {}).get("failures")
    return None if failures is None else list(failures["failure_points"])


def _points(line: VerdictLine) -> int | None:
    found = _failures(line)
    return None if found is None else len(found)


def _codes(lines: Sequence[VerdictLine]) -> dict[str, Any]:
    """Codes of an agent: how often, in how many verdicts, and who is to blame."""
    points: Counter[str] = Counter()
    verdicts: Counter[str] = Counter()
    blame: Counter[str] = Counter()
    first: Counter[str] = Counter()
    without = 0
    for line in lines:
        found = _failures(line)
        if found is None:
            without += 1
            continue
        points.update(one["error_code"] for one in found)
        verdicts.update({one["error_code"] for one in found})
        blame.update(one["blame"] for one in found)
        if found:
            first[found[0]["error_code"]] += 1
    return {
        "points": dict(sorted(points.items())),
        "verdicts": dict(sorted(verdicts.items())),
        "first": dict(sorted(first.items())),
        "blame": dict(sorted(blame.items())),
        "without_diagnosis": without,
    }


def _histogram(values: Iterable[int | None]) -> dict[str, int]:
    """Points of failure in a trajectory -> verdicts; "unknown" where there is no diagnosis."""
    found = Counter("unknown" if value is None else str(value) for value in values)
    return dict(
        sorted(found.items(), key=lambda one: (not one[0].isdigit(), int(one[0]) if one[0].isdigit() else 0))
    )


def _over(
    lines: Sequence[VerdictLine], over: Mapping[str, bool], told: Mapping[str, str]
) -> dict[str, dict[str, dict[str, int]]]:
    """Over budget or within -> truth (pass, fail, none) -> what the judge said, in the first run."""
    table: dict[str, dict[str, dict[str, int]]] = {
        place: {truth: {"success": 0, "failure": 0, "none": 0} for truth in ("pass", "fail", "none")}
        for place in ("over", "within")
    }
    for line in lines:
        if line.run == 1:
            outcome = _process(line).get("outcome")
            said = "none" if outcome is None else "success" if outcome else "failure"
            place = "over" if over.get(line.episode_id) else "within"
            table[place][told.get(line.episode_id, "none")][said] += 1
    return table


def _cost(lines: Sequence[VerdictLine]) -> dict[str, Any]:
    """Sums over verdicts; null where one of them does not say."""
    found: dict[str, Any] = {}
    for key in ("calls", "input_tokens", "output_tokens", "cost_usd"):
        values = [line.usage.get(key) for line in lines]
        found[key] = None if any(value is None for value in values) else sum(values)
    return found
