"""Many tasks: totals stay right, and memory does not grow with the findings."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from pyrite.audit.spool import Spool

TASKS = 3000
_MEASURE = """
import json, resource, sys
from pathlib import Path
from pyrite.audit.audit import audit
start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = audit(Path(sys.argv[1]))
rows = sum(1 for _ in found.findings)
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start
print(json.dumps([found.document["tasks"], found.document["tiers"]["4"], rows, len(found.findings), grown]))
"""


def test_thousands_of_tasks_are_all_counted_in_bounded_memory(made: Any) -> None:
    save = {"type": "execute", "parameters": {"command": ["xdotool", "key", "ctrl+s"]}}
    wait = {"type": "sleep", "parameters": {"seconds": 0.5}}
    data = made.task("0", evaluator__postconfig=[save, wait] * 4)
    for number in range(1, TASKS):
        made.text(str(number), json.dumps(data | {"id": str(number)}), domain=f"d{number % 7}")
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(made.root)], capture_output=True, text=True, check=True
    )
    tasks, tier4, rows, counted, grown_kb = json.loads(done.stdout)
    assert (tasks, tier4) == (TASKS, TASKS)
    assert rows == counted > 20 * TASKS
    assert grown_kb < 150_000


def test_a_spool_gives_rows_by_rank_before_and_after_it_went_to_disk() -> None:
    spool = Spool()
    rows = [{"n": number, "text": "x" * 3000} for number in range(4000)]
    for row in rows:
        spool.append(row, rank=row["n"] % 2)  # type: ignore[operator]
    expected = [row for rank in (0, 1) for row in rows if row["n"] % 2 == rank]  # type: ignore[operator]
    assert list(spool) == expected
    assert list(spool) == expected, "it can be read again"
    spool.append({"n": -1}, rank=0)
    assert len(spool) == 4001
    assert [row["n"] for row in spool].count(-1) == 1


def test_a_list_file_of_many_tasks_is_read_item_by_item(tmp_path: Path) -> None:
    from pyrite.audit.audit import audit

    item = {
        "intent": "x",
        "eval": {"eval_types": ["string_match"], "reference_answers": {"exact_match": "1"}},
    }
    path = tmp_path / "test.raw.json"
    path.write_text(json.dumps([item | {"task_id": n} for n in range(5000)]), encoding="utf-8")
    assert audit(path).document["tasks"] == 5000
