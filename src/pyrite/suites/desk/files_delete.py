"""Family files_delete: remove the named files or folder, and none that looks like them."""

from __future__ import annotations

from pyrite.suites.desk import operations
from pyrite.suites.desk.operations import Params, Wrong, delete, inside, move


def _task(
    layout: str, folder: str, names: tuple[str, ...], sibling: str, bystander: str, app: str = "pcmanfm"
) -> Params:
    """`sibling`: a path that may be mistaken for one of them."""
    listed = " and ".join(names)
    things = "files" if "." in names[0] else "folder"
    words = (
        f"Delete the {things} {listed}{inside(layout, f'{folder}/{names[0]}')} in the folder {folder} "
        "(the trash will do). "
        "Leave everything else as it is."
    )
    right = tuple(delete(f"{folder}/{name}") for name in names)
    elsewhere, beside = ("F-WRONGTARGET",), ("F-SIDEEFFECT",)
    hidden = move(right[-1].path, f"Elsewhere/{right[-1].name}")
    wrong = (
        Wrong("sibling", (*right[:-1], delete(sibling)), elsewhere),
        Wrong("sibling_too", (*right, delete(sibling)), beside),
        Wrong("moved_away", (*right[:-1], hidden), beside),
        Wrong("renamed", (*right[:-1], move(right[-1].path, f"{right[-1].path}.old")), beside),
    )
    return Params(layout, words, right, wrong, bystander, app)


REPORTS, INVOICES = "Documents/Reports", "Documents/Invoices"
PARAMS = {
    "files-delete-reports": _task(
        "reports", REPORTS, ("report_2024_old.txt", "report_2024_draft.txt"), f"{REPORTS}/report_2024.txt",
        f"{REPORTS}/report_2023.txt",
    ),
    "files-delete-invoices": _task(
        "invoices", INVOICES, ("invoice_1402.csv", "invoice_1042_copy.csv"), f"{INVOICES}/invoice_1042.csv",
        f"{INVOICES}/invoice_1041.csv",
    ),
    "files-delete-garden-old": _task(
        "projects", "Projects", ("garden-old",), "Projects/garden", "Projects/house/plan.md"
    ),
    "files-delete-scripts": _task(
        "tools", "Tools", ("cleanup.sh", "backup.sh"), "Tools/old/backup.sh", "Tools/backup_db.sh", "xterm"
    ),
}  # fmt: skip


FAMILY = operations.family("files_delete", PARAMS)
