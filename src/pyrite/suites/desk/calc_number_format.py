"""Family calc_number_format: give a range of cells a number format, and save.

What counts is the format of the cells, however it was reached; what is in them must stay as it is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.cells import Sheet, changes, position, reference
from pyrite.checks.formats import GENERAL, normal, read_formats
from pyrite.checks.package import Spent
from pyrite.checks.verdict import Result
from pyrite.suites.desk import calc_common as calc
from pyrite.suites.desk.calc_common import FILES, SHEETS, SIBLINGS, click, go_to, key, typed
from pyrite.suites.desk.watch import BOUNDS, ELSE, READS, Compared, Watched, judge
from pyrite.suites.family import Family, KnownState

_CODE_FIELD = (455, 622)
"""Format Code in the dialog Format Cells, at 1024x768."""


class Params(NamedTuple):
    """One task."""

    file: str
    sheet: str
    area: str
    code: str
    near: str
    """Nearly the same code."""
    other_sheet: str

    @property
    def path(self) -> str:
        return f"Documents/{self.file}"


PARAMS = {
    "calc-format-members-share": Params("members.ods", "Members", "E2:E9", "0.0%", "0%", "Former"),
    "calc-format-expenses-amount": Params("expenses.ods", "April", "C4:C12", "#,##0.00", "0.00", "March"),
    "calc-format-inventory-price": Params("inventory.ods", "Store A", "E2:E10", "0.000", "0.00", "Store B"),
    "calc-format-scores-passed": Params("scores.ods", "Autumn", "E2:E9", "0%", "0.00%", "Spring"),
    "calc-format-mileage-date": Params("mileage.xlsx", "Trips", "A2:A9", "DD/MM/YYYY", "MM/DD/YYYY", ""),
}


def instruction(params: Params) -> str:
    return (
        f"In {params.path}, sheet {params.sheet}, give the cells {params.area} the number format "
        f"{params.code} (that is its format code) and save the file.{ELSE}"
    )


def claim(params: Params) -> str:
    return f"{params.area} in {params.path} has the format {params.code} and the file is saved."


def script(params: Params) -> list[dict[str, Any]]:
    return [
        *go_to(params.sheet, params.area),
        key("ctrl+1"),
        click(*_CODE_FIELD),
        key("ctrl+a"),
        typed(params.code),
        key("Return"),
        *calc.save(params.file),
    ]


def _cells(area: str) -> list[str]:
    (top, left), (bottom, right) = (position(cell) for cell in area.split(":"))
    return [reference(r, c) for r in range(top, bottom + 1) for c in range(left, right + 1)]


def compare(params: Params, before: Path | None, after: Path, spent: Spent) -> Compared:
    assert before is not None
    old, new = calc.both(before, after, spent)
    damage = calc.sheet_damage(old, new)
    damage += [calc.told(name, block) for name, block in calc.differences(old, new)]
    was, now = read_formats(before), read_formats(after, BOUNDS, spent)
    wanted, own = normal(params.code), set(_cells(params.area))
    changed = elsewhere = False
    for name in was:
        for block in changes(was[name], now.get(name, Sheet(name))):
            inside = name == params.sheet and _within(block.cells, own)
            changed = changed or inside
            if not inside:
                damage.append(f"format of {name}.{block.cells}: {str(block.after.value)[:40]}")
                elsewhere = elsewhere or block.after.value == wanted
    sheet = now.get(params.sheet, Sheet(params.sheet))
    found = [str(sheet.at(cell).value or GENERAL) for cell in sorted(own)]
    if all(code == wanted for code in found):
        return Compared("right", found[0], elsewhere, tuple(damage))
    return Compared(
        "wrong" if changed else "unchanged", ", ".join(sorted(set(found)))[:80], elsewhere, tuple(damage)
    )


def _within(cells: str, own: set[str]) -> bool:
    first, _, last = cells.partition(":")
    return first in own and (last or first) in own


def verify(params: Params, home: Path) -> Result:
    watched = Watched(
        calc.initial(params.file),
        FILES,
        params.path,
        params.code,
        lambda before, after, spent: compare(params, before, after, spent),
        SHEETS,
    )
    return judge(watched, home)


# --- known states ------------------------------------------------------------------------------


class _Builder:
    def __init__(self, params: Params) -> None:
        self.params = params

    def give(self, code: str = "", *, sheet: str = "", cells: list[str] | None = None, file: str = "") -> Any:
        params = self.params

        def make(home: Path) -> None:
            from pyrite.suites.desk.format_edits import give_format

            path = home / "Documents" / (file or params.file)
            own = _cells(params.area) if cells is None else cells
            give_format(path, sheet or params.sheet, own, code or params.code)

        return make

    def retyped(self, home: Path) -> None:
        """Shown so because it was typed so: texts with the right look."""
        from pyrite.suites.desk.edits import open_document

        document = open_document(home / self.params.path)
        for cell in _cells(self.params.area):
            document.put(self.params.sheet, cell, "12.5%")
        document.save(home / self.params.path)

    def value_changed(self, home: Path) -> None:
        from pyrite.suites.desk.edits import open_document

        self.give()(home)
        document = open_document(home / self.params.path)
        document.put(self.params.sheet, "B3", "changed")
        document.save(home / self.params.path)


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", _Builder(params).give()),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("leftovers", calc.leftovers(params.path, _Builder(params).give())),)


def bad(params: Params) -> tuple[KnownState, ...]:
    make = _Builder(params)
    own = _cells(params.area)
    row, column = position(own[0])
    # a neighbour that holds numbers: what is formatted there is seen
    shifted = [reference(position(cell)[0], column + (1 if column == 1 else -1)) for cell in own]
    header = reference(row - 1, column)
    partial, elsewhere = ("F-PARTIAL",), ("F-WRONGTARGET",)
    return (
        *calc.beside(params.path, SIBLINGS[params.file], make.give()),
        KnownState("near_code", make.give(params.near), partial),
        KnownState("all_but_the_last", make.give(cells=own[:-1]), partial),
        KnownState("first_cell_only", make.give(cells=own[:1]), partial),
        KnownState("neighbour_column", make.give(cells=shifted), elsewhere),
        *(
            [KnownState("other_sheet", make.give(sheet=params.other_sheet), elsewhere)]
            if params.other_sheet
            else []
        ),
        KnownState("sibling", make.give(file=SIBLINGS[params.file]), ("F-WRONGAPP",)),
        KnownState("retyped_as_text", make.retyped, ()),
        KnownState("header_too", make.give(cells=[header, *own]), ("F-SIDEEFFECT",)),
        KnownState("value_changed", make.value_changed, ("F-SIDEEFFECT",)),
    )


FAMILY = Family(
    name="calc_number_format",
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
