"""Digests of what a report was made from, blind to timestamps: equal inputs, equal digests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from pyrite.records import VerdictLine
from pyrite.store import episodes as attempts
from pyrite.store.bench import Bench
from pyrite.store.jsonl import read_lines

_TIMES = {"created_at", "called_at", "verified_at", "latency_s", "usage", "raw", "replay", "confinement"}


def digests(bench: Bench) -> dict[str, Any]:
    """sha256 over the episodes' metas, their truth (as people classified it) and all verdicts, and dates.

    What cannot be read is in no digest; the report lists it under `broken`.
    """
    read = attempts.read(bench).episodes
    metas = [one.meta for one in read if one.meta is not None]
    truths = [one.truth for one in read if one.truth is not None]
    recorded = sorted(meta.created_at for meta in metas)
    return {
        "episodes_sha256": _digest(meta.model_dump(mode="json", by_alias=True) for meta in metas),
        "truth_sha256": _digest(truth.model_dump(mode="json", by_alias=True) for truth in truths),
        "verdicts_sha256": _digest(
            line.model_dump(mode="json", by_alias=True)
            for path in bench.paths.verdict_files()
            for line in read_lines(path, VerdictLine)
        ),
        "recorded_at": [recorded[0], recorded[-1]] if recorded else None,
        "models": _models(bench),
        "verified_at": max((truth.verified_at for truth in truths), default=None),
    }


def _models(bench: Bench) -> list[dict[str, str | None]]:
    """Which model each judge asked, as lock.json has it, with digest and licence of a file that was served.

    A licence that a file does not state is UNKNOWN; of a model behind somebody's endpoint both are None.
    """
    settings = bench.lock().get("judges")
    found = []
    for judge, said in sorted(settings.items()) if isinstance(settings, dict) else ():
        if isinstance(said, dict) and isinstance(said.get("model"), str):
            names = {"model": "model", "sha256": "file_sha256", "licence": "licence", "note": "note"}
            facts = {name: said.get(key) for name, key in names.items()}
            found.append({"judge": judge, **{k: v if isinstance(v, str) else None for k, v in facts.items()}})
    return found


def _digest(records: Iterable[dict[str, Any]]) -> str:
    """One digest over all records, whatever their order: judges answer in any."""
    each = []
    for record in records:
        kept = {key: value for key, value in record.items() if key not in _TIMES}
        each.append(hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).digest())
    return hashlib.sha256(b"".join(sorted(each))).hexdigest()
