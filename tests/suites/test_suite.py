"""Suites by name, and the digests that stamp their outcomes."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path

import pytest

from pyrite.errors import UsageError
from pyrite.records import TaskSpec
from pyrite.sandbox import confine
from pyrite.suites import suite as suites
from pyrite.suites.suite import load_suite, suite_names


def test_names_and_unknown_ones() -> None:
    assert "desk" in suite_names()
    with pytest.raises(UsageError, match="unknown suite 'desc'") as caught:
        load_suite("desc")
    assert "desk" in caught.value.next
    with pytest.raises(UsageError, match="no task") as caught:
        load_suite("desk").task("calc-set-cell-q3-budget-d15")
    assert "calc-set-cell-q3-budget-d14" in caught.value.next


def test_tasks_pickle_and_their_specs_are_whole() -> None:
    tasks = load_suite("desk").tasks()
    assert len(tasks) >= 96
    assert len({task.task_id for task in tasks}) == len(tasks)
    for task in tasks:
        assert pickle.loads(pickle.dumps(task)) == task
        spec = task.spec
        assert TaskSpec.model_validate_json(spec.model_dump_json(by_alias=True)) == spec
        assert spec.initial.open is not None
        assert spec.initial.files


def test_scripts_and_claims() -> None:
    suite = load_suite("desk")
    task_id = "calc-set-cell-q3-budget-d14"
    actions = suite.script(task_id)
    assert actions[-1].action == "done"
    assert [action.text for action in actions if action.action == "type"] == ["$Q3.D14", "4500"]
    assert [a.keys for a in actions if a.action == "key"] == ["ctrl+shift+t", "Return", "Return", "ctrl+s"]
    assert suite.claim(task_id) == "D14 in Documents/q3_budget.ods is set to 4500 and the file is saved."
    assert suite.task(task_id).spec.instruction == (
        "In Documents/q3_budget.ods, sheet Q3, set cell D14 to 4500 and save the file. "
        "Leave everything else in Documents as it is."
    )
    text = suite.task("calc-set-cell-offices-b9").spec.instruction
    assert 'set cell B9 to the text "Amsterdam" and save the file.' in text


@pytest.mark.parametrize("name", ["desk", "desk-active"])
def test_an_instruction_says_what_must_stay(name: str) -> None:
    said = ("Change no", "change no", "Leave all other", "everything else", "everything in Documents")
    for task in load_suite(name).tasks():
        text = task.spec.instruction
        if not task.task_id.startswith("calc-set-cell"):
            assert any(words in text for words in said), text


def test_the_digest_covers_the_family_its_checks_and_its_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    task = load_suite("desk").task("calc-set-cell-q3-budget-d14")
    first = task.verifier_sha256()
    modules = suites._closure(("pyrite.suites.run", task.module))
    assert {
        "pyrite.checks.cells",
        "pyrite.checks.ods",
        "pyrite.checks.xlsx",
        "pyrite.checks.package",
    } <= modules
    assert "pyrite.suites.family" not in modules or "pyrite.suites.run" in modules
    assert not any("states" in name or "edits" in name for name in modules)
    real = suites._source
    for name in sorted(modules):
        changed = (lambda wanted: lambda one: real(one) + (b"#" if one == wanted else b""))(name)
        monkeypatch.setattr(suites, "_source", changed)
        suites._digest.cache_clear()
        assert task.verifier_sha256() != first, name
    monkeypatch.setattr(suites, "_source", real)
    suites._digest.cache_clear()
    assert task.verifier_sha256() == first
    tasks = load_suite("desk").tasks()
    assert len({other.verifier_sha256() for other in tasks}) == len(tasks)
    assert load_suite("desk").digest() == load_suite("desk").digest()


@pytest.mark.parametrize(
    ("names", "said"), [(["no_such_state"], "has no state"), (["good", "../x"], "has no state")]
)
def test_a_state_that_is_not_declared_is_not_built(tmp_path: Path, names: list[str], said: str) -> None:
    task = load_suite("desk").tasks()[0]
    finished = confine.run(task.builder(tmp_path, names), writes=[tmp_path])
    assert finished.returncode not in (0, None)
    assert said in finished.stderr.decode()
    assert list(tmp_path.iterdir()) == []


DOMAINS = {
    "files": ("files_rename", "files_transfer", "files_delete", "files_archive", "files_mode", "text_edit"),
    "office": (
        "calc_set_cell",
        "calc_formula",
        "calc_sort",
        "calc_sheets",
        "calc_number_format",
        "calc_export_csv",
        "writer_style",
        "writer_replace",
        "writer_table",
        "export_pdf",
    ),
    "settings": ("mousepad_settings", "git_settings", "x_resources", "office_settings"),
    "web": (
        "web_order_create",
        "web_order_cancel",
        "web_ticket_edit",
        "web_ticket_bulk",
        "web_customer_edit",
        "web_draft_submit",
    ),
    "browser": ("browser_bookmark_add", "browser_bookmark_edit", "browser_startup", "browser_download"),
    "terminal": ("git_commit", "git_refs", "git_stash", "sqlite_change", "text_process", "text_settings"),
}


def test_no_domain_and_no_family_outweighs_the_others() -> None:
    tasks = load_suite("desk").tasks()
    sizes = Counter(task.spec.family for task in tasks)
    assert set(sizes) == {name for families in DOMAINS.values() for name in families}
    assert len(sizes) >= 20
    assert max(sizes.values()) <= 8
    assert all(len(families) >= 3 for families in DOMAINS.values())
    bad = sum(state.kind == "bad" for task in tasks for state in task.spec.states)
    assert bad / len(tasks) >= 5
