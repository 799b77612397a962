"""The episodes of a bench, a row each, and the queue of failures that nobody has classified yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyrite.records import Meta, Outcome, Truth
from pyrite.store import episodes as attempts
from pyrite.store.bench import Bench


def episodes(bench: Bench, *, needs_category: bool = False) -> dict[str, Any]:
    """Every finished episode, or only the failures without a category, with the codes they allow.

    What is not known (not verified, no category) is None. Episodes that cannot be read stand under
    `broken`. Raises `UsageError` where there is no episode, and for the queue where none is verified.
    """
    found = attempts.read(bench)
    if needs_category:
        attempts.require_verified(bench, found)
    rows = [(one.meta, one.truth) for one in found.episodes if one.meta and one.problem is None]
    listed = [row for row in rows if _unclassified(row[1])] if needs_category else rows
    return {
        "schema_version": "1",
        "bench": str(bench.root),
        "needs": "category" if needs_category else None,
        "total": len(found.episodes),
        "verified": found.verified,
        "failed": sum(1 for _, truth in rows if truth and truth.outcome is Outcome.FAIL),
        "episodes": [_row(meta, truth, found.people.tied) for meta, truth in listed],
        "broken": found.broken,
    }


def _unclassified(truth: Truth | None) -> bool:
    return truth is not None and truth.outcome is Outcome.FAIL and truth.category is None


def _row(meta: Meta, truth: Truth | None, tied: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    return {
        "episode_id": meta.episode_id,
        "task_id": meta.task_id,
        "source": meta.source,
        "agent": meta.agent.name,
        "perturbation": meta.perturbation,
        "ended_by": meta.ended_by,
        "n_steps": meta.n_steps,
        "outcome": truth.outcome if truth else None,
        "cause": truth.cause if truth else None,
        "category": truth.category if truth else None,
        "category_source": truth.category_source if truth else None,
        "candidates": list(truth.candidates) if truth else [],
        "conflicting": list(tied.get(meta.episode_id, ())) if _unclassified(truth) else [],
    }
