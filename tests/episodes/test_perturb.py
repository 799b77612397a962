from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.episodes.perturb import KINDS, _letters, _number
from pyrite.records import Action

TASK = "In Documents/sales.xlsx, sheet April, set cell F12 to 1299.5 and save the file."
SCRIPT = [
    Action(action="key", keys="ctrl+shift+t"),
    Action(action="type", text="April.F12"),
    Action(action="key", keys="Return"),
    Action(action="type", text="1299.5"),
    Action(action="key", keys="Return"),
    Action(action="key", keys="ctrl+s"),
    Action(action="key", keys="Return"),
]


def keys(kind: str) -> list[str]:
    changed = KINDS[kind](SCRIPT, TASK)
    assert changed is not None
    return [action.keys or action.text or "" for action in changed]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("drop-save", ["ctrl+shift+t", "April.F12", "Return", "1299.5", "Return"]),
        ("shift-row", ["ctrl+shift+t", "April.F13", "Return", "1299.5", "Return", "ctrl+s", "Return"]),
        ("shift-column", ["ctrl+shift+t", "April.G12", "Return", "1299.5", "Return", "ctrl+s", "Return"]),
        ("cancel-dialog", ["ctrl+shift+t", "April.F12", "Return", "1299.5", "Return", "ctrl+s", "Escape"]),
    ],
)
def test_one_defect_and_nothing_else(kind: str, expected: list[str]) -> None:
    assert keys(kind) == expected


def test_a_copy_is_saved_under_another_name_and_its_dialog_is_still_answered() -> None:
    assert keys("save-copy")[5:] == ["ctrl+shift+s", "ctrl+a", "sales-copy.xlsx", "Return", "Return"]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_defect_that_does_not_apply_is_none(kind: str) -> None:
    assert KINDS[kind]([Action(action="wait", seconds=1)], "Do nothing.") is None


def test_without_a_dialog_there_is_nothing_to_cancel() -> None:
    assert KINDS["cancel-dialog"](SCRIPT[:-1], TASK) is None


@given(st.integers(1, 16384))
def test_column_letters_round_trip(number: int) -> None:
    assert _number(_letters(number)) == number


def test_the_last_column_of_a_letter_carries() -> None:
    changed = KINDS["shift-column"]([Action(action="type", text="Z9")], TASK)
    assert changed is not None
    assert changed[0].text == "AA9"
