"""The three-outcome block of a bench, as data: what was attempted, what could be decided, and how.

A rate is over what was scored. Beside it stand its interval and the bounds that need no assumption:
all undecided episodes fail, or all pass. Strata (natural, weakened, perturbed, scripted) are never
pooled.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrite.errors import InputError, UsageError
from pyrite.metrics.intervals import LEVEL
from pyrite.metrics.judge import share
from pyrite.records import BLAME, SOURCES, Estimate, Meta, Outcome, Truth
from pyrite.store import labels
from pyrite.store.bench import Bench
from pyrite.store.labels import People

UNCLASSIFIED = "unclassified"


@dataclass(frozen=True)
class Row:
    """One episode: who, what, and what truth says; `truth` None where it was not verified."""

    meta: Meta
    truth: Truth | None

    @property
    def scored(self) -> bool:
        return self.truth is not None and self.truth.passed is not None

    @property
    def passed(self) -> bool:
        return self.truth is not None and self.truth.passed is True


def outcomes(bench: Bench, *, level: float = LEVEL) -> dict[str, Any]:
    """The block of each stratum of a bench, with its agents; JSON throughout, unknown numbers None.

    Raises `UsageError` where there is no episode or none of them was verified. An episode that
    cannot be read is listed under `broken` and counts as attempted.
    """
    people = labels.read(bench)
    rows, broken = read_rows(bench, people)
    verified = sum(1 for row in rows if row.truth is not None)
    if rows and not verified:
        raise UsageError(
            f"none of {len(rows)} episodes has been verified",
            where=str(bench.root),
            expected="a gt.json beside each meta.json",
            next=f"pyrite verify {bench.root}",
        )
    by_source: dict[str, list[Row]] = {source: [] for source in SOURCES}
    for row in rows:
        by_source[row.meta.source].append(row)
    strata = {source: _stratum(found, level) for source, found in by_source.items() if found}
    lead = next((source for source, block in strata.items() if block["fail"]), None)
    said = people.of(row.truth for row in rows if row.truth is not None)
    return {
        "schema_version": "1",
        "bench": str(bench.root),
        "level": level,
        "attempted": len(rows) + len(broken),
        "tasks": len({row.meta.task_id for row in rows}),
        "lead": lead,
        "headline": lead == "natural",
        "strata": strata,
        "indeterminate": [_undecided(row.truth) for row in rows if row.truth and row.truth.cause],
        "unverified": [row.meta.episode_id for row in rows if row.truth is None],
        "broken": broken,
        "labels": said,
        "warnings": [*_warnings(rows, broken, lead), *labels.notes(said)],
    }


def read_rows(bench: Bench, people: People) -> tuple[list[Row], list[dict[str, str]]]:
    """A row an episode, its category joined with what people say, and the episodes that cannot be read."""
    rows: list[Row] = []
    broken: list[dict[str, str]] = []
    for episode_id in bench.require_episodes():
        try:
            meta, truth = bench.meta(episode_id), bench.truth(episode_id)
            rows.append(Row(meta, None if truth is None else people.joined(truth)))
        except InputError as exc:
            name, problem = (_text(said) for said in (episode_id, str(exc).splitlines()[0]))
            broken.append({"episode_id": name, "problem": problem})
    return rows, broken


def _text(said: str) -> str:
    """What a folder's name says, where it is not UTF-8 either."""
    return said.encode("utf-8", "backslashreplace").decode()


def _stratum(rows: Sequence[Row], level: float) -> dict[str, Any]:
    agents: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        agents[row.meta.agent.name].append(row)
    return {
        **block(rows, level),
        "categories": _categories(rows),
        "by_agent": {name: block(agents[name], level) for name in sorted(agents)},
    }


def block(rows: Sequence[Row], level: float = LEVEL) -> dict[str, Any]:
    """attempted, indeterminate (by cause and blame), scored, pass, fail, the rate and its bounds."""
    scored = [row for row in rows if row.scored]
    passed = sum(row.passed for row in scored)
    causes = Counter(row.truth.cause for row in rows if row.truth and row.truth.cause)
    blames: Counter[str] = Counter()
    for cause, count in causes.items():
        blames[BLAME.get(cause, "unknown")] += count
    estimate = _rate(scored, level)
    attempted = len(rows)
    return {
        "attempted": attempted,
        "indeterminate": sum(causes.values()),
        "unverified": sum(1 for row in rows if row.truth is None),
        "scored": len(scored),
        "pass": passed,
        "fail": len(scored) - passed,
        "rate": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "method": estimate.method,
        "reason": estimate.reason,
        "n_eff": estimate.n_eff,
        "clusters": estimate.clusters,
        "iid": None if estimate.iid is None else estimate.iid._asdict(),
        "bounds": [passed / attempted, (passed + attempted - len(scored)) / attempted] if attempted else None,
        "causes": {
            cause: {"n": n, "blame": BLAME.get(cause, "unknown")} for cause, n in causes.most_common()
        },
        "blame": dict(blames.most_common()),
    }


def _rate(scored: Sequence[Row], level: float) -> Estimate:
    """The pass rate over what was scored, clustered by task, and by family where all have one."""
    families = [row.meta.family for row in scored]
    return share(
        np.array([row.passed for row in scored], dtype=np.bool_),
        _codes(row.meta.task_id for row in scored),
        _codes(f for f in families if f) if scored and all(families) else None,
        estimand="passed of scored episodes",
        empty="nothing_scored",
        level=level,
    )


def _codes(names: Iterable[str]) -> NDArray[np.int64]:
    seen: dict[str, int] = {}
    return np.array([seen.setdefault(name, len(seen)) for name in names], dtype=np.int64)


def _categories(rows: Sequence[Row]) -> dict[str, int]:
    """How often each category stands among the fails; unclassified ones in a stratum of their own."""
    fails = [row.truth for row in rows if row.truth and row.truth.outcome is Outcome.FAIL]
    return dict(Counter(str(truth.category or UNCLASSIFIED) for truth in fails).most_common())


def _undecided(truth: Truth) -> dict[str, str | None]:
    return {
        "episode_id": truth.episode_id,
        "cause": truth.cause,
        "blame": truth.blame,
        "problem": str(truth.diagnostics.get("problem", "")) or None,
    }


def _warnings(rows: Sequence[Row], broken: Sequence[dict[str, str]], lead: str | None) -> list[str]:
    found = []
    unverified = sum(1 for row in rows if row.truth is None)
    if unverified:
        found.append(f"{unverified} of {len(rows)} episodes are not verified; run pyrite verify")
    if broken:
        found.append(f"{len(broken)} episodes cannot be read and stand in no stratum")
    if lead not in {None, "natural"}:
        found.append(f"the leading stratum is {lead}: these episodes are not of an agent under test")
    return found
