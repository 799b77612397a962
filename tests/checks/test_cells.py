"""The sparse model of a sheet against a plain dictionary of cells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.checks.cells import (
    EMPTY,
    Cell,
    CellRun,
    RowRun,
    Sheet,
    changes,
    describe,
    number_cell,
    position,
    reference,
    same_content,
)

contents = st.sampled_from(
    [EMPTY, Cell("number", 1.0), Cell("number", 2.0), Cell("text", "1"), Cell("number", 1.0, "=A1")]
)


@st.composite
def sheets(draw: st.DrawFn) -> Sheet:
    """Rows and cells in runs with gaps, as files store them."""
    rows = []
    row = 0
    for _ in range(draw(st.integers(0, 4))):
        first = row + draw(st.integers(1, 3))
        row = first + draw(st.integers(0, 3))
        cells = []
        column = 0
        for _ in range(draw(st.integers(1, 3))):
            start = column + draw(st.integers(1, 3))
            column = start + draw(st.integers(0, 2))
            cells.append(CellRun(start, column, draw(contents)))
        rows.append(RowRun(first, row, tuple(cells)))
    return Sheet("s", tuple(rows))


def spread(sheet: Sheet) -> dict[tuple[int, int], Cell]:
    return {
        (row, column): run.item
        for rows in sheet.rows
        for row in range(rows.first, rows.last + 1)
        for run in rows.item
        for column in range(run.first, run.last + 1)
    }


@given(sheets())
def test_at_agrees_with_the_spread_sheet(sheet: Sheet) -> None:
    cells = spread(sheet)
    for row in range(1, 26):
        for column in range(1, 16):
            assert sheet.at(reference(row, column)) == cells.get((row, column), EMPTY)


@given(sheets(), sheets())
def test_changes_are_exactly_the_cells_that_differ(one: Sheet, other: Sheet) -> None:
    old, new = spread(one), spread(other)
    expected = {
        at for at in old.keys() | new.keys() if not same_content(old.get(at, EMPTY), new.get(at, EMPTY))
    }
    found = [
        (row, column)
        for block in changes(one, other)
        for row in range(block.first_row, block.last_row + 1)
        for column in range(block.first_column, block.last_column + 1)
    ]
    assert sorted(found) == sorted(expected)


def test_a_million_repeats_are_compared_without_being_spread() -> None:
    whole = Sheet("s", (RowRun(1, 1 << 20, (CellRun(1, 1 << 14, Cell("number", 7.0)),)),))
    hole = Sheet(
        "s",
        (
            RowRun(1, 13, (CellRun(1, 1 << 14, Cell("number", 7.0)),)),
            RowRun(14, 14, (CellRun(1, 3, Cell("number", 7.0)), CellRun(5, 1 << 14, Cell("number", 7.0)))),
            RowRun(15, 1 << 20, (CellRun(1, 1 << 14, Cell("number", 7.0)),)),
        ),
    )
    assert [block.cells for block in changes(whole, hole)] == ["D14"]


@given(st.integers(1, 9_999_999), st.integers(1, 18_278))
def test_reference_and_position_are_inverse(row: int, column: int) -> None:
    assert position(reference(row, column)) == (row, column)


@pytest.mark.parametrize("text", ["", "14", "D", "D0", "AAAA1", "D14 ", "D-1", "D1:E2", "D１"])
def test_what_is_no_reference_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a cell reference"):
        position(text)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (Cell("number", 4500.0), Cell("number", 4500.0, None, "currency"), True),
        (Cell("number", 4500.0), Cell("number", 4501.0), False),
        (Cell("number", 0.1 + 0.2), Cell("number", 0.3), True),
        (Cell("number", 1.0), Cell("text", "1"), False),
        (Cell("number", 1.0), Cell("boolean", True), False),
        (Cell("text", ""), EMPTY, True),
        (Cell("text", "a"), Cell("text", "A"), False),
        (Cell("text", "a"), Cell("text", "a "), False),
        (Cell("number", 3.0, "=1+2"), Cell("number", 9.0, "=1+2"), True),
        (Cell("number", 3.0, "=1+2"), Cell("number", 3.0), False),
        (Cell("date", "2024-01-31T00:00:00"), Cell("date", "2024-01-31T00:00:00"), True),
        (Cell("date", "2024-01-31T00:00:00"), Cell("text", "2024-01-31T00:00:00"), False),
    ],
)
def test_same_content(one: Cell, other: Cell, same: bool) -> None:
    assert same_content(one, other) is same
    assert same_content(other, one) is same


@pytest.mark.parametrize("text", ["NaN", "inf", "-1e999", "", "4,5", "0x10", "1_0_"])
def test_a_stored_number_that_is_none_is_an_error_cell(text: str) -> None:
    assert number_cell(text).kind == "error"


def test_describe_is_bounded() -> None:
    assert len(describe(Cell("text", "x" * 10_000))) == 200
    assert describe(Cell("number", 2.0, "=A1*2")) == "formula =A1*2 showing 2"
