"""Agents of two benches, on the tasks that are determinate in both.

A task counts once, whoever tried it how often: the difference is the mean over tasks of the later success
rate less the earlier one, so a task whose verifier is broken in one bench is in neither side. What is left
out is named. How much the graders themselves could explain is said beside it: the difference if the
indeterminate episodes were all fails or all passes, in either bench, and what calling them fails gives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyrite.errors import UsageError
from pyrite.measure.blocks import Settings, counted, figure
from pyrite.metrics.clusters import rate
from pyrite.metrics.compare import holm, sign_flip
from pyrite.metrics.intervals import LEVEL, normal_quantile
from pyrite.metrics.judge import one_family, wider
from pyrite.metrics.means import Codes, Floats, cluster_sums
from pyrite.metrics.plan import POWER
from pyrite.metrics.two_samples import paired_rates
from pyrite.records import SCHEMA_VERSION, SOURCES, Estimate, Outcome
from pyrite.store import episodes as attempts
from pyrite.store.bench import Bench
from pyrite.store.episodes import Episode

UNKNOWN = "not verified"


@dataclass
class Tried:
    """What one agent made of one task in one bench."""

    passed: int = 0
    failed: int = 0
    causes: Counter[str] = field(default_factory=Counter)
    """Cause -> episodes without an outcome."""
    verifiers: set[str] = field(default_factory=set)
    family: str | None = None

    @property
    def scored(self) -> int:
        return self.passed + self.failed

    @property
    def indeterminate(self) -> int:
        return self.causes.total()

    @property
    def attempted(self) -> int:
        return self.scored + self.indeterminate

    @property
    def rate(self) -> float:
        """Of the scored episodes, of which there is at least one."""
        return self.passed / self.scored

    @property
    def bounds(self) -> tuple[float, float]:
        """If all that is indeterminate failed, and if all of it passed."""
        return self.passed / self.attempted, (self.passed + self.indeterminate) / self.attempted

    def add(self, one: Episode) -> None:
        truth = one.truth
        if truth is None or truth.outcome is Outcome.INDETERMINATE:
            self.causes[(truth.cause or "unknown") if truth else UNKNOWN] += 1
        elif truth.outcome is Outcome.PASS:
            self.passed += 1
        else:
            self.failed += 1
        if truth is not None and truth.verifier_sha256:
            self.verifiers.add(truth.verifier_sha256)


Agents = dict[str, dict[str, Tried]]
"""Agent -> task -> what came of it."""


@dataclass(frozen=True)
class Read:
    """One bench, by stratum."""

    bench: Bench
    strata: Mapping[str, Agents]
    images: tuple[str, ...]
    unattributed: int


def compare_benches(
    first: Bench,
    second: Bench,
    *,
    agents: Sequence[str] = (),
    stratum: str | None = None,
    level: float = LEVEL,
    seed: int = 0,
) -> dict[str, Any]:
    """Each agent of the second bench less its counterpart in the first one, on one stratum.

    `agents`: one name for an agent of both, or two, of the first and of the second. Without: the one
    agent of each, or else every agent that both have, with Holm over them. Raises `UsageError` where there
    is nothing to compare and says what there is.
    """
    if first.root.resolve() == second.root.resolve() and len(set(agents)) != 2:
        raise UsageError(
            "the same bench twice: an agent does not differ from itself",
            where=str(first.root),
            expected="two benches, or two agents of one: --agent NAME,OTHER",
            next=f"pyrite list episodes {first.root}",
        )
    a, b = _read(first), _read(second)
    name = _stratum(a, b, stratum)
    left, right = a.strata[name], b.strata[name]
    settings = Settings(level, seed=seed)
    pairs = [
        {"a": one, "b": other, **_pair(left[one], right[other], settings)}
        for one, other in _chosen(a, b, left, right, agents)
    ]
    if not any(pair["tasks"]["common"] for pair in pairs):
        raise _nothing_common(a, b, name, pairs)
    for pair, p in zip(pairs, holm([pair["p_signflip"] for pair in pairs]), strict=True):
        pair["p_holm"] = p
        pair["differs"] = None if p is None else p <= 1 - level + 1e-12
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "benches",
        "level": level,
        "stratum": name,
        "a": _about(a),
        "b": _about(b),
        "pairs": pairs,
        "warnings": list(_warnings(a, b, name, pairs)),
    }


def _nothing_common(a: Read, b: Read, stratum: str, pairs: Sequence[Mapping[str, Any]]) -> UsageError:
    where = f"{a.bench.root} and {b.bench.root}"
    others = [one["why"] for pair in pairs for one in pair["tasks"]["left_out"] if _is_other(one["why"])]
    if others:
        return UsageError(
            f"no task was decided by the same verifier in both benches ({stratum}); "
            f"one of them has {others[0]}",
            where=where,
            expected="end states that the same verifiers decided",
            next=f"pyrite verify {a.bench.root}, then pyrite verify {b.bench.root}",
        )
    first, second = (_some(_tasks(one.strata[stratum])) for one in (a, b))
    return UsageError(
        f"no task was tried in both benches ({stratum})",
        where=where,
        expected=f"common tasks; {first} in the first, {second} in the second",
    )


def _is_other(why: str | None) -> bool:
    return (why or "").startswith("another verifier")


# --- what there is --------------------------------------------------------------------------------


def _read(bench: Bench) -> Read:
    found = attempts.read(bench)
    attempts.require_verified(bench, found)
    strata: dict[str, Agents] = {}
    images: set[str] = set()
    for one in found.episodes:
        if one.truth is not None and one.truth.replay is not None:
            images.add(one.truth.replay.image)
        if one.meta is None:
            continue
        tasks = strata.setdefault(one.meta.source, {}).setdefault(one.meta.agent.name, {})
        tried = tasks.setdefault(one.meta.task_id, Tried())
        tried.add(one)
        tried.family = one.meta.family or tried.family
    return Read(bench, strata, tuple(sorted(images)), found.unattributed)


def _stratum(a: Read, b: Read, wanted: str | None) -> str:
    """The stratum that was asked for, else the first of both in which both have an outcome."""
    both = [name for name in SOURCES if name in a.strata and name in b.strata]
    if wanted is not None:
        both = [name for name in both if name == wanted]
    if not both:
        there = "; ".join(f"{one.bench.root}: {', '.join(one.strata) or 'none'}" for one in (a, b))
        raise UsageError(
            f"stratum {wanted} is not in both benches" if wanted else "the benches share no stratum",
            where=f"{a.bench.root} and {b.bench.root}",
            expected=f"episodes of one kind in both; strata are never pooled ({there})",
        )

    def scored(one: Read, name: str) -> bool:
        return any(tried.scored for tasks in one.strata[name].values() for tried in tasks.values())

    return next((name for name in both if scored(a, name) and scored(b, name)), both[0])


def _chosen(a: Read, b: Read, left: Agents, right: Agents, wanted: Sequence[str]) -> list[tuple[str, str]]:
    if len(wanted) > 2:
        raise UsageError(
            f"{len(wanted)} agents in --agent",
            expected="one of both benches, or two: of the first, of the second",
        )
    if wanted:
        pair = (wanted[0], wanted[-1])
        for name, agents, one in zip(pair, (left, right), (a, b), strict=True):
            if name not in agents:
                raise UsageError(
                    f"no --agent {name}",
                    where=str(one.bench.root),
                    expected=f"one of: {', '.join(sorted(agents))}",
                )
        return [pair]
    if len(left) == len(right) == 1:
        return [(next(iter(left)), next(iter(right)))]
    both = sorted(left.keys() & right.keys())
    if not both:
        raise UsageError(
            "no agent is in both benches",
            where=f"{a.bench.root} and {b.bench.root}",
            expected=f"--agent FIRST,SECOND: {', '.join(sorted(left))}; {', '.join(sorted(right))}",
        )
    return [(name, name) for name in both]


def _tasks(agents: Agents) -> list[str]:
    return sorted({task_id for tasks in agents.values() for task_id in tasks})


def _some(names: Sequence[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _about(one: Read) -> dict[str, Any]:
    return {"bench": one.bench.root.resolve().name, "path": str(one.bench.root), "images": list(one.images)}


def _warnings(a: Read, b: Read, stratum: str, pairs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if stratum != "natural":
        yield f"these episodes are {stratum}, not of an agent under test"
    if a.images != b.images:
        yield f"replayed on other images: {_some(a.images) or 'none'} and {_some(b.images) or 'none'}"
    for one in (a, b):
        if one.unattributed:
            yield f"{one.bench.root}: {counted(one.unattributed, 'episode')} of an unknown stratum left out"
    if any(pair["tasks"]["unknown_verifier"] for pair in pairs):
        yield "some outcomes do not say which verifier gave them: it is taken for the same one"
    for pair in pairs:
        if pair["reason"] is None and pair["difference"]["clusters"] < 10:
            yield f"{pair['a']}: only {counted(pair['tasks']['compared'], 'task')} compared: read with care"


# --- one pair -------------------------------------------------------------------------------------


def _pair(left: Mapping[str, Tried], right: Mapping[str, Tried], settings: Settings) -> dict[str, Any]:
    """One agent of each bench: what was compared, the difference, its test, and the graders' part in it."""
    out: list[dict[str, str]] = []
    common: list[str] = []
    compared: list[str] = []
    for task_id in sorted(left.keys() | right.keys()):
        why = _left_out(left.get(task_id), right.get(task_id))
        if task_id in left and task_id in right and not _is_other(why):
            common.append(task_id)
        if why is None:
            compared.append(task_id)
        else:
            out.append({"task_id": task_id, "why": why})
    sides = [[one[task_id] for task_id in compared] for one in (left, right)]
    partly = [name for name in compared if left[name].indeterminate or right[name].indeterminate]
    tested = _tested(sides[0], sides[1], settings)
    return {
        "tasks": {
            "common": len(common),
            "compared": len(compared),
            "left_out": out,
            "partly": partly,
            "unknown_verifier": sum(1 for n in compared if not (left[n].verifiers and right[n].verifiers)),
        },
        "rates": {name: _rate(side, settings) for name, side in zip("ab", sides, strict=True)},
        **tested,
        "grader": _grader(
            [left[name] for name in common], [right[name] for name in common], tested["difference"]["value"]
        ),
    }


def _left_out(a: Tried | None, b: Tried | None) -> str | None:
    """Why a task is not compared; None where it is."""
    if a is None or b is None:
        return f"tried in the {'second' if a is None else 'first'} bench only"
    if a.verifiers and b.verifiers and (a.verifiers != b.verifiers or len(a.verifiers) > 1):
        shas = [" and ".join(sorted(sha[:8] for sha in one.verifiers)) for one in (a, b)]
        return f"another verifier: {shas[0]} in the first bench, {shas[1]} in the second"
    blind = [(where, one) for where, one in (("first", a), ("second", b)) if not one.scored]
    if not blind:
        return None
    told = [f"{', '.join(one.causes)} in the {where} bench" for where, one in blind]
    return "indeterminate: " + "; ".join(told)


def _rate(side: Sequence[Tried], settings: Settings) -> dict[str, Any]:
    """The success rate with every task weighing one, and the counts that it is of."""
    rates = np.array([one.rate for one in side], dtype=np.float64)
    found = rate(
        rates,
        np.ones(len(rates)),
        estimand="passed of scored, every task weighing one",
        empty="no_common_task",
        level=settings.level,
    )
    return {
        "pass": sum(one.passed for one in side),
        "fail": sum(one.failed for one in side),
        "indeterminate": sum(one.indeterminate for one in side),
        "attempted": sum(one.attempted for one in side),
        **figure(found),
    }


def _tested(left: Sequence[Tried], right: Sequence[Tried], settings: Settings) -> dict[str, Any]:
    first, second = (np.array([one.rate for one in side], dtype=np.float64) for side in (left, right))
    kin = _families(left, right)
    lead, unit, codes = _apart(first, second, kin, settings)
    found: dict[str, Any] = {
        "difference": figure(lead),
        "unit": unit,
        "p_signflip": None,
        "signflip_method": None,
        "discordant": None,
        "detectable_difference": None,
        "reason": lead.reason,
    }
    if lead.low is None or lead.high is None:
        return found
    sums, _ = cluster_sums(second - first, codes)
    flip = sign_flip(np.where(np.abs(sums) < 1e-12, 0.0, sums), seed=settings.seed)
    reach = 1 + normal_quantile(2 * POWER - 1) / normal_quantile(settings.level)
    return {
        **found,
        "p_signflip": flip.p,
        "signflip_method": flip.method,
        "discordant": flip.discordant,
        "detectable_difference": min(1.0, (lead.high - lead.low) / 2 * reach),
    }


def _apart(
    first: Floats, second: Floats, kin: Codes | None, settings: Settings
) -> tuple[Estimate, str, Codes]:
    """By task and, where there are families, by family: the wider one leads."""
    own: Codes = np.arange(len(first))

    def made(codes: Codes, unit: str) -> Estimate:
        return paired_rates(
            first,
            second,
            codes,
            estimand="success rate of b less that of a, every task weighing one",
            unit=unit,
            level=settings.level,
        )

    by_task = made(own, "task")
    if kin is None:
        return by_task, "task", own
    if len(np.unique(kin)) < 2:
        return one_family(by_task), "task", own
    lead = wider(by_task, made(kin, "family"))
    return (lead, "family", kin) if lead.by_task is not None else (lead, "task", own)


def _families(left: Sequence[Tried], right: Sequence[Tried]) -> Codes | None:
    """Codes of the tasks' families; None unless every task has one."""
    names = [a.family or b.family for a, b in zip(left, right, strict=True)]
    if not names or not all(names):
        return None
    codes: Codes = np.unique(np.array(names), return_inverse=True)[1]
    return codes


def _grader(left: Sequence[Tried], right: Sequence[Tried], seen: float | None) -> dict[str, Any]:
    """What the indeterminate episodes could have made of the difference, over all that was attempted."""
    if not left:
        return {"tasks": 0, "worst_case": None, "two_outcome": None, "explained": None, "sign_holds": None}
    low_a, high_a = (float(np.mean([one.bounds[end] for one in left])) for end in (0, 1))
    low_b, high_b = (float(np.mean([one.bounds[end] for one in right])) for end in (0, 1))
    worst = [low_b - high_a, high_b - low_a]
    two_outcome = low_b - low_a
    return {
        "tasks": len(left),
        "indeterminate": {"a": _share(left), "b": _share(right)},
        "worst_case": worst,
        "two_outcome": two_outcome,
        "explained": None if seen is None else two_outcome - seen,
        "sign_holds": worst[0] > 0 or worst[1] < 0,
    }


def _share(side: Sequence[Tried]) -> dict[str, Any]:
    causes: Counter[str] = Counter()
    for one in side:
        causes += one.causes
    return {
        "n": causes.total(),
        "attempted": sum(one.attempted for one in side),
        "causes": dict(sorted(causes.items(), key=lambda item: (-item[1], item[0]))),
    }
