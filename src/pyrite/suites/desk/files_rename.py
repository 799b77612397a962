"""Family files_rename: give one file or folder another name, among siblings that look alike."""

from __future__ import annotations

from pyrite.suites.desk import operations
from pyrite.suites.desk.operations import Params, Wrong, inside, move

ELSEWHERE = ("F-WRONGTARGET",)


def _task(
    layout: str,
    folder: str,
    old: str,
    new: str,
    sibling: str,
    misspelt: str,
    bystander: str,
    app: str = "pcmanfm",
) -> Params:
    """`misspelt`: a name that is nearly the new one."""
    kind = "file" if "." in old else "folder"
    held = inside(layout, f"{folder}/{old}")
    words = f"In the folder {folder}, rename the {kind} {old}{held} to {new}. Leave everything else as it is."
    source, target = f"{folder}/{old}", f"{folder}/{new}"
    wrong = (
        Wrong("sibling", (move(f"{folder}/{sibling}", target),), ELSEWHERE),
        Wrong("misspelt", (move(source, f"{folder}/{misspelt}"),), ELSEWHERE),
        Wrong("other_case", (move(source, f"{folder}/{new.swapcase()}"),), ELSEWHERE),
        Wrong("moved_up", (move(source, f"{folder.rpartition('/')[0] or 'Elsewhere'}/{new}"),), ELSEWHERE),
        Wrong(
            "sibling_too",
            (move(source, target), move(f"{folder}/{sibling}", f"{target}.bak")),
            ("F-SIDEEFFECT",),
        ),
    )
    return Params(layout, words, (move(source, target),), wrong, bystander, app)


REPORTS, INVOICES = "Documents/Reports", "Documents/Invoices"
PARAMS = {
    "files-rename-report-draft": _task(
        "reports", REPORTS, "report_2024_draft.txt", "report_2024_final.txt", "report_2024.txt",
        "report_2024_finel.txt", f"{REPORTS}/report_2023.txt",
    ),
    "files-rename-invoice-1042": _task(
        "invoices", INVOICES, "invoice_1042.csv", "invoice_1042_paid.csv", "invoice_1402.csv",
        "invoice_1042-paid.csv", f"{INVOICES}/invoice_1041.csv",
    ),
    "files-rename-garden-notes": _task(
        "projects", "Projects/garden", "notes.md", "notes 2024.md", "plan.md",
        "notes_2024.md", "Projects/garden-old/notes.md",
    ),
    "files-rename-garden-folder": _task(
        "projects", "Projects", "garden-old", "garden-2023", "garden",
        "garden 2023", "Projects/house/plan.md",
    ),
    "files-rename-report-ending": _task(
        "reports", REPORTS, "report_2024.txt", "report_2024.md", "report_2024_old.txt",
        "report_2024.txt.md", f"{REPORTS}/report_2023.txt", "xterm",
    ),
    "files-rename-old-backup": _task(
        "tools", "Tools/old", "backup.sh", "backup_letters.sh", "../backup.sh",
        "backup_letter.sh", "Tools/backup_db.sh", "xterm",
    ),
}  # fmt: skip


FAMILY = operations.family("files_rename", PARAMS)
