"""Family calc_formula: enter a formula into one empty cell of a spreadsheet, and save.

The cell must hold the formula itself, not the number that it shows; spelling, spaces, fixed references ($),
the name of its own sheet, a leading plus and parentheses around all of it do not count.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.cells import Cell, describe, position, reference
from pyrite.checks.package import Spent
from pyrite.checks.verdict import Result
from pyrite.suites.desk import calc_common as calc
from pyrite.suites.desk.calc_common import FILES, SHEETS, SIBLINGS, go_to, key, typed
from pyrite.suites.desk.watch import ELSE, READS, Compared, Watched, judge
from pyrite.suites.family import Family, KnownState


class Params(NamedTuple):
    """One task."""

    file: str
    sheet: str
    cell: str
    formula: str
    value: float
    """What it comes to."""
    other_sheet: str
    near: str
    """Another formula: nearly the same range."""

    @property
    def path(self) -> str:
        return f"Documents/{self.file}"


PARAMS = {
    "calc-formula-expenses-total": Params(
        "expenses.ods", "March", "C12", "=SUM(C4:C11)", 1355.75, "April", "=SUM(C4:C10)"
    ),
    "calc-formula-scores-mean": Params(
        "scores.ods", "Spring", "C10", "=AVERAGE(C2:C9)", 72.75, "Autumn", "=AVERAGE(B2:B9)"
    ),
    "calc-formula-inventory-low": Params(
        "inventory.ods", "Store B", "D11", "=MIN(D2:D10)", 10.0, "Store A", "=MAX(D2:D10)"
    ),
    "calc-formula-members-count": Params(
        "members.ods", "Members", "D11", '=COUNTIF(D2:D9;">=40")', 4.0, "Former", '=COUNTIF(D2:D9;">40")'
    ),
    "calc-formula-mileage-longest": Params(
        "mileage.xlsx", "Trips", "E10", "=MAX(E2:E9)", 134.0, "Cars", "=MAX(E2:E8)"
    ),
}


def instruction(params: Params) -> str:
    return (
        f"In {params.path}, sheet {params.sheet}, enter the formula {params.formula} into cell "
        f"{params.cell} and save the file.{ELSE}"
    )


def claim(params: Params) -> str:
    return f"{params.cell} of {params.path} holds {params.formula} and the file is saved."


def script(params: Params) -> list[dict[str, Any]]:
    return [
        *go_to(params.sheet, params.cell),
        typed(params.formula),
        key("Return"),
        *calc.save(params.file),
    ]


def _canonical(formula: str | None, sheet: str = "") -> str:
    """A formula without what makes no difference; `sheet`: the one that it stands on, which it may name.

    >>> _canonical("=sum([.C$4:.C11])"), _canonical("=COUNTIF(A1; 2)")
    ('=SUM(C4:C11)', '=COUNTIF(A1,2)')
    >>> _canonical("=+AVERAGE([$'Store B'.C2:.C9])", "Store B"), _canonical("=(SUM(March!C4:C9))", "March")
    ('=AVERAGE(C2:C9)', '=SUM(C4:C9)')
    """
    plain = (formula or "")[:1000].upper()
    if sheet:
        quoted = re.escape("'" + sheet.upper().replace("'", "''") + "'")
        bare = re.escape(sheet.upper()) if re.fullmatch(r"\w+", sheet) else quoted
        plain = re.sub(rf"(?<![\w'.\]!#$])\$?(?:{quoted}|{bare})(?:!|\.(?=\$?[A-Z]))", "", plain)
    plain = plain.replace("[.", "").replace(":.", ":").replace("[", "").replace("]", "")
    plain = plain.replace("$", "").replace(" ", "").replace(";", ",")
    return "=" + _bare(plain.removeprefix("=")) if plain.startswith("=") else plain


def _bare(text: str) -> str:
    """Without leading pluses and without parentheses around all of it.

    >>> _bare("+((SUM(A1)))"), _bare("(A1)+(A2)")
    ('SUM(A1)', '(A1)+(A2)')
    """
    while text:
        if text.startswith("+"):
            text = text[1:]
        elif text.startswith("(") and _closes(text) == len(text) - 1:
            text = text[1:-1]
        else:
            break
    return text


def _closes(text: str) -> int:
    """Where the parenthesis that a text begins with is closed; -1: nowhere."""
    depth = 0
    quoted = False
    for place, letter in enumerate(text):
        quoted ^= letter == '"'
        depth += 0 if quoted else (letter == "(") - (letter == ")")
        if depth == 0:
            return place
    return -1


def _right(params: Params, cell: Cell) -> bool:
    return cell.formula is not None and _canonical(cell.formula, params.sheet) == _canonical(params.formula)


def compare(params: Params, before: Path | None, after: Path, spent: Spent) -> Compared:
    assert before is not None
    old, new = calc.both(before, after, spent)
    damage = calc.sheet_damage(old, new)
    elsewhere = False
    found = new.sheets[params.sheet].at(params.cell) if params.sheet in new.sheets else Cell("empty")
    for name, block in calc.differences(old, new):
        if name == params.sheet and block.single and block.holds(*position(params.cell)):
            continue
        damage.append(calc.told(name, block))
        elsewhere = elsewhere or _holds(params, block.after)
    target = "unchanged"
    if _right(params, found):
        target = "right"
    elif found != Cell("empty"):
        target = "wrong"
    return Compared(target, describe(found), elsewhere, tuple(damage))


def _holds(params: Params, cell: Cell) -> bool:
    return _canonical(cell.formula) == _canonical(params.formula) or cell.value == params.value


def verify(params: Params, home: Path) -> Result:
    watched = Watched(
        calc.initial(params.file),
        FILES,
        params.path,
        params.formula,
        lambda before, after, spent: compare(params, before, after, spent),
        SHEETS,
    )
    return judge(watched, home)


# --- known states ------------------------------------------------------------------------------


class _Builder:
    def __init__(self, params: Params) -> None:
        self.params = params

    def put(self, home: Path, sheet: str, cell: str, what: Any, file: str = "") -> None:
        from pyrite.suites.desk.edits import open_document

        document = open_document(home / "Documents" / (file or self.params.file))
        document.put(sheet, cell, what)
        document.save(home / "Documents" / (file or self.params.file))

    def formula(self, text: str = "", value: float | None = None) -> Any:
        """The formula as the document's format writes it."""
        from pyrite.suites.desk.edits import Formula

        text = (text or self.params.formula).removeprefix("=")
        if self.params.file.endswith(".ods"):
            start, _, rest = text.partition("(")
            cells, _, end = rest.partition(")")
            area, _, condition = cells.partition(";")
            first, _, last = area.partition(":")
            text = f"{start}([.{first}:.{last}]{';' if condition else ''}{condition}){end}"
        return Formula(text, self.params.value if value is None else value)

    def good(self, home: Path) -> None:
        self.put(home, self.params.sheet, self.params.cell, self.formula())

    def naming(self, sheet: str) -> Any:
        """The formula with its cells on a sheet that it names."""
        formula = self.formula()
        name = f"'{sheet}'" if " " in sheet else sheet
        if self.params.file.endswith(".ods"):
            return formula._replace(text=formula.text.replace("[.", f"[${name}."))
        return formula._replace(text=formula.text.replace("(", f"({name}!", 1))

    def wrapped(self, before: str, after: str = "") -> Any:
        formula = self.formula()
        return formula._replace(text=f"{before}{formula.text}{after}")

    def fixed(self, home: Path) -> None:
        """The same range by fixed rows, in small letters."""
        formula = self.formula()
        text = formula.text.lower()
        for digit in "23456789":
            text = text.replace(f"c{digit}", f"c${digit}").replace(f"d{digit}", f"d${digit}")
        self.put(home, self.params.sheet, self.params.cell, formula._replace(text=text))

    def at(self, sheet: str, cell: str, what: Any) -> calc.Make:
        return lambda home: self.put(home, sheet, cell, what)

    def sibling(self, home: Path) -> None:
        self.put(home, self.params.sheet, self.params.cell, self.formula(), SIBLINGS[self.params.file])


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", _Builder(params).good),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    make = _Builder(params)
    place = (params.sheet, params.cell)
    return (
        KnownState("fixed_references", make.fixed),
        KnownState("own_sheet_named", make.at(*place, make.naming(params.sheet))),
        KnownState("leading_plus", make.at(*place, make.wrapped("+"))),
        KnownState("parentheses", make.at(*place, make.wrapped("(", ")"))),
        KnownState("leftovers", calc.leftovers(params.path, make.good)),
    )


def bad(params: Params) -> tuple[KnownState, ...]:
    make = _Builder(params)
    row, column = position(params.cell)
    sheet, cell = params.sheet, params.cell
    elsewhere, partial = ("F-WRONGTARGET",), ("F-PARTIAL",)
    below, right = reference(row + 1, column), reference(row, column + 1)
    twin = below if params.other_sheet == "April" else cell  # which has that formula in the cell itself
    spoiled = make.at(sheet, reference(row - 3, column), 1.0)
    return (
        *calc.beside(params.path, SIBLINGS[params.file], make.good),
        KnownState("value_only", make.at(sheet, cell, params.value), partial),
        KnownState("as_text", make.at(sheet, cell, f"'{params.formula}"), partial),
        KnownState("near_range", make.at(sheet, cell, make.formula(params.near)), partial),
        KnownState("other_sheet_named", make.at(sheet, cell, make.naming(params.other_sheet)), partial),
        KnownState("leading_minus", make.at(sheet, cell, make.wrapped("-")), partial),
        KnownState("row_below", make.at(sheet, below, make.formula()), elsewhere),
        KnownState("column_right", make.at(sheet, right, make.formula()), elsewhere),
        KnownState("other_sheet", make.at(params.other_sheet, twin, make.formula()), elsewhere),
        KnownState("sibling", make.sibling, ("F-WRONGAPP",)),
        KnownState("data_spoiled", calc.after(make.good, spoiled), ("F-SIDEEFFECT",)),
    )


FAMILY = Family(
    name="calc_formula",
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
