"""One reader a benchmark: small trees in each format, sound and broken."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyrite.audit.audit import Audit, audit
from pyrite.audit.readers import READERS, detect, load
from pyrite.errors import UsageError

WEB: dict[str, Any] = {
    "sites": ["shopping"],
    "task_id": 4,
    "intent": "What is the total?",
    "require_reset": False,
    "eval": {
        "eval_types": ["string_match"],
        "reference_answers": {"exact_match": "12"},
        "reference_url": "",
        "program_html": [],
    },
}
PAGE = {
    "url": "__SHOPPING__/cart",
    "locator": "document.querySelector('h1').outerText",
    "required_contents": {"must_include": ["Cart"]},
}


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def web(tmp_path: Path, **changes: Any) -> Audit:
    item = {**WEB, "eval": {**WEB["eval"], **changes}}
    put(tmp_path / "config_files" / "test.raw.json", json.dumps([item]))
    return audit(tmp_path)


def kinds(found: Audit) -> set[str]:
    return {row["kind"] for row in found.findings}


def test_every_reader_says_what_it_was_written_from_and_refuses_what_is_not_its_own(tmp_path: Path) -> None:
    for name in READERS:
        reader = load(name)
        assert reader.name == name
        assert reader.written_from
        assert not reader.recognises(tmp_path)
    with pytest.raises(UsageError, match="no reader"):
        load("osword")


def test_webarena_string_answers_are_passive_and_known(tmp_path: Path) -> None:
    found = web(tmp_path)
    assert found.document["format"] == "webarena"
    assert (found.document["tiers"]["1a"], found.document["gold_classes"]["C"]) == (1, 1)
    assert not kinds(found)
    assert found.document["domains"] == {"shopping": {"1a": 1}}


def test_webarena_pages_are_opened_and_waited_for(tmp_path: Path) -> None:
    found = web(tmp_path, eval_types=["program_html"], program_html=[PAGE])
    assert found.document["tiers"]["2"] == 1
    assert kinds(found) >= {"browser_over_cdp", "fixed_sleep", "answer_substring", "live_website"}
    assert found.document["sleeps"]["max_s"] == 3.0
    last = web(tmp_path, eval_types=["program_html"], program_html=[PAGE | {"url": "last"}])
    assert last.document["tiers"]["1b"] == 1


def test_webarena_models_and_urls(tmp_path: Path) -> None:
    found = web(tmp_path, reference_answers={"fuzzy_match": ["about 12"]})
    assert "model_decides" in kinds(found)
    assert found.document["gold_classes"]["D"] == 1
    assert "url_substring" in kinds(web(tmp_path, eval_types=["url_match"], reference_url="http://x/r/view"))


@pytest.mark.parametrize(
    ("changes", "fatal"),
    [
        ({"reference_answers": {"must_include": "12"}}, False),
        ({"reference_answers": {"exact_match": ["12"]}}, False),
        ({"reference_answers": "12"}, True),
        ({"eval_types": ["url_match"], "reference_url": 7}, True),
        ({"eval_types": ["smell"]}, True),
        ({"eval_types": "string_match"}, True),
        ({"eval_types": ["program_html"], "program_html": []}, True),
        ({"eval_types": ["program_html"], "program_html": [{**PAGE, "required_contents": {}}]}, True),
        ({"reference_answers": {"sounds_like": "12"}}, False),
    ],
)
def test_webarena_schema_faults_are_found_before_any_run(
    changes: dict[str, Any], fatal: bool, tmp_path: Path
) -> None:
    found = web(tmp_path, **changes)
    assert "schema_invalid" in kinds(found)
    assert found.document["unknown"] == fatal


def test_webarena_one_file_a_task(tmp_path: Path) -> None:
    for number in range(3):
        put(tmp_path / f"{number}.json", json.dumps({**WEB, "task_id": number}))
    assert audit(tmp_path).document["tasks"] == 3


def test_webarena_verified_faults(tmp_path: Path) -> None:
    sound = {
        "evaluator": "AgentResponseEvaluator",
        "results_schema": {"type": "array"},
        "expected": {"task_type": "retrieve", "status": "SUCCESS", "retrieved_data": []},
    }
    items = [
        {"task_id": 1, "intent": "x", "sites": ["map"], "eval": [sound]},
        {"task_id": 2, "intent": "x", "sites": ["map"], "eval": [{**sound, "evaluator": "Smell"}]},
        {"task_id": 3, "intent": "x", "sites": ["map"], "eval": [{**sound, "expected": "12"}]},
        {"task_id": 4, "intent": "", "sites": 7, "eval": []},
        "not an object",
    ]
    put(tmp_path / "webarena-verified.json", json.dumps(items))
    found = audit(tmp_path)
    assert found.document["format"] == "webarena-verified"
    assert (found.document["tasks"], found.document["tiers"]["1a"], found.document["unknown"]) == (5, 1, 4)


TEST = "#!/bin/bash\nset -e\npytest /tests/test_outputs.py\necho 1 > /logs/verifier/reward.txt\n"
TOML = "[agent]\ntimeout_sec = 900.0\n[verifier]\ntimeout_sec = 60.0\nenvironment_mode = 'separate'\n"


def harbor(
    root: Path, name: str = "t", toml: str = TOML, test: str = TEST, solve: str | None = "true\n"
) -> None:
    put(root / name / "task.toml", toml)
    put(root / name / "instruction.md", "Do it.\n")
    put(root / name / "tests" / "test.sh", test)
    put(root / name / "tests" / "test_outputs.py", "def test_it():\n    assert True\n")
    if solve is not None:
        put(root / name / "solution" / "solve.sh", solve)


def test_harbor_folder(tmp_path: Path) -> None:
    harbor(tmp_path)
    found = audit(tmp_path)
    assert found.document["format"] == "harbor"
    assert found.document["tiers"]["3"] == 1
    assert found.document["gold_classes"]["A"] == 1
    assert kinds(found) == {"postconfig", "silent_step"}


def test_harbor_without_oracle_shared_container_and_bootstrap(tmp_path: Path) -> None:
    test = (
        "apt-get update && apt-get install -y curl\ncurl -LsSf https://x.example/install.sh | sh\n"
        "uvx pytest /tests\necho 0 > /logs/verifier/reward.txt\n"
    )
    harbor(tmp_path, toml="[environment]\nallow_internet = false\n", test=test, solve=None)
    found = audit(tmp_path)
    assert kinds(found) >= {
        "no_oracle",
        "verifier_in_agent_container",
        "bootstrap_goes_on",
        "package_install",
        "remote_download",
        "network_forbidden",
        "evaluation_network",
    }
    assert found.document["network"]["hosts"] == {"x.example": 1}
    assert found.document["gold_classes"]["D"] == 1


def test_harbor_steps_each_with_their_tests(tmp_path: Path) -> None:
    put(tmp_path / "t" / "task.toml", "[[steps]]\nname = 'a'\n")
    put(tmp_path / "t" / "steps" / "a" / "instruction.md", "Do it.")
    put(tmp_path / "t" / "steps" / "a" / "tests" / "test.sh", TEST)
    put(tmp_path / "t" / "steps" / "a" / "solution" / "solve.sh", "true")
    found = audit(tmp_path)
    (row,) = found.per_task
    assert [step["at"] for step in row["evaluation"]] == ["steps/a/tests/test.sh"]
    assert found.document["gold_classes"]["A"] == 1


@pytest.mark.parametrize(
    "text", ["[", "[agent]\ntimeout_sec = 'long'\n", "agent = 3\n", "\x00", "a" * 300_000]
)
def test_harbor_broken_definitions_stay_in_the_total(text: str, tmp_path: Path) -> None:
    harbor(tmp_path, "good")
    harbor(tmp_path, "bad", toml=text)
    found = audit(tmp_path)
    assert found.document["tasks"] == 2
    assert {row["task"] for row in found.findings if row["priority"] == 9} == {"bad"}


def test_terminal_bench_folders_of_the_older_kind(tmp_path: Path) -> None:
    put(
        tmp_path / "t" / "task.yaml",
        "instruction: |-\n  Do it.\ndifficulty: easy\nmax_agent_timeout_sec: 60\n",
    )
    put(tmp_path / "t" / "run-tests.sh", "uv pip install pytest\npytest /tests\n")
    put(tmp_path / "t" / "solution.sh", "true\n")
    put(tmp_path / "bomb" / "task.yaml", "a: &a [x, x]\nb: &b [*a, *a]\n" + "".join(
        f"{chr(99 + n)}: &{chr(99 + n)} [{', '.join(['*' + chr(98 + n)] * 9)}]\n" for n in range(9)
    ))  # fmt: skip
    found = audit(tmp_path)
    assert (found.document["tasks"], found.document["tiers"]["3"], found.document["unknown"]) == (2, 1, 1)
    assert found.document["hazards"]["package_install"] == 1


CUA = """
import asyncio, time
import cua_bench as cb
raise SystemExit("imported")

@cb.tasks_config(split="train")
def load():
    return [cb.Task(description="Do it.", metadata={"max_steps": 3})]

@cb.evaluate_task(split="train")
async def evaluate(task_cfg, session):
    await session.hotkey("ctrl", "s")
    time.sleep(0.5)
    return [1.0 if (await session.read_file("/tmp/a")) == "x" else 0.0]

@cb.solve_task(split="train")
async def solve(task_cfg, session):
    for _ in range(9):
        await session.click(1, 2)
    await session.write_file("/tmp/a", "x")
"""


def test_cua_bench_is_read_and_never_imported(tmp_path: Path) -> None:
    put(tmp_path / "one" / "main.py", CUA)
    put(tmp_path / "two" / "main.py", "def (")
    put(
        tmp_path / "three" / "main.py",
        "import cua_bench as cb\n@cb.evaluate_task\ndef e(t, s): return [1.0]\n",
    )
    put(tmp_path / "deep" / "main.py", "(" * 5000)
    found = audit(tmp_path)
    rows = {row["task"]: row for row in found.per_task}
    assert (rows["one"]["tier"], rows["one"]["gold_class"]) == ("4", "A")
    assert (rows["two"]["tier"], rows["deep"]["tier"]) == (None, None)
    assert (rows["three"]["tier"], rows["three"]["gold_class"]) == ("1a", "D")
    assert "cua_bench" not in sys.modules
    assert [step["type"] for step in rows["one"]["evaluation"]] == ["hotkey", "sleep"]


CHECK = {"command": "check-file /home/user/a", "key": "exists", "expected": True, "description": "there"}


def test_opencomputer_with_and_without_its_harness(tmp_path: Path) -> None:
    task = {"id": "gimp_x", "app": "gimp", "task": "Do it.", "env": {"files": []}, "verification": [CHECK]}
    place = tmp_path / "task_generator" / "tasks"
    put(place / "gimp_x" / "task.json", json.dumps(task))
    found = audit(tmp_path)
    assert found.document["format"] == "opencomputer"
    assert found.document["tiers"]["1a"] == 1
    assert "harness_not_there" in kinds(found)
    specs = tmp_path / "evaluation" / "apps" / "specs"
    put(specs / "gimp.py", 'SPEC = AppSpec(name="gimp", save_shortcut="ctrl+s")\n')
    saved = audit(place)
    assert saved.document["tiers"]["4"] == 1
    assert kinds(saved) >= {"saves_for_agent", "silent_step", "fixed_sleep"}
    put(specs / "gimp.py", "SPEC = AppSpec(name='gimp', save_shortcut=None)\n")
    assert audit(place).document["tiers"]["1a"] == 1


def test_opencomputer_odd_checks(tmp_path: Path) -> None:
    checks = [
        {"command": "x", "eval": "result['a'] > 1"},
        {"judge": "llm", "prompt": "good?"},
        CHECK,
        {"command": "x"},
        "x",
    ]
    put(
        tmp_path / "a" / "task.json",
        json.dumps({"id": "b", "app": "../../x", "task": "t", "verification": checks}),
    )
    put(tmp_path / "c" / "task.json", json.dumps({"id": "c", "app": "x", "task": "t", "verification": []}))
    found = audit(tmp_path)
    assert (found.document["tasks"], found.document["unknown"]) == (2, 2)
    assert kinds(found) >= {"evaluates_expression", "model_decides", "schema_invalid"}


def test_an_active_task_of_ours_is_active_and_none_of_its_steps_is_silent(tmp_path: Path) -> None:
    act = [
        {"step": "activate_window", "title": "a.ods"},
        {"step": "key", "keys": "ctrl+s"},
        {"step": "wait_for", "file": "a.ods", "timeout_s": 5},
    ]
    task = {"instruction": "Do it.", "act": act, "truth_from": "acted"}
    put(tmp_path / "mine" / "task.json", json.dumps(task))
    put(tmp_path / "mine" / "verify.py", "pass\n")
    found = audit(tmp_path)
    assert found.document["tiers"]["4"] == 1
    assert found.document["steps"]["postconfig"] == {"activate_window": 1, "key": 1, "wait_for": 1}
    assert "saves_for_agent" in kinds(found)
    assert "silent_step" not in kinds(found)


def test_our_own_suite_and_a_task_folder(tmp_path: Path) -> None:
    desk = audit(Path("desk"))
    assert desk.document["format"] == "pyrite"
    assert desk.document["tasks"] > 0
    assert desk.document["gold_classes"]["A"] == desk.document["tasks"]
    put(tmp_path / "mine" / "task.json", json.dumps({"instruction": "Do it.", "network": "mars"}))
    put(tmp_path / "mine" / "verify.py", "print('{\"pass\": false}')\n")
    found = audit(tmp_path)
    assert detect(tmp_path).name == "pyrite"
    assert (found.document["tasks"], found.document["unknown"]) == (1, 1)
    put(tmp_path / "mine" / "task.json", json.dumps({"instruction": "Do it."}))
    found = audit(tmp_path)
    assert (found.document["tiers"]["1a"], found.document["gold_classes"]["D"]) == (1, 1)
    assert "no_oracle" in kinds(found)


KEYS = """eval_types reference_answers program_html url locator required_contents must_include evaluator
expected status command judge key eval prompt fuzzy_match"""
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(KEYS.split()), below, max_size=4)
    ),
    max_leaves=14,
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_VALUES, st.sampled_from(["webarena", "webarena-verified", "opencomputer"]))
def test_whatever_an_evaluator_holds_the_task_stays_in_the_total(
    tmp_path: Path, value: Any, form: str
) -> None:
    if form == "opencomputer":
        put(tmp_path / "t" / "task.json", json.dumps({"id": "t", "app": value, "verification": value}))
        root = tmp_path
    else:
        root = put(tmp_path / "d.json", json.dumps([{"task_id": value, "eval": value, "sites": value}]))
    document = audit(root, form=form).document
    assert document["tasks"] == 1
    assert sum(document["tiers"].values()) + document["unknown"] == 1


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=200) | st.text(alphabet="[]={}:-&*\"'\n abc1.", max_size=120))
def test_whatever_a_text_holds_the_task_stays_in_the_total(tmp_path: Path, text: str) -> None:
    for name, form in (("task.toml", "harbor"), ("task.yaml", "harbor"), ("main.py", "cua-bench")):
        put(tmp_path / name / "t" / name, text)
        assert audit(tmp_path / name, form=form).document["tasks"] == 1


@pytest.mark.parametrize("filler", ["\n", " ", "a", "/home/", "set -", "sudo ", "curl ", "apt -y "])
def test_a_long_verifier_script_takes_no_long_time(filler: str, tmp_path: Path) -> None:
    body = filler * (200_000 // len(filler))
    harbor(tmp_path, test=f"curl x\n{body}\nx > reward.txt\n", solve=body)
    began = time.monotonic()
    assert audit(tmp_path).document["tasks"] == 1
    assert time.monotonic() - began < 5
