from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.judges.screen_rules.values import readings, rounded_number, same_number, shapes, trimmed

finite = st.decimals(min_value=-(10**9), max_value=10**9, places=2, allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("shown", "wanted"),
    [
        ("4500", "4500"),
        ("4,500.00", "4500"),
        ("$4,500", "4500"),
        ("4500 €", "4500"),
        ("45OO", "4500"),
        ("l950", "1950"),
        ("−12.50", "-12.5"),
        ("(12.50)", "-12.5"),
        ("45%", "0.45"),
        ("4 500", "4500"),
        ("4.5E+03", "4500"),
        (".5", "0.5"),
        ("1950", "1,950"),
    ],
)
def test_numbers_are_compared_as_numbers(shown: str, wanted: str) -> None:
    assert same_number(shown, wanted, english=True)


@pytest.mark.parametrize(
    "shown", ["", "4501", "45000", "450", "4500x", "Q4500", "-4500", "4.5.0.0", "O", "###", "45,00"]
)
def test_other_things_are_not_the_number(shown: str) -> None:
    assert not same_number(shown, "4500", english=True)


def test_a_comma_may_be_a_point_only_where_the_language_is_not_known_to_be_english() -> None:
    assert same_number("4.500,00", "4500", english=False)
    assert same_number("12,5", "12.5", english=False)
    assert not same_number("4.500,00", "4500", english=True)
    assert not same_number("4.500", "4500", english=True)


@given(finite)
def test_a_number_written_with_separators_is_itself(number: Decimal) -> None:
    assert same_number(f"{number:,.2f}", str(number), english=True)
    swapped = f"{number:,.2f}".translate(str.maketrans(",.", ".,"))
    assert same_number(swapped, str(number), english=False)


@given(finite, finite)
def test_different_numbers_differ(one: Decimal, other: Decimal) -> None:
    assert same_number(f"{one:.2f}", f"{other:.2f}", english=True) == (one == other)


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    assert all(number.is_finite() for number in readings(text, english=False))
    rounded_number(text, "4500", english=False)
    assert shapes(text) == shapes(text)
    assert trimmed(trimmed(text)) == trimmed(text)


def test_a_rounded_number_is_told_from_another_one() -> None:
    assert rounded_number("3.14", "3.14159", english=True)
    assert not rounded_number("3.15", "3.14159", english=True)
    assert not rounded_number("4500", "4500", english=True)


def test_look_alikes_have_equal_shapes_and_others_do_not() -> None:
    assert shapes("q3_budget.ods") == shapes("Q3 budget.0ds")
    assert shapes("budget.ods") != shapes("budget-copy.ods")
    assert shapes("q3_budget.ods") != shapes("q2_budget.ods")
