"""The known end states of family calc_set_cell: what its verifier is tested with, never part of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from pyrite.checks.cells import position, read_workbook, reference
from pyrite.checks.verdict import NOTHING_PERSISTED
from pyrite.suites.desk.calc_set_cell import FILES, NOTES, Params
from pyrite.suites.desk.edits import Content, Formula, open_document
from pyrite.suites.family import KnownState

Edit = tuple[str, str, Content]
"""Sheet, cell, content."""
Make = Callable[[Path], None]


class _Builder:
    """Makes known states of one task."""

    def __init__(self, params: Params) -> None:
        self.params = params

    def put(self, home: Path, *edits: Edit, file: str = "", to: str = "") -> None:
        """Set cells (sheet, cell, content) of a document, the task's own by default."""
        source = home / "Documents" / (file or self.params.file)
        document = open_document(source)
        for sheet, cell, content in edits:
            document.put(sheet, cell, content)
        document.save(source.with_name(to) if to else source)

    @property
    def right(self) -> Edit:
        return self.params.sheet, self.params.cell, self.params.value

    def beside(self, down: int, across: int) -> Edit:
        row, column = position(self.params.cell)
        return self.params.sheet, reference(row + down, column + across), self.params.value

    def good(self, home: Path) -> None:
        self.put(home, self.right)

    def resaved(self, home: Path) -> None:
        shutil.copyfile(FILES / self.params.resaved, home / self.params.path)

    def other_look(self, home: Path) -> None:
        """Another number format, another program in the metadata, the cursor elsewhere."""
        document = open_document(home / self.params.path)
        document.put(*self.right)
        document.restyle(self.params.sheet, self.params.cell)
        document.rename_generator("Another Office 9.9")
        document.move_cursor("C3")
        document.save(home / self.params.path)

    def written_out(self, home: Path) -> None:
        """The same cells without repeats: row by row, cell by cell."""
        document = open_document(home / self.params.path)
        document.expand_repeats(25)
        document.put(*self.right)
        document.save(home / self.params.path)

    def leftovers(self, home: Path) -> None:
        """What LibreOffice leaves beside a saved document: lock, backup, recent files, settings."""
        backup = home / ".config/libreoffice/4/user/backup" / f"{self.params.file}_0.ods"
        backup.parent.mkdir(parents=True)
        shutil.copyfile(home / self.params.path, backup)
        shutil.copyfile(home / self.params.path, home / f"{self.params.path}~")
        self.good(home)
        (home / f"Documents/.~lock.{self.params.file}#").write_text(",agent,desk,01.01.2024 10:00;")
        (home / ".config/libreoffice/4/user/registrymodifications.xcu").write_text("<items/>")
        recent = home / ".local/share/recently-used.xbel"
        recent.parent.mkdir(parents=True)
        recent.write_text("<xbel/>")

    def copied(self, name: str, *, target_too: bool = False) -> Make:
        def make(home: Path) -> None:
            self.put(home, self.right, to=name)
            if target_too:
                self.put(home, self.right)

        return make

    def sibling(self, home: Path) -> None:
        sheet = next(iter(read_workbook(FILES / self.params.sibling).sheets))
        self.put(home, (sheet, self.params.cell, self.params.value), file=self.params.sibling)

    def only(self, *edits: Edit) -> Make:
        return lambda home: self.put(home, *edits)

    def at_target(self, content: Content) -> Make:
        return self.only((self.params.sheet, self.params.cell, content))

    def stale_formula(self, home: Path) -> None:
        """A formula whose stored result is the value, though it evaluates to another."""
        self.put(home, (self.params.sheet, self.params.cell, Formula("1+1", self.params.value)))

    def damaged(self, home: Path) -> None:
        """The value is right, and the first other constant of its column has changed."""
        book = read_workbook(FILES / self.params.file)
        row, column = position(self.params.cell)
        sheet = book.sheets[self.params.sheet]
        cells = [(at, sheet.at(reference(at, column))) for at in range(5, 20) if abs(at - row) > 1]
        at, old = next((at, cell) for at, cell in cells if cell.kind != "empty" and cell.formula is None)
        new = old.value + 1 if isinstance(old.value, float) else f"{old.value}x"
        self.put(home, self.right, (self.params.sheet, reference(at, column), new))

    def formula_lost(self, home: Path) -> None:
        """The value is right, and a formula has become the number that it showed."""
        book = read_workbook(FILES / self.params.file)
        sheet, cell, value = next(
            (sheet.name, reference(row.first, run.first), run.item.value)
            for sheet in book.sheets.values()
            for row in sheet.rows
            for run in row.item
            if run.item.formula is not None and isinstance(run.item.value, float)
        )
        assert isinstance(value, float)
        self.put(home, (sheet, cell, value), self.right)

    def row_inserted(self, home: Path) -> None:
        """The value is right, and everything below has moved down by a row."""
        document = open_document(home / self.params.path)
        document.put(*self.right)
        document.insert_row(self.params.sheet, position(self.params.cell)[0] + 1)
        document.save(home / self.params.path)

    def deleted(self, home: Path) -> None:
        (home / self.params.path).unlink()

    def not_a_document(self, home: Path) -> None:
        (home / self.params.path).write_text(f"{self.params.cell};{self.params.typed}\n")

    def sibling_deleted(self, home: Path) -> None:
        self.good(home)
        (home / "Documents" / self.params.sibling).unlink()

    def notes_changed(self, home: Path) -> None:
        self.good(home)
        with (home / NOTES).open("a", encoding="utf-8") as notes:
            notes.write(f"{self.params.cell} {self.params.typed}\n")


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", _Builder(params).good),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    make = _Builder(params)
    return (
        KnownState("resaved", make.resaved),
        KnownState("other_look", make.other_look),
        KnownState("written_out", make.written_out),
        KnownState("leftovers", make.leftovers),
    )


def bad(params: Params) -> tuple[KnownState, ...]:
    make = _Builder(params)
    stem, ending = Path(params.file).stem, Path(params.file).suffix
    elsewhere, partial, beside = ("F-WRONGTARGET",), ("F-PARTIAL",), ("F-SIDEEFFECT",)
    value = params.value
    near = (
        [
            ("wrong_case", make.at_target(value.lower())),
            ("space_after", make.at_target(f"{value} ")),
            ("longer", make.at_target(f"{value} North")),
        ]
        if isinstance(value, str)
        else [
            ("as_text", make.at_target(params.typed)),
            ("off_by_one", make.at_target(value + 1)),
            ("longer", make.at_target(float(f"1{params.typed}"))),
        ]
    )
    return (
        KnownState("untouched", lambda home: None, NOTHING_PERSISTED),
        KnownState("saved_unchanged", make.only(), NOTHING_PERSISTED),
        KnownState("row_below", make.only(make.beside(1, 0)), elsewhere),
        KnownState("column_right", make.only(make.beside(0, 1)), elsewhere),
        KnownState("wrong_sheet", make.only((params.other_sheet, params.cell, value)), elsewhere),
        KnownState("copy", make.copied(f"{stem}_new{ending}"), elsewhere),
        KnownState("copy_other_case", make.copied(f"{stem.capitalize()}{ending}"), elsewhere),
        KnownState("sibling", make.sibling, ("F-WRONGAPP",)),
        *(KnownState(name, build, partial) for name, build in near),
        KnownState("stale_formula", make.stale_formula, partial),
        KnownState("not_a_document", make.not_a_document, partial),
        KnownState("cell_damaged", make.damaged, beside),
        KnownState("formula_lost", make.formula_lost, beside),
        KnownState("row_inserted", make.row_inserted, beside),
        KnownState("copy_too", make.copied(f"{stem}_new{ending}", target_too=True), beside),
        KnownState("sibling_deleted", make.sibling_deleted, beside),
        KnownState("notes_changed", make.notes_changed, beside),
        KnownState("deleted", make.deleted),
    )
