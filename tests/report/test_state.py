"""What a verifier noted, as rows of initial, good and found; whatever it noted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.report.state import Row, read

TARGET = {"file": "Documents/a.ods", "sheet": "Q3", "cell": "D14", "expected": "4500", "found": "4200"}
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from(
    ["file", "sheet", "cell", "expected", "found", "initial", "target", "elsewhere", "damage", "damage_count"]
)


def test_what_was_never_written_is_the_initial_value() -> None:
    (row,) = read({**TARGET, "target": "unchanged", "elsewhere": [], "damage": []}, passed=False).rows
    assert row == Row("Documents/a.ods Q3!D14", "4200", "4500", "4200", "differs", "never written")
    assert row.line == "Documents/a.ods Q3!D14: found 4200, expected 4500"


def test_the_initial_value_is_not_guessed() -> None:
    (row,) = read({**TARGET, "target": "wrong"}, passed=False).rows
    assert (row.initial, row.mark, row.note) == (None, "differs", "differs")
    (row,) = read({**TARGET, "initial": None}, passed=False).rows
    assert row.initial == "(empty)"


@pytest.mark.parametrize(
    ("said", "passed", "mark"),
    [
        ({"found": "4500"}, None, "same"),
        ({"found": 'text "4500"', "target": "right"}, False, "same"),
        ({"found": "4500.0"}, True, "same"),
        ({"found": "4500.0"}, False, "differs"),
    ],
)
def test_what_is_as_expected(said: dict[str, Any], passed: bool | None, mark: str) -> None:
    assert read({**TARGET, **said}, passed=passed).rows[0].mark == mark


def test_a_value_in_another_cell_is_one_row_with_what_was_there() -> None:
    noted = {
        **TARGET,
        "elsewhere": [{"file": "Documents/a.ods", "sheet": "Q3", "cells": "D15", "new_file": False}],
        "damage": [
            {"file": "Documents/a.ods", "sheet": "Q3", "cells": "D15", "before": "3650", "after": "4500"},
            {"file": "Documents/b.ods", "change": "removed"},
        ],
        "damage_count": 7,
    }
    found = read(noted, passed=False)
    _, elsewhere, removed = found.rows
    assert elsewhere == Row(
        "Documents/a.ods Q3!D15", "3650", "3650", "4500", "elsewhere", "holds the value, not asked for here"
    )
    assert elsewhere.line.endswith("not asked for here, before 3650")
    assert removed == Row("Documents/b.ods", "present", "present", "removed", "damage", "removed")
    assert (found.notes, found.more) == ((), 5)
    assert [kind for kind, _ in found.lines()] == ["target", "elsewhere", "damage"]


def test_a_copy_that_holds_the_value_is_one_row() -> None:
    noted = {
        **TARGET,
        "elsewhere": [{"file": "Documents/c.ods", "sheet": "Q3", "cells": "D14", "new_file": True}],
        "damage": [{"file": "Documents/c.ods", "change": "added"}],
        "damage_count": 1,
    }
    found = read(noted, passed=False)
    assert [(row.place, row.initial, row.good) for row in found.rows[1:]] == [
        ("Documents/c.ods Q3!D14", "absent", "absent")
    ]
    assert found.notes == ()


def test_what_is_not_understood_stays_a_note() -> None:
    noted = {"damage": ["b.ods", 3], "elsewhere": [{"deep": {"a": [1]}}], "found": 0, "empty": []}
    found = read(noted, passed=False)
    assert found.rows == ()
    assert dict(found.notes) == {"found": "0", "damage": "b.ods; 3", "elsewhere": 'deep {"a": [1]}'}


def test_many_rows_and_notes_are_counted() -> None:
    damage = [{"file": f"f{i}", "change": "added"} for i in range(200)]
    found = read({"damage": damage, **{f"n{i}": i for i in range(100)}}, passed=False)
    assert len(found.rows) + len(found.notes) + found.more == 300


@given(st.dictionaries(KEYS | st.text(max_size=5), JSON, max_size=8), st.none() | st.booleans())
def test_whatever_a_verifier_notes_nothing_is_lost_and_nothing_breaks(
    noted: dict[str, Any], passed: bool | None
) -> None:
    found = read(noted, passed=passed)
    for row in found.rows:
        assert isinstance(row.line, str)
    assert all(isinstance(text, str) for _, text in found.lines())
    for key, value in noted.items():
        if value not in (None, "", [], {}) and not isinstance(value, list | dict) and not found.rows:
            assert key.replace("_", " ") in dict(found.notes) or key == "damage_count"
