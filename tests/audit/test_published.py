"""The published counts of other people's task definitions, on the real files."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pyrite.audit.audit import Audit, audit

Find = Callable[[str], Path]


@pytest.fixture(scope="module")
def osworld(shared: Find) -> Audit:
    return audit(shared("osworld"), only=Path("test_all.json"))


def test_step_counts_by_phase(osworld: Audit) -> None:
    steps = osworld.document["steps"]
    order = ("execute", "sleep", "launch", "download", "activate_window")
    assert [steps["both"][name] for name in order] == [358, 308, 306, 294, 202]
    assert [steps["config"][name] for name in order] == [154, 14, 274, 278, 65]
    assert [steps["postconfig"][name] for name in order] == [204, 294, 32, 16, 137]


def test_tiers_and_phases_add_up(osworld: Audit) -> None:
    found = osworld.document
    assert (found["tasks"], found["active"], found["passive"], found["infeasible"]) == (369, 239, 101, 29)
    assert [found["tiers"][tier] for tier in ("4", "3", "2", "1b", "1a", "0")] == [148, 56, 35, 16, 85, 29]
    assert found["unknown"] == 0
    calc = found["domains"]["libreoffice_calc"]
    assert (calc["4"], found["domains"]["chrome"]["2"], found["domains"]["vs_code"]["1a"]) == (44, 22, 15)


def test_gold_classes(osworld: Audit) -> None:
    found = osworld.document
    assert found["gold_classes"] == {"A": 162, "B": 19, "C": 141, "D": 9, "E": 9}
    assert (found["gold_with_steps"]["A"], found["gold_with_save"]["A"]) == (129, 115)
    assert found["replay"]["l1_possible"] == 162


def test_getters_network_and_sleeps(osworld: Audit) -> None:
    found = osworld.document
    assert found["getters"]["result"]["vm_file"] == 257
    assert (found["getters"]["expected"]["cloud_file"], found["getters"]["expected"]["rule"]) == (215, 166)
    assert found["network"]["passive_tasks"] == 40
    assert (found["sleeps"]["median_s"], found["sleeps"]["max_s"]) == (1.5, 20.5)
    assert found["sequences"]["activate_window, sleep, execute, sleep"] == 94
    assert found["sequences"]["activate_window, sleep, execute"] == 28


def test_the_collision_is_found_and_only_there(osworld: Audit) -> None:
    found = [row for row in osworld.findings if row["kind"] == "dest_collision"]
    assert {row["task"][:8] for row in found} == {"74d5859f"}
    assert len(found) == 4
    assert osworld.document["hazards"]["dest_collision"] == 1
    assert osworld.document["hazards"]["length_mismatch"] == 0
    assert osworld.document["hazards"]["expected_is_input"] == 13
    assert osworld.document["hazards"]["title_names_other_file"] == 6


def test_the_four_steps_of_one_task_are_named_with_each_hazard(osworld: Audit) -> None:
    (task,) = [row for row in osworld.per_task if row["task"].startswith("4172ea6e")]
    steps = task["evaluation"]
    assert [step["type"] for step in steps] == ["activate_window", "sleep", "execute", "sleep"]
    assert set(steps[0]["hazards"]) == {
        "silent_step", "activate_window", "strict_title", "title_holds_file_name",
    }  # fmt: skip
    assert steps[0]["does"] == "MaturityDate.xlsx - LibreOffice Calc"
    assert steps[1]["hazards"] == ["fixed_sleep"]
    assert set(steps[2]["hazards"]) == {"gui_keystrokes", "saves_for_agent", "silent_step"}
    assert set(steps[3]["hazards"]) == {"fixed_sleep", "sleep_before_saved_file"}
    assert (task["tier"], task["gold_class"], task["l1_possible"]) == ("4", "A", True)
    assert "reopen the gold" in task["l2_trap"]


def test_an_agent_that_always_gives_up(osworld: Audit) -> None:
    found = osworld.document["baselines"]["fail_always"]
    assert (found["tasks"], found["of"]) == (29, 369)
    assert round(100 * found["value"], 1) == 7.9
    assert osworld.document["baselines"]["no_op"]["value"] is None
    assert osworld.document["baselines"]["gold"]["value"] is None


def test_all_lists_that_come_with_it(shared: Find) -> None:
    for name, tasks in (("test_small.json", 39), ("test_nogdrive.json", 361), ("test_infeasible.json", 28)):
        found = audit(shared("osworld"), only=Path(name)).document
        assert found["tasks"] == tasks
        assert found["list"]["without_file"] == 0
    assert found["infeasible"] == 28


def test_linux_and_windows_together_and_apart(shared: Find) -> None:
    both = audit(shared("osworld")).document
    windows = audit(shared("osworld") / "examples_windows").document
    assert (both["tasks"], windows["tasks"]) == (418, 49)
    assert [both["steps"]["both"][name] for name in ("execute", "sleep", "launch", "download")] == [
        404, 366, 324, 341,
    ]  # fmt: skip
    assert windows["unknown"] == 0
    assert sum(windows["tiers"].values()) == 49
    assert windows["hazards"]["unknown_step_type"] == windows["hazards"]["unknown_getter"] == 0


def test_webarena_verified(shared: Find) -> None:
    found = audit(shared("webarena-verified"))
    assert found.document["format"] == "webarena-verified"
    assert (found.document["tasks"], found.document["passive"], found.document["active"]) == (812, 812, 0)
    assert found.document["getters"]["result"] == {"agent_response": 812, "network_trace": 663}
    assert found.document["network"]["tasks"] == 0
    assert not [row for row in found.findings if row["priority"] == 9]


def test_the_command_takes_less_than_five_seconds(shared: Find) -> None:
    began = time.monotonic()
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pyrite",
            "audit",
            str(shared("osworld")),
            "--list",
            "test_all.json",
            "--json",
        ],
        capture_output=True,
        check=False,
    )
    assert time.monotonic() - began < 5
    document = json.loads(done.stdout)
    assert done.returncode == 0, "findings alone are no failure"
    assert len(document["per_task"]) == 369
    assert document["findings"][0].keys() >= {"task", "kind", "detail"}
    ranks = [row["priority"] for row in document["findings"]]
    assert ranks == sorted(ranks)
