"""Whether the verdicts of an ensemble still follow from those of its members, which may be others by now."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pyrite.measure.blocks import counted
from pyrite.measure.ensemble import RULES, Ensemble
from pyrite.measure.table import MISSING, Table
from pyrite.measure.vote import coded, votes_of


def without_outdated(table: Table, lock: Mapping[str, Any], bench: str) -> Table:
    """The table, where verdicts of ensembles that their members' no longer make are missing, and told.

    `lock` names each ensemble's rule and members; what is an ensemble of ensembles follows from those.
    """
    found: dict[str, Ensemble] = {}
    judges = lock.get("judges")
    for label, settings in judges.items() if isinstance(judges, dict) else ():
        one = _ensemble(settings)
        if one is not None and label in table.verdicts.judge.names:
            found[label] = one
    gone: Counter[str] = Counter()
    for _ in found:  # one of ensembles may come before those that it is made of
        for label, one in found.items():
            table, outdated = _checked(table, label, one)
            gone[label] += outdated
    notes = [
        f"{label}: {counted(n, 'verdict')} no longer what its members say, and counted as missing: "
        f"{_made_anew(bench, found[label])}"
        for label, n in gone.items()
        if n
    ]
    notes += [
        f"{label}: an ensemble without a record of its members in their order: whether they still say so "
        f"cannot be checked; make it anew: pyrite experiment ensemble {shlex.quote(bench)} --rule RULE "
        "--judge MEMBER --judge MEMBER"
        for label in unchecked(lock, table.verdicts.judge.names)
    ]
    return replace(table, warnings=(*table.warnings, *notes)) if notes else table


def is_ensemble(label: str) -> bool:
    """Whether a label is that of an ensemble, by its form.

    >>> is_ensemble("majority(a+b+c)"), is_ensemble("vlm@model=majority")
    (True, False)
    """
    return _NAMED.match(label) is not None


def _made_anew(bench: str, one: Ensemble) -> str:
    """The command that makes an ensemble again."""
    weights = ",".join(f"{weight!r}" for weight in one.weights)
    words = ["pyrite", "experiment", "ensemble", bench, "--rule", one.rule]
    words += [word for name in one.members for word in ("--judge", name)]
    return shlex.join([*words, "--weights", weights] if weights else words)


def unchecked(lock: Mapping[str, Any], labels: Collection[str]) -> list[str]:
    """Those of these judges that are ensembles whose members are not known, so that nothing can be checked.

    They were made before the order of members was recorded, or lock.json has lost them; so is one that is
    made of such.
    """
    judges = lock.get("judges")
    known = judges if isinstance(judges, dict) else {}

    def lost(label: str, depth: int = 0) -> bool:
        if not is_ensemble(label):
            return False
        one = _ensemble(known.get(label))
        return one is None or depth > _DEPTH or any(lost(name, depth + 1) for name in one.members)

    return [label for label in labels if lost(label)]


_DEPTH = 20
"""Ensembles of ensembles that are looked into."""
_NAMED = re.compile(rf"(?:{'|'.join(RULES)})\(.+\)\Z", re.DOTALL)


def _ensemble(settings: Any) -> Ensemble | None:
    if not isinstance(settings, dict) or settings.get("rule") not in RULES:
        return None
    order, weights = settings.get("order"), settings.get("weights", [])
    if not isinstance(order, list) or len(order) < 2 or not isinstance(weights, list):
        return None
    return Ensemble(settings["rule"], tuple(map(str, order)), tuple(map(float, weights)))


def _checked(table: Table, label: str, one: Ensemble) -> tuple[Table, int]:
    """The table without what does not follow, and how many verdicts these are."""
    rows = table.verdicts
    verdict = rows.verdict.copy()
    own = coded(rows.judge, label)
    for condition in rows.condition.names:
        here = np.flatnonzero(own & coded(rows.condition, condition) & (verdict != MISSING))
        if len(here):
            follows = one.of({name: votes_of(table, name, condition).verdict for name in one.members})
            verdict[here[follows[rows.episode[here]] != verdict[here]]] = MISSING
    outdated = int((verdict != rows.verdict).sum())
    return (replace(table, verdicts=replace(rows, verdict=verdict)) if outdated else table), outdated
