"""Family calc_sort: sort a range of rows of a spreadsheet by one column, and save.

Rows must stay whole: a column that is sorted alone tears them apart. What stands around the range stays.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.cells import Cell, Sheet, position, reference, same_content
from pyrite.checks.package import Spent
from pyrite.checks.verdict import Result
from pyrite.suites.desk import calc_common as calc
from pyrite.suites.desk.calc_common import FILES, SHEETS, SIBLINGS, go_to, key
from pyrite.suites.desk.watch import ELSE, READS, Compared, Watched, judge
from pyrite.suites.family import Family, KnownState


class Params(NamedTuple):
    """One task."""

    file: str
    sheet: str
    area: str
    """The rows that move, without their header."""
    column: str
    header: str
    down: bool
    """From high to low."""
    other_sheet: str
    other_column: str

    @property
    def path(self) -> str:
        return f"Documents/{self.file}"

    @property
    def order(self) -> str:
        return "descending" if self.down else "ascending"


PARAMS = {
    "calc-sort-expenses-amount": Params(
        "expenses.ods", "March", "A4:D11", "C", "Amount", False, "April", "A"
    ),
    "calc-sort-scores-test-2": Params("scores.ods", "Spring", "A2:E9", "C", "Test 2", True, "Autumn", "B"),
    "calc-sort-members-joined": Params(
        "members.ods", "Former", "A2:E9", "C", "Joined", False, "Members", "D"
    ),
    "calc-sort-mileage-km": Params("mileage.xlsx", "Trips", "A2:E9", "E", "Km", True, "Cars", "B"),
    "calc-sort-inventory-part": Params(
        "inventory.ods", "Store A", "A2:E10", "A", "Part", False, "Store B", "E"
    ),
}


def instruction(params: Params) -> str:
    return (
        f"In {params.path}, sheet {params.sheet}, sort the rows of {params.area} by column {params.column} "
        f"({params.header}) in {params.order} order, keeping each row together, and save the file."
        f"{ELSE}"
    )


def claim(params: Params) -> str:
    return f"{params.area} in {params.path} is sorted by {params.header}, {params.order}, and saved."


def script(params: Params) -> list[dict[str, Any]]:
    """Select, go to the column inside of the selection, and use the entry of the Data menu."""
    steps = position(f"{params.column}1")[1] - 1
    return [
        *go_to(params.sheet, params.area),
        *[key("Tab")] * steps,
        key("alt+d"),
        key("Down"),
        *([key("Down")] if params.down else []),
        key("Return"),
        *calc.save(params.file),
    ]


def _corners(area: str) -> tuple[int, int, int, int]:
    first, last = (position(cell) for cell in area.split(":"))
    return first[0], last[0], first[1], last[1]


def _sorted(params: Params, sheet: Sheet, column: str = "", down: bool | None = None) -> list[list[Cell]]:
    """The rows of the range in their order, ours: every key is unlike all others."""
    top, bottom, left, right = _corners(params.area)
    rows = [[sheet.at(reference(r, c)) for c in range(left, right + 1)] for r in range(top, bottom + 1)]
    at = position(f"{column or params.column}1")[1] - left

    def by(row: list[Cell]) -> tuple[str, Any]:
        return row[at].kind, row[at].value

    return sorted(rows, key=by, reverse=params.down if down is None else down)


def _found(params: Params, sheet: Sheet) -> list[list[Cell]]:
    top, bottom, left, right = _corners(params.area)
    return [[sheet.at(reference(r, c)) for c in range(left, right + 1)] for r in range(top, bottom + 1)]


def _same(one: list[list[Cell]], other: list[list[Cell]]) -> bool:
    return all(same_content(a, b) for x, y in zip(one, other, strict=True) for a, b in zip(x, y, strict=True))


def compare(params: Params, before: Path | None, after: Path, spent: Spent) -> Compared:
    assert before is not None
    old, new = calc.both(before, after, spent)
    damage = calc.sheet_damage(old, new)
    top, bottom, left, right = _corners(params.area)
    was, now = old.sheets[params.sheet], new.sheets.get(params.sheet, Sheet(params.sheet))
    inside = False
    for name, block in calc.differences(old, new):
        within = top <= block.first_row <= block.last_row <= bottom
        within = within and left <= block.first_column <= block.last_column <= right
        if name == params.sheet and within:
            inside = True
        else:
            damage.append(calc.told(name, block))
    other, twin = old.sheets.get(params.other_sheet), new.sheets.get(params.other_sheet)
    elsewhere = (
        other is not None and twin is not None and not _same(_found(params, other), _found(params, twin))
    )
    if elsewhere and other is not None and twin is not None:
        elsewhere = _same(_sorted(params, other), _found(params, twin))
    found = ", ".join(str(row[0].value)[:20] for row in _found(params, now)[:5])
    if _same(_sorted(params, was), _found(params, now)):
        return Compared("right", found, elsewhere, tuple(damage))
    return Compared("wrong" if inside else "unchanged", found, elsewhere, tuple(damage))


def verify(params: Params, home: Path) -> Result:
    watched = Watched(
        calc.initial(params.file),
        FILES,
        params.path,
        (params.area, params.header, params.order),
        lambda before, after, spent: compare(params, before, after, spent),
        SHEETS,
    )
    return judge(watched, home)


# --- known states ------------------------------------------------------------------------------


class _Builder:
    def __init__(self, params: Params) -> None:
        self.params = params

    def write(self, home: Path, rows: list[list[Cell]], *, sheet: str = "", file: str = "") -> None:
        from pyrite.suites.desk.edits import open_document

        path = home / "Documents" / (file or self.params.file)
        document = open_document(path)
        top, _, left, _ = _corners(self.params.area)
        for down, row in enumerate(rows):
            for across, cell in enumerate(row):
                if isinstance(cell.value, float | str) and cell.formula is None and cell.kind != "date":
                    at = reference(top + down, left + across)
                    document.put(sheet or self.params.sheet, at, cell.value)
        document.save(path)

    def rows(self, *, column: str = "", down: bool | None = None, sheet: str = "", file: str = "") -> Any:
        from pyrite.checks.cells import read_workbook

        book = read_workbook(FILES / (file or self.params.file))
        return _sorted(self.params, book.sheets[sheet or self.params.sheet], column, down)

    def good(self, home: Path) -> None:
        if self.params.file.endswith(".xlsx"):
            self.by_rows(home)
        else:
            self.write(home, self.rows())

    def by_rows(self, home: Path) -> None:
        """Dates are written by moving the cells themselves."""
        from openpyxl import load_workbook

        path = home / self.params.path
        book = load_workbook(path)
        sheet = book[self.params.sheet]
        area = sheet[self.params.area]
        at = position(f"{self.params.column}1")[1] - 1
        rows = sorted(
            ([cell.value for cell in row] for row in area), key=lambda row: row[at], reverse=self.params.down
        )
        for cells, values in zip(area, rows, strict=True):
            for cell, value in zip(cells, values, strict=True):
                cell.value = value
        book.save(path)

    def sorted_by(self, **how: Any) -> calc.Make:
        return lambda home: self.write(home, self.rows(**how))

    def column_alone(self, home: Path) -> None:
        """The column is in order, and the rows are torn apart."""
        _, _, left, _ = _corners(self.params.area)
        at = position(f"{self.params.column}1")[1] - left
        rows = self.original()
        for row, ordered in zip(rows, self.rows(), strict=True):
            row[at] = ordered[at]
        self.write(home, rows)

    def original(self) -> list[list[Cell]]:
        from pyrite.checks.cells import read_workbook

        return _found(self.params, read_workbook(FILES / self.params.file).sheets[self.params.sheet])

    def half(self, home: Path) -> None:
        """Two neighbouring rows stand the wrong way round."""
        rows = self.rows()
        rows[2], rows[3] = rows[3], rows[2]
        self.write(home, rows)

    def other_sheet(self, home: Path) -> None:
        sheet = self.params.other_sheet
        self.write(home, self.rows(sheet=sheet), sheet=sheet)

    def sibling(self, home: Path) -> None:
        file = SIBLINGS[self.params.file]
        self.write(home, self.rows(file=file), file=file)

    def header_changed(self, home: Path) -> None:
        from pyrite.suites.desk.edits import open_document

        self.good(home)
        document = open_document(home / self.params.path)
        top, _, left, _ = _corners(self.params.area)
        document.put(self.params.sheet, reference(top - 1, left), "Sorted")
        document.save(home / self.params.path)


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", _Builder(params).good),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("leftovers", calc.leftovers(params.path, _Builder(params).good)),)


def bad(params: Params) -> tuple[KnownState, ...]:
    make = _Builder(params)
    partial = ("F-PARTIAL",)
    with_twin = params.other_sheet != "Cars"
    return (
        *calc.beside(params.path, SIBLINGS[params.file], make.good),
        KnownState("other_order", make.sorted_by(down=not params.down), partial),
        KnownState("other_column", make.sorted_by(column=params.other_column), partial),
        *([KnownState("column_alone", make.column_alone, partial)] if params.column != "A" else []),
        KnownState("two_swapped", make.half, partial),
        *([KnownState("other_sheet", make.other_sheet, ("F-WRONGTARGET",))] if with_twin else []),
        *([KnownState("sibling", make.sibling, ("F-WRONGAPP",))] if with_twin else []),
        KnownState("header_changed", make.header_changed, ("F-SIDEEFFECT",)),
    )


FAMILY = Family(
    name="calc_sort",
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
