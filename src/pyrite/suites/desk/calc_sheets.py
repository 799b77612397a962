"""Family calc_sheets: rename, add or delete a sheet of a spreadsheet, and save.

Names must be exact and stand in their order; no cell of any other sheet may change.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.cells import Sheet, Workbook, changes
from pyrite.checks.package import Spent
from pyrite.checks.verdict import Result
from pyrite.suites.desk import calc_common as calc
from pyrite.suites.desk.calc_common import FILES, SHEETS, SIBLINGS, click, key, typed
from pyrite.suites.desk.watch import ELSE, READS, Compared, Watched, judge
from pyrite.suites.family import Family, KnownState

_ADD_AT_END = (397, 283)
"""Insert Sheet at End in the Sheet menu, at 1024x768."""
_DELETE = (378, 358)
_TABS = {0: (170, 733), 1: (228, 733)}
"""Tabs of the first two sheets."""


class Params(NamedTuple):
    """One task."""

    file: str
    rename: str = ""
    """The sheet that gets another name."""
    name: str = ""
    """The name that it gets, or the name of a new sheet behind all others."""
    delete: str = ""

    @property
    def path(self) -> str:
        return f"Documents/{self.file}"


PARAMS = {
    "calc-sheets-rename-april": Params("expenses.ods", rename="April", name="April 2024"),
    "calc-sheets-rename-spring": Params("scores.ods", rename="Spring", name="Summer"),
    "calc-sheets-add-summary": Params("inventory.ods", name="Summary"),
    "calc-sheets-add-refunds": Params("orders.xlsx", name="Refunds"),
    "calc-sheets-delete-former": Params("members.ods", delete="Former"),
}


def instruction(params: Params) -> str:
    if params.rename:
        what = f'rename the sheet "{params.rename}" to "{params.name}"'
    elif params.delete:
        what = f'delete the sheet "{params.delete}"'
    else:
        what = f'add an empty sheet named "{params.name}" after the last sheet'
    return f"In {params.path}, {what} and save the file.{ELSE}"


def claim(params: Params) -> str:
    return f"The sheets of {params.path} are now {', '.join(_wanted(params, _names(params)))}; it is saved."


def _names(params: Params) -> list[str]:
    from pyrite.checks.cells import read_workbook

    return list(read_workbook(FILES / params.file).sheets)


def script(params: Params) -> list[dict[str, Any]]:
    if params.rename:
        place = _TABS[_names(params).index(params.rename)]
        steps = [click(*place, "double_click"), key("ctrl+a"), typed(params.name), key("Return")]
    elif params.delete:
        place = _TABS[_names(params).index(params.delete)]
        steps = [click(*place), key("alt+s"), click(*_DELETE), key("Return")]
    else:
        steps = [key("alt+s"), click(*_ADD_AT_END), key("ctrl+a"), typed(params.name), key("Return")]
    return [*steps, *calc.save(params.file)]


def _wanted(params: Params, names: list[str]) -> list[str]:
    if params.rename:
        return [params.name if name == params.rename else name for name in names]
    return [*(name for name in names if name != params.delete), *([params.name] if params.name else [])]


def compare(params: Params, before: Path | None, after: Path, spent: Spent) -> Compared:
    assert before is not None
    old, new = calc.both(before, after, spent)
    names, wanted = list(new.sheets), _wanted(params, list(old.sheets))
    damage = [*_changed(params, old, new)]
    found = ", ".join(names)[:150]
    if names == wanted:
        return Compared("right", found, False, tuple(damage))
    if names == list(old.sheets):
        return Compared("unchanged", found, False, tuple(damage))
    # another sheet has the name, or another one is gone: the right thing in the wrong place
    others = [name for name in old.sheets if name != (params.rename or params.delete)]
    gone = [name for name in others if name not in new.sheets]
    elsewhere = bool(gone) and (params.rename or params.delete) in new.sheets
    target = "unchanged" if elsewhere else "wrong"
    return Compared(target, found, elsewhere, (*damage, *(f"sheet {name} is gone" for name in gone)))


def _changed(params: Params, old: Workbook, new: Workbook) -> list[str]:
    """Cells that differ, sheets compared under the names that they should have."""
    found: list[str] = []
    for name in old.sheets:
        now = params.name if name == params.rename and params.name in new.sheets else name
        if now in new.sheets and next(changes(old.sheets[name], new.sheets[now]), None) is not None:
            found.append(f"cells of {now} are changed")
    if params.name and not params.rename and new.sheets.get(params.name, Sheet("")).rows:
        found.append(f"{params.name} is not empty")
    return found


def verify(params: Params, home: Path) -> Result:
    watched = Watched(
        calc.initial(params.file),
        FILES,
        params.path,
        params.name or params.delete,
        lambda before, after, spent: compare(params, before, after, spent),
        SHEETS,
    )
    return judge(watched, home)


# --- known states ------------------------------------------------------------------------------


class _Builder:
    def __init__(self, params: Params) -> None:
        self.params = params

    def change(self, home: Path, *, file: str = "", **how: str) -> None:
        """rename=, delete= and name=, as in the parameters."""
        from pyrite.suites.desk.sheet_edits import edit_sheets

        asked = {"rename": self.params.rename, "delete": self.params.delete, "name": self.params.name}
        edit_sheets(home / "Documents" / (file or self.params.file), **{**asked, **how})

    def good(self, home: Path) -> None:
        self.change(home)

    def other(self, **how: str) -> calc.Make:
        return lambda home: self.change(home, **how)

    def cell_changed(self, home: Path) -> None:
        from pyrite.suites.desk.edits import open_document

        self.good(home)
        kept = next(
            name for name in _names(self.params) if name not in (self.params.rename, self.params.delete)
        )
        document = open_document(home / self.params.path)
        document.put(kept, "B4", "changed")
        document.save(home / self.params.path)


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", _Builder(params).good),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("leftovers", calc.leftovers(params.path, _Builder(params).good)),)


def bad(params: Params) -> tuple[KnownState, ...]:
    make = _Builder(params)
    partial, elsewhere = ("F-PARTIAL",), ("F-WRONGTARGET",)
    other = next(name for name in _names(params) if name not in (params.rename, params.delete))
    own: list[KnownState] = []
    if params.name:
        own += [
            KnownState("wrong_case", make.other(name=params.name.swapcase()), partial),
            KnownState("longer", make.other(name=f"{params.name} 2"), partial),
        ]
    if params.rename:
        own += [
            KnownState("other_sheet", make.other(rename=other), elsewhere),
            KnownState("added_instead", make.other(rename=""), partial),
        ]
    elif params.delete:
        own += [
            KnownState("other_sheet", make.other(delete=other), elsewhere),
            KnownState("renamed_instead", make.other(delete="", rename=params.delete, name="Old"), partial),
        ]
    else:
        own.append(KnownState("default_name", make.other(name="Sheet3"), partial))
    return (
        *calc.beside(params.path, SIBLINGS[params.file], make.good),
        *own,
        KnownState("sibling", make.other(file=SIBLINGS[params.file]), ("F-WRONGAPP",)),
        KnownState("cell_changed", make.cell_changed, ("F-SIDEEFFECT",)),
    )


FAMILY = Family(
    name="calc_sheets",
    domain="office",
    files=FILES,
    params=PARAMS,
    instruction=instruction,
    initial=lambda params: calc.initial(params.file),
    opened=lambda params: ("calc", (params.path,)),
    reads=READS,
    good=good,
    harmless=harmless,
    bad=bad,
    verify=verify,
    script=script,
    claim=claim,
)
