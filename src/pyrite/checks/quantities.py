"""Compare numbers: exactly, or within a tolerance that is declared; never by rounding both sides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation, localcontext
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from pyrite.checks.compared import Compared, Read, plain_text, settle, shown

NOTATIONS: dict[str, tuple[str, str]] = {
    "plain": (".", ""),
    "en": (".", ","),
    "de": (",", "."),
    "fr": (",", " \u00a0\u202f"),
    "ch": (".", "'\u2019"),
}
"""Decimal sign, and the signs between groups of three digits."""

_MAX_DIGITS = 1000
_MAX_EXPONENT = 400
_PRECISION = 4000
_SIGNS = "+\\-\u2212"
_SPACE = "\u00a0\u202f"
_NUMBER = re.compile(rf"[{_SIGNS}]?[.,]?[0-9](?:[0-9.,'\u2019 {_SPACE}]*[0-9])?(?:[eE][+\-]?[0-9]{{1,9}})?")
_TOKEN = re.compile(rf"[{_SIGNS}]?(?<![0-9.,])[.,]?[0-9](?:[0-9.,'\u2019]*[0-9])?(?:[eE][+\-]?[0-9]{{1,9}})?")
_MAX_NAMED = 1000
"""Numbers in one sentence above which it is not looked at any further."""
_BESIDE = 80
_WORD = 4
"""Letters from which a unit is a word, so that its case does not count: Mw and MW are two units."""


class Number(NamedTuple):
    """A number; a bare one, unless units or a sentence around it are declared.

    >>> from pyrite.checks.compare import compare
    >>> [compare(said, "12", Number(units=("kg",))).equal for said in ("12 kg", "12 g")]
    [True, False]
    >>> compare("4,500", 4500, Number()).why, compare("4,500", 4500, Number(notations=("en",))).equal
    ('ambiguous', True)
    >>> compare("The total is 7.", "7", Number(sentence=True)).equal, compare("room 10", 10, Number()).equal
    (True, False)
    """

    within: Decimal | float | str = 0
    """Absolute tolerance."""
    within_relative: Decimal | float | str = 0
    """Tolerance as a share of what is expected; the larger of both holds."""
    notations: tuple[str, ...] = ("plain",)
    """How numbers are written; see `NOTATIONS`."""
    units: tuple[str, ...] = ()
    """Names of the one unit that may stand before or after the number."""
    unit_needed: bool = False
    sentence: bool = False
    """Whether it may stand in a sentence. All numbers in it count (with `unit_needed` all that have the
    unit), so declare the unit where other numbers may be named: the 10 of "room 10" is a 10."""
    whole: bool = False
    """Whether only integers count."""

    @property
    def rule(self) -> str:
        parts = ["integer" if self.whole else "number"]
        parts += [f"notation {' or '.join(self.notations)}"] if self.notations != ("plain",) else []
        if self.units:
            parts.append(f"unit {'needed' if self.unit_needed else 'allowed'}: {', '.join(self.units)}")
        parts += ["in a sentence"] if self.sentence else []
        parts += [f"within {self.within}"] if self.within else []
        parts += [f"within {self.within_relative} of its size"] if self.within_relative else []
        return ", ".join(parts)

    def compared(self, got: object, expected: object) -> Compared:
        rule = self.rule
        absolute, relative = _exact(self.within), _exact(self.within_relative)
        if absolute is None or relative is None or absolute < 0 or relative < 0:
            return Compared(None, rule, "a tolerance is no number of 0 or more", "expected")
        unknown = [name for name in self.notations if name not in NOTATIONS]
        if unknown or not self.notations:
            known = ", ".join(NOTATIONS)
            return Compared(
                None, rule, f"notation {shown(*unknown[:1] or ('',))}, known: {known}", "expected"
            )

        def same(one: Decimal, other: Decimal) -> bool:
            with localcontext() as exactly:
                exactly.prec = _PRECISION
                return abs(one - other) <= max(absolute, relative * abs(other))

        wanted = self._replace(unit_needed=False)._read(expected)
        pair = (shown(got), shown(expected))
        if self.sentence and isinstance(got, str) and wanted.values:
            named = list(islice(self._in_sentence(got), _MAX_NAMED + 1))
            if not named or len(named) > _MAX_NAMED:
                why = "no such number" if not named else f"more than {_MAX_NAMED} numbers"
                return Compared(False, rule, f"{pair[0]}: {why}")
            return _agreed(rule, [settle(rule, read, wanted, same, pair) for read in named], pair)
        return settle(rule, self._read(got), wanted, same, pair)

    def _read(self, value: object) -> Read:
        if not isinstance(value, str):
            if self.unit_needed:
                return Read(problem="it has no unit")
            number = _exact(value)
            return self._integers(Read(problem="it is no number") if number is None else Read((number,)))
        text = value.strip()
        match = _NUMBER.search(text) if len(text) <= 2 * _MAX_DIGITS else None
        if match is None:
            return Read(problem="it is no number")
        around = (text[: match.start()].strip(), text[match.end() :].strip())
        problem = self._wrong_unit(*around)
        return Read(problem=problem) if problem else self._integers(self._written(match[0]))

    def _wrong_unit(self, before: str, after: str) -> str:
        """What is wrong with the words around a number; empty where nothing is."""
        after = after if self._is_unit(after) else after.removesuffix(".").rstrip()
        named = [words for words in (before, after) if words]
        if not named:
            return "it has no unit" if self.unit_needed else ""
        if len(named) == 1 and self._is_unit(named[0]):
            return ""
        told = "accepted: " + ", ".join(self.units) if self.units else "a bare number is accepted"
        return f"{shown(' … '.join(named))} beside the number; {told}"

    def _is_unit(self, words: str) -> bool:
        return words in self.units or (
            len(words) >= _WORD and words.casefold() in {unit.casefold() for unit in self.units}
        )

    def _in_sentence(self, text: str) -> Iterator[Read]:
        """What each number of a sentence may mean, of those that count."""
        for match in _TOKEN.finditer(text):
            start, end = match.span()
            before, after = text[max(0, start - _BESIDE) : start], text[end : end + _BESIDE]
            unit = self._unit_beside(before, after)
            if not unit and _inside_a_word(before, after):
                continue
            if unit or not self.unit_needed:
                yield self._integers(self._written(match[0]))

    def _unit_beside(self, before: str, after: str) -> bool:
        for unit in self.units:
            flags = re.IGNORECASE if len(unit) >= _WORD else 0
            name = re.escape(unit)
            edge = r"(?!\w)" if unit[-1:].isalnum() else ""
            start = r"(?<!\w)" if unit[:1].isalnum() else ""
            if re.match(rf"\s?{name}{edge}", after, flags) or re.search(
                rf"{start}{name}\s?\Z", before, flags
            ):
                return True
        return False

    def _written(self, text: str) -> Read:
        """What digits mean in the declared notations; in others, that is not sure."""
        declared = {n for name in self.notations if (n := _parse(text, name)) is not None}
        if declared:
            several = "it has several readings in the declared notations" if len(declared) > 1 else ""
            return Read(tuple(sorted(declared)), several)
        others = {name: n for name in NOTATIONS if (n := _parse(text, name)) is not None}
        if not others:
            return Read(problem="it is no number")
        told = ", ".join(f"{n} in {name}" for name, n in others.items())
        return Read(tuple(sorted(set(others.values()))), f"it would be {told}; declare the notation", False)

    def _integers(self, read: Read) -> Read:
        if not self.whole:
            return read
        kept = tuple(value for value in read.values if value == value.to_integral_value())
        return read._replace(values=kept, problem=read.problem or "it is no integer")


def Integer(*, notations: tuple[str, ...] = ("plain",), units: tuple[str, ...] = ()) -> Number:
    """A number without a fraction, compared exactly.

    >>> from pyrite.checks.compare import compare
    >>> compare("4500.0", 4500, Integer()).equal, compare("4500.2", 4500, Integer()).equal
    (True, False)
    """
    return Number(notations=notations, units=units, whole=True)


def _agreed(rule: str, found: list[Compared], pair: tuple[str, str]) -> Compared:
    """One answer for all numbers of a sentence: a right one beside a wrong one says nothing."""
    answers = {one.equal for one in found}
    if len(answers) == 1:
        return found[0]
    undecided = next((one for one in found if one.why == "expected"), None)
    if undecided is not None:
        return undecided
    reason = f"{pair[0]} names {len(found)} numbers and {pair[1]} is only one of them; declare the unit"
    return Compared(None, rule, reason, "ambiguous")


def _inside_a_word(before: str, after: str) -> bool:
    """Whether digits are part of something longer: A7, 7th, 12:30, 2026-11-03, 5-7."""
    if before and (before[-1].isalnum() or before[-1] == "_"):
        return True
    joined = ":/-\u2013"
    if len(before) > 1 and before[-1] in joined and before[-2].isalnum():
        return True
    if after and (after[0].isalpha() or after[0] == "_"):
        return True
    return len(after) > 1 and after[0] in joined and after[1].isalnum()


def _parse(text: str, notation: str) -> Decimal | None:
    match = _pattern(notation).fullmatch(text)
    if match is None or len(text) > _MAX_DIGITS:
        return None
    decimal, groups = NOTATIONS[notation]
    bare = text.replace("\u2212", "-")
    for sign in groups:
        bare = bare.replace(sign, "")
    return _bounded(bare.replace(decimal, "."))


@lru_cache(maxsize=16)
def _pattern(notation: str) -> re.Pattern[str]:
    decimal, groups = NOTATIONS[notation]
    digits = "[0-9]+"
    if groups:
        digits = rf"(?:[0-9]{{1,3}}(?P<sign>[{re.escape(groups)}])[0-9]{{3}}(?:(?P=sign)[0-9]{{3}})*|[0-9]+)"
    point = re.escape(decimal)
    return re.compile(rf"[{_SIGNS}]?(?:{digits}(?:{point}[0-9]+)?|{point}[0-9]+)(?:[eE][+\-]?[0-9]{{1,9}})?")


def _exact(value: object) -> Decimal | None:
    """A number as it is written; a float by the shortest digits that name it."""
    if isinstance(value, Decimal):
        small = value.is_finite() and len(value.as_tuple().digits) <= _MAX_DIGITS
        return value if small and abs(value.adjusted()) <= _MAX_EXPONENT else None
    if isinstance(value, float):
        return _bounded(repr(value))
    text = plain_text(value)
    return None if text is None else _bounded(text)


def _bounded(text: str) -> Decimal | None:
    if len(text) > _MAX_DIGITS:
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if not number.is_finite():
        return None
    if number and abs(number.adjusted()) > _MAX_EXPONENT:
        return None
    return number if number else Decimal(0)
