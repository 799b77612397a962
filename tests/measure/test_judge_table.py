"""The Markdown table that is quoted of a recorded set."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

TOOL = Path(__file__).resolve().parents[2] / "tools" / "judge_table.py"


def test_a_table_a_stratum_with_the_figures_of_measure(make_bench: Callable[[], Any]) -> None:
    made = make_bench()
    for t in range(6):
        kin: dict[str, Any] = {
            "source": "scripted",
            "family": f"f{t // 2}",
            "domain": "web" if t < 2 else "files",
        }
        made.episode(f"s{t}", f"task-{t}", "pass", **kin)
        made.episode(f"u{t}", f"task-{t}", "fail", category="F-UNCOMMITTED", **kin)
        made.episode(f"a{t}", f"task-{t}", "fail", category="F-ABORT", **kin)
    ids = made.bench.episode_ids()
    made.verdicts("looker", "E1-final", [(i, "failure" if i[0] == "a" else "success") for i in ids])
    made.verdicts("steps", "E3-full", [(i, "success") for i in ids if i != "a0"])

    lines = list(runpy.run_path(str(TOOL))["tables"](made.bench))
    lines = [line.replace("\u202f", " ") for line in lines]
    assert lines[0].startswith("18 episodes on 6 tasks in 3 families")
    assert "data digest `" in lines[1]
    (looker,) = [line for line in lines if line.startswith("| looker | E1-final")]
    assert "| 100.0 % of 6 [61.0, 100.0] [43.9, 100.0]" in looker
    assert "| 0.0 % of 6 [0.0, 39.0]" in looker
    assert "| 50.0 % of 12 [" in looker
    assert next(line for line in lines if line.startswith("| steps | E3-full")).endswith("| 1 |")
    assert "| FPR by domain | files | web |" in lines
    assert "| looker | 4 of 8 | 2 of 4 |" in lines
