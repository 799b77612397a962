"""Audit a benchmark's task definitions: every task read once, nothing of it run.

found = audit(Path("OSWorld/evaluation_examples"), only=Path("test_all.json"))
found.document["tiers"], list(found.findings)
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyrite
from pyrite.audit.definition import Definition, Problem, unreadable
from pyrite.audit.gold import Gold, gold_of
from pyrite.audit.hazards import HAZARDS, PRIORITIES
from pyrite.audit.hostile import Unreadable, shown
from pyrite.audit.ledger import ledger_of
from pyrite.audit.readers import READERS, Reader, Source, detect, load
from pyrite.audit.selection import Selection, read_list
from pyrite.audit.spool import Spool
from pyrite.audit.tier import Tier, tier_of
from pyrite.audit.totals import Totals
from pyrite.errors import InputError, UsageError
from pyrite.pool import Silent, Watch

_PLACES_A_TASK = 200
"""Findings of one hazard in one task that are listed; all of them are counted."""
_TICK = 500


@dataclass
class Audit:
    """What an audit found: totals, and two lists that may be long."""

    document: dict[str, Any]
    """Totals, baselines, what was read and the digest; neither of the lists."""
    findings: Spool
    """{task, domain, kind, detail, at, priority, level}, most important first."""
    per_task: Spool
    """{task, domain, where, tier, gold_class, evaluation, getters, …} in the order of reading."""

    @property
    def undecided(self) -> bool:
        """No task at all could be told."""
        return bool(self.document["tasks"] == self.document["unknown"])


def audit(
    root: Path, *, only: Path | None = None, form: str | None = None, watch: Watch | None = None
) -> Audit:
    """Read every task at `root`, or those that a list names, and join ledger, tier, gold and hazards.

    Raises `UsageError` where there is nothing that a reader knows or the list matches nothing, and
    `InputError` where it cannot be told how many tasks there are.
    """
    if not root.exists() and form is None and not load("pyrite").recognises(root):
        raise UsageError("there is no such file or folder", where=str(root), expected="task definitions")
    reader = load(form) if form else detect(root)
    selection = read_list(only, root if root.is_dir() else root.parent) if only else None
    run = _Run(reader, root, selection, watch or Silent())
    try:
        run.read_all()
    except Unreadable as exc:
        raise InputError(
            str(exc), where=str(root), expected=f"tasks of {reader.title}, all of which can be counted"
        ) from None
    run.require_something()
    return Audit(run.document(), run.findings, run.per_task)


class _Run:
    def __init__(self, reader: Reader, root: Path, selection: Selection | None, watch: Watch) -> None:
        self._reader = reader
        self._root = root
        self._selection = selection
        self._watch = watch
        self._totals = Totals()
        self._digest = hashlib.sha256()
        self._seen: set[tuple[str, str]] = set()
        self._left_out = 0
        self._left_out_examples: list[str] = []
        self.findings = Spool()
        self.per_task = Spool()

    def read_all(self) -> None:
        for source, extra in self._chosen():
            task = self._reader.read(source, self._root)
            if extra:
                task = replace(task, problems=(*task.problems, *extra))
            content = self._reader.bytes_of(source, self._root)
            self._digest.update(f"{task.where}\0{source.key}\0".encode())
            self._digest.update(hashlib.sha256(content).digest())
            self._add(task)
        for domain, key in self._selection.missing() if self._selection else ():
            where = str(self._selection.path) if self._selection else ""
            detail = f"{domain + '/' if domain else ''}{key} is in the list; there is no such task"
            self._digest.update(f"missing\0{domain}\0{key}\0".encode())
            self._add(unreadable(key, domain or "", shown(where), "listed_without_file", detail))

    def _chosen(self) -> Iterator[tuple[Source, list[Problem]]]:
        for source in self._reader.sources(self._root):
            key = self._selection.take(source) if self._selection else None
            if self._selection and key is None:
                self._left_out += 1
                if len(self._left_out_examples) < 10:
                    self._left_out_examples.append(f"{source.domain}/{source.key}".lstrip("/"))
                continue
            extra = []
            if (source.domain, source.key) in self._seen:
                extra.append(
                    Problem("duplicate_id", f"another task of {source.domain or 'this set'} has this id")
                )
            self._seen.add((source.domain, source.key))
            if self._selection and key is not None and self._selection.wanted[key] > 1:
                extra.append(Problem("listed_twice", f"named {self._selection.wanted[key]} times"))
            yield source, extra

    def _add(self, task: Definition) -> None:
        tier, gold, ledger = tier_of(task), gold_of(task), ledger_of(task)
        found: Counter[str] = Counter()
        at: dict[str, list[str]] = {}
        for name, hazard in HAZARDS.items():
            for place in hazard.look(task):
                found[name] += 1
                at.setdefault(place.at, []).append(name)
                if found[name] <= _PLACES_A_TASK:
                    row = {
                        "task": task.task,
                        "domain": task.domain,
                        "kind": name,
                        "detail": shown(place.detail, 300),
                        "at": place.at,
                        "priority": hazard.priority,
                        "level": hazard.level,
                    }
                    self.findings.append(row, hazard.priority)
        self._totals.add(task, tier, gold, ledger, found)
        self.per_task.append(
            {
                **_row(task, tier, gold),
                "evaluation": _evaluation(task, at),
                "getters": _getters(task, at),
                "network": list(ledger.network[:50]),
                "sleep_s": round(ledger.sleep_s, 3),
                "silent_steps": ledger.silent,
                "hazards": list(found),
            }
        )
        if self._totals.tasks % _TICK == 0:
            self._watch.tick(shown(task.task, 40), items=_TICK)

    def require_something(self) -> None:
        if self._selection and not self._selection.found:
            raise UsageError(
                f"none of the {self._selection.entries} listed tasks is there",
                where=str(self._selection.path),
                expected=f"ids such as {', '.join(self._left_out_examples[:3]) or '(there is no task)'}",
            )
        if not self._totals.tasks:
            raise UsageError(
                f"no task of {self._reader.title}",
                where=str(self._root),
                expected=f"one of: {', '.join(READERS)}",
            )

    def document(self) -> dict[str, Any]:
        totals = self._totals.as_json()
        return {
            "schema_version": "1",
            "pyrite": pyrite.__version__,
            "path": shown(str(self._root), 1000),
            "format": self._reader.name,
            "title": self._reader.title,
            "written_from": self._reader.written_from,
            "harness": self._reader.harness,
            "list": self._list(),
            **totals,
            "baselines": self._baselines(totals),
            "kinds": {
                name: {"priority": one.priority, "level": one.level, "says": one.says}
                for name, one in HAZARDS.items()
            },
            "priorities": {str(number): text for number, text in PRIORITIES.items()},
            "digest": self._digest.hexdigest(),
        }

    def _list(self) -> dict[str, Any] | None:
        if self._selection is None:
            return None
        missing = self._selection.missing()
        return {
            "file": shown(str(self._selection.path), 1000),
            "entries": self._selection.entries,
            "tasks": len(self._selection.wanted),
            "without_file": len(missing),
            "not_listed": self._left_out,
            "not_listed_examples": self._left_out_examples,
        }

    def _baselines(self, totals: dict[str, Any]) -> dict[str, Any]:
        """What agents would score that do nothing of the task; null where nobody has run it."""
        tasks, unknown, infeasible = totals["tasks"], totals["unknown"], totals["infeasible"]
        known = tasks - unknown
        gives_up: dict[str, Any] = {
            "value": None,
            "reason": "this harness does not reward giving up by itself",
        }
        if self._reader.name == "osworld":
            gives_up = {
                "value": infeasible / known if known else None,
                "reason": None if known else "no task could be told",
                "tasks": infeasible,
                "of": known,
                "low": infeasible / tasks,
                "high": (infeasible + unknown) / tasks,
            }
        return {
            "fail_always": gives_up,
            "no_op": {
                "value": None,
                "reason": "nothing was run: the untouched state must be verified, and must fail",
                "expected_is_input": totals["hazards"]["expected_is_input"],
            },
            "gold": {
                "value": None,
                "reason": "nothing was run: it must be 100 % of the scored tasks",
                "l1_possible": totals["replay"]["l1_possible"],
            },
        }


def _row(task: Definition, tier: Tier | None, gold: Gold | None) -> dict[str, Any]:
    return {
        "task": task.task,
        "domain": task.domain,
        "where": task.where,
        "tier": tier,
        "gold_class": gold.name if gold else None,
        "l1": gold.l1 if gold else None,
        "l1_possible": gold.l1_possible if gold else None,
        "l2": gold.l2 if gold else None,
        "l2_trap": (gold.l2_trap or None) if gold else None,
        "metrics": list(task.metrics[:50]),
    }


def _evaluation(task: Definition, at: dict[str, list[str]]) -> list[dict[str, Any]]:
    """The steps of the evaluation phase, each with the hazards that stand at it."""
    return [
        {
            "at": step.at,
            "type": step.type,
            "does": shown(step.text or (f"{step.seconds:g} s" if step.seconds is not None else ""), 200),
            "silent": step.silent,
            "hazards": at.get(step.at, []),
        }
        for step in task.evaluation[:200]
    ]


def _getters(task: Definition, at: dict[str, list[str]]) -> list[dict[str, Any]]:
    return [
        {
            "at": getter.at,
            "role": getter.role,
            "type": getter.type,
            "reach": getter.reach,
            "hazards": at.get(getter.at, []),
        }
        for getter in task.getters[:200]
    ]
