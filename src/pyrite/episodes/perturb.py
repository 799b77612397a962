"""One injected defect in a recorded action list; the result is replayed on the real desktop.

    drop-save      the save and what answers its dialog are left out
    shift-row      the target one row further down
    shift-column   the target one column further right
    save-copy      saved under another name instead
    cancel-dialog  the dialog that the save brings up is cancelled

A perturbed episode keeps its task, its final message and its parent's id. Where a defect does not
apply (no dialog came up), `apply` says None: nothing is made up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from pyrite.records import Action

_SAVE = "ctrl+s"
_CELL = re.compile(r"^(?P<sheet>\$?'?[^!]*?'?[.!])?\$?(?P<column>[A-Z]{1,3})\$?(?P<row>[0-9]{1,7})$")
_DOCUMENT = re.compile(r"[\w./ -]+\.(?:ods|xlsx|odt|docx|csv)\b")


def drop_save(actions: Sequence[Action], instruction: str) -> list[Action] | None:
    """Leave out the last save and everything after it."""
    save = _last_save(actions)
    return None if save is None else list(actions[:save])


def shift_row(actions: Sequence[Action], instruction: str) -> list[Action] | None:
    """Go to the cell below the target."""
    return _shift(actions, rows=1, columns=0)


def shift_column(actions: Sequence[Action], instruction: str) -> list[Action] | None:
    """Go to the cell right of the target."""
    return _shift(actions, rows=0, columns=1)


def save_copy(actions: Sequence[Action], instruction: str) -> list[Action] | None:
    """Save under another name, answering the same dialogs as before."""
    save, document = _last_save(actions), _DOCUMENT.search(instruction)
    if save is None or document is None:
        return None
    name = PurePosixPath(document.group().strip())
    as_copy = [
        Action(action="key", keys="ctrl+shift+s"),
        Action(action="key", keys="ctrl+a"),
        Action(action="type", text=f"{name.stem}-copy{name.suffix}"),
        Action(action="key", keys="Return"),
    ]
    return [*actions[:save], *as_copy, *actions[save + 1 :]]


def cancel_dialog(actions: Sequence[Action], instruction: str) -> list[Action] | None:
    """Press Escape where Return answered the dialog that the save brought up."""
    save = _last_save(actions)
    if save is None:
        return None
    answered = [i for i in range(save + 1, len(actions)) if actions[i].keys == "Return"]
    if not answered:
        return None
    return [*actions[: answered[0]], Action(action="key", keys="Escape"), *actions[answered[0] + 1 :]]


KINDS: dict[str, Callable[[Sequence[Action], str], list[Action] | None]] = {
    "drop-save": drop_save,
    "shift-row": shift_row,
    "shift-column": shift_column,
    "save-copy": save_copy,
    "cancel-dialog": cancel_dialog,
}


def _last_save(actions: Sequence[Action]) -> int | None:
    saves = [i for i, action in enumerate(actions) if action.action == "key" and action.keys == _SAVE]
    return saves[-1] if saves else None


def _shift(actions: Sequence[Action], *, rows: int, columns: int) -> list[Action] | None:
    for i, action in enumerate(actions):
        match = _CELL.match(action.text or "") if action.action == "type" else None
        if match:
            column = _letters(_number(match["column"]) + columns)
            moved = f"{match['sheet'] or ''}{column}{int(match['row']) + rows}"
            return [*actions[:i], Action(action="type", text=moved), *actions[i + 1 :]]
    return None


def _number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def _letters(number: int) -> str:
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
