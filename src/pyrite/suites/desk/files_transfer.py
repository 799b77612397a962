"""Family files_transfer: move or copy files and folders; the target has a neighbour of nearly its name."""

from __future__ import annotations

from pathlib import PurePosixPath

from pyrite.suites.desk import operations
from pyrite.suites.desk.operations import Operation, Params, Wrong, copy, inside, move

ELSEWHERE = ("F-WRONGTARGET",)


def _task(
    layout: str, kind: str, folder: str, names: tuple[str, ...], to: str, wrong_to: str, sibling: str,
    bystander: str, app: str = "pcmanfm",
) -> Params:  # fmt: skip
    """`wrong_to`: a folder that may be mistaken for `to`; `sibling`: a name like one of `names`."""
    done = {"move": move, "copy": copy}[kind]

    def all_to(target: str, found: tuple[str, ...]) -> tuple[Operation, ...]:
        return tuple(done(f"{folder}/{name}", f"{target}/{PurePosixPath(name).name}") for name in found)

    listed = " and ".join(names)
    things = "folder" if "." not in names[0] else "file" if len(names) == 1 else "files"
    first = f"{folder}/{names[0]}"
    words = (
        f"{kind.capitalize()} the {things} {listed}{inside(layout, first)} from the folder {folder} "
        f"to the folder {to}. "
        "Leave everything else as it is."
    )
    right = all_to(to, names)
    last = right[-1]._replace(to=f"{right[-1].to}.bak")
    wrong = (
        Wrong("wrong_folder", all_to(wrong_to, names), ELSEWHERE),
        Wrong(
            "sibling", (*right[:-1], *all_to(to, (sibling,))), ELSEWHERE if kind == "move" else ("F-PARTIAL",)
        ),
        Wrong("sibling_too", (*right, *all_to(to, (sibling,))), ("F-SIDEEFFECT",)),
        Wrong("other_name", (*right[:-1], last), ELSEWHERE),
    )
    if kind == "copy" and len(names) == 1:
        wrong = (wrong[0], wrong[1]._replace(category=()), *wrong[2:])
    return Params(layout, words, right, wrong, bystander, app)


REPORTS, INVOICES, ARCHIVE = "Documents/Reports", "Documents/Invoices", "Documents/Archive"
PARAMS = {
    "files-move-report-2023": _task(
        "reports", "move", REPORTS, ("report_2023.txt",), ARCHIVE, "Documents/Archive old",
        "report_2024.txt", f"{ARCHIVE}/report_2022.txt",
    ),
    "files-move-invoices-paid": _task(
        "invoices", "move", INVOICES, ("invoice_1041.csv", "invoice_1402.csv"), "Documents/Paid",
        "Documents/Paid 2023", "invoice_1042.csv", "Documents/Paid/invoice_1040.csv",
    ),
    "files-move-plants": _task(
        "projects", "move", "Projects/garden", ("plants.txt",), "Projects/house", "Projects/garden-old",
        "notes.md", "Projects/house/plan.md",
    ),
    "files-copy-invoice-1042": _task(
        "invoices", "copy", INVOICES, ("invoice_1042.csv",), "Documents/Paid", "Documents/Paid 2023",
        "invoice_1042_copy.csv", f"{INVOICES}/invoice_1041.csv",
    ),
    "files-copy-garden-folder": _task(
        "projects", "copy", "Projects", ("garden",), "Projects/house", "Projects/garden-old",
        "garden-old", "Projects/house/plan.md", "xterm",
    ),
    "files-copy-tools-to-old": _task(
        "tools", "copy", "Tools", ("backup_db.sh", "cleanup.sh"), "Tools/old", "Tools/older",
        "README.txt", "Tools/backup.sh", "xterm",
    ),
}  # fmt: skip


FAMILY = operations.family("files_transfer", PARAMS)
