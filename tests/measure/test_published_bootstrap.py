"""The published verdicts resampled by task: the intervals that a cluster bootstrap gives, beside Wilson's."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from pyrite.measure.blocks import compact
from pyrite.measure.foreign import CONDITION, Columns, table_from_file
from pyrite.measure.measure import measure_table
from pyrite.measure.table import FAIL, SUCCESS
from pyrite.measure.vote import votes_of
from pyrite.metrics.clusters import rate
from pyrite.metrics.resample import resampled_sums

SHARED = Path(os.environ.get("PYRITE_SHARED") or Path(__file__).resolve().parents[2].parent / "shared")
JOINED = SHARED / "data" / "webjudge-on-agentrewardbench" / "joined_test.csv"


@pytest.mark.parametrize(
    ("judge", "printed", "bootstrap", "wilson"),
    [
        ("webjudge_o4_mini", 3.8, (2.5, 5.3), (2.7, 5.5)),
        ("webjudge_7B", 6.8, (4.9, 8.9), (5.1, 9.0)),
        ("webjudge_gpt4o", 9.2, (7.0, 11.7), (7.2, 11.8)),
    ],
)
def test_fpr_by_task(
    judge: str, printed: float, bootstrap: tuple[float, float], wilson: tuple[float, float]
) -> None:
    if not JOINED.is_file():
        pytest.skip(f"no published verdicts at {JOINED}")
    columns = Columns(
        truth="human_success", cluster="task_id", verdicts=(judge,), cluster_strip=r"\.(improved|resized)"
    )
    table = table_from_file(JOINED, columns).table
    failed = table.episodes.truth == FAIL
    accepted = votes_of(table, judge, CONDITION).verdict == SUCCESS
    codes = compact(table.episodes.cluster, failed)
    size = int(codes.max()) + 1
    f = np.bincount(codes[accepted[failed]], minlength=size).astype(np.float64)
    n = np.bincount(codes, minlength=size).astype(np.float64)
    sums = resampled_sums(np.stack([f, n], axis=1), resamples=2000, seed=0)
    low, high = 100 * np.quantile(sums[:, 0] / sums[:, 1], [0.025, 0.975])
    assert (low, high) == pytest.approx(bootstrap, abs=0.2)
    found = rate(f, n, estimand="FPR", empty="no_negatives")
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert round(100 * found.value, 1) == printed
    assert (round(100 * found.low, 1), round(100 * found.high, 1)) == wilson


def test_the_command_holds_both_intervals() -> None:
    if not JOINED.is_file():
        pytest.skip(f"no published verdicts at {JOINED}")
    names = {"webjudge_o4_mini": (2.5, 5.3), "webjudge_7B": (4.9, 8.9), "webjudge_gpt4o": (7.0, 11.7)}
    strip = r"\.(improved|resized)"
    found = measure_table(
        JOINED, truth="human_success", cluster="task_id", verdicts=list(names), cluster_strip=strip
    )
    for name, printed in names.items():
        drawn = found["judges"][name]["bootstrap"]["fpr"]
        assert (100 * drawn["low"], 100 * drawn["high"]) == pytest.approx(printed, abs=0.2)
