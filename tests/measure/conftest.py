"""A bench of records written by the store itself: episodes, truth, verdict files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pyrite.records import Meta, Truth, VerdictLine
from pyrite.store.bench import Bench
from pyrite.store.jsonl import append_lines, write_record


@dataclass(frozen=True)
class MadeBench:
    """Writes records into a real bench directory."""

    bench: Bench

    def episode(
        self,
        episode_id: str,
        task_id: str,
        outcome: str | None,
        *,
        source: str = "natural",
        agent: str = "a",
        family: str | None = None,
        category: str | None = None,
        cause: str | None = None,
        domain: str | None = None,
    ) -> None:
        """One finished episode; `outcome=None` leaves it unverified."""
        paths = self.bench.paths.episode(episode_id)
        meta = Meta.model_validate(
            {
                "schema_version": "1",
                "episode_id": episode_id,
                "task_id": task_id,
                "source": source,
                "agent": {"name": agent},
                "n_steps": 1,
                "created_at": "2026-01-01T00:00:00Z",
                "family": family,
                "domain": domain,
            }
        )
        write_record(paths.meta, meta)
        if outcome is not None:
            passed = {"pass": True, "fail": False}.get(outcome)
            truth = {"episode_id": episode_id, "outcome": outcome, "pass": passed}
            write_record(paths.truth, Truth.model_validate({**truth, "category": category, "cause": cause}))

    def verdicts(
        self, judge: str, condition: str, lines: Iterable[tuple[str, Any]], *, config: str = "c"
    ) -> Path:
        """Append (episode_id, verdict or [verdict a run]) lines to the judge's file."""
        path = self.bench.paths.verdict_file(judge, condition)
        records = []
        for episode_id, said in lines:
            for run, verdict in enumerate(said if isinstance(said, list) else [said], start=1):
                if verdict == "absent":
                    continue
                status = "malformed" if verdict == "parse_error" else "ok"
                key = {"episode_id": episode_id, "judge": judge, "config": config, "condition": condition}
                records.append(
                    VerdictLine.model_validate({**key, "run": run, "verdict": verdict, "status": status})
                )
        append_lines(path, records)
        return path


@pytest.fixture
def make_bench(tmp_path: Path) -> Callable[[], MadeBench]:
    """Make an empty bench."""
    return lambda: MadeBench(Bench.create(tmp_path / "bench"))
