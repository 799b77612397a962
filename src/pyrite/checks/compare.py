"""Compare as a declared type: the front door of the comparators.

    from pyrite.checks.compare import Number, compare

    found = compare(cell.value, "12 kg", Number(units=("kg",), within=0.5))
    found.equal          # True, False, or None: not comparable
    found.rule           # 'number, unit allowed: kg, within 0.5'
    found.result("F-PARTIAL")

A comparison names the rule that it went by, has three values, never raises for what an end state holds,
and costs a bounded time. Equality belongs to the type: 00042 is 42 as an id and not as a text.
"""

from __future__ import annotations

from pyrite.checks.compared import Compared, Kind, compare
from pyrite.checks.dates import Date
from pyrite.checks.lists import Case, Items, one_of
from pyrite.checks.quantities import NOTATIONS, Integer, Number
from pyrite.checks.texts import Id, Lines, Text
from pyrite.checks.times import Time, TimeRange
from pyrite.checks.urls import Query, Url

__all__ = [
    "NOTATIONS",
    "Case",
    "Compared",
    "Date",
    "Id",
    "Integer",
    "Items",
    "Kind",
    "Lines",
    "Number",
    "Query",
    "Text",
    "Time",
    "TimeRange",
    "Url",
    "compare",
    "one_of",
]
