"""Family calc_set_cell: set one cell of one sheet of a spreadsheet to a value, and save.

The verifier reads the document alone: the target cell must hold the value as a value of the right type,
and every other cell of every sheet, and every other file in Documents, must be as it was. Cells are
compared as content: formulas by their text, number formats and looks not at all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.cells import (
    Block,
    Cell,
    Sheet,
    Workbook,
    changes,
    describe,
    number_text,
    position,
    read_workbook,
    same_content,
    same_number,
)
from pyrite.checks.homes import HomeDiff, TooManyFiles, diff, digest_file, matches, snapshot
from pyrite.checks.package import Bounds, Spent, Unreadable
from pyrite.checks.verdict import NOTHING_PERSISTED, Result
from pyrite.suites.desk.watch import ELSE
from pyrite.suites.family import Family, KnownState

FILES = Path(__file__).with_name("files")
NOTES = "Documents/notes.txt"
READABLE = ("**/*.ods", "**/*.xlsx", "**/*.csv")
OTHER_DOCUMENTS = tuple(f"**/*.{e}" for e in ("xls", "xlsm", "fods", "ots", "odt", "docx", "pdf", "html"))
READS = ("Documents/**", *READABLE, *OTHER_DOCUMENTS)
MAX_NEW_DOCUMENTS = 20
MAX_LISTED = 10
BOUNDS = Bounds(
    file_bytes=4 << 20, member_bytes=4 << 20, total_bytes=8 << 20, elements=100_000, made_text=1 << 20
)
"""A hundred times what the documents of the suite need, for all that an agent leaves together, the target
first: whatever it is, it is read in seconds, and an unreadable document is the agent's failure."""


class Params(NamedTuple):
    """One task."""

    file: str
    sheet: str
    cell: str
    value: float | str
    sibling: str
    """Another document in the same folder."""
    other_sheet: str

    @property
    def path(self) -> str:
        return f"Documents/{self.file}"

    @property
    def typed(self) -> str:
        """The value as the agent types it."""
        return self.value if isinstance(self.value, str) else number_text(self.value)

    @property
    def wanted(self) -> Cell:
        return Cell("text" if isinstance(self.value, str) else "number", self.value)

    @property
    def resaved(self) -> str:
        """The good end state, as saved by LibreOffice."""
        name = Path(self.file)
        return f"{name.stem}.resaved{name.suffix}"


PARAMS = {
    "calc-set-cell-q3-budget-d14": Params("q3_budget.ods", "Q3", "D14", 4500.0, "q2_budget.ods", "Summary"),
    "calc-set-cell-vehicle-costs-e9": Params(
        "vehicle_costs.xlsx", "Fleet", "E9", 1280.0, "vehicle_costs_2023.xlsx", "Rates"
    ),
    "calc-set-cell-offices-b9": Params(
        "offices.ods", "Offices", "B9", "Amsterdam", "suppliers.ods", "Contacts"
    ),
    "calc-set-cell-headcount-c7": Params(
        "headcount.xlsx", "Plan", "C7", 38.0, "headcount_2024.xlsx", "Actual"
    ),
    "calc-set-cell-price-list-d8": Params(
        "price_list.ods", "Parts", "D8", 12.75, "price_list_2023.ods", "Tools"
    ),
    "calc-set-cell-roster-c12": Params(
        "roster.xlsx", "Roster", "C12", "Nadia", "roster_week31.xlsx", "Hours"
    ),
}


def instruction(params: Params) -> str:
    value = f'the text "{params.value}"' if isinstance(params.value, str) else params.typed
    return (
        f"In {params.path}, sheet {params.sheet}, set cell {params.cell} to {value} and save the file.{ELSE}"
    )


def claim(params: Params) -> str:
    return f"{params.cell} in {params.path} is set to {params.typed} and the file is saved."


def initial(params: Params) -> dict[str, str]:
    return {
        params.path: params.file,
        f"Documents/{params.sibling}": params.sibling,
        NOTES: "notes.txt",
    }


def opened(params: Params) -> tuple[str, tuple[str, ...]]:
    return "calc", (params.path,)


def script(params: Params) -> list[dict[str, Any]]:
    """Name Box, value, save; Return keeps the Excel format where LibreOffice asks."""
    actions: list[dict[str, Any]] = [
        {"action": "key", "keys": "ctrl+shift+t"},
        {"action": "type", "text": f"${params.sheet}.{params.cell}"},
        {"action": "key", "keys": "Return"},
        {"action": "type", "text": params.typed},
        {"action": "key", "keys": "Return"},
        {"action": "key", "keys": "ctrl+s"},
    ]
    if params.file.endswith(".xlsx"):
        actions.append({"action": "key", "keys": "Return"})
    return [*actions, {"action": "done"}]


# --- the verifier ------------------------------------------------------------------------------


class _Findings:
    """What the end state shows, gathered file by file."""

    def __init__(self, params: Params) -> None:
        self.params = params
        self.spent = Spent()
        self.target = "unchanged"
        """unchanged | right | wrong | missing | unreadable"""
        self.found = ""
        self.elsewhere: list[dict[str, Any]] = []
        self.damage: list[dict[str, Any]] = []
        self.damage_count = 0
        self.codes: set[str] = set()

    def note_damage(self, **what: str) -> None:
        self.damage_count += 1
        if len(self.damage) < MAX_LISTED:
            self.damage.append(what)

    def note_value(self, code: str, path: str, sheet: str, cells: str) -> None:
        self.codes.add(code)
        if len(self.elsewhere) < MAX_LISTED:
            place = {
                "file": path,
                "sheet": sheet,
                "cells": cells,
                "new_file": path not in initial(self.params),
            }
            self.elsewhere.append(place)

    def compare(self, path: str, before: Workbook, after: Workbook, code: str, *, damage: bool) -> None:
        """Note what differs between two documents, the target cell of the task's own file aside."""
        params = self.params
        own = position(params.cell) if path == params.path else None
        for name in [*before.sheets, *(name for name in after.sheets if name not in before.sheets)]:
            old, new = before.sheets.get(name), after.sheets.get(name)
            if damage and (old is None or new is None):
                self.note_damage(
                    file=path, sheet=name, change="sheet added" if old is None else "sheet removed"
                )
            for block in changes(old or Sheet(name), new or Sheet(name)):
                target = own is not None and name == params.sheet and block.holds(*own)
                if target and block.single:
                    continue
                if holds(params, block.after):
                    self.note_value(code, path, name, block.cells)
                if damage:
                    self._note_block(path, name, block)

    def _note_block(self, path: str, sheet: str, block: Block) -> None:
        self.note_damage(
            file=path,
            sheet=sheet,
            cells=block.cells,
            before=describe(block.before),
            after=describe(block.after),
        )

    def result(self) -> Result:
        params = self.params
        passed = self.target == "right" and self.damage_count == 0
        diagnostics = {
            "file": params.path,
            "sheet": params.sheet,
            "cell": params.cell,
            "expected": params.typed,
            "found": self.found,
            "target": self.target,
            "elsewhere": self.elsewhere,
            "damage": self.damage,
            "damage_count": self.damage_count,
        }
        return Result(passed, () if passed else self._category(), diagnostics)

    def _category(self) -> tuple[str, ...]:
        """Every code that the state allows, in the order of their names; none where none fits."""
        if self.target == "right":
            return ("F-SIDEEFFECT",)
        codes = set(self.codes)
        if self.target in ("wrong", "unreadable"):
            codes.add("F-PARTIAL")
        if codes:
            return tuple(sorted(codes))
        if self.target == "unchanged" and self.damage_count == 0:
            return NOTHING_PERSISTED
        return ()


def holds(params: Params, cell: Cell) -> bool:
    """Whether a cell shows the value, in whatever type: for telling where it went, not for passing."""
    if isinstance(params.value, float) and same_number(cell.value, params.value):
        return True
    return isinstance(cell.value, str) and cell.value.strip().replace(",", "") == params.typed


def verify(params: Params, home: Path) -> Result:
    """Compare an end state with the initial documents; a broken document is the agent's failure."""
    before = {path: digest_file(FILES / name) for path, name in initial(params).items()}
    findings = _Findings(params)
    try:
        after = snapshot(home, READS)
    except TooManyFiles as exc:
        findings.target, findings.found = "missing", str(exc)
        findings.note_damage(file=".", change="too many files to look at")
        return findings.result()
    _check_target(params, home, after, findings)
    _check_others(params, home, diff(before, after), findings)
    return findings.result()


def _check_target(params: Params, home: Path, after: dict[str, str], findings: _Findings) -> None:
    before = read_workbook(FILES / params.file)
    if params.path not in after:
        findings.target, findings.found = "missing", "no file"
        findings.note_damage(file=params.path, change="removed")
        return
    try:
        book = read_workbook(home / params.path, BOUNDS, findings.spent)
    except Unreadable as exc:
        lost = exc.reason in ("missing", "not_a_file")
        findings.target, findings.found = "missing" if lost else "unreadable", str(exc)
        findings.note_damage(file=params.path, change=f"no longer readable, {exc}")
        return
    findings.compare(params.path, before, book, "F-WRONGTARGET", damage=True)
    sheet = book.sheets.get(params.sheet)
    old = before.sheets[params.sheet].at(params.cell)
    if sheet is None:
        findings.target, findings.found = "missing", "no such sheet"
        return
    cell = sheet.at(params.cell)
    findings.found = describe(cell)
    if same_content(cell, params.wanted):
        findings.target = "right"
    elif not same_content(cell, old):
        findings.target = "wrong"


def _check_others(params: Params, home: Path, moved: HomeDiff, findings: _Findings) -> None:
    """Every file but the target: siblings by their content, new documents, the rest by their bytes."""
    for path in (*moved.removed, *(old for old, _ in moved.renamed)):
        if path != params.path:
            findings.note_damage(file=path, change="removed")
    for path in moved.changed:
        if path != params.path:
            _check_changed(home, path, findings)
    new = [*moved.added, *(path for _, path in moved.renamed)]
    for path in new[:MAX_NEW_DOCUMENTS]:
        findings.note_damage(file=path, change="added")
        _check_new(params, home, path, findings)
    if len(new) > MAX_NEW_DOCUMENTS:
        findings.note_damage(file=".", change=f"{len(new)} new files")


def _check_changed(home: Path, path: str, findings: _Findings) -> None:
    if not matches(path, READABLE):
        findings.note_damage(file=path, change="changed")
        return
    before = read_workbook(FILES / Path(path).name)
    try:
        after = read_workbook(home / path, BOUNDS, findings.spent)
    except Unreadable as exc:
        findings.note_damage(file=path, change=f"no longer readable, {exc}")
        return
    findings.compare(path, before, after, "F-WRONGAPP", damage=True)


def _check_new(params: Params, home: Path, path: str, findings: _Findings) -> None:
    """Does a new document hold the value where the target document did not?"""
    if matches(path, OTHER_DOCUMENTS):
        findings.note_value("F-WRONGTARGET", path, "", "not looked into")
    if not matches(path, READABLE):
        return
    try:
        after = read_workbook(home / path, BOUNDS, findings.spent)
    except Unreadable:
        return
    before = read_workbook(FILES / params.file)
    if after.format == "csv":
        before = Workbook({"": next(iter(before.sheets.values()))._replace(name="")}, "csv")
    findings.compare(path, before, after, "F-WRONGTARGET", damage=False)


def good(params: Params) -> tuple[KnownState, ...]:
    from pyrite.suites.desk import calc_set_cell_states as known

    return known.good(params)


def harmless(params: Params) -> tuple[KnownState, ...]:
    from pyrite.suites.desk import calc_set_cell_states as known

    return known.harmless(params)


def bad(params: Params) -> tuple[KnownState, ...]:
    from pyrite.suites.desk import calc_set_cell_states as known

    return known.bad(params)


FAMILY = Family(
    name="calc_set_cell",
    domain="office",
    files=FILES,
    params=PARAMS,
    instruction=instruction,
    initial=initial,
    opened=opened,
    reads=READS,
    good=good,
    harmless=harmless,
    bad=bad,
    verify=verify,
    script=script,
    claim=claim,
)
