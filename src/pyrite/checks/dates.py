"""Compare dates, however they are written; what may be two dates is not comparable."""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

from pyrite.checks.compared import Compared, Read, settle, shown

ORDERS = ("ymd", "dmy", "mdy")
_MAX_TEXT = 100
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORT = {
    "sept": "september",
    "tues": "tuesday",
    "wednes": "wednesday",
    "thur": "thursday",
    "thurs": "thursday",
}
_FILLER = {"the", "of"}
_ISO = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[T ]([0-9:.,]+)(Z|[+-][0-9:]+)?)?")
_COMPACT = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})")
_NUMERIC = re.compile(r"([0-9]{1,4})([./-])([0-9]{1,2})(?:\2([0-9]{1,4}))?\.?")
_WORD = re.compile(r"[0-9]+(?:st|nd|rd|th)?(?![0-9])|[^\W\d_]+", re.IGNORECASE)
_ORDINAL = re.compile(r"([0-9]+)(st|nd|rd|th)?", re.IGNORECASE)


class Day(NamedTuple):
    """A day, of a year that may not be named."""

    year: int | None
    month: int
    day: int


class Date(NamedTuple):
    """A day of the calendar, in English words, in numbers or as ISO 8601.

    >>> from pyrite.checks.compare import compare
    >>> compare("November 3rd", "3 Nov", Date()).equal, compare("Mon, 3 Nov 2025", "2025-11-03", Date()).equal
    (True, True)
    >>> [compare("03/04/2025", day, Date()).equal for day in ("2025-04-03", "2025-05-05")]
    [None, False]
    >>> compare("03/04/2025", "2025-04-03", Date("dmy")).equal
    True
    """

    order: str | None = None
    """Of dates in numbers: ymd, dmy or mdy; None: not declared, so that 03/04 is two dates."""
    year: int | None = None
    """The year of dates that name none."""
    month_names: Mapping[str, int] = {}
    """More names of months, in small letters, with their numbers."""

    @property
    def rule(self) -> str:
        parts = ["date"]
        parts += [f"order {self.order}"] if self.order else []
        parts += [f"in {self.year} where no year is named"] if self.year is not None else []
        return ", ".join(parts)

    def compared(self, got: object, expected: object) -> Compared:
        if self.order is not None and self.order not in ORDERS:
            known = ", ".join(ORDERS)
            return Compared(None, self.rule, f"order {shown(self.order)}, known: {known}", "expected")
        pair = (shown(got), shown(expected))
        found, wanted = self._read(got), self._read(expected)
        compared = settle(self.rule, found, wanted, _same, pair)
        if compared.why == "ambiguous" and not found.problem:
            reason = f"{pair[0]}, expected {pair[1]}: only one of them names its year"
            return compared._replace(reason=reason)
        return compared

    def _read(self, value: object) -> Read:
        if isinstance(value, dt.datetime):
            return self._dated([Day(value.year, value.month, value.day)], sure=value.tzinfo is None)
        if isinstance(value, dt.date):
            return self._dated([Day(value.year, value.month, value.day)])
        if not isinstance(value, str) or len(value) > _MAX_TEXT:
            return Read(problem="it is no date")
        text = " ".join(value.split())
        if match := _ISO.fullmatch(text):
            return self._dated([_day(*match.group(1, 2, 3))], sure=match[5] is None)
        if match := _COMPACT.fullmatch(text):
            return self._dated([_day(*match.groups())])
        if match := _NUMERIC.fullmatch(text):
            return self._dated(list(_numeric((match[1], match[3], match[4]), self.order)))
        return self._in_words(text)

    def _dated(self, days: list[Day], *, sure: bool = True, problem: str = "") -> Read:
        there = tuple(dict.fromkeys(self._with_year(day) for day in days if _exists(day)))
        if not there:
            return Read(problem="there is no such date")
        if not sure:
            return Read(there, problem or "in which time zone it is that day is not known", False)
        told = ", ".join(_text(day) for day in there)
        return Read(there, f"it may be {told}" if len(there) > 1 else "")

    def _with_year(self, day: Day) -> Day:
        return day if day.year is not None else day._replace(year=self.year)

    def _in_words(self, text: str) -> Read:
        words = [word for word in _WORD.findall(text) if word.casefold() not in _FILLER]
        left = re.sub(r"[\s.,'\u2019/-]", "", _WORD.sub("", text))
        if left or not 2 <= len(words) <= 4:
            return Read(problem="it is no date")
        months, weekdays, numbers = [], [], []
        for word in words:
            number = _ORDINAL.fullmatch(word)
            if number:
                numbers.append(number)
            elif (month := self._month(word)) is not None:
                months.append(month)
            elif (weekday := _named(word, _WEEKDAYS)) is not None:
                weekdays.append(weekday)
            else:
                return Read(problem=f"{shown(word)} is no month")
        if len(months) != 1 or not 1 <= len(numbers) <= 2 or len(weekdays) > 1:
            return Read(problem="it is no date")
        days = list(_beside_a_month(months[0], numbers))
        off = [day for day in days if _exists(day) and not self._falls_on(day, weekdays)]
        return self._dated(days, sure=not off, problem="it is not that day of the week")

    def _month(self, word: str) -> int | None:
        found = self.month_names.get(word.casefold())
        if found is not None:
            return found
        place = _named(word, _MONTHS)
        return None if place is None else place + 1

    def _falls_on(self, day: Day, weekdays: list[int]) -> bool:
        full = self._with_year(day)
        if not weekdays or full.year is None:
            return True
        return calendar.weekday(full.year, full.month, full.day) == weekdays[0]


def _named(word: str, names: Sequence[str]) -> int | None:
    """The place of a name or of its abbreviation of three letters."""
    plain = word.casefold()
    plain = _SHORT.get(plain, plain)
    return next((place for place, name in enumerate(names) if plain in {name, name[:3]}), None)


def _beside_a_month(month: int, numbers: list[re.Match[str]]) -> Iterator[Day]:
    """The day and the year that one or two numbers beside the name of a month may be."""
    if len(numbers) == 1:
        if len(numbers[0][1]) <= 2:
            yield Day(None, month, int(numbers[0][1]))
        return
    for day, year in permutations(numbers):
        if len(day[1]) <= 2 and not year[2]:
            yield from (Day(full, month, int(day[1])) for full in _years(year[1]))


def _numeric(parts: tuple[str, str, str | None], order: str | None) -> Iterator[Day]:
    first, second, third = parts
    if third is None:
        pairs = {"dmy": (first, second), "mdy": (second, first), "ymd": (second, first)}
        for day, month in {pairs[order]} if order else set(pairs.values()):
            if len(first) <= 2:
                yield Day(None, int(month), int(day))
        return
    for name in [order] if order else ORDERS:
        at = dict(zip(name, (first, second, third), strict=True))
        if len(at["d"]) <= 2 and len(at["m"]) <= 2:
            yield from (Day(year, int(at["m"]), int(at["d"])) for year in _years(at["y"]))


def _years(text: str) -> list[int]:
    """Two digits are a year of either century; one or three are none."""
    if len(text) == 4:
        return [int(text)]
    return [1900 + int(text), 2000 + int(text)] if len(text) == 2 else []


def _day(year: str, month: str, day: str) -> Day:
    return Day(int(year), int(month), int(day))


def _exists(day: Day) -> bool:
    try:
        dt.date(2000 if day.year is None else day.year, day.month, day.day)
    except ValueError:
        return False
    return True


def _same(one: Day, other: Day) -> bool | None:
    """None where only one of them names its year."""
    if one[1:] != other[1:]:
        return False
    if (one.year is None) != (other.year is None):
        return None
    return one.year == other.year


def _text(day: Day) -> str:
    name = f"{day.day} {_MONTHS[day.month - 1].title()}"
    return name if day.year is None else f"{name} {day.year}"
