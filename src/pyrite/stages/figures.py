"""What the figures of a bench are made with: what `run` was asked for, if it was, else the usual."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyrite.errors import UsageError
from pyrite.measure.scores import Asked
from pyrite.metrics.intervals import LEVEL
from pyrite.store.bench import Bench

USUAL = {"level": LEVEL, "resamples": 2000, "uncertain": "failure"}
"""How figures are made where nobody asked for something else."""


def options(bench: Bench, seed: int | None) -> dict[str, Any]:
    """Level, resamples, what uncertain counts as, and (without `seed`) the seed."""
    return {
        "level": bench.asked("metrics", "level", USUAL["level"]),
        "resamples": bench.asked("metrics", "resamples", USUAL["resamples"]),
        "seed": bench.asked("metrics", "seed", 0) if seed is None else seed,
        "uncertain": bench.asked("metrics", "uncertain_policy", USUAL["uncertain"]),
    }


def unusual(bench: Bench, seed: int | None) -> dict[str, Any]:
    """The options that are not the usual ones."""
    return {name: value for name, value in options(bench, seed).items() if value != USUAL.get(name)}


def threshold(asked: Mapping[str, Any]) -> Asked:
    """What is asked of thresholds of scores; `UsageError` for parts that do not go together."""
    found = Asked(**asked)
    if found.sampling == "effective_size" and found.policy != "fixed_sequence":
        raise UsageError(
            f"the effective size does not go with {found.policy}",
            expected="--threshold-rule fixed_sequence, or another --sampling",
        )
    return found


def bench_threshold(bench: Bench, asked: Mapping[str, Any] | None) -> Asked:
    """What is asked of thresholds: `asked`, else the configuration, else FPR 5 % with 95 % confidence."""
    configured = {
        name: bench.asked("metrics", key, None)
        for name, key in (("target", "fpr_target"), ("delta", "delta"), ("sampling", "sampling"))
    }
    return threshold({**{name: one for name, one in configured.items() if one is not None}, **(asked or {})})
