"""What the families on spreadsheets share: changes by place, and known states beside the good one."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyrite.checks.cells import Block, Sheet, Workbook, changes, describe, read_workbook
from pyrite.checks.package import Spent
from pyrite.suites.desk.watch import BOUNDS
from pyrite.suites.family import KnownState

FILES = Path(__file__).with_name("files")
SHEETS = ("**/*.ods", "**/*.xlsx")
SIBLINGS = {
    "expenses.ods": "expenses_2023.ods",
    "orders.xlsx": "orders_old.xlsx",
    "inventory.ods": "inventory_backup.ods",
    "scores.ods": "scores_resit.ods",
    "mileage.xlsx": "mileage_draft.xlsx",
    "members.ods": "members_2022.ods",
}
"""Each document and another one of the same form."""
NOTES = "Documents/notes.txt"


def initial(file: str) -> dict[str, str]:
    """The document, its sibling and a note."""
    sibling = SIBLINGS[file]
    return {f"Documents/{file}": file, f"Documents/{sibling}": sibling, NOTES: "notes.txt"}


def key(keys: str) -> dict[str, Any]:
    return {"action": "key", "keys": keys}


def typed(text: str) -> dict[str, Any]:
    return {"action": "type", "text": text}


def click(x: int, y: int, action: str = "click") -> dict[str, Any]:
    return {"action": action, "x": x, "y": y}


def go_to(sheet: str, cells: str) -> list[dict[str, Any]]:
    """Select cells by the Name Box."""
    name = f"'{sheet}'" if " " in sheet else sheet
    first, _, last = cells.partition(":")
    end = f":{last}" if last else ""
    return [key("ctrl+shift+t"), typed(f"${name}.{first}{end}"), key("Return")]


def save(file: str) -> list[dict[str, Any]]:
    """Save, and keep the format where LibreOffice asks."""
    keys = [key("ctrl+s")]
    if file.endswith((".xlsx", ".docx")):
        keys.append(key("Return"))
    return [*keys, {"action": "done"}]


def both(before: Path, after: Path, spent: Spent) -> tuple[Workbook, Workbook]:
    """Two workbooks: ours, and the agent's within bounds; raises `Unreadable`."""
    return read_workbook(before), read_workbook(after, BOUNDS, spent)


def differences(before: Workbook, after: Workbook) -> Iterator[tuple[str, Block]]:
    """Every block of cells that differs, by sheet."""
    for name in dict.fromkeys([*before.sheets, *after.sheets]):
        for block in changes(before.sheets.get(name, Sheet(name)), after.sheets.get(name, Sheet(name))):
            yield name, block


def sheet_damage(before: Workbook, after: Workbook) -> list[str]:
    """Sheets that are gone, new or in another order."""
    old, new = list(before.sheets), list(after.sheets)
    return [] if old == new else [f"the sheets are {', '.join(new)[:100]}"]


def told(sheet: str, block: Block) -> str:
    return f"{sheet}.{block.cells}: {describe(block.before)[:60]} -> {describe(block.after)[:60]}"


# --- known states ------------------------------------------------------------------------------

Make = Callable[[Path], None]


def after(*makes: Make) -> Make:
    """One change after another."""

    def make(home: Path) -> None:
        for one in makes:
            one(home)

    return make


def leftovers(target: str, good: Make) -> Make:
    """What LibreOffice leaves beside a saved document: lock, backup, recent files, settings."""

    def make(home: Path) -> None:
        good(home)
        place = home / target
        shutil.copyfile(place, place.with_name(f"{place.name}~"))
        place.with_name(f".~lock.{place.name}#").write_text(",agent,desk,01.01.2024 10:00;")
        profile = home / ".config/libreoffice/4/user"
        (profile / "backup").mkdir(parents=True, exist_ok=True)
        (profile / "backup" / f"{place.name}_0").write_bytes(b"x")
        recent = home / ".local/share/recently-used.xbel"
        recent.parent.mkdir(parents=True, exist_ok=True)
        recent.write_text("<xbel/>")

    return make


def moved_to(target: str, name: str, good: Make) -> Make:
    """The result is in another file of the folder, and the named one is as it was."""

    def make(home: Path) -> None:
        place = home / target
        was = place.read_bytes()
        good(home)
        place.rename(place.with_name(name))
        place.write_bytes(was)

    return make


def beside(target: str, sibling: str, good: Make) -> tuple[KnownState, ...]:
    """Bad states that every task on one document has: not saved, gone, broken, and side effects."""
    place, other = Path(target), f"Documents/{sibling}"
    copy = f"{place.stem}_copy{place.suffix}"

    def notes(home: Path) -> None:
        with (home / NOTES).open("a", encoding="utf-8") as text:
            text.write("done\n")

    return (
        KnownState("untouched", lambda home: None, ("F-ABORT", "F-CLAIM", "F-UNCOMMITTED")),
        KnownState("copy", moved_to(target, copy, good), ("F-WRONGTARGET",)),
        KnownState(
            "copy_too",
            after(good, lambda home: _copy(home / target, home / place.with_name(copy))),
            ("F-SIDEEFFECT",),
        ),
        KnownState("sibling_gone", after(good, lambda home: (home / other).unlink()), ("F-SIDEEFFECT",)),
        KnownState("notes_changed", after(good, notes), ("F-SIDEEFFECT",)),
        KnownState("not_a_document", lambda home: _write(home / target), ("F-PARTIAL",)),
        KnownState("deleted", lambda home: (home / target).unlink()),
    )


def _copy(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)


def _write(path: Path) -> None:
    path.write_text("done\n")
