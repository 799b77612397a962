"""Totals of an audit. Every task is in exactly one tier or unknown, and in one gold class or none."""

from __future__ import annotations

from array import array
from collections import Counter
from typing import Any

from pyrite.audit.definition import Definition
from pyrite.audit.gold import CLASSES, Gold
from pyrite.audit.hazards import HAZARDS
from pyrite.audit.ledger import Ledger
from pyrite.audit.tier import ACTIVE, PASSIVE, TIERS, Tier

MAX_NAMES = 1000
"""Distinct foreign names (step types, hosts) that are counted by themselves."""
OTHERS = "(other names)"


class Names(Counter[str]):
    """Counts by a foreign name; beyond `MAX_NAMES` new names share one count, so sums stay right."""

    def count(self, name: str, number: int = 1) -> None:
        self[name if name in self or len(self) < MAX_NAMES else OTHERS] += number


class Totals:
    """Sums over tasks, one `add` a task."""

    def __init__(self) -> None:
        self.tasks = 0
        self.tiers: Counter[Tier] = Counter()
        self.unknown: Counter[str] = Counter()
        self.gold: Counter[str] = Counter()
        self.gold_steps: Counter[str] = Counter()
        self.gold_saves: Counter[str] = Counter()
        self.l1 = 0
        self.steps = {"config": Names(), "postconfig": Names()}
        self.getters = {"result": Names(), "expected": Names()}
        self.hazards: Counter[str] = Counter()
        self.places: Counter[str] = Counter()
        self.domains: dict[str, Counter[str]] = {}
        self.hosts = Names()
        self.sequences = Names()
        self.network = self.passive_network = self.silent = 0
        self.sleeps = array("d")

    def add(
        self, task: Definition, tier: Tier | None, gold: Gold | None, ledger: Ledger, found: Counter[str]
    ) -> None:
        """Count one task."""
        self.tasks += 1
        name = tier or "unknown"
        if tier is None:
            self.unknown[_why_unknown(task)] += 1
        else:
            self.tiers[tier] += 1
        domain = task.domain if task.domain in self.domains or len(self.domains) < MAX_NAMES else OTHERS
        self.domains.setdefault(domain, Counter())[name] += 1
        if gold is not None:
            self.gold[gold.name] += 1
            self.l1 += gold.l1_possible
            self.gold_steps[gold.name] += bool(task.evaluation)
            self.gold_saves[gold.name] += bool(gold.l2_trap)
        for phase, counts in (("config", ledger.config), ("postconfig", ledger.postconfig)):
            for kind, number in counts.items():
                self.steps[phase].count(kind, number)
        for (role, kind), number in ledger.getters.items():
            self.getters[role].count(kind, number)
        for hazard, number in found.items():
            self.hazards[hazard] += 1
            self.places[hazard] += number
        for host in ledger.hosts:
            self.hosts.count(host)
        if task.evaluation:
            self.sequences.count(", ".join(step.type for step in task.evaluation)[:200])
        self.silent += ledger.silent
        if ledger.network:
            self.network += 1
            self.passive_network += tier in PASSIVE
        if ledger.sleep_s:
            self.sleeps.append(ledger.sleep_s)

    def as_json(self) -> dict[str, Any]:
        """The totals as they stand in the document."""
        both = Names(self.steps["config"])
        for kind, number in self.steps["postconfig"].items():
            both[kind] += number
        return {
            "tasks": self.tasks,
            "active": sum(self.tiers[tier] for tier in ACTIVE),
            "passive": sum(self.tiers[tier] for tier in PASSIVE),
            "infeasible": self.tiers["0"],
            "unknown": sum(self.unknown.values()),
            "unknown_why": dict(sorted(self.unknown.items())),
            "tiers": {tier: self.tiers[tier] for tier in TIERS},
            "steps": {
                "config": _ordered(self.steps["config"]),
                "postconfig": _ordered(self.steps["postconfig"]),
                "both": _ordered(both),
            },
            "getters": {role: _ordered(counts) for role, counts in self.getters.items()},
            "hazards": {name: self.hazards[name] for name in HAZARDS},
            "places": {name: self.places[name] for name in HAZARDS},
            "gold_classes": {name: self.gold[name] for name in CLASSES},
            "gold_with_steps": {name: self.gold_steps[name] for name in CLASSES},
            "gold_with_save": {name: self.gold_saves[name] for name in CLASSES},
            "replay": {"l1_possible": self.l1, "l2_needs_machine": sum(self.gold.values())},
            "silent_steps": self.silent,
            "sequences": dict(list(_ordered(self.sequences).items())[:20]),
            "network": {
                "tasks": self.network,
                "passive_tasks": self.passive_network,
                "hosts": _ordered(self.hosts),
            },
            "sleeps": self._sleeps(),
            "domains": {name: dict(self.domains[name]) for name in sorted(self.domains)},
        }

    def _sleeps(self) -> dict[str, Any]:
        waits = sorted(self.sleeps)
        return {
            "tasks": len(waits),
            "total_s": round(sum(waits), 3),
            "median_s": waits[len(waits) // 2] if waits else None,
            "max_s": waits[-1] if waits else None,
        }


def _why_unknown(task: Definition) -> str:
    fatal = [problem.kind for problem in task.problems if problem.fatal]
    if fatal:
        return fatal[0]
    return (
        "harness_not_there" if any(p.kind == "harness_not_there" for p in task.problems) else "unknown_getter"
    )


def _ordered(counts: Counter[str]) -> dict[str, int]:
    """Most frequent first, then by name."""
    return dict(sorted(counts.items(), key=lambda one: (-one[1], one[0])))
