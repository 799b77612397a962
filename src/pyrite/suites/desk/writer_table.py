"""Family writer_table: add a row to a table of a text document, fill a cell, or insert a table; and save."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.package import Spent
from pyrite.checks.paragraphs import Table
from pyrite.checks.verdict import Result
from pyrite.suites.desk import calc_common as calc
from pyrite.suites.desk import writer_common as writer
from pyrite.suites.desk.calc_common import key, typed
from pyrite.suites.desk.watch import ELSE, READS, Compared, Watched, judge
from pyrite.suites.desk.writer_common import FILES, SIBLINGS, TEXTS
from pyrite.suites.family import Family, KnownState

Rows = tuple[tuple[str, ...], ...]


class Params(NamedTuple):
    """One task: exactly one of row, cell and table is asked for."""

    file: str
    last: str
    """Text of the table's last cell, or of the document's last paragraph."""
    row: tuple[str, ...] = ()
    cell: tuple[str, str] = ("", "")
    """Old and new text of one cell."""
    table: Rows = ()

    @property
    def path(self) -> str:
        return f"Documents/{self.file}"


PARAMS = {
    "writer-table-garden-row": Params("garden.docx", "23", row=("Lawn", "Piet", "24")),
    "writer-table-workshop-row": Params("workshop.odt", "Glazing", row=("15:00", "Firing")),
    "writer-table-garden-cell": Params("garden.docx", "23", cell=("Jonas", "Petra")),
    "writer-table-harbour-new": Params("harbour.odt", "autumn", table=(("Month", "Ships"), ("May", "61"))),
    "writer-table-lease-new": Params("lease.docx", "ends", table=(("Fee", "Due"), ("85 euros", "1 June"))),
}


def _shown(texts: tuple[str, ...]) -> str:
    return ", ".join(f'"{text}"' for text in texts)


def instruction(params: Params) -> str:
    if params.row:
        what = f"add one row at the end of the table with the cells {_shown(params.row)}"
    elif params.table:
        first, second = params.table
        what = (
            "insert a table of two columns and two rows after the last paragraph, with "
            f"{_shown(first)} in its first row and {_shown(second)} in its second row"
        )
    else:
        what = f'replace the text "{params.cell[0]}" in the table with "{params.cell[1]}"'
    return f"In {params.path}, {what}, and save the file.{ELSE}"


def claim(params: Params) -> str:
    return f"The table in {params.path} is as asked and the file is saved."


def script(params: Params) -> list[dict[str, Any]]:
    if params.row:
        steps = [*writer.find(params.last), key("End"), key("Tab"), *_filled((params.row,))]
    elif params.table:
        steps = [key("ctrl+End"), key("Return"), key("ctrl+F12"), key("Return"), *_filled(params.table)]
    else:
        steps = [*writer.find(params.cell[0]), typed(params.cell[1])]
    return [*steps, *calc.save(params.file)]


def _filled(rows: Rows) -> list[dict[str, Any]]:
    texts = [text for row in rows for text in row]
    return [step for text in texts for step in (typed(text), key("Tab"))][:-1]


def _wanted(params: Params, tables: list[list[list[str]]]) -> list[list[list[str]]]:
    """The tables as they should be."""
    rows = [[list(row) for row in table] for table in tables]
    if params.row:
        rows[0].append(list(params.row))
    elif params.table:
        rows.append([list(row) for row in params.table])
    else:
        old, new = params.cell
        rows = [[[new if text == old else text for text in row] for row in table] for table in rows]
    return rows


def compare(params: Params, before: Path | None, after: Path, spent: Spent) -> Compared:
    assert before is not None
    old, new = writer.both(before, after, spent)
    was, now = [table.texts for table in old.tables], [table.texts for table in new.tables]
    damage = [
        writer.told(a, b)
        for a, b in writer.pairs(*(list(_others(d)) for d in (old, new)))
        if not writer.same(a, b)
    ]
    found = str(now)[-150:]
    if now != _wanted(params, was):
        texts = [text for text in (*params.row, *(t for row in params.table for t in row)) if text]
        in_text = bool(texts) and any(all(text in p.text for text in texts[:2]) for p in new.paragraphs)
        return Compared("unchanged" if now == was and not in_text else "wrong", found, False, tuple(damage))
    if params.table and not isinstance(writer.blocks(new)[-1], Table):
        return Compared("unchanged", "the table is not at the end", True, tuple(damage))
    return Compared("right", found, False, tuple(damage))


def _others(document: Any) -> Any:
    """Everything but the tables."""
    return (block for block in writer.blocks(document) if not isinstance(block, Table))


def verify(params: Params, home: Path) -> Result:
    watched = Watched(
        writer.initial(params.file),
        FILES,
        params.path,
        params.row or tuple(text for row in params.table for text in row) or params.cell,
        lambda before, after, spent: compare(params, before, after, spent),
        TEXTS,
    )
    return judge(watched, home)


# --- known states ------------------------------------------------------------------------------


def _do(params: Params, **other: Any) -> Any:
    asked = params._replace(**other)

    def change(document: Any) -> None:
        if asked.row:
            document.add_row(asked.row)
        elif asked.table:
            document.add_table(asked.table)
        else:
            document.replace(*asked.cell)

    return change


def _near(params: Params) -> list[tuple[str, Any]]:
    """Nearly what is asked for."""
    if params.row:
        last = params.row[-1]
        return [
            ("row_not_at_the_end", lambda document: document.add_row(params.row, at=1)),
            ("empty_row", _do(params, row=("",) * len(params.row))),
            ("cells_swapped", _do(params, row=(*params.row[:-2], last, params.row[-2]))),
            ("last_cell_longer", _do(params, row=(*params.row[:-1], f"{last}0"))),
            ("below_the_table", lambda document: document.add_paragraph(" ".join(params.row))),
        ]
    if params.table:
        first, second = params.table
        return [
            ("rows_swapped", _do(params, table=(second, first))),
            ("one_row", _do(params, table=(first,))),
            ("last_cell_empty", _do(params, table=(first, (second[0], "")))),
            ("as_plain_text", lambda document: document.add_paragraph(" ".join((*first, *second)))),
        ]
    old, new = params.cell
    return [
        ("wrong_case", _do(params, cell=(old, new.lower()))),
        ("longer", _do(params, cell=(old, f"{new} {old}"))),
        ("another_cell", _do(params, cell=("Anna", new))),
        ("emptied", _do(params, cell=(old, ""))),
    ]


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", writer.edited(params.path, _do(params))),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    make = writer.edited(params.path, _do(params))
    return (KnownState("leftovers", calc.leftovers(params.path, make)),)


def bad(params: Params) -> tuple[KnownState, ...]:
    sibling = SIBLINGS[params.file]
    partial, beside = ("F-PARTIAL",), ("F-SIDEEFFECT",)
    title = {"garden.docx": "Garden Club", "lease.docx": "Storage Lease"}
    first = title.get(params.file, "Harbour Report 2023" if params.table else "Pottery Workshop 2024")

    def made(*changes: Any) -> calc.Make:
        return writer.edited(params.path, *changes)

    return (
        *calc.beside(params.path, sibling, made(_do(params))),
        *(KnownState(name, made(change), partial) for name, change in _near(params)),
        KnownState("sibling", writer.edited(f"Documents/{sibling}", _do(params)), ("F-WRONGAPP",)),
        KnownState("title_changed", made(_do(params), lambda d: d.replace(first, "Changed")), beside),
        KnownState("title_hidden", made(_do(params), lambda d: d.look(first, mark="hidden")), beside),
        KnownState("title_removed", made(_do(params), lambda d: d.remove(first)), beside),
    )


FAMILY = Family(
    name="writer_table",
    domain="office",
    files=FILES,
    params=PARAMS,
    instruction=instruction,
    initial=lambda params: writer.initial(params.file),
    opened=lambda params: ("writer", (params.path,)),
    reads=READS,
    good=good,
    harmless=harmless,
    bad=bad,
    verify=verify,
    script=script,
    claim=claim,
)
