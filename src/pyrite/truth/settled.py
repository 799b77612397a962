"""Is there anything left to verify? Asked before a run replays the known states of every task."""

from __future__ import annotations

from collections.abc import Callable

from pyrite.errors import InputError
from pyrite.records import Truth
from pyrite.store.bench import Bench
from pyrite.tasks.task import Task
from pyrite.truth import active
from pyrite.truth.decide import host_image, state_sha256
from pyrite.truth.verify import is_answer

_OF_THE_STATE = frozenset({"state_missing", "state_unreadable", "act_failed"})


def undecided(bench: Bench, lookup: Callable[[str], Task | None], *, image: str | None = None) -> list[str]:
    """Episodes whose outcome is missing or may be another one today.

    An outcome stands where this very verifier gave it on this very end state, after its task's known
    states were replayed on this image (default: this host's deciding libraries), and where nothing but
    the verifier or the state kept it from being decided.
    """
    image = image or host_image()
    digests: dict[str, str | None] = {}
    owed = []
    for episode_id in bench.require_episodes():
        try:
            task_id, truth = bench.meta(episode_id).task_id, bench.truth(episode_id)
            if task_id not in digests:
                task = lookup(task_id)
                digests[task_id] = task.verifier_sha256() if task is not None else None
        except InputError:
            owed.append(episode_id)
            continue
        state = state_sha256(bench.paths.episode(episode_id).final_state)
        if truth is not None and truth.acted_sha256 is not None:
            acted = active.digest(bench.paths.episode(episode_id))
            truth = truth if truth.acted_sha256 == acted else None
        if truth is None or not _stands(truth, digests[task_id], state, image):
            owed.append(episode_id)
    return owed


def _stands(truth: Truth, verifier: str | None, state: str | None, image: str) -> bool:
    if verifier is None or (truth.verifier_sha256, truth.state_sha256) != (verifier, state):
        return False
    if truth.replay is None or truth.replay.image != image:
        return False
    return is_answer(truth) or truth.cause in _OF_THE_STATE
