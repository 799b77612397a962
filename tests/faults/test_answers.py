"""Public reports of comparators: correct answers that failed, and wrong ones that passed.

The type of a value is declared, and the answer names the rule that it went by.
"""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from pyrite.checks.cells import read_workbook
from pyrite.checks.compare import (
    Date,
    Id,
    Items,
    Kind,
    Lines,
    Number,
    Query,
    Text,
    Time,
    TimeRange,
    Url,
    compare,
    one_of,
)


def equal(got: object, expected: object, kind: Kind) -> bool | None:
    return compare(got, expected, kind).equal


def test_an_id_that_is_padded_with_zeros() -> None:
    """github.com/web-arena-x/visualwebarena/issues/71: two harnesses, two answers."""
    as_id, as_text = compare("00042", "42", Id()), compare("00042", "42", Text())
    assert (as_id.equal, as_id.rule) == (True, "id")
    assert (as_text.equal, as_text.rule) == (False, "text")
    assert equal("100042", "42", Id()) is False


@pytest.mark.parametrize("answer", ["The total is 7.", "7.", "7", "It is 7!"])
def test_a_full_stop_behind_a_number(answer: str) -> None:
    """github.com/web-arena-x/visualwebarena/issues/84: the tokenizer glues it to the digit."""
    assert equal(answer, "7", Number(sentence=True)) is True
    assert equal(answer.replace("7", "7.5"), "7", Number(sentence=True)) is False


@pytest.mark.parametrize("tail", ["all", "/all", "?page=2", "%20", ".json"])
def test_an_address_with_something_behind_it(tail: str) -> None:
    """github.com/web-arena-x/webarena/pull/77: an extra suffix is accepted."""
    assert equal(f"http://forum.example/r/view{tail}", "/r/view", Url()) is False
    assert equal("http://forum.example/r/view", "/r/view", Url()) is True


def test_a_date_in_other_words() -> None:
    """github.com/web-arena-x/webarena/issues/134: one exact phrase is required.

    What may be two dates is neither.
    """
    assert equal("3 Nov", "November 3rd", Date()) is True
    assert equal("Oct 21st", "2025-10-21", Date(year=2025)) is True
    assert equal("4 Nov", "November 3rd", Date()) is False
    assert equal("03/04", "3 April", Date()) is None
    assert equal("03/04/2025", "2025-04-03", Date()) is None


def test_a_number_with_its_unit() -> None:
    """github.com/web-arena-x/visualwebarena/issues/41: "21 inches" fails an exact "21"."""
    kilograms = Number(units=("kg",))
    assert equal("12 kg", "12", kilograms) is True
    assert equal("12", "12 kg", kilograms) is True
    assert equal("12 g", "12", kilograms) is False
    assert equal("12 kg", "12", Number()) is False
    assert "kg" in compare("12 kg", "12", kilograms).rule


def test_two_cases_that_exclude_each_other() -> None:
    """github.com/ServiceNow/BrowserGym/issues/93: an if that should be an elif takes both branches."""
    found = one_of("0042", {"by number": "42", "by code": "042"}, Id())
    assert (found.name, found.also) == ("by number", ("by code",))
    assert "by code" in found.compared.reason


def test_two_spellings_of_is_empty() -> None:
    """github.com/ServiceNow/WorkArena/issues/77: only "=" is accepted."""
    encoded = Query(separator="^", empty=("ISEMPTY",))
    expected = "active=true^short_description="
    assert equal("active=true^short_description=", expected, encoded) is True
    assert equal("short_descriptionISEMPTY^active=true", expected, encoded) is True
    assert equal("short_descriptionISNOTEMPTY^active=true", expected, encoded) is False


def test_two_orders_of_one_set() -> None:
    """github.com/benchflow-ai/benchflow/issues/137: a plan that is equal up to order, and a millisecond."""
    steps, other = ["read", "write", "close"], ["write", "read", "close"]
    assert equal(other, steps, Items()) is True
    strict = compare(other, steps, Items(ordered=True))
    assert (strict.equal, strict.reason) == (False, "the same items in another order")
    assert "strict order" in strict.rule
    assert equal("10:00:00.124", "10:00:00.123", Time(within_s=1)) is True


@pytest.mark.parametrize(
    "talk", ["room 10", "It is in room 10, 20 USD a night.", "10 rooms", "USD 100", "v1.10"]
)
def test_a_number_anywhere_in_the_talk(talk: str) -> None:
    """github.com/sierra-research/tau-bench/pull/16: "10" anywhere counts, where the price is 10."""
    assert equal(talk, "10", Number(units=("USD",), unit_needed=True, sentence=True)) is False
    assert equal(talk, "10", Number(units=("USD",))) is False
    assert equal("Room 12 is 10 USD.", "10", Number(units=("USD",), unit_needed=True, sentence=True)) is True


@pytest.mark.parametrize("edge", ["00:00", "09:59", "19:59", "20:00", "23:59", "9:05"])
def test_a_time_at_the_edge_of_the_clock(edge: str) -> None:
    """github.com/karakuri-ai/OSWorld-JP/commit/924e0fcd17d9797aa003f36f3faf27378d592350: its own pattern."""
    assert equal(edge, "00:00-23:59", TimeRange()) is True
    assert equal(edge, f"{edge}-{edge}", TimeRange()) is True
    assert equal("24:01", "00:00-23:59", TimeRange()) is False


# --- of the sources and not of the trackers ----------------------------------------------------


def test_rounding_both_sides_is_no_tolerance() -> None:
    """Values 2e-11 apart on the two sides of an edge: rounded to four digits, they differ."""
    one, other = 0.12345000001, 0.12344999999
    assert f"{one:.4f}" != f"{other:.4f}"
    assert equal(one, other, Number(within=1e-9)) is True
    assert equal(one, other, Number()) is False
    assert equal(0.12346, 0.12354, Number(within=1e-5)) is False, "rounded to three digits, they are equal"


def test_a_formula_that_was_never_calculated_was_not_read(tmp_path: Path) -> None:
    """A script writes =2+3 and nothing recalculates: no value is there, which is no 0 and no difference."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Q3"
    sheet["A1"] = "=2+3"
    book.save(tmp_path / "b.xlsx")
    cell = read_workbook(tmp_path / "b.xlsx").sheets["Q3"].at("A1")
    assert cell.formula == "=2+3"
    assert (cell.kind, cell.value) == ("empty", None)
    for unread in (cell.value, float("nan"), None):
        found = compare(unread, 5, Number())
        assert (found.equal, found.why) == (None, "nothing_read")
        assert found.result("F-PARTIAL").cause == "verifier_says_unknown"


def test_a_name_in_a_listing_is_a_whole_line() -> None:
    """`ls DIR | grep NAME` as one argument list lists the folder, and test.py is part of mytest.py."""
    assert "test.py" in "README\nmytest.py\n"
    assert equal("README\nmytest.py\n", "test.py", Lines()) is False
    assert equal("README\ntest.py\n", "test.py", Lines()) is True
