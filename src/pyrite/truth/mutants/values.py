"""Values that are nearly right: other numbers, other texts, the same number in another form."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from pyrite.checks.cells import number_text

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?")
"""What is taken for a number in a text; 007 and 1,234 are not."""


class Near(NamedTuple):
    """A value that is not the right one."""

    operator: str
    value: float | str


def near_number(value: float) -> Iterator[Near]:
    """Numbers that are nearly `value`; equal ones and those that are no finite number are left out."""
    shown = number_text(value)
    found = [
        Near("off-by-one", value + 1),
        Near("off-by-half", value + 0.5),
        Near("sign", -value),
        Near("ten-times", value * 10),
    ]
    if "." in shown and "e" not in shown:
        found.append(Near("last-digit", float(_last_digit(shown))))
    if value >= 0 and "e" not in shown:
        found.append(Near("longer", float(f"1{shown}")))
    for near in found:
        assert isinstance(near.value, float)
        if near.value != value and math.isfinite(near.value):
            yield near


def near_text(text: str) -> Iterator[Near]:
    """Texts that are nearly `text`."""
    if text.swapcase() != text:
        yield Near("wrong-case", text.swapcase())
    if text:
        yield Near("longer", f"{text}x")
    if len(text.strip()) > 1:
        yield Near("shorter", text.rstrip()[:-1])


def near_written(text: str) -> Iterator[Near]:
    """The same for a value that is written out: a number in its own notation where it is one."""
    if NUMBER.fullmatch(text) is None:
        yield from near_text(text)
        return
    for near in near_number(float(text)):
        assert isinstance(near.value, float)
        yield near._replace(value=written_like(text, near.value))
    yield Near("locale-format", continental(float(text)))


def written_like(text: str, value: float) -> str:
    """A number with as many decimals as `text` has, where those are enough.

    >>> written_like("4.50", 5.5), written_like("4", 4.5)
    ('5.50', '4.5')
    """
    decimals = len(text.partition(".")[2])
    fixed = f"{value:.{decimals}f}"
    return fixed if float(fixed) == value else number_text(value)


def continental(value: float) -> str:
    """A number as much of Europe writes it.

    >>> continental(4500.0), continental(12.75)
    ('4.500,00', '12,75')
    """
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def _last_digit(shown: str) -> Decimal:
    try:
        number = Decimal(shown)
    except InvalidOperation:
        return Decimal("nan")
    exponent = number.as_tuple().exponent
    return number + Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0)
