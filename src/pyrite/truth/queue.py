"""The episodes of a bench, a row each, and the queue of failures that nobody has classified yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyrite.errors import UsageError
from pyrite.records import Outcome
from pyrite.store import labels
from pyrite.store.bench import Bench
from pyrite.truth.outcomes import Row, read_rows


def episodes(bench: Bench, *, needs_category: bool = False) -> dict[str, Any]:
    """Every finished episode, or only the failures without a category, with the codes they allow.

    What is not known (not verified, no category) is None. Episodes that cannot be read stand under
    `broken`. Raises `UsageError` where there is no episode, and for the queue where none is verified.
    """
    people = labels.read(bench)
    rows, broken = read_rows(bench, people)
    verified = sum(1 for row in rows if row.truth is not None)
    if needs_category and not verified:
        raise UsageError(
            f"none of {len(rows) + len(broken)} episodes has been verified",
            where=str(bench.root),
            expected="a gt.json beside each meta.json",
            next=f"pyrite verify {bench.root}",
        )
    listed = [row for row in rows if _unclassified(row)] if needs_category else rows
    return {
        "schema_version": "1",
        "bench": str(bench.root),
        "needs": "category" if needs_category else None,
        "total": len(rows) + len(broken),
        "verified": verified,
        "failed": sum(1 for row in rows if row.truth and row.truth.outcome is Outcome.FAIL),
        "episodes": [_row(row, people.tied) for row in listed],
        "broken": broken,
    }


def _unclassified(row: Row) -> bool:
    return row.truth is not None and row.truth.outcome is Outcome.FAIL and row.truth.category is None


def _row(row: Row, tied: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    meta, truth = row.meta, row.truth
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
        "conflicting": list(tied.get(meta.episode_id, ())) if _unclassified(row) else [],
    }
