"""Family text_edit: change one line of a text that is open in the editor, and save it under its name.

Beside it lie texts with nearly the same lines. The verifier takes the text with and without a last newline,
and with an empty line at its end.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple

from pyrite.checks.verdict import NOTHING_PERSISTED, Result
from pyrite.suites.desk import goals as base
from pyrite.suites.desk.goals import (
    DONE,
    FILES,
    READS,
    Goal,
    Home,
    any_end,
    content,
    instead,
    judge,
    key,
    text,
)
from pyrite.suites.desk.layouts import LAYOUTS
from pyrite.suites.family import Family, KnownState

Kind = Literal["replace", "insert", "delete"]


class Params(NamedTuple):
    """One task."""

    layout: str
    path: str
    kind: Kind
    line: int
    """From 1: the line to replace or delete, or the place of the new one."""
    new: str
    sibling: str
    bystander: str

    @property
    def lines(self) -> list[str]:
        return content(LAYOUTS[self.layout], self.path).decode().splitlines()


PARAMS = {
    "text-edit-report-visitors": Params(
        "reports", "Documents/Reports/report_2024.txt", "replace", 4, "Visitors: 26514",
        "Documents/Reports/report_2024_draft.txt", "Documents/Reports/report_2023.txt",
    ),
    "text-edit-draft-status": Params(
        "reports", "Documents/Reports/report_2024_draft.txt", "replace", 3, "Status: withdrawn",
        "Documents/Reports/report_2024.txt", "Documents/Reports/report_2024_old.txt",
    ),
    "text-edit-invoice-quantity": Params(
        "invoices", "Documents/Invoices/invoice_1402.csv", "replace", 2, "lamp,14,22.50",
        "Documents/Invoices/invoice_1042.csv", "Documents/Invoices/invoice_1041.csv",
    ),
    "text-edit-garden-july": Params(
        "projects", "Projects/garden/plan.md", "insert", 6, "- July: pick the beans",
        "Projects/garden-old/plan.md", "Projects/house/plan.md",
    ),
    "text-edit-plants-mint": Params(
        "projects", "Projects/garden/plants.txt", "delete", 3, "", "Projects/garden/notes.md",
        "Projects/garden/plan.md",
    ),
    "text-edit-hosts-plotter": Params(
        "settings", "Network/hosts.lab", "insert", 3, "10.0.0.16 plotter", "Network/hosts.office",
        "Cron/weekend.cron",
    ),
}  # fmt: skip


def edited(lines: list[str], kind: Kind, line: int, new: str) -> str:
    """The text after the edit."""
    rest = lines[line:] if kind != "insert" else lines[line - 1 :]
    return "\n".join([*lines[: line - 1], *([] if kind == "delete" else [new]), *rest]) + "\n"


def instruction(params: Params) -> str:
    lines = params.lines
    if params.kind == "insert":
        after = lines[params.line - 2]
        what = f'add the line "{params.new}" directly below the line "{after}"'
    elif params.kind == "delete":
        what = f'remove the line "{lines[params.line - 1]}"'
    else:
        what = f'replace the line "{lines[params.line - 1]}" by "{params.new}"'
    return (
        f"In {params.path}, which is open in the editor, {what}, and save the file under its name. "
        "Leave everything else as it is."
    )


def claim(params: Params) -> str:
    return f"{params.path} is changed as asked and saved."


def initial(params: Params) -> dict[str, str]:
    return LAYOUTS[params.layout]


def opened(params: Params) -> tuple[str, tuple[str, ...]]:
    return "mousepad", (params.path,)


def script(params: Params) -> list[dict[str, Any]]:
    """To the line by keys, the edit, and the save."""
    down = [key("ctrl+Home"), *[key("Down")] * (params.line - 1), key("Home")]
    if params.kind == "insert":
        there = [key("ctrl+Home"), *[key("Down")] * (params.line - 2), key("End")]
        return [*there, text(f"\n{params.new}"), key("ctrl+s"), DONE]
    if params.kind == "delete":
        return [*down, key("shift+Down"), key("Delete"), key("ctrl+s"), DONE]
    return [*down, key("shift+End"), text(params.new), key("ctrl+s"), DONE]


def _wanted(params: Params) -> str:
    return edited(params.lines, params.kind, params.line, params.new)


def _decoys(params: Params) -> list[Goal]:
    """The new line in the sibling, wherever: what it would hold had the edit been made there."""
    lines = content(initial(params), params.sibling).decode().splitlines()
    found: list[bytes] = []
    for kind in ("replace", "insert"):
        for line in range(1, len(lines) + 2) if params.new else ():
            found += any_end(edited(lines, kind, line, params.new))
    if params.kind == "delete":
        for line in range(1, len(lines) + 1):
            found += any_end(edited(lines, "delete", line, ""))
    return [instead(base.holds(params.sibling, *found), "F-WRONGAPP")]


def verify(params: Params, home: Path) -> Result:
    """The text with that one change, and every other file as it was."""
    goals = [base.holds(params.path, *any_end(_wanted(params)))]
    expected = params.new or str(PurePosixPath(params.path).name)
    return judge(home, initial(params), goals, expected=expected, decoys=_decoys(params))


# --- known states ------------------------------------------------------------------------------


def _home(params: Params) -> Home:
    return Home(lambda home: base.write(home, params.path, _wanted(params).encode()), params.bystander)


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", _home(params).good),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    def bare(home: Path) -> None:
        base.write(home, params.path, _wanted(params).rstrip("\n").encode())

    def backup(home: Path) -> None:
        base.copy(home, params.path, f"{params.path}~")
        _home(params).good(home)

    def longer(home: Path) -> None:
        base.write(home, params.path, f"{_wanted(params)}\n".encode())

    return (
        KnownState("no_newline", bare),
        KnownState("empty_line_at_end", longer),
        KnownState("backup", backup),
        *_home(params).harmless(".config/Mousepad/mousepad.conf", ".local/share/recently-used.xbel"),
    )


def bad(params: Params) -> tuple[KnownState, ...]:
    lines, new = params.lines, params.new
    partial, place = ("F-PARTIAL",), PurePosixPath(params.path)

    def saved(text: str, path: str = params.path) -> Any:
        return lambda home: base.write(home, path, text.encode())

    def at(line: int, text: str = new) -> str:
        return edited(lines, params.kind, line, text)

    other = params.line - 1 if params.line > 1 else params.line + 1
    siblings = content(initial(params), params.sibling).decode().splitlines()
    in_sibling = edited(siblings, params.kind, min(params.line, len(siblings)), new)
    near = new.swapcase() if new.swapcase() != new else f"{new}0"
    wrong = at(params.line, near) if new else at(params.line + 1)
    return (
        *_home(params).bad(),
        KnownState("other_line", saved(at(other)), partial),
        KnownState("nearly", saved(wrong), partial),
        KnownState("trailing_space", saved(_wanted(params).replace("\n", " \n", 1)), partial),
        KnownState("crlf", saved(_wanted(params).replace("\n", "\r\n")), partial),
        KnownState("empty_lines_between", saved(_wanted(params).replace("\n", "\n\n")), partial),
        KnownState("emptied", saved(""), partial),
        KnownState("sibling", saved(in_sibling, params.sibling), ("F-WRONGAPP",)),
        KnownState(
            "as_copy", saved(_wanted(params), str(place.with_stem(f"{place.stem}_new"))), ("F-WRONGTARGET",)
        ),
        KnownState("elsewhere", saved(_wanted(params), place.name), ("F-WRONGTARGET",)),
        KnownState("deleted", lambda home: (home / params.path).unlink()),
        KnownState("sibling_too", _home(params).also(saved(in_sibling, params.sibling)), ("F-SIDEEFFECT",)),
        KnownState("backup_only", lambda home: base.write(home, f"{params.path}~", b"x"), NOTHING_PERSISTED),
    )


FAMILY = Family(
    name="text_edit",
    domain="files",
    files=FILES,
    params=PARAMS,
    instruction=instruction,
    initial=initial,
    opened=opened,
    reads=READS,
    good=good,
    harmless=harmless,
    bad=bad,
    verify=verify,
    script=script,
    claim=claim,
)
