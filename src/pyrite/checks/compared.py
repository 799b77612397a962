"""What a comparison says: equal, different, or not comparable, and by which rule.

A comparison never raises for what it is given and never guesses. What may be read in two ways of which
only one is right is not comparable; what cannot be right in any reading is different. So is everything
that an agent alone can cause: rubbish, a bomb, the wrong unit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from pyrite.checks.verdict import Result

MAX_TEXT = 100_000
"""Characters of a text above which it is not looked at."""
MAX_SHOWN = 60

Reading = TypeVar("Reading")
Why = Literal["", "nothing_read", "expected", "ambiguous"]


class Compared(NamedTuple):
    """The answer of one comparison; it has three values, so it refuses to be used as a truth value."""

    equal: bool | None
    """None: not comparable, see `why`."""
    rule: str
    """The declared type with everything that was declared about it, for a report."""
    reason: str = ""
    """Why it is not equal, in words; also what a reader should know of an equal one."""
    why: Why = ""
    """What kept it from being compared: nothing was read, the expected value is none of its type, or it
    has several readings."""

    def __bool__(self) -> bool:
        raise TypeError("a comparison has three values: ask .equal, or take .result()")

    def note(self) -> dict[str, Any]:
        """For diagnostics."""
        return {"equal": self.equal, "rule": self.rule, "reason": self.reason}

    def result(self, *category: str, diagnostics: Mapping[str, Any] | None = None) -> Result:
        """What a verifier whose only question this was says: pass, fail with these codes, or unknown."""
        seen = {**(diagnostics or {}), "compared": self.note()}
        if self.equal is None:
            return Result(None, diagnostics=seen, cause="verifier_says_unknown")
        return Result(self.equal, () if self.equal else category, seen)


class Kind(Protocol):
    """A declared type of value, such as `Number(units=("kg",))`."""

    @property
    def rule(self) -> str: ...

    def compared(self, got: object, expected: object) -> Compared:
        """The comparison; both are there and no text is longer than `MAX_TEXT`."""
        ...


class Read(NamedTuple):
    """Everything that a value may mean under a type."""

    values: tuple[Any, ...] = ()
    """None of them: it is no value of the type."""
    problem: str = ""
    """Why it is none, or why it is not sure, in words."""
    sure: bool = True
    """False where no reading follows from what was declared."""


def compare(got: object, expected: object, kind: Kind) -> Compared:
    """Compare what was found with what was expected, as values of a declared type.

    >>> from pyrite.checks.compare import Date, Id, Number, Text
    >>> compare("00042", "42", Id()).equal, compare("00042", "42", Text()).equal
    (True, False)
    >>> compare("November 3rd", "3 Nov", Date()).equal, compare("03/04", "3 April", Date()).why
    (True, 'ambiguous')
    >>> compare(None, "42", Number()).reason
    'nothing was read'
    """
    rule = kind.rule
    if is_unread(expected):
        return Compared(None, rule, "nothing is expected", "expected")
    if is_unread(got):
        return Compared(None, rule, "nothing was read", "nothing_read")
    if isinstance(expected, str) and len(expected) > MAX_TEXT:
        return Compared(None, rule, f"what is expected has more than {MAX_TEXT} characters", "expected")
    if isinstance(got, str) and len(got) > MAX_TEXT:
        return Compared(False, rule, f"more than {MAX_TEXT} characters")
    return kind.compared(got, expected)


def is_unread(value: object) -> bool:
    """Whether a reader had no value to give: None, or the NaN that some give in its place."""
    if isinstance(value, Decimal):
        return value.is_nan()
    return value is None or (isinstance(value, float) and math.isnan(value))


def settle(
    rule: str, got: Read, expected: Read, same: Callable[[Any, Any], bool | None], shown: tuple[str, str]
) -> Compared:
    """Equal where all readings agree that it is, different where all agree that it is not."""
    if not expected.values or not expected.sure:
        problem = expected.problem or "it is not sure what it means"
        return Compared(None, rule, f"expected {shown[1]}: {problem}", "expected")
    if not got.values:
        return Compared(False, rule, f"{shown[0]}: {got.problem}")
    answers = {same(one, other) for one in got.values for other in expected.values}
    if answers == {False}:
        return Compared(False, rule, f"{shown[0]} is not {shown[1]}")
    if answers == {True} and got.sure:
        return Compared(True, rule)
    where: Why = "expected" if len(expected.values) > 1 and len(got.values) == 1 else "ambiguous"
    problem = got.problem or expected.problem or "it has several readings, and only some of them are equal"
    return Compared(None, rule, f"{shown[0]}, expected {shown[1]}: {problem}", where)


def plain_text(value: object) -> str | None:
    """A text as it is, a number as one types it; None for what is neither."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    if isinstance(value, int):
        return str(value) if value.bit_length() <= 4000 else None
    if not math.isfinite(value):
        return None
    if isinstance(value, Decimal):
        return format(value, "f") if abs(value.adjusted()) <= 400 else None
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def shown(value: object) -> str:
    """A value for a reason: bounded, and text that any file can hold."""
    if isinstance(value, str):
        text = repr(value[: MAX_SHOWN + 1])
    elif isinstance(value, int) and value.bit_length() > 4000:
        text = f"a number of {value.bit_length()} bits"
    elif value is None or isinstance(value, bool | int | float | Decimal):
        text = str(value)
    else:
        text = f"a {type(value).__name__}"
    return text if len(text) <= MAX_SHOWN + 2 else text[:MAX_SHOWN] + "…"
