"""Comparators: what each declared type calls equal, different and not comparable, and what holds for all."""

from __future__ import annotations

import datetime as dt
import doctest
import importlib
import math
import subprocess
import sys
import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pyrite.checks.compare import (
    NOTATIONS,
    Date,
    Id,
    Integer,
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
from pyrite.checks.compared import MAX_TEXT, Compared
from pyrite.checks.verdict import render

MODULES = ("compare", "compared", "dates", "lists", "quantities", "texts", "times", "urls")

KINDS: tuple[Kind, ...] = (
    Text(),
    Text(case=False),
    Text(space=True),
    Id(),
    Id(padded=False),
    Number(),
    Number(sentence=True),
    Number(within=0.5, within_relative="0.01", notations=("en", "de"), units=("kg", "kilogram")),
    Integer(),
    Date(),
    Date("dmy", year=2025),
    Time(),
    Time(within_s=90),
    TimeRange(),
    Url(),
    Url(query="ordered", fragment=True, scheme=False, trailing_slash=True),
    Query(),
    Query("^", empty=("ISEMPTY",), ordered=True),
    Lines(),
    Items(separator=","),
    Items(Number(within=1), ordered=True, separator=";"),
    Items(Date(), repeats=False, separator=","),
)
"""One or more of every type."""

NOT_SYMMETRIC = (Lines, TimeRange, Time, Url)
"""What is expected has a shape of its own: a line among lines, a range, a precision, a path alone."""

PIECES = st.sampled_from(
    [
        *("3 Nov", "November 3rd, 2025", "2025-11-03", "03/04", "03/04/25", "17:30", "09:00-17:30", "5 pm"),
        *(
            "7",
            "007",
            "-7",
            "7.",
            "1,234",
            "1.234",
            "1'234",
            "12 kg",
            "kg 12",
            "7e3",
            "\u22127",
            "total is 7",
        ),
        *("https://a.example/x?b=1&a=2", "/x", "a.example", "//", "http://[", "?a=&b", "a=1^bISEMPTY", "%zz"),
        *("a,b", "a;b", "\n", "e\u0301", "\u00e9", "ß", "\ud800", "\0", " ", "\u202f", "", "١٢", "²", "NaN"),
    ]
)
TEXTS = st.one_of(
    st.text(max_size=30),
    st.lists(PIECES, max_size=4).map("".join),
    st.lists(PIECES, max_size=3).map(" ".join),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.decimals(),
    TEXTS,
    st.binary(max_size=4),
    st.dates(),
    st.datetimes(),
    st.times(),
)
VALUES = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=4),
    st.tuples(SCALARS, SCALARS),
    st.frozensets(st.text(max_size=3), max_size=3),
    st.dictionaries(st.text(max_size=2), SCALARS, max_size=2),
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"pyrite.checks.{name}")).failed == 0


# --- what holds for every type -----------------------------------------------------------------


@given(VALUES, VALUES, st.sampled_from(KINDS))
@example(10**5000, 10**5000, Number())
@example(Decimal("1e999999"), "1e999999999", Number(within=1))
@example(Decimal("sNaN"), 1, Number())
@example("1" * 3000, 1, Number())
@example(-math.inf, math.inf, Id())
def test_a_comparison_answers_whatever_it_is_given(got: Any, expected: Any, kind: Kind) -> None:
    found = compare(got, expected, kind)
    assert found.equal in {True, False, None}
    assert found.rule.startswith(kind.rule)
    assert (found.equal is None) == (found.why != "")
    assert found.equal is True or found.reason
    assert len(found.reason) < 500
    render(found.result("F-PARTIAL"))


@given(VALUES, st.sampled_from([kind for kind in KINDS if not isinstance(kind, Lines)]))
def test_nothing_differs_from_itself(value: Any, kind: Kind) -> None:
    assert compare(value, value, kind).equal is not False


@given(TEXTS, st.sampled_from([Text(), Text(case=False), Text(space=True)]))
def test_a_text_equals_itself(value: str, kind: Kind) -> None:
    assert compare(value, value, kind).equal is True


@given(st.one_of(st.integers(-(10**300), 10**300), st.floats(allow_nan=False, allow_infinity=False)))
def test_a_number_equals_itself_as_a_number_and_as_a_text(value: float) -> None:
    assert compare(value, value, Number()).equal is True
    assert compare(str(value), value, Number()).equal is True


@given(VALUES, VALUES, st.sampled_from([kind for kind in KINDS if not isinstance(kind, NOT_SYMMETRIC)]))
def test_the_two_sides_may_be_swapped(one: Any, other: Any, kind: Kind) -> None:
    """Save that what is no value of the type at all is different where found, no question where expected."""
    if isinstance(kind, Number) and (kind.sentence or kind.within_relative):
        return
    ahead, back = compare(one, other, kind), compare(other, one, kind)
    if "expected" in {ahead.why, back.why}:
        assert True not in {ahead.equal, back.equal}
    else:
        assert ahead.equal == back.equal


@given(VALUES, st.sampled_from(KINDS))
def test_what_was_not_read_is_never_different(value: Any, kind: Kind) -> None:
    for nothing in (None, math.nan, Decimal("NaN")):
        found = compare(nothing, value, kind)
        assert found.equal is None
        assert found.why in {"nothing_read", "expected"}
        assert compare(value, nothing, kind).why == "expected"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.rule)
def test_hostile_texts_cost_little(kind: Kind) -> None:
    started = time.process_time()
    for piece in (
        "1",
        "1,",
        "1 ",
        "a=",
        "/..",
        "-",
        "1e",
        "%4",
        "\n",
        "1;",
        "é,",
        "https://",
        "(",
        "3 Nov ",
        " ",
    ):
        text = piece * (MAX_TEXT // len(piece))
        assert compare(text, "7", kind).equal is not True
        assert compare(text + text, "7", kind).equal is False or compare("7", "7", kind).why == "expected"
        compare(text, text, kind)
    assert time.process_time() - started < 20


def test_a_comparison_is_no_truth_value() -> None:
    with pytest.raises(TypeError, match="three values"):
        bool(compare(1, 1, Number()))


def test_a_comparison_becomes_a_result() -> None:
    assert compare(1, 1, Number()).result("F-PARTIAL").passed is True
    failed = compare(2, 1, Number()).result("F-PARTIAL", diagnostics={"cell": "D14"})
    assert (failed.passed, failed.category) == (False, ("F-PARTIAL",))
    assert failed.diagnostics["cell"] == "D14"
    assert failed.diagnostics["compared"]["rule"] == "number"
    unknown = compare(None, 1, Number()).result("F-PARTIAL")
    assert (unknown.passed, unknown.category, unknown.cause) == (None, (), "verifier_says_unknown")


def test_only_the_standard_library_is_imported() -> None:
    code = (
        "import sys; before = set(sys.modules); import pyrite.checks.compare\n"
        "print(sorted({m.split('.')[0] for m in set(sys.modules) - before} - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['pyrite']"


# --- the types ---------------------------------------------------------------------------------

YES, NO, OPEN = True, False, None


@pytest.mark.parametrize(
    ("got", "expected", "kind", "equal"),
    [
        ("A b", "a b", Text(), NO),
        ("STRASSE", "straße", Text(case=False), YES),
        ("e\u0301", "\u00e9", Text(), YES),
        ("a  b", "a b", Text(space=True), NO),
        (4500.0, "4500", Text(), YES),
        (True, "True", Text(), NO),
        ("", "", Text(), YES),
        ("A-007", "A-7", Id(), NO),
        ("000", "0", Id(), YES),
        ("00042", "42", Id(padded=False), NO),
        ("٤٢", "42", Id(), NO),
        ("", "42", Id(), NO),
        ("mytest.py", "test.py", Lines(), NO),
        ("a\ntest.py\n", "test.py", Lines(), YES),
        (["key=1", "wanted=2"], "wanted=2", Lines(), YES),
        ("a\nb", "a\nb", Lines(), OPEN),
        ("9\n03/04", "3 April", Lines(Date()), OPEN),
        (7, "7", Lines(), NO),
    ],
)
def test_texts(got: Any, expected: Any, kind: Kind, equal: bool | None) -> None:
    assert compare(got, expected, kind).equal is equal


@pytest.mark.parametrize(
    ("got", "expected", "kind", "equal"),
    [
        ("4500", 4500.0, Number(), YES),
        (0.1 + 0.2, 0.3, Number(), NO),
        (0.1 + 0.2, 0.3, Number(within_relative=1e-12), YES),
        (2.5, 2, Number(within="0.5"), YES),
        ("2.5000000000000000000000000001", 2, Number(within="0.5"), NO),
        (0.12345000001, 0.12344999999, Number(), NO),
        (0.12345000001, 0.12344999999, Number(within=1e-9), YES),
        (1e-320, 0, Number(), NO),
        (-0.0, 0, Number(), YES),
        (1, 2, Number(within=-1), OPEN),
        (1, 2, Number(within=math.nan), OPEN),
        (1, 1, Number(notations=("klingon",)), OPEN),
        ("1,234", 1234, Number(), OPEN),
        ("1,234", 1.234, Number(), OPEN),
        ("1,234", 5, Number(), NO),
        ("1,234", 1234, Number(notations=("en",)), YES),
        ("1,234", 1.234, Number(notations=("de",)), YES),
        ("1.234", 1.234, Number(), YES),
        ("1.234", 1.234, Number(notations=("en", "de")), OPEN),
        ("12.5", 12.5, Number(notations=("en", "de")), YES),
        ("1 234\u202f567,5", 1234567.5, Number(notations=("fr",)), NO),
        ("1\u202f234\u202f567,5", 1234567.5, Number(notations=("fr",)), YES),
        ("12,34", 1234, Number(notations=("en",)), NO),
        ("\u221212", -12, Number(), YES),
        ("12 kg", 12, Number(), NO),
        ("12 kg", 12, Number(units=("kg",)), YES),
        ("12kg.", "12 kg", Number(units=("kg",)), YES),
        ("12 g", 12, Number(units=("kg",)), NO),
        ("12 KG", 12, Number(units=("kg",)), NO),
        ("12 Inches", 12, Number(units=("in", "inches")), YES),
        ("12", 12, Number(units=("kg",), unit_needed=True), NO),
        (12, 12, Number(units=("kg",), unit_needed=True), NO),
        ("$12", 12, Number(units=("$",), unit_needed=True), YES),
        ("kg 12 kg", 12, Number(units=("kg",)), NO),
        ("7.", 7, Number(), YES),
        ("It is 7.", 7, Number(), NO),
        ("It is 7.", 7, Number(sentence=True), YES),
        ("7 or 8", 7, Number(sentence=True), OPEN),
        ("8 or 9", 7, Number(sentence=True), NO),
        ("7, so 7", 7, Number(sentence=True), YES),
        ("at 7:30 on 2025-11-07 in A7", 7, Number(sentence=True), NO),
        ("5-7", 7, Number(sentence=True), NO),
        ("room 10", 10, Number(units=("USD",), unit_needed=True, sentence=True), NO),
        ("room 12, USD 10", 10, Number(units=("USD",), unit_needed=True, sentence=True), YES),
        ("no number", 7, Number(sentence=True), NO),
        (True, 1, Number(), NO),
        (math.inf, 1, Number(), NO),
        ("nan", 1, Number(), NO),
        (1, "one", Number(), OPEN),
        ("1e999999999", 1, Number(), NO),
        ("4500.5", 4500.5, Integer(), OPEN),
        ("4500.5", 4500, Integer(), NO),
        ("4500.00", 4500, Integer(), YES),
    ],
)
def test_numbers(got: Any, expected: Any, kind: Kind, equal: bool | None) -> None:
    assert compare(got, expected, kind).equal is equal


@pytest.mark.parametrize(
    ("got", "expected", "kind", "equal"),
    [
        ("3 Nov", "November 3rd", Date(), YES),
        ("the 3rd of November", "Nov. 3", Date(), YES),
        ("3 Nov 2025", "2025-11-03", Date(), YES),
        ("Sept 3, 2025", "20250903", Date(), YES),
        ("Mon, 3 Nov 2025", "2025-11-03", Date(), YES),
        ("Tue, 3 Nov 2025", "2025-11-03", Date(), OPEN),
        ("Tue, 4 Nov 2025", "2025-11-03", Date(), NO),
        ("3 Nov", "2025-11-03", Date(), OPEN),
        ("4 Nov", "2025-11-03", Date(), NO),
        ("3 Nov", "2025-11-03", Date(year=2025), YES),
        ("03/04", "3 April", Date(), OPEN),
        ("03/04", "3 May", Date(), NO),
        ("04/04", "4 April", Date(), YES),
        ("13/04", "13 April", Date(), YES),
        ("03/04", "3 April", Date("dmy"), YES),
        ("03/04", "3 April", Date("mdy"), NO),
        ("03/04/25", "2025-04-03", Date("dmy"), OPEN),
        ("3 April", "03/04", Date(), OPEN),
        ("2025-11-03T23:30:00Z", "2025-11-03", Date(), OPEN),
        ("2025-11-03T00:00:00", "2025-11-03", Date(), YES),
        (dt.datetime(2025, 11, 3, 12), dt.date(2025, 11, 3), Date(), YES),
        ("31 Feb 2025", "2025-02-28", Date(), NO),
        ("29 Feb", "February 29", Date(), YES),
        ("3 novembre", "3 Nov", Date(month_names={"novembre": 11}), YES),
        ("3 Nov or 4 Nov", "3 Nov", Date(), NO),
        ("soon", "3 Nov", Date(), NO),
        (3, "3 Nov", Date(), NO),
        ("3 Nov", "soon", Date(), OPEN),
        ("3 Nov", "3 Nov", Date("dym"), OPEN),
        ("00:00", "09:00", Time(), NO),
        ("9:00 AM", "09:00", Time(), YES),
        ("12:00 am", "0:00", Time(), YES),
        ("12 p.m.", "12:00", Time(), YES),
        ("24:00", "00:00", Time(), YES),
        ("24:01", "00:01", Time(), NO),
        ("09:00:30", "09:00", Time(), YES),
        ("09:00", "09:00:30", Time(), OPEN),
        ("23:59:59.9", "00:00:00", Time(within_s=1), YES),
        ("13:00 pm", "13:00", Time(), NO),
        (dt.time(9, 0, 0, 5), "09:00:00", Time(), YES),
        ("9:00", "9:00", Time(within_s=math.nan), OPEN),
        ("00:00", "00:00-23:59", TimeRange(), YES),
        ("23:59:59", "00:00-23:59", TimeRange(), YES),
        ("23:59", "00:00 to 24:00", TimeRange(), YES),
        ("06:01", "22:00-06:00", TimeRange(), NO),
        ("06:00:59", "22:00-06:00:30", TimeRange(), NO),
        ("06:00", "22:00-06:00:30", TimeRange(), OPEN),
        ("23:00-05:00", "22:00-06:00", TimeRange(), YES),
        ("9:00", "9:00", TimeRange(), OPEN),
    ],
)
def test_dates_and_times(got: Any, expected: Any, kind: Kind, equal: bool | None) -> None:
    assert compare(got, expected, kind).equal is equal


@given(st.dates(dt.date(1000, 1, 1)))
def test_a_day_is_the_same_however_it_is_written(day: dt.date) -> None:
    for pattern in ("%Y-%m-%d", "%Y%m%d", "%d %B %Y", "%B %d, %Y", "%a, %d %b %Y", "%d-%b-%Y"):
        written = day.strftime(pattern)
        assert compare(written, day, Date()).equal is True, written
        assert compare(written, day + dt.timedelta(days=1 if day.year < 9999 else -1), Date()).equal is False


@given(
    st.dates(dt.date(1000, 1, 1)), st.dates(dt.date(1000, 1, 1)), st.sampled_from(["%d/%m/%Y", "%m/%d/%Y"])
)
def test_a_date_in_numbers_is_decided_only_where_both_orders_agree(
    one: dt.date, other: dt.date, pattern: str
) -> None:
    found = compare(one.strftime(pattern), other, Date()).equal
    if found is not None:
        assert found == (one == other)
    assert compare(one.strftime("%d/%m/%Y"), other, Date("dmy")).equal is (one == other)


@pytest.mark.parametrize(
    ("got", "expected", "kind", "equal"),
    [
        ("http://a.example/r/view", "/r/view", Url(), YES),
        ("http://a.example/r/viewall", "/r/view", Url(), NO),
        ("/r/view", "http://a.example/r/view", Url(), NO),
        ("HTTP://A.example:80", "http://a.example/", Url(), YES),
        ("https://a.example/", "http://a.example/", Url(), NO),
        ("https://a.example/", "http://a.example/", Url(scheme=False), YES),
        ("a.example/x", "https://a.example/x", Url(), OPEN),
        ("a.example/x", "https://a.example/x", Url(scheme=False), YES),
        ("b.example/x", "https://a.example/x", Url(), NO),
        ("https://a.example.evil.example/x", "https://a.example/x", Url(), NO),
        ("https://a.example@evil.example/x", "https://a.example/x", Url(), NO),
        ("https://evil.example\\@a.example/x", "https://a.example/x", Url(), NO),
        ("https://a.example/y/../x/.", "https://a.example/x/", Url(), YES),
        ("https://a.example/%7Ex%2fy", "https://a.example/~x%2Fy", Url(), YES),
        ("https://a.example/x%2Fy", "https://a.example/x/y", Url(), NO),
        ("https://a.example/X", "https://a.example/x", Url(), NO),
        ("https://a.example/x/", "https://a.example/x", Url(trailing_slash=True), NO),
        ("https://a.example/x?b=1&a=2", "https://a.example/x?a=2&b=1", Url(), YES),
        ("https://a.example/x?b=1&a=2", "https://a.example/x?a=2&b=1", Url(query="ordered"), NO),
        ("https://a.example/x?b=1", "https://a.example/x", Url(), NO),
        ("https://a.example/x?b=1", "https://a.example/x", Url(query="ignored"), YES),
        ("https://a.example/x#b", "https://a.example/x#c", Url(), YES),
        ("https://a.example/x#b", "https://a.example/x#c", Url(fragment=True), NO),
        ("https://bücher.example/", "https://xn--bcher-kva.example", Url(), YES),
        ("http://[::1", "https://a.example/", Url(), NO),
        ("https://a.example:99999/", "https://a.example/", Url(), NO),
        ("https://a.example/", "?x", Url(), OPEN),
        ("https://a.example/", "https://a.example/", Url(query="some"), OPEN),
        ("b=1&a=2", "a=2&b=1", Query(), YES),
        ("?a=%20x", "a=+x", Query(), YES),
        ("a=1&a=2", "a=2&a=1", Query(), NO),
        ("a", "a=", Query(), YES),
        ("a=1", "a=1&b=", Query(), NO),
        ("b=1&a=2", "a=2&b=1", Query(ordered=True), NO),
        ("sISEMPTY^a=1", "a=1^s=", Query("^", empty=("ISEMPTY",)), YES),
        ("sISEMPTY^a=1", "a=1^s=", Query("^"), NO),
        (7, "a=1", Query(), NO),
        ("&".join(f"a{n}" for n in range(1001)), "a=1", Query(), NO),
    ],
)
def test_addresses_and_queries(got: Any, expected: Any, kind: Kind, equal: bool | None) -> None:
    assert compare(got, expected, kind).equal is equal


@pytest.mark.parametrize(
    ("got", "expected", "kind", "equal"),
    [
        (["b", "a"], ["a", "b"], Items(), YES),
        (["b", "a"], ["a", "b"], Items(ordered=True), NO),
        (["a", "a", "b"], ["a", "b", "b"], Items(), NO),
        (["a", "a", "b"], ["a", "b", "b"], Items(repeats=False), YES),
        (["a", "c"], ["a", "b"], Items(repeats=False), NO),
        ("a, b,", ["b", "a"], Items(separator=","), YES),
        ("a, b", ["b", "a"], Items(), NO),
        ({"a", "b"}, ["b", "a"], Items(), YES),
        ({"a", "b"}, ["b", "a"], Items(ordered=True), NO),
        ([0.5, 1], [1, 0], Items(Number(within=0.5)), YES),
        ([0, 1, 2], [1, 2, 3], Items(Number(within=1)), YES),
        ([0, 1, 5], [1, 2, 3], Items(Number(within=1)), NO),
        (["03/04"], ["3 April"], Items(Date()), OPEN),
        (["03/04", "5 May"], ["3 April", "6 May"], Items(Date()), NO),
        ([None, "a"], ["a", "b"], Items(), OPEN),
        ([None, "c"], ["a", "b"], Items(), NO),
        ([None], ["a"], Items(ordered=True), OPEN),
        ([], [], Items(), YES),
        ([], ["a"], Items(), NO),
        ({"a": 1}, ["a"], Items(), NO),
        (["a"], "a", Items(), OPEN),
        (["a"] * 201, ["a"] * 201, Items(), OPEN),
        (["a"] * 9999, ["a"] * 9999, Items(ordered=True), YES),
    ],
)
def test_lists(got: Any, expected: Any, kind: Kind, equal: bool | None) -> None:
    assert compare(got, expected, kind).equal is equal


@given(st.lists(st.integers(0, 5), max_size=8), st.lists(st.integers(0, 5), max_size=8))
def test_lists_without_an_order_are_multisets(one: list[int], other: list[int]) -> None:
    assert compare(one, other, Items(Number())).equal is (sorted(one) == sorted(other))
    assert compare(one, other, Items(Number(), repeats=False)).equal is (set(one) == set(other))
    assert compare(one, other, Items(Number(), ordered=True)).equal is (one == other)


@given(st.lists(st.integers(0, 40), max_size=9), st.randoms(use_true_random=False))
def test_values_within_a_tolerance_pair_off(values: list[int], chance: Any) -> None:
    """Numbers pair off within a tolerance exactly where they do in order of size."""
    moved = [value + chance.choice([-2, -1, 0, 1, 2]) for value in values]
    chance.shuffle(moved)
    in_order = all(abs(a - b) <= 1 for a, b in zip(sorted(values), sorted(moved), strict=True))
    assert compare(moved, values, Items(Number(within=1))).equal is in_order


def test_a_case_is_recorded_once() -> None:
    cases = {"agent": "7", "film": "Goldfinger"}
    assert one_of("007", cases, Id()).name == "agent"
    none = one_of("Q", cases, Id())
    assert (none.name, none.compared.equal) == (None, False)
    assert "agent, film" in none.compared.reason
    both = one_of("7", {**cases, "number": "07"}, Id())
    assert (both.name, both.also, both.compared.reason) == ("agent", ("number",), "also equal: number")
    assert one_of("03/04", {"a": "3 April", "b": "1 May"}, Date()).compared.equal is None
    assert one_of("7", {}, Id()).compared.why == "expected"


@given(st.sampled_from(sorted(NOTATIONS)), st.integers(0, 10**9), st.integers(0, 99))
def test_a_declared_notation_reads_what_it_writes(notation: str, whole: int, hundredths: int) -> None:
    decimal, groups = NOTATIONS[notation]
    for sign in groups or [""]:
        text = f"{whole:,}".replace(",", sign) + f"{decimal}{hundredths:02d}"
        expected = Decimal(whole) + Decimal(hundredths) / 100
        assert compare(text, expected, Number(notations=(notation,))).equal is True
        undeclared: Compared = compare(text, expected, Number())
        assert undeclared.equal is not False
