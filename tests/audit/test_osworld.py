"""OSWorld's schema: hazards on tasks of our own making, each beside one that does not have it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pyrite.audit.audit import Audit, audit
from pyrite.audit.hazards import HAZARDS


def step(kind: str, **parameters: Any) -> dict[str, Any]:
    return {"type": kind, "parameters": parameters}


def command(*argv: str, **more: Any) -> dict[str, Any]:
    return step("execute", command=list(argv), **more)


SAVE = command("python", "-c", "import pyautogui; pyautogui.hotkey('ctrl', 's');")
RESULT = {"type": "vm_file", "path": "/home/user/s.xlsx", "dest": "s.xlsx"}
RULE = {"type": "rule", "rules": {"expected": "x"}}
LISTING = {"type": "vm_command_line", "command": ["ls", "/home/user", "|", "grep", "test.py"]}


def kinds(found: Audit) -> set[str]:
    return {row["kind"] for row in found.findings}


HAS: dict[str, dict[str, Any]] = {
    "postconfig": {"evaluator__postconfig": [step("sleep", seconds=1)]},
    "silent_step": {"evaluator__postconfig": [step("launch", command=["vlc"])]},
    "activate_window": {"evaluator__postconfig": [step("activate_window", window_name="Calc")]},
    "strict_title": {"evaluator__postconfig": [step("activate_window", window_name="C", strict=True)]},
    "gui_keystrokes": {"evaluator__postconfig": [command("xdotool", "key", "Return")]},
    "saves_for_agent": {"evaluator__postconfig": [SAVE]},
    "dialog_keystrokes": {
        "evaluator__postconfig": [command("python", "-c", "import pyautogui; pyautogui.press(['enter'])")]
    },
    "fixed_sleep": {"evaluator__postconfig": [step("sleep", seconds=0.5)]},
    "sleep_in_command": {"evaluator__postconfig": [command("python", "-c", "time.sleep(2)")]},
    "postconfig_download": {
        "evaluator__postconfig": [step("download", files=[{"url": "https://b.example/x", "path": "/x"}])]
    },
    "browser_over_cdp": {"evaluator__result": {"type": "active_tab_info"}},
    "getter_runs_code": {"evaluator__result": {"type": "vm_command_line", "command": "bash eval.sh"}},
    "kills_app": {"evaluator__postconfig": [step("launch", command=["pkill", "chrome"])]},
    "launches_app": {"evaluator__postconfig": [step("launch", command=["google-chrome"])]},
    "converts_document": {"evaluator__postconfig": [command("libreoffice", "--convert-to", "csv", "a.xlsx")]},
    "accessibility_tree": {"evaluator__result": {"type": "accessibility_tree"}},
    "bash_history": {
        "evaluator__result": {
            "type": "vm_command_line",
            "command": "grep kill ~/.bash_history",
            "shell": True,
        }
    },
    "proxy": {"proxy": True},
    "infeasible": {"evaluator__func": "infeasible", "evaluator__result": ..., "evaluator__expected": ...},
    "dest_collision": {
        "evaluator__expected": {"type": "cloud_file", "path": "https://a.example/g.xlsx", "dest": "s.xlsx"}
    },
    "length_mismatch": {
        "evaluator__func": ["a", "b"],
        "evaluator__result": [RESULT],
        "evaluator__expected": ...,
    },
    "expected_is_input": {
        "evaluator__expected": {"type": "cloud_file", "path": "https://a.example/in.xlsx", "dest": "g.xlsx"}
    },
    "any_metric_passes": {
        "evaluator__conj": "or",
        "evaluator__func": ["a", "b"],
        "evaluator__result": [RESULT, RESULT],
        "evaluator__expected": [RULE, RULE],
    },
    "title_names_other_file": {
        "evaluator__postconfig": [step("activate_window", window_name="other.xlsx - LibreOffice Calc")]
    },
    "title_holds_file_name": {
        "evaluator__postconfig": [step("activate_window", window_name="s.xlsx - LibreOffice Calc")]
    },
    "sleep_before_saved_file": {"evaluator__postconfig": [SAVE, step("sleep", seconds=0.5)]},
    "live_truth": {"evaluator__expected": {"type": "info_from_website", "url": "https://c.example"}},
    "truth_from_machine": {"evaluator__expected": RESULT | {"dest": "other.xlsx"}},
    "live_website": {"evaluator__result": {"type": "active_tab_html_parse", "category": "class"}},
    "clock_relative": {"evaluator__expected": {"type": "rule_relativeTime", "rules": {}}},
    "external_account": {"config": [step("login", settings_file="s.json", platform="googledrive")]},
    "package_install": {"evaluator__postconfig": [step("execute", command="pip install pysrt", shell=True)]},
    "environment_changes": {"possibility_of_env_change": "high"},
    "rounds_for_tolerance": {"evaluator__options": {"rules": [{"type": "sheet_data"}]}},
    "cached_formulas": {"evaluator__options": {"rules": [{"type": "check_cell"}]}},
    "pipe_in_argv": {"evaluator__result": LISTING, "evaluator__func": "exact_match"},
    "substring_of_listing": {"evaluator__result": LISTING, "evaluator__func": "check_include_exclude"},
    "fractional_score": {"evaluator__func": "compare_pdfs"},
    "unknown_step_type": {"evaluator__postconfig": [step("frobnicate")]},
    "unknown_getter": {"evaluator__result": {"type": "vm_frobnicate"}},
    "schema_invalid": {"instruction": 7},
}
SOUND_HAS = {"gold_download", "evaluation_network", "missing_is_zero"}


def test_a_sound_task_has_only_what_downloaded_gold_brings(made: Any) -> None:
    made.task()
    found = audit(made.root)
    assert kinds(found) == SOUND_HAS
    assert found.document["tiers"]["1a"] == 1
    assert found.document["gold_classes"]["A"] == 1


@pytest.mark.parametrize("name", HAS)
def test_a_hazard_is_found_where_it_is(name: str, made: Any) -> None:
    made.task(**HAS[name])
    found = audit(made.root)
    assert name in kinds(found)
    assert found.document["hazards"][name] == 1
    assert found.document["places"][name] >= 1


def test_every_hazard_says_what_it_means_and_is_of_a_known_priority(made: Any) -> None:
    made.task()
    document = audit(made.root).document
    assert list(document["hazards"]) == list(HAZARDS)
    for hazard in HAZARDS.values():
        assert hazard.says
        assert str(hazard.priority) in document["priorities"]


@pytest.mark.parametrize(
    ("changes", "tier"),
    [
        ({}, "1a"),
        ({"evaluator__result": {"type": "accessibility_tree"}}, "1b"),
        ({"evaluator__result": {"type": "vm_command_line", "command": "ls -l /home/user"}}, "1a"),
        ({"evaluator__result": {"type": "vm_command_line", "command": "python3 x.py", "shell": True}}, "2"),
        ({"evaluator__result": {"type": "vm_command_line", "command": ["bash", "-c", "ls | wc"]}}, "1a"),
        ({"evaluator__result": {"type": "vm_command_line", "command": ["bash", "-c", "python3 x.py"]}}, "2"),
        ({"evaluator__result": {"type": "googledrive_file", "dest": "x"}}, "2"),
        ({"evaluator__postconfig": [step("sleep", seconds=1)]}, "3"),
        ({"evaluator__postconfig": [step("sleep", seconds=1), SAVE]}, "4"),
        ({"evaluator__func": "infeasible", "evaluator__postconfig": []}, "0"),
        ({"evaluator__result": {"type": "vm_frobnicate"}}, None),
        ({"evaluator__result": {"type": "vm_frobnicate"}, "evaluator__postconfig": [SAVE]}, "4"),
    ],
)
def test_tiers(changes: dict[str, Any], tier: str | None, made: Any) -> None:
    made.task(**changes)
    found = audit(made.root)
    (row,) = list(found.per_task)
    assert row["tier"] == tier
    assert found.document["unknown"] == (tier is None)


@pytest.mark.parametrize(
    ("changes", "gold"),
    [
        ({}, "A"),
        ({"evaluator__result": {"type": "accessibility_tree"}}, "B"),
        ({"evaluator__expected": RULE}, "C"),
        ({"evaluator__expected": ...}, "D"),
        ({"evaluator__expected": {}}, "D"),
        ({"evaluator__expected": RESULT | {"dest": "g"}}, "E"),
        ({"evaluator__func": "infeasible"}, None),
    ],
)
def test_gold_classes(changes: dict[str, Any], gold: str | None, made: Any) -> None:
    made.task(**changes)
    (row,) = list(audit(made.root).per_task)
    assert row["gold_class"] == gold
    assert (row["l2"] is None) == (gold is None)


def test_a_folder_a_file_and_a_domain_are_read_alike(made: Any) -> None:
    made.task("a")
    made.task("b", evaluator__postconfig=[SAVE])
    for path, tasks in (
        (made.root, 2),
        (made.root / "examples", 2),
        (made.root / "examples" / "calc", 2),
        (made.root / "examples" / "calc" / "b.json", 1),
    ):
        assert audit(path).document["tasks"] == tasks


def test_the_digest_changes_with_one_byte_and_with_nothing_else(made: Any) -> None:
    made.task("a")
    first = audit(made.root).document["digest"]
    assert audit(made.root).document["digest"] == first
    data = made.task("a", evaluator__func="compare_csv")
    assert audit(made.root).document["digest"] != first
    data["evaluator"]["func"] = "compare_table"
    made.text("a", json.dumps(data))
    assert audit(made.root).document["digest"] == first
