"""The shipped episodes: nothing but content tells source or outcome."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyrite import flow
from pyrite.stages.leak_test import leak_test


@pytest.mark.slow
def test_the_shipped_episodes_do_not_leak(tmp_path: Path, record_property: Any) -> None:
    bench = flow.demo(tmp_path / "demo")
    flow.verify(bench.root, workers=1)
    flow.pack(bench.root, conditions="E1-final,E2-last4,E2+claim,E3-full")
    found = leak_test(bench)
    for row in found["rows"]:
        if row["p"] is not None and row["open"] is None:
            record_property(
                "figure",
                f"leak test, shipped: {row['place']} {row['group']} to {row['label']}: AUC {row['auc']:.3f}, "
                f"by chance {row['baseline']:.3f}, p {row['p']:.3f}",
            )
    assert found["leaks"] == []
