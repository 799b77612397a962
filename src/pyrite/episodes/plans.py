"""Which episodes a whole set has, where nobody names the agents: `pyrite record SUITE --plan full`.

A task has the scripted agent, the hasty one, the scripted one with something taken away, and on every
third task idle or quitter; then four injected defects of those that apply to its scripted episode. Who
acts where is drawn by digests of the seed and the task, so that the same plan asks for the same again.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from pyrite.episodes import jobs
from pyrite.episodes.jobs import Job
from pyrite.records import Action
from pyrite.suites.lookup import Origin

PLANS = ("full",)
PER_FAMILY = 3
"""Tasks of a family that a plan takes where nothing else is asked."""
DEFECTS_EACH = 4
WEIGHTS = {"side-effect": 4.0, "drop-save": 4.0, "save-copy": 3.0, "partial": 0.5, "claim-only": 0.25}
"""Defects whose last screen is that of success are drawn more often, those that mostly show on it less."""
_SHARE = 0.7
"""Part of the script that an agent with a budget gets to."""


def sampled(tasks: Iterable[tuple[Origin, str]], per_family: int, seed: int) -> list[tuple[Origin, str]]:
    """At most `per_family` tasks of each family, drawn by the seed, in the order that they came in.

    A task without a family is one of its own.
    """
    known = list(tasks)
    families: dict[str, list[str]] = {}
    for origin, task_id in known:
        families.setdefault(origin.task(task_id).spec.family or task_id, []).append(task_id)
    taken = {
        task_id
        for ids in families.values()
        for task_id in sorted(ids, key=lambda one: _drawn(seed, one))[:per_family]
    }
    return [(origin, task_id) for origin, task_id in known if task_id in taken]


def recorded(
    tasks: Sequence[tuple[Origin, str]], seed: int, whole: Sequence[tuple[Origin, str]] = ()
) -> dict[tuple[Origin, str], list[str]]:
    """Labels of the agents that act on each task.

    `whole`: the plan without any choice of tasks, so that who acts on one does not hang on which others
    are chosen.
    """
    places = {task_id: place for place, (_, task_id) in enumerate(whole or tasks)}
    asked = {}
    for origin, task_id in tasks:
        place = places.get(task_id, _drawn(seed, task_id))
        script, _ = origin.script(task_id)
        labels = ["scripted", "hasty", weakened(script, _drawn(seed, task_id))]
        if place % 3 == 0:
            labels.append(("idle", "quitter")[place // 3 % 2])
        asked[origin, task_id] = labels
    return asked


def weakened(script: Sequence[Action], drawn: int) -> str:
    """The scripted agent with one thing taken away: most of its steps, its patience, or a type of action."""
    actions = [action for action in script if action.action not in {"done", "fail", "answer"}]
    types = sorted({action.action for action in actions} - {"launch", "wait"})
    choice = drawn % 3
    if choice == 0 and len(actions) > 1:
        return f"scripted~budget={max(1, int(len(actions) * _SHARE))}"
    if choice == 1 and types:
        return f"scripted~without={types[drawn // 3 % len(types)]}"
    return "scripted~unready"


def chosen_defects(planned: Iterable[Job], task_ids: set[str], each: int = DEFECTS_EACH) -> list[Job]:
    """Of the defects that apply to the scripted episode of each task, `each` that are drawn by its id.

    Those that look most like success are drawn more often (`WEIGHTS`).
    """
    own = sorted((job for job in planned if job.agent == "scripted" and job.task_id in task_ids), key=_parent)
    found: list[Job] = []
    for _, group in groupby(own, key=_parent):
        drawn = sorted(group, key=_rank)
        found += drawn[:each]
    return found


def _rank(job: Job) -> float:
    """Weighted drawing without replacement: the smallest of exponential waiting times comes first.

    Source: Efraimidis and Spirakis, Weighted random sampling with a reservoir, 2006.
    """
    kind = job.order.perturbation or ""
    chance = (_drawn(0, f"{job.order.parent} {kind}") + 1) / (2**48 + 1)
    return -math.log(chance) / WEIGHTS.get(kind, 1.0)


def _parent(job: Job) -> str:
    return job.order.parent or ""


def jobs_of(asked: dict[tuple[Origin, str], list[str]], root: Path, seed: int) -> list[Job]:
    """One job an agent of each task."""
    return [
        job for task, labels in asked.items() for job in jobs.plan(root, [task], labels, seed=seed, repeats=1)
    ]


def _drawn(seed: int, name: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}\0{name}".encode()).digest()[:6], "big")
