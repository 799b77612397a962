"""Moved formulas against openpyxl's translator."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.formula.translate import Translator

from pyrite.checks.cells import reference
from pyrite.checks.formulas import translate

cells = st.builds(
    lambda row, column, marks: marks[0] + reference(row, column).rstrip("0123456789") + marks[1] + str(row),
    st.integers(20, 90),
    st.integers(20, 90),
    st.tuples(st.sampled_from(["", "$"]), st.sampled_from(["", "$"])),
)
operands = st.one_of(
    cells,
    st.builds("{}:{}".format, cells, cells),
    st.builds("Sheet1!{}".format, cells),
    st.builds("'My A1 sheet'!{}".format, cells),
    st.sampled_from(['"A1 said ""B2"""', "12", "1.5", "TRUE", "LOG10(C30)", "A:A", "$B:C", "3:4", "rate_A1"]),
)
formulas = st.lists(operands, min_size=1, max_size=4).map("+".join)


@given(formulas, st.integers(0, 15), st.integers(0, 15))
def test_agrees_with_openpyxl(formula: str, down: int, across: int) -> None:
    expected = Translator(f"={formula}", origin="Z50").translate_formula(reference(50 + down, 26 + across))
    assert f"={translate(formula, down, across)}" == expected


@pytest.mark.parametrize(
    ("formula", "down", "across", "moved"),
    [
        ("A1+B2", -1, 0, "#REF!+B1".replace("#REF!", "A#REF!")),
        ("A1", 0, 0, "A1"),
        ("$A$1", 9, 9, "$A$1"),
        ("", 1, 1, ""),
    ],
)
def test_edges(formula: str, down: int, across: int, moved: str) -> None:
    assert translate(formula, down, across) == moved
