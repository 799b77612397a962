"""Replays that are kept: one a task, image and day, for all agents of a bench.

A replay says of today's machine that a verifier may be believed, so it holds for one UTC day and as long
as nothing changes that it depends on: the task with its states, what of ours builds, asks and decides,
what is installed here, the image. What a busy machine may have caused (too
late, not built), and what could not be run here, is not kept.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

import pyrite
from pyrite.records import BLAME
from pyrite.store import replays
from pyrite.store.bench import Bench, now
from pyrite.store.replays import Kept
from pyrite.suites.suite import FamilyTask
from pyrite.tasks.task import Task
from pyrite.truth.decide import host_image
from pyrite.truth.replay import ReplayResult, StateCheck, cause_of

_DECIDES = ("checks", "sandbox", "suites", "tasks", "truth")
"""Parts of pyrite that build, ask and decide."""
_MOST_FILES = 5000
UNSTABLE = "gold_unstable"


def find(bench: Bench, task: Task, image: str) -> ReplayResult | None:
    """Today's replay of this very task on this image; None where it has to be replayed."""
    kept = replays.read(bench, image, task.spec.task_id)
    if kept is None or kept.key != key(task, image):
        return None
    try:
        found: ReplayResult = _adapter().validate_json(json.dumps(kept.result))
    except ValidationError:
        return None
    return found if _is_of(found, task, image) else None


def with_earlier(bench: Bench, task: Task, image: str, result: ReplayResult) -> ReplayResult:
    """A replay in the light of the one that is kept: two that disagree with nothing changed are unstable.

    Nobody gets a verifier believed by replaying it until it passes: the day and image stay unstable until
    something that a replay depends on changes.
    """
    before = find(bench, task, image)
    if before is None or not _lasts(result):
        return result
    causes = {before.cause, result.cause}
    if (None not in causes and UNSTABLE not in causes) or causes == {None}:
        return result
    told = [_in_words(one) for one in (before, result)]
    detail = f"replayed more than once today with nothing changed: {told[0]}, then {told[1]}"
    return replace(result, cause=UNSTABLE, detail=result.detail if result.flake else detail)


def _in_words(result: ReplayResult) -> str:
    return "every known state as declared" if result.cause is None else result.cause


def keep(bench: Bench, task: Task, result: ReplayResult) -> bool:
    """Keep a replay that is worth keeping; says whether it was kept."""
    if not _lasts(result):
        return False
    record, name = result.record, task.spec.task_id
    kept = Kept(
        key=key(task, record.image, day=record.at[:10]),
        task_id=name,
        image=record.image,
        day=record.at[:10],
        at=record.at,
        cause=result.cause,
        passes="pass" in record.outcomes.values(),
        result=_adapter().dump_python(result, mode="json"),
    )
    return replays.write(bench, kept)


def key(task: Task, image: str, *, day: str | None = None) -> str:
    """Digest of everything that a replay of `task` on `image` depends on (default: today)."""
    parts = (
        task.spec.task_id,
        task.verifier_sha256(),
        task.spec.model_dump_json(by_alias=True),
        _builder_sha256(task),
        image,
        host_image(),
        day or now()[:10],
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _lasts(result: ReplayResult) -> bool:
    if not result.checks or (result.live is not None and not result.live.ran):
        return False
    answers = [check.answer.cause for check in result.checks]
    return "verifier_timeout" not in answers and BLAME.get(result.cause or "") != "environment"


def _is_of(found: ReplayResult, task: Task, image: str) -> bool:
    """A file may hold anything: whether this one could have come from replaying this task."""
    declared = [("initial", "initial"), *((state.name, state.kind) for state in task.spec.states)]
    states = [(check.name, check.kind) for check in found.checks]
    same = (found.task_id, found.record.image) == (task.spec.task_id, image) and states == declared
    observed = {check.name: str(check.answer.outcome) for check in found.checks}
    if not same or found.record.outcomes != observed or not _as_declared(found.checks, task):
        return False
    if found.cause is not None:
        return found.cause in BLAME
    opened = found.live is None or found.live.cause is None
    return cause_of(found.checks)[0] is None and found.flake is None and opened


def _as_declared(checks: tuple[StateCheck, ...], task: Task) -> bool:
    expected = {state.name: state.outcome for state in task.spec.states}
    return all(expected.get(check.name, "fail") == check.expected for check in checks)


@lru_cache(maxsize=1)
def _adapter() -> TypeAdapter[ReplayResult]:
    from pyrite.truth.live import Live

    found: TypeAdapter[ReplayResult] = TypeAdapter(ReplayResult)
    found.rebuild(force=True, _types_namespace={**_names(), "Live": Live})
    return found


def _names() -> dict[str, Any]:
    from pyrite.truth import live, replay

    return {**vars(live), **vars(replay)}


def _builder_sha256(task: Task) -> str:
    """What makes the states of a task: a folder task's own digest has its scripts in it."""
    ours = _code_sha256(Path(pyrite.__file__).parent, _DECIDES)
    if not isinstance(task, FamilyTask):
        return ours
    return f"{ours} {_package_sha256(task.module)}"


@cache
def _package_sha256(module: str) -> str:
    """Digest of the package that a family comes from, or of its one file."""
    spec = find_spec(module.partition(".")[0])
    if spec is None or spec.origin is None:
        return "unknown"
    origin = Path(spec.origin)
    if origin.is_relative_to(Path(pyrite.__file__).parent):
        return "ours"
    if spec.submodule_search_locations:
        return _code_sha256(origin.parent, (".",))
    return hashlib.sha256(origin.read_bytes()).hexdigest()


@cache
def _code_sha256(root: Path, parts: tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    files = sorted(path for part in parts for path in (root / part).rglob("*.py"))
    for path in files[:_MOST_FILES]:
        digest.update(f"{path.relative_to(root)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
