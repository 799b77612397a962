"""Every known state of every task gets its declared outcome, through the real confined processes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from odf.namespaces import TABLENS
from odf.opendocument import load
from odf.table import CoveredTableCell, Table, TableCell, TableRow
from openpyxl import load_workbook

from pyrite.checks.cells import position, read_workbook
from pyrite.checks.verdict import NOTHING_PERSISTED, Result
from pyrite.records import Category, Outcome
from pyrite.sandbox import confine
from pyrite.suites.desk.calc_set_cell import FAMILY, FILES, PARAMS, Params, verify
from pyrite.suites.run import build
from pyrite.suites.suite import FamilyTask, load_suite
from pyrite.tasks.task import INITIAL

TASKS = [task for task in load_suite("desk").tasks() if task.spec.family == "calc_set_cell"]
BUDGET = PARAMS["calc-set-cell-q3-budget-d14"]


def answer(task: FamilyTask, home: Path) -> dict[str, Any]:
    finished = confine.run(task.verifier(home))
    assert finished.returncode == 0, finished.stderr.decode()
    lines = finished.stdout.decode().splitlines()
    assert len(lines) == 1
    found: dict[str, Any] = json.loads(lines[0])
    return found


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.task_id)
def test_every_declared_state(task: FamilyTask, tmp_path: Path) -> None:
    states = {state.name: (state.outcome, set(state.category)) for state in task.spec.states}
    states[INITIAL] = (Outcome.FAIL, set(NOTHING_PERSISTED))
    finished = confine.run(task.builder(tmp_path, list(states)), writes=[tmp_path])
    assert finished.returncode == 0, finished.stderr.decode()
    observed = {}
    for name in states:
        said = answer(task, tmp_path / name)
        outcome = Outcome.PASS if said["pass"] else Outcome.FAIL
        observed[name] = (outcome, set(said["category"] or ()))
        if name != "deleted" and "not_a" not in name:
            assert said["diagnostics"]["expected"] == task.family.params[task.task_id].typed
    assert observed == states


def test_each_kind_of_state_is_declared_for_each_task() -> None:
    for task in TASKS:
        kinds = [state.kind for state in task.spec.states]
        assert kinds.count("good") == 1
        assert kinds.count("harmless") >= 4
        assert kinds.count("bad") >= 18
        codes = {code for state in task.spec.states for code in state.category}
        assert codes == {code.value for code in Category}


@pytest.mark.parametrize("task_id", PARAMS)
def test_the_good_state_holds_the_value_for_other_readers(task_id: str, tmp_path: Path) -> None:
    """odfpy and openpyxl agree about the good state and about LibreOffice's own."""
    params = PARAMS[task_id]
    build(FAMILY, task_id, tmp_path, [INITIAL, "good", "resaved"])
    assert independent(tmp_path / INITIAL / params.path, params) != params.value
    for name in ("good", "resaved"):
        assert independent(tmp_path / name / params.path, params) == params.value


def independent(path: Path, params: Params) -> float | str | None:
    row_wanted, column_wanted = position(params.cell)
    if path.suffix == ".xlsx":
        value = load_workbook(path)[params.sheet].cell(row_wanted, column_wanted).value
        return float(value) if isinstance(value, int | float) else str(value)
    tables = load(str(path)).spreadsheet.getElementsByType(Table)
    table = next(table for table in tables if table.getAttribute("name") == params.sheet)
    rows = [
        row
        for row in table.getElementsByType(TableRow)
        for _ in range(min(int(row.getAttribute("numberrowsrepeated") or 1), 100))
    ]
    cells = [
        cell
        for cell in rows[row_wanted - 1].childNodes
        if cell.qname in (TableCell().qname, CoveredTableCell().qname)
        for _ in range(min(int(cell.getAttrNS(TABLENS, "number-columns-repeated") or 1), 100))
    ]
    cell = cells[column_wanted - 1]
    number = cell.getAttribute("value")
    return float(number) if number else "".join(str(child) for child in cell.childNodes)


@pytest.mark.parametrize("task_id", PARAMS)
def test_the_documents_fit_their_task(task_id: str) -> None:
    params = PARAMS[task_id]
    book = read_workbook(FILES / params.file)
    row, column = position(params.cell)
    cell = book.sheets[params.sheet].at(params.cell)
    assert cell.formula is None
    assert cell.kind in ("number", "text")
    assert cell.value != params.value
    assert row <= 20
    assert column <= 6
    assert params.other_sheet in book.sheets
    words = set(FAMILY.instruction(params).replace(",", "").replace('"', "").split())
    assert {params.typed, params.cell, params.path, params.sheet} <= words
    formulas = [
        run.item
        for sheet in book.sheets.values()
        for rows in sheet.rows
        for run in rows.item
        if run.item.formula is not None
    ]
    assert formulas
    assert (FILES / params.file).stat().st_size < 20_000


def test_the_verifier_imports_only_what_is_light(tmp_path: Path) -> None:
    build(FAMILY, "calc-set-cell-roster-c12", tmp_path, ["good"])
    program = (
        "import sys; sys.argv = ['run', 'verify', 'pyrite.suites.desk.calc_set_cell',"
        f" 'calc-set-cell-roster-c12', {str(tmp_path / 'good')!r}]\n"
        "from pyrite.suites.run import main\nmain()\nprint(*sys.modules, file=sys.stderr)"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(finished.stdout)["pass"] is True
    roots = {name.partition(".")[0] for name in finished.stderr.split()}
    heavy = {"odf", "openpyxl", "numpy", "pydantic", "scipy", "duckdb", "lxml", "PIL", "zstandard", "asyncio"}
    assert not roots & heavy
    assert "pyrite.records" not in finished.stderr.split()
    assert "defusedxml" in roots


@pytest.fixture
def home(tmp_path: Path) -> Path:
    build(FAMILY, "calc-set-cell-q3-budget-d14", tmp_path, ["good"])
    return tmp_path / "good"


def test_a_lost_reference_file_is_no_answer(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Our own missing file must crash (indeterminate), not fail the agent."""
    monkeypatch.setattr("pyrite.suites.desk.calc_set_cell.FILES", tmp_path)
    with pytest.raises(Exception, match="missing"):
        verify(BUDGET, home)


def rewrite(path: Path, change: Callable[[str], str]) -> None:
    with zipfile.ZipFile(path) as source:
        members = {name: source.read(name) for name in source.namelist()}
    members["content.xml"] = change(members["content.xml"].decode()).encode()
    with zipfile.ZipFile(path, "w") as target:
        for name, data in members.items():
            target.writestr(name, data)


def test_one_changed_character_of_the_cell_changes_the_answer(home: Path) -> None:
    assert verify(BUDGET, home).passed is True
    rewrite(home / BUDGET.path, lambda xml: xml.replace('office:value="4500"', 'office:value="4501"'))
    found = verify(BUDGET, home)
    assert (found.passed, found.category) == (False, ("F-PARTIAL",))
    assert found.diagnostics["found"] == "4501"


Damage = Callable[[Path], object]


def link_to(home: Path) -> None:
    target = home / BUDGET.path
    target.rename(home / "moved.ods")
    target.symlink_to("../moved.ods")


def folder_instead(home: Path) -> None:
    (home / BUDGET.path).unlink()
    (home / BUDGET.path).mkdir()


def many_files(home: Path) -> None:
    for number in range(60):
        shutil.copyfile(home / BUDGET.path, home / f"Documents/copy{number}.ods")


@pytest.mark.parametrize(
    ("damage", "category"),
    [
        (link_to, ("F-WRONGTARGET",)),
        (folder_instead, ()),
        (many_files, ("F-SIDEEFFECT",)),
        (lambda home: shutil.rmtree(home / "Documents"), ()),
        (lambda home: (home / BUDGET.path).write_bytes(b""), ("F-PARTIAL",)),
        (lambda home: (home / BUDGET.path).write_bytes(b"PK\x03\x04" + bytes(100)), ("F-PARTIAL",)),
        (lambda home: shutil.copyfile(FILES / "roster.xlsx", home / BUDGET.path), ("F-PARTIAL",)),
        (lambda home: (home / BUDGET.path).rename(home / "Documents/other.ods"), ("F-WRONGTARGET",)),
        (lambda home: (home / BUDGET.path).rename(home / "Q3 final.ods"), ("F-WRONGTARGET",)),
        (lambda home: (home / "Documents/q2_budget.ods").write_bytes(b"x"), ("F-SIDEEFFECT",)),
        (lambda home: (home / "Documents/new.txt").write_text("x"), ("F-SIDEEFFECT",)),
        (lambda home: (home / "Documents/caf\udce9.txt").write_text("x"), ("F-SIDEEFFECT",)),
        (lambda home: (home / "budget.csv").write_text("Item,4500"), ("F-SIDEEFFECT",)),
        (lambda home: rename_sheet(home, "Q3", "Third"), ("F-WRONGTARGET",)),
        (lambda home: rename_sheet(home, "Summary", "Sum"), ("F-SIDEEFFECT",)),
    ],
)
def test_what_an_agent_may_do_is_a_fail_and_never_a_crash(
    home: Path, damage: Damage, category: tuple[str, ...]
) -> None:
    damage(home)
    found = verify(BUDGET, home)
    assert (found.passed, found.category) == (False, category)
    assert len(found.diagnostics["damage"]) <= 10
    assert len(found.diagnostics["elsewhere"]) <= 10
    assert found.diagnostics["damage_count"] >= 1


def rename_sheet(home: Path, old: str, new: str) -> None:
    rewrite(home / BUDGET.path, lambda xml: xml.replace(f'table:name="{old}"', f'table:name="{new}"'))


@pytest.mark.parametrize(
    "change",
    [
        lambda home: (home / "Documents/.~lock.q3_budget.ods#").write_text("x"),
        lambda home: (home / "elsewhere.txt").write_text("x"),
        lambda home: (home / "Documents/empty").mkdir(),
        lambda home: (home / ".cache").mkdir(),
        lambda home: rewrite(home / "Documents/q2_budget.ods", lambda xml: xml),
    ],
)
def test_what_is_no_work_of_the_agent_is_harmless(home: Path, change: Damage) -> None:
    change(home)
    assert verify(BUDGET, home).passed is True


def test_two_mistakes_at_once_give_both_codes(tmp_path: Path) -> None:
    build(FAMILY, "calc-set-cell-q3-budget-d14", tmp_path, ["row_below", "sibling", "as_text", "copy"])
    documents = tmp_path / "row_below/Documents"
    shutil.copyfile(tmp_path / "sibling/Documents/q2_budget.ods", documents / "q2_budget.ods")
    assert verify(BUDGET, tmp_path / "row_below").category == ("F-WRONGAPP", "F-WRONGTARGET")
    shutil.copyfile(
        tmp_path / "copy/Documents/q3_budget_new.ods", tmp_path / "as_text/Documents/q3_budget_new.ods"
    )
    assert verify(BUDGET, tmp_path / "as_text").category == ("F-PARTIAL", "F-WRONGTARGET")


def test_diagnostics_say_where_the_value_went(tmp_path: Path) -> None:
    build(FAMILY, "calc-set-cell-q3-budget-d14", tmp_path, ["row_below", "copy"])
    below: Result = verify(BUDGET, tmp_path / "row_below")
    assert below.diagnostics["elsewhere"] == [
        {"file": "Documents/q3_budget.ods", "sheet": "Q3", "cells": "D15", "new_file": False}
    ]
    assert below.diagnostics["damage"] == [
        {"file": "Documents/q3_budget.ods", "sheet": "Q3", "cells": "D15", "before": "3650", "after": "4500"}
    ]
    copied = verify(BUDGET, tmp_path / "copy").diagnostics
    assert copied["elsewhere"] == [
        {"file": "Documents/q3_budget_new.ods", "sheet": "Q3", "cells": "D14", "new_file": True}
    ]
    assert copied["found"] == "4200"
