"""The three-outcome block of a bench with the health of its graders; two benches against each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyrite.errors import UsageError
from pyrite.measure import bench as measuring
from pyrite.measure import two_benches
from pyrite.measure.grader import grader_block
from pyrite.stages.figures import options
from pyrite.stages.gate import own_config
from pyrite.store.bench import Bench
from pyrite.store.config import FIXED, Outcomes, load_config


def outcomes(root: Path, *, against: Path | None = None, limit: float | None = None) -> dict[str, Any]:
    """Pass, fail, indeterminate, a block a stratum: the truth part of `measure`, and `grader` beside it.

    `limit`: the share without an outcome above which there is an alert; without it the one in the bench's
    configuration, else 5 %. `against` is an earlier bench, for an alert where that share has risen.
    """
    bench = Bench(root)
    earlier = None if against is None else Bench(against)
    if earlier is not None and earlier.root.resolve() == bench.root.resolve():
        raise UsageError("--against names the same bench", where=str(against), expected="an earlier bench")
    level = options(bench, None)["level"]
    block = measuring.outcomes(bench, level=level)
    wanted = _limit(bench) if limit is None else limit
    grader = grader_block(bench, limit=wanted, against=earlier, level=level)
    block["warnings"] = [*block["warnings"], *grader.pop("warnings")]
    return {**block, "grader": grader}


def _limit(bench: Bench) -> float:
    config = own_config(bench)
    asked = Outcomes() if config is None else load_config(config, spare=tuple(FIXED)).asked.outcomes
    return asked.indeterminate


def compare_benches(
    first: Path,
    second: Path,
    *,
    agents: Sequence[str] = (),
    stratum: str | None = None,
    seed: int | None = None,
) -> dict[str, Any]:
    """Agents of two benches on the tasks that are determinate in both; see `measure.two_benches`."""
    a, b = Bench(first), Bench(second)
    used = options(b, seed)
    return two_benches.compare_benches(
        a,
        b,
        agents=agents,
        stratum=stratum,
        level=used["level"],
        seed=used["seed"],
    )
