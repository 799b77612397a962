"""Compare times of the day, and ask whether one lies in a range; the edges belong to it."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import NamedTuple

from pyrite.checks.compared import Compared, Read, settle, shown

_MAX_TEXT = 60
_SECOND = 10**9
_DAY = 86_400 * _SECOND
_TIME = re.compile(
    r"([0-9]{1,2})(?:[:hH]([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?)?\s?([ap]\.?m\.?)?", re.IGNORECASE
)
_BETWEEN = re.compile(r"\s*(?:-|\u2013|\u2014|\bto\b|\buntil\b)\s*", re.IGNORECASE)


class Span(NamedTuple):
    """From the first nanosecond of the day to the one after the last; 17:30 is a minute long."""

    start: int
    end: int


class Time(NamedTuple):
    """A time of the day, to the precision in which what is expected is written.

    >>> from pyrite.checks.compare import compare
    >>> compare("5:30 pm", "17:30", Time()).equal, compare("17:30:45", "17:30", Time()).equal
    (True, True)
    >>> compare("10:00:00.124", "10:00:00.123", Time(within_s=1)).equal
    True
    >>> compare("17:30", "17:30:45", Time()).equal is None
    True
    """

    within_s: float = 0.0
    """How many seconds it may be off, also across midnight."""

    @property
    def rule(self) -> str:
        return "time" + (f", within {self.within_s:g} s" if self.within_s else "")

    def compared(self, got: object, expected: object) -> Compared:
        if not 0 <= self.within_s <= 86_400:
            return Compared(None, self.rule, "a tolerance of 0 to 86400 s is expected", "expected")
        off = int(self.within_s * _SECOND)

        def same(one: Span, other: Span) -> bool | None:
            return _inside(one, Span(other.start - off, other.end + off))

        pair = (shown(got), shown(expected))
        compared = settle(self.rule, _time(got), _time(expected), same, pair)
        if compared.why == "ambiguous":
            return compared._replace(reason=f"{pair[0]}, expected {pair[1]}: it is not written as precisely")
        return compared


class TimeRange(NamedTuple):
    """A time, or a range, that lies in an expected range such as 22:00-06:00; both edges belong to it.

    >>> from pyrite.checks.compare import compare
    >>> [compare(t, "09:00-17:30", TimeRange()).equal for t in ("09:00", "17:30", "17:31")]
    [True, True, False]
    """

    @property
    def rule(self) -> str:
        return "in the time range, edges included"

    def compared(self, got: object, expected: object) -> Compared:
        wanted = _range(expected)
        if not wanted.values:
            wanted = Read(problem="a range such as 09:00-17:30 is expected")
        found = _time(got)
        found = found if found.values else _range(got)
        pair = (shown(got), shown(expected))
        compared = settle(self.rule, found, wanted, _inside, pair)
        if compared.equal is False and found.values:
            return compared._replace(reason=f"{pair[0]} is not in {pair[1]}")
        if compared.why == "ambiguous":
            return compared._replace(reason=f"{pair[0]}, expected {pair[1]}: only a part of it lies in it")
        return compared


def _inside(one: Span, other: Span) -> bool | None:
    """Whether all of one lies in the other; None where only a part of it does. Days follow each other."""
    if other.end - other.start >= _DAY:
        return True
    touching = None
    for shift in (-_DAY, 0, _DAY):
        start, end = one.start + shift, one.end + shift
        if other.start <= start and end <= other.end:
            return True
        if start < other.end and other.start < end:
            touching = True
    return None if touching else False


def _time(value: object) -> Read:
    if isinstance(value, dt.time):
        start = ((value.hour * 60 + value.minute) * 60 + value.second) * _SECOND + value.microsecond * 1000
        return Read((Span(start, start + (1000 if value.microsecond else _SECOND)),))
    if isinstance(value, str) and len(value) <= _MAX_TEXT:
        span = _span(value.strip())
        if span is not None:
            return Read((span,))
    return Read(problem="it is no time of the day")


def _span(text: str) -> Span | None:
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    hours, minutes, seconds, fraction, half = match.groups()
    if minutes is None and half is None:
        return None
    hour, minute, second = int(hours), int(minutes or 0), int(seconds or 0)
    if half is not None:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half[0] in "pP" else 0)
    midnight = (hour, minute, second, int(fraction or 0)) == (24, 0, 0, 0)
    if minute > 59 or second > 59 or (hour > 23 and not midnight):
        return None
    start = ((hour * 60 + minute) * 60 + second) * _SECOND + int((fraction or "").ljust(9, "0"))
    return Span(start, start + _length(seconds, fraction))


def _length(seconds: str | None, fraction: str | None) -> int:
    if fraction is not None:
        return int(Decimal(_SECOND).scaleb(-len(fraction)))
    return _SECOND if seconds is not None else 60 * _SECOND


def _range(value: object) -> Read:
    parts = _BETWEEN.split(value.strip()) if isinstance(value, str) and len(value) <= _MAX_TEXT else []
    edges = [_span(part) for part in parts]
    if len(edges) != 2 or edges[0] is None or edges[1] is None:
        return Read(problem="it is no time and no range")
    first, last = edges[0], edges[1]
    end = last.start if last.start == _DAY else last.end
    return Read((Span(first.start, end if end > first.start else end + _DAY),))
