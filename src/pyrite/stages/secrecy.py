"""What no evidence package may tell, and the refusal to ask a judge while one does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from pyrite.errors import UsageError
from pyrite.evidence import leaks
from pyrite.evidence.leaks import Secrets
from pyrite.evidence.packing import Packing
from pyrite.records import Category, Meta
from pyrite.store.bench import Bench

CANARY = re.compile(r"canary[-_:=][A-Za-z0-9][A-Za-z0-9._-]{5,79}", re.IGNORECASE)
"""A word that somebody planted where no judge may see it, such as canary-5f0c2b."""
MOST_READ = 4 << 20
"""Bytes of one file that are searched for canaries."""


def secrets(bench: Bench, meta: Meta) -> Secrets:
    """Who made the episode, what the verifier saw of it, and the canaries planted in truth and task."""
    truth = bench.truth(meta.episode_id)
    seed = "" if meta.agent.seed is None else str(meta.agent.seed)
    names = [meta.source, meta.perturbation or "", meta.agent.name, seed, meta.parent or "", meta.episode_id]
    names += [meta.weakened or "", meta.message_kind or ""]
    values = leaks.leaves(truth.diagnostics, keys=False) if truth is not None else ()
    texts = (*Category, *canaries(bench, meta))
    return Secrets(tuple(filter(None, names)), texts, tuple(values))


def canaries(bench: Bench, meta: Meta) -> list[str]:
    """Words like canary-5f0c2b in gt.json, meta.json and facts of an episode, its labels, and its task.

    What the agent says at the end stands in meta.json too: a canary there was planted by nobody.
    """
    found: set[str] = set()
    for path in _hidden_files(bench, meta):
        stat = path.stat()
        found |= _planted(path, stat.st_size, stat.st_mtime_ns)
    return sorted(found)


@lru_cache(maxsize=256)
def _planted(path: Path, size: int, changed_ns: int) -> frozenset[str]:
    """Canaries in one file; size and time are there so that a file that changed is read again."""
    with path.open("rb") as handle:
        text = handle.read(MOST_READ).decode("utf-8", "replace")
    if path.name == "meta.json":
        with suppress(ValueError, RecursionError):
            body = json.loads(text)
            if isinstance(body, dict):
                text = json.dumps({**body, "final_message": None}, ensure_ascii=False)
    return frozenset(CANARY.findall(text))


def _hidden_files(bench: Bench, meta: Meta) -> Iterator[Path]:
    paths = bench.paths.episode(meta.episode_id)
    files = [paths.meta, paths.facts, paths.truth, *sorted(paths.root.glob("gt.*.json"))]
    task = bench.paths.tasks / meta.task_id
    files += [bench.paths.labels, task / "verify.py", task / "task.json"]
    yield from (path for path in files if path.is_file() and not path.is_symlink())


def refuse_leaks(root: Path, packed: Packing) -> None:
    """Raise `UsageError` where what pyrite packs tells a judge what it must not know.

    What the agent itself wrote cannot stop the judging: such an episode is in `packed.broken`.
    """
    if packed.leaks:
        raise UsageError(
            f"{len(packed.leaks)} places in the evidence tell a judge what it must not know",
            expected="no leak before the first judge call",
            next=f"pyrite pack {root}",
        )
