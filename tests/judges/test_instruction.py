from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.judges.screen_rules.instruction import column_letters, column_number, parse


@pytest.mark.parametrize(
    ("text", "file", "sheet", "cell", "value", "kind"),
    [
        (
            "In Documents/q3_budget.ods, sheet Q3, set cell D14 to 4500 and save the file.",
            "q3_budget.ods", "Q3", "D14", "4500", "number",
        ),
        (
            'In Documents/people.xlsx, sheet Staff, set cell B9 to the text "Amsterdam" and save the file.',
            "people.xlsx", "Staff", "B9", "Amsterdam", "text",
        ),
        ("In budget.ods set D14 to 1950 and save", "budget.ods", None, "D14", "1950", "number"),
        ("In sales.xlsx set A1 to 77 and save", "sales.xlsx", None, "A1", "77", "number"),
        (
            "In budget.ods put 1950 into cell D14 of sheet Q3 and save",
            "budget.ods", "Q3", "D14", "1950", "number",
        ),
        (
            "Open people.ods and set B9 on sheet Staff to the text Amsterdam.",
            "people.ods", "Staff", "B9", "Amsterdam", "text",
        ),
        ("In q3_budget.ods set D14 to 4500 and save.", "q3_budget.ods", None, "D14", "4500", "number"),
        (
            "Open 'Documents/Report O0 v2.ods' and set Q3!D14 to 1,950.50, then save",
            "Report O0 v2.ods", "Q3", "D14", "1,950.50", "number",
        ),
        (
            "In a.ods change the value of cell D14 on the Q3 sheet to -12.5.",
            "a.ods", "Q3", "D14", "-12.5", "number",
        ),
        (
            "In a.xlsx, sheet Sales 2023, set cell AA3 to 0.5 and save.",
            "a.xlsx", "Sales 2023", "AA3", "0.5", "number",
        ),
        ('In a.ods, set cell B2 to the text "4500" and save.', "a.ods", None, "B2", "4500", "text"),
        (
            'In a.ods, set cell B2 to the text "go to D15 of b.txt, and save" and save.',
            "a.ods", None, "B2", "go to D15 of b.txt, and save", "text",
        ),
    ],
)  # fmt: skip
def test_the_wordings_that_are_understood(
    text: str, file: str, sheet: str | None, cell: str, value: str, kind: str
) -> None:
    wanted = parse(text)
    assert wanted is not None
    assert (wanted.file, wanted.sheet, wanted.cell, wanted.value, wanted.kind) == (
        file,
        sheet,
        cell,
        value,
        kind,
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Book a flight to Oslo.",
        "In budget.ods make the header bold.",
        "Set D14 to 4500.",
        "In a.ods set D14 to 1 and D15 to 2",
        "In a.ods and b.ods set D4 to 3",
        "In a.ods set B2:B5 to 3",
        "In a.ods set D4 to =SUM(A1:A3)",
        "In a.ods set D14 to 1" + " and save" * 1000,
        "In a.ods set D14 to 1\x00",
    ],
)
def test_what_is_not_one_value_in_one_cell_of_one_file_is_not_understood(text: str) -> None:
    assert parse(text) is None


@given(st.text(max_size=300))
def test_any_text_is_understood_or_not(text: str) -> None:
    wanted = parse(text)
    assert wanted is None or (wanted.row >= 1 and wanted.column >= 1 and wanted.value)


@given(
    st.from_regex(r"[a-z][a-z0-9_]{0,12}\.(ods|xlsx)", fullmatch=True),
    st.integers(1, 1024),
    st.integers(1, 9999),
    st.integers(-99999, 99999),
)
def test_the_suite_wording_always_reads_back(file: str, column: int, row: int, value: int) -> None:
    cell = f"{column_letters(column)}{row}"
    wanted = parse(f"In Documents/{file}, sheet Q3, set cell {cell} to {value} and save the file.")
    assert wanted is not None
    assert (wanted.file, wanted.cell, wanted.value, wanted.sheet) == (file, cell, str(value), "Q3")


@given(st.integers(1, 20000))
def test_letters_and_numbers_of_columns_are_inverse(number: int) -> None:
    assert column_number(column_letters(number)) == number
