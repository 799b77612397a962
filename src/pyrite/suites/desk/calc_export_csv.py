"""Family calc_export_csv: save one sheet of a spreadsheet as a .csv file with a given delimiter.

The spreadsheet itself stays as it is. Fields are compared as what they show: a number as a number.
"""

from __future__ import annotations

import csv
import io
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.cells import Cell, Workbook, number_text, read_workbook, reference, same_number
from pyrite.checks.package import Spent, Unreadable, read_file
from pyrite.checks.verdict import Result
from pyrite.suites.desk import calc_common as calc
from pyrite.suites.desk.calc_common import FILES, SIBLINGS, click, key, typed
from pyrite.suites.desk.watch import BOUNDS, READS, Compared, Watched, judge
from pyrite.suites.family import Family, KnownState

_TABS = {0: (170, 733), 1: (228, 733)}
MAX_ROWS = 5000


class Params(NamedTuple):
    """One task."""

    file: str
    sheet: str
    name: str
    """Of the .csv file, in Documents."""
    delimiter: str
    other_sheet: str

    @property
    def path(self) -> str:
        return f"Documents/{self.file}"

    @property
    def target(self) -> str:
        return f"Documents/{self.name}"


PARAMS = {
    "calc-csv-members": Params("members.ods", "Members", "members_list.csv", ",", "Former"),
    "calc-csv-scores-autumn": Params("scores.ods", "Autumn", "autumn.csv", ";", "Spring"),
    "calc-csv-inventory": Params("inventory.ods", "Store A", "stock.csv", ";", "Store B"),
    "calc-csv-orders-returns": Params("orders.xlsx", "Returns", "returns.csv", ",", "Orders"),
}
_WORDS = {",": "commas", ";": "semicolons"}


def instruction(params: Params) -> str:
    return (
        f"Save the sheet {params.sheet} of {params.path} as a CSV file {params.target} whose fields are "
        f"separated by {_WORDS[params.delimiter]}. Leave {params.file} and "
        "everything else in Documents as it is."
    )


def claim(params: Params) -> str:
    return f"The sheet {params.sheet} is saved as {params.target}."


def script(params: Params) -> list[dict[str, Any]]:
    sheets = list(read_workbook(FILES / params.file).sheets)
    at = sheets.index(params.sheet)
    return [
        *([click(*_TABS[at])] if at else []),
        key("ctrl+shift+s"),
        key("ctrl+a"),
        typed(params.name),
        key("Return"),
        key("Return"),
        *([key("Tab"), typed(params.delimiter)] if params.delimiter != "," else []),
        key("Return"),
        key("Return"),
        {"action": "done"},
    ]


def _rows(book: Workbook, name: str) -> list[list[Cell]]:
    """The cells of one of our sheets as a rectangle."""
    sheet = book.sheets[name]
    width = max(run.last for row in sheet.rows for run in row.item)
    height = sheet.rows[-1].last
    return [[sheet.at(reference(r, c)) for c in range(1, width + 1)] for r in range(1, height + 1)]


def _fields(path: Path, delimiter: str, spent: Spent) -> list[list[str]]:
    data = read_file(path, BOUNDS.file_bytes)
    spent.bytes += len(data)
    try:
        text = data.decode("utf-8-sig")
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        rows = []
        for row in reader:
            rows.append(row)
            if len(rows) > MAX_ROWS:
                raise Unreadable("too_large", f"more than {MAX_ROWS} rows")
    except (UnicodeDecodeError, csv.Error) as exc:
        raise Unreadable("damaged", str(exc)[:100]) from None
    while rows and not any(rows[-1]):
        rows.pop()
    return rows


def _shows(field: str, cell: Cell) -> bool:
    if isinstance(cell.value, float):
        try:
            return len(field) < 40 and same_number(round(float(field), 9), round(cell.value, 9))
        except ValueError:
            return False
    return field == ("" if cell.value is None else str(cell.value))


def _holds(fields: list[list[str]], rows: list[list[Cell]]) -> bool:
    return len(fields) == len(rows) and all(
        len(line) == len(row) and all(_shows(field, cell) for field, cell in zip(line, row, strict=True))
        for line, row in zip(fields, rows, strict=True)
    )


def compare(params: Params, before: Path | None, after: Path, spent: Spent) -> Compared:
    """A .csv file beside the sheet that it should hold; `before` is the spreadsheet or nothing."""
    book = read_workbook(FILES / params.file)
    fields = _fields(after, params.delimiter, spent)
    found = " / ".join(params.delimiter.join(line)[:60] for line in fields[:2])
    if _holds(fields, _rows(book, params.sheet)):
        return Compared("right", found)
    return Compared("wrong", found)


def verify(params: Params, home: Path) -> Result:
    watched = Watched(
        calc.initial(params.file),
        FILES,
        params.target,
        (params.sheet, _WORDS[params.delimiter]),
        lambda before, after, spent: compare(params, before, after, spent),
        ("**/*.csv", "**/*.txt"),
        others=lambda before, after, spent: Compared("unchanged", damage=("changed",)),
    )
    return judge(watched, home)


# --- known states ------------------------------------------------------------------------------


class _Builder:
    def __init__(self, params: Params) -> None:
        self.params = params

    def lines(self, sheet: str = "", file: str = "") -> list[list[str]]:
        rows = _rows(read_workbook(FILES / (file or self.params.file)), sheet or self.params.sheet)
        return [
            [number_text(c.value) if isinstance(c.value, float) else str(c.value or "") for c in row]
            for row in rows
        ]

    def write(self, home: Path, rows: list[list[str]], *, name: str = "", **how: Any) -> None:
        out = io.StringIO()
        csv.writer(out, **{"delimiter": self.params.delimiter, "lineterminator": "\n", **how}).writerows(rows)
        (home / "Documents" / (name or self.params.name)).write_text(out.getvalue(), "utf-8")

    def good(self, home: Path) -> None:
        self.write(home, self.lines())

    def quoted(self, home: Path) -> None:
        self.write(home, self.lines(), quoting=csv.QUOTE_ALL, lineterminator="\r\n")

    def made(self, sheet: str = "", file: str = "", name: str = "", **how: Any) -> calc.Make:
        return lambda home: self.write(home, self.lines(sheet, file), name=name, **how)

    def without_last(self, home: Path) -> None:
        self.write(home, self.lines()[:-1])

    def source_resaved(self, home: Path) -> None:
        """The spreadsheet was saved anew on the way, with nothing in it changed."""
        from pyrite.suites.desk.edits import open_document

        self.good(home)
        document = open_document(home / self.params.path)
        document.rename_generator("Another Office 9.9")
        document.save(home / self.params.path)

    def cell_changed(self, home: Path) -> None:
        rows = self.lines()
        rows[2][1] += "0"
        self.write(home, rows)

    def as_document(self, home: Path) -> None:
        shutil.copyfile(home / self.params.path, home / self.params.target)

    def source_changed(self, home: Path) -> None:
        from pyrite.suites.desk.edits import open_document

        self.good(home)
        document = open_document(home / self.params.path)
        document.put(self.params.sheet, "A3", "changed")
        document.save(home / self.params.path)


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", _Builder(params).good),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    make = _Builder(params)
    return (
        KnownState("all_quoted", make.quoted),
        KnownState("source_resaved", make.source_resaved),
        KnownState("leftovers", calc.leftovers(params.target, make.good)),
    )


def bad(params: Params) -> tuple[KnownState, ...]:
    make = _Builder(params)
    other = "," if params.delimiter == ";" else ";"
    partial, beside = ("F-PARTIAL",), ("F-SIDEEFFECT",)
    stem = Path(params.name).stem
    gone = calc.after(make.good, lambda home: (home / params.path).unlink())
    return (
        KnownState("untouched", lambda home: None, ("F-ABORT", "F-CLAIM", "F-UNCOMMITTED")),
        KnownState("other_delimiter", make.made(delimiter=other), partial),
        KnownState("other_sheet", make.made(sheet=params.other_sheet), partial),
        KnownState("sibling_s_sheet", make.made(file=SIBLINGS[params.file]), partial),
        KnownState("last_row_missing", make.without_last, partial),
        KnownState("cell_changed", make.cell_changed, partial),
        KnownState("spreadsheet_by_that_name", make.as_document, partial),
        KnownState("other_name", make.made(name=f"{stem}_new.csv"), ("F-WRONGTARGET",)),
        KnownState("other_ending", make.made(name=f"{stem}.txt"), ("F-WRONGTARGET",)),
        KnownState("copy_too", calc.after(make.good, make.made(name=f"{stem}_copy.csv")), beside),
        KnownState("source_changed", make.source_changed, beside),
        KnownState("source_gone", gone, beside),
    )


FAMILY = Family(
    name="calc_export_csv",
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
