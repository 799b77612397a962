"""A sound verifier, written so that one line of it can be broken at a time."""

from pathlib import Path

from pyrite.checks.cells import Cell, Sheet, changes, position, read_workbook, same_content, same_number
from pyrite.checks.homes import diff, digest_file, snapshot
from pyrite.checks.package import Unreadable
from pyrite.checks.verdict import NOTHING_PERSISTED, Result, main
from pyrite.suites.desk.calc_set_cell import FILES

TARGET = "Documents/q3_budget.ods"
WANTED = Cell("number", 4500.0)
NAMES = ("q3_budget.ods", "q2_budget.ods", "notes.txt")
BEFORE = read_workbook(FILES / "q3_budget.ods")


def right(cell: Cell) -> bool:
    return same_content(cell, WANTED)


def files_of(home: Path) -> dict[str, str]:
    return {path: path for path in snapshot(home)}


def sheets_to_compare() -> list[str]:
    return list(BEFORE.sheets)


def damaged(before: Sheet, after: Sheet) -> bool:
    return any(
        before.name != "Q3" or not (block.single and block.holds(*position("D14")))
        for block in changes(before, after)
    )


def others_changed(home: Path, files: dict[str, str]) -> bool:
    before = {f"Documents/{name}": digest_file(FILES / name) for name in NAMES}
    after = {name: digest_file(home / path) for name, path in files.items()}
    moved = diff({**before, TARGET: ""}, {**after, TARGET: ""})
    return not moved.empty


def check(home: Path) -> Result:
    files = files_of(home)
    if TARGET not in files:
        return Result(False)
    try:
        book = read_workbook(home / files[TARGET])
    except Unreadable:
        return Result(False, ("F-PARTIAL",))
    sheets = {name: book.sheets.get(name, Sheet(name)) for name in sheets_to_compare()}
    found = sheets["Q3"].at("D14")
    damage = any(damaged(BEFORE.sheets[name], sheet) for name, sheet in sheets.items())
    if right(found):
        spoiled = damage or others_changed(home, files)
        return Result(not spoiled, ("F-SIDEEFFECT",) if spoiled else (), {"expected": "4500"})
    if right(sheets["Q3"].at("D15")):
        return Result(False, ("F-WRONGTARGET",))
    return Result(False, () if damage else NOTHING_PERSISTED, {"same": same_number(found.value, 4500.0)})


if __name__ == "__main__":
    main(check)
