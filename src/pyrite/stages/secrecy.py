"""What no evidence package may tell, and the refusal to ask a judge while one does."""

from __future__ import annotations

from pathlib import Path

from pyrite.errors import UsageError
from pyrite.evidence import leaks
from pyrite.evidence.leaks import Secrets
from pyrite.evidence.packing import Packing
from pyrite.records import Category, Meta
from pyrite.store.bench import Bench


def secrets(bench: Bench, meta: Meta) -> Secrets:
    """Who made the episode, and what the verifier saw of it."""
    truth = bench.truth(meta.episode_id)
    seed = "" if meta.agent.seed is None else str(meta.agent.seed)
    names = (meta.source, meta.perturbation or "", meta.agent.name, seed, meta.parent or "", meta.episode_id)
    values = leaks.leaves(truth.diagnostics, keys=False) if truth is not None else ()
    return Secrets(tuple(filter(None, names)), tuple(Category), tuple(values))


def refuse_leaks(root: Path, packed: Packing) -> None:
    """Raise `UsageError` where the packages tell a judge what it must not know."""
    if packed.leaks:
        raise UsageError(
            f"{len(packed.leaks)} places in the evidence tell a judge what it must not know",
            expected="no leak before the first judge call",
            next=f"pyrite pack {root}",
        )
